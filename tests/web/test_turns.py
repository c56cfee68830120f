"""A message over HTTP: sent, streamed, stopped, read again."""

import threading

import pytest

from tests.conftest import wait_until
from tests.web.live_server import Client, LiveServer


def types(events: list[tuple[str, str, object]]) -> list[str]:
    return [name for _, name, _ in events]


def test_a_message_is_accepted_streamed_and_stored(live: LiveServer) -> None:
    client = live.client
    session_id = client.new_session()
    live.agent.enqueue("In ", "Norway.")
    answer = client.send(session_id, "Where is Oslo?")
    assert answer.status == 202
    assert answer.json["stream_id"] == f"{session_id}.t1"
    assert not answer.json["queued"]
    events = client.events(answer.json["stream_id"])
    assert types(events)[0] == "turn_started"
    assert types(events)[-1] == "done"
    assert [id for id, _, _ in events] == [f"{session_id}.t1:{n}" for n in range(1, len(events) + 1)]
    assert "".join(data["text"] for _, name, data in events if name == "token") == "In Norway."
    assert events[-1][2]["message_ids"] == [2]
    assert client.contents(session_id) == ["Where is Oslo?", "In Norway."]
    assert client.session(session_id)["title"] == "Where is Oslo?"


def test_a_reader_that_comes_back_misses_nothing_and_gets_nothing_twice(live: LiveServer) -> None:
    client = live.client
    session_id = client.new_session()
    gate = threading.Event()
    live.agent.enqueue("one ", gate, "two")
    stream_id = client.send(session_id, "q").json["stream_id"]
    with client.stream(f"/api/chat/stream?stream_id={stream_id}") as reader:
        assert reader.until("token") == {"text": "one "}
    assert client.session(session_id)["active_turn"]["stream_id"] == stream_id
    gate.set()
    assert types(client.events(stream_id, after_seq=2)) == ["token", "done"]
    with client.stream(f"/api/chat/stream?stream_id={stream_id}", Last_Event_ID=f"{stream_id}:3") as reader:
        assert types(list(reader)) == ["done"]


def test_a_stream_of_an_earlier_process_is_told_from_the_file(live: LiveServer) -> None:
    client = live.client
    session_id = client.new_session()
    live.agent.enqueue("answer")
    stream_id = client.send(session_id, "q").json["stream_id"]
    client.events(stream_id)
    live.services.hub._streams.clear()
    events = client.events(stream_id, after_seq=99)
    assert types(events) == ["turn_started", "snapshot", "done"]
    assert events[1][2]["text"] == "answer"
    assert events[2][2]["message_ids"] == [2]


def test_a_cursor_that_is_too_old_gets_a_snapshot(live: LiveServer) -> None:
    client = live.client
    session_id = client.new_session()
    gate = threading.Event()
    live.agent.enqueue("one ", gate, "two")
    stream_id = client.send(session_id, "q").json["stream_id"]
    wait_until(lambda: live.services.hub.last_seq(stream_id) == 2)
    live.services.hub._streams[stream_id].tail.clear()
    with client.stream(f"/api/chat/stream?stream_id={stream_id}") as reader:
        assert reader.until("snapshot")["text"] == "one "
        gate.set()
        assert types(list(reader)) == ["token", "done"]


def test_the_stream_of_a_waiting_text_begins_when_its_turn_begins(live: LiveServer) -> None:
    client = live.client
    session_id = client.new_session()
    gate = threading.Event()
    live.agent.enqueue(gate, "a1")
    client.send(session_id, "u1")
    second = client.send(session_id, "u2").json
    assert (second["queued"], second["position"]) == (True, 1)
    with client.stream(f"/api/chat/stream?stream_id={second['stream_id']}") as reader:
        gate.set()
        assert types(list(reader))[0] == "turn_started"
    assert client.contents(session_id) == ["u1", "a1", "u2", "echo 2"]


