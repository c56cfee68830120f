"""What is remembered, over HTTP: list, correct, forget, bring back, commit."""

from dataclasses import asdict
from typing import Annotated, Any, Literal

from flask import Response
from flask_openapi3.blueprint import APIBlueprint
from pydantic import BaseModel, Field

from api.memory.base import FACT_LIMIT, Fact
from api.memory.export import FORMATS, exported
from api.session_memory import SessionMemory
from api.web import schemas as s
from api.web.room import new_room

FILE: dict[str, Any] = {"content": {kind: {"schema": {}} for kind in FORMATS.values()}}
Kind = Literal["preference", "fact", "project", "instruction"]
State = Literal["active", "suggested", "withdrawn", "deleted"]
Text = Annotated[str, Field(min_length=1, max_length=FACT_LIMIT)]
FactId = Annotated[str, Field(min_length=1, max_length=64)]


class SourceAnswer(BaseModel):
    session_id: str
    turn_id: str | None
    message_id: int | None


class FactRow(BaseModel):
    id: str
    text: str
    kind: Kind
    created_at: float
    source: SourceAnswer | None
    state: State
    origin: Literal["user", "tool_text"]


class FactsQuery(BaseModel):
    q: Annotated[str, Field(max_length=400)] = ""
    state: State | None = None
    before: Annotated[str, Field(max_length=32)] | None = None
    limit: Annotated[int, Field(ge=1, le=500)] = 50


class FactsAnswer(BaseModel):
    facts: list[FactRow]
    next: str | None


class FactAnswer(BaseModel):
    ok: bool
    fact: FactRow


class AddBody(s.Body):
    """A fact that the user enters; with a session it names the message that says it."""

    text: Text
    kind: Kind = "fact"
    session_id: s.SessionId | None = None
    message_id: s.MessageId | None = None


class FactBody(s.Body):
    id: FactId


class UpdateFactBody(FactBody):
    text: Text | None = None
    kind: Kind | None = None


class BatchBody(s.SessionBody):
    batch_id: Annotated[str, Field(min_length=1, max_length=200)]


class AskedAnswer(BaseModel):
    """The result comes as a `memory` event; `turns` is how many there are to tell."""

    ok: bool
    turns: int


class OkAnswer(BaseModel):
    ok: bool


class UncommittedRow(BaseModel):
    session_id: str
    turns: int
    since: float
    last_error: str | None
    batches: list[str]


class MemoryStatusAnswer(BaseModel):
    provider: str
    healthy: bool
    reason: str | None
    facts: int | None
    uncommitted: list[UncommittedRow]
    last_commit_at: float | None


class ExportQuery(BaseModel):
    format: Literal["json", "md"] = "json"


class TurnFacts(BaseModel):
    """The ids of the facts that a turn was given, and of those that it has taught."""

    recalled: list[str]
    learned: list[str]


class SessionFactsAnswer(BaseModel):
    """A fact whose words are kept elsewhere is named in `turns` and not among `facts`."""

    facts: list[FactRow]
    turns: dict[str, TurnFacts]


def blueprint(memory: SessionMemory) -> APIBlueprint:
    bp = new_room("memory")
    _add_facts(bp, memory)
    _add_changes(bp, memory)
    _add_commits(bp, memory)
    return bp


def _add_facts(bp: APIBlueprint, memory: SessionMemory) -> None:
    @bp.get("/api/memory", responses={200: FactsAnswer})
    def facts(query: FactsQuery) -> Any:
        found, following = memory.provider.facts(query.q, query.state, query.before, query.limit)
        return {"facts": [asdict(fact) for fact in found], "next": following}

    @bp.get("/api/memory/session", responses={200: SessionFactsAnswer})
    def of_session(query: s.SessionQuery) -> Any:
        found = memory.facts_of(query.session_id)
        return found | {"facts": [asdict(fact) for fact in found["facts"]]}

    @bp.get("/api/memory/status", responses={200: MemoryStatusAnswer})
    def status() -> Any:
        return memory.status()

    @bp.get("/api/memory/export", responses={200: FILE})
    def export(query: ExportQuery) -> Response:
        response = Response(exported(memory.provider, query.format), mimetype=FORMATS[query.format])
        response.headers["Content-Disposition"] = f'attachment; filename="talaria-memory.{query.format}"'
        return response


def _add_changes(bp: APIBlueprint, memory: SessionMemory) -> None:
    @bp.post("/api/memory/add", responses={200: FactAnswer})
    def add(body: AddBody) -> Any:
        source = memory.source(body.session_id, body.message_id) if body.session_id else None
        return _kept(memory.provider.add(body.text, body.kind, source))

    @bp.post("/api/memory/update", responses={200: FactAnswer})
    def update(body: UpdateFactBody) -> Any:
        return _kept(memory.provider.update(body.id, body.text, body.kind))

    @bp.post("/api/memory/delete", responses={200: FactAnswer})
    def delete(body: FactBody) -> Any:
        return _kept(memory.provider.delete(body.id))

    @bp.post("/api/memory/restore", responses={200: FactAnswer})
    def restore(body: FactBody) -> Any:
        return _kept(memory.provider.restore(body.id))

    @bp.post("/api/memory/accept", responses={200: FactAnswer})
    def accept(body: FactBody) -> Any:
        return _kept(memory.provider.accept(body.id))

    @bp.post("/api/memory/refuse", responses={200: FactAnswer})
    def refuse(body: FactBody) -> Any:
        return _kept(memory.provider.refuse(body.id))


def _add_commits(bp: APIBlueprint, memory: SessionMemory) -> None:
    @bp.post("/api/memory/commit", responses={202: AskedAnswer})
    def commit(body: s.SessionBody) -> Any:
        return {"ok": True, "turns": memory.commit(body.session_id)}, 202

    @bp.post("/api/memory/learn", responses={202: AskedAnswer})
    def learn(body: s.SessionBody) -> Any:
        return {"ok": True, "turns": memory.learn(body.session_id)}, 202

    @bp.post("/api/memory/drop-batch", responses={202: OkAnswer})
    def drop_batch(body: BatchBody) -> Any:
        memory.drop_batch(body.session_id, body.batch_id)
        return {"ok": True}, 202


def _kept(fact: Fact) -> dict[str, Any]:
    return {"ok": True, "fact": asdict(fact)}
