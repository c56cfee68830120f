"""The turns of session files: a batch is sealed in its file before memory hears of it."""

import logging
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from api.agents.session_agents import SessionAgents
from api.clock import Clock
from api.commit_ledger import Sealed
from api.errors import InvalidRequest, NotFound, TalariaError
from api.memory.base import CommitResult, Entry, MemoryProvider
from api.sessions import segments
from api.sessions.catalog import Catalog
from api.sessions.content import text_of
from api.sessions.model import ERASED, NOTICE, SUMMARY, Session
from api.sessions.outlook import outlook
from api.sessions.segments import Batch, said_in
from api.sessions.store import SessionStore

log = logging.getLogger(__name__)

# Tells readers of a session what memory has done there: the data of a `memory` event.
Tell = Callable[[str, Mapping[str, Any]], None]

_UNTOLD_KINDS = (SUMMARY, NOTICE)


class FileLedger:
    """The turns of session files: each batch is sealed in its file before memory hears of it."""

    def __init__(
        self,
        store: SessionStore,
        catalog: Catalog,
        agents: SessionAgents,
        provider: MemoryProvider,
        clock: Clock,
        tell: Tell,
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._agents = agents
        self._provider = provider
        self._clock = clock
        self._tell = tell
        # Sessions whose boundary came while a turn ran there.
        self.held_up: set[str] = set()

    def register(self, session_id: str, agent: Any) -> None:
        """Raises `InvalidRequest`: the file names the owner of each turn."""
        raise InvalidRequest(
            f"No agent can be registered for {session_id} from outside: "
            "in a server the turns are the work of the agents that it runs itself."
        )

    def unregister(self, session_id: str) -> None:
        """The agent that runs in a session stays: it was not registered here."""

    def with_agents(self) -> Collection[str]:
        return self._agents.sessions()

    def count(self, session_id: str, agent: Any) -> int:
        """The generation of the newest turn: the edit that settles a turn has counted it."""
        return segments.generation(self._store.load(session_id))

    def has_uncommitted(self, session_id: str) -> bool:
        """True also for a file that cannot be read: nobody knows what is left there."""
        try:
            return outlook(self._store.load(session_id)).turns > 0
        except NotFound:
            return False
        except TalariaError:
            return True

    def newest(self, session_id: str) -> int:
        try:
            return segments.generation(self._store.load(session_id))
        except NotFound:
            return 0

    def seal(self, session_id: str, agent: Any, passed: Iterable[Hashable], newest: int) -> Sealed | None:
        """The next batch, sealed in the file. None also while a turn runs and while memory is off.

        All work has an owner here: `agent` serves none of it.
        """
        try:
            with self._store.edit(session_id) as session:
                if session.memory_off:
                    return None
                if session.active_turn:
                    if segments.batches(session) or segments.segments(session, newest):
                        self.held_up.add(session_id)
                    return None
                known = segments.batches(session)
                batch = segments.seal(session, frozenset(map(str, passed)), newest)
        except NotFound:
            return None
        if batch is None:
            return None
        return Sealed(
            batch.id, batch.owner, partial(self._commit, session, batch, batch in known), batch.turns
        )

    def _commit(self, session: Session, batch: Batch, is_repeat: bool) -> CommitResult:
        with self._agents.lend(session.session_id, batch.owner) as agent:
            result = agent.commit_memory_session(entries_of(session, batch.turns), batch_id=batch.id)
        if is_repeat:
            # It may have been taken before, and withdrawn when its session was deleted.
            self._provider.on_turns_restored(session.session_id, batch.turns)
        return result if isinstance(result, CommitResult) else CommitResult()

    def note_told(self, session_id: str, batch: Sealed, result: Any) -> None:
        try:
            with self._store.edit(session_id) as session:
                is_wanted = segments.note_told(session, batch.id, self._clock.now())
                if not is_wanted:
                    # Given up during its commit: nothing of that batch stays.
                    segments.give_up(session, batch.turns)
                for message in erased_in(session, batch.turns):
                    # Its words went while memory was told of them.
                    segments.ask_to_erase(session, message)
        except NotFound:
            # Deleted during its commit.
            self._provider.on_turns_undone(session_id, batch.turns)
            return
        if not is_wanted:
            return
        facts = [fact.id for fact in result.facts]
        committed = {"batch_id": batch.id, "turns": list(batch.turns), "facts": facts}
        self._tell(session_id, {"committed": committed})

    def note_failed(self, session_id: str, batch: Sealed, error: BaseException) -> None:
        reason = str(error) if isinstance(error, TalariaError) else "The memory provider failed; see the log."
        if not isinstance(error, TalariaError):
            log.error("memory: %s failed", batch.id, exc_info=error)
        try:
            with self._store.edit(session_id) as session:
                segments.note_failed(session, batch.id, reason, self._clock.now())
        except NotFound:
            return
        self._tell(session_id, {"failed": {"batch_id": batch.id, "reason": reason}})

    def waiting(self) -> list[str]:
        return [session_id for session_id, outlook in self._catalog.for_memory().items() if outlook.turns]

    def discard(self, session_id: str) -> bool:
        """Whether nothing is left to tell: there is nothing here to forget."""
        return not self.has_uncommitted(session_id)

    def forget(self, session_id: str) -> None:
        """The file goes by itself."""


def erased_in(session: Session, turn_ids: Sequence[str]) -> list[int]:
    """The messages of these turns whose words were erased."""
    return [
        message.id for turn in turn_ids for message in said_in(session, turn) if message.content == ERASED
    ]


def entries_of(session: Session, turn_ids: Sequence[str]) -> list[Entry]:
    """The messages of these turns as memory is told them, whether they are on the line or not."""
    return [entry for turn_id in turn_ids for entry in _entries(session, turn_id)]


def _entries(session: Session, turn_id: str) -> list[Entry]:
    return [
        Entry(turn_id, message.id, message.role, text_of(message.content), message.extra)
        for message in said_in(session, turn_id)
        if message.kind not in _UNTOLD_KINDS
    ]
