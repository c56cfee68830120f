"""The history of a session over HTTP: take back, bring back, show another variant."""

from typing import Annotated, Any

from flask_openapi3.blueprint import APIBlueprint
from pydantic import BaseModel, ConfigDict, Field

from api.session_ops import SessionOps
from api.sessions.report import UsageReport
from api.web import schemas as s
from api.web.room import new_room


class DaysQuery(BaseModel):
    days: Annotated[int, Field(ge=1, le=3660)] = 30


class SpentAnswer(BaseModel):
    total: dict[str, Any]
    by_day: list[dict[str, Any]]
    by_model: list[dict[str, Any]]
    by_agent: list[dict[str, Any]]


class UsageAnswer(BaseModel):
    model_config = ConfigDict(extra="allow")
    input_tokens: int | None
    output_tokens: int | None
    total_tokens: int | None
    turns: int
    unknown_turns: int


class CountBody(s.SessionBody):
    count: s.Count = 1


class UndoAnswer(BaseModel):
    ok: bool
    removed_count: int
    removed_preview: str
    removed_text: str
    undone_turns: int
    revision: int


class TruncateBody(s.MessageBody):
    """`message_id` is the last message that stays."""


class RemovedAnswer(BaseModel):
    ok: bool
    removed_count: int
    revision: int


class SelectAnswer(BaseModel):
    ok: bool
    head: int | None
    revision: int


class RedoAnswer(BaseModel):
    ok: bool
    restored_count: int
    restored_turns: int
    revision: int


class RetryAnswer(BaseModel):
    ok: bool
    last_user_text: str
    removed_count: int
    content: Any
    attachments: list[Any]
    revision: int


class StatusAnswer(BaseModel):
    model_config = ConfigDict(extra="allow")
    session_id: str
    agent_running: bool
    active_stream_id: str | None


def blueprint(ops: SessionOps, report: UsageReport) -> APIBlueprint:
    bp = new_room("history")
    _add_undo(bp, ops)
    _add_moves(bp, ops)

    @bp.get("/api/session/status", responses={200: StatusAnswer})
    def status(query: s.SessionQuery) -> Any:
        return ops.status(query.session_id)

    @bp.get("/api/session/usage", responses={200: UsageAnswer})
    def usage(query: s.SessionQuery) -> Any:
        return ops.usage(query.session_id)

    @bp.get("/api/usage", responses={200: SpentAnswer})
    def spent(query: DaysQuery) -> Any:
        return report.last(query.days)

    return bp


def _add_undo(bp: APIBlueprint, ops: SessionOps) -> None:
    @bp.post("/api/session/undo", responses={200: UndoAnswer})
    def undo(body: CountBody) -> Any:
        undone = ops.undo(body.session_id, body.count, body.expected_revision)
        return {"ok": True, **undone.as_undo()}

    @bp.post("/api/session/redo", responses={200: RedoAnswer})
    def redo(body: CountBody) -> Any:
        session, restored = ops.redo(body.session_id, body.count, body.expected_revision)
        turns = sum(message.is_typed for message in restored)
        counts = {"restored_count": len(restored), "restored_turns": turns}
        return {"ok": True, **counts, "revision": session.revision}

    @bp.post("/api/session/retry", responses={200: RetryAnswer})
    def retry(body: s.SessionBody) -> Any:
        undone = ops.take_back_for_retry(body.session_id, body.expected_revision)
        return {"ok": True, **undone.as_retry()}


def _add_moves(bp: APIBlueprint, ops: SessionOps) -> None:
    @bp.post("/api/session/clear", responses={200: RemovedAnswer})
    def clear(body: s.SessionBody) -> Any:
        session, removed = ops.truncate(body.session_id, None, body.expected_revision)
        return {"ok": True, "removed_count": removed, "revision": session.revision}

    @bp.post("/api/session/truncate", responses={200: RemovedAnswer})
    def truncate(body: TruncateBody) -> Any:
        session, removed = ops.truncate(body.session_id, body.message_id, body.expected_revision)
        return {"ok": True, "removed_count": removed, "revision": session.revision}

    @bp.post("/api/session/select", responses={200: SelectAnswer})
    def select(body: s.MessageBody) -> Any:
        session = ops.select(body.session_id, body.message_id, body.expected_revision)
        return {"ok": True, "head": session.head, "revision": session.revision}
