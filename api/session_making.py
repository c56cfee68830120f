"""New sessions: empty ones, imported ones and copies."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from api.agents.pool import AgentPool
from api.clock import Clock
from api.errors import InvalidRequest
from api.session_memory import SessionMemory
from api.sessions import importing
from api.sessions.content import clean_label, clean_title, title_from
from api.sessions.copying import copy_line, copy_whole
from api.sessions.erasing import Eraser
from api.sessions.model import Session
from api.sessions.store import SessionStore


class SessionMaker:
    """Makes sessions. Each begins as a file of its own; what it is made of does not change."""

    def __init__(
        self,
        store: SessionStore,
        agents: AgentPool,
        clock: Clock,
        eraser: Eraser,
        memory: SessionMemory,
    ) -> None:
        self._memory = memory
        self._store = store
        self._agents = agents
        self._clock = clock
        self._eraser = eraser

    def new(
        self, title: str = "", prev_session_id: str | None = None, temporary: bool = False, **about: str
    ) -> Session:
        """An empty session; `about` names agent, endpoint, model, profile, workspace, personality, project.

        It is a boundary of `prev_session_id`: memory learns from that in the background. Memory stays off in
        a temporary one. Raises `InvalidRequest` for an agent that nobody has.
        """
        if prev_session_id is not None:
            self._store.path(prev_session_id)
        self._agents.check(about.get("agent"), about.get("endpoint"))
        now = self._clock.now()
        session = Session(self._store.new_id(), created_at=now, updated_at=now, **about)  # type: ignore[arg-type]
        session.project = clean_label(session.project)
        session.temporary = session.memory_off = temporary
        if clean_title(title):
            session.title, session.title_source = clean_title(title), "user"
        session = self._store.create(session)
        self._memory.boundary(prev_session_id)
        return session

    def import_messages(self, rows: Sequence[Any], title: str = "", **about: str) -> Session:
        """A session made of a list of messages. Raises `InvalidRequest` that names each bad row."""
        self._agents.check(about.get("agent"), about.get("endpoint"))
        bad = importing.check(rows)
        if bad:
            first = f"Message {bad[0].position}: {bad[0].reason}."
            raise InvalidRequest(first, details={"failed": [asdict(row) for row in bad[:20]]})
        now = self._clock.now()
        session = Session(self._store.new_id(), created_at=now, updated_at=now, **about)  # type: ignore[arg-type]
        session.source = {"kind": "import"}
        importing.fill(session, rows, now)
        typed = next((message for message in session.messages if message.is_typed), None)
        session.title = clean_title(title) or (title_from(typed.content) if typed else "")
        session.title_source = "user" if clean_title(title) else "auto"
        return self._store.create(session)

    def branch(self, session_id: str, message_id: int | None = None, title: str = "") -> Session:
        """A new session with the line up to a message, by default all of it. Raises `InvalidRequest`."""
        source = self._store.load(session_id)
        twin = copy_line(source, self._store.new_id(), message_id, self._clock.now())
        return self._create_copy(source, twin, title, "branch")

    def duplicate(self, session_id: str, message_id: int | None = None, title: str = "") -> Session:
        """A new session with all of this one, variants too, or with the line up to a message."""
        source, new_id, now = self._store.load(session_id), self._store.new_id(), self._clock.now()
        if message_id is None:
            twin = copy_whole(source, new_id, now)
        else:
            twin = copy_line(source, new_id, message_id, now)
        return self._create_copy(source, twin, title, "copy")

    def _create_copy(self, source: Session, twin: Session, title: str, suffix: str) -> Session:
        made = clean_title(f"{source.title} ({suffix})") if source.title else ""
        twin.title = clean_title(title) or made
        twin.title_source = "user" if clean_title(title) else source.title_source
        return self._eraser.catch_up(self._store.create(twin))
