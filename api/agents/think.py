"""Parts the thinking that some models write at the head of their reply, between `<think>` tags."""

from api.events import Event, reasoning, token

OPENING = "<think>"
CLOSING = "</think>"


class ThinkSplitter:
    """Turns pieces of content into `reasoning` and `token` events; the tags may be cut over pieces.

    A tag counts at the head of the reply only. A thought that is never closed is thinking to its end.
    """

    def __init__(self) -> None:
        self._step = self._at_head
        self._held = ""

    def feed(self, piece: str) -> list[Event]:
        """The events of `piece`; what may be the beginning of a tag waits."""
        if not piece:
            return []
        text, self._held = self._held + piece, ""
        return self._step(text)

    def finish(self) -> list[Event]:
        """What still waits, as the kind of text it stands in."""
        text, self._held = self._held, ""
        if self._step == self._in_thought:
            return _reasoning(text)
        return [] if self._step == self._after_thought else _token(text)

    def _at_head(self, text: str) -> list[Event]:
        start = text.lstrip()
        if start.startswith(OPENING):
            self._step = self._in_thought
            return self._in_thought(start[len(OPENING) :])
        if OPENING.startswith(start):
            self._held = text
            return []
        self._step = _token
        return _token(text)

    def _in_thought(self, text: str) -> list[Event]:
        thought, tag, rest = text.partition(CLOSING)
        if tag:
            self._step = self._after_thought
            return _reasoning(thought) + self._after_thought(rest)
        kept = _beginning_of_tag(text)
        self._held = text[len(text) - kept :]
        return _reasoning(text[: len(text) - kept])

    def _after_thought(self, text: str) -> list[Event]:
        """The blank lines between the thought and the reply belong to neither."""
        text = text.lstrip()
        if text:
            self._step = _token
        return _token(text)


def _token(text: str) -> list[Event]:
    return [token(text)] if text else []


def _reasoning(text: str) -> list[Event]:
    return [reasoning(text)] if text else []


def _beginning_of_tag(text: str) -> int:
    """How many characters at the end of `text` may be the beginning of the closing tag."""
    longest = min(len(text), len(CLOSING) - 1)
    return next((size for size in range(longest, 0, -1) if CLOSING.startswith(text[-size:])), 0)
