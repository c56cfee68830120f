"""Turns from the send to the stored end: one at a time, nothing lost, nothing twice."""

import threading

import pytest

from api.errors import AgentError, Busy, InvalidRequest, NotFound, NothingToRetry, Unavailable
from api.sessions.model import DONE, FAILED, INTERRUPTED, STOPPED, ActiveTurn, TurnRecord
from api.turns.begin import Sending
from tests.conftest import House, build_house, wait_until


def send(house: House, session_id: str, text: str, **options: object) -> str:
    return house.runner.send(session_id, Sending(text), **options).turn_id  # type: ignore[arg-type]


def test_a_text_is_answered_and_stored(house: House) -> None:
    session_id = house.new_session().session_id
    house.agent.enqueue("In ", "Norway.")
    send(house, session_id, "Where is Oslo?")
    session = house.wait_idle(session_id)
    assert house.contents(session_id) == ["Where is Oslo?", "In Norway."]
    assert session.turns[0].state == DONE
    assert session.active_turn is None
    assert session.title == "Where is Oslo?"
    assert list(house.journal.entries()) == []


def test_the_words_of_the_user_are_on_disk_before_the_model_is_asked(house: House) -> None:
    session_id = house.new_session().session_id
    gate, seen = threading.Event(), []
    house.agent.enqueue(lambda stop: seen.append(house.store.path(session_id).read_text()), gate)
    send(house, session_id, "first of all")
    wait_until(lambda: seen)
    assert "first of all" in seen[0]
    gate.set()
    house.wait_idle(session_id)


def test_every_shown_word_is_in_the_journal(house: House) -> None:
    session_id = house.new_session().session_id
    gate = threading.Event()
    house.agent.enqueue("shown", gate, " later")
    turn_id = send(house, session_id, "q")
    stream = f"{session_id}.{turn_id}"
    wait_until(lambda: house.hub.last_seq(stream) == 2)
    assert [event.data["text"] for event in house.journal.read(session_id, turn_id)] == ["shown"]
    gate.set()
    house.wait_idle(session_id)


def test_a_second_text_waits_and_runs_after_the_first(house: House) -> None:
    session_id = house.new_session().session_id
    gate = threading.Event()
    house.agent.enqueue("a1", gate)
    send(house, session_id, "u1")
    second = house.runner.send(session_id, Sending("u2"))
    third = house.runner.send(session_id, Sending("u3"))
    assert (second.queued, second.position, third.position) == (True, 1, 2)
    gate.set()
    wait_until(lambda: len(house.contents(session_id)) == 6)
    house.wait_idle(session_id)
    assert [c for c in house.contents(session_id) if str(c).startswith("u")] == ["u1", "u2", "u3"]


def test_a_second_text_is_refused_where_the_sender_wants_that(house: House) -> None:
    session_id = house.new_session().session_id
    gate = threading.Event()
    house.agent.enqueue(gate)
    send(house, session_id, "u1")
    with pytest.raises(Busy):
        send(house, session_id, "u2", may_queue=False)
    gate.set()
    house.wait_idle(session_id)
    assert "u2" not in house.contents(session_id)


def test_the_same_client_id_is_one_turn_for_ever(house: House) -> None:
    session_id = house.new_session().session_id
    first = house.runner.send(session_id, Sending("u1", "c-1"))
    house.wait_idle(session_id)
    again = house.runner.send(session_id, Sending("u1", "c-1"))
    assert again.turn_id == first.turn_id
    assert len(house.contents(session_id)) == 2


def test_stop_keeps_what_has_arrived_and_holds_the_queue(house: House) -> None:
    session_id = house.new_session().session_id
    gate = threading.Event()
    house.agent.enqueue("half", gate, " never")
    turn_id = send(house, session_id, "u1")
    send(house, session_id, "u2")
    wait_until(lambda: house.hub.last_seq(f"{session_id}.{turn_id}") == 2)
    assert house.runner.cancel(session_id) == f"{session_id}.{turn_id}"
    session = house.wait_idle(session_id)
    assert house.contents(session_id) == ["u1", "half"]
    assert session.turns[0].state == STOPPED
    assert session.messages[-1].extra["status"] == STOPPED
    assert [item.content for item in session.queue] == ["u2"]
    send(house, session_id, "u3")
    wait_until(lambda: len(house.contents(session_id)) == 6)
    house.wait_idle(session_id)
    assert house.contents(session_id)[2::2] == ["u2", "u3"]


