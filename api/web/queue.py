"""Waiting texts over HTTP: take back, move, go on."""

from typing import Any

from flask_openapi3.blueprint import APIBlueprint
from pydantic import BaseModel

from api.errors import InvalidRequest
from api.session_ops import SessionOps
from api.sessions.codec import record_to_json
from api.sessions.model import Session
from api.turns.runner import TurnRunner
from api.web import schemas as s
from api.web.room import new_room


class QueueBody(s.SessionBody):
    """A waiting text, named by its turn or by the sender's own id."""

    turn_id: s.Name | None = None
    client_id: s.ClientId | None = None


class QueueMoveBody(QueueBody):
    position: s.Count


class QueueAnswer(BaseModel):
    ok: bool
    queue: list[dict[str, Any]]
    revision: int


def blueprint(ops: SessionOps, runner: TurnRunner) -> APIBlueprint:
    bp = new_room("queue")

    @bp.post("/api/chat/queue/remove", responses={200: QueueAnswer})
    def remove(body: QueueBody) -> Any:
        return _queue(ops.unqueue(body.session_id, _name(body), body.expected_revision))

    @bp.post("/api/chat/queue/move", responses={200: QueueAnswer})
    def move(body: QueueMoveBody) -> Any:
        return _queue(ops.move_in_queue(body.session_id, _name(body), body.position, body.expected_revision))

    @bp.post("/api/chat/queue/resume", responses={200: QueueAnswer})
    def resume(body: s.SessionBody) -> Any:
        return _queue(runner.resume(body.session_id, body.expected_revision))

    return bp


def _name(body: QueueBody) -> str:
    name = body.turn_id or body.client_id
    if name is None:
        raise InvalidRequest("Name the waiting text by its turn_id or its client_id.")
    return name


def _queue(session: Session) -> dict[str, Any]:
    queue = [record_to_json(item) for item in session.queue]
    return {"ok": True, "queue": queue, "revision": session.revision}
