"""The server itself over HTTP: health and the stream of all events."""

import shutil
import threading
from typing import Annotated, Any

from flask import Response, current_app, request
from flask_openapi3.blueprint import APIBlueprint
from pydantic import BaseModel, ConfigDict, Field

from api.errors import Unauthorized
from api.hub import Hub
from api.session_memory import SessionMemory
from api.sessions.catalog import Catalog
from api.settings import Settings
from api.turns.runner import TurnRunner
from api.turns.turn import Turn
from api.web import schemas as s
from api.web.frames import number_of
from api.web.gate import Gate
from api.web.room import new_open_room
from api.web.streams import Streams


class HealthQuery(BaseModel):
    deep: bool = False


class HealthAnswer(BaseModel):
    model_config = ConfigDict(extra="allow")
    status: str


class EventsQuery(BaseModel):
    cursor: Annotated[str, Field(max_length=100)] | None = None
    html: bool = False


def blueprint(
    gate: Gate,
    catalog: Catalog,
    runner: TurnRunner,
    hub: Hub[Turn],
    streams: Streams,
    memory: SessionMemory,
    settings: Settings,
) -> APIBlueprint:
    bp = new_open_room("system")

    @bp.get("/health", responses={200: HealthAnswer})
    def health(query: HealthQuery) -> Any:
        if not query.deep:
            return {"status": "ok"}
        if not gate.has_token():
            raise Unauthorized()
        return {
            "status": "ok",
            "sessions": catalog.page(1).total,
            "running": len(runner.running()),
            "threads": threading.active_count(),
            "streams": hub.listeners(),
            "agents": len(memory.agents),
            "memory": memory.health(),
            "disk_free": shutil.disk_usage(settings.state_dir).free,
        }

    @bp.get("/api/events", responses={200: s.EVENT_STREAM}, security=s.TOKEN)
    def events(query: EventsQuery) -> Response:
        cursor = query.cursor or request.headers.get("Last-Event-ID") or ""
        after = number_of(cursor, hub.boot_id)
        return streams.everything(after, is_fresh=after is not None or not cursor, html=query.html)

    @bp.get("/api/openapi.json", responses={200: s.DOCUMENT}, security=s.TOKEN)
    def openapi() -> Any:
        return current_app.api_doc  # type: ignore[attr-defined]

    return bp
