"""One running turn: its value, its stop, and the one way of its words to disk and to readers."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from api.agents.base import Stop
from api.clock import Clock
from api.concurrency import new_lock
from api.errors import StorageFailed
from api.events import Event
from api.hub import Hub
from api.turns.journal import JournalFile
from api.turns.turn import Turn

PIECES_PER_S = 30
PIECE_S = 1 / PIECES_PER_S


class LiveTurn:
    """A turn that runs in this process, owned by the runner.

    Pieces of text are joined to at most 30 events a second, the first at once. Each event goes to the
    journal first and to the readers then. After `finish` nothing is taken any more.
    """

    def __init__(
        self, turn: Turn, opening: Event, journal: JournalFile, hub: Hub[Turn], clock: Clock
    ) -> None:
        self.turn = turn
        self.opening = opening
        self.stop = Stop()
        self.stop_requested_at: float | None = None
        self._journal = journal
        self._hub = hub
        self._clock = clock
        self._lock = new_lock()
        self._pending: list[str] = []
        self._pending_type = ""
        self._flushed_at = float("-inf")
        self._is_finished = False
        self._has_ended = False

    @property
    def session_id(self) -> str:
        return self.turn.session_id

    @property
    def turn_id(self) -> str:
        return self.turn.turn_id

    def announce(self) -> None:
        """Tell the readers that the turn has begun."""
        self._hub.publish(self.session_id, self.opening, self.turn.stream_id, self.turn)

    def take(self, event: Event) -> None:
        """Take one event of the agent. Raises `StorageFailed` where it cannot be kept."""
        with self._lock:
            if self._is_finished:
                return
            if event.type != self._pending_type:
                self._flush()
            if event.type not in ("token", "reasoning"):
                self._emit(event)
                return
            self._pending_type = event.type
            self._pending.append(event.data["text"])
            if self._clock.monotonic() - self._flushed_at >= PIECE_S:
                self._flush()

    def flush(self) -> None:
        """Pass on the pieces that have waited long enough for more."""
        if not self._pending:
            return
        # A piece that cannot be kept is not shown; the turn has it, and the next `take` fails the turn.
        with self._lock, suppress(StorageFailed):
            if self._clock.monotonic() - self._flushed_at >= PIECE_S:
                self._flush()

    def finish(self) -> Turn:
        """Pass on what waits, take nothing more, and give the turn as it will be stored."""
        with self._lock:
            if not self._is_finished:
                with suppress(StorageFailed):
                    self._flush()
                self._is_finished = True
                self._journal.close()
            return self.turn

    def end(self, terminal: str, data: Mapping[str, Any]) -> None:
        """Tell the readers how the turn has ended; the first end is the one that counts."""
        with self._lock:
            if self._has_ended:
                return
            self._has_ended = True
        self._hub.publish(self.session_id, Event(terminal, data), self.turn.stream_id, self.turn)

    def _flush(self) -> None:
        text = "".join(self._pending)
        self._pending.clear()
        if text:
            self._flushed_at = self._clock.monotonic()
            self._emit(Event(self._pending_type, {"text": text}))

    def _emit(self, event: Event) -> None:
        self.turn = self.turn.apply(event)
        self._journal.write(event)
        self._hub.publish(self.session_id, event, self.turn.stream_id, self.turn)
