"""Tells a stream of events from a single JSON answer and from a page, whatever the headers say."""

from api.agents.endpoint import Endpoint
from api.agents.provider_errors import failure_from
from api.agents.sse import BYTE_ORDER_MARK, DEFAULT_EVENT, MAX_EVENT_BYTES, EventDecoder
from api.errors import AgentError
from api.text import read_json

DONE = "[DONE]"
BLANKS = b" \t\r\n"


class BodyDecoder:
    """Decodes the body of one answer into `(event, data)` pairs by its first character."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._events = EventDecoder()
        self._head = b""
        self._is_stream = False
        self._whole: bytearray | None = None

    def feed(self, piece: bytes) -> list[tuple[str, str]]:
        """The events that `piece` completes. Raises `AgentError` for what is no reply."""
        if self._is_stream:
            return self._events.feed(piece)
        if self._whole is not None:
            self._grow(piece)
            return []
        return self._begin(piece)

    def finish(self) -> list[tuple[str, str]]:
        """What the end of the body completes; a piece of a stream that broke off inside is left out."""
        if self._whole is not None:
            return [(DEFAULT_EVENT, self._whole.decode("utf-8", "replace"))]
        return [(event, data) for event, data in self._events.finish() if _is_whole(data)]

    def _begin(self, piece: bytes) -> list[tuple[str, str]]:
        self._head += piece
        start = self._head.removeprefix(BYTE_ORDER_MARK).lstrip(BLANKS)
        if not start or BYTE_ORDER_MARK.startswith(start):
            # Blank lines may come for minutes as a sign of life; none of them is kept.
            self._head = start
            return []
        if start.startswith(b"<"):
            raise self._no_reply()
        if start.startswith((b"{", b"[")):
            self._whole = bytearray()
            self._grow(start)
            return []
        self._is_stream = True
        return self._events.feed(start)

    def _grow(self, piece: bytes) -> None:
        assert self._whole is not None
        self._whole += piece
        if len(self._whole) > MAX_EVENT_BYTES:
            raise failure_from(self._endpoint, "the answer is too large")

    def _no_reply(self) -> AgentError:
        return AgentError(
            f"{self._endpoint.name} answered with a web page and no reply.",
            type="no_response",
            hint=f"Check the base URL of this endpoint ({self._endpoint.host}); many end with /v1.",
        )


def _is_whole(data: str) -> bool:
    try:
        read_json(data)
    except ValueError:
        return data.strip() == DONE
    return True
