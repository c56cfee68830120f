"""The Markdown parser: what is on, how its parts become HTML, and what it never gets to see."""

from collections.abc import MutableMapping, Sequence
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from mdit_py_plugins.footnote import footnote_plugin

from api.render.code import escape, render_fence
from api.render.links import REL, Linkify, is_absolute, is_safe
from api.render.maths import use_maths
from api.render.sanitise import sanitise

# Beyond these a text costs more than it can be worth; it is shown as it was written.
LONGEST_INLINE = 64 * 1024
LONGEST_RUN = 2_000
DEEPEST_BRACKETS = 30
MOST_WORK = 2_000_000
MAX_NESTING = 20

Env = MutableMapping[str, Any]


def make_parser() -> MarkdownIt:
    """A parser for GitHub's Markdown without raw HTML, with maths and footnotes."""
    md = MarkdownIt("gfm-like2", {"html": False, "xhtmlOut": False, "maxNesting": MAX_NESTING})
    md.linkify = Linkify()
    md.validateLink = is_safe  # type: ignore[method-assign]
    footnote_plugin(md, inline=False, move_to_end=False)
    use_maths(md)
    # Blocks are parsed by themselves, and their words later, one block at a time.
    md.core.ruler.disable(["normalize", "block"])
    md.core.ruler.at("inline", _parse_words)
    for name, rule in RULES.items():
        md.add_render_rule(name, rule)
    return md


def words_to_html(md: MarkdownIt, tokens: list[Token], env: Env) -> str:
    """The safe HTML of one block, whose words are parsed now."""
    state = StateCore("", md, env, tokens)
    md.core.process(state)
    return sanitise(md.renderer.render(state.tokens, md.options, env))


def is_too_deep(tokens: list[Token]) -> bool:
    """Whether a block is nested so deeply that the parser may have left out some of it."""
    return any(token.level >= MAX_NESTING - 1 for token in tokens)


def is_plain(text: str) -> bool:
    """Whether words are shown as they are, since parsing them could take too long."""
    if len(text) > LONGEST_INLINE:
        return True
    if text.count("[") > DEEPEST_BRACKETS and _depth(text) > DEEPEST_BRACKETS:
        return True
    if (text.count("[") + text.count("://")) * len(text) > MOST_WORK:
        return True
    return len(text) >= LONGEST_RUN and any(len(run) >= LONGEST_RUN for run in text.split())


def _depth(text: str) -> int:
    depth = deepest = 0
    for letter in text:
        if letter in "[]":
            depth = max(0, depth + (1 if letter == "[" else -1))
            deepest = max(deepest, depth)
    return deepest


def _parse_words(state: StateCore) -> None:
    for token in state.tokens:
        if token.type != "inline":
            continue
        token.children = []
        if is_plain(token.content):
            plain = Token("plain", "", 0)
            plain.content = token.content
            token.children.append(plain)
        else:
            state.md.inline.parse(token.content, state.md, state.env, token.children)


def _plain(_self: Any, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    return escape(tokens[index].content)


def _code(_self: Any, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    return f"<code>{escape(tokens[index].content)}</code>"


def _link(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    token = tokens[index]
    token.attrSet("rel", REL)
    if is_absolute(str(token.attrGet("href") or "")):
        token.attrSet("target", "_blank")
    return str(self.renderToken(tokens, index, options, env))


def _image(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    """A place for an image: nothing is loaded that the reader did not ask for."""
    token = tokens[index]
    alt = self.renderInlineAsText(token.children or [], options, env)
    src, title = (escapeHtml(str(token.attrGet(name) or "")) for name in ("src", "title"))
    return f'<span class="remote-image" data-src="{src}" data-title="{title}">{escapeHtml(alt)}</span>'


def _cell(_self: Any, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    """A cell with its alignment as a class, since the page takes no styles from elsewhere."""
    token = tokens[index]
    align = str(token.attrGet("style") or "").removeprefix("text-align:")
    return f'<{token.tag} class="align-{align}">' if align else f"<{token.tag}>"


def _table_open(*_: Any) -> str:
    return '<div class="table"><table>\n'


def _table_close(*_: Any) -> str:
    return "</table></div>\n"


def _alert_open(_self: Any, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    return f'<div class="alert alert-{tokens[index].info.lower()}">\n'


def _alert_title_open(*_: Any) -> str:
    return '<p class="alert-title">'


def _footnote_ref(_self: Any, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    return f'<sup class="footnote-ref">{tokens[index].meta["id"] + 1}</sup>'


RULES = {
    "plain": _plain,
    "code_inline": _code,
    "code_block": render_fence,
    "fence": render_fence,
    "link_open": _link,
    "image": _image,
    "th_open": _cell,
    "td_open": _cell,
    "table_open": _table_open,
    "table_close": _table_close,
    "alert_open": _alert_open,
    "alert_title_open": _alert_title_open,
    "footnote_ref": _footnote_ref,
}
