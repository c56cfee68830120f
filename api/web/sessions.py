"""Sessions over HTTP: make, list, open, mark, delete."""

from dataclasses import asdict
from typing import Any

from flask_openapi3.blueprint import APIBlueprint

from api.clock import Clock
from api.render.renderings import Renderings
from api.session_ops import SessionOps, count_messages
from api.sessions import tree
from api.sessions.catalog import Catalog, row_of
from api.sessions.codec import message_to_json, record_to_json
from api.sessions.content import text_of
from api.sessions.model import Session
from api.sessions.store import SessionStore
from api.turns.runner import TurnRunner
from api.web import schemas as s


def blueprint(
    store: SessionStore,
    catalog: Catalog,
    ops: SessionOps,
    runner: TurnRunner,
    renderings: Renderings,
    clock: Clock,
) -> APIBlueprint:
    bp = APIBlueprint("sessions", __name__, abp_responses=s.ERRORS)
    _add_reading(bp, store, catalog, runner, renderings, clock)
    _add_changing(bp, ops, runner)
    _add_deleting(bp, store, ops, runner)
    return bp


def _add_reading(
    bp: APIBlueprint,
    store: SessionStore,
    catalog: Catalog,
    runner: TurnRunner,
    renderings: Renderings,
    clock: Clock,
) -> None:
    @bp.get("/api/sessions", responses={200: s.ListAnswer})
    def list_sessions(query: s.ListQuery) -> Any:
        page = catalog.page(query.limit, query.before, query.archived)
        rows = [asdict(row) | {"running": runner.active(row.session_id) is not None} for row in page.rows]
        return {"sessions": rows, "next": page.next, "total": page.total, "server_time": clock.now()}

    @bp.get("/api/session", responses={200: s.SessionAnswer})
    def get(query: s.SessionGetQuery) -> Any:
        session = store.load(query.session_id)
        answer = _metadata(session, runner)
        if query.messages:
            answer["messages"] = _messages(session, query.before, query.limit)
            if query.html:
                _add_blocks(answer["messages"], renderings)
        return {"session": answer}


def _add_changing(bp: APIBlueprint, ops: SessionOps, runner: TurnRunner) -> None:
    def changed(session: Session) -> Any:
        return {"ok": True, "session": _metadata(session, runner)}

    @bp.post("/api/session/new", responses={201: s.SessionAnswer})
    def new(body: s.NewBody) -> Any:
        return {"session": _metadata(ops.new(body.title, body.agent, body.model), runner)}, 201

    @bp.post("/api/session/branch", responses={201: s.BranchAnswer})
    def branch(body: s.BranchBody) -> Any:
        twin = ops.branch(body.session_id, body.message_id, body.title)
        answer = {"session_id": twin.session_id, "title": twin.title}
        return answer | {"parent_session_id": body.session_id}, 201

    @bp.post("/api/session/rename", responses={200: s.OkSessionAnswer})
    def rename(body: s.RenameBody) -> Any:
        return changed(ops.rename(body.session_id, body.title, body.expected_revision))

    @bp.post("/api/session/update", responses={200: s.OkSessionAnswer})
    def update(body: s.UpdateBody) -> Any:
        changes = body.model_dump(exclude_unset=True, exclude={"session_id", "expected_revision"})
        return changed(ops.update(body.session_id, changes, body.expected_revision))

    @bp.post("/api/session/pin", responses={200: s.OkSessionAnswer})
    def pin(body: s.PinBody) -> Any:
        return changed(ops.mark(body.session_id, body.expected_revision, pinned=body.pinned))

    @bp.post("/api/session/archive", responses={200: s.OkSessionAnswer})
    def archive(body: s.ArchiveBody) -> Any:
        return changed(ops.mark(body.session_id, body.expected_revision, archived=body.archived))

    @bp.post("/api/session/seen", responses={200: s.OkSessionAnswer})
    def seen(body: s.MessageBody) -> Any:
        return changed(ops.see(body.session_id, body.message_id))


def _add_deleting(bp: APIBlueprint, store: SessionStore, ops: SessionOps, runner: TurnRunner) -> None:
    @bp.post("/api/session/delete", responses={200: s.DeleteAnswer})
    def delete(body: s.SessionBody) -> Any:
        runner.delete(body.session_id)
        return {"ok": True, "session_id": body.session_id}

    @bp.post("/api/session/restore", responses={200: s.OkSessionAnswer})
    def restore(body: s.SessionBody) -> Any:
        return {"ok": True, "session": _metadata(ops.restore(body.session_id), runner)}

    @bp.get("/api/trash", responses={200: s.TrashAnswer})
    def trash() -> Any:
        kept = [{"session_id": t.session_id, "deleted_at": t.deleted_at} for t in store.trashed()]
        return {"sessions": kept}

    @bp.post("/api/trash/purge", responses={200: s.PurgeAnswer})
    def purge(body: s.PurgeBody) -> Any:
        return {"ok": True, "purged": ops.purge(body.session_id)}


def _metadata(session: Session, runner: TurnRunner) -> dict[str, Any]:
    """A session without its messages, as a page shows it."""
    row = asdict(row_of(session))
    live = runner.active(session.session_id)
    return row | {
        "running": live is not None,
        "system_prompt": session.system_prompt,
        "parent": session.parent,
        "head": session.head,
        "active_turn": {"turn_id": live.turn_id, "stream_id": live.turn.stream_id} if live else None,
        "queue": [record_to_json(item) for item in session.queue],
        "can_undo": session.last_typed() is not None,
        "can_redo": bool(session.redo),
        "message_count": count_messages(session.line()),
    }


def _messages(session: Session, before: int | None, limit: int | None) -> list[dict[str, Any]]:
    line = [m for m in session.line() if before is None or m.id < before]
    line = line[-limit:] if limit else line
    families = tree.variants(session)
    errors = {turn.id: turn.error for turn in session.turns if turn.error}
    messages = []
    for message in line:
        entry = message_to_json(message) | {"text": text_of(message.content)}
        ids = families.get(message.id)
        if ids:
            entry["variants"] = {"index": ids.index(message.id), "count": len(ids), "ids": ids}
        if message.extra.get("status") and message.turn in errors:
            entry["error"] = errors[message.turn]
        messages.append(entry)
    return messages


def _add_blocks(messages: list[dict[str, Any]], renderings: Renderings) -> None:
    """Give what a person or the model wrote its blocks; the words of tools are no Markdown."""
    for entry in messages:
        if entry["role"] in ("user", "assistant"):
            entry["blocks"] = renderings.whole(entry["text"])
