"""Between a session and the bytes of its file, and the JSON of a message for a reader."""

import math
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

import orjson

from api.errors import Damaged, NewerVersion
from api.sessions.model import SCHEMA_VERSION, ActiveTurn, Message, QueueItem, Session, TurnRecord

_NESTED = ("turns", "messages", "queue", "active_turn", "extra")
_MESSAGE_FIELDS = ("id", "parent", "role", "content", "timestamp", "turn")


def encode(session: Session) -> bytes:
    """The bytes of the session file: metadata first, messages last, unknown fields kept."""
    return orjson.dumps(session_to_json(session), option=orjson.OPT_APPEND_NEWLINE)


def session_to_json(session: Session) -> dict[str, Any]:
    """The whole session as the object that its file holds."""
    plain = {f.name: getattr(session, f.name) for f in fields(Session) if f.name not in _NESTED}
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
    known = {f.name for f in fields(Session)} - set(_NESTED)
    plain = {name: value for name, value in data.items() if name in known}
    _check_types({name: plain.get(name) for name in _OF_SESSION})
    session = Session(**plain)
    session.extra = {name: value for name, value in data.items() if name not in known | set(_NESTED)}
    session.messages = [_message(place, entry) for place, entry in enumerate(data["messages"], start=1)]
    session.turns = [_record(TurnRecord, entry) for entry in data.get("turns", [])]
    session.queue = [_record(QueueItem, entry) for entry in data.get("queue", [])]
    session.next_turn = data.get("next_turn", len(session.turns) + len(session.queue) + 1)
    active = data.get("active_turn")
    session.active_turn = _record(ActiveTurn, active) if active else None
    _check(session)
    return session


def _message(place: int, entry: Mapping[str, Any]) -> Message:
    parent = entry["parent"]
    if entry["id"] != place or not (parent is None or (_is_int(parent) and 1 <= parent < place)):
        raise ValueError(f"message {place} stands in the wrong place")
    if not isinstance(entry["role"], str):
        raise ValueError(f"message {place} has no role")
    extra = {name: value for name, value in entry.items() if name not in _MESSAGE_FIELDS}
    _check_types({"turn": entry.get("turn")})
    timestamp = _number(entry.get("timestamp"))
    return Message(place, parent, entry["role"], entry.get("content"), timestamp, entry.get("turn"), extra)


def _record(kind: Any, entry: Mapping[str, Any]) -> Any:
    known = {f.name: f for f in fields(kind) if f.name != "extra"}
    values = {name: value for name, value in entry.items() if name in known}
    values |= {
        name: tuple(value) for name, value in values.items() if isinstance(value, list) and name in _TUPLES
    }
    for name, f in known.items():
        if f.default is MISSING and f.default_factory is MISSING and name not in values:
            raise ValueError(f"{name} is missing")
    _check_types(values)
    return kind(**values, extra={name: value for name, value in entry.items() if name not in known})


_TUPLES = ("recalled", "attachments")
_WORDS = ("id", "turn_id", "boot_id", "kind", "state")
_NAMES = ("agent", "endpoint", "model", "client_id", "turn", "system_prompt", "project", "owner", "memory")
_MAPPINGS = ("usage", "error", "parent")
_OF_SESSION = ("agent", "endpoint", "model", "system_prompt", "project", "parent")


def _check_types(values: Mapping[str, Any]) -> None:
    """Raise `ValueError` for a field that whoever reads it could not use."""
    for name, value in values.items():
        if name in _WORDS and not isinstance(value, str):
            raise ValueError(f"{name} is no text")
        if name in _NAMES and not isinstance(value, str | None):
            raise ValueError(f"{name} is no text")
        if name in _MAPPINGS and not isinstance(value, dict | None):
            raise ValueError(f"{name} is no object")


def _check(session: Session) -> None:
    if not isinstance(session.session_id, str):
        raise ValueError("the id is missing")
    if not isinstance(session.title, str):
        session.title = ""
    heads = [session.head, *session.redo, *session.tips.values()]
    if not all(h is None or (_is_int(h) and 1 <= h <= len(session.messages)) for h in heads):
        raise ValueError("the head is no message of this chat")
    counters = (session.revision, session.execution_generation, session.next_turn, session.seen)
    if not all(map(_is_int, counters)):
        raise ValueError("a counter is no number")
    if not all(isinstance(getattr(session, name), dict) for name in _OBJECTS):
        raise ValueError("an object is missing")
    if not all(turn.user is None or _is_int(turn.user) for turn in session.turns):
        raise ValueError("a turn names no message")
    if not isinstance(session.tags, list):
        raise ValueError("the tags are no list")
    session.created_at, session.updated_at = _number(session.created_at), _number(session.updated_at)


_OBJECTS = ("launch", "source", "tips", "other_usage", "receipts", "memory")


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _number(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    return 0.0
