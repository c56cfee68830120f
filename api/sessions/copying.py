"""A conversation copied into a new one: the line up to a message, or all of it, with turns of its own."""

import copy
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from api.errors import InvalidRequest
from api.sessions.model import COPIED, Message, Session
from api.sessions.segments import OF_MEMORY

_KEPT = (
    *("agent", "endpoint", "model", "profile", "workspace", "cwd", "personality", "system_prompt"),
    *("yolo", "memory_off", "project", "tags", "launch", "extra"),
)


def copy_line(source: Session, session_id: str, message_id: int | None, now: float) -> Session:
    """A new session with the line of `source` up to `message_id`, by default all of it.

    Usage, memory and the senders' ids stay behind. Raises `InvalidRequest` for a message off the line.
    """
    line = _up_to(source.line(), message_id)
    twin = _twin(source, session_id, line[-1].id if line else None, (message.id for message in line), now)
    new_ids = {message.id: place for place, message in enumerate(line, start=1)}
    for message in line:
        extra = dict(message.extra)
        if "covers" in extra:
            extra["covers"] = new_ids.get(extra["covers"])
        twin.append(message.role, message.content, message.timestamp, message.turn, extra)
    _copy_turns(source, twin, new_ids)
    twin.seen = len(twin.messages)
    return twin


def copy_whole(source: Session, session_id: str, now: float) -> Session:
    """A new session with all of `source`: its line, its variants, and what can still be redone.

    Usage, memory and the senders' ids stay behind, and so does what waits or runs.
    """
    ids = [message.id for message in source.messages]
    twin = _twin(source, session_id, source.head, ids, now)
    twin.messages = list(source.messages)
    twin.redo, twin.tips = list(source.redo), dict(source.tips)
    prior_head = source.active_turn.prior_head if source.active_turn else None
    twin.head = source.head if prior_head is None else prior_head
    _copy_turns(source, twin, {message_id: message_id for message_id in ids})
    twin.seen = min(source.seen, len(twin.messages))
    return twin


def copied_as(twin: Session, source_id: str, message_id: int) -> int | None:
    """The message of `twin` that was copied from a message of the session `source_id`; None without one."""
    parent = twin.parent or {}
    copied = parent.get("messages")
    if parent.get("session_id") != source_id or not isinstance(copied, list) or message_id not in copied:
        return None
    place = copied.index(message_id) + 1
    return place if place <= len(twin.messages) else None


def original_of(twin: Session, message_id: int) -> dict[str, Any] | None:
    """The session and message that a message of a copy was copied from; None for one of its own."""
    copied = (twin.parent or {}).get("messages")
    if not isinstance(copied, list) or not 1 <= message_id <= len(copied):
        return None
    return {"session_id": (twin.parent or {}).get("session_id"), "message_id": copied[message_id - 1]}


def _twin(
    source: Session, session_id: str, message_id: int | None, copied: Iterable[int], now: float
) -> Session:
    twin = Session(session_id, created_at=now, updated_at=now, next_turn=source.next_turn)
    for name in _KEPT:
        setattr(twin, name, copy.deepcopy(getattr(source, name)))
    # Its messages count from 1; `messages` tells which ones of the source they were.
    twin.parent = {"session_id": source.session_id, "message_id": message_id, "messages": list(copied)}
    return twin


def _up_to(line: list[Message], message_id: int | None) -> list[Message]:
    """The line up to a message and the results of the tools that it called."""
    if message_id is None:
        return line
    places = [place for place, message in enumerate(line) if message.id == message_id]
    if not places:
        raise InvalidRequest("This message is not on the shown line of this chat.")
    end = places[0] + 1
    while end < len(line) and line[end].role == "tool":
        end += 1
    return line[:end]


def _copy_turns(source: Session, twin: Session, new_ids: Mapping[int, int]) -> None:
    kept = {message.turn for message in twin.messages}
    running = source.active_turn.turn_id if source.active_turn else None
    nothing = {"usage": None, "client_id": None, "generation": None, "owner": None, "memory": None}
    for turn in source.turns:
        user = None if turn.user is None else new_ids.get(turn.user)
        if turn.id in kept and turn.id != running and (turn.user is None) == (user is None):
            extra = {name: value for name, value in turn.extra.items() if name not in OF_MEMORY}
            twin.turns.append(replace(turn, user=user, extra={**extra, COPIED: True}, **nothing))  # type: ignore[arg-type]
