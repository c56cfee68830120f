"""A full house: every event stream taken, idle connections and running turns; does the server still answer?

`python3 run.py bench load` opens 64 streams, 60 idle kept-alive connections and 8 running turns, and asks
for health and stops 200 times beside them.
"""

import http.client
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.scale import Kept, Report
from tests.fake_openai import FakeOpenAI, Reply, Wait, chunk
from tests.server_process import ServerProcess
from tests.web.live_server import Client

STREAMS, IDLE, TURNS, CALLS = 64, 60, 8, 200
LIMIT_MS = 100.0


def p95(call: Callable[[], object]) -> float:
    """The 95th percentile of `CALLS` calls in milliseconds."""
    times = []
    for _ in range(CALLS):
        before = time.perf_counter()
        call()
        times.append(1000 * (time.perf_counter() - before))
    return statistics.quantiles(times, n=20)[-1]


def _idle(port: int) -> http.client.HTTPConnection:
    """A connection that has been used and is kept."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/health")
    connection.getresponse().read()
    return connection


def _stop_p95(client: Client, kept: Kept) -> float:
    """Stops of a turn that runs, each in a chat of its own; the start is not counted."""
    times = []
    for _ in range(CALLS // 4):
        session_id = client.new_session(title="stopped")
        stream_id = kept.call("/api/chat/start", {"session_id": session_id, "message": "go"})["stream_id"]
        before = time.perf_counter()
        answer = kept.call("/api/chat/cancel", {"stream_id": stream_id})
        times.append(1000 * (time.perf_counter() - before))
        assert answer["ok"]
    return statistics.quantiles(times, n=20)[-1]


def _running_turns(client: Client, endpoint: FakeOpenAI) -> None:
    """Turns that say a word and then wait."""
    for _ in range(TURNS):
        endpoint.enqueue(Reply([chunk({"content": "word "}), Wait("end")]))
        session_id = client.new_session(title="runs")
        assert client.send(session_id, "go").status == 202


def measure(folder: Path) -> bool:
    """Print both figures; whether they were kept."""
    report = Report()
    with FakeOpenAI() as endpoint, ExitStack() as open_ones:
        flags = ("--openai-base-url", endpoint.base_url, "--openai-model", "m")
        server = open_ones.enter_context(ServerProcess(folder, *flags))
        client = server.wait_listening()
        _running_turns(client, endpoint)
        streams: list[Any] = [open_ones.enter_context(client.stream("/api/events")) for _ in range(STREAMS)]
        for reader in streams:
            reader.until("hello")
        for _ in range(IDLE):
            open_ones.callback(_idle(client.port).close)
        refused = client.get("/api/events")
        assert refused.status == 503 and refused.headers["Retry-After"]
        kept = Kept(client.port, client.token)
        open_ones.callback(kept.close)
        report.line("health beside a full house, p95", p95(lambda: kept.call("/health")), LIMIT_MS)
        report.line("stop beside a full house, p95", _stop_p95(client, kept), LIMIT_MS)
        endpoint.gate("end").set()
    return report.kept


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        return 0 if measure(Path(folder)) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
