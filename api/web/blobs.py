"""Files over HTTP: upload one for a chat, and get one back."""

from dataclasses import asdict
from typing import Annotated, Any

from flask import Response, request, send_file
from flask_openapi3.blueprint import APIBlueprint
from flask_openapi3.models.file import FileStorage
from pydantic import BaseModel, BeforeValidator

from api.errors import InvalidRequest, TooLarge
from api.sessions.blobs import UPLOAD_LIMIT, Blobs
from api.sessions.store import SessionStore
from api.web import schemas as s
from api.web.room import new_room

_FOREVER = "private, max-age=31536000, immutable"
BYTES: dict[str, Any] = {"content": {"application/octet-stream": {"schema": {"type": "string"}}}}


def _as_sent(_value: Any) -> str:
    # The library reads form values as JSON, and an id may look like a number.
    return request.form["session_id"]


class UploadForm(BaseModel):
    session_id: Annotated[s.SessionId, BeforeValidator(_as_sent)]
    file: FileStorage


class UploadAnswer(BaseModel):
    """What a message is sent with: an attachment."""

    id: str
    filename: str
    size: int
    mime: str
    is_image: bool


class BlobPath(BaseModel):
    blob_id: str


def blueprint(store: SessionStore, blobs: Blobs) -> APIBlueprint:
    bp = new_room("blobs")

    @bp.post("/api/upload", responses={200: UploadAnswer})
    def upload(form: UploadForm) -> Any:
        store.load(form.session_id)
        sent = request.files["file"]
        data = sent.stream.read(UPLOAD_LIMIT + 1)
        if len(data) > UPLOAD_LIMIT:
            raise TooLarge(f"The file is larger than {UPLOAD_LIMIT // 1024 // 1024} MB.")
        if not sent.filename:
            raise InvalidRequest("The uploaded file has no name.")
        return asdict(blobs.put(data, sent.filename))

    @bp.get("/api/blob/<blob_id>", responses={200: BYTES})
    def blob(path: BlobPath) -> Response:
        mime = blobs.image_type(path.blob_id)
        response = send_file(
            blobs.path(path.blob_id),
            mimetype=mime or "application/octet-stream",
            as_attachment=mime is None,
            download_name=None if mime else "file.txt",
        )
        # Whatever it holds, it can run nothing and reach nothing.
        response.headers["Content-Security-Policy"] = "sandbox; default-src 'none'"
        response.headers["Cache-Control"] = _FOREVER
        return response

    return bp
