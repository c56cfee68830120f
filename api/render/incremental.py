"""Markdown that grows: blocks of HTML as they come, and in the end those of the whole text."""

import re
from dataclasses import dataclass, field

from api.render.code import escape
from api.render.document import Block, Document, Rendered, Renderer
from api.render.fence import OpenFence

# An open block is rendered again at most this often, and only while it is small.
PAUSE_S = 0.2
OPEN_LIMIT = 6_000
# What a letter costs at most, and how much longer than a rendering the pause after it is.
COST_S = 3e-6
SPREAD = 10
_BLANK_LINE = re.compile(r"(?:\n|\r\n?)[ \t]*[\r\n]")
_PLAIN_HEAD, _PLAIN_FOOT = '<div class="plain">', "</div>\n"


@dataclass(frozen=True, slots=True)
class Change:
    """What a reader does to block number `block`: set its HTML ("" takes it away), or append to it."""

    block: int
    html: str
    final: bool = False
    append: bool = False


@dataclass(slots=True)
class Shown:
    """A block as readers have it; what is appended goes before `foot`."""

    head: str
    foot: str = ""
    added: list[str] = field(default_factory=list)
    final: bool = False

    @property
    def html(self) -> str:
        return "".join((self.head, *self.added, self.foot))


class Incremental:
    """One growing text. Fed with pieces, it says what has changed; after `finish` it equals the whole.

    Finished blocks are rendered once. Open ones are rendered again while they are small; beyond that,
    and in an open fence, escaped text is appended.
    """

    def __init__(self, renderer: Renderer, open_limit: int = OPEN_LIMIT) -> None:
        self._renderer = renderer
        self._open_limit = open_limit
        self._cache: dict[tuple[str, str], Rendered] = {}
        self._known: dict[str, object] = {}
        self._whole: list[str] = []
        self._held = ""
        self._tail: list[str] = []
        self._tail_length = 0
        self._last_letters = ""
        self._has_boundary = False
        self._is_plain = False
        self._fence: OpenFence | None = None
        self._is_behind = False
        self._not_before = float("-inf")
        self._rendered_length = 0
        # The first `_closed` blocks are finished, those after them are open.
        self._closed = 0
        self.shown: list[Shown] = []

    @property
    def blocks(self) -> list[str]:
        return [shown.html for shown in self.shown if shown.html]

    @property
    def text(self) -> str:
        return "".join(self._whole) + self._held

    def wait_s(self, now: float) -> float | None:
        """How long until `feed` would show more without a new piece; None when nothing waits."""
        return max(0.0, self._not_before - now) if self._is_behind else None

    def feed(self, piece: str, now: float) -> list[Change]:
        """Take the next piece of the text; "" only lets time pass."""
        changes = self._take(self._with_held(piece))
        if self._is_behind and now >= self._not_before:
            changes += self._render(now)
        return changes

    def finish(self) -> list[Change]:
        """The text is whole: the changes that make the blocks those of the whole."""
        self._whole.append(self._held)
        self._held, self._is_behind = "", False
        html = self._renderer.blocks("".join(self._whole), self._cache)
        changes = [self._set(n, text, final=True) for n, text in enumerate(html) if self._differs(n, text)]
        changes += [self._set(n, "", final=True) for n in range(len(html), len(self.shown))]
        self._cache.clear()
        return changes

    def _with_held(self, piece: str) -> str:
        """A carriage return waits for the line feed that may follow it."""
        text = self._held + piece
        self._held = "\r" if text.endswith("\r") else ""
        return text[:-1] if self._held else text

    def _take(self, text: str) -> list[Change]:
        if not text:
            return []
        self._whole.append(text)
        if self._fence:
            return self._take_code(self._fence, text)
        self._extend(text)
        return [self._append(escape(text))] if self._is_plain else []

    def _extend(self, text: str) -> None:
        self._tail.append(text)
        self._tail_length += len(text)
        seen = self._last_letters + text
        self._has_boundary = self._has_boundary or bool(_BLANK_LINE.search(seen))
        self._last_letters = seen[-80:]
        self._is_behind = not self._is_plain or self._has_boundary

    def _take_code(self, fence: OpenFence, text: str) -> list[Change]:
        html = fence.feed(text)
        changes = [self._append(html)] if html else []
        self._tail.append(text)
        if fence.rest is not None:
            rest, raw = fence.rest, "".join(self._tail)
            self._fence = None
            changes += self._close(self._renderer.parse(raw[: len(raw) - len(rest)], self._known))
            self._restart(rest)
        return changes

    def _render(self, now: float) -> list[Change]:
        """Close what is finished, and show what is open."""
        self._is_behind = False
        if self._tail_length > self._open_limit and not self._has_boundary:
            self._not_before = now
            return [] if self._is_plain else [self._go_plain()]
        document = self._renderer.parse("".join(self._tail), self._known)
        place = _first_open(document.blocks, document)
        changes = self._close(document, place) if place else []
        opened = document.blocks[place:]
        if place:
            self._restart(document.source.raw[document.source.offset(opened[0].first) :])
        self._has_boundary = self._is_behind = False
        self._not_before = now + max(PAUSE_S, SPREAD * COST_S * self._tail_length)
        fence = _open_fence(opened, document)
        if fence:
            return changes + self._open_code(*fence)
        if self._tail_length > self._open_limit:
            return changes if self._is_plain else [*changes, self._go_plain()]
        return changes + self._show_open(opened, document)

    def _close(self, document: Document, count: int | None = None) -> list[Change]:
        """Finish the first `count` blocks of the open part, or all of them."""
        blocks, references = document.blocks[:count], document.references
        end = document.blocks[count].first if count is not None else len(document.source.starts)
        self._known |= {
            label: found
            for label, found in references.items()
            if label not in self._known and found["map"][1] <= end
        }
        changes = []
        for block in blocks:
            if not block.is_footnote:
                html = self._renderer.html(block, references, self._cache)
                if self._differs(self._closed, html):
                    changes.append(self._set(self._closed, html, final=True))
                self._closed += 1
        return changes

    def _show_open(self, blocks: list[Block], document: Document) -> list[Change]:
        shown = [block for block in blocks if not block.is_footnote]
        changes = []
        for number, block in enumerate(shown, start=self._closed):
            html = self._renderer.html(block, document.references, self._cache)
            if number >= len(self.shown) or self.shown[number].html != html:
                changes.append(self._set(number, html, final=False))
        for number in range(self._closed + len(shown), len(self.shown)):
            if self.shown[number].html:
                changes.append(self._set(number, "", final=False))
        self._rendered_length = self._tail_length
        return changes

    def _open_code(self, fence: OpenFence, html: str) -> list[Change]:
        self._fence = fence
        head, foot = fence.html
        return [*self._hide_from(self._closed + 1), self._open(self._closed, head, html, foot)]

    def _go_plain(self) -> Change:
        """From here on the open block grows by its plain text, after what was rendered of it."""
        self._is_plain = True
        number = max(self._closed, len(self.shown) - 1)
        before = self.shown[number].html if number < len(self.shown) else ""
        rest = "".join(self._tail)[self._rendered_length :]
        return self._open(number, before + _PLAIN_HEAD, escape(rest), _PLAIN_FOOT)

    def _restart(self, text: str) -> None:
        """The open part begins anew with `text`."""
        self._tail, self._tail_length, self._last_letters = [], 0, ""
        self._is_plain = self._has_boundary = False
        self._rendered_length = 0
        if text:
            self._extend(text)

    def _hide_from(self, first: int) -> list[Change]:
        return [self._set(n, "", final=False) for n in range(first, len(self.shown)) if self.shown[n].html]

    def _open(self, number: int, head: str, added: str, foot: str) -> Change:
        self._put(number, Shown(head, foot, [added]))
        return Change(number, self.shown[number].html)

    def _append(self, html: str) -> Change:
        number = self._closed if self._fence else max(self._closed, len(self.shown) - 1)
        self.shown[number].added.append(html)
        return Change(number, html, append=True)

    def _set(self, number: int, html: str, final: bool) -> Change:
        self._put(number, Shown(html, final=final))
        return Change(number, html, final)

    def _put(self, number: int, shown: Shown) -> None:
        if number == len(self.shown):
            self.shown.append(shown)
        else:
            self.shown[number] = shown

    def _differs(self, number: int, html: str) -> bool:
        if number >= len(self.shown):
            return True
        return not self.shown[number].final or self.shown[number].html != html


def _first_open(blocks: list[Block], document: Document) -> int:
    """The first block that later text could still change: everything before it is finished.

    That is the last one which begins, with a line that is whole, after a blank line or after a block that
    closes itself. An open fence begins for certain.
    """
    source = document.source
    for place in range(len(blocks) - 1, 0, -1):
        block = blocks[place]
        is_certain = block.closes_itself and block.kind == "fence"
        after = source.is_blank(block.first - 1) or blocks[place - 1].closes_itself
        if block.first < source.complete_lines and (after or is_certain):
            return place
    return 0


def _open_fence(blocks: list[Block], document: Document) -> tuple[OpenFence, str] | None:
    """The fence that is still open, and the HTML of its code so far."""
    if len(blocks) != 1 or blocks[0].kind != "fence" or blocks[0].first >= document.source.complete_lines:
        return None
    source, first = document.source, blocks[0].first
    fence = OpenFence(source.slice(first, first + 1))
    html = fence.feed(source.raw[source.offset(first + 1) :])
    return None if fence.rest is not None else (fence, html)
