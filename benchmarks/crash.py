"""Kills the server again and again, and checks after each restart that nothing acknowledged is lost.

`python3 run.py bench crash 300` prints how many kills fell on each kind of moment.
"""

import http.client
import random
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from tests.fake_openai import FakeOpenAI, Reply, Wait, chunk
from tests.server_process import ServerProcess
from tests.web.live_server import Client

POINTS = ("half written", "synced", "renamed")
MOMENTS = ("idle", "saving", "streaming", "starting", "stopping")
GONE = (OSError, http.client.HTTPException)


@dataclass
class Chat:
    """What one conversation must hold: its typed texts, its title, and the words shown under a text.

    `maybe` is the state that an unanswered call may have made as well.
    """

    session_id: str
    typed: list[str] = field(default_factory=list)
    title: str = ""
    shown: dict[str, str] = field(default_factory=dict)
    maybe: tuple[list[str], str] | None = None

    def check(self, client: Client) -> None:
        session = client.session(self.session_id)
        typed = [m["content"] for m in session["messages"] if m["role"] == "user"]
        states = [(self.typed, self.title)] + ([self.maybe] if self.maybe else [])
        assert (typed, session["title"]) in states, f"{self.session_id}: {typed} is none of {states}"
        assert session["running"] is False
        replies = {m["turn"]: m["content"] for m in session["messages"] if m["role"] == "assistant"}
        for message in session["messages"]:
            if message["role"] == "user":
                shown = self.shown.get(message["content"], "")
                assert replies[message["turn"]].startswith(shown), f"{shown!r} was shown and is lost"
        self.typed, self.title, self.maybe = typed, session["title"], None


class Harness:
    """A state folder, its endpoint, and the conversations that were acknowledged."""

    def __init__(self, folder: Path, endpoint: FakeOpenAI, seed: int) -> None:
        self.folder = folder
        self.endpoint = endpoint
        self.random = random.Random(seed)
        self.chats: list[Chat] = []
        self.fell = Counter[str]()
        self._count = 0

    def kill_once(self, moment: str) -> None:
        """Let the server die at one kind of moment, start it again, and check everything."""
        getattr(self, f"_die_{moment}")()
        self.fell[moment] += 1
        with self._serve() as server:
            self._check(server.wait_listening())

    def _serve(self) -> ServerProcess:
        flags = ("--openai-base-url", self.endpoint.base_url, "--openai-model", "m")
        return ServerProcess(self.folder, *flags)

    def _check(self, client: Client) -> None:
        for path in (self.folder / "sessions").iterdir():
            orjson.loads(path.read_bytes())
        assert list((self.folder / "journal").iterdir()) == []
        for chat in self.chats:
            chat.check(client)
        if self.chats:
            self._talk(client, self.random.choice(self.chats))

    def _die_idle(self) -> None:
        with self._serve() as server:
            self._act(server.wait_listening())
            server.kill()

    def _die_saving(self) -> None:
        point, count = self.random.choice(POINTS), str(self.random.randint(1, 6))
        words = ("-m", "benchmarks.dying_server", point, count, str(self.folder), self.endpoint.base_url)
        with ServerProcess(self.folder, words=words, is_bare=True) as server:
            client = server.wait_listening()
            try:
                while True:
                    self._act(client)
            except GONE:
                assert server.wait() == -9

    def _die_streaming(self) -> None:
        with self._serve() as server:
            self._stream_some_words(server.wait_listening())
            server.kill()

    def _die_starting(self) -> None:
        self._die_streaming()
        with self._serve() as server:
            self._kill_within(server, 0.8)

    def _die_stopping(self) -> None:
        with self._serve() as server:
            self._stream_some_words(server.wait_listening())
            server.process.terminate()
            self._kill_within(server, 2.0)

    def _kill_within(self, server: ServerProcess, seconds: float) -> None:
        try:
            server.process.wait(self.random.uniform(0, seconds))
        except subprocess.TimeoutExpired:
            server.kill()

    def _act(self, client: Client) -> None:
        """One call of each kind; what it may have done is noted before, what it did after."""
        chat = self._chat(client)
        self._talk(client, chat)
        title = self._fresh("title")
        chat.maybe = (chat.typed, title)
        self._expect(client.post("/api/session/rename", {"session_id": chat.session_id, "title": title}), 200)
        chat.title, chat.maybe = title, None
        if len(chat.typed) > 1 and self.random.random() < 0.5:
            chat.maybe = (chat.typed[:-1], chat.title)
            self._expect(client.post("/api/session/undo", {"session_id": chat.session_id}), 200)
            chat.typed, chat.maybe = chat.typed[:-1], None

    def _chat(self, client: Client) -> Chat:
        if len(self.chats) >= 5:
            return self.random.choice(self.chats)
        title = self._fresh("chat")
        session_id = client.new_session(title=title)
        self.chats.append(Chat(session_id, title=title))
        return self.chats[-1]

    def _talk(self, client: Client, chat: Chat) -> None:
        text = self._fresh("text")
        stream_id = self._send(client, chat, text)
        words = [data["text"] for _, name, data in client.events(stream_id) if name == "token"]
        chat.shown[text] = "".join(words)

    def _send(self, client: Client, chat: Chat, text: str) -> str:
        chat.maybe = ([*chat.typed, text], chat.title)
        body = {"session_id": chat.session_id, "message": text, "if_busy": "reject"}
        answer = self._expect(client.post("/api/chat/start", body), 202)
        chat.typed, chat.maybe = [*chat.typed, text], None
        return str(answer["stream_id"])

    def _stream_some_words(self, client: Client) -> None:
        chat = self._chat(client)
        words = [chunk({"content": f"{self._fresh('word')} "}) for _ in range(self.random.randint(1, 20))]
        self.endpoint.enqueue(Reply([*words, Wait("never")]))
        text = self._fresh("text")
        stream_id = self._send(client, chat, text)
        with client.stream(f"/api/chat/stream?stream_id={stream_id}") as reader:
            chat.shown[text] = reader.until("token")["text"]

    def _fresh(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}-{self._count}"

    @staticmethod
    def _expect(answer: Any, status: int) -> Any:
        assert answer.status == status, answer.raw
        return answer.json


def run(kills: int, folder: Path, seed: int = 1) -> Counter[str]:
    """Let the server die `kills` times, evenly over the kinds of moments; how many fell on each."""
    with FakeOpenAI() as endpoint:
        harness = Harness(folder, endpoint, seed)
        for number in range(kills):
            harness.kill_once(MOMENTS[number % len(MOMENTS)])
        return harness.fell


def main(kills: str = "300") -> int:
    with tempfile.TemporaryDirectory() as folder:
        fell = run(int(kills), Path(folder))
    for moment, count in fell.items():
        print(f"{moment:10} {count:4}  {100 * count / fell.total():.0f} %")
    print(f"{fell.total()} kills, nothing acknowledged was lost or doubled")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
