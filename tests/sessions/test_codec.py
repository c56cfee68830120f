"""The session file: what goes in comes out, unknown fields stay, damage is named."""

from typing import Any

import orjson
import pytest

from api.errors import Damaged, NewerVersion
from api.sessions.codec import decode, encode
from api.sessions.model import ActiveTurn, QueueItem, Session, TurnRecord


def sample() -> Session:
    session = Session("20261130_101500_a1b2c3", title="Oslo", created_at=1.0)
    session.append("user", "Where is Oslo?", 1.0, session.take_turn_id(), {"x-own": [1, {"a": None}]})
    session.append("assistant", "In Norway.", 2.0, "t1", {"reasoning": "hm"})
    session.turns.append(TurnRecord("t1", 1, state="done", usage={"input_tokens": 9}, extra={"later": 1}))
    session.queue.append(QueueItem(session.take_turn_id(), "next", 3.0, "c-1"))
    session.active_turn = ActiveTurn("t1", "boot", 1.0)
    session.extra = {"from_the_future": {"deep": [1, 2]}}
    return session


def test_a_session_comes_back_as_it_was() -> None:
    assert decode(encode(sample())) == sample()


def test_saving_again_gives_the_same_bytes() -> None:
    raw = encode(sample())
    assert encode(decode(raw)) == raw


def test_metadata_stands_before_the_messages() -> None:
    names = list(orjson.loads(encode(sample())))
    assert names[:2] == ["session_id", "schema_version"]
    assert names[-1] == "messages"


def test_a_newer_version_is_refused_by_name() -> None:
    data = orjson.loads(encode(sample())) | {"schema_version": 2}
    with pytest.raises(NewerVersion):
        decode(orjson.dumps(data))


@pytest.mark.parametrize("content", [None, "", 7, {"a": 1}, ["x", "y"], [{"type": "other", "z": 1}], True])
def test_content_of_any_shape_is_kept(content: object) -> None:
    data = orjson.loads(encode(sample()))
    data["messages"][0]["content"] = content
    session = decode(orjson.dumps(data))
    assert session.messages[0].content == content
    assert orjson.loads(encode(session))["messages"][0]["content"] == content


def test_a_message_without_content_or_time_is_read() -> None:
    data = orjson.loads(encode(sample()))
    del data["messages"][0]["content"], data["messages"][0]["timestamp"]
    assert decode(orjson.dumps(data)).messages[0].content is None


@pytest.mark.parametrize("title", [None, ["a"], 7])
def test_a_title_that_is_no_text_reads_as_none(title: object) -> None:
    data = orjson.loads(encode(sample())) | {"title": title}
    assert decode(orjson.dumps(data)).title == ""


def test_a_time_that_no_calendar_has_reads_as_none() -> None:
    data = orjson.loads(encode(sample())) | {"created_at": 1e308, "updated_at": -1e308}
    data["messages"][0]["timestamp"] = 1e306
    session = decode(orjson.dumps(data))
    assert [session.created_at, session.updated_at, session.messages[0].timestamp] == [0.0, 0.0, 0.0]


