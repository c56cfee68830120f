"""A turn as a value: what its events make of it."""

from api.events import token, tool, tool_complete, usage
from api.turns.turn import Turn


def after(*events: object) -> Turn:
    turn = Turn("s1", "t1")
    for event in events:
        turn = turn.apply(event)  # type: ignore[arg-type]
    return turn


def test_pieces_join_to_one_reply() -> None:
    assert after(token("a"), token("b")).messages() == [("assistant", "ab", {})]


def test_a_turn_without_a_word_has_no_messages() -> None:
    assert after().messages() == []


def test_a_call_and_its_result_stand_between_two_answers() -> None:
    turn = after(
        token("look"),
        tool("c1", "read", {"path": "a"}),
        tool("c2", "read", {"path": "b"}),
        tool_complete("c2", "read", "B", 0.5, False),
        tool_complete("c1", "read", "A", 0.5, True),
        token("done"),
    )
    roles = [(role, content) for role, content, _ in turn.messages()]
    assert roles == [("assistant", "look"), ("tool", "A"), ("tool", "B"), ("assistant", "done")]
    assert [call["id"] for call in turn.messages()[0][2]["tool_calls"]] == ["c1", "c2"]
    assert turn.messages()[1][2] == {"tool_call_id": "c1", "name": "read", "is_error": True}


def test_a_call_without_a_result_keeps_its_place() -> None:
    messages = after(tool("c1", "read", None)).messages()
    assert [role for role, _, _ in messages] == ["assistant"]
    assert messages[0][2]["tool_calls"][0]["function"]["arguments"] == "{}"


def test_usage_of_two_calls_adds_up_and_unknown_stays_unknown() -> None:
    turn = after(
        usage(input_tokens=None, output_tokens=7, context_tokens=None),
        usage(input_tokens=1000, output_tokens=50, cache_read_tokens=900, context_tokens=1050),
    )
    assert turn.usage is not None
    assert turn.usage["input_tokens"] == 1000
    assert turn.usage["output_tokens"] == 57
    assert turn.usage["reasoning_tokens"] is None
    assert turn.usage["context_tokens"] == 1050
