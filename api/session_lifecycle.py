"""Counts completed turns of sessions and commits them to memory at boundaries: each once, none lost.

The functions at the end act on the lifecycle of this process: that of its server where one runs, else one
that lives in memory, for programs that bring agents of their own.
"""

import logging
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from api.clock import Clock
from api.commit_ledger import DictLedger, Ledger, Sealed
from api.concurrency import LONGEST_WAIT_S, Crew, Workers, new_flag, new_lock
from api.errors import TalariaError

log = logging.getLogger(__name__)

WAIT_S = 60.0
PROVIDER_LIMIT_S = 60.0
COMMIT_THREADS = 2
# What is refused beyond stays in its ledger, and comes with a later boundary.
WAITING_LIMIT = 32


@dataclass(slots=True, eq=False)
class _Flight:
    """The one commit that is under way in a session."""

    session_id: str
    agent: Any
    takes_all: bool
    is_asked_again: bool = False
    committed: int = 0
    after: list[Callable[[], object]] = field(default_factory=list)
    ended: Any = field(default_factory=new_flag)


class SessionLifecycle:
    """Commits at boundaries: one commit a session at a time, each batch by the owner that did the work.

    Providers are called in two threads of their own. One that takes longer than `limit_s` keeps its thread
    and its batch, and what it says in the end still counts.
    """

    def __init__(
        self,
        ledger: Ledger,
        clock: Clock | None = None,
        workers: Workers | None = None,
        *,
        limit_s: float = PROVIDER_LIMIT_S,
    ) -> None:
        self._ledger = ledger
        self._clock = clock or Clock()
        self._limit_s = limit_s
        monotonic, threads = self._clock.monotonic, workers or Workers()
        self._crew = Crew(threads, "memory commit", COMMIT_THREADS, limit_s, monotonic)
        self._lock = new_lock()
        self._flights: dict[str, _Flight] = {}
        self._committed = 0

    @property
    def is_stuck(self) -> bool:
        """Whether all calls to memory hang, so that nothing new is tried."""
        return self._crew.is_stuck

    @property
    def size(self) -> int:
        """How many sessions it holds something of in memory."""
        with self._lock:
            return len(self._flights.keys() | set(self._ledger.with_agents()))

    def is_committing(self, session_id: str) -> bool:
        """Whether a commit of a session is under way."""
        with self._lock:
            return session_id in self._flights

    @property
    def has_flights(self) -> bool:
        """Whether a commit is under way."""
        with self._lock:
            return bool(self._flights)

    def register_agent(self, session_id: str | None, agent: Any) -> None:
        """Let `agent` own the turns that complete from now on.

        Raises `InvalidRequest` in a server: there the turns are the work of the agents that it runs itself.
        """
        if session_id:
            self._ledger.register(session_id, agent)

    def unregister_agent(self, session_id: str | None) -> None:
        """Let no agent own the turns to come; those that are counted keep theirs."""
        if session_id:
            self._ledger.unregister(session_id)

    def mark_turn_completed(self, session_id: str | None, *, agent: Any = None) -> int:
        """Count a completed turn of `agent`, by default of the registered one; its generation, from 1.

        In a server the edit that stores a turn has counted it: the answer is the generation of the newest.
        """
        return self._ledger.count(session_id, agent) if session_id else 0

    def has_uncommitted_work(self, session_id: str | None) -> bool:
        """Whether memory was not told of some completed turn."""
        return bool(session_id) and self._ledger.has_uncommitted(session_id or "")

    def commit_session_memory(
        self,
        session_id: str | None,
        agent: Any = None,
        *,
        wait: bool = False,
        timeout: float | None = None,
    ) -> bool:
        """Tell memory of the oldest work, by its own agent; `agent` serves only work without one.

        True when memory has taken it. While another commit of the session is under way the answer is False
        at once, or with `wait` after that one, in at most `timeout` seconds (60).
        """
        return self._commit(session_id, agent, wait, timeout, takes_all=False)

    def commit_boundary(
        self,
        session_id: str | None,
        *,
        wait: bool = True,
        timeout: float | None = None,
        after: Callable[[], object] | None = None,
    ) -> bool:
        """Tell memory of all work of a session, oldest first; whether it has taken any.

        An owner whose batch fails is passed over and does not hold up the others'. Without `wait` it goes
        on in the background; one that is under way takes in what is there now. `after` runs once when that
        commit is over, also where none could be begun.
        """
        return self._commit(session_id, None, wait, timeout, takes_all=True, after=after)

    def discard_session(self, session_id: str | None) -> bool:
        """Forget a session with nothing in flight and nothing uncommitted (True); else change nothing."""
        if not session_id:
            return False
        with self._lock:
            return session_id not in self._flights and self._ledger.discard(session_id)

    def drop_session(self, session_id: str | None) -> None:
        """Forget a deleted session, whatever it had left; a commit under way ends by itself."""
        if session_id:
            self._ledger.forget(session_id)

    def drain_all_on_shutdown(self, deadline: float = 30.0) -> None:
        """Tell memory of all that is left, in passes until none gets on or `deadline` seconds are over."""
        end = self._clock.monotonic() + deadline
        while self._drain_once(end) and self._clock.monotonic() < end:
            pass

    def _drain_once(self, end: float) -> bool:
        """One pass over all sessions; whether memory has taken anything."""
        before = self._committed
        names = list(self._ledger.waiting())
        # All of them may wait: behind those that fail or hang others would get no try at all.
        flights = [self._join(name, None, True, len(names))[0] for name in names]
        for flight in flights:
            if flight:
                flight.ended.wait(self._left_s(end))
        return self._committed > before

    def _left_s(self, end: float) -> float:
        return max(0.0, min(end - self._clock.monotonic(), LONGEST_WAIT_S))

    def _commit(
        self,
        session_id: str | None,
        agent: Any,
        wait: bool,
        timeout: float | None,
        *,
        takes_all: bool,
        after: Callable[[], object] | None = None,
    ) -> bool:
        if not session_id:
            return False
        end = self._clock.monotonic() + (WAIT_S if timeout is None else timeout)
        flight, is_ours = self._join(session_id, agent, takes_all, after=after)
        while flight and not is_ours:
            if not wait or not flight.ended.wait(self._left_s(end)):
                return False
            flight, is_ours = self._join(session_id, agent, takes_all)
        if flight is None or (takes_all and not wait):
            return False
        flight.ended.wait(min(self._limit_s, self._left_s(end)))
        return flight.committed > 0

    def _join(
        self,
        session_id: str,
        agent: Any,
        takes_all: bool,
        waiting_limit: int = WAITING_LIMIT,
        after: Callable[[], object] | None = None,
    ) -> tuple[_Flight | None, bool]:
        """Begin a commit, or find the one that is under way; whether it is ours. None: none can be begun.

        One that is under way and is asked for all goes on until nothing is left.
        """
        flight = _Flight(session_id, agent, takes_all, after=[after] if after else [])
        with self._lock:
            under_way = self._flights.get(session_id)
            if under_way is not None:
                under_way.is_asked_again |= takes_all
                under_way.after += flight.after
                return under_way, False
            self._flights[session_id] = flight
        if self._crew.submit(lambda: self._fly(flight), waiting_limit):
            return flight, True
        self._end(flight)
        return None, False

    def _fly(self, flight: _Flight) -> None:
        """Tell memory of one batch, or of all; in a thread of the crew."""
        passed: set[Hashable] = set()
        try:
            self._commit_batches(flight, passed)
            while self._is_asked_again(flight):
                self._commit_batches(flight, passed)
        except TalariaError as exc:
            log.warning("the work of %s stays uncommitted: %s", flight.session_id, exc)
        finally:
            self._end(flight)

    def _commit_batches(self, flight: _Flight, passed: set[Hashable]) -> None:
        # A turn that ends from here on is no part of it.
        newest = self._ledger.newest(flight.session_id)
        while batch := self._ledger.seal(flight.session_id, flight.agent, passed, newest):
            if self._tell(flight.session_id, batch):
                flight.committed += 1
                self._committed += 1
            else:
                passed.add(batch.owner)
            if not flight.takes_all:
                return

    def _is_asked_again(self, flight: _Flight) -> bool:
        """Whether a boundary came meanwhile; else the commit is over, in the same step."""
        with self._lock:
            if not flight.is_asked_again:
                self._flights.pop(flight.session_id, None)
                return False
            flight.takes_all, flight.is_asked_again = True, False
            return True

    def _end(self, flight: _Flight) -> None:
        with self._lock:
            if self._flights.get(flight.session_id) is flight:
                del self._flights[flight.session_id]
        flight.ended.set()
        for follow in flight.after:
            follow()

    def _tell(self, session_id: str, batch: Sealed) -> bool:
        """One call to a provider: whatever happens in it becomes the outcome of the batch."""
        try:
            result = batch.tell()
        except BaseException as exc:
            log.warning("memory did not take %s: %s", batch.id, exc or type(exc).__name__)
            self._ledger.note_failed(session_id, batch, exc)
            return False
        self._ledger.note_told(session_id, batch, result)
        return True


