"""Between a session and the bytes of its file, and the JSON of a message for a reader."""

import re
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

import orjson

from api.errors import Damaged, NewerVersion
from api.sessions import shapes
from api.sessions.model import SCHEMA_VERSION, ActiveTurn, Message, QueueItem, Session, TurnRecord
from api.text import is_deeper

_NESTED = ("turns", "messages", "queue", "active_turn")
# Deeper than what the door accepts lies in its file, with room for what an answer puts around it.
_DEEPEST = 230
_MESSAGE_FIELDS = ("id", "parent", "role", "content", "timestamp", "turn")


def encode(session: Session) -> bytes:
    """The bytes of the session file: metadata first, messages last, unknown fields kept."""
    return orjson.dumps(session_to_json(session), option=orjson.OPT_APPEND_NEWLINE)


def session_to_json(session: Session) -> dict[str, Any]:
    """The whole session as the object that its file holds."""
    plain = {f.name: getattr(session, f.name) for f in fields(Session) if f.name not in (*_NESTED, "extra")}
    plain["active_turn"] = record_to_json(session.active_turn) if session.active_turn else None
    plain["queue"] = [record_to_json(item) for item in session.queue]
    plain.update(session.extra)
    plain["turns"] = [record_to_json(turn) for turn in session.turns]
    plain["messages"] = [message_to_json(message) for message in session.messages]
    return plain


def message_to_json(message: Message) -> dict[str, Any]:
    """A message as it stands in the file: optional fields beside the fixed ones."""
    return {
        "id": message.id,
        "parent": message.parent,
        "role": message.role,
        "content": message.content,
        "timestamp": message.timestamp,
        "turn": message.turn,
        **message.extra,
    }


def record_to_json(record: TurnRecord | QueueItem | ActiveTurn) -> dict[str, Any]:
    """A turn, a waiting text or the running turn as it stands in the file."""
    plain = {f.name: getattr(record, f.name) for f in fields(record) if f.name != "extra"}
    if isinstance(record, ActiveTurn) and plain["prior_head"] is None:
        del plain["prior_head"]
    return plain | dict(record.extra)


def decode(raw: bytes) -> Session:
    """The session in the bytes of a file. Raises `Damaged` or `NewerVersion`."""
    try:
        data = orjson.loads(raw)
    except ValueError as exc:
        raise Damaged(f"The file of this chat is damaged ({_short(exc)}). It was left as it is.") from exc
    if not isinstance(data, dict):
        raise Damaged()
    if is_deeper(data, _DEEPEST):
        raise Damaged("The file of this chat is nested too deep to be shown. It was left as it is.")
    version = data.get("schema_version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise Damaged("The file of this chat names no version. It was left as it is.")
    if version > SCHEMA_VERSION:
        raise NewerVersion()
    try:
        return _build(data)
    except (KeyError, TypeError, ValueError, AttributeError) as exc:
        raise Damaged(f"The file of this chat is damaged ({_short(exc)}). It was left as it is.") from exc


def _short(exc: Exception) -> str:
    return (str(exc) or type(exc).__name__)[:120]


def _build(data: dict[str, Any]) -> Session:
    known = {f.name for f in fields(Session)} - {*_NESTED, "extra"}
    plain = {name: value for name, value in data.items() if name in known}
    session = Session(**plain)
    session.extra = {name: value for name, value in data.items() if name not in known | set(_NESTED)}
    session.messages = [_message(place, entry) for place, entry in enumerate(data["messages"], start=1)]
    session.turns = [_record(TurnRecord, entry, shapes.TURN) for entry in data.get("turns", [])]
    session.queue = [_record(QueueItem, entry, shapes.QUEUE_ITEM) for entry in data.get("queue", [])]
    session.next_turn = max(data.get("next_turn", 1), _free_turn(session))
    active = data.get("active_turn")
    session.active_turn = _record(ActiveTurn, active, shapes.ACTIVE_TURN) if active else None
    _check(session)
    return session


def _message(place: int, entry: Mapping[str, Any]) -> Message:
    parent = entry["parent"]
    shapes.check(f"message {place}", entry, shapes.MESSAGE)
    if entry["id"] != place or not (parent is None or 1 <= parent < place):
        raise ValueError(f"message {place} stands in the wrong place")
    extra = {name: value for name, value in entry.items() if name not in _MESSAGE_FIELDS}
    timestamp = _time(entry.get("timestamp"))
    return Message(place, parent, entry["role"], entry.get("content"), timestamp, entry.get("turn"), extra)


def _record(kind: Any, entry: Mapping[str, Any], known_shapes: Mapping[str, shapes.Shape]) -> Any:
    shapes.check("a turn", entry, known_shapes)
    known = {f.name: f for f in fields(kind) if f.name != "extra"}
    values = {name: value for name, value in entry.items() if name in known}
    values |= {
        name: tuple(value) for name, value in values.items() if isinstance(value, list) and name in _TUPLES
    }
    for name, f in known.items():
        if f.default is MISSING and f.default_factory is MISSING and name not in values:
            raise ValueError(f"{name} is missing")
    return kind(**values, extra={name: value for name, value in entry.items() if name not in known})


def _free_turn(session: Session) -> int:
    """The first turn number beyond all that are taken, whatever the file says."""
    taken = [turn.id for turn in session.turns] + [item.turn_id for item in session.queue]
    numbers = [int(turn_id[1:]) for turn_id in taken if _NUMBERED.match(turn_id)]
    return max([len(taken), *numbers]) + 1


_NUMBERED = re.compile(r"t[0-9]{1,15}\Z")
_TUPLES = ("recalled", "attachments")


def _check(session: Session) -> None:
    shapes.check("the chat", {name: getattr(session, name) for name in shapes.SESSION}, shapes.SESSION)
    if not isinstance(session.title, str):
        session.title = ""
    places = [session.head, *session.redo, *session.tips.values()]
    if session.active_turn:
        session.turn(session.active_turn.turn_id)
        places.append(session.active_turn.prior_head)
    if not all(
        place is None or (shapes.is_int(place) and 1 <= place <= len(session.messages)) for place in places
    ):
        raise ValueError("the head is no message of this chat")
    session.created_at, session.updated_at = _time(session.created_at), _time(session.updated_at)


def _time(value: object) -> float:
    return float(value) if shapes.is_time(value) else 0.0  # type: ignore[arg-type]
