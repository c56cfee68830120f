"""Titles made by the model after the first reply: once, in the background, never over a person's own."""

import logging
from collections.abc import Mapping
from typing import Any

from api.agents.base import Agent, RunRequest, Stop
from api.agents.pool import AgentPool
from api.clock import Clock, day_of
from api.concurrency import Workers, new_lock
from api.errors import TalariaError
from api.events import Event
from api.hub import Hub
from api.sessions.content import AUTO_TITLE_LIMIT, clean_title, preview, text_of, title_from
from api.sessions.model import DONE, Message, Session
from api.sessions.store import SessionStore
from api.sessions.usage import note_other
from api.turns.turn import Turn

log = logging.getLogger(__name__)

INSTRUCTION = (
    "Name the conversation that follows in at most six words, in its own language. "
    "Answer with the name alone: no quotes, no full stop, nothing else."
)
# A title says what a conversation is about; its beginning is enough for that.
EXCERPT = 1000
TRIES = 3
LONGEST_REPLY = 400


class TitleMaker:
    """Asks for a title after a first reply, and gives way when anything else needs the model."""

    def __init__(
        self, store: SessionStore, agents: AgentPool, hub: Hub[Turn], clock: Clock, workers: Workers
    ) -> None:
        self._store = store
        self._agents = agents
        self._hub = hub
        self._clock = clock
        self._workers = workers
        self._lock = new_lock()
        self._stops: dict[str, Stop] = {}
        self._is_closed = False

    def consider(self, session: Session) -> None:
        """Begin to make a title where the session still has the first words of its first message."""
        agent = self._agents.get(session.agent)
        if not agent.info().makes_titles or not _wants_title(session):
            return
        stop = Stop()
        with self._lock:
            if self._is_closed or session.session_id in self._stops:
                return
            self._stops[session.session_id] = stop
        try:
            self._workers.spawn(f"title {session.session_id}", lambda: self._make(session, agent, stop))
        except RuntimeError as exc:
            log.warning("no thread for a title: %s", exc)
            self._forget(session.session_id, stop)

    def give_way(self) -> None:
        """End what is being asked: a title may wait for the next reply, a person may not."""
        with self._lock:
            # From here on a session may be asked about again, however long the one that is ended takes.
            stops, self._stops = list(self._stops.values()), {}
        for stop in stops:
            stop.request()

    def close(self) -> None:
        """End what is being asked and ask nothing more."""
        with self._lock:
            self._is_closed = True
        self.give_way()

    def _make(self, session: Session, agent: Agent, stop: Stop) -> None:
        try:
            text, usage = self._ask(session, agent, stop)
            self._keep(session, "" if stop.requested else _title(text), usage)
        except TalariaError as exc:
            log.info("no title for %s: %s", session.session_id, exc)
        finally:
            self._forget(session.session_id, stop)

    def _ask(self, session: Session, agent: Agent, stop: Stop) -> tuple[str, Mapping[str, Any] | None]:
        request = RunRequest(session.session_id, "title", _messages(session), session.model, session.endpoint)
        turn = Turn(session.session_id, "title")
        for event in agent.run(request, stop):
            turn = turn.apply(event)
            if len(turn.text) > LONGEST_REPLY:
                # It talks instead of naming; what it has said is enough to see that.
                stop.request()
        return turn.text, turn.usage

    def _keep(self, asked: Session, title: str, usage: Mapping[str, Any] | None) -> None:
        day = day_of(self._clock.now()).isoformat()
        with self._store.edit(asked.session_id) as session:
            note_other(session, "title", day, usage)
            is_ours = session.title_source == "auto" and session.title == asked.title
            if title and is_ours:
                session.title = title
        if title and is_ours:
            self._hub.publish(asked.session_id, Event("title", {"title": title}))

    def _forget(self, session_id: str, stop: Stop) -> None:
        with self._lock:
            if self._stops.get(session_id) is stop:
                del self._stops[session_id]


def _wants_title(session: Session) -> bool:
    first = _first(session, lambda message: message.is_typed)
    ended = [turn for turn in session.turns if turn.state == DONE and not turn.is_copied]
    if first is None or session.title_source != "auto" or len(ended) > TRIES:
        return False
    return session.title == title_from(first.content)


def _messages(session: Session) -> list[dict[str, str]]:
    first = _first(session, lambda message: message.is_typed)
    reply = _first(session, lambda message: message.role == "assistant" and bool(text_of(message.content)))
    words = [("User", first), ("Assistant", reply)]
    excerpt = "\n\n".join(f"{who}: {preview(text_of(m.content), EXCERPT)}" for who, m in words if m)
    return [{"role": "system", "content": INSTRUCTION}, {"role": "user", "content": excerpt}]


def _first(session: Session, fits: Any) -> Message | None:
    return next((message for message in session.line() if fits(message)), None)


def _title(text: str) -> str:
    """The title in a reply: its first line without decoration; empty where it is none."""
    lines = [line.strip(" \t#*_`\"'“”„«»") for line in text.splitlines()]
    first = next((line for line in lines if line), "")
    first = first.removeprefix("Title:").strip(" *\"'“”").rstrip(".")
    return clean_title(first, AUTO_TITLE_LIMIT) if len(first) <= 2 * AUTO_TITLE_LIMIT else ""
