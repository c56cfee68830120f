"""Every change of a session that is no turn, and what a session says about itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from api.agents.pool import AgentPool
from api.clock import Clock
from api.errors import InvalidRequest, NotFound, NothingToRetry, NothingToUndo, TalariaError
from api.session_memory import SessionMemory
from api.sessions import tree
from api.sessions.content import clean_label, clean_title, preview, text_of
from api.sessions.drafts import Drafts
from api.sessions.erasing import Eraser, Place
from api.sessions.model import Message, QueueItem, Session
from api.sessions.rows import row_of
from api.sessions.store import SessionStore, Trashed
from api.sessions.usage import by_model, context_tokens, spent
from api.turns.runner import TurnRunner


@dataclass(frozen=True, slots=True)
class Undone:
    """What an undo took: messages and turns by number, and the words of the first message it took."""

    removed_count: int
    undone_turns: int
    message: Message
    revision: int

    @property
    def text(self) -> str:
        return text_of(self.message.content)

    @property
    def preview(self) -> str:
        return preview(self.text)

    def as_undo(self) -> dict[str, Any]:
        """The answer to an undo."""
        return {
            "removed_count": self.removed_count,
            "removed_preview": self.preview,
            "removed_text": self.text,
            "undone_turns": self.undone_turns,
            "revision": self.revision,
        }

    def as_retry(self) -> dict[str, Any]:
        """The answer to a retry of the two-step kind: what its caller sends again."""
        return {
            "last_user_text": self.text,
            "removed_count": self.removed_count,
            "content": self.message.content,
            "attachments": list(self.message.extra.get("attachments") or ()),
            "revision": self.revision,
        }


class SessionOps:
    """Renames, undoes, restores … sessions: each method is one edit or one read."""

    def __init__(
        self,
        store: SessionStore,
        runner: TurnRunner,
        agents: AgentPool,
        clock: Clock,
        eraser: Eraser,
        drafts: Drafts,
        memory: SessionMemory,
    ) -> None:
        self._store = store
        self._memory = memory
        self._drafts = drafts
        self._eraser = eraser
        self._runner = runner
        self._agents = agents
        self._clock = clock

    def erase(
        self, session_id: str, message_id: int, revision: int | None = None
    ) -> tuple[Session, list[Place]]:
        """Take the words of a message out of its session and all its copies; where copies lay.

        Raises `Busy`, `NotFound`. After a failure half-way the same call does the rest.
        """
        with self._store.edit(session_id, revision) as session:
            self._runner.require_idle(session)
            self._eraser.begin(session, message_id)
        copies = self._eraser.spread(session_id, message_id)
        self._runner.forget({session_id, *(name for name, _ in copies)})
        for name, _ in copies:
            self._memory.erased(name)
        return self._eraser.finish(session, message_id), copies

    def rename(self, session_id: str, title: str, revision: int | None = None) -> Session:
        """Give a title; an empty one lets the next message make it again."""
        with self._store.edit(session_id, revision) as session:
            session.title = clean_title(title)
            session.title_source = "user" if session.title else "auto"
        return session

    def update(
        self, session_id: str, changes: Mapping[str, str | None], revision: int | None = None
    ) -> Session:
        """Set agent, endpoint, model, workspace, personality or system prompt; None means the default.

        A turn that runs goes on as it began. Raises `InvalidRequest` where there is no such agent or
        endpoint; another agent begins with its own endpoint and model.
        """
        with self._store.edit(session_id, revision) as session:
            if "agent" in changes and changes["agent"] != session.agent:
                session.endpoint = session.model = None
            for name, value in changes.items():
                setattr(session, name, value or None)
            if changes.keys() & {"agent", "endpoint", "model"}:
                self._agents.check(session.agent, session.endpoint)
        if changes.keys() & {"agent", "endpoint"}:
            self._memory.boundary(session_id)
        return session

    def keep_from_memory(self, session_id: str, is_off: bool, revision: int | None = None) -> Session:
        """Switch memory off or on for a chat; turns that run while it is off are not learned from."""
        with self._store.edit(session_id, revision) as session:
            if session.temporary and not is_off:
                raise InvalidRequest("A temporary chat is never remembered.")
            session.memory_off = is_off
        return session

    def close(self, session_id: str) -> bool:
        """Somebody has left this chat: memory learns from it, and a temporary one is gone for ever (True)."""
        if not self._store.load(session_id).temporary:
            self._memory.boundary(session_id)
            return False
        self._runner.delete(session_id)
        self._store.purge(session_id=session_id)
        return True

    def mark(self, session_id: str, revision: int | None = None, **flags: bool) -> Session:
        """Set `pinned` or `archived`."""
        with self._store.edit(session_id, revision) as session:
            for name, value in flags.items():
                setattr(session, name, value)
        return session

    def move(self, session_id: str, project: str | None, revision: int | None = None) -> Session:
        """Put a chat into a project; None or a blank name takes it out."""
        with self._store.edit(session_id, revision) as session:
            session.project = clean_label(project)
        return session

    def tag(self, session_id: str, tags: Sequence[str], revision: int | None = None) -> Session:
        """Give a chat these tags and no others, blank ones and repeats left out."""
        with self._store.edit(session_id, revision) as session:
            session.tags = [tag for tag in dict.fromkeys(map(clean_label, tags)) if tag]
        return session

    def draft(
        self, session_id: str, text: str, attachments: Sequence[Any] = (), version: int | None = None
    ) -> Session:
        """Keep what somebody types; the session itself does not change. Raises `StaleRevision`."""
        self._drafts.save(session_id, text, attachments, version)
        return self._store.load(session_id)

    def see(self, session_id: str, message_id: int) -> Session:
        """Remember how far a person has read."""
        with self._store.edit(session_id) as session:
            session.message(message_id)
            session.seen = max(session.seen, message_id)
        return session

    def undo(self, session_id: str, count: int = 1, revision: int | None = None) -> Undone:
        """Take the last turns from the conversation. Raises `Busy`, `NothingToUndo`."""
        with self._store.edit(session_id, revision) as session:
            self._runner.require_idle(session)
            removed = tree.undo(session, count)
            session.updated_at = self._clock.now()
        return Undone(len(removed.messages), removed.turns, removed.messages[0], session.revision)

    def take_back_for_retry(self, session_id: str, revision: int | None = None) -> Undone:
        """An undo of one turn that hands its message back, for clients that send it again themselves."""
        try:
            return self.undo(session_id, 1, revision)
        except NothingToUndo:
            raise NothingToRetry() from None

    def redo(
        self, session_id: str, count: int = 1, revision: int | None = None
    ) -> tuple[Session, list[Message]]:
        """Bring undone turns back; the restored messages. Raises `Busy`, `NothingToRedo`."""
        with self._store.edit(session_id, revision) as session:
            self._runner.require_idle(session)
            restored = tree.redo(session, count)
            session.updated_at = self._clock.now()
        return session, restored

    def truncate(
        self, session_id: str, message_id: int | None, revision: int | None = None
    ) -> tuple[Session, int]:
        """Take what follows a message, or with None everything; how many messages left. Raises `Busy`."""
        with self._store.edit(session_id, revision) as session:
            self._runner.require_idle(session)
            removed = tree.truncate(session, message_id)
            session.updated_at = self._clock.now()
        return session, removed

    def select(self, session_id: str, message_id: int, revision: int | None = None) -> Session:
        """Show another variant of a message. Raises `Busy`, `InvalidRequest`."""
        with self._store.edit(session_id, revision) as session:
            self._runner.require_idle(session)
            tree.select(session, message_id)
        return session

    def unqueue(self, session_id: str, turn_id: str, revision: int | None = None) -> Session:
        """Take a waiting text back. Raises `NotFound` for one that does not wait (any more)."""
        with self._store.edit(session_id, revision) as session:
            session.queue.remove(_waiting(session, turn_id))
        return session

    def move_in_queue(
        self, session_id: str, turn_id: str, position: int, revision: int | None = None
    ) -> Session:
        """Put a waiting text at `position`, counted from 1; beyond the end is the end. Raises `NotFound`."""
        with self._store.edit(session_id, revision) as session:
            item = _waiting(session, turn_id)
            session.queue.remove(item)
            session.queue.insert(position - 1, item)
        return session

    def restore(self, session_id: str) -> Session:
        """Bring a deleted session back. Raises `NotFound`, `Conflict`."""
        return self._store.restore(session_id)

    def trash(self, limit: int) -> list[dict[str, Any]]:
        """The sessions that were deleted last, with their titles; `damaged` ones cannot be read."""
        newest = self._store.trashed()[: -limit - 1 : -1]
        return [
            {"session_id": entry.session_id, "deleted_at": entry.deleted_at} | self._told_of(entry)
            for entry in newest
        ]

    def _told_of(self, entry: Trashed) -> dict[str, Any]:
        try:
            row = row_of(self._store.load_trashed(entry))
        except TalariaError:
            return {"title": "", "message_count": 0, "damaged": True}
        return {"title": row.title, "message_count": row.message_count, "damaged": False}

    def purge(self, session_id: str | None) -> int:
        """Remove deleted sessions for ever, one or all; how many. What memory shall forget waits for it."""
        if session_id is not None:
            self._store.path(session_id)
        return self._store.purge(session_id=session_id, keeps=self._memory.has_to_forget)

    def usage(self, session_id: str) -> dict[str, Any]:
        """What the conversation has spent; None where no provider gave numbers. Undo never lowers it."""
        session = self._store.load(session_id)
        info = self._agents.get(session.agent).info()
        return spent(session) | {
            "model": info.model(session.endpoint, session.model),
            "context_tokens": context_tokens(session),
            "context_limit": info.context_limit(session.endpoint, session.model),
            "by_model": by_model(session),
        }

    def status(self, session_id: str) -> dict[str, Any]:
        """What `/status` shows: names, counts, whether a turn runs, and the tokens spent so far."""
        session = self._store.load(session_id)
        live = self._runner.active(session_id)
        info = self._agents.get(session.agent).info()
        tokens = spent(session)
        return {
            "session_id": session.session_id,
            "title": session.title,
            "model": info.model(session.endpoint, session.model),
            "agent": info.name,
            "profile": session.profile,
            "workspace": session.workspace,
            "personality": session.personality,
            "message_count": len(session.shown()),
            "created_at": session.created_at,
            "updated_at": session.updated_at,
            "agent_running": live is not None,
            "active_stream_id": live.turn.stream_id if live else None,
            "queued": len(session.queue),
            "input_tokens": tokens["input_tokens"],
            "output_tokens": tokens["output_tokens"],
            "total_tokens": tokens["total_tokens"],
            "estimated_cost": tokens["estimated_cost"],
            "context_tokens": context_tokens(session),
            "context_limit": info.context_limit(session.endpoint, session.model),
            "memory": self._memory.status_of(session),
        }


def _waiting(session: Session, turn_id: str) -> QueueItem:
    """The waiting text of this turn id or client id."""
    for item in session.queue:
        if turn_id in (item.turn_id, item.client_id):
            return item
    raise NotFound("This text does not wait any more.")


def parse_count(text: str, what: str) -> int:
    """The number after a command such as `/undo 2`; 1 where there is none. Raises `InvalidRequest`."""
    if not text:
        return 1
    if not (text.isascii() and text.isdigit()) or not 1 <= int(text[:6]) <= 10_000:
        raise InvalidRequest(f"{what} takes a number of turns, such as {what} 2.")
    return int(text)


# Shells that vendor this backend call these by name; they act on the server of this process.
_installed: list[SessionOps] = []


def install(ops: SessionOps) -> None:
    """Make `ops` the ones that the functions below use."""
    _installed[:] = [ops]


def uninstall(ops: SessionOps) -> None:
    """Forget `ops`; does nothing when others have taken their place."""
    if _installed == [ops]:
        _installed.clear()


def _ops() -> SessionOps:
    if not _installed:
        raise RuntimeError("There is no server in this process.")
    return _installed[0]


def retry_last(session_id: str) -> dict[str, Any]:
    """Take the last turn back and hand out its text. `KeyError`: unknown, `ValueError`: nothing, busy."""
    return _ops().take_back_for_retry(session_id).as_retry()


def undo_last(session_id: str, count: int = 1) -> dict[str, Any]:
    """Take the last turns back. `KeyError`: unknown session, `ValueError`: nothing to undo, busy."""
    return _ops().undo(session_id, count).as_undo()


def session_status(session_id: str) -> dict[str, Any]:
    """What the session is doing. `KeyError`: unknown session."""
    return _ops().status(session_id)


def session_usage(session_id: str) -> dict[str, Any]:
    """What the session has spent. `KeyError`: unknown session."""
    return _ops().usage(session_id)
