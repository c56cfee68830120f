"""What the views accept and answer, as pydantic models: the OpenAPI document is made of them."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool

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


EVENT_STREAM: dict[str, Any] = {"content": {"text/event-stream": {"schema": {}}}}
DOCUMENT: dict[str, Any] = {"content": {"application/json": {"schema": {"type": "object"}}}}
TOKEN: list[dict[str, list[Any]]] = [{"token": []}]
ERRORS: dict[str | int, Any] = dict.fromkeys(
    (400, 401, 403, 404, 405, 409, 413, 415, 421, 429, 500, 503), ErrorAnswer
)


class Part(BaseModel):
    """One OpenAI-style part of a message; further fields belong to its type."""

    model_config = ConfigDict(extra="allow")
    type: Annotated[str, Field(min_length=1, max_length=64)]


class StartBody(SessionBody):
    message: str | list[Part] | None = None
    client_id: ClientId | None = None
    if_busy: Literal["queue", "reject"] = "queue"
    as_text: StrictBool = False
    regenerate: StrictBool = False
    message_id: MessageId | None = None
    edit: MessageId | None = None
    attachments: Annotated[list[str | dict[str, Any]], Field(max_length=20)] | None = None


class StartAnswer(BaseModel):
    stream_id: str
    session_id: str
    turn_id: str
    queued: bool
    position: int
    title: str
    revision: int


class StreamQuery(BaseModel):
    stream_id: Annotated[str, Field(min_length=1, max_length=160)]
    after_seq: Annotated[int, Field(ge=0, le=2**53)] | None = None
    html: bool = False


class StreamIdQuery(BaseModel):
    stream_id: Annotated[str, Field(min_length=1, max_length=160)]


class StreamStatus(BaseModel):
    active: bool
    stream_id: str
    session_id: str
    last_seq: int
    terminal_state: str | None


class CancelBody(Body):
    stream_id: Annotated[str, Field(min_length=1, max_length=160)] | None = None
    session_id: SessionId | None = None


class CancelAnswer(BaseModel):
    ok: bool
    cancelled: bool
    stream_id: str | None


class QueueBody(SessionBody):
    """A waiting text, named by its turn or by the sender's own id."""

    turn_id: Name | None = None
    client_id: ClientId | None = None


class QueueMoveBody(QueueBody):
    position: Count


class QueueAnswer(BaseModel):
    ok: bool
    queue: list[dict[str, Any]]
    revision: int


class NewBody(Body):
    title: Title = ""
    agent: Name | None = None
    endpoint: Name | None = None
    model: Name | None = None
    profile: Name | None = None
    project: Name | None = None
    workspace: Annotated[str, Field(max_length=4096)] | None = None
    personality: Annotated[str, Field(max_length=20_000)] | None = None


class ImportBody(Body):
    """A conversation as a plain list of OpenAI-style messages, each with an optional `timestamp`."""

    title: Title = ""
    agent: Name | None = None
    model: Name | None = None
    messages: Annotated[list[Any], Field(min_length=1, max_length=100_000)]


class SessionAnswer(BaseModel):
    session: dict[str, Any]


class DaysQuery(BaseModel):
    days: Annotated[int, Field(ge=1, le=3660)] = 30


class SpentAnswer(BaseModel):
    total: dict[str, Any]
    by_day: list[dict[str, Any]]
    by_model: list[dict[str, Any]]
    by_agent: list[dict[str, Any]]


class OkSessionAnswer(BaseModel):
    ok: bool
    session: dict[str, Any]
    revision: int


class ListQuery(BaseModel):
    limit: Annotated[int, Field(ge=1, le=500)] = 50
    before: Annotated[str, Field(max_length=1000)] | None = None
    archived: bool = False
    project: Name | None = None
    tag: Name | None = None
    pinned: bool | None = None


class ListAnswer(BaseModel):
    sessions: list[dict[str, Any]]
    next: str | None
    total: int
    server_time: float


class SessionGetQuery(SessionQuery):
    messages: Annotated[int, Field(ge=0, le=1)] = 1
    limit: Annotated[int, Field(ge=1, le=10_000)] | None = None
    before: MessageId | None = None
    html: bool = False


class BranchBody(SessionBody):
    message_id: MessageId | None = None
    title: Title = ""


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


class UsageAnswer(BaseModel):
    model_config = ConfigDict(extra="allow")
    input_tokens: int | None
    output_tokens: int | None
    total_tokens: int | None
    turns: int
    unknown_turns: int


class RenameBody(SessionBody):
    title: Title


class UpdateBody(SessionBody):
    """Only the fields that are there are changed; null sets the default."""

    agent: Name | None = None
    endpoint: Name | None = None
    model: Name | None = None
    workspace: Annotated[str, Field(max_length=4096)] | None = None
    personality: Annotated[str, Field(max_length=20_000)] | None = None
    system_prompt: Annotated[str, Field(max_length=100_000)] | None = None


class CountBody(SessionBody):
    count: Count = 1


class UndoAnswer(BaseModel):
    ok: bool
    removed_count: int
    removed_preview: str
    removed_text: str
    undone_turns: int
    revision: int


class MessageBody(SessionBody):
    message_id: MessageId


class TruncateBody(MessageBody):
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


class DeleteAnswer(BaseModel):
    ok: bool
    session_id: str


class TrashAnswer(BaseModel):
    sessions: list[dict[str, Any]]


class PurgeBody(Body):
    session_id: SessionId | None = None


class PurgeAnswer(BaseModel):
    ok: bool
    purged: int


class StatusAnswer(BaseModel):
    model_config = ConfigDict(extra="allow")
    session_id: str
    agent_running: bool
    active_stream_id: str | None


class CommandBody(Body):
    session_id: SessionId
    text: Annotated[str, Field(min_length=1, max_length=10_000)]


class CommandAnswer(BaseModel):
    command: str
    output: str
    data: dict[str, Any]
    revision: int | None


class CommandsAnswer(BaseModel):
    commands: list[dict[str, Any]]


class ModelsAnswer(BaseModel):
    agents: list[dict[str, Any]]
    default: str


class LoginBody(Body):
    """A code that the server gave out, or the password."""

    code: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    password: Annotated[str, Field(min_length=1, max_length=1000)] | None = None


class LoginAnswer(BaseModel):
    token: str


class LogoutAnswer(BaseModel):
    """`ended` is False for the access token, which stays good."""

    ok: bool
    ended: bool


class AuthStatusAnswer(BaseModel):
    password: bool


class TicketBody(Body):
    path: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^/")]


class TicketAnswer(BaseModel):
    ticket: str
    expires_in: float


class HealthQuery(BaseModel):
    deep: bool = False


class HealthAnswer(BaseModel):
    model_config = ConfigDict(extra="allow")
    status: str


class EventsQuery(BaseModel):
    cursor: Annotated[str, Field(max_length=100)] | None = None
    html: bool = False
