"""What a long reply costs this server, in five shapes, against a relay that does nothing else.

`python3 run.py bench stream` prints CPU times of the server process and their ratios, all of one run:

- without `html=1` at most 3 times the relay;
- with it at most 3 times the relay and 2 renderings of the whole text more;
- the last thousand of 20,000 pieces at most 1.5 times the first.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from api.render.document import Renderer
from tests.fake_openai import DEFAULT_USAGE, FakeOpenAI, Reply, Wait, text_chunks, text_reply
from tests.server_process import ServerProcess

PIECES, LETTERS = 20_000, 10
THOUSAND = 1000
# Longer than the pause before a rendering: what a thousand pieces cause is counted with them.
SETTLE_S = 0.3
MOST_RATIO, MOST_RENDERS, MOST_GROWTH = 3.0, 2, 1.5
Read = Callable[[], float]


def grown(line: str, opening: str = "") -> str:
    """A text of `PIECES` pieces made of `line` with a running number."""
    text = opening + "".join(line.format(n) for n in range(PIECES))
    return text[: PIECES * LETTERS]


SHAPES = {
    "paragraphs": grown("Some *words* with `code` and a [link](https://e.example/?a={0}), number {0}.\n\n"),
    "one paragraph": grown("Some *words* with `code` and a [link](https://e.example/), number {}. "),
    "one fence": grown("def name_{}(value):  # a note\n    return value + 1\n\n", "```python\n"),
    "one list": grown("- item {} with **bold** words and `code`\n"),
    "one table": grown("| {} | **bold** | `code` and words |\n", "| a | b | c |\n|---|---|---|\n"),
}


@dataclass(frozen=True)
class Thousands:
    """What the first and the last thousand pieces cost, in seconds."""

    first: float
    last: float

    def __str__(self) -> str:
        growth = self.last / self.first
        costs = f"{1000 * self.first:.0f} -> {1000 * self.last:.0f} ms"
        return f"{costs}, {growth:.2f} times {verdict(growth <= MOST_GROWTH)}"


class Subject:
    """A server under measurement and how to make it stream."""

    def __init__(self, server: ServerProcess, endpoint: FakeOpenAI) -> None:
        self.client = server.wait_listening()
        self.endpoint = endpoint
        self._process = psutil.Process(server.process.pid)
        self._tasks = Path(f"/proc/{server.process.pid}/task")

    def cpu_s(self) -> float:
        times = self._process.cpu_times()
        return float(times.user + times.system)

    def fine_cpu_s(self) -> float:
        """The same in nanoseconds where the system tells them, for threads that live throughout."""
        try:
            used = [(task / "schedstat").read_text().split()[0] for task in self._tasks.iterdir()]
        except OSError:
            return self.cpu_s()
        return sum(map(int, used)) / 1e9

    def path(self, html: bool) -> str:
        session_id = self.client.new_session()
        stream_id = self.client.send(session_id, "go").json["stream_id"]
        return f"/api/chat/stream?stream_id={stream_id}" + ("&html=1" if html else "")

    def whole(self, pieces: Sequence[str], html: bool = False) -> float:
        """The CPU that one reply costs, from the send to its stored end."""
        self.endpoint.enqueue(text_reply(pieces, DEFAULT_USAGE))
        before = self.cpu_s()
        with self.client.stream(self.path(html)) as reader:
            texts = [data["text"] for _, name, data in reader if name == "token"]
        assert "".join(texts) == "".join(pieces)
        return self.cpu_s() - before

    def thousands(self, pieces: Sequence[str], html: bool) -> Thousands:
        """The same reply, held back after each thousand pieces until the server has nothing left to do."""
        chunks = text_chunks(pieces, DEFAULT_USAGE)
        starts = range(0, PIECES, THOUSAND)
        gates = [f"{self.endpoint.connections} {html} {start}" for start in starts]
        steps: list[Any] = chunks[:1]
        for gate, start in zip(gates, starts, strict=True):
            steps += [Wait(gate), *chunks[1 + start : 1 + start + THOUSAND]]
        # The end is no piece; the totals have it.
        end = f"{gates[-1]} end"
        self.endpoint.enqueue(Reply([*steps, Wait(end), *chunks[1 + PIECES :]]))
        costs, length = [], 0
        with self.client.stream(self.path(html)) as reader:
            self.endpoint.reached(gates[0]).wait()
            for gate, start in zip(gates, starts, strict=True):
                before = self.fine_cpu_s()
                self.endpoint.gate(gate).set()
                while length < (start + THOUSAND) * LETTERS:
                    _, name, data = next(reader)
                    length += len(data["text"]) if name == "token" else 0
                time.sleep(SETTLE_S)
                costs.append(self.fine_cpu_s() - before)
            self.endpoint.gate(end).set()
            list(reader)
        return Thousands(costs[0], costs[-1])


class Relay(Subject):
    """The measure."""

    def path(self, html: bool) -> str:
        return "/stream"


def verdict(is_so: bool) -> str:
    return "ok" if is_so else "TOO MUCH"


def render_s(text: str) -> float:
    """The CPU that one rendering of the whole text costs, in this process."""
    renderer, costs = Renderer(), []
    for _ in range(3):
        before = time.process_time()
        renderer.blocks(text, {})
        costs.append(time.process_time() - before)
    return min(costs)


def measure(name: str, relay: Subject, ours: Subject) -> bool:
    text = SHAPES[name]
    pieces = [text[start : start + LETTERS] for start in range(0, len(text), LETTERS)]
    base, plain, html = relay.whole(pieces), ours.whole(pieces), ours.whole(pieces, html=True)
    render = render_s(text)
    limit = MOST_RATIO * base + MOST_RENDERS * render
    print(f"{name}: relay {base:.2f} s, one rendering {render:.2f} s")
    print(f"  without html {plain:.2f} s, {plain / base:.2f} times {verdict(plain <= MOST_RATIO * base)}")
    print(
        f"  with html    {html:.2f} s, {(html - plain) / render:.2f} renderings more; at most {limit:.2f} s "
        f"{verdict(html <= limit)}"
    )
    growth = {kind: ours.thousands(pieces, kind) for kind in (False, True)}
    print(
        f"  a thousand pieces, first -> last: without html {growth[False]}, with html {growth[True]}",
        flush=True,
    )
    is_flat = all(one.last <= MOST_GROWTH * one.first for one in growth.values())
    return plain <= MOST_RATIO * base and html <= limit and is_flat


def main(*names: str) -> int:
    with FakeOpenAI() as endpoint, tempfile.TemporaryDirectory() as folder:
        flags = ("--openai-base-url", endpoint.base_url, "--openai-model", "m")
        words = ("-m", "benchmarks.relay_server", endpoint.base_url)
        with (
            ServerProcess(Path(folder), words=words, is_bare=True) as relay_server,
            ServerProcess(Path(folder), *flags) as server,
        ):
            relay, ours = Relay(relay_server, endpoint), Subject(server, endpoint)
            for subject in (relay, ours):
                subject.whole(["warm ", "up"], html=True)
            results = [measure(name, relay, ours) for name in names or SHAPES]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