def test_a_stop_of_nothing_is_no_error(house: House) -> None:
    session_id = house.new_session().session_id
    assert house.runner.cancel(session_id) is None


def test_an_agent_that_ignores_a_stop_is_settled_by_a_step(house: House) -> None:
    session_id = house.new_session().session_id
    gate = threading.Event()
    house.agent.enqueue("half", lambda stop: gate.wait(20), " late")
    turn_id = send(house, session_id, "u1")
    wait_until(lambda: house.hub.last_seq(f"{session_id}.{turn_id}") == 2)
    house.runner.cancel(session_id)
    live = house.runner.active(session_id)
    assert live is not None
    house.runner.step()
    assert house.runner.active(session_id) is live
    live.stop_requested_at = house.clock.monotonic() - 2.0
    house.runner.step()
    assert house.store.load(session_id).turns[0].state == STOPPED
    send(house, session_id, "u2")
    house.wait_idle(session_id)
    gate.set()
    wait_until(lambda: house.agent.runs_ended == 2)
    assert house.contents(session_id) == ["u1", "half", "u2", "echo 2"]


@pytest.mark.parametrize(
    ("error", "state", "type"),
    [
        (AgentError("quota", type="quota_exhausted"), FAILED, "quota_exhausted"),
        (ValueError("boom"), FAILED, "provider_error"),
        (SystemExit(3), INTERRUPTED, "interrupted"),
    ],
)
def test_a_failure_keeps_the_words_and_frees_the_session(
    house: House, error: BaseException, state: str, type: str
) -> None:
    session_id = house.new_session().session_id
    house.agent.enqueue("half", error)
    send(house, session_id, "u1")
    session = house.wait_idle(session_id)
    assert house.contents(session_id) == ["u1", "half"]
    assert session.turns[0].state == state
    assert session.turns[0].error is not None
    assert session.turns[0].error["type"] == type
    house.runner.regenerate(session_id)
    house.wait_idle(session_id)
    assert house.contents(session_id) == ["u1", "echo 2"]
    assert [m["content"] for m in house.agent.history[1].messages] == ["u1"]


def test_a_lone_surrogate_of_an_agent_is_replaced_and_the_rest_kept(house: House) -> None:
    session_id = house.new_session().session_id
    house.agent.enqueue("ok \ud83d end 😀")
    send(house, session_id, "q")
    house.wait_idle(session_id)
    assert house.contents(session_id)[-1] == "ok \ufffd end 😀"


def test_regenerate_makes_a_variant_and_the_request_holds_the_text_once(house: House) -> None:
    session_id = house.new_session().session_id
    for _ in range(3):
        send(house, session_id, "ok")
        house.wait_idle(session_id)
    house.agent.enqueue("a4")
    house.runner.regenerate(session_id, client_id="r-1")
    house.wait_idle(session_id)
    assert house.runner.regenerate(session_id, client_id="r-1").turn_id == "t4"
    assert house.contents(session_id) == ["ok", "echo 1", "ok", "echo 2", "ok", "a4"]
    assert [m["content"] for m in house.agent.history[-1].messages] == ["ok", "echo 1", "ok", "echo 2", "ok"]


def test_a_regenerate_without_a_word_gives_the_old_reply_back(house: House) -> None:
    session_id = house.new_session().session_id
    send(house, session_id, "u1")
    house.wait_idle(session_id)
    house.agent.enqueue(AgentError("down"))
    house.runner.regenerate(session_id)
    session = house.wait_idle(session_id)
    assert house.contents(session_id) == ["u1", "echo 1"]
    assert session.turns[-1].state == FAILED


def test_regenerate_of_nothing_says_so(house: House) -> None:
    session_id = house.new_session().session_id
    with pytest.raises(NothingToRetry):
        house.runner.regenerate(session_id)
    with pytest.raises(InvalidRequest):
        house.runner.regenerate(session_id, message_id=4)


