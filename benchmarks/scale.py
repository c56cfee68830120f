"""Ten thousand sessions beside one: lists, undo, retry, first words, search, start and memory.

`python3 run.py bench scale` compares a server over 10,000 sessions of 6 messages and one of 2,000 with a
server over that long one alone. Times in milliseconds unless they say otherwise.
"""

import http.client
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import orjson
import psutil

from api.clock import Clock
from api.concurrency import KeyedLocks
from api.files import make_folder, sync_folder, write_whole
from api.sessions.codec import encode
from api.sessions.model import DONE, Session, TurnRecord
from api.sessions.store import SessionStore
from tests.fake_openai import FakeOpenAI
from tests.server_process import ServerProcess

SESSIONS = 10_000
LONG = "20260101_000000_long00"
WORDS = ("river", "stone", "garden", "engine", "letter", "winter", "market", "island")
WARM_UP, CALLS = 20, 200
START = 1_790_000_000.0


class Kept:
    """A client that keeps its one connection, as a page does."""

    def __init__(self, port: int, token: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def call(self, path: str, body: Any = None) -> Any:
        method, raw = ("GET", None) if body is None else ("POST", orjson.dumps(body))
        self._connection.request(method, path, raw, self._headers)
        response = self._connection.getresponse()
        answer = orjson.loads(response.read())
        assert response.status < 300, answer
        return answer

    def first_token_ms(self, session_id: str) -> float:
        """From the send to the first words of the reply."""
        before = time.perf_counter()
        answer = self.call("/api/chat/start", {"session_id": session_id, "message": "hello"})
        path = f"/api/chat/stream?stream_id={answer['stream_id']}"
        self._connection.request("GET", path, headers=self._headers)
        response = self._connection.getresponse()
        took_ms = _until(response, b"event: token", before)
        response.read()
        return took_ms

    def close(self) -> None:
        self._connection.close()


class Server:
    """A server over a state folder, and how long it took to listen."""

    def __init__(self, folder: Path, endpoint: FakeOpenAI) -> None:
        before = time.perf_counter()
        flags = ("--openai-base-url", endpoint.base_url, "--openai-model", "m")
        self.process = ServerProcess(folder, *flags)
        client = self.process.wait_listening()
        self.start_s = time.perf_counter() - before
        self.client = Kept(client.port, client.token)

    def memory_mb(self) -> float:
        return float(psutil.Process(self.process.process.pid).memory_info().rss) / 1e6

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.client.close()
        self.process.stop()


def _until(response: http.client.HTTPResponse, start: bytes, before: float) -> float:
    while line := response.readline():
        if line.startswith(start):
            return 1000 * (time.perf_counter() - before)
    raise AssertionError("the stream ended without a word")


def p50(call: Callable[[], object], after: Callable[[], object] = lambda: None) -> float:
    """The median of `CALLS` calls in milliseconds; `after` each of them is not counted."""
    times = []
    for number in range(WARM_UP + CALLS):
        before = time.perf_counter()
        call()
        took = time.perf_counter() - before
        after()
        if number >= WARM_UP:
            times.append(1000 * took)
    return statistics.median(times)


def _session(session_id: str, messages: int, number: int) -> Session:
    session = Session(session_id, title=f"chat {number}", created_at=START + number)
    for place in range(messages):
        text = f"everyone {WORDS[(number + place) % len(WORDS)]} number{number} " + "some words more " * 8
        role = ("user", "assistant")[place % 2]
        turn_id = session.take_turn_id() if role == "user" else session.newest_turn_id
        message = session.append(role, text, START + 60 * number + place, turn_id)
        if role == "user":
            session.turns.append(TurnRecord(turn_id, message.id, state=DONE, started_at=message.timestamp))
    session.updated_at = START + 60 * number + messages
    return session


def fill(folder: Path, count: int) -> None:
    """Write the long session and `count` short ones."""
    sessions = make_folder(folder) and make_folder(folder / "sessions")
    for number in range(count):
        session_id = f"20260102_{number:06}_abcdef"
        (sessions / f"{session_id}.json").write_bytes(encode(_session(session_id, 6, number)))
    (sessions / f"{LONG}.json").write_bytes(encode(_session(LONG, 2000, SESSIONS)))
    sync_folder(sessions)


def saves(folder: Path) -> dict[str, tuple[float, float, int]]:
    """For a small and the long session: a save, its floor, and the bytes; save and floor interleaved."""
    locks = KeyedLocks(make_folder(make_folder(folder) / "locks"))
    store = SessionStore(folder, locks, Clock())
    found = {}
    for name, count in (("small", 6), ("long", 2000)):
        session_id = f"save-{name}"
        store.create(_session(session_id, count, 1))
        raw = store.path(session_id).read_bytes()
        floors: list[float] = []

        def save(session_id: str = session_id) -> None:
            with store.edit(session_id) as session:
                session.pinned = not session.pinned

        def floor(raw: bytes = raw, floors: list[float] = floors) -> None:
            before = time.perf_counter()
            write_whole(folder / "floor.json", raw)
            floors.append(1000 * (time.perf_counter() - before))

        found[name] = (p50(save, floor), statistics.median(floors), len(raw))
    return found


def direct_ms(endpoint: FakeOpenAI) -> float:
    """The first words of the endpoint asked directly."""
    host = endpoint.base_url.removeprefix("http://").removesuffix("/v1")
    connection = http.client.HTTPConnection(host, timeout=30)
    body = orjson.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": "hello"}]})

    def ask() -> None:
        connection.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        _until(response, b"data:", time.perf_counter())
        response.read()

    return p50(ask)


class Report:
    """Prints each figure beside its limit, and remembers whether all were kept."""

    def __init__(self) -> None:
        self.kept = True

    def line(self, what: str, figure: float, limit: float, unit: str = "ms") -> None:
        verdict = "ok" if figure <= limit else "OVER"
        self.kept = self.kept and figure <= limit
        print(f"{what:52} {figure:8.2f} {unit:3} of {limit:8.2f}  {verdict}", flush=True)


def history(client: Kept) -> tuple[float, float]:
    """Undo and retry of the long session, each brought back before the next."""
    where = {"session_id": LONG}

    def back() -> object:
        return client.call("/api/session/redo", where)

    undo = p50(lambda: client.call("/api/session/undo", where), back)
    return undo, p50(lambda: client.call("/api/session/retry", where), back)


def first_words(client: Kept) -> float:
    times = []
    for _ in range(WARM_UP + CALLS):
        made = client.call("/api/session/new", {"title": "first words"})
        times.append(client.first_token_ms(made["session"]["session_id"]))
    return statistics.median(times[WARM_UP:])


def searches(report: Report, client: Kept) -> None:
    for what, query in (
        ("a rare word", "number4711"),
        ("a word of every message", "everyone"),
        ("a prefix", "numb*"),
    ):
        path = f"/api/sessions/search?q={query}"
        found = client.call(path)
        assert found["count"] > 0
        stamps = [result["timestamp"] for result in found["results"]]
        assert stamps == sorted(stamps, reverse=True)
        report.line(f"search for {what}, p50", p50(lambda path=path: client.call(path)), 30)  # type: ignore[misc]


def measure(folder: Path, count: int) -> bool:
    """Print all figures; whether every limit was kept."""
    report = Report()
    cost = saves(folder / "saves")
    for save, floor, size in cost.values():
        report.line(f"save of {size / 1000:.0f} KB", save, floor + 2 + 2 * size / 1e6)
    fill(folder / "big", count)
    fill(folder / "small", 0)
    with FakeOpenAI() as endpoint:
        straight = direct_ms(endpoint)
        with Server(folder / "small", endpoint) as server:
            small_undo, small_retry = history(server.client)
        with Server(folder / "big", endpoint) as server:
            report.line(f"start over {count} sessions without a catalog", server.start_s, 6, "s")
        with Server(folder / "big", endpoint) as server:
            report.line("start with a catalog", server.start_s, 1, "s")
            server.client.call("/api/sessions")
            first_id = server.client.call("/api/session/new", {"title": "t"})["session"]["session_id"]
            server.client.first_token_ms(first_id)
            report.line("memory after a list and a turn", server.memory_mb(), 110, "MB")
            report.line("a page of 50 rows, p50", p50(lambda: server.client.call("/api/sessions")), 5)
            undo, retry = history(server.client)
            save = cost["long"][0]
            report.line("undo of 2,000 messages, p50", undo, min(1.5 * small_undo, save + 8))
            report.line("retry of 2,000 messages, p50", retry, min(1.5 * small_retry, save + 8))
            above = first_words(server.client) - straight
            report.line("first words above the endpoint's own, p50", above, cost["small"][0] + 10)
            searches(report, server.client)
    return report.kept


def main(count: str = str(SESSIONS)) -> int:
    with tempfile.TemporaryDirectory() as folder:
        return 0 if measure(Path(folder), int(count)) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
