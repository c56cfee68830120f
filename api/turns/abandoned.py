"""Turns that a file still names and nobody runs, because their process is gone."""

import logging
from collections.abc import Iterable

from api.clock import Clock
from api.errors import NotFound, TalariaError
from api.sessions.model import Session
from api.sessions.store import SessionStore
from api.turns.journal import Journal
from api.turns.settle import interrupted, settle
from api.turns.table import TurnTable

log = logging.getLogger(__name__)


class AbandonedTurns:
    """Settles turns that an ended process has left, with the words that its journal kept."""

    def __init__(self, store: SessionStore, journal: Journal, table: TurnTable, clock: Clock) -> None:
        self._store = store
        self._journal = journal
        self._table = table
        self._clock = clock

    def settle(self, session: Session) -> None:
        """Inside an edit: end the turn of this session as interrupted, unless it lives here."""
        active = session.active_turn
        if active and not self._table.get(session.session_id):
            turn = self._journal.turn(session.session_id, active.turn_id)
            settle(session, active, turn, interrupted(), self._clock.now())

    def recover(self, session_ids: Iterable[str]) -> int:
        """Settle those of these sessions and of all that have a journal; how many there were."""
        candidates = set(session_ids) | {session_id for session_id, _ in self._journal.entries()}
        return sum(self._recover(session_id) for session_id in sorted(candidates))

    def _recover(self, session_id: str) -> int:
        try:
            with self._store.edit(session_id) as session:
                found = session.active_turn is not None
                self.settle(session)
        except NotFound:
            found = False
        except TalariaError as exc:
            log.warning("session %s cannot be recovered: %s", session_id, exc)
            return 0
        self._journal.remove(session_id)
        return int(found)
