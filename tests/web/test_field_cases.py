"""What broke products like this one, on a whole server: tools undone, retries, odd content, late workers."""

import base64
import threading
from pathlib import Path
from typing import Any

import orjson
import pytest

from api.agents.base import Stop
from api.errors import AgentError
from api.events import tool
from tests.conftest import wait_until
from tests.sse_reader import SseReader
from tests.web.live_server import LiveServer, live_server

IMAGE = "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(40)).decode()


def talk(live: LiveServer, session_id: str, text: Any, *script: Any) -> str:
    live.agent.enqueue(*(script or ("fine",)))
    answer = live.client.send(session_id, text)
    assert answer.status == 202, answer.raw
    return str(live.client.events(answer.json["stream_id"])[-1][1])


def post(live: LiveServer, path: str, **body: Any) -> Any:
    return live.client.post(f"/api/{path}", body)


def imported(live: LiveServer, *messages: dict[str, Any]) -> str:
    answer = post(live, "session/import", messages=list(messages))
    assert answer.status == 201, answer.raw
    return str(answer.json["session"]["session_id"])


def call(*ids: str) -> dict[str, Any]:
    calls = [{"id": i, "type": "function", "function": {"name": "read", "arguments": "{}"}} for i in ids]
    return {"role": "assistant", "content": "", "tool_calls": calls}


def check_request(messages: list[dict[str, Any]]) -> None:
    """What strict providers refuse: a call without its result, a stray result, two users, inner fields."""
    waiting: list[str] = []
    before = ""
    for message in messages:
        assert set(message) <= {"role", "content", "tool_calls", "tool_call_id", "name"}
        if message["role"] == "tool":
            waiting.remove(message["tool_call_id"])
        else:
            assert not waiting, "a call has no result"
            assert (before, message["role"]) != ("user", "user")
        assert message.get("tool_calls") != []
        waiting += [entry["id"] for entry in message.get("tool_calls", ())]
        before = message["role"]
    assert not waiting


def test_undo_takes_whole_turns_across_tool_messages(live: LiveServer) -> None:
    session_id = imported(
        live,
        {"role": "system", "content": "sys"},
        {"role": "user", "content": "u1"},
        call("c1", "c2"),
        {"role": "tool", "tool_call_id": "c1", "content": "r1"},
        {"role": "tool", "tool_call_id": "c2", "content": "r2"},
        {"role": "assistant", "content": "a1b"},
        {"role": "user", "content": "u2"},
        call("c3"),
        {"role": "tool", "tool_call_id": "c3", "content": "r3"},
    )
    after_one = ["sys", "u1", "", "r1", "r2", "a1b"]
    for left, status in ((after_one, 200), (["sys"], 200), (["sys"], 409)):
        answer = post(live, "session/undo", session_id=session_id)
        assert answer.status == status
        assert live.client.contents(session_id) == left
        twin = post(live, "session/duplicate", session_id=session_id).json["session_id"]
        talk(live, twin, "x")
        check_request(live.agent.history[-1].messages)
        assert live.agent.history[-1].messages[-1]["content"] == "x"
    assert answer.json["code"] == "nothing_to_undo"


def test_a_turn_without_its_last_result_is_sent_with_one(live: LiveServer) -> None:
    session_id = imported(live, {"role": "user", "content": "u1"}, call("c1", "c2"))
    talk(live, session_id, "x")
    check_request(live.agent.history[-1].messages)
    results = [m["content"] for m in live.agent.history[-1].messages if m["role"] == "tool"]
    assert results == ["(interrupted)", "(interrupted)"]


def test_a_stopped_call_is_complete_in_the_next_request(live: LiveServer) -> None:
    session_id = live.client.new_session()
    live.agent.enqueue("let me see", tool("c1", "read", {"path": "a"}), threading.Event())
    stream_id = live.client.send(session_id, "u1").json["stream_id"]
    with live.client.stream(f"/api/chat/stream?stream_id={stream_id}") as reader:
        reader.until("tool")
    post(live, "chat/cancel", stream_id=stream_id)
    wait_until(lambda: not live.client.session(session_id)["running"])
    talk(live, session_id, "u2")
    check_request(live.agent.history[-1].messages)


@pytest.mark.parametrize("failures", [1, 2])
def test_retry_after_failed_turns_reruns_the_last_one_alone(live: LiveServer, failures: int) -> None:
    session_id = live.client.new_session()
    talk(live, session_id, "u1", "a1")
    for number in range(failures):
        assert talk(live, session_id, f"u{number + 2}", AgentError("overloaded")) == "apperror"
    live.agent.enqueue("new reply")
    answer = post(live, "chat/start", session_id=session_id, regenerate=True)
    live.client.events(answer.json["stream_id"])
    last = f"u{failures + 1}"
    assert live.client.contents(session_id)[-2:] == [last, "new reply"]
    sent = live.agent.history[-1].messages
    check_request(sent)
    assert [m["content"] for m in sent].count(last) == 1 and sent[-1]["content"] == last
    assert "status" not in live.client.session(session_id)["messages"][-1]


def test_a_text_after_an_interrupted_turn_is_sent_once_and_the_old_one_stays_visible(tmp_path: Path) -> None:
    with live_server(tmp_path) as live:
        session_id = live.client.new_session()
        live.agent.enqueue("half", threading.Event())
        stream_id = live.client.send(session_id, "u1").json["stream_id"]
        with live.client.stream(f"/api/chat/stream?stream_id={stream_id}") as reader:
            reader.until("token")
    with live_server(tmp_path) as live:
        assert live.client.session(session_id)["messages"][-1]["status"] == "interrupted"
        for text in ("u2", "u3"):
            talk(live, session_id, text)
            sent = live.agent.history[-1].messages
            check_request(sent)
            assert [m["content"] for m in sent].count("u1") == 1
        assert live.client.contents(session_id) == ["u1", "half", "u2", "fine", "u3", "fine"]


