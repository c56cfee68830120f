"""The guarantees of memory under any order of turns, boundaries, failures, head moves and crashes."""

import tempfile
import threading
from contextlib import suppress
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from api.errors import Conflict
from api.sessions import segments
from api.sessions.model import DONE
from api.turns.begin import Sending
from tests.conftest import wait_until
from tests.home import Home
from tests.recording_memory import FAIL, STORE_AND_FAIL

PICK = st.integers(0, 1)


class MemoryMachine(RuleBasedStateMachine):
    """Two chats. In the end memory holds what the lines say, and each turn was told in one batch."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.home = Home(Path(self.folder.name) / "state")
        self.ids = [self.home.new(), self.home.new()]
        self.gates: list[threading.Event] = []
        self.deleted: dict[str, int] = {}

    def teardown(self) -> None:
        try:
            self.check()
        finally:
            self._open_gates()
            self.home.house.close()
            self.folder.cleanup()

    def _alive(self, pick: int) -> str | None:
        session_id = self.ids[pick]
        return None if session_id in self.deleted else session_id

    def _open_gates(self) -> None:
        while self.gates:
            self.gates.pop().set()

    @rule(pick=PICK)
    def say(self, pick: int) -> None:
        if session_id := self._alive(pick):
            self.home.say(session_id)

    @rule(pick=PICK, error=st.booleans())
    def say_in_vain(self, pick: int, error: bool) -> None:
        """A turn that fails or is stopped."""
        if session_id := self._alive(pick):
            if error:
                self.home.house.agent.enqueue("half", RuntimeError("boom"))
                self.home.say(session_id)
            else:
                self.home.house.agent.enqueue("half", threading.Event())
                self.home.house.runner.send(session_id, Sending("stop me"))
                self.home.house.runner.cancel(session_id)
                self.home.house.wait_idle(session_id)

    @rule(pick=PICK, endpoint=st.sampled_from([None, "other"]))
    def change_owner(self, pick: int, endpoint: str | None) -> None:
        if session_id := self._alive(pick):
            with self.home.house.store.edit(session_id) as session:
                session.endpoint = endpoint

    @rule(pick=PICK, count=st.integers(1, 3), move=st.sampled_from(["undo", "redo", "retry", "again"]))
    def move_the_head(self, pick: int, count: int, move: str) -> None:
        session_id = self._alive(pick)
        if session_id is None:
            return
        try:
            if move == "undo":
                self.home.ops.undo(session_id, count)
            elif move == "redo":
                self.home.ops.redo(session_id, count)
            elif move == "retry":
                self.home.ops.take_back_for_retry(session_id)
            else:
                self.home.house.runner.regenerate(session_id)
                self.home.house.wait_idle(session_id)
        except Conflict:
            pass

    @rule(pick=PICK, place=st.integers(0, 20))
    def select(self, pick: int, place: int) -> None:
        if session_id := self._alive(pick):
            messages = self.home.load(session_id).messages
            if messages:
                with suppress(ValueError):
                    self.home.ops.select(session_id, messages[place % len(messages)].id)

    @rule(pick=PICK)
    def delete_or_restore(self, pick: int) -> None:
        session_id = self.ids[pick]
        if session_id in self.deleted:
            del self.deleted[session_id]
            self.home.ops.restore(session_id)
        else:
            self.home.house.runner.delete(session_id)
            self.deleted[session_id] = len(self.home.memory.commits)

    @rule(pick=PICK)
    def delete_during_a_commit(self, pick: int) -> None:
        session_id = self._alive(pick)
        if session_id is None or self.home.memory.steps or self.gates:
            return
        wait_until(lambda: not self.home.house.memory.lifecycle.has_flights, "the end of the commits")
        self.provider_will_hang()
        tries = len(self.home.memory.commits)
        outlook = self.home.outlooks().get(session_id)
        self.home.house.memory.boundary(session_id)
        if outlook and outlook.turns:
            wait_until(lambda: len(self.home.memory.commits) > tries, "the commit that hangs")
        self.delete_or_restore(pick)
        self._open_gates()

    @rule(pick=PICK, waits=st.booleans())
    def boundary(self, pick: int, waits: bool) -> None:
        timeout = 5.0 if waits and not self.gates else 0.0
        self.home.house.memory.lifecycle.commit_boundary(self.ids[pick], timeout=timeout)

    @rule(step=st.sampled_from([FAIL, STORE_AND_FAIL, SystemExit(1)]))
    def provider_will_fail(self, step: object) -> None:
        self.home.memory.steps.append(step)  # type: ignore[arg-type]

    @precondition(lambda self: len(self.gates) < 2)
    @rule()
    def provider_will_hang(self) -> None:
        gate = threading.Event()
        self.gates.append(gate)
        self.home.memory.steps.append(gate)

    @rule()
    def provider_goes_on(self) -> None:
        self._open_gates()

    @rule()
    def evict(self) -> None:
        """Agents leave, as if others had pushed them out."""
        memory = self.home.house.memory
        for session_id in memory.agents.sessions():
            memory.agents.drop(session_id)
            memory.boundary(session_id)

    @rule()
    def crash(self) -> None:
        # What hangs in the process that dies does not reach memory after its death.
        self._open_gates()
        wait_until(lambda: not self.home.house.memory.lifecycle.has_flights, "the end of the commits")
        self.home.crash()
        self.home.house.memory.recover()

    @invariant()
    def a_batch_is_always_the_same(self) -> None:
        told: dict[str, tuple[str, ...]] = {}
        for batch_id, turns in self.home.memory.batches():
            assert told.setdefault(batch_id, turns) == turns

    def check(self) -> None:
        self._open_gates()
        self.home.memory.steps.clear()
        wait_until(lambda: not self.home.house.memory.lifecycle.has_flights, "the end of the commits")
        self.home.house.memory.recover()
        alive = [session_id for session_id in self.ids if session_id not in self.deleted]
        for session_id in alive:
            wait_until(lambda name=session_id: self._is_told(name), "everything told")
        expected = set()
        for session_id in alive:
            on_line = segments.turns_on_line(self.home.load(session_id))
            expected |= {(session_id, turn.record.id) for turn in on_line if turn.record.state == DONE}
        assert {place for place in self.home.memory.holds if place[0] in alive} == expected
        told = [
            (name.split(":")[0], turn) for name, turns in self.home.memory.stored.items() for turn in turns
        ]
        assert len(told) == len(set(told)), "a turn was told in two batches"

    def _is_told(self, session_id: str) -> bool:
        self.home.house.memory.lifecycle.commit_boundary(session_id, timeout=5.0)
        return session_id not in self.home.outlooks() and not self.home.house.memory.lifecycle.has_flights


TestMemoryMachine = MemoryMachine.TestCase
TestMemoryMachine.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
