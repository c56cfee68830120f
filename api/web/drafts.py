"""Drafts over HTTP: what is typed and not sent follows its chat to every page."""

from typing import Annotated, Any

from flask_openapi3.blueprint import APIBlueprint
from pydantic import Field

from api.session_ops import SessionOps
from api.web import schemas as s
from api.web.room import new_room
from api.web.shown import Shown


class DraftBody(s.SessionBody):
    """`version` is the stored one that the text was typed on top of."""

    text: Annotated[str, Field(max_length=1_000_000)]
    attachments: Annotated[list[Any], Field(max_length=20, default_factory=list)]
    version: s.Revision | None = None


def blueprint(ops: SessionOps, shown: Shown) -> APIBlueprint:
    bp = new_room("drafts")

    @bp.post("/api/session/draft", responses={200: s.OkSessionAnswer})
    def save(body: DraftBody) -> Any:
        return shown.changed(ops.draft(body.session_id, body.text, body.attachments, body.version))

    return bp
