"""Sessions over HTTP: make, list, open, copy, erase, delete."""

from dataclasses import asdict
from typing import Annotated, Any

from flask_openapi3.blueprint import APIBlueprint
from pydantic import BaseModel, Field, StrictBool

from api.clock import Clock
from api.render.renderings import Renderings
from api.session_making import SessionMaker
from api.session_ops import SessionOps
from api.sessions import tree
from api.sessions.catalog import Catalog
from api.sessions.codec import message_to_json
from api.sessions.content import text_of
from api.sessions.copying import original_of
from api.sessions.model import Session
from api.sessions.rows import Filter
from api.sessions.store import SessionStore
from api.turns.runner import TurnRunner
from api.web import schemas as s
from api.web.room import new_room
from api.web.shown import Shown


class NewBody(s.Body):
    """`prev_session_id` names the chat that has come to an end: memory learns from it.

    A temporary chat is not listed, not remembered, and gone when it is closed.
    """

    title: s.Title = ""
    prev_session_id: s.SessionId | None = None
    temporary: StrictBool = False
    agent: s.Name | None = None
    endpoint: s.Name | None = None
    model: s.Name | None = None
    profile: s.Name | None = None
    project: s.Name | None = None
    workspace: Annotated[str, Field(max_length=4096)] | None = None
    personality: Annotated[str, Field(max_length=20_000)] | None = None


class ImportBody(s.Body):
    """A conversation as a plain list of OpenAI-style messages, each with an optional `timestamp`."""

    title: s.Title = ""
    agent: s.Name | None = None
    model: s.Name | None = None
    messages: Annotated[list[Any], Field(min_length=1, max_length=100_000)]


class SessionAnswer(BaseModel):
    session: dict[str, Any]


class ListQuery(BaseModel):
    limit: Annotated[int, Field(ge=1, le=500)] = 50
    before: Annotated[str, Field(max_length=1000)] | None = None
    archived: bool = False
    project: s.Name | None = None
    tag: s.Name | None = None
    pinned: bool | None = None


class ListAnswer(BaseModel):
    sessions: list[dict[str, Any]]
    next: str | None
    total: int
    server_time: float


class SessionGetQuery(s.SessionQuery):
    messages: Annotated[int, Field(ge=0, le=1)] = 1
    limit: Annotated[int, Field(ge=1, le=10_000)] | None = None
    before: s.MessageId | None = None
    html: bool = False


class BranchBody(s.SessionBody):
    message_id: s.MessageId | None = None
    title: s.Title = ""


class BranchAnswer(BaseModel):
    session_id: str
    title: str
    parent_session_id: str
    revision: int


class EraseAnswer(BaseModel):
    """`copies` are the copies of the message that were erased with it; `original` what it was copied from."""

    ok: bool
    copies: list[dict[str, Any]]
    original: dict[str, Any] | None
    revision: int


class RenameBody(s.SessionBody):
    title: s.Title


class UpdateBody(s.SessionBody):
    """Only the fields that are there are changed; null sets the default."""

    agent: s.Name | None = None
    endpoint: s.Name | None = None
    model: s.Name | None = None
    workspace: Annotated[str, Field(max_length=4096)] | None = None
    personality: Annotated[str, Field(max_length=20_000)] | None = None
    system_prompt: Annotated[str, Field(max_length=100_000)] | None = None


class DeleteBody(s.SessionBody):
    """`forget` also withdraws what memory has learned in the chat."""

    forget: StrictBool = False


class CloseAnswer(BaseModel):
    """`gone` says that it was a temporary chat, which is there no more."""

    ok: bool
    gone: bool


class DeleteAnswer(BaseModel):
    ok: bool
    session_id: str


class TrashQuery(BaseModel):
    limit: Annotated[int, Field(ge=1, le=500)] = 100


class TrashRow(BaseModel):
    """`damaged` says that its file cannot be read: it can be looked at in the state folder only."""

    session_id: str
    deleted_at: float
    title: str
    message_count: int
    damaged: bool


class TrashAnswer(BaseModel):
    """The chats that were deleted last come first; `total` counts those that are left out too."""

    sessions: list[TrashRow]
    total: int


class PurgeBody(s.Body):
    session_id: s.SessionId | None = None


class PurgeAnswer(BaseModel):
    ok: bool
    purged: int


def blueprint(
    store: SessionStore,
    catalog: Catalog,
    maker: SessionMaker,
    ops: SessionOps,
    runner: TurnRunner,
    clock: Clock,
    shown: Shown,
    renderings: Renderings,
) -> APIBlueprint:
    bp = new_room("sessions")
    _add_list(bp, catalog, runner, clock)
    _add_session(bp, store, shown, renderings)
    _add_making(bp, maker, shown)
    _add_changing(bp, ops, shown)
    _add_deleting(bp, store, ops, runner, shown)
    return bp


