"""The agents of sessions: one each, kept while it is used, the least recently used one let go."""

from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any, Protocol

from api.concurrency import new_lock

LIMIT = 25


class SessionAgent(Protocol):
    """What answers in one session, and commits to memory what was said there.

    `owner` names it across restarts: `<agent>/<endpoint or profile>`.
    """

    @property
    def session_id(self) -> str: ...

    @property
    def owner(self) -> str: ...

    def commit_memory_session(self, entries: Any, *, batch_id: str) -> object: ...

    def close(self) -> None: ...


Make = Callable[[str, str], SessionAgent]


class SessionAgents:
    """At most `limit` agents of sessions; those at work are never let go."""

    def __init__(self, make: Make, limit: int = LIMIT) -> None:
        self._make = make
        self._limit = limit
        self._lock = new_lock()
        self._agents: OrderedDict[str, SessionAgent] = OrderedDict()
        self._at_work: Counter[str] = Counter()

    def begin(self, session_id: str, owner: str) -> tuple[SessionAgent, list[SessionAgent]]:
        """The agent of a session for a turn, at work until `end`, and those that leave now.

        An agent of another owner makes way for a new one.
        """
        with self._lock:
            known = self._agents.get(session_id)
            leaving = []
            if known is None or known.owner != owner:
                leaving = [known] if known else []
                self._agents[session_id] = self._make(session_id, owner)
            self._agents.move_to_end(session_id)
            self._at_work[session_id] += 1
            return self._agents[session_id], leaving + self._surplus()

    def end(self, session_id: str) -> None:
        with self._lock:
            self._at_work -= Counter([session_id])

    def _surplus(self) -> list[SessionAgent]:
        idle = [name for name in self._agents if name not in self._at_work]
        return [self._agents.pop(name) for name in idle[: max(0, len(self._agents) - self._limit)]]

    def for_commit(self, session_id: str, owner: str) -> SessionAgent:
        """The agent that did the work of `owner`; one that is gone is made again for this one call."""
        with self._lock:
            known = self._agents.get(session_id)
        return known if known and known.owner == owner else self._make(session_id, owner)

    def drop(self, session_id: str) -> SessionAgent | None:
        """Let the agent of a session go."""
        with self._lock:
            return self._agents.pop(session_id, None)

    def sessions(self) -> list[str]:
        """The sessions that have an agent."""
        with self._lock:
            return list(self._agents)

    def __len__(self) -> int:
        return len(self._agents)
