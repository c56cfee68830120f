"""What all conversations together have spent, by day, model and agent."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from api.clock import Clock, day_of
from api.errors import TalariaError
from api.sessions.catalog import Catalog
from api.sessions.model import Session, TurnRecord
from api.sessions.store import SessionStore
from api.sessions.usage import grouped, others, totals


class UsageReport:
    """Reads the sessions of the last days, deleted ones too as long as they lie in the trash."""

    def __init__(self, store: SessionStore, catalog: Catalog, clock: Clock) -> None:
        self._store = store
        self._catalog = catalog
        self._clock = clock

    def last(self, days: int) -> dict[str, Any]:
        """Sums over today and the days before it, `days` in all, in this machine's time zone."""
        today = day_of(self._clock.now())
        first = today - timedelta(days=days - 1)
        start_s = datetime.combine(first, datetime.min.time()).timestamp()
        turns: list[TurnRecord] = []
        other: list[tuple[str, Any]] = []
        for session in self._sessions(start_s):
            turns += [turn for turn in session.turns if turn.started_at >= start_s and not turn.is_copied]
            other += [(day, entry) for day, entry in others(session) if day >= first.isoformat()]
        return {
            "total": totals(turns, [entry for _, entry in other]),
            "by_day": _by_day(turns, other),
            "by_model": grouped(turns, "model"),
            "by_agent": grouped(turns, "agent"),
        }

    def _sessions(self, start_s: float) -> Iterator[Session]:
        for session_id in self._catalog.active_since(start_s):
            with suppress(TalariaError):
                yield self._store.load(session_id)
        for entry in self._store.trashed():
            with suppress(TalariaError):
                yield self._store.load_trashed(entry)


def _by_day(turns: Iterable[TurnRecord], other: Sequence[tuple[str, Any]]) -> list[dict[str, Any]]:
    days: dict[str, list[TurnRecord]] = {day: [] for day, _ in other}
    for turn in turns:
        days.setdefault(day_of(turn.started_at).isoformat(), []).append(turn)
    return [
        {"day": day, **totals(days[day], [entry for its_day, entry in other if its_day == day])}
        for day in sorted(days)
    ]
