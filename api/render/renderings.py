"""Rendered texts: the way of the other rooms into this one, and what was rendered lately.

The parser and the highlighter are loaded with the first text, or by `warm` once the port is open.
"""

from collections import OrderedDict
from typing import TYPE_CHECKING

from api.concurrency import new_lock

if TYPE_CHECKING:
    from api.render.document import Renderer
    from api.render.incremental import Incremental

    Library = tuple[Renderer, type[Incremental]]

CACHE_LETTERS = 4_000_000


class Renderings:
    """Texts as blocks of safe HTML. A bounded number of letters is kept, so that reading again is cheap."""

    def __init__(self, limit: int = CACHE_LETTERS) -> None:
        self._limit = limit
        self._loading = new_lock()
        self._library: Library | None = None
        self._lock = new_lock()
        self._kept: OrderedDict[str, list[str]] = OrderedDict()
        self._letters = 0

    def warm(self) -> None:
        """Load the libraries, so that the first text does not wait for them."""
        self._load()[0].blocks("`x` $x$\n\n```python\n1\n```", {})

    def whole(self, text: str) -> list[str]:
        """The blocks of a text that is complete."""
        with self._lock:
            known = self._kept.get(text)
            if known is not None:
                self._kept.move_to_end(text)
                return known
        blocks = self._load()[0].blocks(text, {})
        self.keep(text, blocks)
        return blocks

    def growing(self) -> "Incremental":
        """A text that has just begun."""
        renderer, incremental = self._load()
        return incremental(renderer)

    def keep(self, text: str, blocks: list[str]) -> None:
        """Remember the blocks of a complete text; what was not asked for longest goes."""
        with self._lock:
            self._forget(text)
            self._kept[text] = blocks
            self._letters += _size(text, blocks)
            while self._letters > self._limit:
                self._forget(next(iter(self._kept)))

    def _load(self) -> "Library":
        # One thread loads: two that begin at different ends of a library would wait for each other.
        with self._loading:
            if self._library is None:
                self._library = _load_library()
            return self._library

    def _forget(self, text: str) -> None:
        blocks = self._kept.pop(text, None)
        if blocks is not None:
            self._letters -= _size(text, blocks)


def _size(text: str, blocks: list[str]) -> int:
    return len(text) + sum(map(len, blocks))


def _load_library() -> "Library":
    from api.render.document import Renderer
    from api.render.incremental import Incremental

    return Renderer(), Incremental
