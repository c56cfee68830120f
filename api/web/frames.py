"""What a reader of events gets to see of each: the frames of every vocabulary."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

import orjson

from api.events import TERMINAL, Event
from api.hub import Published
from api.sessions.content import text_of
from api.turns.rendered import HtmlChange, Reading, RenderedTurns
from api.turns.turn import Turn

POLL_S = 0.5


def frame(event: str, data: Any, id: str | None = None) -> bytes:
    """One frame; `data` is a line of JSON, so that nothing in it can end the frame."""
    head = f"id: {id}\n" if id else ""
    return f"{head}event: {event}\ndata: ".encode() + orjson.dumps(data) + b"\n\n"


def number_of(cursor: str, place: str) -> int | None:
    """The number in the id of a frame of `place`, as a reader hands it back; None for any other text."""
    its_place, _, number = cursor.rpartition(":")
    is_ours = its_place == place and number.isascii() and number.isdigit() and len(number) < 16
    return int(number) if is_ours else None


class Frames(Protocol):
    """The frames of one reader."""

    def show(self, published: Published) -> Iterable[bytes]:
        """The frames of one event."""

    def idle(self) -> Iterable[bytes]:
        """Frames that no event brings, asked for after at most `patience_s`."""

    def patience_s(self) -> float: ...

    def past(self, event: Event) -> Event:
        """An event that is told after its time."""

    def snapshot(self, turn: Turn, seq: int) -> Mapping[str, Any]:
        """What stands for the events of a turn up to number `seq`; `show` goes on from there."""


class TurnFrames:
    """The events of one turn, numbered by that turn."""

    def show(self, published: Published) -> Iterator[bytes]:
        yield frame(published.event.type, published.event.data, f"{published.stream_id}:{published.seq}")

    def idle(self) -> Iterator[bytes]:
        yield from ()

    def patience_s(self) -> float:
        return POLL_S

    def past(self, event: Event) -> Event:
        return event

    def snapshot(self, turn: Turn, seq: int) -> Mapping[str, Any]:
        return {"seq": seq, **turn.snapshot()}

    def places(self, stream_id: str) -> Mapping[str, Any]:
        """What a frame of a stream says of where it belongs; a reader of one turn knows."""
        return {}


class AllFrames(TurnFrames):
    """The events of everything, numbered by this process, with their places."""

    def __init__(self, boot_id: str) -> None:
        self._boot_id = boot_id

    def show(self, published: Published) -> Iterator[bytes]:
        places = {"session_id": published.session_id, "stream_id": published.stream_id, "seq": published.seq}
        data = {**published.event.data, **places}
        yield frame(published.event.type, data, f"{self._boot_id}:{published.number}")

    def places(self, stream_id: str) -> Mapping[str, Any]:
        return {"session_id": stream_id.rpartition(".")[0], "stream_id": stream_id}


class HtmlFrames:
    """Puts the rendered blocks of replies between the frames of `plain`.

    They have no id: they are made for this reader from events that have one, so the numbers of these stay
    without a gap, and a reader that comes back gets the blocks so far.
    """

    def __init__(self, plain: TurnFrames, turns: RenderedTurns) -> None:
        self._plain = plain
        self._turns = turns
        self._readings: dict[str, Reading] = {}

    def show(self, published: Published) -> Iterator[bytes]:
        if published.stream_id is None or published.seq is None:
            yield from self._plain.show(published)
            return
        reading = self._reading(published.stream_id, published.seq)
        places = self._plain.places(published.stream_id)
        yield from _html_frames(reading.take(published.seq, published.event), places)
        yield from self._plain.show(self._with_html(published))
        if published.event.type in TERMINAL:
            del self._readings[published.stream_id]
        else:
            yield from _html_frames(reading.news(), places)

    def idle(self) -> Iterator[bytes]:
        for stream_id, reading in self._readings.items():
            yield from _html_frames(reading.news(), self._plain.places(stream_id))

    def patience_s(self) -> float:
        waits = [reading.wait_s() for reading in self._readings.values()]
        return min([POLL_S, *(wait for wait in waits if wait is not None)])

    def snapshot(self, turn: Turn, seq: int) -> Mapping[str, Any]:
        reading = self._readings[turn.stream_id] = self._turns.read(turn.stream_id, seq)
        return {**self._plain.snapshot(turn, seq), "html": reading.begin_with_all()}

    def past(self, event: Event) -> Event:
        if event.type == "snapshot":
            return Event("snapshot", {**event.data, "html": self._turns.whole(event.data["text"])})
        return self._started(event)

    def _reading(self, stream_id: str, seq: int) -> Reading:
        if stream_id not in self._readings:
            self._readings[stream_id] = self._turns.read(stream_id, seq - 1)
        return self._readings[stream_id]

    def _with_html(self, published: Published) -> Published:
        event = self._started(published.event)
        return Published(published.number, published.session_id, published.stream_id, published.seq, event)

    def _started(self, event: Event) -> Event:
        user = event.data["user_message"] if event.type == "turn_started" else None
        if user is None:
            return event
        html = self._turns.whole(text_of(user["content"]))
        return Event(event.type, {**event.data, "user_message": {**user, "html": html}})


def _html_frames(changes: Iterable[HtmlChange], places: Mapping[str, Any]) -> Iterator[bytes]:
    for change in changes:
        data = {"block": change.block, "html": change.html, "final": change.final, "append": change.append}
        yield frame("html", {**data, **places})
