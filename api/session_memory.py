"""Memory of the sessions of a server: what memory is told follows from their files, at every boundary."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any

from api.agents import asking
from api.agents.base import Agent, RunRequest, Stop
from api.agents.pool import AgentPool
from api.agents.session_agents import Held, SessionAgent, SessionAgents
from api.clock import Clock, day_of
from api.concurrency import Crew, Workers, new_flag, new_lock
from api.errors import InvalidRequest, NotFound, TalariaError
from api.file_ledger import FileLedger, Tell, entries_of
from api.memory.base import (
    RECALL_LIMIT,
    Ask,
    Fact,
    Health,
    MemoryFailed,
    MemoryProvider,
    MemoryTool,
    Source,
)
from api.memory.forgetting import forget
from api.memory.none import IS_OFF
from api.memory.provider_agent import ProviderAgent
from api.reconciler import Reconciler
from api.session_lifecycle import SessionLifecycle
from api.sessions import segments
from api.sessions.catalog import Catalog
from api.sessions.content import text_of
from api.sessions.model import CHAT, DONE, Session
from api.sessions.outlook import Outlook, outlook
from api.sessions.store import SessionStore, Stamp
from api.sessions.usage import note_other

log = logging.getLogger(__name__)

RECALL_S = 2.0
RECALL_THREADS = 2
CALL_S = 10.0
HANGS = "The memory provider does not answer."


class SessionMemory:
    """What the rooms above ask of memory, and the steps that keep memory in step with the files."""

    def __init__(
        self,
        store: SessionStore,
        catalog: Catalog,
        pool: AgentPool,
        provider: MemoryProvider,
        clock: Clock,
        workers: Workers,
        tell: Tell,
        idle_s: float,
    ) -> None:
        self.provider = provider
        self._store = store
        self._catalog = catalog
        self._pool = pool
        self._clock = clock
        self._idle_s = idle_s
        self._started_at = clock.now()
        self._lock = new_lock()
        self._asked: set[Stop] = set()
        self._last_commit_at: float | None = None
        self.agents = SessionAgents(self._make_agent, self._close)
        self._ledger = FileLedger(store, catalog, self.agents, provider, clock, tell)
        self.lifecycle = SessionLifecycle(self._ledger, clock, workers)
        self._recalls = Crew(workers, "memory recall", RECALL_THREADS, RECALL_S, clock.monotonic)
        self._calls = Crew(workers, "memory", RECALL_THREADS, CALL_S, clock.monotonic)
        self._reconciler = Reconciler(store, provider, self._calls, clock)
        store.on_saved(self._follow)

    @property
    def is_on(self) -> bool:
        """Whether anything is remembered at all."""
        return self.provider.remembers

    # For turns.

    @contextmanager
    def at_work(self, session: Session) -> Iterator[None]:
        """Keep the agent of a session while a turn runs there; one that leaves for it commits first."""
        held, leaving = self.agents.begin(session.session_id, self.owner(session))
        for other in leaving:
            self._let_go(other)
        try:
            yield
        finally:
            self.agents.give_back(held)

    def mark(self, session: Session, turn_id: str) -> None:
        """Inside the edit that settles a turn: a completed one counts, where memory is on."""
        record = session.turn(turn_id)
        is_heard = self.is_on and not session.memory_off and not segments.is_unheard(record)
        if is_heard and record.kind == CHAT and record.state == DONE:
            segments.mark(session, turn_id, record.owner or self.owner(session))

    def completed(self, session: Session, turn_id: str) -> None:
        """After a turn that counts was saved: let the provider take note of it."""
        if session.turn(turn_id).generation is not None:
            entries = entries_of(session, [turn_id])
            self._calls.submit(partial(self.provider.sync_turn, session.session_id, turn_id, entries))

    def recall(self, session: Session) -> Sequence[Fact]:
        """The facts that help with the last message of a session; none where they take too long to find."""
        typed = session.last_typed()
        query = text_of(typed.content) if typed else ""
        if not self.is_on or session.memory_off or not query.strip():
            return ()
        found: list[Fact] = []
        has_ended = new_flag()

        def search() -> None:
            try:
                found.extend(self.provider.recall(query, session.session_id, RECALL_LIMIT))
            except TalariaError as exc:
                log.warning("nothing was recalled for %s: %s", session.session_id, exc)
            finally:
                has_ended.set()

        if self._recalls.submit(search) and has_ended.wait(RECALL_S):
            return found
        log.warning("memory was not asked in time for %s; it answers without", session.session_id)
        return ()

    def tools(self, session: Session) -> Sequence[MemoryTool]:
        """What the model of a session may call."""
        return self.provider.tools() if self.is_on and not session.memory_off else ()

    def check_on(self, session_id: str) -> None:
        """Raises `InvalidRequest` where memory is off by now, `NotFound` where the chat is gone."""
        self._require_on(self._store.load(session_id))

    # Boundaries.

    def boundary(self, session_id: str | None) -> None:
        """Commit all work of a session in the background; after its turn where one runs."""
        if self.is_on:
            self.lifecycle.commit_boundary(session_id, wait=False)

    def learn(self, session_id: str) -> int:
        """Let the turns of the line count that do not: imported and copied ones, and those with memory off.

        How many they are.

        Raises `NotFound`, `InvalidRequest` where memory is off.
        """
        self._require_on()
        with self._store.edit(session_id) as session:
            self._require_on(session)
            segments.adopt(session)
            chosen = segments.uncounted(session)
            for turn_id in chosen:
                segments.mark(session, turn_id, self.owner(session))
        self.boundary(session_id)
        return len(chosen)

    def commit(self, session_id: str) -> int:
        """Commit now, in the background; how many turns there are to tell. Raises as `learn` does."""
        session = self._store.load(session_id)
        self._require_on(session)
        self.boundary(session_id)
        return outlook(session).turns

    def drop_batch(self, session_id: str, batch_id: str) -> None:
        """Give up a sealed batch, so that its turns never reach memory. Raises `NotFound`."""
        with self._store.edit(session_id) as session:
            if not segments.drop(session, batch_id):
                raise NotFound("This chat has no such batch waiting.")

    def deleting(self, session: Session, forget: bool) -> None:
        """Inside the step that moves a session to the trash: `forget` stands in its file until it is done."""
        segments.ask_to_forget(session, forget)

    def deleted(self, session_id: str, forget: bool) -> None:
        """After a session was moved to the trash."""
        self.lifecycle.drop_session(session_id)
        self.agents.drop(session_id)
        if forget and self.is_on:
            self._reconciler.forget(session_id)

    def has_to_forget(self, session: Session) -> bool:
        """Whether a deleted session holds a wish that memory has not done yet."""
        return self.is_on and segments.has_wish(session)

    def erased(self, session_id: str) -> None:
        """After words were erased in a session, which notes them: keep nothing of them, in the trash too."""
        if self.is_on:
            self._reconciler.forget(session_id)

    def source(self, session_id: str, message_id: int | None) -> Source:
        """A place that a fact can name. Raises `NotFound`."""
        session = self._store.load(session_id)
        turn_id = session.message(message_id).turn if message_id is not None else None
        return Source(session_id, turn_id, message_id)

    def forget(self, text: str) -> Sequence[Fact]:
        """Delete the facts that say `text`, or the one with all its words; which they were.

        Raises `InvalidRequest` that names them where several have those words.
        """
        return forget(self.provider, text)

    # Steps of the process.

    def recover(self) -> None:
        """After a start: repeat every sealed batch, and bring memory in step with the lines."""
        for session_id, ahead in self._for_memory().items():
            if ahead.is_out_of_step:
                self._reconciler.soon(session_id)
            if ahead.retry_at is not None:
                self.boundary(session_id)
        if self.is_on:
            self._reconciler.recover()

    def step(self) -> None:
        """Commit what has been idle for long enough, and repeat what has failed and may be tried again."""
        now = self._clock.now()
        self._reconciler.step()
        may_reconcile = self._reconciler.may_try
        for session_id, ahead in self._for_memory().items():
            if session_id in self._ledger.held_up or self.lifecycle.is_committing(session_id):
                continue
            if ahead.is_out_of_step and may_reconcile:
                self._reconciler.soon(session_id)
            is_due = ahead.retry_at is not None and ahead.retry_at <= now
            is_idle = now - max(ahead.since, self._started_at) >= self._idle_s
            if ahead.turns and (is_due or (ahead.retry_at is None and is_idle)):
                self.boundary(session_id)

    def drain(self, deadline_s: float) -> None:
        """At the end of the process: commit what is left; what is not done in time stays in the files."""
        if self.is_on:
            self.lifecycle.drain_all_on_shutdown(deadline_s)
        with self._lock:
            asked = list(self._asked)
        for stop in asked:
            stop.request()
        for session_id in self.agents.sessions():
            self.agents.drop(session_id)
        self._calls.submit(self.provider.close)

    # What memory says of itself.

    def status(self) -> dict[str, Any]:
        """The provider, how it is, and which sessions hold what it was not told yet."""
        health = self._condition()
        uncommitted = [
            {
                "session_id": name,
                "turns": ahead.turns,
                "since": ahead.since,
                "last_error": ahead.error,
                "batches": ahead.batches,
            }
            for name, ahead in self._for_memory().items()
            if ahead.turns
        ]
        return {
            "provider": self.provider.name,
            "healthy": health.is_healthy,
            "reason": health.reason,
            "facts": health.facts,
            "uncommitted": uncommitted,
            "last_commit_at": max(filter(None, (health.last_commit_at, self._last_commit_at)), default=None),
        }

    def health(self) -> dict[str, Any]:
        """Whether the provider works, and how many sessions are held in memory."""
        healthy = self._condition().is_healthy
        return {"provider": self.provider.name, "healthy": healthy, "lifecycle": self.lifecycle.size}

    def status_of(self, session: Session) -> dict[str, Any]:
        """The same for one session; `uncounted_turns` are those that memory is never told unless asked to."""
        health, ahead = self._condition(), outlook(session)
        return {
            "provider": self.provider.name,
            "healthy": health.is_healthy,
            "reason": health.reason,
            "facts": health.facts,
            "off": session.memory_off,
            "uncommitted_turns": ahead.turns,
            "uncounted_turns": len(segments.uncounted(session)) if self.is_on else 0,
            "batches": ahead.batches,
            "last_commit_at": session.memory.get("last_commit_at"),
            "last_error": session.memory.get("last_error"),
        }

    def facts_of(self, session_id: str) -> dict[str, Any]:
        """Which facts the turns of a session were given and have taught, by id, and those facts.

        Raises `NotFound`. A fact that the provider does not know by its id is named all the same.
        """
        session = self._store.load(session_id)
        given = {turn.id: [str(name) for name in turn.recalled] for turn in session.turns if turn.recalled}
        learned = self.provider.learned_in(session_id)
        turns = {
            turn_id: {"recalled": given.get(turn_id, []), "learned": list(learned.get(turn_id, ()))}
            for turn_id in [*given, *(name for name in learned if name not in given)]
        }
        named = {fact_id for turn in turns.values() for ids in turn.values() for fact_id in ids}
        return {"facts": self.provider.known(sorted(named)), "turns": turns}

    def _condition(self) -> Health:
        health = self.provider.health()
        return replace(health, is_healthy=False, reason=HANGS) if self.lifecycle.is_stuck else health

    # Inside.

    def owner(self, session: Session) -> str:
        """Whose work the next turn of a session is: `<agent>/<endpoint or profile>`.

        An endpoint is named also where the chat has chosen none: what was said to one must not be told to
        another that becomes the default later. Raises `InvalidRequest` for an agent that is not there.
        """
        info = self._pool.get(session.agent).info()
        place = session.endpoint or next(iter(info.endpoints), None) or session.profile
        return f"{info.name}/{place or 'default'}"

    def _require_on(self, session: Session | None = None) -> None:
        if not self.is_on:
            raise InvalidRequest(IS_OFF)
        if session and session.memory_off:
            raise InvalidRequest("Memory is off in this chat; /memory on switches it on.")

    def _for_memory(self) -> Mapping[str, Outlook]:
        return self._catalog.for_memory() if self.is_on else {}

    def _let_go(self, held: Held) -> None:
        """One commit, then close; what fails, or waits for a turn, is done by one like it."""
        after = partial(self.agents.give_back, held)
        if self.is_on:
            self.lifecycle.commit_boundary(held.agent.session_id, wait=False, after=after)
        else:
            after()

    def _close(self, agent: SessionAgent) -> None:
        self._calls.submit(agent.close)

    def _follow(self, session_id: str, session: Session | None, _stamp: Stamp | None) -> None:
        """After each save, under the session's lock: turns that left the line or came back."""
        if session is None or not self.is_on:
            return
        if segments.is_out_of_step(session):
            self._reconciler.soon(session_id)
        if session.active_turn is None and session_id in self._ledger.held_up:
            self._ledger.held_up.discard(session_id)
            self.boundary(session_id)
        last = session.memory.get("last_commit_at")
        self._last_commit_at = max(filter(None, (last, self._last_commit_at)), default=None)

    def _make_agent(self, session_id: str, owner: str) -> SessionAgent:
        return ProviderAgent(session_id, owner, self.provider, self._asker(session_id, owner))

    def _asker(self, session_id: str, owner: str) -> Ask | None:
        """The way to the model that did the work of `owner`; None for one that is too weak to be asked."""
        name, _, place = owner.partition("/")
        try:
            agent = self._pool.get(name)
        except InvalidRequest:
            return partial(_refuse, f"The agent {name} that did this work is not there any more.")
        info = agent.info()
        if not info.extracts_facts:
            return None
        endpoint = place if place in info.endpoints else None
        if endpoint is None and (info.endpoints or place != "default"):
            return partial(_refuse, f"The endpoint {place} that did this work is not there any more.")
        return partial(self._ask, agent, owner, RunRequest(session_id, "memory", (), None, endpoint))

    def _ask(
        self, agent: Agent, owner: str, request: RunRequest, prompt: str, schema: Mapping[str, Any]
    ) -> str:
        session_id, stop = request.session_id, Stop()
        session = self._store.load(session_id)
        model = session.model if owner == self.owner(session) else None
        messages = [{"role": "user", "content": prompt}]
        request = replace(request, messages=messages, model=model, schema=schema)
        with self._lock:
            self._asked.add(stop)
        try:
            answer = asking.ask(agent, request, stop)
        finally:
            with self._lock:
                self._asked.discard(stop)
        day = day_of(self._clock.now()).isoformat()
        with suppress(NotFound), self._store.edit(session_id) as session:
            note_other(session, "memory", day, answer.usage)
        return answer.text


def _refuse(reason: str, _prompt: str, _schema: Mapping[str, Any]) -> str:
    raise MemoryFailed(reason)
