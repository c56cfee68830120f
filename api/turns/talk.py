"""One turn's question to its agent: the request, and what comes back, into the turn."""

from collections.abc import Iterator
from dataclasses import replace

from api.agents.base import Agent, RunRequest
from api.errors import AgentError
from api.events import Event, notice
from api.sessions.model import COMPRESS, NOTICE, Session
from api.text import clean_json
from api.turns import context, prompt
from api.turns.attached import Read, resolve
from api.turns.context import Messages
from api.turns.live import LiveTurn

LEFT_OUT = notice(
    "The oldest messages no longer fit the model and are left out of what it is sent. /compress sums them up."
)


def talk(session: Session, agent: Agent, live: LiveTurn, read: Read) -> None:
    """Ask the agent and take its answer; `read` gives the bytes of attached files.

    Raises `AgentError`, `StorageFailed`.
    """
    record = session.turn(live.turn_id)
    is_summary = record.kind == COMPRESS
    whole = prompt.summary_messages(session, record) if is_summary else prompt.request_messages(session)
    info = agent.info()
    whole = resolve(whole, read, info.vision(session.endpoint, session.model))
    messages = context.fit(whole, info.context_limit(session.endpoint, session.model))
    if len(messages) < len(whole):
        _tell_left_out(session, live)
    try:
        _ask(session, agent, live, messages)
    except AgentError as exc:
        shorter = context.newer_half(messages)
        if exc.type != "context_exceeded" or shorter is None or not live.turn.is_empty:
            raise
        _tell_left_out(session, live)
        _ask(session, agent, live, shorter)
    if is_summary and not live.stop.requested and not live.turn.text.strip():
        raise AgentError("The model gave no summary; nothing was changed.", type="no_response")


def _ask(session: Session, agent: Agent, live: LiveTurn, messages: Messages) -> None:
    request = RunRequest(live.session_id, live.turn_id, messages, session.model, session.endpoint)
    for event in _clean(agent.run(request, live.stop)):
        live.take(event)


def _clean(events: Iterator[Event]) -> Iterator[Event]:
    for event in events:
        yield replace(event, data=clean_json(event.data))


def _tell_left_out(session: Session, live: LiveTurn) -> None:
    """Say it once a conversation: the notice stays on its line."""
    said = {message.content for message in session.line() if message.kind == NOTICE}
    if LEFT_OUT.data["text"] not in said | set(live.turn.notices):
        live.take(LEFT_OUT)
