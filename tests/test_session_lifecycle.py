"""The five guarantees at module level, in a process without a server."""

import threading
from collections.abc import Iterator

import pytest

from api import session_lifecycle as lifecycle
from api.commit_ledger import DictLedger
from api.session_lifecycle import SessionLifecycle
from tests.conftest import wait_until

S = "20260406_164014_74b2d1"


class StubAgent:
    """Remembers that it was asked to commit; each step of its script is one answer."""

    def __init__(self, *script: BaseException | threading.Event | None) -> None:
        self.calls = 0
        self.script = list(script)
        self.begun = threading.Event()

    def commit_memory_session(self) -> None:
        self.calls += 1
        step = self.script.pop(0) if self.script else None
        self.begun.set()
        if isinstance(step, threading.Event):
            assert step.wait(20)
        elif step is not None:
            raise step


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    lifecycle._reset_for_tests()
    yield
    lifecycle._reset_for_tests()


def test_completed_turns_are_counted_and_committed_once() -> None:
    agent = StubAgent()
    lifecycle.register_agent(S, agent)
    assert [lifecycle.mark_turn_completed(S) for _ in range(3)] == [1, 2, 3]
    assert lifecycle.has_uncommitted_work(S)
    assert lifecycle.commit_session_memory(S)
    assert not lifecycle.has_uncommitted_work(S)
    assert not lifecycle.commit_session_memory(S)
    assert agent.calls == 1
    assert lifecycle.mark_turn_completed(S) == 4


def test_a_commit_that_finishes_late_clears_only_what_it_captured() -> None:
    gate = threading.Event()
    agent = StubAgent(gate)
    lifecycle.register_agent(S, agent)
    lifecycle.mark_turn_completed(S)
    answers: list[bool] = []
    thread = threading.Thread(target=lambda: answers.append(lifecycle.commit_session_memory(S)))
    thread.start()
    assert agent.begun.wait(20)
    assert lifecycle.mark_turn_completed(S) == 2
    assert lifecycle.commit_session_memory(S) is False
    assert lifecycle.commit_session_memory(S, wait=True, timeout=0.01) is False
    assert not lifecycle.discard_session(S)
    gate.set()
    thread.join(20)
    assert answers == [True]
    assert lifecycle.has_uncommitted_work(S)
    assert lifecycle.commit_session_memory(S)
    assert agent.calls == 2


def test_one_that_waits_commits_what_is_left() -> None:
    gate = threading.Event()
    agent = StubAgent(gate)
    lifecycle.register_agent(S, agent)
    lifecycle.mark_turn_completed(S)
    first = threading.Thread(target=lambda: lifecycle.commit_session_memory(S))
    first.start()
    assert agent.begun.wait(20)
    lifecycle.mark_turn_completed(S)
    answers: list[bool] = []
    second = threading.Thread(target=lambda: answers.append(lifecycle.commit_session_memory(S, wait=True)))
    second.start()
    gate.set()
    second.join(20)
    first.join(20)
    assert (answers, agent.calls) == ([True], 2)
    assert not lifecycle.has_uncommitted_work(S)


def test_a_failed_commit_keeps_the_work_and_its_owner() -> None:
    agent, other = StubAgent(RuntimeError("the disk is full")), StubAgent()
    lifecycle.register_agent(S, agent)
    lifecycle.mark_turn_completed(S)
    assert not lifecycle.commit_session_memory(S)
    lifecycle.register_agent(S, other)
    lifecycle.mark_turn_completed(S)
    assert lifecycle.commit_session_memory(S, other)
    assert (agent.calls, other.calls) == (2, 0)
    assert lifecycle.commit_session_memory(S)
    assert (agent.calls, other.calls) == (2, 1)


def test_a_rebuilt_agent_never_takes_over_an_older_segment() -> None:
    old, rebuilt = StubAgent(), StubAgent()
    lifecycle.register_agent(S, old)
    lifecycle.mark_turn_completed(S)
    lifecycle.unregister_agent(S)
    lifecycle.register_agent(S, rebuilt)
    assert lifecycle.commit_session_memory(S, rebuilt)
    assert (old.calls, rebuilt.calls) == (1, 0)


def test_work_without_an_owner_becomes_that_of_the_first_who_commits_it() -> None:
    first, second = StubAgent(RuntimeError()), StubAgent()
    lifecycle.mark_turn_completed(S)
    assert not lifecycle.commit_session_memory(S)
    assert not lifecycle.commit_session_memory(S, first)
    assert lifecycle.commit_session_memory(S, second)
    assert (first.calls, second.calls) == (2, 0)


def test_an_agent_named_with_the_turn_owns_it() -> None:
    registered, named = StubAgent(), StubAgent()
    lifecycle.register_agent(S, registered)
    lifecycle.mark_turn_completed(S, agent=named)
    assert lifecycle.commit_session_memory(S)
    assert (registered.calls, named.calls) == (0, 1)


