"""A conversation copied into a new one: the line up to a message, with ids and turns of its own."""

from dataclasses import replace

from api.errors import InvalidRequest
from api.sessions.model import Message, Session

_KEPT = ("agent", "endpoint", "model", "profile", "workspace", "cwd", "personality", "system_prompt")


def copy_line(source: Session, session_id: str, message_id: int | None, now: float) -> Session:
    """A new session with the line of `source` up to `message_id`, by default all of it.

    Usage, memory and the senders' ids stay behind. Raises `InvalidRequest` for a message off the line.
    """
    line = _up_to(source.line(), message_id)
    twin = Session(session_id, created_at=now, updated_at=now, next_turn=source.next_turn)
    for name in _KEPT:
        setattr(twin, name, getattr(source, name))
    twin.project, twin.tags = source.project, list(source.tags)
    twin.parent = {"session_id": source.session_id, "message_id": line[-1].id if line else None}
    new_ids = {message.id: place for place, message in enumerate(line, start=1)}
    for message in line:
        extra = dict(message.extra)
        if "covers" in extra:
            extra["covers"] = new_ids.get(extra["covers"])
        twin.append(message.role, message.content, message.timestamp, message.turn, extra)
    _copy_turns(source, twin, new_ids)
    twin.seen = len(twin.messages)
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


def _copy_turns(source: Session, twin: Session, new_ids: dict[int, int]) -> None:
    kept = {message.turn for message in twin.messages}
    running = source.active_turn.turn_id if source.active_turn else None
    nothing = {"usage": None, "client_id": None, "generation": None, "owner": None, "memory": None}
    twin.turns = [
        replace(turn, user=new_ids[turn.user], **nothing)  # type: ignore[arg-type]
        for turn in source.turns
        if turn.id in kept and turn.id != running and turn.user in new_ids
    ]
