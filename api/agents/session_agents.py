"""The agents of sessions: one each, kept while it is used, the least recently used one let go."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
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


@dataclass(slots=True, eq=False)
class Held:
    """An agent, and how many use it now: the turn that runs, commits, a boundary that it waits for."""

    agent: SessionAgent
    users: int = 1
    is_leaving: bool = False


class SessionAgents:
    """At most `limit` agents of sessions; those in use stay. One that leaves is closed after its last use.

    `close` is called with each that is closed; it must not raise or take long.
    """

    def __init__(self, make: Make, close: Callable[[SessionAgent], object], limit: int = LIMIT) -> None:
        self._make = make
        self._close = close
        self._limit = limit
        self._lock = new_lock()
        self._agents: OrderedDict[str, Held] = OrderedDict()
        self._leaving: list[Held] = []

    def begin(self, session_id: str, owner: str) -> tuple[Held, list[Held]]:
        """The agent of a session for a turn, and those that leave now: each must be given back.

        An agent of another owner makes way for a new one.
        """
        with self._lock:
            known = self._agents.get(session_id)
            gone = []
            if known is None or known.agent.owner != owner:
                gone = [self._dismiss(session_id)] if known else []
                self._agents[session_id] = Held(self._make(session_id, owner), users=0)
            self._agents.move_to_end(session_id)
            held = self._agents[session_id]
            held.users += 1
            return held, gone + self._surplus()

    def _surplus(self) -> list[Held]:
        idle = [name for name, held in self._agents.items() if held.users == 0]
        return [self._dismiss(name) for name in idle[: max(0, len(self._agents) - self._limit)]]

    def _dismiss(self, session_id: str) -> Held:
        held = self._agents.pop(session_id)
        held.users += 1
        held.is_leaving = True
        self._leaving.append(held)
        return held

    def give_back(self, held: Held) -> None:
        """End one use."""
        with self._lock:
            held.users -= 1
            is_over = held.is_leaving and held.users == 0
            if is_over:
                self._leaving.remove(held)
        if is_over:
            self._close(held.agent)

    @contextmanager
    def lend(self, session_id: str, owner: str) -> Iterator[SessionAgent]:
        """The agent that did the work of `owner`; one that is gone is made again for this one use."""
        with self._lock:
            known = [self._agents[session_id]] if session_id in self._agents else []
            theirs = (held for held in [*known, *self._leaving] if _is_of(held.agent, session_id, owner))
            held = next(theirs, None)
            if held is None:
                held = Held(self._make(session_id, owner), users=0, is_leaving=True)
                self._leaving.append(held)
            held.users += 1
        try:
            yield held.agent
        finally:
            self.give_back(held)

    def drop(self, session_id: str) -> None:
        """Let the agent of a session go."""
        with self._lock:
            held = self._dismiss(session_id) if session_id in self._agents else None
        if held:
            self.give_back(held)

    def sessions(self) -> list[str]:
        """The sessions that have an agent."""
        with self._lock:
            return list(self._agents)

    def __len__(self) -> int:
        return len(self._agents)


def _is_of(agent: SessionAgent, session_id: str, owner: str) -> bool:
    return (agent.session_id, agent.owner) == (session_id, owner)
