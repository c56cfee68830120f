"""Where the turns stand that a lifecycle commits to memory; here for programs that keep no session files."""

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from api.concurrency import new_lock
from api.memory.base import MemoryFailed


@dataclass(frozen=True, slots=True)
class Sealed:
    """A batch that never changes any more: its id, whose work it is, and the call that tells memory of it.

    `turns` are the ids of its turns, where its ledger knows them.
    """

    id: str
    owner: Hashable
    tell: Callable[[], object]
    turns: Sequence[str] = ()


class Ledger(Protocol):
    """Where the turns of sessions stand that count, whose work they are, and what memory was told of them."""

    def register(self, session_id: str, agent: Any) -> None:
        """Let `agent` own the turns that complete from now on. Raises `InvalidRequest` where it cannot."""

    def unregister(self, session_id: str) -> None:
        """Let no agent own the turns to come; those that are counted keep theirs."""

    def with_agents(self) -> Collection[str]:
        """The sessions that have an agent."""

    def count(self, session_id: str, agent: Any) -> int:
        """Count a completed turn of `agent`, by default of the registered one; its generation."""

    def has_uncommitted(self, session_id: str) -> bool: ...

    def newest(self, session_id: str) -> int:
        """The generation of the newest turn; 0 without one."""

    def seal(self, session_id: str, agent: Any, passed: Iterable[Hashable], newest: int) -> Sealed | None:
        """The oldest work that memory was not told, `passed` owners left out; None where there is none.

        What begins after the turn of generation `newest` is no part of it. Work without an owner becomes that
        of `agent`, by default of the registered one.
        """

    def note_told(self, session_id: str, batch: Sealed, result: Any) -> None: ...

    def note_failed(self, session_id: str, batch: Sealed, error: BaseException) -> None: ...

    def waiting(self) -> list[str]:
        """The sessions with work that memory was not told."""

    def discard(self, session_id: str) -> bool:
        """Forget a session of which memory was told everything, in one step; whether it is one."""

    def forget(self, session_id: str) -> None: ...


@dataclass(slots=True)
class _Segment:
    """Completed turns of one owner; a sealed one takes no more."""

    owner: Any
    first: int
    last: int
    is_sealed: bool = False


@dataclass(slots=True)
class _Counted:
    """What a dictionary remembers of a session."""

    generation: int = 0
    segments: list[_Segment] = field(default_factory=list)


class DictLedger:
    """Turns that are counted in this process alone; the owners are the agents themselves."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._agents: dict[str, Any] = {}
        self._sessions: dict[str, _Counted] = {}

    def register(self, session_id: str, agent: Any) -> None:
        with self._lock:
            self._agents[session_id] = agent

    def unregister(self, session_id: str) -> None:
        with self._lock:
            self._agents.pop(session_id, None)

    def with_agents(self) -> list[str]:
        with self._lock:
            return list(self._agents)

    def count(self, session_id: str, agent: Any) -> int:
        with self._lock:
            owner = self._agents.get(session_id) if agent is None else agent
            counted = self._sessions.setdefault(session_id, _Counted())
            counted.generation += 1
            last = counted.segments[-1] if counted.segments else None
            if last and last.owner is owner and not last.is_sealed:
                last.last = counted.generation
            else:
                counted.segments.append(_Segment(owner, counted.generation, counted.generation))
            return counted.generation

    def has_uncommitted(self, session_id: str) -> bool:
        with self._lock:
            counted = self._sessions.get(session_id)
            return bool(counted and counted.segments)

    def newest(self, session_id: str) -> int:
        with self._lock:
            counted = self._sessions.get(session_id)
            return counted.generation if counted else 0

    def seal(self, session_id: str, agent: Any, passed: Iterable[Hashable], newest: int) -> Sealed | None:
        skipped = set(passed)
        with self._lock:
            fallback = self._agents.get(session_id) if agent is None else agent
            counted = self._sessions.get(session_id)
            for segment in counted.segments if counted else ():
                owner = fallback if segment.owner is None else segment.owner
                # Agents need not be hashable: an identity tells them apart.
                if id(owner) not in skipped and segment.first <= newest:
                    segment.owner, segment.is_sealed = owner, owner is not None
                    return Sealed(_name(session_id, segment), id(owner), partial(_commit, owner))
        return None

    def note_told(self, session_id: str, batch: Sealed, result: Any) -> None:
        with self._lock:
            counted = self._sessions.get(session_id)
            if counted:
                # A session of the same name may have begun anew during the commit: its turns are not sealed.
                counted.segments = [
                    segment
                    for segment in counted.segments
                    if not (segment.is_sealed and batch.id == _name(session_id, segment))
                ]

    def note_failed(self, session_id: str, batch: Sealed, error: BaseException) -> None:
        """A sealed segment stays as it is."""

    def waiting(self) -> list[str]:
        with self._lock:
            return [name for name, counted in self._sessions.items() if counted.segments]

    def discard(self, session_id: str) -> bool:
        with self._lock:
            counted = self._sessions.get(session_id)
            if counted and counted.segments:
                return False
            self._drop(session_id)
            return True

    def forget(self, session_id: str) -> None:
        with self._lock:
            self._drop(session_id)

    def _drop(self, session_id: str) -> None:
        self._sessions.pop(session_id, None)
        self._agents.pop(session_id, None)


def _name(session_id: str, segment: _Segment) -> str:
    return f"{session_id}:{segment.first}-{segment.last}"


def _commit(agent: Any) -> None:
    if agent is None:
        raise MemoryFailed("No agent is registered that could commit this work.")
    agent.commit_memory_session()
