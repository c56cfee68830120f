"""Endpoints and models over HTTP: what there is, what answers by default, what listens on this machine."""

import time
from dataclasses import asdict
from typing import Annotated, Any

from flask_openapi3.blueprint import APIBlueprint
from pydantic import BaseModel, Field

from api.agents.endpoint import HIDDEN, Endpoint
from api.agents.endpoint_rules import from_json
from api.agents.endpoint_store import Default, EndpointStore, to_json
from api.agents.local_servers import LocalServers
from api.agents.openai_chat import list_models
from api.agents.pool import AgentPool
from api.errors import AgentError, InvalidRequest
from api.web import schemas as s
from api.web.room import new_room

EndpointId = Annotated[str, Field(min_length=1, max_length=64)]


class ModelsAnswer(BaseModel):
    """`given` is the default agent that the start has named; no other one can be chosen. Null: any can."""

    agents: list[dict[str, Any]]
    default: str
    given: str | None


class EndpointBody(s.Body):
    """Fields that are left out stay as they are, and so do headers whose value is the one that was shown.

    `api_key` null or empty removes the key.
    """

    id: EndpointId | None = None
    name: str | None = None
    base_url: str | None = None
    model: str | None = None
    api_key: str | None = None
    headers: dict[str, str] | None = None
    context_limit: int | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    vision: bool | None = None


class EndpointIdBody(s.Body):
    id: EndpointId


class EndpointsAnswer(BaseModel):
    """`problem` says why nothing can be saved; null where all is well."""

    endpoints: list[dict[str, Any]]
    problem: str | None


class EndpointAnswer(BaseModel):
    ok: bool
    endpoint: dict[str, Any]


class OkAnswer(BaseModel):
    ok: bool


class TestAnswer(BaseModel):
    """`ok` false: `error` says why the endpoint did not list its models."""

    ok: bool
    models: list[str]
    latency_ms: float
    error: str | None


class LocalAnswer(BaseModel):
    servers: list[dict[str, Any]]


class DefaultBody(s.Body):
    """What answers a chat that has chosen nothing."""

    agent: s.Name | None = None
    endpoint: EndpointId | None = None
    model: s.Name | None = None


class DefaultAnswer(BaseModel):
    ok: bool
    default: str
    endpoint: str | None
    model: str | None


def blueprint(
    endpoints: EndpointStore, agents: AgentPool, local: LocalServers, given_agent: str | None
) -> APIBlueprint:
    """`given_agent` is the default one of flags, environment and settings; it wins over a chosen one."""
    bp = new_room("endpoints")
    _add_changing(bp, endpoints, agents, given_agent)

    @bp.get("/api/endpoints", responses={200: EndpointsAnswer})
    def list_endpoints() -> Any:
        problem = endpoints.problem.message if endpoints.problem else None
        return {"endpoints": [_shown(entry, endpoints) for entry in endpoints.all()], "problem": problem}

    @bp.get("/api/endpoints/local", responses={200: LocalAnswer})
    def local_servers() -> Any:
        return {"servers": [asdict(server) for server in local.find()]}

    @bp.get("/api/models", responses={200: ModelsAnswer})
    def models() -> Any:
        return {"agents": agents.infos(), "default": agents.default, "given": given_agent}

    @bp.post("/api/default-model", responses={200: DefaultAnswer})
    def default_model(body: DefaultBody) -> Any:
        agent = body.agent or ("openai" if body.endpoint else agents.default)
        if agent != (given_agent or agent):
            raise InvalidRequest(f"The default agent {given_agent} is set at the start and is changed there.")
        known = agents.check(agent, body.endpoint).endpoints
        if body.model and not known:
            raise InvalidRequest(f"The agent {agent} has no endpoint yet. Add one before its model.")
        endpoint = body.endpoint or (known[0] if known else None)
        endpoints.choose_default(Default(agent, endpoint, body.model))
        agents.choose_default(agent)
        return {"ok": True, "default": agent, "endpoint": endpoint, "model": body.model}

    return bp


def _add_changing(
    bp: APIBlueprint, endpoints: EndpointStore, agents: AgentPool, given_agent: str | None
) -> None:
    @bp.post("/api/endpoints/save", responses={200: EndpointAnswer})
    def save(body: EndpointBody) -> Any:
        saved = endpoints.save(body.model_dump(exclude_unset=True))
        return {"ok": True, "endpoint": _shown(saved, endpoints)}

    @bp.post("/api/endpoints/delete", responses={200: OkAnswer})
    def delete(body: EndpointIdBody) -> Any:
        endpoints.delete(body.id)
        if agents.default == "openai" and not given_agent and not endpoints.all():
            agents.choose_default("embedded")
        return {"ok": True}

    @bp.post("/api/endpoints/test", responses={200: TestAnswer})
    def test(body: EndpointBody) -> Any:
        return _tried(_endpoint(body, endpoints))


def _endpoint(body: EndpointBody, endpoints: EndpointStore) -> Endpoint:
    """The endpoint that a test is about: a stored one, with what the body would change of it."""
    try:
        before = endpoints.get(body.id) if body.id else None
    except AgentError as exc:
        raise InvalidRequest(exc.message) from exc
    return from_json({"id": "test", **body.model_dump(exclude_unset=True)}, before)


def _tried(endpoint: Endpoint) -> dict[str, Any]:
    before = time.perf_counter()
    models: list[str] = []
    error = None
    try:
        models = [model.id for model in list_models(endpoint)]
    except AgentError as exc:
        error = " ".join(filter(None, (exc.message, exc.hint)))
    latency_ms = round(1000 * (time.perf_counter() - before), 1)
    return {"ok": error is None, "models": models, "latency_ms": latency_ms, "error": error}


def _shown(endpoint: Endpoint, endpoints: EndpointStore) -> dict[str, Any]:
    """An endpoint for the page: of its secrets only that they are there."""
    is_given = endpoints.is_given(endpoint.id)
    return to_json(endpoint) | {
        "headers": dict.fromkeys(endpoint.headers, HIDDEN),
        "has_key": bool(endpoint.api_key),
        "editable": not is_given,
        "source": "start" if is_given else "stored",
    }
