"""What memory was told of a conversation, and what it should know: views of its turns, all of them pure.

A turn *counts* when it is done, ran here with memory on and lies on the active line. Counting turns that
memory was not told form segments; a batch is a segment that was sealed and never changes any more.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby

from api.sessions.model import CHAT, COPIED, DONE, NOTICE, SUMMARY, Message, Session, TurnRecord

WITHDRAWN = "withdrawn"
RETRY_S, LONGEST_RETRY_S = 30.0, 3600.0
# Set on a turn in which the model has kept something by a tool of memory.
REMEMBERED = "remembered"
# A withdrawn turn keeps the batch that memory was told it in, for the day when it comes back.
_TOLD_IN = "told_in"
# What a turn says of its place in memory beside its fields.
OF_MEMORY = (REMEMBERED, _TOLD_IN)
# Set on a deleted session whose facts shall go; it stands until memory has withdrawn them.
_TO_FORGET = "to_forget"
_OUTSIDE = (SUMMARY, NOTICE)
# Set on a turn that was made for messages which came without one: their ids.
_ADOPTED = "adopted"


@dataclass(frozen=True, slots=True)
class Batch:
    """Turns of one owner that memory is told in one piece, again and again under this id until it has taken
    them. `tried_at` is the wall time of the last attempt.
    """

    id: str
    turns: Sequence[str]
    owner: str
    attempts: int = 0
    error: str | None = None
    tried_at: float | None = None


@dataclass(frozen=True, slots=True)
class LineTurn:
    """A turn on the active line with its messages, the user's first."""

    record: TurnRecord
    messages: Sequence[Message]


def mark(session: Session, turn_id: str, owner: str) -> int:
    """Let a completed turn count: it gets the next generation and its owner."""
    number = session.memory["generation"] = generation(session) + 1
    session.update_turn(turn_id, generation=number, owner=owner)
    return number


def generation(session: Session) -> int:
    """The generation of the newest turn that counts or has counted; 0 without one."""
    last = max((turn.generation or 0 for turn in session.turns), default=0)
    return max(last, session.memory.get("generation") or 0)


def turns_on_line(session: Session) -> list[LineTurn]:
    """The turns of the active line, oldest first; of a turn with variants the one that is shown."""
    records: dict[str | int, TurnRecord] = {turn.id: turn for turn in session.turns}
    records |= {turn.user: turn for turn in session.turns if turn.user and _ADOPTED in turn.extra}
    found = []
    for messages in _pieces(session.line()):
        record = records.get(messages[-1].turn or messages[0].id)
        if record is not None and record.kind == CHAT:
            found.append(LineTurn(record, messages))
    return found


def adopt(session: Session) -> None:
    """Give the messages of the line that came without a turn, as imported ones do, a turn each."""
    known = {turn.user for turn in session.turns}
    for messages in _pieces(session.line()):
        first = messages[0]
        if messages[-1].turn is None and first.is_typed and first.id not in known:
            extra = {COPIED: True, _ADOPTED: [message.id for message in messages]}
            turn_id, time_s = session.take_turn_id(), messages[-1].timestamp
            session.turns.append(TurnRecord(turn_id, first.id, CHAT, DONE, time_s, time_s, extra=extra))


def said_in(session: Session, turn_id: str) -> list[Message]:
    """The messages of a turn, the user's first, whether they are on the line or not."""
    record = session.turn(turn_id)
    if adopted := record.extra.get(_ADOPTED):
        return [session.message(message_id) for message_id in adopted]
    said = [session.message(record.user)] if record.user else []
    return said + [m for m in session.messages if m.turn == turn_id and m.id != record.user]


def _pieces(line: Sequence[Message]) -> Iterator[list[Message]]:
    """The line cut before each message that a person typed, what is no part of a turn left out."""
    piece: list[Message] = []
    for message in line:
        if message.kind in _OUTSIDE:
            continue
        if message.is_typed and piece:
            yield piece
            piece = []
        if piece or message.is_typed:
            piece.append(message)
    if piece:
        yield piece


def batches(session: Session) -> list[Batch]:
    """The batches that were sealed and that memory has not taken yet, oldest first."""
    return [
        Batch(
            entry["id"],
            tuple(entry["turns"]),
            entry["owner"],
            entry.get("attempts") or 0,
            entry.get("error"),
            entry.get("tried_at"),
        )
        for entry in session.memory.get("batches") or ()
    ]


def uncounted(session: Session) -> list[str]:
    """The completed turns of the line that do not count: imported, copied, or made with memory off."""
    return [
        turn.record.id
        for turn in turns_on_line(session)
        if turn.record.state == DONE and turn.record.generation is None
    ]


def segments(session: Session) -> list[list[TurnRecord]]:
    """Runs of counting turns of one owner that memory was not told, oldest first."""
    if all(turn.generation is None or turn.memory for turn in session.turns):
        return []
    sealed = {turn_id for batch in batches(session) for turn_id in batch.turns}
    untold = [
        turn.record
        for turn in turns_on_line(session)
        if _counts(turn.record) and not turn.record.memory and turn.record.id not in sealed
    ]
    return [list(run) for _, run in groupby(untold, key=lambda record: record.owner)]


def _counts(record: TurnRecord) -> bool:
    return record.state == DONE and record.generation is not None and bool(record.owner)


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
    is_out_of_step = bool(left(session) or returned(session))
    sealed, untold = ([], []) if session.memory_off else (batches(session), segments(session))
    waiting = {turn_id for batch in sealed for turn_id in batch.turns}
    waiting |= {record.id for segment in untold for record in segment}
    return Outlook(
        len(waiting),
        max((turn.finished_at or 0.0 for turn in session.turns if turn.id in waiting), default=0.0),
        min(map(_retry_at, sealed), default=None),
        is_out_of_step,
        next((batch.error for batch in sealed if batch.error), None),
        tuple(batch.id for batch in sealed),
    )