def test_stop_ends_the_stream_and_keeps_the_words(live: LiveServer) -> None:
    client = live.client
    session_id = client.new_session()
    gate = threading.Event()
    live.agent.enqueue("half", gate, "never")
    stream_id = client.send(session_id, "q").json["stream_id"]
    with client.stream(f"/api/chat/stream?stream_id={stream_id}") as reader:
        reader.until("token")
        answer = client.post("/api/chat/cancel", {"stream_id": stream_id})
        assert answer.json == {"ok": True, "cancelled": True, "stream_id": stream_id}
        assert reader.until("cancel")["message_ids"] == [2]
    again = client.post("/api/chat/cancel", {"session_id": session_id})
    assert (again.status, again.json["cancelled"]) == (200, False)
    assert client.session(session_id)["messages"][-1]["status"] == "stopped"
    status = client.get(f"/api/chat/stream/status?stream_id={stream_id}").json
    assert (status["active"], status["terminal_state"]) == (False, "stopped")


def test_a_client_that_leaves_ends_its_stream_and_not_the_turn(live: LiveServer) -> None:
    client = live.client
    session_id = client.new_session()
    gate = threading.Event()
    live.agent.enqueue("one ", gate, "two")
    stream_id = client.send(session_id, "q").json["stream_id"]
    with client.stream(f"/api/chat/stream?stream_id={stream_id}") as reader:
        reader.until("token")
    wait_until(lambda: live.services.hub.listeners() == 0, "the end of the stream")
    gate.set()
    live_session = live.services.runner
    wait_until(lambda: live_session.active(session_id) is None)
    assert client.contents(session_id) == ["q", "one two"]


def test_the_sixty_fifth_stream_is_refused_and_the_server_still_answers(live: LiveServer) -> None:
    client = live.client
    from contextlib import ExitStack

    with ExitStack() as stack:
        for _ in range(64):
            stack.enter_context(client.stream("/api/events")).until("hello")
        refused = client.get("/api/events")
        assert (refused.status, refused.json["code"]) == (503, "unavailable")
        assert refused.headers["Retry-After"]
        assert client.get("/health").status == 200
        session_id = client.new_session()
        assert client.post("/api/chat/cancel", {"session_id": session_id}).status == 200
    wait_until(lambda: live.services.hub.listeners() == 0, "the end of all streams")
    with client.stream("/api/events") as reader:
        reader.until("hello")


def test_all_events_of_all_sessions_come_over_one_stream(live: LiveServer) -> None:
    client = live.client
    with client.stream("/api/events") as reader:
        hello = reader.until("hello")
        session_id = client.new_session(title="seen elsewhere")
        changed = reader.until("sessions_changed")
        assert changed["row"]["title"] == "seen elsewhere"
        stream_id = client.send(session_id, "q").json["stream_id"]
        assert reader.until("done")["stream_id"] == stream_id
    with client.stream(f"/api/events?cursor={hello['cursor']}") as reader:
        assert reader.until("sessions_changed")["session_id"] == session_id
        assert reader.until("done")["stream_id"] == stream_id
    with client.stream("/api/events?cursor=other-boot:7") as reader:
        assert reader.until("reset")


@pytest.mark.parametrize(
    "stream_id", ["x", "a.b.c", "../x.t1", "20260101_000000_aaaaaa.t1", "a." + "t" * 150]
)
def test_a_stream_that_never_was_is_not_found(client: Client, stream_id: str) -> None:
    for path in ("stream", "stream/status"):
        assert client.get(f"/api/chat/{path}?stream_id={stream_id}").status == 404


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"message": ""},
        {"message": " \n"},
        {"message": []},
        {"message": None},
        {"message": 7},
        {"message": {"text": "x"}},
        {"message": [{"text": "no type"}]},
        {"message": "x", "if_busy": "perhaps"},
        {"message": "x", "client_id": "c" * 129},
        {"message": "x", "as_text": "yes"},
        {"message": "x", "expected_revision": -1},
        {"message": "x", "edit": 0},
        {"regenerate": True, "message_id": 99},
    ],
)
def test_a_bad_send_is_refused_and_stores_nothing(client: Client, body: dict[str, object]) -> None:
    session_id = client.new_session()
    answer = client.post("/api/chat/start", {"session_id": session_id, **body})
    assert answer.status == 400, answer.raw
    assert answer.json["code"] == "invalid_request"
    assert client.session(session_id)["messages"] == []


