"""Memory over session files: what is told, when, and what a crash leaves of it."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from freezegun import freeze_time

from api.errors import InvalidRequest
from api.memory.base import Fact, MemoryFailed
from api.sessions import segments
from api.sessions.outlook import RETRY_S
from api.turns.begin import Sending
from tests.conftest import wait_until
from tests.home import Home
from tests.recording_memory import FAIL, STORE_AND_FAIL


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path / "state")
    yield home
    home.house.close()


def test_two_turns_and_a_crash_are_one_commit_with_both(home: Home) -> None:
    session_id = home.new()
    home.say(session_id, "one")
    home.say(session_id, "two")
    home.crash()
    home.boundary(session_id)
    assert home.memory.batches() == [(f"{session_id}:1-2", ("t1", "t2"))]
    assert home.memory.commits[0].texts == ("one", "echo 1", "two", "echo 2")
    home.boundary(session_id)
    home.crash()
    home.boundary(session_id)
    assert len(home.memory.commits) == 1


def test_a_commit_that_stored_and_failed_is_repeated_as_it_was(home: Home) -> None:
    session_id = home.new()
    home.say(session_id)
    home.say(session_id)
    home.memory.steps.append(STORE_AND_FAIL)
    home.boundary(session_id)
    assert segments.batches(home.load(session_id))[0].error == "memory broke off"
    home.say(session_id)
    home.crash()
    home.house.memory.recover()
    wait_until(lambda: not home.outlooks(), "the repeated commit")
    assert home.memory.batches() == [
        (f"{session_id}:1-2", ("t1", "t2")),
        (f"{session_id}:1-2", ("t1", "t2")),
        (f"{session_id}:3-3", ("t3",)),
    ]
    assert len(home.memory.stored) == 2


@pytest.mark.parametrize("when", ["before", "sealed", "after"])
@pytest.mark.parametrize("how", ["undo", "retry", "truncate"])
def test_what_leaves_the_line_leaves_memory_and_comes_back_with_it(home: Home, when: str, how: str) -> None:
    session_id = home.new()
    home.say(session_id)
    home.say(session_id)
    if when == "sealed":
        home.memory.steps.append(FAIL)
    if when != "before":
        home.boundary(session_id)
    if how == "undo":
        home.ops.undo(session_id)
    elif how == "retry":
        home.ops.take_back_for_retry(session_id)
    else:
        home.ops.truncate(session_id, 2)
    home.crash()
    home.boundary(session_id)
    home.house.memory.recover()
    home.settle()
    assert home.memory.holds == {(session_id, "t1")}
    home.ops.redo(session_id)
    home.settle()
    home.boundary(session_id)
    assert home.memory.holds == {(session_id, "t1"), (session_id, "t2")}
    assert sorted(turn for turns in home.memory.stored.values() for turn in turns) == ["t1", "t2"]


def test_another_reply_takes_the_place_of_the_first_in_memory_too(home: Home) -> None:
    session_id = home.new()
    home.say(session_id)
    home.boundary(session_id)
    home.house.runner.regenerate(session_id)
    home.house.wait_idle(session_id)
    home.settle()
    assert home.memory.holds == set()
    home.boundary(session_id)
    assert home.memory.holds == {(session_id, "t2")}
    home.ops.select(session_id, 2)
    home.settle()
    assert home.memory.holds == {(session_id, "t1")}


def test_turns_that_did_not_complete_are_not_told(home: Home) -> None:
    session_id = home.new()
    home.say(session_id)
    gate = threading.Event()
    home.house.agent.enqueue("half", gate, "never")
    home.house.runner.send(session_id, Sending("stop me"))
    home.boundary(session_id)
    assert home.memory.commits == [], "no commit starts while a turn runs"
    home.house.runner.cancel(session_id)
    home.house.wait_idle(session_id)
    wait_until(lambda: home.memory.commits, "the boundary that the turn held up")
    home.house.agent.enqueue(RuntimeError("boom"))
    home.say(session_id)
    home.boundary(session_id)
    assert home.memory.batches() == [(f"{session_id}:1-1", ("t1",))]


def test_a_new_chat_is_a_boundary_of_the_one_before(home: Home) -> None:
    session_id = home.new()
    home.say(session_id)
    home.maker.new(prev_session_id=session_id)
    wait_until(lambda: home.told(session_id) == [f"{session_id}:1-1"], "the commit")


def test_an_agent_that_leaves_for_others_commits_once(home: Home) -> None:
    first = home.new()
    home.say(first)
    others = [home.new() for _ in range(24)]
    for other in others:
        home.say(other)
    assert len(home.house.memory.agents) == 25 and not home.memory.commits
    home.say(home.new())
    wait_until(lambda: home.memory.stored, "the commit of the agent that left")
    assert home.memory.batches() == [(f"{first}:1-1", ("t1",))]
    assert len(home.house.memory.agents) == 25


def test_work_of_another_endpoint_is_a_batch_of_its_own(home: Home) -> None:
    session_id = home.new()
    home.say(session_id)
    with home.house.store.edit(session_id) as session:
        session.endpoint = "other"
    home.memory.steps.append(FAIL)
    home.say(session_id)
    wait_until(lambda: home.told(session_id)[1], "the commit of the second owner")
    assert [turns for _, turns in home.memory.batches()] == [("t1",), ("t2",)]
    assert home.told(session_id) == [None, f"{session_id}:2-2"]


def test_silence_is_a_boundary(home: Home) -> None:
    with freeze_time("2026-01-01 10:00:00") as frozen:
        home.crash()
        session_id = home.new()
        home.say(session_id)
        frozen.tick(1799)
        home.house.memory.step()
        assert not home.memory.commits
        frozen.tick(2)
        home.house.memory.step()
        wait_until(lambda: home.memory.stored, "the commit after the silence")


def test_what_is_found_at_a_start_is_idle_from_then_on(home: Home) -> None:
    with freeze_time("2026-01-01 10:00:00") as frozen:
        session_id = home.new()
        home.say(session_id)
        frozen.tick(100_000)
        home.crash()
        home.house.memory.recover()
        home.house.memory.step()
        assert not home.memory.commits
        frozen.tick(1801)
        home.house.memory.step()
        wait_until(lambda: home.memory.stored, "the commit of what nobody reopened")
        assert home.memory.batches() == [(f"{session_id}:1-1", ("t1",))]


def test_a_failure_is_tried_again_later_and_later(home: Home) -> None:
    with freeze_time("2026-01-01 10:00:00") as frozen:
        home.crash()
        session_id = home.new()
        home.say(session_id)
        home.memory.steps.extend([FAIL, FAIL, FAIL])
        home.boundary(session_id)
        for pause_s in (30, 60, 120):
            tries = len(home.memory.commits)
            frozen.tick(pause_s - 1)
            home.house.memory.step()
            assert len(home.memory.commits) == tries
            frozen.tick(2)
            home.house.memory.step()
            wait_until(lambda tries=tries: len(home.memory.commits) > tries, "the next try")
            wait_until(lambda: not home.house.memory.lifecycle.has_flights, "its end")
        wait_until(lambda: home.told(session_id) == [f"{session_id}:1-1"], "the commit")
        assert len(home.memory.stored) == 1


def test_a_chat_deleted_during_its_commit_leaves_nothing(home: Home) -> None:
    session_id = home.new()
    home.say(session_id)
    gate = threading.Event()
    home.memory.steps.append(gate)
    home.house.memory.boundary(session_id)
    assert home.memory.begun.wait(20)
    home.house.runner.delete(session_id)
    gate.set()
    wait_until(lambda: home.memory.stored and not home.memory.holds, "the withdrawal")
    home.ops.restore(session_id)
    home.boundary(session_id)
    assert home.memory.holds == {(session_id, "t1")}
    assert len(home.memory.stored) == 1


def test_a_deleted_chat_is_never_committed(home: Home) -> None:
    session_id = home.new()
    home.say(session_id)
    home.house.runner.delete(session_id)
    home.boundary(session_id)
    home.house.memory.drain(5.0)
    home.crash()
    home.house.memory.recover()
    home.house.memory.drain(5.0)
    assert not home.memory.commits


def test_delete_keeps_what_was_learned_unless_it_shall_be_forgotten(home: Home) -> None:
    kept, forgotten = home.new(), home.new()
    for session_id in (kept, forgotten):
        home.say(session_id)
        home.boundary(session_id)
    home.house.runner.delete(kept)
    home.house.runner.delete(forgotten, forget=True)
    wait_until(lambda: home.memory.holds == {(kept, "t1")}, "the withdrawal")
    home.ops.restore(forgotten)
    wait_until(lambda: home.memory.holds == {(kept, "t1"), (forgotten, "t1")}, "its return")


def test_a_wish_to_forget_outlives_a_memory_that_is_down_and_a_crash(home: Home) -> None:
    session_id = home.new()
    home.say(session_id)
    home.boundary(session_id)
    home.memory.undo_steps.append(FAIL)
    home.house.runner.delete(session_id, forget=True)
    wait_until(lambda: not home.memory.undo_steps, "the failure")
    assert home.memory.holds == {(session_id, "t1")}
    home.crash()
    home.house.memory.recover()
    wait_until(lambda: not home.memory.holds, "the withdrawal")
    home.ops.restore(session_id)
    wait_until(lambda: home.memory.holds == {(session_id, "t1")}, "its return")


def test_a_wish_to_forget_is_tried_again_by_a_later_step(home: Home) -> None:
    with freeze_time("2026-01-01 10:00:00") as frozen:
        home.crash()
        session_id = home.new()
        home.say(session_id)
        home.boundary(session_id)
        home.memory.undo_steps.append(FAIL)
        home.house.runner.delete(session_id, forget=True)
        wait_until(lambda: not home.memory.undo_steps, "the failure")

        def is_withdrawn() -> bool:
            frozen.tick(RETRY_S)
            home.house.memory.step()
            return not home.memory.holds

        wait_until(is_withdrawn, "the withdrawal")


def test_a_chat_that_comes_back_while_it_is_forgotten_keeps_what_it_taught(home: Home) -> None:
    session_id = home.new()
    home.say(session_id)
    home.boundary(session_id)
    gate = threading.Event()
    home.memory.undo_steps.append(gate)
    home.house.runner.delete(session_id, forget=True)
    assert home.memory.undo_begun.wait(20)
    home.ops.restore(session_id)
    gate.set()
    wait_until(lambda: home.memory.holds == {(session_id, "t1")}, "its return")
    home.house.runner.delete(session_id)
    home.crash()
    home.house.memory.recover()
    home.house.memory.drain(5.0)
    assert home.memory.holds == {(session_id, "t1")}, "the old wish does not outlive the return"


def test_what_was_stored_by_a_commit_that_failed_is_forgotten_too(home: Home) -> None:
    session_id = home.new()
    home.say(session_id)
    home.memory.steps.append(STORE_AND_FAIL)
    home.boundary(session_id)
    home.house.runner.delete(session_id, forget=True)
    wait_until(lambda: not home.memory.holds, "the withdrawal")
    home.ops.restore(session_id)
    home.boundary(session_id)
    assert home.memory.holds == {(session_id, "t1")}


def test_with_memory_off_nothing_is_recalled_learned_or_committed(home: Home) -> None:
    session_id = home.new()
    home.say(session_id)
    home.ops.keep_from_memory(session_id, True)
    home.say(session_id)
    asked = len(home.memory.asked)
    assert asked == 1
    home.boundary(session_id)
    home.house.memory.drain(5.0)
    assert not home.memory.commits
    home.ops.keep_from_memory(session_id, False)
    home.boundary(session_id)
    assert home.memory.batches() == [(f"{session_id}:1-1", ("t1",))]
    assert home.house.memory.learn(session_id) == 1
    wait_until(lambda: len(home.memory.stored) == 2, "the lesson")
    assert home.memory.batches()[1] == (f"{session_id}:2-2", ("t2",))


def test_copies_teach_nothing_unless_asked(home: Home) -> None:
    session_id = home.new()
    home.say(session_id)
    twin = home.maker.branch(session_id)
    home.boundary(twin.session_id)
    assert not home.memory.commits
    assert home.house.memory.learn(twin.session_id) == 1
    wait_until(lambda: home.memory.stored, "the lesson")
    assert home.memory.commits[0].session_id == twin.session_id


def test_a_copy_of_an_undone_turn_is_told_when_asked(home: Home) -> None:
    session_id = home.new()
    home.say(session_id)
    with home.house.store.edit(session_id) as session:
        session.update_turn("t1", extra={segments.REMEMBERED: True})
    home.boundary(session_id)
    home.ops.undo(session_id)
    home.settle()
    twin = home.maker.duplicate(session_id).session_id
    home.ops.redo(twin)
    home.ops.undo(twin)
    home.settle()
    home.ops.redo(twin)
    home.settle()
    assert home.house.memory.learn(twin) == 1
    wait_until(lambda: home.told(twin) == [f"{twin}:1-1"], "the lesson")


def test_an_imported_chat_teaches_when_asked_and_follows_its_line(home: Home) -> None:
    rows = [
        {"role": "user", "content": "I prefer tea"}, {"role": "assistant", "content": "Noted"},
        {"role": "user", "content": "I live in Oslo"}, {"role": "assistant", "content": "Nice"},
    ]  # fmt: skip
    session_id = home.maker.import_messages(rows).session_id
    home.boundary(session_id)
    assert not home.memory.commits
    assert home.house.memory.learn(session_id) == 2
    wait_until(lambda: home.told(session_id) == [f"{session_id}:1-2"] * 2, "the lesson")
    assert home.memory.commits[0].texts == ("I prefer tea", "Noted", "I live in Oslo", "Nice")
    assert home.house.memory.learn(session_id) == 0
    home.say(session_id)
    home.ops.undo(session_id, 2)
    home.settle()
    assert home.memory.holds == {(session_id, "t1")}
    assert home.ops.usage(session_id)["turns"] == 1


def test_words_erased_while_memory_was_told_of_them_do_not_stay(home: Home) -> None:
    session_id = home.new()
    home.say(session_id, "my secret")
    gate = threading.Event()
    home.memory.steps.append(gate)
    home.house.memory.boundary(session_id)
    assert home.memory.begun.wait(20)
    home.ops.erase(session_id, 1)
    gate.set()
    wait_until(lambda: home.told(session_id)[0], "the end of the commit")
    wait_until(lambda: home.memory.erased[1:] and not home.outlooks(), "the second erase")
    assert set(home.memory.erased) == {(session_id, 1)}


def test_recalled_facts_go_to_the_model_and_their_ids_to_the_turn(home: Home) -> None:
    home.memory.knows = [Fact("f1", "The user lives in Oslo.", created_at=0.0)]
    session_id = home.new()
    home.say(session_id, "Where do I live?")
    system, user = home.house.agent.history[-1].messages
    assert system["role"] == "system" and "- The user lives in Oslo. (1970-01-01)" in system["content"]
    assert user == {"role": "user", "content": "Where do I live?"}
    session = home.load(session_id)
    assert list(session.turns[0].recalled) == ["f1"]
    assert "Oslo" not in str([message.content for message in session.messages])


def test_a_provider_that_hangs_holds_nothing_up(home: Home) -> None:
    gate = threading.Event()
    home.memory.steps.extend([gate, gate])
    hanging = [home.new(), home.new()]
    for session_id in hanging:
        home.say(session_id)
        home.house.memory.boundary(session_id)
    wait_until(lambda: len(home.memory.commits) == 2, "two commits that hang")
    other = home.new()
    home.say(other)
    home.maker.new(prev_session_id=other)
    home.say(hanging[0], "it goes on")
    home.house.runner.delete(hanging[1])
    home.house.memory.drain(0.05)
    gate.set()
    wait_until(lambda: home.told(other) == [f"{other}:1-1"], "the rest")


def test_a_dropped_batch_is_given_up(home: Home) -> None:
    session_id = home.new()
    home.say(session_id)
    home.memory.steps.append(FAIL)
    home.boundary(session_id)
    home.house.memory.drop_batch(session_id, f"{session_id}:1-1")
    home.boundary(session_id)
    home.settle()
    assert len(home.memory.commits) == 1 and not home.outlooks()


def test_a_batch_that_is_given_up_during_its_commit_leaves_nothing(home: Home) -> None:
    session_id = home.new()
    home.say(session_id)
    gate = threading.Event()
    home.memory.steps.append(gate)
    home.house.memory.boundary(session_id)
    assert home.memory.begun.wait(20)
    home.house.memory.drop_batch(session_id, f"{session_id}:1-1")
    gate.set()
    wait_until(lambda: home.memory.stored and not home.memory.holds, "the withdrawal")
    assert home.told(session_id) == [None]


def test_the_drain_commits_everything_once(home: Home) -> None:
    sessions = [home.new() for _ in range(10)]
    for session_id in sessions:
        home.say(session_id)
    home.house.memory.drain(10.0)
    home.crash()
    home.house.memory.recover()
    home.house.memory.drain(10.0)
    assert sorted(home.memory.batches()) == sorted((f"{name}:1-1", ("t1",)) for name in sessions)


def test_erased_words_leave_memory(home: Home) -> None:
    session_id = home.new()
    home.say(session_id)
    home.ops.erase(session_id, 1)
    home.settle()
    assert home.memory.erased == [(session_id, 1)]


def test_agents_of_a_server_are_its_own(home: Home) -> None:
    session_id = home.new()
    home.say(session_id)
    cycle = home.house.memory.lifecycle
    with pytest.raises(InvalidRequest, match="runs itself"):
        cycle.register_agent(session_id, object())
    cycle.unregister_agent(session_id)
    assert cycle.mark_turn_completed(session_id) == 1
    assert cycle.commit_session_memory(session_id, object())
    assert home.memory.batches() == [(f"{session_id}:1-1", ("t1",))]


def test_what_is_left_in_a_file_that_cannot_be_read_is_not_forgotten(home: Home) -> None:
    session_id = home.new()
    home.say(session_id)
    (home.folder / "sessions" / f"{session_id}.json").write_text("{")
    assert home.house.memory.lifecycle.has_uncommitted_work(session_id)
    assert not home.house.memory.lifecycle.discard_session(session_id)


def test_status_says_what_waits_and_why(home: Home) -> None:
    session_id = home.new()
    home.say(session_id)
    home.memory.steps.append(FAIL)
    home.boundary(session_id)
    status = home.house.memory.status()
    assert (status["provider"], status["healthy"], status["last_commit_at"]) == ("recording", True, None)
    assert [(row["session_id"], row["turns"], row["last_error"]) for row in status["uncommitted"]] == [
        (session_id, 1, "memory is down")
    ]
    own = home.ops.status(session_id)["memory"]
    assert (own["uncommitted_turns"], own["last_error"]) == (1, "memory is down")
    assert list(own["batches"]) == [f"{session_id}:1-1"]
    home.boundary(session_id)
    assert home.house.memory.status()["last_commit_at"] and not home.house.memory.status()["uncommitted"]


class Slow:
    """Holds one call of the provider: it has been done there, and its answer is on the way."""

    def __init__(self, home: Home, name: str) -> None:
        self.home, self.name = home, name
        self.begun, self.gate = threading.Event(), threading.Event()
        self.plain = getattr(home.memory, name)

    def __enter__(self) -> "Slow":
        setattr(self.home.memory, self.name, self._call)
        return self

    def _call(self, *arguments: object) -> None:
        self.plain(*arguments)
        self.begun.set()
        assert self.gate.wait(20)

    def __exit__(self, *_error: object) -> None:
        setattr(self.home.memory, self.name, self.plain)
        self.gate.set()


@pytest.mark.parametrize("end", ["delete", "crash", "nothing"])
@pytest.mark.parametrize("first", ["undo", "redo"])
def test_a_turn_that_moves_while_memory_is_called_is_in_step_in_the_end(
    home: Home, first: str, end: str
) -> None:
    session_id = home.new()
    home.say(session_id)
    home.boundary(session_id)
    if first == "redo":
        home.ops.undo(session_id)
        home.settle()
    moves = [home.ops.undo, home.ops.redo] if first == "undo" else [home.ops.redo, home.ops.undo]
    with Slow(home, "on_turns_undone" if first == "undo" else "on_turns_restored") as slow:
        moves[0](session_id)
        assert slow.begun.wait(20)
        moves[1](session_id)
        if end == "delete":
            home.house.runner.delete(session_id)
            slow.gate.set()
            home.ops.restore(session_id)
        if end == "crash":
            slow.gate.set()
            home.crash()
            home.house.memory.recover()
    home.settle()
    is_here = bool(home.load(session_id).line())
    assert is_here == (first == "undo")
    wait_until(lambda: home.memory.holds == ({(session_id, "t1")} if is_here else set()), "memory in step")
    assert home.load(session_id).turns[0].extra.keys() <= {"told_in"}


def test_an_undo_while_a_restored_chat_is_still_being_forgotten_stays_undone(home: Home) -> None:
    session_id = home.new()
    for text in ("one", "two"):
        home.say(session_id, text)
    home.boundary(session_id)
    with Slow(home, "on_turns_undone") as slow:
        home.house.runner.delete(session_id, forget=True)
        assert slow.begun.wait(20)
        home.ops.restore(session_id)
        home.ops.undo(session_id)
    home.settle()
    wait_until(lambda: home.memory.holds == {(session_id, "t1")}, "memory in step")


def test_a_wish_to_forget_outlives_the_emptied_trash(home: Home) -> None:
    session_id = home.new()
    home.say(session_id)
    home.boundary(session_id)
    with freeze_time("2026-01-01 10:00:00") as frozen:
        home.memory.undo_steps.append(FAIL)
        home.house.runner.delete(session_id, forget=True)
        wait_until(lambda: not home.memory.undo_steps, "the failure")
        assert home.ops.purge(None) == 0

        def is_purged() -> bool:
            frozen.tick(RETRY_S)
            home.house.memory.step()
            return home.ops.purge(None) == 1

        wait_until(is_purged, "the purge")
    assert not home.memory.holds


def test_a_turn_that_began_with_memory_off_is_never_told(home: Home) -> None:
    session_id = home.new()
    home.ops.keep_from_memory(session_id, True)
    gate = threading.Event()
    home.house.agent.enqueue("half", gate, "done")
    home.house.runner.send(session_id, Sending("my secret"))
    home.ops.keep_from_memory(session_id, False)
    gate.set()
    home.house.wait_idle(session_id)
    home.say(session_id, "no secret")
    home.boundary(session_id)
    (commit,) = home.memory.commits
    assert commit.turns == ("t2",) and "my secret" not in commit.texts


def test_a_turn_that_ends_during_a_commit_waits_for_its_own_boundary(home: Home) -> None:
    with freeze_time("2026-01-01 10:00:00") as frozen:
        home.crash()
        session_id = home.new()
        home.say(session_id)
        gate = threading.Event()
        home.memory.steps.append(gate)
        home.house.memory.boundary(session_id)
        assert home.memory.begun.wait(20)
        home.say(session_id)
        for _ in range(3):
            frozen.tick(10)
            home.house.memory.step()
        gate.set()
        wait_until(lambda: not home.house.memory.lifecycle.has_flights, "the end of the commit")
        home.house.memory.step()
        assert home.memory.batches() == [(f"{session_id}:1-1", ("t1",))]


@pytest.mark.parametrize("step", [STORE_AND_FAIL, FAIL])
def test_a_dropped_batch_that_was_stored_all_the_same_is_withdrawn(home: Home, step: str) -> None:
    session_id = home.new()
    home.say(session_id)
    home.memory.steps.append(step)
    home.boundary(session_id)
    home.memory.undo_steps.append(FAIL)
    home.house.memory.drop_batch(session_id, f"{session_id}:1-1")
    wait_until(lambda: not home.memory.undo_steps, "the failure")
    home.crash()
    home.house.memory.recover()
    home.settle()
    wait_until(lambda: not home.memory.holds, "the withdrawal")
    home.house.memory.learn(session_id)
    wait_until(lambda: home.memory.holds == {(session_id, "t1")}, "the commit")


def test_erased_words_leave_memory_after_a_failure_and_a_crash(home: Home) -> None:
    session_id = home.new()
    home.say(session_id)
    home.boundary(session_id)
    plain = home.memory.on_message_erased
    failed = threading.Event()

    def fail(*_arguments: object) -> None:
        failed.set()
        raise MemoryFailed("memory is down")

    home.memory.on_message_erased = fail  # type: ignore[method-assign]
    home.ops.erase(session_id, 1)
    assert failed.wait(20)
    home.crash()
    home.memory.on_message_erased = plain  # type: ignore[method-assign]
    home.house.memory.recover()
    home.settle()
    assert home.memory.erased == [(session_id, 1)]


def test_a_long_segment_is_told_in_pieces(home: Home) -> None:
    rows = [{"role": role, "content": f"{role} {at}"} for at in range(60) for role in ("user", "assistant")]
    session_id = home.maker.import_messages(rows).session_id
    home.house.memory.learn(session_id)
    wait_until(lambda: len(home.memory.stored) == 3, "the commits")
    assert [len(turns) for turns in home.memory.stored.values()] == [25, 25, 10]


def test_a_boundary_with_nothing_to_tell_does_not_end_the_turn_that_runs(home: Home) -> None:
    session_id = home.new()
    gate = threading.Event()
    home.house.agent.enqueue("half", gate, "done")
    home.house.runner.send(session_id, Sending("one"))
    home.boundary(session_id)
    gate.set()
    home.house.wait_idle(session_id)
    home.house.memory.step()
    assert home.memory.commits == [] and home.outlooks()[session_id].turns == 1