def test_edit_asks_with_the_new_wording_and_keeps_the_old(house: House) -> None:
    session_id = house.new_session().session_id
    send(house, session_id, "u1")
    house.wait_idle(session_id)
    house.runner.edit(session_id, 1, Sending("u1 other"))
    session = house.wait_idle(session_id)
    assert house.contents(session_id) == ["u1 other", "echo 2"]
    assert len(session.messages) == 4


def test_delete_while_a_turn_runs_ends_it_and_stays(house: House) -> None:
    session_id = house.new_session().session_id
    gate = threading.Event()
    house.agent.enqueue("half", lambda stop: gate.wait(20), " late")
    turn_id = send(house, session_id, "u1")
    wait_until(lambda: house.hub.last_seq(f"{session_id}.{turn_id}") == 2)
    attachment = house.hub.attach(f"{session_id}.{turn_id}", 0)
    house.runner.delete(session_id)
    gate.set()
    wait_until(lambda: house.agent.runs_ended == 1)
    assert not house.workers.stop(20)
    assert [p.event.type for p in attachment.listener.take(0)] == ["cancel"]
    house.hub.leave(attachment.listener)
    assert list((house.state_dir / "sessions").iterdir()) == []
    assert list(house.journal.entries()) == []
    with pytest.raises(NotFound):
        send(house, session_id, "u2")
    restored = house.store.restore(session_id)
    assert [m.content for m in restored.line()] == ["u1", "half"]
    assert restored.turns[0].state == STOPPED


