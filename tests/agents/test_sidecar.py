"""The model process: it answers only its owner, is started again after a crash, and leaves no orphan."""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest

from api.agents.embedded_install import EmbeddedInstall
from api.agents.sidecar import EXIT_NO_ENGINE, EXIT_NO_MODEL
from api.agents.sidecar_process import Sidecar, SidecarAddress, death_reason
from api.concurrency import Workers
from api.errors import AgentError
from tests.embedded_model import installed, sidecar, workers

__all__ = ["installed", "sidecar", "workers"]

TIMEOUT_S = 30
LISTENING_STUB = "import sys\nprint('listening http://127.0.0.1:9', flush=True)\nsys.stdin.read()\n"
OWNER = """
import os, sys
from pathlib import Path
from api.agents.sidecar_process import Sidecar
from api.concurrency import Workers
sidecar = Sidecar(Path(sys.argv[1]), Path(sys.argv[2]), os.environ, Workers().spawn)
sidecar.address()
print(sidecar.pid, flush=True)
sys.stdin.read()
"""

MakeSidecar = Callable[..., Sidecar]


@pytest.fixture
def stub(tmp_path: Path, workers: Workers) -> Iterator[MakeSidecar]:
    """Makes sidecars that run a script of the test's instead of the model."""
    made: list[Sidecar] = []

    def make(code: str, start_s: float = TIMEOUT_S) -> Sidecar:
        script = tmp_path / "stub.py"
        script.write_text(code)
        environ = {**os.environ, "SECRET": "sesame", "TALARIA_OPENAI_API_KEY": "sesame"}
        made.append(
            Sidecar(tmp_path, tmp_path, environ, workers.spawn, script=script, start_s=start_s),
        )
        return made[-1]

    yield make
    for each in made:
        each.close()


def ask(address: SidecarAddress, text: str = "List three fruits.", **body: object) -> Iterator[str]:
    """The pieces of a streamed answer."""
    message = {"role": "user", "content": text}
    with httpx2.stream(
        "POST",
        f"{address.base_url}/chat/completions",
        json={"messages": [message], "stream": True, **body},
        headers={"Authorization": f"Bearer {address.key}"},
        timeout=TIMEOUT_S,
    ) as response:
        assert response.status_code == 200
        for line in response.iter_lines():
            if line.startswith("data: {"):
                choices = json.loads(line.removeprefix("data: "))["choices"]
                yield from (choice["delta"].get("content") or "" for choice in choices)


def wait_until_gone(pid: int) -> bool:
    """Whether a process, be it a child of ours or not, ends in time."""
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([watched], [], [], TIMEOUT_S)[0])
    finally:
        os.close(watched)


def running(sidecar: Sidecar) -> SidecarAddress:
    address = sidecar.address()
    assert address is not None
    return address


def test_the_real_model_streams(sidecar: Sidecar) -> None:
    pieces = [piece for piece in ask(running(sidecar), max_tokens=24) if piece]
    assert len(pieces) >= 2


def test_a_reply_that_is_cancelled_frees_its_place(sidecar: Sidecar) -> None:
    address = running(sidecar)
    for _ in range(4):
        pieces = ask(address, max_tokens=256)
        next(pieces)
        pieces.close()  # type: ignore[attr-defined]
    assert any(ask(address, max_tokens=4))


def test_without_the_key_it_answers_nobody(sidecar: Sidecar) -> None:
    address = running(sidecar)
    answer = httpx2.get(f"{address.base_url}/models", headers={"Origin": "http://elsewhere.example"})
    assert answer.status_code == 401
    assert answer.headers.get("access-control-allow-origin") not in ("*", "http://elsewhere.example")
    assert address.base_url.startswith("http://127.0.0.1:")
    assert address.key not in repr(address)


def test_a_second_use_finds_the_same_process(sidecar: Sidecar) -> None:
    address, pid = running(sidecar), sidecar.pid
    assert sidecar.state == "running"
    assert (sidecar.address(), sidecar.pid) == (address, pid)


def test_after_a_crash_the_next_use_starts_it_again(sidecar: Sidecar) -> None:
    first, pid = running(sidecar), sidecar.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert wait_until_gone(pid)
    assert sidecar.state == "off"
    second = running(sidecar)
    assert second != first
    assert any(ask(second, max_tokens=4))


