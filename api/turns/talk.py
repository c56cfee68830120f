"""One turn's question to its agent: the request, and what comes back, into the turn."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from api.agents.base import Agent, RunRequest
from api.errors import AgentError
from api.events import Event, notice
from api.memory.base import Fact, told
from api.session_memory import SessionMemory
from api.sessions.model import COMPRESS, NOTICE, Session
from api.text import clean_json
from api.turns import context, prompt
from api.turns.attached import Read, resolve
from api.turns.live import LiveTurn
from api.turns.memory_tools import MemoryTools

LEFT_OUT = notice(
    "The oldest messages no longer fit the model and are left out of what it is sent. /compress sums them up."
)


def talk(session: Session, agent: Agent, live: LiveTurn, read: Read, memory: SessionMemory) -> None:
    """Ask the agent and take its answer; `read` gives the bytes of attached files.

    Raises `AgentError`, `StorageFailed`.
    """
    record = session.turn(live.turn_id)
    is_summary = record.kind == COMPRESS
    info = agent.info()
    request = RunRequest(live.session_id, live.turn_id, (), session.model, session.endpoint)
    tools = None
    if is_summary:
        whole = prompt.summary_messages(session, record)
    else:
        facts = _recall(session, live, memory)
        whole = prompt.request_messages(session, facts)
        tools = MemoryTools(memory, session, live.turn_id) if info.takes_tools else None
        request = replace(request, known=prompt.known(facts), tools=tools.offered if tools else ())
    whole = resolve(whole, read, info.vision(session.endpoint, session.model))
    messages = context.fit(whole, info.context_limit(session.endpoint, session.model))
    if len(messages) < len(whole):
        _tell_left_out(session, live)
    try:
        _ask(agent, live, replace(request, messages=messages), tools)
    except AgentError as exc:
        shorter = context.newer_half(messages)
        if exc.type != "context_exceeded" or shorter is None or not live.turn.is_empty:
            raise
        _tell_left_out(session, live)
        _ask(agent, live, replace(request, messages=shorter), tools)
    if is_summary and not live.stop.requested and not live.turn.text.strip():
        raise AgentError("The model gave no summary; nothing was changed.", type="no_response")


def _recall(session: Session, live: LiveTurn, memory: SessionMemory) -> Sequence[Fact]:
    facts = memory.recall(session)
    if facts:
        live.take(told(recalled=facts))
    return facts


def _ask(agent: Agent, live: LiveTurn, request: RunRequest, tools: MemoryTools | None) -> None:
    for event in _clean(agent.run(request, live.stop)):
        live.take(event)
        for news in tools.news() if tools else ():
            live.take(news)


def _clean(events: Iterator[Event]) -> Iterator[Event]:
    for event in events:
        yield replace(event, data=clean_json(event.data))


def _tell_left_out(session: Session, live: LiveTurn) -> None:
    """Say it once a conversation: the notice stays on its line."""
    said = {message.content for message in session.line() if message.kind == NOTICE}
    if LEFT_OUT.data["text"] not in said | set(live.turn.notices):
        live.take(LEFT_OUT)
