"""The memory that OpenViking keeps: what it is told and how often, and what becomes of its failures."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from api.clock import Clock
from api.errors import InvalidRequest, UsageError
from api.memory.base import Asked, Entry, Fact, MemoryFailed, Source
from api.memory.openviking import Account, OpenVikingMemory, Patience
from api.services import build, shipped_agents
from api.settings import load
from api.settings import store as store_settings
from tests.conftest import wait_until
from tests.memory.fake_openviking import (
    HANG,
    HANG_UP,
    TRICKLE,
    FakeOpenViking,
    Fault,
    error,
    ok,
)
from tests.web.live_server import LiveServer, live_server

KEY = "sesame-of-the-tests"
BATCH = "20260101_120000_abcdef:1-2"
PATH = "/api/v1/sessions/20260101_120000_abcdef%3A1-2"
SHORT = Patience(0.2, 0.2, 0.2, 0.2)
ENTRIES = (
    Entry("t1", 1, "user", "I like tea."),
    Entry("t1", 2, "tool", "secrets of a tool"),
    Entry("t1", 3, "assistant", "Noted."),
    Entry("t1", 4, "assistant", " "),
)
SENT = [
    {"role": "user", "parts": [{"type": "text", "text": "I like tea."}]},
    {"role": "assistant", "parts": [{"type": "text", "text": "Noted."}]},
]


@pytest.fixture
def server() -> Iterator[FakeOpenViking]:
    with FakeOpenViking(KEY) as server:
        yield server


def memory_at(server: FakeOpenViking, patience: Patience | None = None, **more: Any) -> OpenVikingMemory:
    return OpenVikingMemory(Account(server.endpoint, **{"api_key": KEY, **more}), Clock(), patience)


def commit(memory: OpenVikingMemory, entries: tuple[Entry, ...] = ENTRIES) -> None:
    memory.on_session_end("20260101_120000_abcdef", BATCH, entries, None)


def test_a_batch_is_looked_for_sent_and_committed(server: FakeOpenViking) -> None:
    commit(memory_at(server))
    calls = [(call.method, call.path, call.body) for call in server.calls]
    assert calls == [
        ("GET", PATH, None),
        ("POST", f"{PATH}/messages/batch", {"messages": SENT}),
        ("POST", f"{PATH}/commit", {"keep_recent_count": 0}),
    ]
    assert server.sessions[BATCH].taken == SENT


def test_a_key_says_who_asks(server: FakeOpenViking) -> None:
    commit(memory_at(server))
    headers = server.calls[0].headers
    assert (headers["x-api-key"], headers["authorization"]) == (KEY, f"Bearer {KEY}")
    assert headers["x-openviking-actor-peer"] == "talaria" and "x-openviking-account" not in headers


def test_who_has_no_key_says_who_asks() -> None:
    with FakeOpenViking() as server:
        commit(memory_at(server, api_key=None, user="ann", agent="hermes"))
        headers = server.calls[0].headers
    names = ("account", "user", "actor-peer")
    assert [headers[f"x-openviking-{name}"] for name in names] == ["default", "ann", "hermes"]
    assert "authorization" not in headers


@pytest.mark.parametrize("tells_totals", [True, False])
@pytest.mark.parametrize(
    ("fault", "then"),
    [
        (Fault("/batch", (500, error("INTERNAL", "boom")), is_done=True), ["commit"]),
        (Fault("/batch", HANG_UP, is_done=True), ["commit"]),
        (Fault("/batch", (503, b"busy")), ["batch", "commit"]),
        (Fault("/commit", (500, error("INTERNAL", "boom"))), ["commit"]),
        (Fault("/commit", (500, error("INTERNAL", "boom")), is_done=True), []),
        (Fault("/commit", HANG_UP, is_done=True), []),
    ],
)
def test_a_repeat_does_only_what_is_left(fault: Fault, then: list[str], tells_totals: bool) -> None:
    with FakeOpenViking(KEY, tells_totals) as server:
        memory = memory_at(server)
        server.faults.append(fault)
        with pytest.raises(MemoryFailed):
            commit(memory)
        before = len(server.calls)
        commit(memory)
        assert server.order()[before + 1 :] == [f"POST {verb}" for verb in then]
        commit(memory)
        assert (server.sessions[BATCH].taken, server.sessions[BATCH].commits) == (SENT, 1)


def test_a_missing_session_may_be_said_with_status_200(server: FakeOpenViking) -> None:
    server.faults.append(Fault("%3A1-2", (200, error("NOT_FOUND", "no such session"))))
    commit(memory_at(server))
    assert server.sessions[BATCH].taken == SENT


def test_a_look_that_fails_sends_nothing(server: FakeOpenViking) -> None:
    server.faults.append(Fault("%3A1-2", (500, error("INTERNAL", "boom"))))
    with pytest.raises(MemoryFailed, match="INTERNAL: boom"):
        commit(memory_at(server))
    assert server.sessions == {}


def test_a_long_batch_goes_in_pieces_and_goes_on_where_it_broke_off(server: FakeOpenViking) -> None:
    entries = tuple(Entry("t1", n, "user", f"message {n}") for n in range(250))
    memory = memory_at(server)
    commit_fails = Fault("/commit", (500, b""))
    server.faults.extend(
        [Fault("/batch", (200, ok({})), is_done=True), Fault("/batch", (500, b"")), commit_fails]
    )
    with pytest.raises(MemoryFailed):
        commit(memory, entries)
    with pytest.raises(MemoryFailed):
        commit(memory, entries)
    commit(memory, entries)
    texts = [message["parts"][0]["text"] for message in server.sessions[BATCH].taken]
    assert texts == [entry.text for entry in entries]


def test_a_batch_without_words_is_not_sent(server: FakeOpenViking) -> None:
    commit(memory_at(server), ENTRIES[1:2])
    assert server.calls == []


def test_half_a_character_is_sent_as_its_replacement(server: FakeOpenViking) -> None:
    commit(memory_at(server), (Entry("t1", 1, "user", "tea \ud83d"),))
    assert server.sessions[BATCH].taken[0]["parts"][0]["text"] == "tea \ufffd"


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (Fault("search", (200, error("BUSY", f"with {KEY} in it"))), r"BUSY: with ••• in it"),
        (Fault("search", (401, error("UNAUTHENTICATED", KEY))), "OPENVIKING_API_KEY"),
        (Fault("search", (502, b"<html>bad gateway</html>")), "status 502"),
        (Fault("search", (200, b"<html>hello</html>")), "is not OpenViking"),
        (Fault("search", (200, b"[]")), "is not OpenViking"),
        (Fault("search", HANG_UP), "cannot be reached"),
        (Fault("search", HANG), r"within 0\.2 seconds"),
        (Fault("search", TRICKLE), r"within 0\.2 seconds"),
    ],
)
def test_a_failure_is_one_sentence_without_the_key(
    server: FakeOpenViking, fault: Fault, sentence: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    server.faults.append(fault)
    with pytest.raises(MemoryFailed, match=sentence) as caught:
        memory_at(server, SHORT).recall("tea", "s", 6)
    assert KEY not in f"{caught.value!r} {caught.value.__cause__!r} {caplog.text}"
    assert "\n" not in str(caught.value)


def test_a_redirect_gets_no_key(server: FakeOpenViking) -> None:
    with FakeOpenViking() as other:
        headers = {"Location": f"{other.endpoint}/api/v1/search/search"}
        server.faults.append(Fault("search", (307, b""), headers=headers))
        with pytest.raises(MemoryFailed, match="another address"):
            memory_at(server).recall("tea", "s", 6)
        assert other.calls == []


def test_a_proxy_of_the_environment_is_not_asked(
    server: FakeOpenViking, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    commit(memory_at(server))
    assert server.sessions[BATCH].commits == 1


def test_nobody_there_is_said(server: FakeOpenViking) -> None:
    memory = OpenVikingMemory(Account("http://127.0.0.1:9"), Clock())
    with pytest.raises(MemoryFailed, match=r"127\.0\.0\.1:9 cannot be reached"):
        memory.recall("tea", "s", 6)
    assert not memory.health().is_healthy


def test_recall_gives_what_is_found_as_facts(server: FakeOpenViking) -> None:
    server.memories = [
        {"uri": "viking://user/memories/preferences/tea.md", "abstract": "Likes\n tea.", "score": 0.9},
        {"uri": "viking://user/memories/events/x.md", "abstract": "", "overview": "x" * 500},
        {"uri": "viking://user/memories/events/y.md"},
        {"uri": "viking://user/default/memories/.overview.md", "abstract": "Memories of all kinds."},
        {"abstract": "no address"},
        "nothing",
    ]
    memory = memory_at(server)
    found = memory.recall(" what do I drink in the evening? ", "s", 6)
    assert found == [
        Fact("viking://user/memories/preferences/tea.md", "Likes tea.", "preference"),
        Fact("viking://user/memories/events/x.md", "x" * 400),
    ]
    body = {"query": "drink evening", "limit": 24, "score_threshold": 0.15, "context_type": "memory"}
    assert server.calls[0].body == body
    (tool,) = memory.tools()
    assert tool.run(Asked(Source("s")), {"query": "tea"}).text.startswith("- Likes tea.")
    assert memory.recall("  ", "s", 6) == ()
    memory.recall("Where " + " ".join(f"w{'o' * length}rd" for length in range(12)), "s", 6)
    assert server.calls[-1].body["query"].split() == [f"w{'o' * length}rd" for length in range(4, 12)]


def test_its_facts_are_not_ours_to_change(server: FakeOpenViking) -> None:
    memory = memory_at(server)
    calls = [
        lambda: memory.facts(),
        lambda: memory.add("I like tea."),
        lambda: memory.update("f", "x"),
        lambda: memory.delete("f"),
        lambda: memory.restore("f"),
        lambda: memory.accept("f"),
        lambda: memory.refuse("f"),
    ]
    for call in calls:
        with pytest.raises(InvalidRequest, match="kept by OpenViking"):
            call()
    memory.on_turns_undone("s", ["t1"])
    memory.on_turns_restored("s", ["t1"])
    memory.on_message_erased("s", 1)
    memory.sync_turn("s", "t1", ENTRIES)
    assert server.calls == []


def test_health_is_asked_once_in_a_while_and_is_honest(server: FakeOpenViking) -> None:
    memory = memory_at(server)
    health = memory.health()
    assert health.is_healthy and health.facts is None and "not taken back" in str(health.reason)
    assert memory.health() is health and server.order() == ["GET health"]


def test_who_waits_for_health_makes_nobody_else_wait(server: FakeOpenViking) -> None:
    memory = memory_at(server)
    server.faults.append(Fault("/health", HANG))
    thread = threading.Thread(target=memory.health)
    thread.start()
    assert server.hanging.wait(20)
    assert "not asked yet" in str(memory.health().reason)
    memory.close()
    thread.join()


def test_close_cuts_what_is_under_way(server: FakeOpenViking) -> None:
    memory = memory_at(server)
    server.faults.append(Fault("/commit", HANG))
    failed: list[MemoryFailed] = []

    def run() -> None:
        with pytest.raises(MemoryFailed) as caught:
            commit(memory)
        failed.append(caught.value)

    thread = threading.Thread(target=run)
    thread.start()
    assert server.hanging.wait(20)
    memory.close()
    thread.join(20)
    assert "broke off" in str(failed[0])
    with pytest.raises(MemoryFailed):
        memory.recall("tea", "s", 6)


# The whole server.


@pytest.fixture
def live(server: FakeOpenViking, tmp_path: Path) -> Iterator[LiveServer]:
    environ = {"OPENVIKING_ENDPOINT": server.endpoint, "OPENVIKING_API_KEY": KEY}
    with live_server(tmp_path / "state", environ=environ, memory="openviking") as live:
        yield live


def say(live: LiveServer, session_id: str, text: str) -> None:
    stream_id = live.client.send(session_id, text).json["stream_id"]
    live.client.events(stream_id)


def test_two_turns_are_one_batch_and_one_commit(server: FakeOpenViking, live: LiveServer) -> None:
    session_id = live.client.new_session()
    say(live, session_id, "I like tea.")
    say(live, session_id, "And cake.")
    assert server.named("/commit") == []
    live.client.new_session(prev_session_id=session_id)
    wait_until(lambda: live.client.get("/api/memory/status").json["last_commit_at"], "the commit")
    kept = server.sessions[f"{session_id}:1-2"]
    assert [message["parts"][0]["text"] for message in kept.taken] == [
        "I like tea.",
        "echo 1",
        "And cake.",
        "echo 2",
    ]
    assert len(server.named("/batch")) == len(server.named("/commit")) == 1


def test_what_is_undone_before_the_boundary_is_never_sent(server: FakeOpenViking, live: LiveServer) -> None:
    session_id = live.client.new_session()
    say(live, session_id, "I like tea.")
    say(live, session_id, "Forget that I said this.")
    assert live.client.post("/api/session/undo", {"session_id": session_id}).status == 200
    live.client.post("/api/memory/commit", {"session_id": session_id})
    wait_until(lambda: server.named("/commit"), "the commit")
    assert "Forget" not in str([call.body for call in server.named("/batch")])


def test_what_is_recalled_goes_to_the_model(server: FakeOpenViking, live: LiveServer) -> None:
    server.memories = [{"uri": "viking://m/tea.md", "abstract": "Drinks green tea.", "score": 1.0}]
    say(live, live.client.new_session(), "What do I drink?")
    assert "Drinks green tea." in str(live.agent.history[0])
    server.faults.append(Fault("search", (500, error("INTERNAL", "boom"))))
    say(live, live.client.new_session(), "What do I drink?")
    assert "Drinks green tea." not in str(live.agent.history[1])


def test_the_key_is_never_answered(server: FakeOpenViking, live: LiveServer) -> None:
    paths = ("/health?deep=1", "/api/settings", "/api/memory/status", "/api/memory", "/api/memory/export")
    answers = [live.client.get(path) for path in paths]
    assert KEY not in str([answer.raw for answer in answers])
    status = answers[2].json
    assert (status["provider"], status["healthy"], status["facts"]) == ("openviking", True, None)
    assert [answer.status for answer in answers] == [200, 200, 200, 400, 400]


def test_without_an_address_it_does_not_start(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="set OPENVIKING_ENDPOINT"):
        load({"state_dir": str(tmp_path), "memory": "openviking"}, {})
    settings = load({"state_dir": str(tmp_path)}, {})
    with pytest.raises(InvalidRequest, match="OPENVIKING_ENDPOINT"):
        store_settings(settings, {"memory": "openviking"})
    assert build(settings, Clock(), shipped_agents).memory.provider.name == "local"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OPENVIKING_ENDPOINT", "ftp://127.0.0.1"),
        ("OPENVIKING_ENDPOINT", "127.0.0.1:1933"),
        ("OPENVIKING_ENDPOINT", "http://"),
        ("OPENVIKING_ENDPOINT", "http://:1933"),
        ("OPENVIKING_ENDPOINT", "http://ann:sesame@127.0.0.1:1933"),
        ("OPENVIKING_ENDPOINT", "http://127.0.0.1:1933?key=sesame"),
        ("OPENVIKING_ENDPOINT", "http://127.0.0.1:many"),
        ("OPENVIKING_API_KEY", "sesame\r\nX-Other: 1"),
        ("OPENVIKING_USER", "Änne"),
    ],
)
def test_an_address_or_a_key_that_cannot_be_is_refused(tmp_path: Path, name: str, value: str) -> None:
    environ = {"OPENVIKING_ENDPOINT": "http://127.0.0.1:1933", name: value}
    with pytest.raises(UsageError, match=name) as caught:
        load({"state_dir": str(tmp_path), "memory": "openviking"}, environ)
    assert "sesame" not in str(caught.value)
