"""Starts, queues, stops and recovers turns; owns the running ones."""

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from api.agents.pool import AgentPool
from api.clock import Clock
from api.concurrency import Workers
from api.errors import Busy, NotFound, TalariaError, Unavailable
from api.hub import Hub
from api.session_memory import SessionMemory
from api.sessions.blobs import Blobs
from api.sessions.model import DONE, STOPPED, Session
from api.sessions.store import SessionStore, Stamp
from api.turns import begin, worker
from api.turns.abandoned import AbandonedTurns
from api.turns.begin import Beginning, Sending
from api.turns.journal import Journal
from api.turns.live import LiveTurn
from api.turns.replay import opening
from api.turns.settle import TERMINAL_EVENT, Outcome, failure, interrupted, settle, terminal_data
from api.turns.table import TurnTable
from api.turns.titles import TitleMaker
from api.turns.turn import Turn

log = logging.getLogger(__name__)

RUNNING_LIMIT = 8
STOP_GRACE_S = 2.0


@dataclass(frozen=True, slots=True)
class Started:
    """The answer to a send. `position` counts from 1: in the session's queue if `queued`, else among the
    turns that wait because enough others run; 0 = it runs.
    """

    session_id: str
    turn_id: str
    queued: bool
    position: int
    title: str
    revision: int

    @property
    def stream_id(self) -> str:
        return f"{self.session_id}.{self.turn_id}"


