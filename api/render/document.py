"""A text as its top-level blocks, and each of them as safe HTML."""

from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from markdown_it.token import Token

from api.render.code import escape
from api.render.footnotes import Footnotes
from api.render.markdown import Env, is_too_deep, make_parser, words_to_html
from api.render.references import References, Target
from api.render.source import Source

CLOSING_THEMSELVES = {"heading_open", "hr", "fence", "math_block"}
FOOTNOTE = "footnote_reference_open"


@dataclass(frozen=True, slots=True)
class Block:
    """One top-level block: its kind, its lines and what the parser made of them."""

    kind: str
    first: int
    end: int
    source: str
    tokens: list[Token] = field(repr=False)

    @property
    def is_footnote(self) -> bool:
        return self.kind == FOOTNOTE

    @property
    def closes_itself(self) -> bool:
        return self.kind in CLOSING_THEMSELVES and self.tokens[0].markup not in ("=", "-")


@dataclass(frozen=True, slots=True)
class Rendered:
    """The HTML of a block, and the link labels that it depends on."""

    html: str
    asked: dict[str, Target | None]


Cache = MutableMapping[tuple[str, str], Rendered]


@dataclass(frozen=True, slots=True)
class Document:
    """The blocks of a text and its definitions."""

    source: Source
    blocks: list[Block]
    references: References
    footnotes: dict[str, Any]


class Renderer:
    """Markdown to HTML. It holds the parser and nothing of any text."""

    def __init__(self) -> None:
        self._md = make_parser()

    def parse(self, text: str, known: dict[str, Any] | None = None) -> Document:
        """The blocks of a text whose earlier part defined `known`; words are not parsed yet."""
        source, references = Source.of(text), References(known)
        env: Env = {"references": references}
        tokens: list[Token] = []
        self._md.block.parse(source.clean, self._md, env, tokens)
        _keep_line_ends(tokens, source)
        return Document(source, list(_blocks(tokens, source)), references, env.get("footnotes", {}))

    def blocks(self, text: str, cache: Cache) -> list[str]:
        """The HTML of every block of a whole text; blocks that `cache` has are not made again."""
        document = self.parse(text)
        if not document.footnotes.get("refs"):
            return [self.html(block, document.references, cache) for block in document.blocks]
        notes = Footnotes(self._md, document.references, document.footnotes)
        shown = [block for block in document.blocks if not block.is_footnote]
        html = [
            notes.html(block.tokens, self._instead(block))
            if "[^" in block.source
            else self.html(block, document.references, cache)
            for block in shown
        ]
        return [*html, notes.section([block.tokens for block in document.blocks if block.is_footnote])]

    def html(self, block: Block, references: References, cache: Cache) -> str:
        """The HTML of one block, from `cache` where its links still lead where they led."""
        key = (block.kind, block.source)
        known = cache.get(key)
        if known is None or not references.answer(known.asked):
            references.asked = {}
            html = self._instead(block) or words_to_html(self._md, block.tokens, {"references": references})
            known = cache[key] = Rendered(html, references.asked)
        return known.html

    def _instead(self, block: Block) -> str:
        """What is shown of a block beyond the limits of the parser: its source as code; "" for all others."""
        return f"<pre><code>{escape(block.source)}</code></pre>\n" if is_too_deep(block.tokens) else ""


def _blocks(tokens: list[Token], source: Source) -> Iterator[Block]:
    first = 0
    for place, token in enumerate(tokens):
        if token.level == 0 and token.nesting != 1:
            lines = tokens[first].map or [0, 0]
            part = tokens[first : place + 1]
            yield Block(part[0].type, lines[0], lines[1], source.slice(*lines), part)
            first = place + 1


def _keep_line_ends(tokens: list[Token], source: Source) -> None:
    """Give code the line ends that the text has; the parser knows line feeds only."""
    if not source.ends:
        return
    for token in tokens:
        if token.type in ("fence", "code_block") and token.map:
            first = token.map[0] + (token.type == "fence")
            token.content = source.with_ends(token.content, first)
