"""/compress sums up the older turns for the model; nothing leaves the conversation."""

import threading
from pathlib import Path

import pytest

from api.errors import AgentError, Busy, NothingToCompress
from api.sessions import tree
from api.sessions.copying import copy_line, copy_whole
from api.turns.begin import Sending
from tests.conftest import House, build_house


def talk(house: House, turns: int) -> str:
    session_id = house.new_session().session_id
    for number in range(1, turns + 1):
        house.agent.enqueue(f"a{number}")
        house.runner.send(session_id, Sending(f"u{number}"))
        house.wait_idle(session_id)
    return session_id


def compress(house: House, session_id: str, *steps: object, focus: str = "") -> None:
    house.agent.enqueue(*(steps or ("They talked.",)))  # type: ignore[arg-type]
    house.runner.compress(session_id, focus)
    house.wait_idle(session_id)


def sent(house: House, session_id: str, text: str) -> list[str]:
    house.runner.send(session_id, Sending(text))
    house.wait_idle(session_id)
    return [message["content"] for message in house.agent.history[-1].messages]


def test_the_model_gets_the_summary_and_the_last_two_turns(house: House) -> None:
    session_id = talk(house, 4)
    compress(house, session_id, "They talked about u1 and u2.", focus="the numbers")
    asked = house.agent.history[-1].messages
    assert [m["content"] for m in asked[:-1]] == ["u1", "a1", "u2", "a2"]
    assert asked[-1]["role"] == "user" and "the numbers" in asked[-1]["content"]
    assert house.contents(session_id)[-1] == "They talked about u1 and u2."
    assert house.contents(session_id)[:8] == ["u1", "a1", "u2", "a2", "u3", "a3", "u4", "a4"]
    request = sent(house, session_id, "u5")
    assert request[0].endswith("They talked about u1 and u2.")
    assert [text for text in request[1:] if text != "(no reply)"] == ["u3", "a3", "u4", "a4", "u5"]


def test_a_second_summary_takes_in_the_first(house: House) -> None:
    session_id = talk(house, 3)
    compress(house, session_id, "first summary")
    with pytest.raises(NothingToCompress):
        house.runner.compress(session_id)
    sent(house, session_id, "u4")
    sent(house, session_id, "u5")
    compress(house, session_id, "second summary")
    asked = [m["content"] for m in house.agent.history[-1].messages]
    assert asked[0].endswith("first summary") and "u2" in asked and "u3" in asked and "u1" not in asked
    request = sent(house, session_id, "u6")
    assert request[0].endswith("second summary") and "first summary" not in " ".join(request)


@pytest.mark.parametrize("turns", [0, 1, 2])
def test_with_two_turns_or_fewer_there_is_nothing_to_sum_up(house: House, turns: int) -> None:
    session_id = talk(house, turns)
    before = house.store.load(session_id)
    with pytest.raises(NothingToCompress):
        house.runner.compress(session_id)
    assert house.store.load(session_id) == before


def test_it_is_busy_and_can_be_stopped_and_then_nothing_has_changed(house: House) -> None:
    session_id = talk(house, 3)
    gate = threading.Event()
    house.agent.enqueue("half a summ", gate)
    house.runner.compress(session_id)
    with pytest.raises(Busy):
        house.runner.compress(session_id)
    house.runner.send(session_id, Sending("waits"))
    assert house.runner.cancel(session_id)
    session = house.wait_idle(session_id)
    assert house.contents(session_id) == ["u1", "a1", "u2", "a2", "u3", "a3"]
    assert (session.turns[-1].kind, session.turns[-1].state) == ("compress", "stopped")
    assert [item.content for item in session.queue] == ["waits"]


@pytest.mark.parametrize("step", [AgentError("overloaded"), " \n"])
def test_a_failure_or_an_empty_summary_changes_nothing(house: House, step: object) -> None:
    session_id = talk(house, 3)
    compress(house, session_id, step)
    assert house.contents(session_id) == ["u1", "a1", "u2", "a2", "u3", "a3"]
    assert house.store.load(session_id).turns[-1].state == "failed"


def test_a_text_sent_meanwhile_follows_with_the_summary(house: House) -> None:
    session_id = talk(house, 3)
    gate = threading.Event()
    house.agent.enqueue("the summary", gate)
    house.runner.compress(session_id)
    assert house.runner.send(session_id, Sending("next")).queued
    gate.set()
    house.wait_idle(session_id)
    assert house.contents(session_id)[6:8] == ["the summary", "next"]
    assert house.agent.history[-1].messages[0]["content"].endswith("the summary")


def test_undo_takes_the_summary_with_the_turn_before_it(house: House) -> None:
    session_id = talk(house, 3)
    compress(house, session_id)
    with house.store.edit(session_id) as session:
        undone = tree.undo(session)
    assert undone.turns == 1 and len(undone.messages) == 3
    assert house.contents(session_id) == ["u1", "a1", "u2", "a2"]
    with house.store.edit(session_id) as session:
        tree.redo(session)
    assert house.contents(session_id)[-1] == "They talked."


def test_a_server_killed_while_it_compresses_has_the_old_conversation(house: House, tmp_path: Path) -> None:
    session_id = talk(house, 3)
    gate = threading.Event()
    house.agent.enqueue("half a summ", gate)
    house.runner.compress(session_id)
    other = build_house(tmp_path / "copy")
    for folder in ("sessions", "journal"):
        for path in (house.state_dir / folder).iterdir():
            (other.state_dir / folder / path.name).write_bytes(path.read_bytes())
    other.runner.recover([session_id])
    assert other.contents(session_id) == ["u1", "a1", "u2", "a2", "u3", "a3"]
    assert other.store.load(session_id).turns[-1].state == "interrupted"
    other.close()
    gate.set()
    house.wait_idle(session_id)


def test_a_copy_keeps_the_summary(house: House) -> None:
    session_id = talk(house, 4)
    compress(house, session_id)
    source = house.store.load(session_id)
    for twin in (copy_line(source, "twin-1", None, 1.0), copy_whole(source, "twin-2", 1.0)):
        house.store.create(twin)
        request = sent(house, twin.session_id, "more")
        assert request[0].endswith("They talked.") and "u1" not in request and "u3" in request
