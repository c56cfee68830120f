"""Numbers events, keeps a bounded tail, hands them to listeners, and says when a gap is too old."""

from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from api.concurrency import new_condition, new_lock
from api.events import TERMINAL, Event

TAIL = 2048
STREAM_TAIL = 1024
ENDED_STREAMS = 64
LISTENER_LIMIT = 256

S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Published:
    """An event with its places: `number` counts all events of this boot, `seq` those of its stream from 1."""

    number: int
    session_id: str
    stream_id: str | None
    seq: int | None
    event: Event


class Listener:
    """The events that wait for one reader. One that falls too far behind is closed and told so."""

    def __init__(self, wants: Callable[[Published], bool]) -> None:
        self.wants = wants
        self._condition = new_condition()
        self._waiting: deque[Published] = deque()
        self._closed = False

    def offer(self, published: Published) -> None:
        with self._condition:
            if len(self._waiting) >= LISTENER_LIMIT:
                self._closed = True
            if not self._closed:
                self._waiting.append(published)
            self._condition.notify()

    def take(self, timeout_s: float) -> list[Published]:
        """What has come, after waiting at most `timeout_s` for the first."""
        with self._condition:
            if not self._waiting and not self._closed:
                self._condition.wait(timeout_s)
            taken = list(self._waiting)
            self._waiting.clear()
            return taken

    @property
    def closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        """End the reader once it has taken what waits."""
        with self._condition:
            self._closed = True
            self._condition.notify()


@dataclass(slots=True)
class _Stream(Generic[S]):
    state: S
    seq: int = 0
    first: Published | None = None
    tail: deque[Published] = field(default_factory=lambda: deque(maxlen=STREAM_TAIL))
    ended: bool = False


@dataclass(frozen=True, slots=True)
class Attachment(Generic[S]):
    """Where a reader of one stream starts: missed events, or `state` as of `seq` where those are gone.

    `first` is the event that opened the stream, `ended` that no further event will come; a stream that
    the hub does not know has not begun, or ended long ago.
    """

    replay: list[Published]
    state: S | None
    seq: int
    first: Published | None
    ended: bool
    listener: Listener

    @property
    def is_known(self) -> bool:
        return self.first is not None


class Hub(Generic[S]):
    """All events of one process. `S` is the state of a stream that stands for its events so far."""

    def __init__(self, boot_id: str) -> None:
        self.boot_id = boot_id
        self._lock = new_lock()
        self._number = 0
        self._tail: deque[Published] = deque(maxlen=TAIL)
        self._streams: OrderedDict[str, _Stream[S]] = OrderedDict()
        self._listeners: set[Listener] = set()

    def publish(
        self, session_id: str, event: Event, stream_id: str | None = None, state: S | None = None
    ) -> Published:
        """Hand an event to everyone who listens; `state` is the stream's state with this event in it."""
        with self._lock:
            self._number += 1
            stream = self._stream(stream_id, state) if stream_id and state is not None else None
            if stream:
                stream.seq += 1
            published = Published(self._number, session_id, stream_id, stream.seq if stream else None, event)
            if stream:
                self._extend(stream, published)
            self._tail.append(published)
            for listener in self._listeners:
                if listener.wants(published):
                    listener.offer(published)
            return published

    def _stream(self, stream_id: str, state: S) -> _Stream[S]:
        stream = self._streams.setdefault(stream_id, _Stream(state))
        stream.state = state
        return stream

    def _extend(self, stream: _Stream[S], published: Published) -> None:
        stream.first = stream.first or published
        stream.tail.append(published)
        if published.event.type in TERMINAL:
            stream.ended = True
            ended = [stream_id for stream_id, other in self._streams.items() if other.ended]
            for stream_id in ended[: max(0, len(ended) - ENDED_STREAMS)]:
                del self._streams[stream_id]

    def attach(self, stream_id: str, after_seq: int) -> Attachment[S]:
        """Listen to one stream from `after_seq` on, without a gap."""
        with self._lock:
            listener = Listener(lambda published: published.stream_id == stream_id)
            self._listeners.add(listener)
            stream = self._streams.get(stream_id)
            if stream is None:
                return Attachment([], None, 0, None, False, listener)
            oldest = stream.seq - len(stream.tail)
            replay = [published for published in stream.tail if (published.seq or 0) > after_seq]
            is_whole = oldest <= after_seq <= stream.seq
            state = None if is_whole else stream.state
            last = [published for published in replay if published.event.type in TERMINAL]
            return Attachment(
                replay if is_whole else last, state, stream.seq, stream.first, stream.ended, listener
            )

    def listen(self, after: int | None = None) -> tuple[list[Published] | None, int, Listener]:
        """Listen to everything: what was missed since event `after` (None: too old), the newest number."""
        with self._lock:
            listener = Listener(lambda _published: True)
            self._listeners.add(listener)
            if after is None:
                return [], self._number, listener
            oldest = self._number - len(self._tail)
            missed = [published for published in self._tail if published.number > after]
            return (missed if oldest <= after <= self._number else None), self._number, listener

    def leave(self, listener: Listener) -> None:
        with self._lock:
            self._listeners.discard(listener)

    def forget(self, session_id: str) -> None:
        """Keep no event of ended streams of a session; who comes back with an older cursor is reset."""
        with self._lock:
            self._tail.clear()
            for stream_id, stream in list(self._streams.items()):
                if stream.ended and stream.first and stream.first.session_id == session_id:
                    del self._streams[stream_id]

    def last_seq(self, stream_id: str) -> int:
        """The newest event number of a stream; 0 when the hub does not know it."""
        with self._lock:
            stream = self._streams.get(stream_id)
            return stream.seq if stream else 0

    def state(self, stream_id: str) -> tuple[S, int] | None:
        """What stands for a stream's events so far, and the number of the newest that it stands for.

        A terminal event is not among them: it adds nothing, and who hears it has to end what it ends.
        """
        with self._lock:
            stream = self._streams.get(stream_id)
            return (stream.state, stream.seq - stream.ended) if stream else None

    def listeners(self) -> int:
        with self._lock:
            return len(self._listeners)

    def close(self) -> None:
        """End every reader."""
        with self._lock:
            for listener in self._listeners:
                listener.close()
