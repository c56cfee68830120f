"""Waiting texts over HTTP."""

import threading

import pytest

from api.turns.live import LiveTurn
from tests.web.live_server import Client, LiveServer


def texts(queue: list[dict[str, object]]) -> list[object]:
    return [item["content"] for item in queue]


def with_three_waiting(live: LiveServer) -> tuple[str, str, threading.Event]:
    client = live.client
    session_id, gate = client.new_session(), threading.Event()
    live.agent.enqueue("a", gate)
    stream_id = client.send(session_id, "u1").json["stream_id"]
    for number in (2, 3, 4):
        client.send(session_id, f"u{number}", client_id=f"c-{number}")
    return session_id, stream_id, gate


def stop(client: Client, stream_id: str) -> None:
    client.post("/api/chat/cancel", {"stream_id": stream_id})
    assert client.events(stream_id)[-1][1] == "cancel"


def test_a_waiting_text_is_moved_and_taken_back(live: LiveServer) -> None:
    session_id, _, gate = with_three_waiting(live)
    here = {"session_id": session_id}
    moved = live.client.post("/api/chat/queue/move", here | {"client_id": "c-4", "position": 1})
    assert texts(moved.json["queue"]) == ["u4", "u2", "u3"]
    last = live.client.post("/api/chat/queue/move", here | {"turn_id": "t4", "position": 99})
    assert texts(last.json["queue"]) == ["u2", "u3", "u4"]
    taken = live.client.post("/api/chat/queue/remove", here | {"client_id": "c-3"})
    assert texts(taken.json["queue"]) == ["u2", "u4"]
    gone = live.client.post("/api/chat/queue/remove", here | {"client_id": "c-3"})
    assert (gone.status, gone.json["code"]) == (404, "not_found")
    assert live.client.post("/api/chat/queue/remove", here).status == 400
    gate.set()
    live.client.events(f"{session_id}.t4")
    assert live.client.contents(session_id)[::2] == ["u1", "u2", "u4"]


def test_a_queue_that_a_stop_held_back_goes_on_when_asked(live: LiveServer) -> None:
    session_id, stream_id, _ = with_three_waiting(live)
    stop(live.client, stream_id)
    assert texts(live.client.session(session_id)["queue"]) == ["u2", "u3", "u4"]
    answer = live.client.post("/api/chat/queue/resume", {"session_id": session_id})
    assert answer.status == 200
    live.client.events(f"{session_id}.t4")
    assert live.client.contents(session_id)[::2] == ["u1", "u2", "u3", "u4"]


def test_resuming_nothing_changes_nothing(live: LiveServer) -> None:
    session_id = live.client.new_session()
    answer = live.client.post("/api/chat/queue/resume", {"session_id": session_id})
    assert (answer.status, answer.json["queue"]) == (200, [])
    assert live.client.session(session_id)["revision"] == 1


def test_a_stream_opened_while_its_turn_begins_waits_for_it(
    live: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    session_id, begun, gate = live.client.new_session(), threading.Event(), threading.Event()
    announce = LiveTurn.announce

    def late(turn: LiveTurn) -> None:
        begun.set()
        assert gate.wait(20)
        announce(turn)

    monkeypatch.setattr(LiveTurn, "announce", late)
    sender = threading.Thread(target=live.client.send, args=(session_id, "u1"))
    sender.start()
    assert begun.wait(20)
    with live.client.stream(f"/api/chat/stream?stream_id={session_id}.t1") as reader:
        gate.set()
        assert [name for _, name, _ in reader][-1] == "done"
    sender.join()