def test_a_reply_that_ends_while_its_session_is_deleted_reads_as_cancelled(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    session_id = house.new_session().session_id
    gate = threading.Event()
    house.agent.enqueue("all", lambda stop: gate.wait(20))
    turn_id = send(house, session_id, "u1")
    wait_until(lambda: house.hub.last_seq(f"{session_id}.{turn_id}") == 2)
    attachment = house.hub.attach(f"{session_id}.{turn_id}", 2)
    remove = house.journal.remove

    def remove_late(*ids: str) -> None:
        """The worker comes to its end between the move of the file and the last event of the delete."""
        gate.set()
        worker.join(20)
        remove(*ids)

    worker = next(t for t in threading.enumerate() if t.name == f"turn {session_id}.{turn_id}")
    monkeypatch.setattr(house.journal, "remove", remove_late)
    house.runner.delete(session_id)
    assert [p.event.type for p in attachment.listener.take(0)] == ["cancel"]
    house.hub.leave(attachment.listener)


def test_at_most_eight_turns_work_and_the_others_follow(house: House) -> None:
    gate = threading.Event()
    ids = [house.new_session().session_id for _ in range(11)]
    positions = []
    for session_id in ids:
        house.agent.enqueue(gate, "done")
        started = house.runner.send(session_id, Sending("q"))
        assert not started.queued
        positions.append(started.position)
    assert positions == [0] * 8 + [1, 2, 3]
    wait_until(lambda: len(house.agent.history) == 8)
    assert house.runner.cancel(ids[10]) is not None
    assert house.store.load(ids[10]).turns[0].state == STOPPED
    gate.set()
    for session_id in ids[:10]:
        assert house.wait_idle(session_id).turns[0].state == DONE
    assert len(house.agent.history) == 10


def test_a_turn_of_an_ended_process_is_settled_at_the_next_start(house: House) -> None:
    session = house.new_session()
    with house.store.edit(session.session_id) as edited:
        message = edited.append("user", "u1", 5.0, edited.take_turn_id(), {"attachments": ["b" * 64]})
        edited.turns.append(TurnRecord("t1", message.id))
        edited.active_turn = ActiveTurn("t1", "other-boot", 5.0)
    journal = house.state_dir / "journal" / f"{session.session_id}.t1.jsonl"
    journal.write_bytes(
        b'{"type":"token","data":{"text":"seen "}}\n{"type":"token","data":{"text":"words"}}\n{"ty'
    )
    again = build_house(house.state_dir)
    assert again.runner.recover([]) == 1
    left = again.store.load(session.session_id)
    assert [m.content for m in left.line()] == ["u1", "seen words"]
    assert left.messages[0].timestamp == 5.0
    assert left.messages[0].extra["attachments"] == ["b" * 64]
    assert left.messages[1].extra["status"] == INTERRUPTED
    assert left.active_turn is None
    assert not journal.exists()
    assert again.runner.recover([]) == 0
    again.close()


FOREIGN_LINES = [
    b"\0\xff",
    b"[]",
    b'{"type":"token","data":{"text":5}}',
    b'{"type":"token","data":[]}',
    b'{"type":[],"data":{}}',
    b'{"type":"tool","data":{"tid":[],"name":"f","args":{}}}',
    b'{"type":"tool","data":{"tid":"c","name":"f"}}',
    b'{"type":"tool_complete","data":{"tid":"c"}}',
    b'{"type":"usage","data":{"context_tokens":"x"}}',
    b'{"type":"usage","data":[1]}',
]


@pytest.mark.parametrize("line", FOREIGN_LINES, ids=repr)
def test_a_line_that_no_turn_has_written_ends_a_journal(house: House, line: bytes) -> None:
    session = house.new_session()
    with house.store.edit(session.session_id) as edited:
        edited.append("user", "u1", 1.0, edited.take_turn_id())
        edited.turns.append(TurnRecord("t1", 1))
        edited.active_turn = ActiveTurn("t1", "another boot", 1.0)
    journal = house.state_dir / "journal" / f"{session.session_id}.t1.jsonl"
    journal.write_bytes(b'{"type":"token","data":{"text":"shown"}}\n' + line + b"\n")
    assert house.runner.recover([]) == 1
    assert house.contents(session.session_id) == ["u1", "shown"]


def test_a_journal_of_no_running_turn_is_removed(house: House) -> None:
    session = house.new_session()
    for name in (f"{session.session_id}.t9.jsonl", "20200101_000000_abcdef.t1.jsonl"):
        (house.state_dir / "journal" / name).write_bytes(b'{"type":"token","data":{"text":"x"}}\n')
    house.runner.recover([])
    assert list(house.journal.entries()) == []
    assert house.contents(session.session_id) == []


def test_a_dead_turn_does_not_hold_up_the_next_send(house: House) -> None:
    session = house.new_session()
    with house.store.edit(session.session_id) as edited:
        message = edited.append("user", "u1", 5.0, edited.take_turn_id())
        edited.turns.append(TurnRecord("t1", message.id))
        edited.active_turn = ActiveTurn("t1", "other-boot", 5.0)
    send(house, session.session_id, "u2")
    house.wait_idle(session.session_id)
    assert house.contents(session.session_id) == ["u1", "", "u2", "echo 1"]


def test_a_closing_runner_interrupts_and_refuses(house: House) -> None:
    session_id = house.new_session().session_id
    gate = threading.Event()
    house.agent.enqueue("half", gate)
    turn_id = send(house, session_id, "u1")
    wait_until(lambda: house.hub.last_seq(f"{session_id}.{turn_id}") == 2)
    house.runner.close(0.0)
    assert house.store.load(session_id).turns[0].state == INTERRUPTED
    with pytest.raises(Unavailable):
        send(house, session_id, "u2")


def test_a_save_that_fails_at_the_start_leaves_the_session_idle(house: House) -> None:
    session_id = house.new_session().session_id
    folder = house.state_dir / "sessions"
    folder.rename(folder.with_name("away"))
    with pytest.raises(NotFound):
        send(house, session_id, "u1")
    folder.with_name("away").rename(folder)
    assert house.runner.active(session_id) is None
    send(house, session_id, "u1")
    house.wait_idle(session_id)


def test_two_texts_at_one_moment_are_both_answered_in_order(house: House) -> None:
    session_id = house.new_session().session_id
    barrier = threading.Barrier(2)

    def say(text: str) -> None:
        barrier.wait()
        send(house, session_id, text)

    for number in range(20):
        house.workers.spawn("a", lambda number=number: say(f"A{number}"))
        house.workers.spawn("b", lambda number=number: say(f"B{number}"))
        wait_until(lambda number=number: len(house.contents(session_id)) == 4 * (number + 1))
        house.wait_idle(session_id)
    line = house.store.load(session_id).line()
    assert [m.role for m in line] == ["user", "assistant"] * 40
    assert sorted(str(m.content) for m in line[::2]) == sorted(f"{x}{n}" for x in "AB" for n in range(20))
