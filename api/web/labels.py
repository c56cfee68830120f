"""Where a session stands in the list, over HTTP: pins, the archive, projects, tags, what was seen."""

from typing import Annotated, Any

from flask_openapi3.blueprint import APIBlueprint
from pydantic import BaseModel, Field, StrictBool

from api.session_ops import SessionOps
from api.sessions.catalog import Catalog
from api.web import schemas as s
from api.web.room import new_room
from api.web.shown import Shown


class PinBody(s.SessionBody):
    pinned: StrictBool


class ArchiveBody(s.SessionBody):
    archived: StrictBool


class MoveBody(s.SessionBody):
    """Null or a blank name takes the chat out of its project."""

    project: s.Name | None


class TagsBody(s.SessionBody):
    tags: Annotated[list[s.Name], Field(max_length=50)]


class Facet(BaseModel):
    name: str
    count: int


class FacetsAnswer(BaseModel):
    projects: list[Facet]
    tags: list[Facet]


def blueprint(catalog: Catalog, ops: SessionOps, shown: Shown) -> APIBlueprint:
    bp = new_room("labels")

    @bp.post("/api/session/pin", responses={200: s.OkSessionAnswer})
    def pin(body: PinBody) -> Any:
        return shown.changed(ops.mark(body.session_id, body.expected_revision, pinned=body.pinned))

    @bp.post("/api/session/archive", responses={200: s.OkSessionAnswer})
    def archive(body: ArchiveBody) -> Any:
        return shown.changed(ops.mark(body.session_id, body.expected_revision, archived=body.archived))

    @bp.post("/api/session/move", responses={200: s.OkSessionAnswer})
    def move(body: MoveBody) -> Any:
        return shown.changed(ops.move(body.session_id, body.project, body.expected_revision))

    @bp.post("/api/session/tags", responses={200: s.OkSessionAnswer})
    def tags(body: TagsBody) -> Any:
        return shown.changed(ops.tag(body.session_id, body.tags, body.expected_revision))

    @bp.post("/api/session/seen", responses={200: s.OkSessionAnswer})
    def seen(body: s.MessageBody) -> Any:
        return shown.changed(ops.see(body.session_id, body.message_id))

    @bp.get("/api/sessions/facets", responses={200: FacetsAnswer})
    def facets() -> Any:
        found = catalog.facets()
        kinds = (("projects", found.projects), ("tags", found.tags))
        return {kind: [{"name": n, "count": c} for n, c in names.items()] for kind, names in kinds}

    return bp
