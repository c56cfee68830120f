"""The history of a session over HTTP: take back, bring back, show another variant."""

from typing import Any

from flask_openapi3.blueprint import APIBlueprint

from api.session_ops import SessionOps
from api.sessions.report import UsageReport
from api.web import schemas as s
from api.web.room import new_room


def blueprint(ops: SessionOps, report: UsageReport) -> APIBlueprint:
    bp = new_room("history")
    _add_undo(bp, ops)
    _add_moves(bp, ops)

    @bp.get("/api/session/status", responses={200: s.StatusAnswer})
    def status(query: s.SessionQuery) -> Any:
        return ops.status(query.session_id)

    @bp.get("/api/session/usage", responses={200: s.UsageAnswer})
    def usage(query: s.SessionQuery) -> Any:
        return ops.usage(query.session_id)

    @bp.get("/api/usage", responses={200: s.SpentAnswer})
    def spent(query: s.DaysQuery) -> Any:
        return report.last(query.days)

    return bp


def _add_undo(bp: APIBlueprint, ops: SessionOps) -> None:
    @bp.post("/api/session/undo", responses={200: s.UndoAnswer})
    def undo(body: s.CountBody) -> Any:
        undone = ops.undo(body.session_id, body.count, body.expected_revision)
        return {"ok": True, **undone.as_undo()}

    @bp.post("/api/session/redo", responses={200: s.RedoAnswer})
    def redo(body: s.CountBody) -> Any:
        session, restored = ops.redo(body.session_id, body.count, body.expected_revision)
        turns = sum(message.is_typed for message in restored)
        counts = {"restored_count": len(restored), "restored_turns": turns}
        return {"ok": True, **counts, "revision": session.revision}

    @bp.post("/api/session/retry", responses={200: s.RetryAnswer})
    def retry(body: s.SessionBody) -> Any:
        undone = ops.take_back_for_retry(body.session_id, body.expected_revision)
        return {"ok": True, **undone.as_retry()}


def _add_moves(bp: APIBlueprint, ops: SessionOps) -> None:
    @bp.post("/api/session/clear", responses={200: s.RemovedAnswer})
    def clear(body: s.SessionBody) -> Any:
        session, removed = ops.truncate(body.session_id, None, body.expected_revision)
        return {"ok": True, "removed_count": removed, "revision": session.revision}

    @bp.post("/api/session/truncate", responses={200: s.RemovedAnswer})
    def truncate(body: s.TruncateBody) -> Any:
        session, removed = ops.truncate(body.session_id, body.message_id, body.expected_revision)
        return {"ok": True, "removed_count": removed, "revision": session.revision}

    @bp.post("/api/session/select", responses={200: s.SelectAnswer})
    def select(body: s.MessageBody) -> Any:
        session = ops.select(body.session_id, body.message_id, body.expected_revision)
        return {"ok": True, "head": session.head, "revision": session.revision}