class TurnRunner:
    """Every turn of this process, from the send to the stored end. Memory decides which session is busy."""

    def __init__(
        self,
        store: SessionStore,
        hub: Hub[Turn],
        journal: Journal,
        agents: AgentPool,
        clock: Clock,
        workers: Workers,
        blobs: Blobs,
        memory: SessionMemory,
        *,
        running_limit: int = RUNNING_LIMIT,
    ) -> None:
        self._store = store
        self._hub = hub
        self._journal = journal
        self._agents = agents
        self._clock = clock
        self._workers = workers
        self._blobs = blobs
        self._memory = memory
        self._table = TurnTable(running_limit)
        self._abandoned = AbandonedTurns(store, journal, self._table, clock)
        self._titles = TitleMaker(store, agents, hub, clock, workers)
        self._closing = False
        store.on_saved(self._follow)

    # Called by the rooms above.

    def send(
        self, session_id: str, sending: Sending, *, may_queue: bool = True, revision: int | None = None
    ) -> Started:
        """Start a turn with a text, or queue it behind the one that runs. Durable when this returns."""

        def start(session: Session) -> None:
            self._abandoned.settle(session)
            is_busy = self._is_busy(session)
            if is_busy and not may_queue:
                raise Busy()
            begin.enqueue(session, sending, self._clock.now())
            if not is_busy:
                begin.begin_next(session, self._beginning(session))

        return self._start(session_id, sending.client_id, revision, start)

    def regenerate(
        self,
        session_id: str,
        message_id: int | None = None,
        client_id: str | None = None,
        revision: int | None = None,
    ) -> Started:
        """Ask again under the last user message, or the one named; the reply becomes a variant."""

        def start(session: Session) -> None:
            self.require_idle(session)
            begin.begin_regenerate(session, message_id, client_id, self._beginning(session))

        return self._start(session_id, client_id, revision, start)

    def edit(
        self, session_id: str, message_id: int, sending: Sending, revision: int | None = None
    ) -> Started:
        """Ask with another wording of a user message; what followed stays as a variant."""

        def start(session: Session) -> None:
            self.require_idle(session)
            begin.begin_edit(session, message_id, sending, self._beginning(session))

        return self._start(session_id, sending.client_id, revision, start)

    def compress(self, session_id: str, focus: str = "", revision: int | None = None) -> Started:
        """Let the model sum up all but the last two turns. Raises `Busy`, `NothingToCompress`."""

        def start(session: Session) -> None:
            self.require_idle(session)
            begin.begin_compress(session, focus, self._beginning(session))

        return self._start(session_id, None, revision, start)

    def resume(self, session_id: str, revision: int | None = None) -> Session:
        """Start the first waiting text, which a stop or a failure had held back; nothing where none waits."""
        with self._claiming(session_id, revision) as (session, begun):
            self._abandoned.settle(session)
            if not self._is_busy(session) and session.queue:
                begin.begin_next(session, self._beginning(session))
                begun.extend(self._claim_begun(session))
        self._launch(begun)
        return session

    def cancel(self, session_id: str, turn_id: str | None = None) -> str | None:
        """Ask the running turn to end; its stream id, or None when it does not run. Answers at once."""
        live = self._table.get(session_id)
        if live is None or turn_id not in (None, live.turn_id):
            return None
        if self._table.withdraw(live):
            self._settle(live, Outcome(STOPPED))
        elif live.stop_requested_at is None:
            live.stop_requested_at = self._clock.monotonic()
            live.stop.request()
        return live.turn.stream_id

    def delete(self, session_id: str, forget: bool = False) -> None:
        """Move a session to the trash; a running turn is settled as stopped in the same step.

        What memory learned there stays, unless `forget` withdraws it.
        """
        with self._store.remove(session_id) as session:
            live = self._table.get(session_id)
            if session and session.active_turn:
                turn = live.finish() if live else self._journal.turn(session_id, session.active_turn.turn_id)
                settle(session, session.active_turn, turn, Outcome(STOPPED), self._clock.now())
            if session:
                self._memory.deleting(session, forget)
        self._journal.remove(session_id)
        self._memory.deleted(session_id, forget)
        if live:
            live.stop.request()
            live.end("cancel", {"message_ids": [], "revision": session.revision if session else 0})

    def forget(self, session_ids: Iterable[str]) -> None:
        """Drop what journals and the hub still hold of turns that have ended in these sessions."""
        for session_id in session_ids:
            live = self._table.get(session_id)
            for _, turn_id in [entry for entry in self._journal.entries() if entry[0] == session_id]:
                if live is None or live.turn_id != turn_id:
                    self._journal.remove(session_id, turn_id)
            self._hub.forget(session_id)

    def active(self, session_id: str) -> LiveTurn | None:
        """The turn that runs in a session now."""
        return self._table.get(session_id)

    def running(self) -> list[LiveTurn]:
        return self._table.all()

    def require_idle(self, session: Session) -> None:
        """Inside an edit: raises `Busy` while a turn runs; a turn whose process is gone is settled."""
        self._abandoned.settle(session)
        if self._is_busy(session):
            raise Busy()

    # Called by the steps of the process.

    def wait_for_work(self, timeout_s: float) -> bool:
        """Wait until a turn runs or the runner closes; whether one of them is so."""
        return self._table.is_occupied.wait(timeout_s)

    def step(self) -> None:
        """Pass on text that waits, and settle turns whose agent does not obey a stop."""
        now = self._clock.monotonic()
        for live in self._table.all():
            live.flush()
            if live.stop_requested_at is not None and now - live.stop_requested_at >= STOP_GRACE_S:
                self._settle(live, Outcome(STOPPED))

    def recover(self, session_ids: Iterable[str]) -> int:
        """Settle the turns that an ended process has left; before the port opens. How many there were."""
        return self._abandoned.recover(session_ids)

    def close(self, grace_s: float) -> None:
        """Refuse new turns, wait for the running ones, and settle what still runs as interrupted."""
        self._closing = True
        self._titles.close()
        self._table.is_empty.wait(grace_s)
        for live in self._table.all():
            self._table.withdraw(live)
            live.stop.request()
            self._settle(live, interrupted())
        self._table.is_occupied.set()

    # Inside.

    def _start(
        self,
        session_id: str,
        client_id: str | None,
        revision: int | None,
        start: Callable[[Session], None],
    ) -> Started:
        if self._closing:
            raise Unavailable("Talaria is shutting down.", retry_after_s=5)
        with self._claiming(session_id, revision) as (session, begun):
            turn_id = begin.known_turn(session, client_id)
            if turn_id is None:
                start(session)
                begun.extend(self._claim_begun(session))
                turn_id = session.newest_turn_id
        self._launch(begun)
        return self._started(session, turn_id)

    def _started(self, session: Session, turn_id: str) -> Started:
        waiting = [item.turn_id for item in session.queue]
        is_queued = turn_id in waiting
        position = (
            waiting.index(turn_id) + 1 if is_queued else self._table.position(session.session_id, turn_id)
        )
        return Started(session.session_id, turn_id, is_queued, position, session.title, session.revision)

    @contextmanager
    def _claiming(
        self, session_id: str, revision: int | None = None
    ) -> Iterator[tuple[Session, list[LiveTurn]]]:
        """Edit a session in which turns begin; if the save fails, they have never begun."""
        begun: list[LiveTurn] = []
        with ExitStack() as failure:
            failure.callback(self._table.leave, begun)
            with self._store.edit(session_id, revision) as session:
                yield session, begun
            failure.pop_all()

    def _claim_begun(self, session: Session) -> Iterator[LiveTurn]:
        """The turn that has begun in this edit, if one has; it lives as soon as the session is saved."""
        if session.active_turn is None or self._table.get(session.session_id, session.active_turn.turn_id):
            return
        turn = Turn(session.session_id, session.active_turn.turn_id)
        journal = self._journal.open(turn.session_id, turn.turn_id)
        start = opening(session, session.turn(turn.turn_id))
        live = LiveTurn(turn, start, journal, self._hub, self._clock)
        self._table.claim(live)
        yield live

    def _follow(self, session_id: str, session: Session | None, _stamp: Stamp | None) -> None:
        active = session.active_turn if session else None
        self._table.follow(session_id, active.turn_id if active else None)

    def _launch(self, begun: Iterable[LiveTurn]) -> None:
        for live in begun:
            self._titles.give_way()
            live.announce()
            if self._table.admit(live):
                self._spawn(live)

    def _spawn(self, live: LiveTurn) -> None:
        try:
            self._workers.spawn(f"turn {live.turn.stream_id}", lambda: self._work(live))
        except RuntimeError as exc:
            log.error("no thread for turn %s: %s", live.turn.stream_id, exc)
            self._table.release(live)
            self._settle(live, failure("This machine has no room for one more thread.", "unavailable"))

    def _work(self, live: LiveTurn) -> None:
        try:
            self._settle(live, worker.run(live, self._store, self._agents, self._blobs.read, self._memory))
        finally:
            following = self._table.release(live)
            if following:
                self._spawn(following)

    def _settle(self, live: LiveTurn, outcome: Outcome) -> None:
        """Store the end of a turn and tell it. The first that settles wins; a later one writes nothing."""
        turn = live.finish()
        try:
            with self._claiming(live.session_id) as (session, begun):
                if session.active_turn is None or session.active_turn.turn_id != live.turn_id:
                    return
                ids = settle(session, session.active_turn, turn, outcome, self._clock.now())
                self._memory.mark(session, live.turn_id)
                if outcome.state == DONE and session.queue and not self._closing:
                    begin.begin_next(session, self._beginning(session))
                    begun.extend(self._claim_begun(session))
        except TalariaError as exc:
            self._end_unstored(live, exc)
            return
        self._journal.remove(live.session_id, live.turn_id)
        live.end(TERMINAL_EVENT[outcome.state], terminal_data(session, session.turn(live.turn_id), ids))
        self._launch(begun)
        if outcome.state == DONE:
            self._memory.completed(session, live.turn_id)
            if not begun:
                self._titles.consider(session)

    def _end_unstored(self, live: LiveTurn, exc: TalariaError) -> None:
        self._table.leave([live])
        if isinstance(exc, NotFound) and self._store.trashed(live.session_id):
            # Deleted meanwhile: what the turn had said lies in the trash with its session.
            live.end("cancel", {"message_ids": [], "revision": 0})
            return
        log.error("turn %s could not be stored: %s", live.turn.stream_id, exc)
        live.end("apperror", {"message": exc.message, "type": "storage", "hint": "", "message_ids": []})

    def _is_busy(self, session: Session) -> bool:
        """Whether a turn lives here."""
        return self._table.get(session.session_id) is not None

    def _beginning(self, session: Session) -> Beginning:
        info = self._agents.get(session.agent).info()
        model = info.model(session.endpoint, session.model)
        owner = self._memory.owner(session)
        return Beginning(self._hub.boot_id, info.name, model, self._clock.now(), owner)
