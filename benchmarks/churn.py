"""Many chats one after the other on one server: agents, tables, descriptors and threads must not grow.

`python3 run.py bench churn 1000` uses a thousand chats for one turn each; most are pushed out by later ones.
"""

import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.fake_openai import FakeOpenAI
from tests.server_process import ServerProcess
from tests.web.live_server import Client

FIRST = 50
SETTLE_S = 15.0
AGENTS_LIMIT, TABLE_LIMIT, GROWTH_LIMIT = 25, 64, 2


@dataclass(frozen=True)
class Size:
    """What a server holds: agents and sessions in its tables, descriptors and threads of its process."""

    agents: int
    lifecycle: int
    descriptors: int
    threads: int

    def is_within(self, first: "Size") -> bool:
        grown = max(self.descriptors - first.descriptors, self.threads - first.threads)
        return self.agents <= AGENTS_LIMIT and self.lifecycle <= TABLE_LIMIT and grown <= GROWTH_LIMIT


def _size(client: Client, pid: int) -> Size:
    deep, process = client.get("/health?deep=1").json, psutil.Process(pid)
    return Size(deep["agents"], deep["memory"]["lifecycle"], process.num_fds(), process.num_threads())


def _settled(client: Client, pid: int) -> Size:
    """Its size once nothing is left to do in the background."""
    end = time.monotonic() + SETTLE_S
    before = _size(client, pid)
    while time.monotonic() < end:
        threading.Event().wait(1.0)
        now = _size(client, pid)
        if now == before:
            break
        before = now
    return before


def _use(client: Client, number: int) -> None:
    session_id = client.new_session()
    answer = client.send(session_id, f"My favourite number is {number}.")
    assert answer.status == 202, answer.raw
    client.events(answer.json["stream_id"])


def run(sessions: int, folder: Path) -> tuple[Size, Size]:
    """The size of a server after the first chats, and after all of them."""
    with FakeOpenAI() as fake:
        flags = ("--openai-base-url", fake.base_url, "--openai-model", "m")
        with ServerProcess(folder, *flags) as server:
            client = server.wait_listening()
            for number in range(FIRST):
                _use(client, number)
            first = _settled(client, server.process.pid)
            for number in range(FIRST, sessions):
                _use(client, number)
            last = _settled(client, server.process.pid)
        committed = len(fake.memory_requests)
    assert committed >= sessions - AGENTS_LIMIT, f"only {committed} chats reached memory"
    return first, last


def main() -> int:
    sessions = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as folder:
        first, last = run(sessions, Path(folder))
    print(f"after {FIRST:5} chats: {first}")
    print(f"after {sessions:5} chats: {last}")
    print("ok" if last.is_within(first) else "it grows")
    return 0 if last.is_within(first) else 1


if __name__ == "__main__":
    sys.exit(main())