def test_close_ends_it_even_while_it_writes(sidecar: Sidecar) -> None:
    pieces = ask(running(sidecar), max_tokens=256)
    next(pieces)
    pid = sidecar.pid
    assert pid is not None
    sidecar.close()
    assert wait_until_gone(pid)
    pieces.close()  # type: ignore[attr-defined]
    with pytest.raises(AgentError, match="ending"):
        sidecar.address()


def test_no_orphan_stays_when_its_owner_is_killed(installed: EmbeddedInstall) -> None:
    words = [sys.executable, "-c", OWNER, str(installed.engine_path), str(installed.model_path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        owner.kill()
    assert wait_until_gone(pid)


def test_it_gets_no_secret_from_the_environment(stub: MakeSidecar) -> None:
    show_names = "import os, sys\nprint('listening', *os.environ, flush=True)\nsys.stdin.read()\n"
    names = running(stub(show_names)).base_url
    assert "TALARIA_SIDECAR_KEY" in names
    assert "SECRET" not in names and "TALARIA_OPENAI" not in names


def test_two_threads_start_one_process(stub: MakeSidecar, workers: Workers) -> None:
    sidecar = stub(LISTENING_STUB)
    found: list[tuple[SidecarAddress | None, int | None]] = []
    threads = [workers.spawn("use", lambda: found.append((sidecar.address(), sidecar.pid))) for _ in range(4)]
    for thread in threads:
        thread.join(TIMEOUT_S)
    assert len(found) == 4 and len(set(map(str, found))) == 1


def test_a_start_that_hangs_is_given_up(stub: MakeSidecar) -> None:
    sidecar = stub("import sys\nsys.stdin.read()\nsys.stdin = None\nwhile True: pass\n", start_s=0.3)
    with pytest.raises(AgentError, match="did not start") as caught:
        sidecar.address()
    assert caught.value.type == "unavailable"
    assert sidecar.state == "off"


def test_a_cancelled_wait_ends_at_once(stub: MakeSidecar, workers: Workers) -> None:
    sidecar = stub("import sys\nsys.stdin.read()\n")
    assert sidecar.address(lambda: True) is None
    cancelled: list[bool] = []
    results: list[SidecarAddress | None] = []
    waiting = workers.spawn("use", lambda: results.append(sidecar.address(lambda: bool(cancelled))))
    cancelled.append(True)
    sidecar.wake()
    waiting.join(TIMEOUT_S)
    assert results == [None]


def test_a_processor_without_avx2_is_named(stub: MakeSidecar) -> None:
    sidecar = stub("import os, signal\nos.kill(os.getpid(), signal.SIGILL)\n")
    with pytest.raises(AgentError, match="AVX2"):
        sidecar.address()


def test_an_engine_that_is_not_there_is_said(tmp_path: Path, workers: Workers) -> None:
    sidecar = Sidecar(tmp_path, tmp_path / "model", os.environ, workers.spawn)
    with pytest.raises(AgentError, match="engine"):
        sidecar.address()


def test_a_model_that_cannot_be_read_is_said(
    installed: EmbeddedInstall, tmp_path: Path, workers: Workers
) -> None:
    broken = tmp_path / "model.gguf"
    broken.write_bytes(b"no model")
    sidecar = Sidecar(installed.engine_path, broken, os.environ, workers.spawn)
    with pytest.raises(AgentError, match="file cannot be loaded"):
        sidecar.address()


@pytest.mark.parametrize(
    ("code", "line", "word"),
    [
        (-4, "", "AVX2"),
        (132, "", "AVX2"),
        (0xC000001D, "", "AVX2"),
        (EXIT_NO_ENGINE, "no-engine libgomp.so.1: cannot open shared object file", "apt install libgomp1"),
        (EXIT_NO_ENGINE, "no-engine No module named 'xllamacpp'", "xllamacpp"),
        (EXIT_NO_MODEL, "no-model failed", "failed"),
        (-9, "", "code -9"),
    ],
)
def test_each_way_to_die_has_its_sentence(code: int, line: str, word: str) -> None:
    assert word in death_reason(code, [line])
