"""What a provider is sent: the active line, complete and without anything internal."""

import time

import pytest

from api.sessions import tree
from api.sessions.model import Session
from api.turns.attached import ATTACHMENT, resolve
from api.turns.prompt import SUMMARY_IS, request_messages


def call(tid: str) -> dict[str, object]:
    return {"id": tid, "type": "function", "function": {"name": "read", "arguments": "{}"}}


def with_tools() -> Session:
    session = Session("s1")
    session.append("system", "sys", 1.0)
    session.append("user", "u1", 1.0)
    session.append("assistant", "a1", 1.0, "t1", {"tool_calls": [call("c1"), call("c2")], "status": "x"})
    session.append("tool", "r1", 1.0, "t1", {"tool_call_id": "c1", "name": "read"})
    session.append("tool", "r2", 1.0, "t1", {"tool_call_id": "c2"})
    session.append("assistant", "a1b", 1.0)
    session.append("user", "u2", 1.0)
    session.append("assistant", "", 1.0, "t2", {"tool_calls": [call("c3")]})
    session.append("tool", "r3", 1.0, "t2", {"tool_call_id": "c3"})
    return session


def assert_calls_have_results(messages: list[dict[str, object]]) -> None:
    waiting: list[object] = []
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] == waiting.pop(0)
        else:
            assert not waiting
            waiting = [entry["id"] for entry in message.get("tool_calls", [])]  # type: ignore[attr-defined]
    assert not waiting


def test_calls_that_are_named_alike_keep_their_own_results() -> None:
    session = Session("s1")
    for turn, results in (("t1", ["r1", "r2"]), ("t2", []), ("t3", ["r3"])):
        session.append("user", turn, 1.0)
        names = [call("c1") for _ in results or [None]]
        session.append("assistant", "", 1.0, turn, {"tool_calls": names})
        for result in results:
            session.append("tool", result, 1.0, turn, {"tool_call_id": "c1"})
    messages = request_messages(session)
    assert_calls_have_results(messages)
    results = [message for message in messages if message["role"] == "tool"]
    assert [message["content"] for message in results] == ["r1", "r2", "(interrupted)", "r3"]
    assert len({message["tool_call_id"] for message in results}) == 4


@pytest.mark.parametrize(("undos", "count"), [(0, 10), (1, 7), (2, 2)])
def test_undo_across_tool_messages_leaves_a_whole_request(undos: int, count: int) -> None:
    session = with_tools()
    for _ in range(undos):
        tree.undo(session)
    session.append("user", "x", 2.0)
    messages = request_messages(session)
    assert len(messages) == count
    assert_calls_have_results(messages)
    assert {key for message in messages for key in message} <= {
        "role",
        "content",
        "tool_calls",
        "tool_call_id",
    }


def test_a_call_without_a_result_says_that_it_was_interrupted() -> None:
    session = Session("s1")
    session.append("user", "u", 1.0)
    session.append("assistant", "", 1.0, "t1", {"tool_calls": [call("c1")], "status": "interrupted"})
    session.append("user", "again", 1.0)
    messages = request_messages(session)
    assert messages[2] == {"role": "tool", "tool_call_id": "c1", "content": "(interrupted)"}


def test_a_turn_without_a_word_is_filled_in() -> None:
    session = Session("s1")
    session.append("user", "u1", 1.0)
    session.append("assistant", "", 1.0, "t1", {"status": "interrupted"})
    session.append("user", "u2", 1.0)
    session.append("user", "u3", 1.0)
    roles = [(m["role"], m["content"]) for m in request_messages(session)]
    no_reply = ("assistant", "(no reply)")
    assert roles == [("user", "u1"), no_reply, ("user", "u2"), no_reply, ("user", "u3")]


def test_a_summary_stands_for_what_it_covers() -> None:
    session = Session("s1")
    for number in (1, 2, 3):
        session.append("user", f"u{number}", 1.0)
        session.append("assistant", f"a{number}", 1.0)
    session.append("user", "so far", 1.0, None, {"kind": "summary", "covers": 2})
    session.append("user", "u4", 1.0)
    assert [m["content"] for m in request_messages(session) if m["content"] != "(no reply)"] == [
        SUMMARY_IS + "so far", "u2", "a2", "u3", "a3", "u4",
    ]  # fmt: skip


def test_a_notice_is_never_sent() -> None:
    session = Session("s1")
    session.append("user", "u1", 1.0)
    session.append("assistant", "older turns were left out", 1.0, None, {"kind": "notice"})
    assert [m["content"] for m in request_messages(session)] == ["u1"]


@pytest.mark.parametrize(
    ("content", "sent"),
    [
        (None, ""),
        ("", ""),
        (7, "7"),
        ({"a": 1}, ""),
        (["x", "y"], [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]),
        ([{"type": "text", "text": None}, {"type": "text", "text": "d"}], [{"type": "text", "text": "d"}]),
        ([{"type": "hologram", "z": 1}], ""),
        ([{"text": "no type"}], "no type"),
        (
            [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}],
            [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}],
        ),
    ],
)
def test_user_content_of_any_shape_can_be_sent(content: object, sent: object) -> None:
    session = Session("s1")
    session.append("user", content, 1.0)
    assert request_messages(session)[0]["content"] == sent


def test_a_file_of_backticks_alone_is_fenced_at_once() -> None:
    ticks = "`" * 256 * 1024
    messages = [{"role": "user", "content": [{"type": ATTACHMENT, "id": "blob:x", "filename": "a.md"}]}]
    begun = time.monotonic()
    (resolved,) = resolve(messages, lambda _id: ticks.encode(), None)
    assert time.monotonic() - begun < 1
    assert resolved["content"][0]["text"] == f"a.md\n{ticks}`\n{ticks}\n{ticks}`"