DAMAGES = {
    "empty": lambda raw, data: b"",
    "cut": lambda raw, data: raw[: len(raw) * 6 // 10],
    "nul": lambda raw, data: b"\0" * len(raw),
    "list": lambda raw, data: b"[]",
    "no version": lambda raw, data: orjson.dumps({k: v for k, v in data.items() if k != "schema_version"}),
    "no messages": lambda raw, data: orjson.dumps({k: v for k, v in data.items() if k != "messages"}),
    "messages null": lambda raw, data: orjson.dumps(data | {"messages": None}),
    "message is text": lambda raw, data: orjson.dumps(data | {"messages": ["x"]}),
    "head nowhere": lambda raw, data: orjson.dumps(data | {"head": 99}),
    "head is true": lambda raw, data: orjson.dumps(data | {"head": True}),
    "parent ahead": lambda raw, data: orjson.dumps(
        data | {"messages": [data["messages"][0] | {"parent": 2}, data["messages"][1]]}
    ),
    "ids with a gap": lambda raw, data: orjson.dumps(
        data | {"messages": [data["messages"][0], data["messages"][1] | {"id": 3}]}
    ),
    "tips are a list": lambda raw, data: orjson.dumps(data | {"tips": []}),
    "turns are text": lambda raw, data: orjson.dumps(data | {"turns": "t1"}),
    "seen is text": lambda raw, data: orjson.dumps(data | {"seen": "2"}),
    "agent is a list": lambda raw, data: orjson.dumps(data | {"agent": []}),
    "usage is text": lambda raw, data: orjson.dumps(data | {"turns": [data["turns"][0] | {"usage": "x"}]}),
    "turn id is a number": lambda raw, data: orjson.dumps(data | {"turns": [data["turns"][0] | {"id": 7}]}),
    "turn of a message is a list": lambda raw, data: orjson.dumps(
        data | {"messages": [data["messages"][0] | {"turn": []}, data["messages"][1]]}
    ),
    "revision is text": lambda raw, data: orjson.dumps(data | {"revision": "7"}),
}


WRONG = [
    ("seen", []),
    ("agent", [1]),
    ("redo", {}),
    ("tags", [None]),
    ("next_turn", 2**63),
    ("active_turn", {"turn_id": "t9", "boot_id": "b", "started_at": 1.0}),
    ("turns", 0, "id", []),
    ("turns", 0, "id", "../x"),
    ("turns", 0, "state", "odd"),
    ("turns", 0, "started_at", 1e20),
    ("turns", 0, "finished_at", -1e20),
    ("queue", 0, "queued_at", 1e300),
    ("turns", 0, "usage", "x"),
    ("turns", 0, "usage", {"input_tokens": "9"}),
    ("turns", 0, "error", {"message": 1}),
    ("queue", 0, "attachments", True),
    ("active_turn", "turn_id", "a\0b"),
    ("active_turn", "prior_head", 99),
    ("messages", 0, "turn", []),
    ("messages", 1, "tool_calls", True),
    ("messages", 1, "tool_calls", [{"id": []}]),
    ("messages", 1, "tool_calls", [{"id": "c", "function": 1}]),
    ("messages", 1, "reasoning", {}),
]


@pytest.mark.parametrize("change", WRONG, ids=repr)
def test_a_field_with_a_value_it_cannot_have_is_damage(change: tuple[Any, ...]) -> None:
    data = orjson.loads(encode(sample()))
    *path, name, value = change
    place = data
    for step in path:
        place = place[step]
    place[name] = value
    with pytest.raises(Damaged):
        decode(orjson.dumps(data))


@pytest.mark.parametrize("depth", [228, 300])
def test_what_cannot_be_shown_or_written_again_is_damage(depth: int) -> None:
    raw = encode(sample()).replace(b'"deep":[1,2]', b'"deep":' + b"[" * depth + b"]" * depth)
    if depth < 230:
        assert encode(decode(raw)) == raw
    else:
        with pytest.raises(Damaged):
            decode(raw)


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_file_is_named_as_such(kind: str) -> None:
    raw = encode(sample())
    with pytest.raises(Damaged):
        decode(DAMAGES[kind](raw, orjson.loads(raw)))


def test_a_file_cut_at_any_byte_is_damaged() -> None:
    raw = encode(sample()).rstrip()
    for place in range(len(raw)):
        with pytest.raises(Damaged):
            decode(raw[:place])


def test_a_turn_number_in_use_is_never_given_out_again() -> None:
    data = orjson.loads(encode(sample()))
    for low in ({"next_turn": 1}, {}):
        read = decode(orjson.dumps({name: v for name, v in data.items() if name != "next_turn"} | low))
        assert read.take_turn_id() == "t3"


def test_an_unknown_field_is_kept_whatever_its_name() -> None:
    data = orjson.loads(encode(sample())) | {"extra": {"x": 1}, "": 2}
    again = orjson.loads(encode(decode(orjson.dumps(data))))
    assert (again["extra"], again[""]) == ({"x": 1}, 2)
