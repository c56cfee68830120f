"""What memory was told of a conversation, and what it should know: views of its turns, all of them pure.

A turn *counts* when it is done, ran here with memory on and lies on the active line. Counting turns that
memory was not told form segments; a batch is a segment that was sealed and never changes any more.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from typing import Any

from api.sessions.model import CHAT, COPIED, DONE, NOTICE, SUMMARY, Message, Session, TurnRecord

WITHDRAWN = "withdrawn"
# Set on a turn in which the model has kept something by a tool of memory.
REMEMBERED = "remembered"
# A withdrawn turn keeps the batch that memory was told it in, for the day when it comes back.
_TOLD_IN = "told_in"
# Set on a deleted session whose facts shall go; it stands until memory has withdrawn them.
_TO_FORGET = "to_forget"
# The messages whose words were erased, until memory keeps nothing of them.
_TO_ERASE = "to_erase"
# Set on a turn while nobody can say what memory knows of it: from before the call that changes it until that
# is stored. By the line it is withdrawn or brought back; one that was given up is withdrawn.
_UNSURE = "unsure"
_MOVED, _GIVEN_UP = "moved", "given up"
# Set on a turn that began with memory off.
_UNHEARD = "unheard"
# What a turn says of its place in memory beside its fields.
OF_MEMORY = (REMEMBERED, _TOLD_IN, _UNSURE, _UNHEARD)
# Longer segments are told in pieces: a model has to read a whole one.
BATCH_TURNS = 25
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


def note_unheard(session: Session, turn_id: str) -> None:
    """Inside the edit that begins a turn: with memory off it never counts, whatever is switched meanwhile."""
    if session.memory_off:
        _change(session, [turn_id], lambda turn: replace(turn, extra={**turn.extra, _UNHEARD: True}))


def is_unheard(record: TurnRecord) -> bool:
    """Whether a turn began with memory off."""
    return _UNHEARD in record.extra


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


def segments(session: Session, newest: int | None = None) -> list[list[TurnRecord]]:
    """Runs of counting turns of one owner that memory was not told, oldest first; up to a generation."""
    if all(turn.generation is None or turn.memory for turn in session.turns):
        return []
    sealed = {turn_id for batch in batches(session) for turn_id in batch.turns}
    untold = [
        turn.record
        for turn in turns_on_line(session)
        if _counts(turn.record) and not turn.record.memory and turn.record.id not in sealed
        if newest is None or (turn.record.generation or 0) <= newest
    ]
    runs = [list(run) for _, run in groupby(untold, key=lambda record: record.owner)]
    return [run[at : at + BATCH_TURNS] for run in runs for at in range(0, len(run), BATCH_TURNS)]


def _counts(record: TurnRecord) -> bool:
    is_counted = record.state == DONE and record.generation is not None and bool(record.owner)
    return is_counted and _UNSURE not in record.extra


def seal(session: Session, passed: frozenset[str] = frozenset(), newest: int | None = None) -> Batch | None:
    """The batch to tell memory next, sealed now unless it was before; None where there is nothing.

    Owners in `passed` are passed over: they have failed at this boundary. Turns of a later generation than
    `newest` are no part of it.
    """
    known = batches(session)
    for batch in known:
        if batch.owner not in passed:
            return batch
    for segment in segments(session, newest):
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
            give_up(session, batch.turns)
            _write(session, [entry for entry in batches(session) if entry.id != batch_id])
            return True
    return False


def give_up(session: Session, turn_ids: Sequence[str]) -> None:
    """Let memory withdraw what it may have been told of these turns in a batch that is not wanted."""
    _change(session, turn_ids, lambda turn: replace(turn, extra={**turn.extra, _UNSURE: _GIVEN_UP}))


def is_out_of_step(session: Session) -> bool:
    """Whether memory has to withdraw or bring back something."""
    has_wish = bool(session.memory.get(_TO_FORGET) or to_erase(session))
    return has_wish or bool(left(session) or returned(session))


def left(session: Session) -> list[str]:
    """The turns of which memory knows, or may know, and that have left the line since or were given up."""
    known = [turn for turn in session.turns if _is_known(turn) or _UNSURE in turn.extra]
    if not known:
        return []
    here = {turn.record.id for turn in turns_on_line(session)}
    return [turn.id for turn in known if turn.id not in here or turn.extra.get(_UNSURE) == _GIVEN_UP]


def _is_known(record: TurnRecord) -> bool:
    """Whether memory was told of a turn, or was given something in it, and has not withdrawn that."""
    return record.memory != WITHDRAWN and bool(record.memory or record.extra.get(REMEMBERED))


def returned(session: Session) -> list[str]:
    """The turns that were withdrawn, or may have been, and that are back on the line."""
    if not any(map(_may_return, session.turns)):
        return []
    return [turn.record.id for turn in turns_on_line(session) if _may_return(turn.record)]


def _may_return(record: TurnRecord) -> bool:
    state = record.extra.get(_UNSURE)
    return state != _GIVEN_UP and (record.memory == WITHDRAWN or state is not None)


def begin_moves(session: Session) -> tuple[list[str], list[str]]:
    """The turns that memory shall withdraw and bring back now: noted as unsure until `note_moved`.

    A session that came back from the trash wishes no more to be forgotten; how far that went is unsure too.
    """
    if session.memory.get(_TO_FORGET):
        _change(session, _all_told(session), _as_unsure)
        session.memory.pop(_TO_FORGET)
    away, back = left(session), returned(session)
    _change(session, [*away, *back], _as_unsure)
    return away, back


def note_moved(session: Session, away: Sequence[str], back: Sequence[str]) -> None:
    """Memory has done so; what has moved again meanwhile stays unsure."""
    gone, here = set(left(session)), set(returned(session))
    _change(session, [turn_id for turn_id in away if turn_id in gone], _withdrawn)
    _change(session, [turn_id for turn_id in back if turn_id in here], _restored)


def _as_unsure(turn: TurnRecord) -> TurnRecord:
    return turn if _UNSURE in turn.extra else replace(turn, extra={**turn.extra, _UNSURE: _MOVED})


def ask_to_erase(session: Session, message_id: int) -> None:
    """Let memory keep nothing of the words of a message that was erased."""
    session.memory[_TO_ERASE] = [*(known for known in to_erase(session) if known != message_id), message_id]


def to_erase(session: Session) -> list[int]:
    """The erased messages of whose words memory may still keep something."""
    named = session.memory.get(_TO_ERASE)
    return [entry for entry in named if isinstance(entry, int)] if isinstance(named, list) else []


def note_erased(session: Session, message_ids: Sequence[int]) -> None:
    """Memory keeps nothing of these messages."""
    left_over = [message_id for message_id in to_erase(session) if message_id not in message_ids]
    session.memory.pop(_TO_ERASE, None)
    if left_over:
        session.memory[_TO_ERASE] = left_over


def ask_to_forget(session: Session, is_wished: bool) -> None:
    """Let a session that is deleted say whether what was learned there shall be withdrawn."""
    session.memory.pop(_TO_FORGET, None)
    if is_wished and _all_told(session):
        session.memory[_TO_FORGET] = True


def to_forget(session: Session) -> list[str]:
    """The turns of a deleted session that memory shall forget, those of which it may have heard included."""
    return _all_told(session) if session.memory.get(_TO_FORGET) else []


def _all_told(session: Session) -> list[str]:
    told = dict.fromkeys(turn.id for turn in session.turns if _is_known(turn) or _UNSURE in turn.extra)
    return [*(told | dict.fromkeys(turn_id for batch in batches(session) for turn_id in batch.turns))]


def has_wish(session: Session) -> bool:
    """Whether memory has to forget something of a deleted session."""
    return bool(to_forget(session) or to_erase(session))


def note_forgotten(session: Session, turn_ids: Sequence[str]) -> None:
    """Memory has forgotten these turns of a deleted session; they come back if the session does."""
    _change(session, turn_ids, _withdrawn)
    session.memory.pop(_TO_FORGET, None)


def _withdrawn(turn: TurnRecord) -> TurnRecord:
    extra = _without(turn.extra, _UNSURE)
    if not _is_known(turn):
        return replace(turn, extra=extra)
    told_in = {_TOLD_IN: turn.memory} if turn.memory else {}
    return replace(turn, memory=WITHDRAWN, extra={**extra, **told_in})


def _restored(turn: TurnRecord) -> TurnRecord:
    extra = _without(turn.extra, _UNSURE)
    if turn.memory != WITHDRAWN:
        return replace(turn, extra=extra)
    return replace(turn, memory=turn.extra.get(_TOLD_IN), extra=_without(extra, _TOLD_IN))


def _without(extra: Mapping[str, Any], left_out: str) -> dict[str, Any]:
    return {name: value for name, value in extra.items() if name != left_out}


def _change(session: Session, turn_ids: Sequence[str], change: Callable[[TurnRecord], TurnRecord]) -> None:
    chosen = set(turn_ids)
    session.turns = [change(turn) if turn.id in chosen else turn for turn in session.turns]


def _write(session: Session, entries: Sequence[Batch]) -> None:
    session.memory["batches"] = [asdict(entry) | {"turns": list(entry.turns)} for entry in entries]
