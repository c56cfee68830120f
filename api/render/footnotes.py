"""Footnotes: numbers in the order of their first mention, and the section that ends a text."""

from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from api.render.markdown import words_to_html
from api.render.references import References


class Footnotes:
    """The footnotes of one text while it is rendered from its beginning to its end."""

    def __init__(self, md: MarkdownIt, references: References, found: dict[str, Any]) -> None:
        self._md = md
        self._env = {"references": references, "footnotes": found}
        self._numbered: dict[int, dict[str, Any]] = found["list"]

    def html(self, tokens: list[Token], instead: str) -> str:
        """A block that may mention footnotes; `instead` is shown for one that cannot be parsed."""
        return instead or words_to_html(self._md, tokens, self._env)

    def section(self, definitions: list[list[Token]]) -> str:
        """All notes: those that were mentioned by number, then those that nobody mentions."""
        waiting = {self._label(tokens): tokens for tokens in reversed(definitions)}
        rest = [tokens for tokens in definitions if waiting[self._label(tokens)] is not tokens]
        items, number = [], 0
        while waiting:
            label = self._numbered[number]["label"] if number in self._numbered else next(reversed(waiting))
            number += label not in waiting or number in self._numbered
            if label in waiting:
                items.append(self._item(waiting.pop(label)))
        items += [self._item(tokens) for tokens in rest]
        return f'<section class="footnotes">\n<ol>\n{"".join(items)}</ol>\n</section>\n'

    @staticmethod
    def _label(tokens: list[Token]) -> str:
        return str(tokens[0].meta["label"])

    def _item(self, tokens: list[Token]) -> str:
        return f"<li>{words_to_html(self._md, tokens[1:-1], self._env)}</li>\n"
