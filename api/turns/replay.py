"""The events of a turn as its session tells them: the first one, and all of one that is over."""

from api.events import Event
from api.sessions.content import text_of
from api.sessions.model import RUNNING, SUMMARY, Message, Session, TurnRecord
from api.turns.settle import INTERRUPTED_ERROR, TERMINAL_EVENT, terminal_data


def replay(session: Session, turn_id: str) -> list[Event]:
    """`turn_started`, `snapshot` and the terminal event of a turn; none while it waits in the queue.

    Raises `NotFound` for a turn that this session never had.
    """
    if session.has_waiting(turn_id):
        return []
    record = session.turn(turn_id)
    reply = [m for m in session.messages if m.turn == turn_id and m.id != record.user]
    if record.state == RUNNING:
        # A turn whose end could not be stored: the next change of the session settles it.
        end = Event("apperror", {**INTERRUPTED_ERROR, "message_ids": [], "revision": session.revision})
    else:
        ids = [message.id for message in reply]
        end = Event(TERMINAL_EVENT[record.state], terminal_data(session, record, ids))
    return [opening(session, record), Event("snapshot", _snapshot(reply)), end]


def opening(session: Session, record: TurnRecord) -> Event:
    """The first event of a turn; `user_message` is null for one that no message has set off."""
    user = None if record.user is None else session.message(record.user)
    return Event(
        "turn_started",
        {
            "turn_id": record.id,
            "kind": record.kind,
            "user_message": _asked(user) if user else None,
            "model": record.model,
            "agent": record.agent,
        },
    )


def _snapshot(reply: list[Message]) -> dict[str, object]:
    answers = [message for message in reply if message.role == "assistant" or message.kind == SUMMARY]
    results = {m.extra.get("tool_call_id"): m for m in reply if m.role == "tool"}
    tools = [
        {"tid": call.get("id"), "name": call.get("function", {}).get("name"), **_outcome(results, call)}
        for message in answers
        for call in message.extra.get("tool_calls") or ()
    ]
    text = "".join(text_of(message.content) for message in answers)
    reasoning = "".join(str(message.extra.get("reasoning") or "") for message in answers)
    return {"seq": 2, "text": text, "reasoning": reasoning, "tools": tools}


def _outcome(results: dict[object, Message], call: dict[str, object]) -> dict[str, object]:
    result = results.get(call.get("id"))
    if result is None:
        return {"result": None, "is_error": False}
    return {"result": text_of(result.content), "is_error": bool(result.extra.get("is_error"))}


def _asked(message: Message) -> dict[str, object]:
    """The message that a turn answers, with its files where it has any."""
    files = message.extra.get("attachments")
    return {"id": message.id, "content": message.content} | ({"attachments": files} if files else {})
