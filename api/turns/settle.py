"""The end of a turn written into its session: pure, called inside the edit that settles it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from api.sessions.model import (
    COMPRESS,
    DONE,
    FAILED,
    INTERRUPTED,
    NOTICE,
    STOPPED,
    SUMMARY,
    ActiveTurn,
    Session,
    TurnRecord,
)
from api.sessions.segments import REMEMBERED
from api.turns.turn import Turn

TERMINAL_EVENT = {DONE: "done", STOPPED: "cancel", FAILED: "apperror", INTERRUPTED: "apperror"}
INTERRUPTED_ERROR = {
    "message": "Talaria ended before this reply was complete. What had arrived is kept.",
    "type": "interrupted",
    "hint": "Use /retry to ask again.",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a turn ended: a terminal state, and for a failure what the user is told."""

    state: str
    error: Mapping[str, Any] | None = None


def failure(message: str, type: str = "provider_error", hint: str = "") -> Outcome:
    """A failure as its user is told."""
    return Outcome(FAILED, {"message": message, "type": type, "hint": hint})


def interrupted() -> Outcome:
    """The end of a turn whose process ends or has ended."""
    return Outcome(INTERRUPTED, INTERRUPTED_ERROR)


def settle(session: Session, active: ActiveTurn, turn: Turn, outcome: Outcome, now: float) -> list[int]:
    """Append what the turn said, give its record its end, and free the session; the new message ids."""
    record = session.turn(active.turn_id)
    before = len(session.messages)
    _append_reply(session, active, turn, outcome, now)
    end = {"state": outcome.state, "finished_at": now, "usage": turn.usage, "error": outcome.error}
    extra = {**record.extra, REMEMBERED: True} if turn.has_remembered else record.extra
    session.update_turn(record.id, **end, recalled=turn.recalled, extra=extra)
    session.active_turn = None
    session.updated_at = now
    return [message.id for message in session.messages[before:]]


def _append_reply(session: Session, active: ActiveTurn, turn: Turn, outcome: Outcome, now: float) -> None:
    record = session.turn(turn.turn_id)
    if record.kind == COMPRESS:
        if outcome.state == DONE:
            about = {"kind": SUMMARY, "covers": record.extra.get("covers")}
            session.append("user", turn.text.strip(), now, turn.turn_id, about)
        return
    reply = turn.messages()
    if not reply and active.prior_head is not None and outcome.state != DONE:
        # A regenerate without a word gives the head back to the reply that was there.
        session.head = active.prior_head
        return
    reply = reply or [("assistant", "", {})]
    for place, (role, content, extra) in enumerate(reply, start=1):
        if place == len(reply) and outcome.state != DONE:
            extra = extra | {"status": outcome.state}
        session.append(role, content, now, turn.turn_id, extra)
    for text in turn.notices:
        session.append("system", text, now, turn.turn_id, {"kind": NOTICE})


def terminal_data(session: Session, record: TurnRecord, message_ids: list[int]) -> dict[str, Any]:
    """The data of the one terminal event of a turn that is stored in `session`."""
    data: dict[str, Any] = {"message_ids": message_ids, "revision": session.revision}
    if record.state == DONE:
        return data | {"usage": record.usage}
    if record.state == STOPPED:
        return data
    error = record.error or INTERRUPTED_ERROR
    return {name: error.get(name) for name in ("message", "type", "hint")} | data