@pytest.mark.parametrize("error", [SystemExit(1), KeyboardInterrupt(), GeneratorExit()])
def test_an_exit_inside_a_provider_leaves_nothing_stuck(error: BaseException) -> None:
    agent = StubAgent(error)
    lifecycle.register_agent(S, agent)
    lifecycle.mark_turn_completed(S)
    assert lifecycle.commit_session_memory(S) is False
    assert lifecycle.has_uncommitted_work(S)
    assert lifecycle.commit_session_memory(S) is True


@pytest.mark.parametrize("nothing", ["", None])
def test_no_session_is_a_harmless_no_op(nothing: str | None) -> None:
    lifecycle.register_agent(nothing, StubAgent())
    lifecycle.unregister_agent(nothing)
    assert lifecycle.mark_turn_completed(nothing) == 0
    assert lifecycle.has_uncommitted_work(nothing) is False
    assert lifecycle.commit_session_memory(nothing, wait=True) is False
    assert lifecycle.discard_session(nothing) is False


def test_a_session_is_discarded_only_when_nothing_is_left() -> None:
    ledger = DictLedger()
    cycle, agent = SessionLifecycle(ledger), StubAgent()
    for number in range(500):
        name = f"s{number}"
        cycle.register_agent(name, agent)
        cycle.mark_turn_completed(name)
        assert not cycle.discard_session(name)
        assert cycle.commit_session_memory(name)
        assert cycle.discard_session(name)
    assert cycle.size == 0 and ledger.waiting() == [] and agent.calls == 500
    assert cycle.mark_turn_completed("s0") == 1


def test_one_may_wait_for_as_long_as_it_takes() -> None:
    gate = threading.Event()
    agent = StubAgent(gate)
    lifecycle.mark_turn_completed(S, agent=agent)
    first = threading.Thread(target=lambda: lifecycle.commit_session_memory(S))
    first.start()
    assert agent.begun.wait(20)
    lifecycle.mark_turn_completed(S, agent=agent)
    answers: list[bool] = []
    waiting = threading.Thread(
        target=lambda: answers.append(lifecycle.commit_session_memory(S, wait=True, timeout=float("inf")))
    )
    waiting.start()
    waiting.join(0.05)
    gate.set()
    waiting.join(20)
    first.join(20)
    assert answers == [True]
    lifecycle.drain_all_on_shutdown(float("inf"))
    assert agent.calls == 2


class TurnEndsMeanwhile(DictLedger):
    """A turn completes right after the first look for uncommitted work."""

    def __init__(self) -> None:
        super().__init__()
        self.has_ended = False

    def has_uncommitted(self, session_id: str) -> bool:
        found = super().has_uncommitted(session_id)
        if not self.has_ended:
            self.has_ended = True
            self.count(session_id, StubAgent())
        return found


def test_a_turn_that_completes_while_its_session_is_discarded_is_kept() -> None:
    ledger = TurnEndsMeanwhile()
    own = SessionLifecycle(ledger)
    own.discard_session(S)
    own.has_uncommitted_work(S)
    assert ledger.waiting() == [S]


def test_a_boundary_passes_over_an_owner_that_fails_and_commits_the_others() -> None:
    failing, other = StubAgent(RuntimeError(), RuntimeError()), StubAgent()
    cycle = SessionLifecycle(DictLedger())
    for agent in (failing, other, failing, other):
        cycle.mark_turn_completed(S, agent=agent)
    assert cycle.commit_boundary(S)
    assert (failing.calls, other.calls) == (1, 2)
    assert cycle.has_uncommitted_work(S)


def test_a_drain_commits_everything_and_gives_up_on_what_fails() -> None:
    agents = [StubAgent(), StubAgent(RuntimeError(), RuntimeError(), RuntimeError()), StubAgent()]
    for number in range(100):
        lifecycle.mark_turn_completed(f"s{number}", agent=agents[number % 3])
        lifecycle.mark_turn_completed(f"s{number}", agent=agents[(number + 1) % 3])
    lifecycle.drain_all_on_shutdown(deadline=20.0)
    assert not any(lifecycle.has_uncommitted_work(f"s{number}") for number in range(100))


class OpensWhenListed(DictLedger):
    """Opens a gate as soon as every session with work was named."""

    def __init__(self, gate: threading.Event) -> None:
        super().__init__()
        self.gate = gate

    def waiting(self) -> Iterator[str]:  # type: ignore[override]
        yield from super().waiting()
        self.gate.set()


def test_a_drain_tries_every_session_behind_many_that_fail() -> None:
    gate = threading.Event()
    ledger = OpensWhenListed(gate)
    own = SessionLifecycle(ledger)

    class Failing(StubAgent):
        def commit_memory_session(self) -> None:
            assert gate.wait(20)
            raise RuntimeError("down")

    good = StubAgent()
    for place in range(60):
        own.mark_turn_completed(f"bad {place}", agent=Failing())
    for place in range(10):
        own.mark_turn_completed(f"good {place}", agent=good)
    own.drain_all_on_shutdown(20)
    assert good.calls == 10