def test_a_stale_revision_is_refused_with_the_current_one(client: Client) -> None:
    session_id = client.new_session()
    answer = client.send(session_id, "q", expected_revision=9)
    assert (answer.status, answer.json["code"]) == (409, "stale_revision")
    assert answer.json["details"] == {"revision": 1}


def test_the_same_client_id_is_one_turn(live: LiveServer) -> None:
    client = live.client
    session_id = client.new_session()
    first = client.send(session_id, "q", client_id="c-1").json
    client.events(first["stream_id"])
    assert client.send(session_id, "q", client_id="c-1").json["turn_id"] == first["turn_id"]
    assert len(client.contents(session_id)) == 2


def test_regenerate_and_edit_make_variants(live: LiveServer) -> None:
    client = live.client
    session_id = client.new_session()
    client.events(client.send(session_id, "u1").json["stream_id"])
    client.events(
        client.post("/api/chat/start", {"session_id": session_id, "regenerate": True}).json["stream_id"]
    )
    assert client.session(session_id)["messages"][-1]["variants"] == {"index": 1, "count": 2, "ids": [2, 3]}
    client.events(client.send(session_id, "u1b", edit=1).json["stream_id"])
    assert client.contents(session_id) == ["u1b", "echo 3"]
    assert client.session(session_id)["messages"][0]["variants"]["ids"] == [1, 4]
    assert client.post("/api/session/select", {"session_id": session_id, "message_id": 1}).status == 200
    assert client.contents(session_id) == ["u1", "echo 2"]
    assert client.post("/api/session/select", {"session_id": session_id, "message_id": 2}).status == 200
    assert client.contents(session_id) == ["u1", "echo 1"]
    assert client.post("/api/session/select", {"session_id": session_id, "message_id": 99}).status == 400


@pytest.mark.parametrize(
    ("text", "status", "code"),
    [
        ("/etc/hosts is broken, why?", 202, None),
        (" /undo", 202, None),
        ("/ undo", 202, None),
        ("//undo", 202, None),
        ("/", 202, None),
        ("／undo", 202, None),
        ("look:\n/undo", 202, None),
        ("/tmp", 409, "unknown_command"),
        ("/undoo", 409, "unknown_command"),
        ("/undo please", 400, "invalid_request"),
        ("/undo 0", 400, "invalid_request"),
        ("/undo -1", 400, "invalid_request"),
        ("/undo ١", 400, "invalid_request"),
        ("/undo", 200, None),
        ("/UNDO", 200, None),
        ("/undo \n", 200, None),
        ("/undo 2", 200, None),
        ("/status", 200, None),
        ("/help", 200, None),
        ("/help me", 400, "invalid_request"),
    ],
)
def test_what_counts_as_a_command(live: LiveServer, text: str, status: int, code: str | None) -> None:
    client = live.client
    session_id = client.new_session()
    for number in (1, 2):
        client.events(client.send(session_id, f"u{number}").json["stream_id"])
    answer = client.send(session_id, text)
    assert (answer.status, answer.json.get("code")) == (status, code), answer.raw
    if status == 202:
        client.events(answer.json["stream_id"])
        assert client.contents(session_id)[4] == text
        assert live.agent.history[-1].messages[-1]["content"] == text
    elif "undo" in text.lower() and status == 200:
        assert client.contents(session_id) == ([] if "2" in text else ["u1", "echo 1"])
    else:
        assert len(client.contents(session_id)) == 4


