"""A real OpenViking server: collected only where `TALARIA_OPENVIKING_SERVER` names the program."""

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx2
import pytest

from api.clock import Clock
from api.memory.base import Entry, MemoryFailed
from api.memory.openviking import Account, OpenVikingMemory
from tests.conftest import wait_until
from tests.fake_openai import FakeOpenAI

BATCH = "20260101_120000_abcdef:1-2"
PATH = "/api/v1/sessions/20260101_120000_abcdef%3A1-2"
ENTRIES = [Entry("t1", 1, "user", "I like tea."), Entry("t1", 2, "assistant", "Noted.")]


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.fixture
def endpoint(tmp_path: Path, fake: FakeOpenAI) -> Iterator[str]:
    port, config = free_port(), tmp_path / "ov.conf"
    model = {"provider": "openai", "model": "m", "api_key": "k", "api_base": fake.base_url}
    dense = {"dense": {**model, "dimension": 64}}
    config.write_text(
        json.dumps({"storage": {"workspace": str(tmp_path / "space")}, "embedding": dense, "vlm": model})
    )
    words = ("--config", str(config), "--host", "127.0.0.1", "--port", str(port))
    with open(tmp_path / "log", "wb") as log:
        server = subprocess.Popen(
            [os.environ["TALARIA_OPENVIKING_SERVER"], *words],
            cwd=tmp_path,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=os.environ | {"HOME": str(tmp_path)},
        )
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        with suppress(subprocess.TimeoutExpired):
            server.wait(10)
        server.kill()
        server.wait()


def test_a_batch_is_taken_once_by_the_real_one(endpoint: str) -> None:
    account = Account(endpoint)
    wait_until(lambda: OpenVikingMemory(account, Clock()).health().is_healthy, "the server")
    memory = OpenVikingMemory(account, Clock())

    def session() -> dict[str, object]:
        answer = httpx2.get(endpoint + PATH, headers=account.headers(), trust_env=False).json()
        return dict(answer["result"])

    messages = [{"role": "user", "parts": [{"type": "text", "text": "I like tea."}]}]
    stored = httpx2.post(
        f"{endpoint}{PATH}/messages/batch",
        json={"messages": messages},
        headers=account.headers(),
        trust_env=False,
    )
    assert stored.status_code == 200, "a try that broke off has left one of two messages"
    for _ in range(2):
        memory.on_session_end("20260101_120000_abcdef", BATCH, ENTRIES, None)
        found = session()
        assert (found["message_count"], found["total_message_count"]) == (0, 2), found
    with pytest.raises(MemoryFailed, match="NOT_FOUND"):
        memory.recall("there is no model to search by", "s", 6)
