"""Server-sent events: one generator for every stream, and the frames of each vocabulary."""

from collections.abc import Callable, Iterator
from typing import Any

import orjson
from flask import Response, request

from api.concurrency import new_slots
from api.errors import Unavailable
from api.events import TERMINAL, Event
from api.hub import Attachment, Hub, Listener, Published
from api.turns.turn import Turn

STREAM_LIMIT = 64
HEARTBEAT_S = 5.0
POLL_S = 0.5
# The head of an answer leaves with its first bytes, and a reader waits for it.
OPENING = b": open\n\n"


Watch = Callable[[], bool]


def frame(event: str, data: Any, id: str | None = None) -> bytes:
    """One frame; `data` is a line of JSON, so that nothing in it can end the frame."""
    head = f"id: {id}\n" if id else ""
    return f"{head}event: {event}\ndata: ".encode() + orjson.dumps(data) + b"\n\n"


class Streams:
    """The open streams of this server: a bounded number, each ended with its client."""

    def __init__(self, hub: Hub[Turn], limit: int = STREAM_LIMIT) -> None:
        self._hub = hub
        self._slots = new_slots(limit)

    def turn(self, stream_id: str, after_seq: int, ended: Callable[[], list[Event]]) -> Response:
        """The events of one turn from a cursor on, closed after the terminal one.

        `ended` gives the events of a turn that the hub does not know any more.
        """
        return self._respond(lambda is_gone: self._turn_frames(stream_id, after_seq, ended, is_gone))

    def everything(self, after: int | None, is_fresh: bool) -> Response:
        """Every event of the process, with no end. `after` None: from now on."""
        return self._respond(lambda is_gone: self._all_frames(after, is_fresh, is_gone))

    def _respond(self, frames: Callable[[Watch], Iterator[bytes]]) -> Response:
        if not self._slots.acquire(blocking=False):
            raise Unavailable("Too many streams are open. Close a page and try again.", retry_after_s=5)
        # waitress knows that a client has gone before a write fails.
        is_gone: Watch = request.environ.get("waitress.client_disconnected", lambda: False)
        response = Response(frames(is_gone), mimetype="text/event-stream")
        response.headers["X-Accel-Buffering"] = "no"
        response.call_on_close(self._slots.release)
        return response

    def _turn_frames(
        self, stream_id: str, after_seq: int, ended: Callable[[], list[Event]], is_gone: Watch
    ) -> Iterator[bytes]:
        attachment = self._hub.attach(stream_id, after_seq)
        try:
            yield OPENING
            if not attachment.is_known:
                # Looked up after the listener is in place: a turn that begins now is heard.
                past = ended()
                yield from (frame(e.type, e.data, f"{stream_id}:{n}") for n, e in enumerate(past, start=1))
                if past:
                    return
            yield from _opening_frames(stream_id, attachment)
            if not attachment.ended:
                yield from self._live_frames(attachment.listener, is_gone, _turn_frame, ends=True)
        finally:
            self._hub.leave(attachment.listener)

    def _all_frames(self, after: int | None, is_fresh: bool, is_gone: Watch) -> Iterator[bytes]:
        missed, newest, listener = self._hub.listen(after)
        try:
            cursor = f"{self._hub.boot_id}:{newest}"
            yield frame("hello", {"boot_id": self._hub.boot_id, "cursor": cursor})
            if missed is None or not is_fresh:
                yield frame("reset", {"cursor": cursor})
            for published in missed or ():
                yield self._any_frame(published)
            yield from self._live_frames(listener, is_gone, self._any_frame, ends=False)
        finally:
            self._hub.leave(listener)

    def _live_frames(
        self, listener: Listener, is_gone: Watch, show: Callable[[Published], bytes], ends: bool
    ) -> Iterator[bytes]:
        silent_s = 0.0
        while not is_gone():
            taken = listener.take(POLL_S)
            if not taken and listener.closed:
                return
            silent_s = 0.0 if taken else silent_s + POLL_S
            if silent_s >= HEARTBEAT_S:
                silent_s = 0.0
                yield b": alive\n\n"
            for published in taken:
                yield show(published)
                if ends and published.event.type in TERMINAL:
                    return

    def _any_frame(self, published: Published) -> bytes:
        places = {
            "session_id": published.session_id,
            "stream_id": published.stream_id,
            "seq": published.seq,
        }
        data = {**published.event.data, **places}
        return frame(published.event.type, data, f"{self._hub.boot_id}:{published.number}")


def _opening_frames(stream_id: str, attachment: Attachment[Turn]) -> Iterator[bytes]:
    if attachment.state is not None and attachment.first is not None:
        yield _turn_frame(attachment.first)
        snapshot = {"seq": attachment.seq, **attachment.state.snapshot()}
        yield frame("snapshot", snapshot, f"{stream_id}:{attachment.seq}")
    for published in attachment.replay:
        yield _turn_frame(published)


def _turn_frame(published: Published) -> bytes:
    return frame(published.event.type, published.event.data, f"{published.stream_id}:{published.seq}")
