"""Undo at the same moment as a draft save, a rename and a list; each acknowledged undo must stay undone.

`python3 run.py bench races 300` restarts the server after every twentieth round and checks what is there.
"""

import random
import sys
import tempfile
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fake_openai import FakeOpenAI
from tests.server_process import ServerProcess
from tests.web.live_server import Client

WITHIN_S = 0.010
ROUNDS_A_START = 20


@dataclass
class Chat:
    """What the conversation must hold: its typed texts, its title, its draft."""

    session_id: str
    typed: list[str] = field(default_factory=list)
    title: str = ""
    draft: str = ""

    def check(self, client: Client) -> None:
        session = client.session(self.session_id)
        typed = [m["content"] for m in session["messages"] if m["role"] == "user"]
        assert typed == self.typed, f"{typed} instead of {self.typed}"
        assert (session["title"], session["draft"]["text"]) == (self.title, self.draft)


class Race:
    """Rounds on one conversation: two texts are sent, then one is undone while others act."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.undone = 0

    def run(self, client: Client, chat: Chat, number: int) -> None:
        text = f"text-{number}"
        answer = client.send(chat.session_id, text)
        assert answer.status == 202, answer.raw
        client.events(answer.json["stream_id"])
        chat.title, chat.draft = f"title-{number}", f"draft-{number}"
        where = {"session_id": chat.session_id}
        with ThreadPoolExecutor(4) as pool:
            answers = [
                self._soon(pool, client, path, body)
                for path, body in (
                    ("/api/session/undo", where),
                    ("/api/session/draft", {**where, "text": chat.draft}),
                    ("/api/session/rename", {**where, "title": chat.title}),
                    ("/api/sessions", None),
                )
            ]
            statuses = [answer.result().status for answer in answers]
        assert statuses == [200] * 4, statuses
        self.undone += 1
        if number % 5 == 0:
            # A text that stays, so that the conversation grows.
            answer = client.send(chat.session_id, text)
            client.events(answer.json["stream_id"])
            chat.typed.append(text)

    def _soon(self, pool: ThreadPoolExecutor, client: Client, path: str, body: Any) -> Future[Any]:
        delay_s = self._random.uniform(0, WITHIN_S)

        def call() -> Any:
            threading.Event().wait(delay_s)
            return client.get(path) if body is None else client.post(path, body)

        return pool.submit(call)


def run(rounds: int, folder: Path, seed: int = 1) -> int:
    """Let undo race `rounds` times; how many undos were acknowledged and found after a restart."""
    race, done, chat = Race(seed), 0, None
    with FakeOpenAI() as endpoint:
        flags = ("--openai-base-url", endpoint.base_url, "--openai-model", "m")
        while done < rounds:
            with ServerProcess(folder, *flags) as server:
                client = server.wait_listening()
                chat = chat or Chat(client.new_session())
                for _ in range(min(ROUNDS_A_START, rounds - done)):
                    race.run(client, chat, done)
                    done += 1
                server.kill()
            with ServerProcess(folder, *flags) as server:
                chat.check(server.wait_listening())
                server.kill()
    return race.undone


def main(rounds: str = "300") -> int:
    with tempfile.TemporaryDirectory() as folder:
        undone = run(int(rounds), Path(folder))
    print(f"{undone} undos raced and were acknowledged; every one was there after a kill and a restart")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
