"""The events of a turn that is over, made from the session that holds it."""

from api.events import Event
from api.sessions.content import text_of
from api.sessions.model import RUNNING, Message, Session
from api.turns.settle import INTERRUPTED_ERROR, TERMINAL_EVENT, terminal_data


def replay(session: Session, turn_id: str) -> list[Event]:
    """`turn_started`, `snapshot` and the terminal event of a turn; none while it waits in the queue.

    Raises `NotFound` for a turn that this session never had.
    """
    if any(item.turn_id == turn_id for item in session.queue):
        return []
    record = session.turn(turn_id)
    user = session.message(record.user or 0)
    reply = [m for m in session.messages if m.turn == turn_id and m.role != "user"]
    started = {
        "turn_id": turn_id,
        "user_message": {"id": user.id, "content": user.content},
        "model": record.model,
        "agent": record.agent,
    }
    if record.state == RUNNING:
        # A turn whose end could not be stored: the next change of the session settles it.
        end = Event("apperror", {**INTERRUPTED_ERROR, "message_ids": [], "revision": session.revision})
    else:
        ids = [message.id for message in reply]
        end = Event(TERMINAL_EVENT[record.state], terminal_data(session, record, ids))
    return [Event("turn_started", started), Event("snapshot", _snapshot(reply)), end]


def _snapshot(reply: list[Message]) -> dict[str, object]:
    answers = [message for message in reply if message.role == "assistant"]
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
