"""A plain list of messages becomes a chat, or a report of what is wrong with it."""

import json
from typing import Any

import pytest

from api.events import usage
from tests.web.live_server import Client, LiveServer

CALL = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
GOOD = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Where is Oslo?", "timestamp": 1000.5},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "map"},
    {"role": "assistant", "content": "In Norway.", "reasoning": "hm", "odd": {"x": 1}},
    {"role": "user", "content": [{"type": "text", "text": "And this?"}, {"type": "new_kind", "x": 1}]},
]


def post(client: Client, messages: Any, **fields: Any) -> Any:
    return client.post("/api/session/import", {"messages": messages, **fields})


def test_an_imported_chat_is_whole_and_goes_on(live: LiveServer) -> None:
    answer = post(live.client, GOOD, id="../../victim", session_id="CON", workspace="/etc")
    assert answer.status == 201
    session = live.client.session(answer.json["session"]["session_id"])
    assert [m["role"] for m in session["messages"]] == [row["role"] for row in GOOD]
    assert session["messages"][1]["timestamp"] == session["messages"][2]["timestamp"] == 1000.5
    assert (session["title"], session["workspace"], session["source"]) == (
        "Where is Oslo?",
        None,
        {"kind": "import"},
    )
    live.client.events(live.client.send(session["session_id"], "more").json["stream_id"])
    assert live.agent.history[-1].messages[-1]["content"] == "more"
    undone = live.client.post("/api/session/undo", {"session_id": session["session_id"], "count": 9}).json
    assert undone["undone_turns"] == 3


@pytest.mark.parametrize(
    ("row", "word"),
    [
        ("text", "object"),
        (None, "object"),
        ({"content": "x"}, "role"),
        ({"role": "robot", "content": "x"}, "role"),
        ({"role": ["user"], "content": "x"}, "role"),
        ({"role": "user"}, "content"),
        ({"role": "user", "content": 7}, "content"),
        ({"role": "user", "content": []}, "content"),
        ({"role": "user", "content": ["bare"]}, "content"),
        ({"role": "user", "content": [{"type": "text", "text": None}]}, "content"),
        ({"role": "user", "content": "x", "timestamp": "now"}, "timestamp"),
        ({"role": "user", "content": "x", "timestamp": 1e300}, "timestamp"),
        ({"role": "user", "content": "x", "timestamp": True}, "timestamp"),
        ({"role": "user", "content": "x", "tool_calls": [CALL]}, "tool_calls"),
        ({"role": "assistant", "content": "x", "tool_calls": [{"id": 1}]}, "tool_calls"),
        ({"role": "assistant", "content": "x", "tool_calls": {"id": "c"}}, "tool_calls"),
        ({"role": "assistant", "content": "x", "tool_calls": [{"id": "c"}]}, "tool_calls"),
        ({"role": "tool", "content": "x", "tool_call_id": "c9"}, "tool_call_id"),
        ({"role": "tool", "content": "x"}, "tool_call_id"),
        ({"role": "user", "content": "x", "name": 7}, "name"),
    ],
)
def test_a_bad_row_is_named_and_nothing_is_written(live: LiveServer, row: Any, word: str) -> None:
    answer = post(live.client, [*GOOD, row, {"role": "user", "content": "fine"}])
    assert (answer.status, answer.json["code"]) == (400, "invalid_request")
    (failed,) = answer.json["details"]["failed"]
    assert failed["position"] == len(GOOD) + 1 and word in failed["reason"]
    assert live.client.get("/api/sessions").json["total"] == 0


@pytest.mark.parametrize("messages", [None, [], {}, "x", [[]]])
def test_what_is_no_list_of_messages_is_refused(client: Client, messages: Any) -> None:
    assert post(client, messages).status == 400


def test_a_file_that_breaks_json_is_refused(client: Client) -> None:
    raw = json.dumps({"messages": GOOD}).encode()[:-5]
    assert client.post("/api/session/import", raw).status == 400


def test_spending_is_told_by_day_model_and_agent(live: LiveServer) -> None:
    for number in range(2):
        session_id = live.client.new_session(model=f"m{number}")
        live.agent.enqueue("hello", usage(input_tokens=10, output_tokens=number, context_tokens=11))
        live.client.events(live.client.send(session_id, "hi").json["stream_id"])
    twin = live.client.post("/api/session/branch", {"session_id": session_id}).json["session_id"]
    assert live.client.get(f"/api/session/usage?session_id={twin}").json["turns"] == 0
    live.client.post("/api/session/delete", {"session_id": session_id})
    spent = live.client.get("/api/usage").json
    assert (spent["total"]["input_tokens"], spent["total"]["output_tokens"], spent["total"]["turns"]) == (
        20,
        1,
        2,
    )
    assert [(entry["model"], entry["input_tokens"]) for entry in spent["by_model"]] == [
        ("m0", 10),
        ("m1", 10),
    ]
    assert len(spent["by_day"]) == len(spent["by_agent"]) == 1
    assert live.client.get("/api/usage?days=0").status == 400


def test_a_copy_whose_original_is_gone_tells_of_no_turn(live: LiveServer) -> None:
    session_id = live.client.new_session()
    live.client.events(live.client.send(session_id, "hi").json["stream_id"])
    live.client.post("/api/session/branch", {"session_id": session_id})
    live.client.post("/api/session/delete", {"session_id": session_id})
    live.client.post("/api/trash/purge", {"session_id": session_id})
    spent = live.client.get("/api/usage").json
    assert (spent["by_day"], spent["by_model"], spent["by_agent"]) == ([], [], [])
