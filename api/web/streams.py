"""Server-sent events: one generator for every stream."""

from collections.abc import Callable, Iterator

from flask import Response, request

from api.auth.access import Admission
from api.concurrency import new_slots
from api.errors import Unavailable
from api.events import TERMINAL, Event
from api.hub import Attachment, Hub, Listener
from api.turns.rendered import RenderedTurns
from api.turns.turn import Turn
from api.web.frames import AllFrames, Frames, HtmlFrames, TurnFrames, frame

STREAM_LIMIT = 64
HEARTBEAT_S = 5.0
# The head of an answer leaves with its first bytes, and a reader waits for it.
OPENING = b": open\n\n"


Watch = Callable[[], bool]
# Before the first event of a stream, as a cursor: told by a snapshot, whatever is still known.
BY_SNAPSHOT = -1


class Streams:
    """The open streams of this server: a bounded number, each ended with its client or its login."""

    def __init__(
        self,
        hub: Hub[Turn],
        rendered: RenderedTurns,
        admission: Callable[[], Admission],
        limit: int = STREAM_LIMIT,
    ) -> None:
        self._hub = hub
        self._rendered = rendered
        self._admission = admission
        self._slots = new_slots(limit)

    def turn(self, stream_id: str, after_seq: int, ended: Callable[[], list[Event]], html: bool) -> Response:
        """The events of one turn from a cursor on, closed after the terminal one.

        `ended` gives the events of a turn that the hub does not know any more. With `html` the blocks of the
        reply come between them; who comes back then gets them with a snapshot.
        """
        frames: Frames = TurnFrames()
        if html:
            frames = HtmlFrames(TurnFrames(), self._rendered)
            after_seq = BY_SNAPSHOT if after_seq else 0
        return self._respond(lambda is_gone: self._turn_frames(stream_id, after_seq, ended, frames, is_gone))

    def everything(self, after: int | None, is_fresh: bool, html: bool) -> Response:
        """Every event of the process, with no end. `after` None: from now on."""
        plain = AllFrames(self._hub.boot_id)
        frames = HtmlFrames(plain, self._rendered) if html else plain
        return self._respond(lambda is_gone: self._all_frames(after, is_fresh, frames, is_gone))

    def _respond(self, frames: Callable[[Watch], Iterator[bytes]]) -> Response:
        if request.method == "HEAD":
            # Without a length the end of a body that is not there would be sent as well.
            return Response(mimetype="text/event-stream")
        if not self._slots.acquire(blocking=False):
            raise Unavailable("Too many streams are open. Close a page and try again.", retry_after_s=5)
        # waitress knows that a client has gone before a write fails.
        has_left: Watch = request.environ.get("waitress.client_disconnected", lambda: False)
        admission = self._admission()
        shown = frames(lambda: has_left() or admission.has_ended())
        response = Response(shown, mimetype="text/event-stream")
        response.headers["X-Accel-Buffering"] = "no"
        response.call_on_close(self._slots.release)
        return response

    def _turn_frames(
        self,
        stream_id: str,
        after_seq: int,
        ended: Callable[[], list[Event]],
        frames: Frames,
        is_gone: Watch,
    ) -> Iterator[bytes]:
        attachment = self._hub.attach(stream_id, after_seq)
        try:
            yield OPENING
            if not attachment.is_known:
                # Looked up after the listener is in place: a turn that begins now is heard.
                past = ended()
                yield from _past_frames(stream_id, past, frames)
                if past:
                    return
            yield from _opening_frames(stream_id, attachment, frames)
            if not attachment.ended:
                yield from self._live_frames(attachment.listener, is_gone, frames, ends=True)
        finally:
            self._hub.leave(attachment.listener)

    def _all_frames(
        self, after: int | None, is_fresh: bool, frames: Frames, is_gone: Watch
    ) -> Iterator[bytes]:
        missed, newest, listener = self._hub.listen(after)
        try:
            cursor = f"{self._hub.boot_id}:{newest}"
            yield frame("hello", {"boot_id": self._hub.boot_id, "cursor": cursor})
            if missed is None or not is_fresh:
                yield frame("reset", {"cursor": cursor})
            for published in missed or ():
                yield from frames.show(published)
            yield from self._live_frames(listener, is_gone, frames, ends=False)
        finally:
            self._hub.leave(listener)

    def _live_frames(self, listener: Listener, is_gone: Watch, frames: Frames, ends: bool) -> Iterator[bytes]:
        silent_s = 0.0
        while not is_gone():
            patience_s = frames.patience_s()
            taken = listener.take(patience_s)
            if not taken and listener.closed:
                return
            silent_s = 0.0 if taken else silent_s + patience_s
            if silent_s >= HEARTBEAT_S:
                silent_s = 0.0
                yield b": alive\n\n"
            for published in taken:
                yield from frames.show(published)
                if ends and published.event.type in TERMINAL:
                    return
            yield from frames.idle()


def _past_frames(stream_id: str, past: list[Event], frames: Frames) -> Iterator[bytes]:
    for number, event in enumerate(map(frames.past, past), start=1):
        yield frame(event.type, event.data, f"{stream_id}:{number}")


def _opening_frames(stream_id: str, attachment: Attachment[Turn], frames: Frames) -> Iterator[bytes]:
    """What was missed: the events themselves, or a snapshot in their place."""
    if attachment.state is not None and attachment.first is not None:
        yield from _past_frames(stream_id, [attachment.first.event], frames)
        snapshot = frames.snapshot(attachment.state, attachment.seq)
        yield frame("snapshot", snapshot, f"{stream_id}:{attachment.seq}")
    for published in attachment.replay:
        yield from frames.show(published)
