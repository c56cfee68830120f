"""Formulas: where one begins and ends in a text, and what it becomes as MathML."""

import re
from bisect import bisect_left
from functools import lru_cache

from latex2mathml import exceptions
from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

LONGEST = 2_000
MOST_LINES = 50
DEEPEST = 40
# The converter knows these only by the name that numbers lines.
_NAMES = {"aligned": "align*", "gathered": "align*", "split": "align*", "equation": "align*"}
_ENVIRONMENT = re.compile(r"\\(begin|end)\{(aligned|gathered|split|equation)\*?\}")
# What the converter did not understand stands in its answer as it was written.
_UNREAD = re.compile(r"<m\w+>\s*(\\|&(?!#|amp;|lt;|gt;))")
# The converter's own errors have no base class, and a formula that it does not foresee raises others.
_OWN_ERRORS: tuple[type[Exception], ...] = tuple(
    e for e in vars(exceptions).values() if isinstance(e, type) and issubclass(e, Exception)
)
_UNREADABLE: tuple[type[Exception], ...] = (
    *_OWN_ERRORS,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    RecursionError,
)
_CLOSING = {"$": "$", "$$": "$$", r"\(": r"\)", r"\[": r"\]"}
_DISPLAY = ("$$", r"\[")
_FENCE = re.compile(r" {0,3}(```|~~~)")


def use_maths(md: MarkdownIt) -> None:
    """Teach a parser formulas, by Pandoc's rules for the dollar sign."""
    md.block.ruler.before(
        "fence", "math_block", _block, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )
    md.inline.ruler.before("escape", "math", _inline)
    md.add_render_rule("math", _render)
    md.add_render_rule("math_block", _render)


def mathml(formula: str, display: str) -> str | None:
    """A formula as MathML; None where the converter cannot read it."""
    if len(formula) > LONGEST or _depth(formula) > DEEPEST:
        return None
    named = _ENVIRONMENT.sub(lambda m: rf"\{m.group(1)}{{{_NAMES[m.group(2)]}}}", formula)
    try:
        html = convert(named, display=display)
    except _UNREADABLE:
        return None
    return None if _UNREAD.search(html) else html


def _render(_self: object, tokens: list[Token], index: int, _options: object, _env: object) -> str:
    token = tokens[index]
    is_display = token.meta["display"] == "block"
    html = mathml(token.content, token.meta["display"])
    if html is None:
        html = f'<span class="math-source">{escapeHtml(token.meta["source"])}</span>'
    return f'<div class="math">{html}</div>\n' if token.type == "math_block" and is_display else html


def _block(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    """A formula on lines of its own, from `$$` or `\\[` to its partner; a blank line ends the search."""
    if state.is_code_block(first):
        return False
    start = state.bMarks[first] + state.tShift[first]
    opening = state.src[start : start + 2]
    if opening not in _DISPLAY:
        return False
    end_at = _next_end(state.src, opening, start + 2)
    if end_at is None or end_at - start > LONGEST:
        return False
    closing, text, line = _CLOSING[opening], state.src[start + 2 : state.eMarks[first]], first
    while closing not in text:
        line += 1
        if line >= min(end, first + MOST_LINES) or state.isEmpty(line):
            return False
        if state.sCount[line] < state.blkIndent:
            return False
        if _FENCE.match(state.src, state.bMarks[line], state.eMarks[line]):
            return False
        text += "\n" + state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]
    formula, _, rest = text.partition(closing)
    if rest.strip() or not formula.strip():
        return False
    if not silent:
        state.line = line + 1
        token = state.push("math_block", "math", 0)
        token.content, token.map = formula.strip(), [first, line + 1]
        token.meta = {"display": "block", "source": opening + formula + closing}
    return True


def _inline(state: StateInline, silent: bool) -> bool:
    opening = state.src[state.pos : state.pos + 2]
    if opening[:1] == "$":
        opening = "$$" if opening == "$$" else "$"
    elif opening not in (r"\(", r"\["):
        return False
    start = state.pos + len(opening)
    end = _end(state.src, opening, start)
    closing = _CLOSING[opening]
    if end is None or end + len(closing) > state.posMax or not state.src[start:end].strip():
        return False
    if not silent:
        token = state.push("math", "math", 0)
        token.content = state.src[start:end].strip()
        display = "block" if opening in _DISPLAY else "inline"
        token.meta = {"display": display, "source": opening + state.src[start:end] + closing}
    state.pos = end + len(closing)
    return True


def _end(src: str, opening: str, start: int) -> int | None:
    """Where the formula that begins at `start` ends.

    A single `$` has no blank on its inside, and the first one that follows must be the end: no digit
    after it either, so that sums of money are none.
    """
    end = _next_end(src, opening, start)
    if end is not None and opening == "$":
        inside, after = src[start] + src[end - 1], src[end + 1 : end + 2]
        if any(letter.isspace() for letter in inside) or after.isdigit():
            return None
    return end


def _next_end(src: str, opening: str, start: int) -> int | None:
    ends = _ends(src, opening)
    place = bisect_left(ends, start)
    return ends[place] if place < len(ends) else None


@lru_cache(maxsize=8)
def _ends(src: str, opening: str) -> tuple[int, ...]:
    """All places where a formula of this kind could end: found once a text, so that no text costs more."""
    closing = re.escape(_CLOSING[opening])
    return tuple(m.start() for m in re.finditer(rf"{closing}|\\.", src) if m.group() == _CLOSING[opening])


def _depth(formula: str) -> int:
    depth = deepest = 0
    for letter in formula:
        depth += (letter == "{") - (letter == "}")
        deepest = max(deepest, depth)
    return max(deepest, formula.count(r"\left"), formula.count(r"\begin"))
