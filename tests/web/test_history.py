"""Branches, clearing and usage over HTTP."""

from api.events import tool, tool_complete, usage
from tests.web.live_server import Client, LiveServer


def talk(live: LiveServer, *replies: object) -> str:
    session_id = live.client.new_session()
    for number, reply in enumerate(replies, start=1):
        live.agent.enqueue(*(reply if isinstance(reply, list) else [reply]))
        live.client.events(live.client.send(session_id, f"u{number}").json["stream_id"])
    return session_id


def branch(client: Client, session_id: str, **fields: object) -> str:
    answer = client.post("/api/session/branch", {"session_id": session_id, **fields})
    assert answer.status == 201, answer.raw
    assert answer.json["parent_session_id"] == session_id
    return str(answer.json["session_id"])


def test_a_branch_holds_the_line_up_to_its_message_and_owns_it(live: LiveServer) -> None:
    client = live.client
    session_id = talk(live, "a1", "a2")
    twin = branch(client, session_id, message_id=2, title="another way")
    assert client.contents(twin) == ["u1", "a1"]
    assert client.session(twin)["title"] == "another way"
    assert client.session(twin)["parent"] == {"session_id": session_id, "message_id": 2}
    client.events(client.send(twin, "u2b").json["stream_id"])
    client.post("/api/session/delete", {"session_id": session_id})
    assert client.contents(twin) == ["u1", "a1", "u2b", "echo 3"]
    client.post("/api/session/undo", {"session_id": twin, "count": 9})
    assert client.contents(twin) == []


def test_a_branch_never_parts_a_call_from_its_result(live: LiveServer) -> None:
    call = tool("c1", "read", {"path": "a"})
    session_id = talk(live, [call, tool_complete("c1", "read", "A", 0.1, False), "done"])
    twin = branch(live.client, session_id, message_id=2)
    assert [m["role"] for m in live.client.session(twin)["messages"]] == ["user", "assistant", "tool"]


def test_a_branch_of_a_message_off_the_line_is_refused(live: LiveServer) -> None:
    session_id = talk(live, "a1", "a2")
    live.client.post("/api/session/undo", {"session_id": session_id})
    answer = live.client.post("/api/session/branch", {"session_id": session_id, "message_id": 4})
    assert (answer.status, answer.json["code"]) == (400, "invalid_request")


def test_clear_empties_the_line_and_redo_brings_it_back(live: LiveServer) -> None:
    session_id = talk(live, "a1", "a2")
    assert live.client.send(session_id, "/reset").json["data"]["removed_count"] == 4
    assert live.client.contents(session_id) == []
    live.client.send(session_id, "/redo 2")
    assert live.client.contents(session_id) == ["u1", "a1", "u2", "a2"]


def test_a_chosen_model_and_a_system_prompt_reach_the_next_request(live: LiveServer) -> None:
    client = live.client
    session_id = talk(live, "a1")
    assert client.send(session_id, "/model qwen3:8b").json["data"]["model"] == "qwen3:8b"
    changes = {"session_id": session_id, "system_prompt": "Be brief."}
    assert client.post("/api/session/update", changes).json["session"]["model"] == "qwen3:8b"
    client.events(client.send(session_id, "u2").json["stream_id"])
    request = live.agent.history[-1]
    assert (request.model, request.messages[0]["content"]) == ("qwen3:8b", "Be brief.")
    client.post("/api/session/update", {"session_id": session_id, "model": None})
    assert client.send(session_id, "/model").json["data"]["model"] == "model-1"
    refused = client.post("/api/session/update", {"session_id": session_id, "agent": "nobody"})
    assert (refused.status, refused.json["code"]) == (400, "invalid_request")


def test_usage_adds_up_what_is_known_and_undo_never_lowers_it(live: LiveServer) -> None:
    client = live.client
    numbers = usage(input_tokens=1000, output_tokens=50, cache_read_tokens=None, context_tokens=1050)
    cached = usage(input_tokens=1000, output_tokens=50, cache_read_tokens=900, context_tokens=1050)
    half = usage(input_tokens=None, output_tokens=7, context_tokens=None)
    session_id = talk(live, "none", ["half", half], ["whole", numbers], ["cached", cached])
    for _ in range(2):
        spent = client.get(f"/api/session/usage?session_id={session_id}").json
        assert (spent["input_tokens"], spent["output_tokens"], spent["cache_read_tokens"]) == (2000, 107, 900)
        assert (spent["turns"], spent["unknown_turns"], spent["total_tokens"]) == (4, 2, 2107)
        assert spent["estimated_cost"] is None
        assert spent["by_model"][0]["model"] == "model-1"
        client.post("/api/session/undo", {"session_id": session_id})
    assert "unknown" in client.send(session_id, "/usage").json["output"]
    twin = branch(client, session_id)
    assert client.get(f"/api/session/usage?session_id={twin}").json["total_tokens"] is None