def test_an_unknown_command_is_held_back_with_suggestions_and_can_be_sent_as_text(live: LiveServer) -> None:
    client = live.client
    session_id = client.new_session()
    answer = client.send(session_id, "/undoo")
    assert answer.json["details"]["suggestions"][0] == "/undo"
    sent = client.send(session_id, "/undoo", as_text=True)
    assert sent.status == 202
    client.events(sent.json["stream_id"])
    assert client.contents(session_id)[0] == "/undoo"


def test_history_commands_are_refused_while_a_turn_runs(live: LiveServer) -> None:
    client = live.client
    session_id = client.new_session()
    client.events(client.send(session_id, "u1").json["stream_id"])
    gate = threading.Event()
    live.agent.enqueue("a2 ", gate, "end")
    stream_id = client.send(session_id, "u2").json["stream_id"]
    wait_until(lambda: live.services.hub.last_seq(stream_id) == 2)
    for text in ("/undo", "/retry", "/redo"):
        assert (client.send(session_id, text).status, client.send(session_id, text).json["code"]) == (
            409,
            "busy",
        )
    for path in ("undo", "retry", "redo", "clear"):
        assert client.post(f"/api/session/{path}", {"session_id": session_id}).status == 409
    assert client.send(session_id, "/status").json["data"]["agent_running"] is True
    gate.set()
    client.events(stream_id)
    assert client.contents(session_id) == ["u1", "echo 1", "u2", "a2 end"]


def test_retry_in_an_empty_session_says_so(client: Client) -> None:
    session_id = client.new_session()
    answer = client.send(session_id, "/retry")
    assert (answer.status, answer.json["code"]) == (409, "nothing_to_retry")
    assert answer.json["error"] == "No previous message to retry."


TRICKY = [
    "a\rb",
    "a\r\n\r\nb",
    '\n\ndata: {"x":1}\n\n',
    "\n\nevent: done\n\n",
    "\n:\n",
    "a\u2028b\u2029c\u0085d\x0be",
]


@pytest.mark.parametrize("text", TRICKY)
def test_text_that_looks_like_an_event_arrives_as_text(live: LiveServer, text: str) -> None:
    client = live.client
    session_id = client.new_session()
    live.agent.enqueue(text)
    events = client.events(client.send(session_id, text, as_text=True).json["stream_id"])
    assert types(events) == ["turn_started", "token", "done"]
    assert events[1][2]["text"] == text
    assert client.contents(session_id) == [text, text]


def test_a_lone_surrogate_in_a_request_is_replaced(live: LiveServer) -> None:
    client = live.client
    session_id = client.new_session()
    raw = b'{"session_id": "' + session_id.encode() + b'", "message": "a \\ud83d b \\ud83d\\ude00"}'
    answer = client.post("/api/chat/start", raw)
    assert answer.status == 202
    client.events(answer.json["stream_id"])
    assert client.contents(session_id)[0] == "a \ufffd b 😀"


def test_a_summary_is_a_turn_with_a_stream_of_its_own(live: LiveServer) -> None:
    session_id = live.client.new_session()
    for number in range(3):
        live.client.events(live.client.send(session_id, f"u{number}").json["stream_id"])
    live.agent.enqueue("They ", "talked.")
    answer = live.client.send(session_id, "/compact the numbers")
    assert answer.status == 200 and answer.json["command"] == "compress"
    stream_id = answer.json["data"]["stream_id"]
    events = live.client.events(stream_id)
    assert events[0][2]["user_message"] is None and events[0][2]["kind"] == "compress"
    assert events[-1][1] == "done"
    (summary_id,) = events[-1][2]["message_ids"]
    message = live.client.session(session_id)["messages"][-1]
    assert (message["id"], message["kind"], message["content"]) == (summary_id, "summary", "They talked.")
    live.services.hub.forget(session_id)
    replayed = live.client.events(stream_id)
    assert [event for _, event, _ in replayed] == ["turn_started", "snapshot", "done"]
    assert replayed[1][2]["text"] == "They talked."
    refused = live.client.send(live.client.new_session(), "/compress")
    assert (refused.status, refused.json["code"]) == (409, "nothing_to_compress")
