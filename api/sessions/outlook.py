"""What memory still has to hear of a session, read off its turns."""

from collections.abc import Sequence
from dataclasses import dataclass

from api.sessions import segments
from api.sessions.model import Session

RETRY_S, LONGEST_RETRY_S = 30.0, 3600.0


@dataclass(frozen=True, slots=True)
class Outlook:
    """What memory still has to hear of a session: how many turns, and when the last of them ended.

    `retry_at` is when the oldest sealed batch may be tried again, None without one; `is_out_of_step` that
    turns have left the line or come back since memory was told; `batches` are the ids of those that are
    sealed, oldest first. Times in Unix seconds.
    """

    turns: int = 0
    since: float = 0.0
    retry_at: float | None = None
    is_out_of_step: bool = False
    error: str | None = None
    batches: Sequence[str] = ()

    @property
    def is_empty(self) -> bool:
        return not self.turns and not self.is_out_of_step


def outlook(session: Session) -> Outlook:
    """What memory still has to hear of a session; nothing new while its memory is off."""
    sealed, untold = (
        ([], []) if session.memory_off else (segments.batches(session), segments.segments(session))
    )
    waiting = {turn_id for batch in sealed for turn_id in batch.turns}
    waiting |= {record.id for segment in untold for record in segment}
    return Outlook(
        len(waiting),
        max((turn.finished_at or 0.0 for turn in session.turns if turn.id in waiting), default=0.0),
        min(map(_retry_at, sealed), default=None),
        segments.is_out_of_step(session),
        next((batch.error for batch in sealed if batch.error), None),
        tuple(batch.id for batch in sealed),
    )


def _retry_at(batch: segments.Batch) -> float:
    """Twice as long after each failure, an hour at most."""
    if batch.tried_at is None:
        return 0.0
    return batch.tried_at + float(min(RETRY_S * 2 ** min(batch.attempts - 1, 16), LONGEST_RETRY_S))
