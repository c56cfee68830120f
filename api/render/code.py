"""Code as HTML: exactly its characters, with the classes of its language."""

from functools import lru_cache

from markdown_it.common.utils import escapeHtml
from markdown_it.token import Token as MarkdownToken
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Token, _TokenType
from pygments.util import ClassNotFound

from api.clock import Clock

# Longer code is shown without colours: they would hold up the end of a reply.
HIGHLIGHT_LIMIT = 64 * 1024
# What looks like code but is not, such as a thousand openings of a text, can cost a lexer minutes.
PATIENCE_S = 1.0
CLASSES = {
    Token.Comment: "hl-c",
    Token.Keyword: "hl-k",
    Token.Operator.Word: "hl-k",
    Token.Literal.String: "hl-s",
    Token.Literal.Number: "hl-n",
    Token.Name.Function: "hl-f",
    Token.Name.Class: "hl-f",
    Token.Name.Decorator: "hl-d",
    Token.Name.Builtin: "hl-b",
    Token.Name.Tag: "hl-k",
    Token.Name.Attribute: "hl-d",
    Token.Generic.Inserted: "hl-i",
    Token.Generic.Deleted: "hl-x",
    Token.Generic.Heading: "hl-f",
    Token.Generic.Subheading: "hl-f",
}
_CLOCK = Clock()
# A carriage return stands for itself only as a reference: readers of HTML make a line feed of a bare one.
CARRIAGE_RETURN = "&#13;"


def escape(text: str) -> str:
    """Plain text as HTML."""
    return escapeHtml(text).replace("\r", CARRIAGE_RETURN).replace("\0", "\ufffd")


def language_of(info: str) -> str:
    """The language that the first line of a fence names."""
    words = info.split(maxsplit=1)
    return words[0].strip("{}.") if words else ""


def opening_html(language: str) -> str:
    attribute = f' data-language="{escapeHtml(language)}"' if language else ""
    return f"<pre{attribute}><code"


def render_fence(
    _self: object, tokens: list[MarkdownToken], index: int, _options: object, _env: object
) -> str:
    token = tokens[index]
    language = language_of(token.info)
    content = without_last_end(token.content)
    return f"{opening_html(language)}>{highlight(content, language)}</code></pre>\n"


def without_last_end(content: str) -> str:
    """Code without the end of its last line, which belongs to the fence."""
    return content[: -2 if content.endswith("\r\n") else -1] if content.endswith(("\n", "\r")) else content


def highlight(code: str, language: str) -> str:
    """Code as HTML, coloured where its language is known."""
    lexer = _lexer(language.lower()) if len(code) <= HIGHLIGHT_LIMIT else None
    if lexer is None:
        return escape(code)
    # Rules for whole lines want the end of the last one too.
    whole = code + "\n"
    runs: list[tuple[str, list[str]]] = []
    until = _CLOCK.monotonic() + PATIENCE_S
    for kind, text in lexer.get_tokens(whole.replace("\r\n", "\n").replace("\r", "\n")):
        if _CLOCK.monotonic() > until:
            return escape(code)
        name = _class(kind)
        if runs and runs[-1][0] == name:
            runs[-1][1].append(text)
        else:
            runs.append((name, [text]))
    return _spans([(name, "".join(texts)) for name, texts in runs], whole) or escape(code)


def _spans(runs: list[tuple[str, str]], whole: str) -> str | None:
    """The runs with the characters of `whole` but its last; None where a lexer has changed any."""
    html, place = [], 0
    for name, text in runs:
        end = _match(whole, place, text)
        if end is None:
            return None
        exact = escape(whole[place : min(end, len(whole) - 1)])
        html.append(f'<span class="{name}">{exact}</span>' if name and exact else exact)
        place = end
    return "".join(html) if place == len(whole) else None


def _match(code: str, place: int, text: str) -> int | None:
    """Where `text` ends in `code` if it stands at `place`, whatever the kind of its line ends."""
    if code.startswith(text, place) and "\r" not in code:
        return place + len(text)
    for letter in text:
        if letter == "\n" and code.startswith(("\r", "\n"), place):
            place += 2 if code.startswith("\r\n", place) else 1
        elif code.startswith(letter, place):
            place += 1
        else:
            return None
    return place


@lru_cache(maxsize=64)
def _lexer(language: str) -> Lexer | None:
    if not language:
        return None
    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


@lru_cache(maxsize=256)
def _class(kind: _TokenType) -> str:
    for ancestor in reversed(kind.split()):
        if ancestor in CLASSES:
            return CLASSES[ancestor]
    return ""