SHAPES: list[Any] = [
    None,
    "",
    "key missing",
    7,
    {"a": 1},
    ["bare", "strings"],
    [
        {"type": "text", "text": None},
        {"type": "text", "text": "describe"},
        {"type": "image_url", "image_url": {"url": IMAGE}},
    ],
    [{"type": "image_url", "image_url": {"url": IMAGE}}],
    [{"type": "hologram", "beam": [1, None]}],
    [{"text": "no type"}],
    [None, 3, []],
    True,
]


def write(live: LiveServer, session_id: str, content: Any, title: Any) -> None:
    """Put the content and the title of another program into the file of a session."""
    path = live.services.store.path(session_id)
    data = orjson.loads(path.read_bytes()) | {"title": title}
    data["messages"][0]["content"] = content
    if content == "key missing":
        del data["messages"][0]["content"]
    path.write_bytes(orjson.dumps(data))


@pytest.mark.parametrize("title", ["kept", None, ["a", "list"]])
@pytest.mark.parametrize("content", SHAPES, ids=repr)
def test_content_of_any_shape_breaks_nothing_and_is_sent_again_as_it_was(
    live: LiveServer, content: Any, title: Any
) -> None:
    session_id = live.client.new_session()
    talk(live, session_id, "u1")
    write(live, session_id, content, title)
    live.services.catalog.reconcile()
    (row,) = live.client.get("/api/sessions").json["sessions"]
    for shown in (row["title"], row["snippet"], live.client.session(session_id)["title"]):
        assert isinstance(shown, str) and not any(odd in shown for odd in ("None", "[object", "{", "['"))
    for path in ("session/status", "session/usage", "sessions/search"):
        assert live.client.get(f"/api/{path}?session_id={session_id}&q=describe").status == 200
    answer = post(live, "chat/start", session_id=session_id, regenerate=True)
    assert answer.status == 202
    live.client.events(answer.json["stream_id"])
    (sent,) = live.agent.history[-1].messages
    if isinstance(content, list) and any(
        isinstance(p, dict) and p.get("type") == "image_url" for p in content
    ):
        assert [p for p in sent["content"] if p["type"] == "image_url"] == [content[-1]]
    stored = live.client.session(session_id)["messages"][0]["content"]
    assert stored == (None if content == "key missing" else content)
    undone = post(live, "session/undo", session_id=session_id).json
    assert isinstance(undone["removed_text"], str) and "None" not in undone["removed_preview"]


def test_an_image_says_so_in_lists(live: LiveServer) -> None:
    session_id = live.client.new_session()
    talk(live, session_id, [{"type": "image_url", "image_url": {"url": IMAGE}}])
    assert live.client.session(session_id)["title"] == "[image]"


class Deleted:
    """A session whose reply was under way when it was deleted."""

    def __init__(self, live: LiveServer, *script: Any) -> None:
        self.live = live
        self.session_id = live.client.new_session()
        talk(live, self.session_id, "u1")
        live.agent.enqueue("half ", *script)
        self.stream_id = live.client.send(self.session_id, "u2").json["stream_id"]

    def delete_while(self, reader: SseReader) -> None:
        reader.until("token")
        assert post(self.live, "session/delete", session_id=self.session_id).status == 200
        assert [event for _, event, _ in reader][-1] == "cancel"

    def check_gone(self, folder: Path) -> None:
        assert self.live.client.get("/api/sessions").json["sessions"] == []
        assert self.live.client.send(self.session_id, "u3").status == 404
        where = [
            p
            for p in folder.rglob(f"*{self.session_id}*")
            if "trash" not in p.parts and "locks" not in p.parts
        ]
        assert where == []


@pytest.mark.parametrize("obeys", [True, False])
def test_a_chat_deleted_while_it_streams_stays_deleted(tmp_path: Path, obeys: bool) -> None:
    gate = threading.Event()

    def goes_on(stop: Stop) -> None:
        assert gate.wait(20) and stop.requested

    with live_server(tmp_path) as live:
        chat = Deleted(live, threading.Event() if obeys else goes_on, "and the rest")
        with live.client.stream(f"/api/chat/stream?stream_id={chat.stream_id}") as reader:
            chat.delete_while(reader)
        chat.check_gone(tmp_path)
        gate.set()
        wait_until(lambda: live.agent.runs_ended == 2)
        chat.check_gone(tmp_path)
    with live_server(tmp_path) as live:
        chat.live = live
        chat.check_gone(tmp_path)
        post(live, "session/restore", session_id=chat.session_id)
        assert live.client.contents(chat.session_id) == ["u1", "fine", "u2", "half "]


def test_saves_that_wait_for_the_lock_of_a_deleted_chat_write_nothing(tmp_path: Path) -> None:
    with live_server(tmp_path) as live:
        session_id = live.client.new_session(title="x")
        paths = [
            ("session/rename", {"title": "y"}),
            ("session/draft", {"text": "z"}),
            ("chat/start", {"message": "m"}),
        ]
        answers: list[Any] = []
        with live.services.store.remove(session_id):
            threads = [
                threading.Thread(
                    target=lambda p=path, b=body: answers.append(post(live, p, session_id=session_id, **b))
                )
                for path, body in paths
            ]
            for thread in threads:
                thread.start()
        for thread in threads:
            thread.join(20)
        assert [answer.status for answer in answers] == [404, 404, 404]
        assert not list((tmp_path / "sessions").iterdir()) and not list((tmp_path / "drafts").iterdir())
        assert (tmp_path / "locks" / f"{session_id}.lock").exists()