def _retry_at(batch: Batch) -> float:
    """Twice as long after each failure, an hour at most."""
    if batch.tried_at is None:
        return 0.0
    return batch.tried_at + float(min(RETRY_S * 2 ** min(batch.attempts - 1, 16), LONGEST_RETRY_S))


def seal(session: Session, passed: frozenset[str] = frozenset()) -> Batch | None:
    """The batch to tell memory next, sealed now unless it was before; None where there is nothing.

    Owners in `passed` are passed over: they have failed at this boundary.
    """
    known = batches(session)
    for batch in known:
        if batch.owner not in passed:
            return batch
    for segment in segments(session):
        owner = segment[0].owner or ""
        if owner not in passed:
            name = f"{session.session_id}:{segment[0].generation}-{segment[-1].generation}"
            batch = Batch(name, tuple(record.id for record in segment), owner)
            _write(session, [*known, batch])
            return batch
    return None


def note_told(session: Session, batch_id: str, now: float) -> bool:
    """Memory has taken a batch: its turns say so. False where the batch was given up meanwhile."""
    for batch in batches(session):
        if batch.id == batch_id:
            _change(session, batch.turns, lambda turn: replace(turn, memory=batch_id))
            _write(session, [entry for entry in batches(session) if entry.id != batch_id])
            session.memory["last_commit_at"] = now
            session.memory["last_error"] = None
            return True
    return False


def note_failed(session: Session, batch_id: str, error: str, now: float) -> None:
    """Memory has not taken a batch: it stays as it is, with one more attempt and the reason."""
    changed = [
        Batch(entry.id, entry.turns, entry.owner, entry.attempts + 1, error, now)
        if entry.id == batch_id
        else entry
        for entry in batches(session)
    ]
    _write(session, changed)
    session.memory["last_error"] = error


def drop(session: Session, batch_id: str) -> bool:
    """Give a sealed batch up: its turns never reach memory. Whether it was there."""
    for batch in batches(session):
        if batch.id == batch_id:
            _change(session, batch.turns, lambda turn: replace(turn, generation=None, owner=None))
            _write(session, [entry for entry in batches(session) if entry.id != batch_id])
            return True
    return False


def left(session: Session) -> list[str]:
    """The turns of which memory knows and that have left the line since."""
    known = [turn.id for turn in session.turns if _is_known(turn)]
    if not known:
        return []
    here = {turn.record.id for turn in turns_on_line(session)}
    return [turn_id for turn_id in known if turn_id not in here]


def _is_known(record: TurnRecord) -> bool:
    """Whether memory was told of a turn, or was given something in it, and has not withdrawn that."""
    return record.memory != WITHDRAWN and bool(record.memory or record.extra.get(REMEMBERED))


def returned(session: Session) -> list[str]:
    """The turns that were withdrawn and that are back on the line."""
    if all(turn.memory != WITHDRAWN for turn in session.turns):
        return []
    return [turn.record.id for turn in turns_on_line(session) if turn.record.memory == WITHDRAWN]


def ask_to_forget(session: Session, is_wished: bool) -> None:
    """Let a session that is deleted say whether what was learned there shall be withdrawn."""
    session.memory.pop(_TO_FORGET, None)
    if is_wished and _all_told(session):
        session.memory[_TO_FORGET] = True


def to_forget(session: Session) -> list[str]:
    """The turns of a deleted session that memory shall forget, those of which it may have heard included."""
    return _all_told(session) if session.memory.get(_TO_FORGET) else []


def _all_told(session: Session) -> list[str]:
    told = dict.fromkeys(turn.id for turn in session.turns if _is_known(turn))
    return [*(told | dict.fromkeys(turn_id for batch in batches(session) for turn_id in batch.turns))]


def note_forgotten(session: Session) -> None:
    """Memory has forgotten a deleted session; what it knew comes back if the session does."""
    note_withdrawn(session, to_forget(session))
    session.memory.pop(_TO_FORGET, None)


def note_withdrawn(session: Session, turn_ids: Sequence[str]) -> None:
    """Memory has withdrawn what it learned in these turns."""
    _change(session, turn_ids, _withdrawn)


def _withdrawn(turn: TurnRecord) -> TurnRecord:
    if not _is_known(turn):
        return turn
    told_in = {_TOLD_IN: turn.memory} if turn.memory else {}
    return replace(turn, memory=WITHDRAWN, extra={**turn.extra, **told_in})


def note_restored(session: Session, turn_ids: Sequence[str]) -> None:
    """Memory has brought back what it learned in these turns."""
    _change(session, turn_ids, _restored)


def _restored(turn: TurnRecord) -> TurnRecord:
    if turn.memory != WITHDRAWN:
        return turn
    extra = {name: value for name, value in turn.extra.items() if name != _TOLD_IN}
    return replace(turn, memory=turn.extra.get(_TOLD_IN), extra=extra)


def _change(session: Session, turn_ids: Sequence[str], change: Callable[[TurnRecord], TurnRecord]) -> None:
    chosen = set(turn_ids)
    session.turns = [change(turn) if turn.id in chosen else turn for turn in session.turns]


def _write(session: Session, entries: Sequence[Batch]) -> None:
    session.memory["batches"] = [asdict(entry) | {"turns": list(entry.turns)} for entry in entries]
