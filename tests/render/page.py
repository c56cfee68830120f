"""A reader of blocks as the page is one: it knows nothing but the changes."""

from collections.abc import Iterable

from api.render.incremental import Change


class Page:
    """Blocks by number; what is appended goes to the end of the innermost open element."""

    def __init__(self) -> None:
        self.blocks: dict[int, str] = {}
        self.finals: set[int] = set()

    def take(self, changes: Iterable[Change]) -> None:
        for change in changes:
            assert not (change.append and change.block in self.finals)
            if change.append:
                self.blocks[change.block] = _appended(self.blocks[change.block], change.html)
            else:
                self.blocks[change.block] = change.html
            if change.final:
                self.finals.add(change.block)

    @property
    def html(self) -> list[str]:
        return [html for _, html in sorted(self.blocks.items()) if html]


def _appended(html: str, added: str) -> str:
    foot = "</code></pre>\n" if html.endswith("</code></pre>\n") else "</div>\n"
    assert html.endswith(foot)
    return html.removesuffix(foot) + added + foot
