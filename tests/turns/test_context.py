"""What is left out of a request when a conversation outgrows its model."""

from api.errors import AgentError
from api.turns.begin import Sending
from api.turns.context import fit, newer_half
from tests.conftest import House


def talk(turns: int, size: int = 300) -> list[dict[str, object]]:
    messages: list[dict[str, object]] = [{"role": "system", "content": "be kind"}]
    for number in range(turns):
        messages.append({"role": "user", "content": f"u{number} " + "x" * size})
        messages.append({"role": "assistant", "content": f"a{number}"})
    messages.append({"role": "user", "content": "now"})
    return messages


def test_what_fits_is_sent_whole() -> None:
    assert fit(talk(3), 4096) == talk(3)
    assert fit(talk(500), None) == talk(500)


def test_whole_turns_are_left_out_from_the_oldest_on() -> None:
    sent = fit(talk(100), 4096)
    assert sent[0]["role"] == "system"
    assert sent[1]["role"] == "user"
    assert sent[-1]["content"] == "now"
    assert sent[1:] == talk(100)[-len(sent) + 1 :]
    assert 10 < len(sent) < 100


def test_the_last_message_is_sent_however_long_it_is() -> None:
    long = [{"role": "user", "content": "x" * 100_000}]
    assert fit(long, 4096) == long
    assert newer_half(long) is None


def test_the_newer_half_keeps_system_and_question() -> None:
    half = newer_half(talk(4))
    assert half is not None
    assert [m["content"][:3] for m in half] == ["be ", "u3 ", "a3", "now"]  # type: ignore[index]


def test_a_context_that_is_exceeded_is_tried_once_more_with_the_newer_half(house: House) -> None:
    session_id = house.new_session().session_id
    for number in range(4):
        house.runner.send(session_id, Sending(f"u{number}"))
        house.wait_idle(session_id)
    house.agent.enqueue(AgentError("too long", type="context_exceeded"))
    house.agent.enqueue("fits")
    turn_id = house.runner.send(session_id, Sending("u4")).turn_id
    house.wait_idle(session_id)
    *_, reply, notice = house.store.load(session_id).line()
    assert reply.content == "fits" and notice.kind == "notice"
    assert len(house.contents(session_id)) == 11
    assert [m["content"] for m in house.agent.history[-1].messages] == ["u3", "echo 4", "u4"]
    attachment = house.hub.attach(f"{session_id}.{turn_id}", 0)
    assert "notice" in [published.event.type for published in attachment.replay]
    house.hub.leave(attachment.listener)


def test_what_was_left_out_is_told_once_a_conversation_and_stays(house: House) -> None:
    session_id = house.new_session().session_id
    house.runner.send(session_id, Sending("u0"))
    house.wait_idle(session_id)
    for number in (1, 2):
        house.agent.enqueue(AgentError("too long", type="context_exceeded"))
        house.agent.enqueue(f"fits {number}")
        house.runner.send(session_id, Sending(f"u{number}"))
        house.wait_idle(session_id)
    line = house.store.load(session_id).line()
    assert [m.kind for m in line] == [None, None, None, None, "notice", None, None]
    assert all("left out" not in str(request.messages) for request in house.agent.history)
