"""What several views accept or answer, as pydantic models; what one alone does stands beside it.

The OpenAPI document is made of them.
"""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(ge=1, le=10_000)]
MessageId = Annotated[int, Field(ge=1, le=2**53)]
SessionId = Annotated[str, Field(min_length=1, max_length=128)]
Title = Annotated[str, Field(max_length=2000)]
Name = Annotated[str, Field(max_length=200)]
ClientId = Annotated[str, Field(min_length=1, max_length=128)]
Revision = Annotated[int, Field(ge=0, le=2**53)]


class Body(BaseModel):
    """A request body; fields that nobody knows are ignored."""

    model_config = ConfigDict(extra="ignore")


class ErrorAnswer(BaseModel):
    """Every refusal: a sentence to act on, and a word for programs."""

    error: str
    code: str
    details: dict[str, Any] | None = None


class SessionQuery(BaseModel):
    session_id: SessionId


class SessionBody(Body):
    session_id: SessionId
    expected_revision: Revision | None = None


class OkSessionAnswer(BaseModel):
    ok: bool
    session: dict[str, Any]
    revision: int


class MessageBody(SessionBody):
    message_id: MessageId


class CommandAnswer(BaseModel):
    command: str
    output: str
    data: dict[str, Any]
    revision: int | None


EVENT_STREAM: dict[str, Any] = {"content": {"text/event-stream": {"schema": {}}}}
DOCUMENT: dict[str, Any] = {"content": {"application/json": {"schema": {"type": "object"}}}}
TOKEN: list[dict[str, list[Any]]] = [{"token": []}]
ERRORS: dict[str | int, Any] = dict.fromkeys(
    (400, 401, 403, 404, 405, 409, 413, 415, 421, 429, 500, 503), ErrorAnswer
)
