"""The start of a turn written into its session: pure, called inside the edit that starts it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from api.errors import InvalidRequest, NotFound, NothingToCompress, NothingToRetry
from api.sessions import segments, tree
from api.sessions.content import title_from
from api.sessions.model import COMPRESS, ActiveTurn, Message, QueueItem, Session, TurnRecord, last_summary

VERBATIM_TURNS = 2


@dataclass(frozen=True, slots=True)
class Beginning:
    """Who runs the turn that begins, where and when (Unix seconds). `owner`: see `TurnRecord`."""

    boot_id: str
    agent: str
    model: str | None
    now: float
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class Sending:
    """What a person sends: text or OpenAI-style parts, under a `client_id` of the sender's choice.

    `attachments` None: an edit keeps those of the message that it rewrites.
    """

    content: Any
    client_id: str | None = None
    attachments: Sequence[Any] | None = None


def known_turn(session: Session, client_id: str | None) -> str | None:
    """The turn that this client id has already begun or queued; sending it again changes nothing."""
    if client_id is None:
        return None
    entries: list[tuple[str, str | None]] = [(turn.id, turn.client_id) for turn in session.turns]
    entries += [(item.turn_id, item.client_id) for item in session.queue]
    return next((turn_id for turn_id, known in entries if known == client_id), None)


def enqueue(session: Session, sending: Sending, now: float) -> QueueItem:
    """Put a text at the end of the queue."""
    turn_id = session.take_turn_id()
    item = QueueItem(turn_id, sending.content, now, sending.client_id, tuple(sending.attachments or ()))
    session.queue.append(item)
    return item


def begin_next(session: Session, by: Beginning) -> Message:
    """Take the first text of the queue into the conversation; its user message."""
    item = session.queue.pop(0)
    tree.begin(session)
    extra = {"attachments": list(item.attachments)} if item.attachments else {}
    message = session.append("user", item.content, item.queued_at, item.turn_id, extra)
    if not session.title and session.title_source == "auto":
        session.title = title_from(item.content) or _file_title(item.attachments)
    _record(session, TurnRecord(item.turn_id, message.id, client_id=item.client_id), by)
    return message


def _file_title(attachments: Sequence[Any]) -> str:
    names = [entry.get("filename") for entry in attachments if isinstance(entry, dict)]
    return title_from(names[0]) if names else ""


def begin_regenerate(
    session: Session, message_id: int | None, client_id: str | None, by: Beginning
) -> Message:
    """Put the head back on a user message, for one more reply beside those it has; that message."""
    line = session.line()
    typed = [m for m in line if m.is_typed and message_id in (None, m.id)]
    if not typed:
        raise NothingToRetry() if message_id is None else InvalidRequest("This is no message of yours.")
    prior_head = session.head
    tree.rewind_to_reply(session, typed[-1])
    _record(session, TurnRecord(session.take_turn_id(), typed[-1].id, client_id=client_id), by, prior_head)
    return typed[-1]


def begin_edit(session: Session, message_id: int, sending: Sending, by: Beginning) -> Message:
    """Write another wording beside a user message of the line; the new message."""
    if not any(m.id == message_id and m.is_typed for m in session.line()):
        raise NotFound("The message to edit is not on the shown line of this chat.")
    old = session.message(message_id)
    tree.rewind_to_edit(session, old)
    turn_id = session.take_turn_id()
    kept = old.extra.get("attachments") if sending.attachments is None else sending.attachments
    extra = {"attachments": list(kept)} if kept else {}
    message = session.append("user", sending.content, by.now, turn_id, extra)
    _record(session, TurnRecord(turn_id, message.id, client_id=sending.client_id), by)
    return message


def begin_compress(session: Session, focus: str, by: Beginning) -> None:
    """Begin to sum up what lies before the last two turns. Raises `NothingToCompress`."""
    line = session.line()
    typed = [message for message in line if message.is_typed]
    start = typed[-VERBATIM_TURNS] if len(typed) > VERBATIM_TURNS else None
    summary = last_summary(line)
    covered = summary.covers if summary else 0
    if start is None or start.parent is None or not any(covered < m.id < start.id for m in typed):
        raise NothingToCompress()
    about = {"covers": start.parent, "focus": focus}
    record = TurnRecord(session.take_turn_id(), None, COMPRESS, extra=about)
    _record(session, record, by)


def _record(session: Session, record: TurnRecord, by: Beginning, prior_head: int | None = None) -> None:
    session.turns.append(replace(record, started_at=by.now, agent=by.agent, model=by.model, owner=by.owner))
    segments.note_unheard(session, record.id)
    session.active_turn = ActiveTurn(record.id, by.boot_id, by.now, record.kind, prior_head)
    session.updated_at = by.now
