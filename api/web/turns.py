"""Turns over HTTP: start, stream, stop."""

from typing import Annotated, Any, Literal

from flask import Response, request
from flask_openapi3.blueprint import APIBlueprint
from pydantic import BaseModel, ConfigDict, Field, StrictBool

from api.commands.dispatcher import Ran
from api.composer import Composer
from api.errors import InvalidRequest, NotFound
from api.events import Event
from api.hub import Hub
from api.sessions.model import RUNNING, Session, is_session_id
from api.sessions.store import SessionStore
from api.turns.begin import Sending
from api.turns.replay import replay
from api.turns.runner import Started, TurnRunner
from api.turns.turn import Turn
from api.web import schemas as s
from api.web.commands import ran_json
from api.web.frames import number_of
from api.web.room import new_room
from api.web.streams import Streams


class Part(BaseModel):
    """One OpenAI-style part of a message; further fields belong to its type."""

    model_config = ConfigDict(extra="allow")
    type: Annotated[str, Field(min_length=1, max_length=64)]


class StartBody(s.SessionBody):
    message: str | list[Part] | None = None
    client_id: s.ClientId | None = None
    if_busy: Literal["queue", "reject"] = "queue"
    as_text: StrictBool = False
    regenerate: StrictBool = False
    message_id: s.MessageId | None = None
    edit: s.MessageId | None = None
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


class CancelBody(s.Body):
    stream_id: Annotated[str, Field(min_length=1, max_length=160)] | None = None
    session_id: s.SessionId | None = None


class CancelAnswer(BaseModel):
    ok: bool
    cancelled: bool
    stream_id: str | None


def blueprint(
    store: SessionStore,
    runner: TurnRunner,
    hub: Hub[Turn],
    streams: Streams,
    composer: Composer,
) -> APIBlueprint:
    bp = new_room("turns")

    @bp.post("/api/chat/start", responses={202: StartAnswer, 200: s.CommandAnswer})
    def start(body: StartBody) -> Any:
        done = _start(composer, runner, body)
        return (ran_json(done), 200) if isinstance(done, Ran) else (_started_json(done), 202)

    _add_streams(bp, store, runner, hub, streams)

    @bp.post("/api/chat/cancel", responses={200: CancelAnswer})
    def cancel(body: CancelBody) -> Any:
        if body.stream_id is not None:
            session_id, turn_id = split_stream_id(body.stream_id)
        elif body.session_id is not None:
            session_id, turn_id = body.session_id, None
        else:
            raise InvalidRequest("Name a stream_id or a session_id.")
        store.load(session_id)
        stream_id = runner.cancel(session_id, turn_id)
        return {"ok": True, "cancelled": stream_id is not None, "stream_id": stream_id or body.stream_id}

    return bp


def _add_streams(
    bp: APIBlueprint, store: SessionStore, runner: TurnRunner, hub: Hub[Turn], streams: Streams
) -> None:
    @bp.get(
        "/api/chat/stream",
        responses={200: s.EVENT_STREAM},
    )
    def stream(query: StreamQuery) -> Response:
        session_id, turn_id = split_stream_id(query.stream_id)
        _require_turn(store.load(session_id), turn_id)

        def ended() -> list[Event]:
            session = store.load(session_id)
            active = session.active_turn
            if active and active.turn_id == turn_id:
                if runner.active(session_id):
                    # It has begun this moment: its first event is about to come.
                    return []
                session = store.load(session_id)
            return replay(session, turn_id)

        return streams.turn(query.stream_id, _after_seq(query), ended, query.html)

    @bp.get("/api/chat/stream/status", responses={200: StreamStatus})
    def status(query: StreamIdQuery) -> Any:
        session_id, turn_id = split_stream_id(query.stream_id)
        session, live = store.load(session_id), runner.active(session_id)
        is_active = live is not None and live.turn_id == turn_id
        state = None if is_active or session.has_waiting(turn_id) else session.turn(turn_id).state
        return {
            "active": is_active,
            "stream_id": query.stream_id,
            "session_id": session_id,
            "last_seq": hub.last_seq(query.stream_id),
            "terminal_state": None if state == RUNNING else state,
        }


def _require_turn(session: Session, turn_id: str) -> None:
    """Raises `NotFound` for a turn that the session never had."""
    if not session.has_waiting(turn_id):
        session.turn(turn_id)


def _start(composer: Composer, runner: TurnRunner, body: StartBody) -> Ran | Started:
    if body.regenerate:
        return runner.regenerate(body.session_id, body.message_id, body.client_id, body.expected_revision)
    sending = Sending(_plain(body.message), body.client_id, body.attachments)
    if body.edit is not None:
        return composer.edit(body.session_id, body.edit, sending, body.expected_revision)
    send = composer.send if body.as_text else composer.submit
    may_queue = body.if_busy == "queue"
    return send(body.session_id, sending, may_queue=may_queue, revision=body.expected_revision)


def _plain(message: str | list[Part] | None) -> str | list[dict[str, Any]] | None:
    return [part.model_dump() for part in message] if isinstance(message, list) else message


def _started_json(started: Started) -> dict[str, Any]:
    names = ("stream_id", "session_id", "turn_id", "queued", "position", "title", "revision")
    return {name: getattr(started, name) for name in names}


def _after_seq(query: StreamQuery) -> int:
    """The cursor of a reader: the query, else what a browser sends when it comes back by itself."""
    if query.after_seq is not None:
        return query.after_seq
    return number_of(request.headers.get("Last-Event-ID", ""), query.stream_id) or 0


def split_stream_id(stream_id: str) -> tuple[str, str]:
    """Session and turn of a stream. Raises `NotFound` for what is no stream id."""
    session_id, _, turn_id = stream_id.rpartition(".")
    if not is_session_id(session_id) or not turn_id:
        raise NotFound("There is no such stream.")
    return session_id, turn_id
