"""Rendered texts: the way of the other rooms into this one, and what was rendered lately.

The parser and the highlighter are loaded with the first text, or by `warm` once the port is open.
"""

from collections import OrderedDict
from functools import cache
from typing import TYPE_CHECKING

from api.concurrency import new_lock

if TYPE_CHECKING:
    from api.render.document import Renderer
    from api.render.incremental import Incremental

CACHE_LETTERS = 4_000_000


class Renderings:
    """Texts as blocks of safe HTML. A bounded number of letters is kept, so that reading again is cheap."""

    def __init__(self, limit: int = CACHE_LETTERS) -> None:
        self._limit = limit
        self._lock = new_lock()
        self._kept: OrderedDict[str, list[str]] = OrderedDict()
        self._letters = 0

    def warm(self) -> None:
        """Load the libraries, so that the first text does not wait for them."""
        _renderer().blocks("`x` $x$\n\n```python\n1\n```", {})

    def whole(self, text: str) -> list[str]:
        """The blocks of a text that is complete."""
        with self._lock:
            known = self._kept.get(text)
            if known is not None:
                self._kept.move_to_end(text)
                return known
        blocks = _renderer().blocks(text, {})
        self.keep(text, blocks)
        return blocks

    def growing(self) -> "Incremental":
        """A text that has just begun."""
        return _new_incremental()

    def keep(self, text: str, blocks: list[str]) -> None:
        """Remember the blocks of a complete text; what was not asked for longest goes."""
        with self._lock:
            self._forget(text)
            self._kept[text] = blocks
            self._letters += _size(text, blocks)
            while self._letters > self._limit:
                self._forget(next(iter(self._kept)))

    def _forget(self, text: str) -> None:
        blocks = self._kept.pop(text, None)
        if blocks is not None:
            self._letters -= _size(text, blocks)


def _size(text: str, blocks: list[str]) -> int:
    return len(text) + sum(map(len, blocks))


@cache
def _renderer() -> "Renderer":
    from api.render.document import Renderer

    return Renderer()


def _new_incremental() -> "Incremental":
    from api.render.incremental import Incremental

    return Incremental(_renderer())
