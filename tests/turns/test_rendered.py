"""Replies as HTML while they run: what one reader does takes nothing from another."""

from api.clock import Clock
from api.events import Event, token
from api.hub import Hub
from api.render.renderings import Renderings
from api.turns.rendered import Reading, RenderedTurns
from api.turns.turn import Turn


class StillClock(Clock):
    """Time stands, so that what waits for its time goes on waiting."""

    def monotonic(self) -> float:
        return 0.0


def blocks_of(reading: Reading, seq: int, event: Event) -> list[str]:
    return [change.html for change in reading.take(seq, event) + reading.news()]


def test_a_reader_that_comes_back_to_an_ended_reply_takes_no_block_from_the_others() -> None:
    hub: Hub[Turn] = Hub("boot")
    turns = RenderedTurns(Renderings(), hub, StillClock())
    turn = Turn("s", "t1")
    events = [Event("turn_started", {"user_message": None}), token("one"), token(" *two*"), Event("done", {})]
    for event in events:
        turn = turn.apply(event)
        hub.publish("s", event, turn.stream_id, turn)
    slow = turns.read(turn.stream_id, 0)
    for seq, event in enumerate(events[:2], start=1):
        blocks_of(slow, seq, event)
    back = turns.read(turn.stream_id, 4)
    first = back.begin_with_all()
    assert (first + blocks_of(back, 4, events[3]))[-1] == "<p>one <em>two</em></p>\n"
    assert (blocks_of(slow, 3, events[2]) + blocks_of(slow, 4, events[3]))[-1] == "<p>one <em>two</em></p>\n"
