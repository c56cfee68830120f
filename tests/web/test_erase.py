"""Erase: the words of one message are gone from every file, and nothing else is."""

import threading
from pathlib import Path

import pytest

from api.events import reasoning, tool, tool_complete
from api.sessions.model import Session
from api.sessions.store import Trashed
from tests.sse_reader import SseReader
from tests.web.live_server import LiveServer, live_server

SECRET = "hunter2"


def talk(live: LiveServer, session_id: str, *texts: str) -> None:
    for text in texts:
        live.client.events(live.client.send(session_id, text).json["stream_id"])


def files_with(folder: Path, word: str) -> list[str]:
    return [str(path) for path in folder.rglob("*") if path.is_file() and word.encode() in path.read_bytes()]


def erase(live: LiveServer, session_id: str, message_id: int) -> dict[str, object]:
    answer = live.client.post("/api/session/erase", {"session_id": session_id, "message_id": message_id})
    assert answer.status == 200, answer.raw
    return dict(answer.json)


def copy(live: LiveServer, how: str, session_id: str, **fields: object) -> str:
    answer = live.client.post(f"/api/session/{how}", {"session_id": session_id, **fields})
    assert answer.status == 201, answer.raw
    return str(answer.json["session_id"])


def test_the_words_are_gone_from_every_file_and_the_rest_stays(tmp_path: Path) -> None:
    with live_server(tmp_path) as live:
        session_id = live.client.new_session()
        talk(live, session_id, f"my password is {SECRET}", "and now?")
        twin = copy(live, "branch", session_id, message_id=3)
        whole = copy(live, "duplicate", session_id)
        second = copy(live, "branch", twin)
        trashed = copy(live, "branch", twin)
        live.client.post("/api/session/delete", {"session_id": trashed})
        other = copy(live, "branch", session_id)
        live.client.post("/api/session/undo", {"session_id": other, "count": 2})
        live.client.post("/api/session/rename", {"session_id": whole, "title": "Mine"})
        assert files_with(tmp_path, SECRET)
        answer = erase(live, session_id, 1)
        assert answer["original"] is None
        places = [(entry["session_id"], entry["message_id"]) for entry in answer["copies"]]  # type: ignore[attr-defined]
        assert sorted(places) == sorted((name, 1) for name in (twin, whole, second, trashed, other))
        assert files_with(tmp_path, SECRET) == []
        assert live.client.contents(second) == ["[erased]", "echo 1", "and now?"]
        assert live.client.session(whole)["title"] == "Mine"
        assert live.client.session(session_id)["title"] == ""
        live.client.post("/api/session/restore", {"session_id": trashed})
        assert live.client.contents(trashed)[0] == "[erased]"
    with live_server(tmp_path) as live:
        assert live.client.contents(session_id) == ["[erased]", "echo 1", "and now?", "echo 2"]
        assert live.client.get(f"/api/sessions/search?all=1&q={SECRET}").json["count"] == 0
        assert live.client.get("/api/sessions/search?q=now").json["count"] > 0
        assert files_with(tmp_path, SECRET) == []


def test_the_reply_goes_with_its_reasoning_and_the_arguments_of_its_calls(tmp_path: Path) -> None:
    with live_server(tmp_path) as live:
        session_id = live.client.new_session()
        call = tool("c1", "read", {"path": SECRET})
        live.agent.enqueue(
            reasoning(f"hm, {SECRET}"), SECRET, call, tool_complete("c1", "read", "A", 0.1, False)
        )
        talk(live, session_id, "look")
        erase(live, session_id, 2)
        assert files_with(tmp_path, SECRET) == []
        talk(live, session_id, "and?")
        sent = live.agent.history[-1].messages
        assert [m["role"] for m in sent] == ["user", "assistant", "tool", "user"]
        assert sent[1]["content"] == "[erased]"
        assert sent[1]["tool_calls"][0]["function"] == {"name": "read", "arguments": "{}"}


def test_a_reader_who_comes_back_gets_the_session_and_not_the_words(live: LiveServer) -> None:
    session_id = live.client.new_session()
    stream_id = live.client.send(session_id, f"it is {SECRET}").json["stream_id"]
    live.client.events(stream_id)
    with live.client.stream("/api/events") as reader:
        cursor = next(iter(reader))[2]["cursor"]
    boot_id, _, number = cursor.rpartition(":")
    erase(live, session_id, 1)
    events = live.client.events(stream_id)
    assert [event for _, event, _ in events] == ["turn_started", "snapshot", "done"]
    assert events[0][2]["user_message"]["content"] == "[erased]"
    with live.client.stream(f"/api/events?cursor={boot_id}:{int(number) - 2}") as reader:
        assert names(reader, 2) == ["hello", "reset"]


def names(reader: SseReader, count: int) -> list[str]:
    events = iter(reader)
    return [next(events)[1] for _ in range(count)]