def test_a_drain_ends_at_its_deadline() -> None:
    gate = threading.Event()
    hanging = StubAgent(gate)
    lifecycle.mark_turn_completed(S, agent=hanging)
    lifecycle.drain_all_on_shutdown(deadline=0.05)
    assert lifecycle.has_uncommitted_work(S)
    gate.set()
    wait_until(lambda: not lifecycle.has_uncommitted_work(S), "the late end of the commit")


def test_nothing_new_is_tried_while_both_threads_hang() -> None:
    gate = threading.Event()
    cycle = SessionLifecycle(DictLedger(), limit_s=0.0)
    hanging, third = [StubAgent(gate), StubAgent(gate)], StubAgent()
    for number, agent in enumerate((*hanging, third)):
        cycle.mark_turn_completed(f"s{number}", agent=agent)
    for number, agent in enumerate(hanging):
        assert not cycle.commit_session_memory(f"s{number}")
        assert agent.begun.wait(20)
    assert cycle.is_stuck
    assert not cycle.commit_session_memory("s2", wait=True, timeout=0.01)
    assert third.calls == 0
    gate.set()
    wait_until(lambda: not cycle.is_stuck, "the end of the hanging calls")
    cycle.commit_session_memory("s2", wait=True)
    wait_until(lambda: third.calls == 1, "the commit that was not tried before")


def test_a_boundary_during_a_commit_takes_what_came_meanwhile() -> None:
    gate = threading.Event()
    agent = StubAgent(gate)
    cycle = SessionLifecycle(DictLedger())
    cycle.mark_turn_completed(S, agent=agent)
    thread = threading.Thread(target=lambda: cycle.commit_session_memory(S))
    thread.start()
    assert agent.begun.wait(20)
    cycle.mark_turn_completed(S, agent=agent)
    assert cycle.commit_boundary(S, wait=False) is False
    gate.set()
    thread.join(20)
    wait_until(lambda: not cycle.has_uncommitted_work(S), "the boundary")
    assert agent.calls == 2


def test_a_late_commit_of_a_dropped_session_leaves_the_turns_of_the_one_that_took_its_name() -> None:
    gate = threading.Event()
    agent = StubAgent(gate)
    cycle = SessionLifecycle(DictLedger())
    cycle.mark_turn_completed(S, agent=agent)
    thread = threading.Thread(target=lambda: cycle.commit_session_memory(S))
    thread.start()
    assert agent.begun.wait(20)
    cycle.drop_session(S)
    assert cycle.mark_turn_completed(S, agent=agent) == 1
    gate.set()
    thread.join(20)
    assert cycle.has_uncommitted_work(S)
    assert cycle.commit_session_memory(S)
    assert agent.calls == 2


def test_work_without_an_owner_holds_back_what_came_after_it() -> None:
    agent = StubAgent()
    cycle = SessionLifecycle(DictLedger())
    cycle.mark_turn_completed(S)
    cycle.mark_turn_completed(S, agent=agent)
    assert not cycle.commit_session_memory(S)
    assert agent.calls == 0
    assert cycle.commit_session_memory(S, agent)
    assert cycle.commit_session_memory(S)
    assert agent.calls == 2


def test_what_follows_a_commit_runs_once_when_that_is_over() -> None:
    gate = threading.Event()
    agent = StubAgent(gate, RuntimeError("down"))
    cycle = SessionLifecycle(DictLedger())
    followed: list[str] = []
    cycle.register_agent(S, agent)
    cycle.mark_turn_completed(S)
    cycle.commit_boundary(S, wait=False, after=lambda: followed.append("first"))
    assert agent.begun.wait(20)
    cycle.commit_boundary(S, wait=False, after=lambda: followed.append("joined"))
    assert followed == []
    gate.set()
    wait_until(lambda: followed == ["first", "joined"], "the end of the commit")
    cycle.mark_turn_completed(S)
    cycle.commit_boundary(S, after=lambda: followed.append("failed"))
    cycle.commit_boundary("nothing", after=lambda: followed.append("empty"))
    wait_until(lambda: followed[2:] == ["failed", "empty"], "the end of the others")


def test_what_follows_a_commit_that_cannot_be_begun_runs_at_once() -> None:
    gate = threading.Event()
    cycle = SessionLifecycle(DictLedger(), limit_s=0.0)
    for number in range(2):
        agent = StubAgent(gate)
        cycle.register_agent(f"s{number}", agent)
        cycle.mark_turn_completed(f"s{number}")
        cycle.commit_boundary(f"s{number}", wait=False)
        assert agent.begun.wait(20)
    followed: list[int] = []
    assert cycle.is_stuck
    cycle.commit_boundary("s9", wait=False, after=lambda: followed.append(1))
    assert followed == [1]
    gate.set()
    wait_until(lambda: not cycle.has_flights, "the end of the commits")