# One for the process: that of its server, or one in memory that is made when it is first asked for.
_installed: list[SessionLifecycle] = []
_own: list[SessionLifecycle] = []
_lock = new_lock()


def install(lifecycle: SessionLifecycle) -> None:
    """Make `lifecycle` the one that the functions below use."""
    _installed[:] = [lifecycle]


def uninstall(lifecycle: SessionLifecycle) -> None:
    """Forget `lifecycle`; does nothing when another has taken its place."""
    if _installed == [lifecycle]:
        _installed.clear()


def _current() -> SessionLifecycle:
    with _lock:
        if _installed:
            return _installed[0]
        if not _own:
            _own.append(SessionLifecycle(DictLedger()))
        return _own[0]


def _reset_for_tests() -> None:
    """Forget everything that this process has counted in memory."""
    with _lock:
        _own.clear()


def register_agent(session_id: str | None, agent: Any) -> None:
    """See `SessionLifecycle.register_agent`."""
    _current().register_agent(session_id, agent)


def unregister_agent(session_id: str | None) -> None:
    """See `SessionLifecycle.unregister_agent`."""
    _current().unregister_agent(session_id)


def mark_turn_completed(session_id: str | None, *, agent: Any = None) -> int:
    """See `SessionLifecycle.mark_turn_completed`."""
    return _current().mark_turn_completed(session_id, agent=agent)


def has_uncommitted_work(session_id: str | None) -> bool:
    """See `SessionLifecycle.has_uncommitted_work`."""
    return _current().has_uncommitted_work(session_id)


def commit_session_memory(
    session_id: str | None, agent: Any = None, *, wait: bool = False, timeout: float | None = None
) -> bool:
    """See `SessionLifecycle.commit_session_memory`."""
    return _current().commit_session_memory(session_id, agent, wait=wait, timeout=timeout)


def discard_session(session_id: str | None) -> bool:
    """See `SessionLifecycle.discard_session`."""
    return _current().discard_session(session_id)


def drain_all_on_shutdown(deadline: float = 30.0) -> None:
    """See `SessionLifecycle.drain_all_on_shutdown`."""
    _current().drain_all_on_shutdown(deadline)