def test_a_copy_erases_its_own_and_names_the_original(live: LiveServer) -> None:
    session_id = live.client.new_session()
    talk(live, session_id, "one", "two")
    live.client.post("/api/session/undo", {"session_id": session_id})
    talk(live, session_id, "three")
    twin = copy(live, "branch", session_id)
    answer = erase(live, twin, 3)
    assert answer["original"] == {"session_id": session_id, "message_id": 5}
    assert answer["copies"] == []
    assert live.client.contents(twin)[2] == "[erased]"
    assert live.client.contents(session_id)[2] == "three"


def test_erase_while_a_reply_runs_is_refused(live: LiveServer) -> None:
    session_id = live.client.new_session()
    gate = threading.Event()
    live.agent.enqueue("a", gate)
    stream_id = live.client.send(session_id, "one").json["stream_id"]
    answer = live.client.post("/api/session/erase", {"session_id": session_id, "message_id": 1})
    assert (answer.status, answer.json["code"]) == (409, "busy")
    gate.set()
    live.client.events(stream_id)
    assert live.client.contents(session_id) == ["one", "a"]


@pytest.mark.parametrize("message_id", [3, 2**53])
def test_a_message_that_is_not_there_is_not_found(live: LiveServer, message_id: int) -> None:
    session_id = live.client.new_session()
    talk(live, session_id, "one")
    answer = live.client.post("/api/session/erase", {"session_id": session_id, "message_id": message_id})
    assert (answer.status, answer.json["code"]) == (404, "not_found")


def test_a_damaged_copy_is_left_as_it_is_and_hinders_nothing(live: LiveServer) -> None:
    session_id = live.client.new_session()
    talk(live, session_id, SECRET)
    twin = copy(live, "branch", session_id)
    path = live.services.store.path(twin)
    path.write_bytes(path.read_bytes()[:-20])
    damaged = path.read_bytes()
    erase(live, session_id, 1)
    assert live.client.contents(session_id)[0] == "[erased]"
    assert path.read_bytes() == damaged


@pytest.mark.parametrize("how", ["branch", "duplicate"])
def test_an_erase_while_a_copy_is_made_takes_the_words_out_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    with live_server(tmp_path) as live:
        session_id = live.client.new_session()
        talk(live, session_id, f"it is {SECRET}", "and?")
        create = live.services.store.create

        def late(twin: Session) -> Session:
            monkeypatch.undo()
            erase(live, session_id, 1)
            return create(twin)

        monkeypatch.setattr(live.services.store, "create", late)
        twin = copy(live, how, session_id)
        assert live.client.contents(twin) == ["[erased]", "echo 1", "and?", "echo 2"]
        assert files_with(tmp_path, SECRET) == []


def test_a_copy_that_is_restored_while_copies_are_looked_for_is_erased(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with live_server(tmp_path) as live:
        session_id = live.client.new_session()
        talk(live, session_id, f"it is {SECRET}")
        twin = copy(live, "branch", session_id)
        live.client.post("/api/session/delete", {"session_id": twin})
        trashed = live.services.store.trashed

        def late(_session_id: str | None = None) -> list[Trashed]:
            monkeypatch.undo()
            assert live.client.post("/api/session/restore", {"session_id": twin}).status == 200
            return trashed()

        monkeypatch.setattr(live.services.store, "trashed", late)
        erase(live, session_id, 1)
        assert live.client.contents(twin)[0] == "[erased]"
        assert files_with(tmp_path, SECRET) == []


def test_a_duplicate_has_the_variants_and_can_redo(live: LiveServer) -> None:
    client = live.client
    session_id = client.new_session(title="Mine")
    talk(live, session_id, "one", "two")
    client.events(
        client.post("/api/chat/start", {"session_id": session_id, "regenerate": True}).json["stream_id"]
    )
    talk(live, session_id, "three")
    client.post("/api/session/undo", {"session_id": session_id})
    twin = copy(live, "duplicate", session_id)
    assert client.session(twin)["title"] == "Mine (copy)"
    assert client.contents(twin) == client.contents(session_id) == ["one", "echo 1", "two", "echo 3"]
    assert client.session(twin)["messages"][3]["variants"] == {"index": 1, "count": 2, "ids": [4, 5]}
    assert client.get(f"/api/session/usage?session_id={twin}").json["input_tokens"] is None
    client.post("/api/session/redo", {"session_id": twin})
    assert client.contents(twin)[4:] == ["three", "echo 4"]
    assert client.contents(session_id) == ["one", "echo 1", "two", "echo 3"]


def test_a_duplicate_of_a_running_chat_is_idle_and_has_what_is_stored(live: LiveServer) -> None:
    session_id = live.client.new_session()
    gate = threading.Event()
    live.agent.enqueue("a", gate)
    stream_id = live.client.send(session_id, "one").json["stream_id"]
    live.client.send(session_id, "waits")
    twin = copy(live, "duplicate", session_id)
    assert live.client.contents(twin) == ["one"]
    assert live.client.session(twin)["queue"] == []
    assert live.client.send(twin, "go on").json["queued"] is False
    gate.set()
    live.client.events(stream_id)
