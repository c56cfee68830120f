"""The replies that run, as HTML: made once a turn, by the first of its readers that gets so far."""

from collections import OrderedDict, deque
from itertools import islice
from typing import NamedTuple

from api.clock import Clock
from api.concurrency import new_lock
from api.events import TERMINAL, Event
from api.hub import Hub
from api.render.renderings import Renderings
from api.turns.turn import Turn

KEPT_TURNS = 16
KEPT_CHANGES = 512


class HtmlChange(NamedTuple):
    """What is new about one block of a reply; it belongs after the event number `after` of the stream."""

    after: int
    block: int
    html: str
    final: bool
    append: bool


class RenderedTurn:
    """The blocks of one running reply, numbered through all its answers.

    Words that come after a tool call are a text of their own, as they are a message of their own later.
    """

    def __init__(self, renderings: Renderings, clock: Clock) -> None:
        self.renderings = renderings
        self._clock = clock
        self._lock = new_lock()
        self._seq = 0
        self._round = 0
        self._has_calls = False
        self._text = renderings.growing()
        self._finished: list[str] = []
        self._fed = 0
        self._changes: deque[HtmlChange] = deque(maxlen=KEPT_CHANGES)
        self._count = 0

    def take(self, seq: int, event: Event) -> None:
        """Take the next event of the turn; one that was taken before changes nothing."""
        with self._lock:
            if seq <= self._seq:
                return
            self._seq = seq
            if event.type in ("token", "reasoning"):
                self._begin_round(self._round + self._has_calls)
                if event.type == "token":
                    self._feed(event.data["text"])
            elif event.type == "tool" or event.type in TERMINAL:
                # The words before a call or an end are complete before these are shown.
                self._finish(after=seq - 1)
                self._has_calls = self._has_calls or event.type == "tool"

    def catch_up(self, turn: Turn, seq: int) -> None:
        """Take all that the turn has said up to its event `seq`."""
        with self._lock:
            if seq <= self._seq:
                return
            self._seq = seq
            for number, entry in enumerate(turn.rounds):
                if number < self._round or (number == self._round and self._has_calls):
                    continue
                self._begin_round(number)
                self._feed(entry.text[self._fed :])
                if entry.calls:
                    self._finish(after=seq)
                    self._has_calls = True

    def tick(self) -> None:
        """Show what has waited for its time."""
        with self._lock:
            if self._text.wait_s(self._clock.monotonic()) == 0:
                self._feed("")

    def wait_s(self) -> float | None:
        """How long until `tick` shows more; None while nothing waits."""
        return self._text.wait_s(self._clock.monotonic())

    def blocks(self) -> tuple[list[str], int]:
        """All blocks by number, and how many changes have led to them."""
        with self._lock:
            return self._blocks(), self._count

    def since(self, count: int, after: int) -> tuple[list[HtmlChange], int]:
        """The changes behind the first `count`, up to those of event `after`, and how many they are then.

        Where these are gone: all blocks, as if they were changes.
        """
        with self._lock:
            oldest = self._count - len(self._changes)
            if count < oldest:
                blocks = enumerate(self._blocks())
                return [HtmlChange(after, n, html, False, False) for n, html in blocks], self._count
            waiting = islice(self._changes, count - oldest, None)
            changes = [change for change in waiting if change.after <= after]
            return changes, count + len(changes)

    def _blocks(self) -> list[str]:
        return [*self._finished, *(shown.html for shown in self._text.shown)]

    def _begin_round(self, number: int) -> None:
        self._has_calls = self._has_calls and number == self._round
        self._round = number

    def _feed(self, text: str) -> None:
        self._fed += len(text)
        base = len(self._finished)
        for change in self._text.feed(text, self._clock.monotonic()):
            self._note(HtmlChange(self._seq, base + change.block, change.html, change.final, change.append))

    def _finish(self, after: int) -> None:
        if not self._fed:
            return
        base = len(self._finished)
        for change in self._text.finish():
            self._note(HtmlChange(after, base + change.block, change.html, change.final, change.append))
        self.renderings.keep(self._text.text, self._text.blocks)
        self._finished += [shown.html for shown in self._text.shown]
        self._text, self._fed = self.renderings.growing(), 0

    def _note(self, change: HtmlChange) -> None:
        self._changes.append(change)
        self._count += 1


class Reading:
    """One reader's place in a rendered turn."""

    def __init__(self, turn: RenderedTurn, seq: int) -> None:
        self._turn = turn
        self._seq = seq
        self._count = 0

    def begin_with_all(self) -> list[str]:
        """All blocks so far; what `news` gives comes after them."""
        blocks, self._count = self._turn.blocks()
        return blocks

    def take(self, seq: int, event: Event) -> list[HtmlChange]:
        """Take an event; what belongs before it."""
        self._turn.take(seq, event)
        changes = self._news(seq - 1)
        self._seq = seq
        return changes

    def news(self) -> list[HtmlChange]:
        """What is new about the events that were taken."""
        self._turn.tick()
        return self._news(self._seq)

    def wait_s(self) -> float | None:
        return self._turn.wait_s()

    def _news(self, after: int) -> list[HtmlChange]:
        changes, self._count = self._turn.since(self._count, after)
        return changes


class RenderedTurns:
    """The turns that someone reads as HTML. The newest few are kept, so that a reader may come back."""

    def __init__(self, renderings: Renderings, hub: Hub[Turn], clock: Clock) -> None:
        self.renderings = renderings
        self._hub = hub
        self._clock = clock
        self._lock = new_lock()
        self._turns: OrderedDict[str, RenderedTurn] = OrderedDict()

    def read(self, stream_id: str, seq: int) -> Reading:
        """Begin to read a turn of which `seq` events are taken as known."""
        turn = self._turn(stream_id)
        state = self._hub.state(stream_id) if seq else None
        if state:
            turn.catch_up(*state)
        return Reading(turn, seq)

    def _turn(self, stream_id: str) -> RenderedTurn:
        fresh = None if stream_id in self._turns else RenderedTurn(self.renderings, self._clock)
        with self._lock:
            turn = self._turns.get(stream_id) or fresh or RenderedTurn(self.renderings, self._clock)
            self._turns[stream_id] = turn
            self._turns.move_to_end(stream_id)
            if len(self._turns) > KEPT_TURNS:
                self._turns.popitem(last=False)
            return turn

    def whole(self, text: str) -> list[str]:
        """The blocks of a text that is complete."""
        return self.renderings.whole(text)