def _add_list(bp: APIBlueprint, catalog: Catalog, runner: TurnRunner, clock: Clock) -> None:
    @bp.get("/api/sessions", responses={200: ListAnswer})
    def list_sessions(query: ListQuery) -> Any:
        only = Filter(query.project, query.tag, query.pinned)
        page = catalog.page(query.limit, query.before, query.archived, only)
        rows = [asdict(row) | {"running": runner.active(row.session_id) is not None} for row in page.rows]
        return {"sessions": rows, "next": page.next, "total": page.total, "server_time": clock.now()}


def _add_session(bp: APIBlueprint, store: SessionStore, shown: Shown, renderings: Renderings) -> None:
    @bp.get("/api/session", responses={200: SessionAnswer})
    def get(query: SessionGetQuery) -> Any:
        session = store.load(query.session_id)
        answer = shown.session(session)
        if query.messages:
            answer["messages"] = _messages(session, query.before, query.limit)
            if query.html:
                _add_blocks(answer["messages"], renderings)
        return {"session": answer}


def _add_making(bp: APIBlueprint, maker: SessionMaker, shown: Shown) -> None:
    @bp.post("/api/session/new", responses={201: SessionAnswer})
    def new(body: NewBody) -> Any:
        about = body.model_dump(exclude={"title"}, exclude_none=True)
        return {"session": shown.session(maker.new(body.title, **about))}, 201

    @bp.post("/api/session/import", responses={201: s.OkSessionAnswer})
    def import_messages(body: ImportBody) -> Any:
        about = body.model_dump(exclude={"title", "messages"}, exclude_none=True)
        return shown.changed(maker.import_messages(body.messages, body.title, **about)), 201

    @bp.post("/api/session/branch", responses={201: BranchAnswer})
    def branch(body: BranchBody) -> Any:
        return _copied(maker.branch(body.session_id, body.message_id, body.title)), 201

    @bp.post("/api/session/duplicate", responses={201: BranchAnswer})
    def duplicate(body: BranchBody) -> Any:
        return _copied(maker.duplicate(body.session_id, body.message_id, body.title)), 201


def _add_changing(bp: APIBlueprint, ops: SessionOps, shown: Shown) -> None:
    @bp.post("/api/session/rename", responses={200: s.OkSessionAnswer})
    def rename(body: RenameBody) -> Any:
        return shown.changed(ops.rename(body.session_id, body.title, body.expected_revision))

    @bp.post("/api/session/update", responses={200: s.OkSessionAnswer})
    def update(body: UpdateBody) -> Any:
        changes = body.model_dump(exclude_unset=True, exclude={"session_id", "expected_revision"})
        return shown.changed(ops.update(body.session_id, changes, body.expected_revision))


def _copied(twin: Session) -> dict[str, Any]:
    parent = twin.parent or {}
    return {
        "session_id": twin.session_id,
        "title": twin.title,
        "parent_session_id": parent["session_id"],
        "revision": twin.revision,
    }


def _add_deleting(
    bp: APIBlueprint, store: SessionStore, ops: SessionOps, runner: TurnRunner, shown: Shown
) -> None:
    @bp.post("/api/session/erase", responses={200: EraseAnswer})
    def erase(body: s.MessageBody) -> Any:
        session, copies = ops.erase(body.session_id, body.message_id, body.expected_revision)
        return {
            "ok": True,
            "copies": [{"session_id": name, "message_id": copied} for name, copied in copies],
            "original": original_of(session, body.message_id),
            "revision": session.revision,
        }

    @bp.post("/api/session/delete", responses={200: DeleteAnswer})
    def delete(body: DeleteBody) -> Any:
        runner.delete(body.session_id, body.forget)
        return {"ok": True, "session_id": body.session_id}

    @bp.post("/api/session/close", responses={200: CloseAnswer})
    def close(body: s.SessionBody) -> Any:
        return {"ok": True, "gone": ops.close(body.session_id)}

    @bp.post("/api/session/restore", responses={200: s.OkSessionAnswer})
    def restore(body: s.SessionBody) -> Any:
        return shown.changed(ops.restore(body.session_id))

    @bp.get("/api/trash", responses={200: TrashAnswer})
    def trash(query: TrashQuery) -> Any:
        return {"sessions": ops.trash(query.limit), "total": len(store.trashed())}

    @bp.post("/api/trash/purge", responses={200: PurgeAnswer})
    def purge(body: PurgeBody) -> Any:
        return {"ok": True, "purged": ops.purge(body.session_id)}


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
