"""The running turns of this process: at most one a session, and a bounded number at work at a time."""

from collections import deque
from collections.abc import Iterable

from api.concurrency import new_flag, new_lock
from api.turns.live import LiveTurn


class TurnTable:
    """Which turns live here. A session is busy when it stands in this table."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = new_lock()
        self._turns: dict[str, LiveTurn] = {}
        self._claims: dict[str, LiveTurn] = {}
        self._working: set[LiveTurn] = set()
        self._waiting: deque[LiveTurn] = deque()
        self.is_occupied = new_flag()
        self.is_empty = new_flag()
        self.is_empty.set()

    def claim(self, live: LiveTurn) -> None:
        """Let `live` run as soon as its session is saved with it; only under the session's lock."""
        with self._lock:
            self._claims[live.session_id] = live

    def follow(self, session_id: str, turn_id: str | None) -> None:
        """Take over what was saved: `turn_id` runs in the session now, or none; under the session's lock."""
        with self._lock:
            live = self._turns.get(session_id)
            if live and live.turn_id != turn_id:
                del self._turns[session_id]
            claimed = self._claims.get(session_id)
            if claimed and claimed.turn_id == turn_id:
                self._turns[session_id] = self._claims.pop(session_id)
            self._show()

    def leave(self, forgotten: Iterable[LiveTurn]) -> None:
        """Forget turns whose session could not be saved; nothing where another has taken their place."""
        with self._lock:
            for live in forgotten:
                for turns in (self._claims, self._turns):
                    if turns.get(live.session_id) is live:
                        del turns[live.session_id]
            self._show()

    def _show(self) -> None:
        if self._turns:
            self.is_empty.clear()
            self.is_occupied.set()
        else:
            self.is_occupied.clear()
            self.is_empty.set()

    def get(self, session_id: str, turn_id: str | None = None) -> LiveTurn | None:
        """The turn that lives in a session; with a `turn_id` only if it is that one."""
        with self._lock:
            live = self._turns.get(session_id)
            return live if live and turn_id in (None, live.turn_id) else None

    def all(self) -> list[LiveTurn]:
        with self._lock:
            return list(self._turns.values())

    def admit(self, live: LiveTurn) -> bool:
        """Whether `live` may work now; else it waits for its turn."""
        with self._lock:
            if len(self._working) < self._limit:
                self._working.add(live)
                return True
            self._waiting.append(live)
            return False

    def position(self, session_id: str, turn_id: str) -> int:
        """The place of a turn among those that wait for others to end, from 1; 0 when it does not wait."""
        with self._lock:
            waiting = [(live.session_id, live.turn_id) for live in self._waiting]
        place = (session_id, turn_id)
        return waiting.index(place) + 1 if place in waiting else 0

    def withdraw(self, live: LiveTurn) -> bool:
        """Take `live` out of those that wait; False when it is at work or gone."""
        with self._lock:
            if live not in self._waiting:
                return False
            self._waiting.remove(live)
            return True

    def release(self, live: LiveTurn) -> LiveTurn | None:
        """Give the place of `live` to the first that waits, and say which that is."""
        with self._lock:
            self._working.discard(live)
            if not self._waiting or len(self._working) >= self._limit:
                return None
            following = self._waiting.popleft()
            self._working.add(following)
            return following
