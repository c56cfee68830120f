"""run.py: one command makes the environment, whatever happened before, and hands over."""

import ast
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import platformdirs.macos
import platformdirs.unix
import pytest

import run
from api.settings import load
from tests.stub_wheels import make_wheel

RUN = Path(run.__file__)
BASE_PYTHON = getattr(sys, "_base_executable", sys.executable)
TIMEOUT_S = 60
STUB_SETUP = """
[options]
install_requires =
    stub-library>=1

[options.extras_require]
test =
    stub-tools
"""
STUB_CLI = """
import os, sys

def main(argv):
    import stub_library
    print("prefix", sys.prefix)
    print("arguments", argv)
    print("folder", os.getcwd())
    print("input", sys.stdin.read())
    return 7
"""
# Root without these is stopped by modes, and still reaches a Python that only root may run.
HELD_BY_MODES = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]


@dataclass
class Checkout:
    """A copy of run.py beside a stub of the project."""

    folder: Path
    environ: Mapping[str, str]

    @property
    def environment(self) -> Path:
        return self.folder / ".venv"

    def command(self, *words: str) -> list[str]:
        return [BASE_PYTHON, str(self.folder / "run.py"), *words]

    def popen(self, *words: str, **environ: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(*words),
            env={**self.environ, **environ},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def start(
        self, *words: str, before: Sequence[str] = (), stdin: str = "", **environ: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*before, *self.command(*words)],
            env={**self.environ, **environ},
            input=stdin,
            cwd="/",
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
        )


def make_checkout(parent: Path) -> Checkout:
    folder = parent / "blank ümlaut"
    (folder / "api").mkdir(parents=True)
    shutil.copy(RUN, folder / "run.py")
    (folder / "setup.cfg").write_text(STUB_SETUP)
    (folder / "api" / "__init__.py").touch()
    (folder / "api" / "cli.py").write_text(STUB_CLI)
    wheels = parent / "wheels"
    make_wheel(wheels, "stub-library", "1.0", {"stub_library.py": b""})
    make_wheel(wheels, "stub-tools", "1.0", {"stub_tools.py": b""})
    home = parent / "home"
    home.mkdir()
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "PIP_CONFIG_FILE": os.devnull}
    environ |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "PYTHONDONTWRITEBYTECODE": "1"}
    return Checkout(folder, environ)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return make_checkout(tmp_path)


@pytest.fixture
def silent_index() -> Iterator[socket.socket]:
    """A package index that accepts and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(TIMEOUT_S)
        yield server


def index_of(server: socket.socket) -> dict[str, str]:
    url = f"http://127.0.0.1:{server.getsockname()[1]}/simple"
    return {"PIP_NO_INDEX": "", "PIP_FIND_LINKS": "", "PIP_INDEX_URL": url}


def test_it_parses_under_python_3_6() -> None:
    ast.parse(RUN.read_text(encoding="utf-8"), feature_version=(3, 6))


def test_it_imports_the_standard_library_only() -> None:
    tree = ast.parse(RUN.read_text(encoding="utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names


def test_an_old_python_is_told_which_one_is_needed() -> None:
    sentence = run.python_problem((3, 6, 9), lambda name: None)
    assert "needs Python 3.11" in sentence and "3.6" in sentence


def test_an_old_python_names_a_newer_one_that_is_there() -> None:
    found = run.python_problem((3, 9, 2), lambda name: "/bin/x" if name == "python3.12" else None)
    assert found.endswith("python3.12 run.py")


def test_a_new_python_is_no_problem() -> None:
    assert run.python_problem((3, 11, 0), lambda name: None) is None


def test_first_start_makes_the_environment_and_hands_over(checkout: Checkout) -> None:
    first = checkout.start("--port", "0", "word", stdin="said")
    assert first.returncode == 7, first.stderr
    lines = first.stdout.splitlines()
    assert lines[0] == f"prefix {checkout.environment}"
    assert lines[1] == "arguments ['--port', '0', 'word']"
    assert lines[2] == "folder /"
    assert lines[3] == "input said"
    assert "MB on disk" in first.stderr and "First start" in first.stderr
    assert (checkout.environment / "install.log").read_text()
    second = checkout.start()
    assert (second.returncode, second.stderr) == (7, "")


def test_test_adds_its_tools_to_the_environment_that_is_there(checkout: Checkout) -> None:
    checkout.start()
    tools = checkout.start("test")
    assert "Removing" not in tools.stderr and "test tools" in tools.stderr
    assert list(checkout.environment.glob("lib/*/site-packages/stub_tools.py"))
    assert checkout.start().stderr == "" == checkout.start("test", "-k", "x").stderr


@pytest.mark.parametrize("damage", ["setup.cfg", ".ready missing", "other Python"])
def test_an_environment_that_does_not_fit_is_made_anew(checkout: Checkout, damage: str) -> None:
    checkout.start()
    mark = checkout.environment / ".ready"
    (checkout.environment / "old").touch()
    if damage == "setup.cfg":
        (checkout.folder / "setup.cfg").write_text(STUB_SETUP + "# changed\n")
    elif damage == ".ready missing":
        mark.unlink()
    else:
        mark.write_text(mark.read_text().replace(f"{sys.version_info.major}.", "2.", 1))
    again = checkout.start()
    assert again.returncode == 7, again.stderr
    assert "Removing" in again.stderr
    assert not (checkout.environment / "old").exists()


def test_a_killed_installation_is_made_anew(checkout: Checkout, silent_index: socket.socket) -> None:
    killed = checkout.popen(**index_of(silent_index))
    connection, _ = silent_index.accept()
    with connection:
        os.killpg(killed.pid, signal.SIGKILL)
        killed.communicate(timeout=TIMEOUT_S)
    assert checkout.environment.is_dir()
    again = checkout.start()
    assert again.returncode == 7 and "Removing" in again.stderr


def test_a_start_waits_for_the_pip_that_a_killed_start_left(
    checkout: Checkout, silent_index: socket.socket
) -> None:
    killed = checkout.popen(**index_of(silent_index))
    connection, _ = silent_index.accept()
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait(TIMEOUT_S)
    waiting = checkout.popen()
    assert waiting.stderr is not None
    assert "waiting" in waiting.stderr.readline()
    connection.close()
    silent_index.close()
    _, rest = waiting.communicate(timeout=TIMEOUT_S)
    killed.communicate(timeout=TIMEOUT_S)
    assert waiting.returncode == 7, rest


def test_two_starts_at_once_make_one_environment(checkout: Checkout) -> None:
    both = [checkout.popen(), checkout.popen()]
    texts = [process.communicate(timeout=TIMEOUT_S)[1] for process in both]
    assert [process.returncode for process in both] == [7, 7], texts
    assert sorted("First start" in text for text in texts) == [False, True]


def test_a_read_only_checkout_uses_the_state_folder(checkout: Checkout, tmp_path: Path) -> None:
    checkout.folder.chmod(0o555)
    started = checkout.start(f"--state-dir={tmp_path / 'state'}", before=HELD_BY_MODES)
    assert started.returncode == 7, started.stderr
    assert started.stdout.startswith(f"prefix {tmp_path / 'state' / 'venv'}")
    assert not checkout.environment.exists()


def test_no_writable_folder_at_all_is_said(checkout: Checkout) -> None:
    checkout.folder.chmod(0o555)
    Path(checkout.environ["HOME"]).chmod(0o555)
    refused = checkout.start(before=HELD_BY_MODES)
    assert refused.returncode == 1
    assert "can be written" in refused.stderr and "--state-dir" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_ready_environment_serves_where_nothing_can_be_written(checkout: Checkout) -> None:
    assert checkout.start().returncode == 7
    for folder in (checkout.environment, checkout.folder, Path(checkout.environ["HOME"])):
        folder.chmod(0o555)
    started = checkout.start(before=HELD_BY_MODES)
    assert (started.returncode, started.stderr) == (7, "")


def test_without_network_the_start_says_so(checkout: Checkout) -> None:
    refused = checkout.start(before=["unshare", "-n"], PIP_NO_INDEX="", PIP_FIND_LINKS="")
    assert refused.returncode == 1
    assert "package index cannot be reached" in refused.stderr and "Traceback" not in refused.stderr


def test_a_requirement_that_does_not_exist_is_named(checkout: Checkout) -> None:
    (checkout.folder / "setup.cfg").write_text("[options]\ninstall_requires =\n    stub-missing\n")
    refused = checkout.start()
    assert refused.returncode == 1
    assert "stub-missing" in refused.stderr and "install.log" in refused.stderr


def test_a_python_without_ensurepip_names_the_package(checkout: Checkout, tmp_path: Path) -> None:
    (tmp_path / "trick").mkdir()
    (tmp_path / "trick" / "sitecustomize.py").write_text("import sys\nsys.modules['ensurepip'] = None\n")
    refused = checkout.start(PYTHONPATH=str(tmp_path / "trick"))
    assert refused.returncode == 1
    assert "apt install python3-venv" in refused.stderr and "Traceback" not in refused.stderr


def test_a_full_disk_is_said(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(disk)], check=True)
    try:
        refused = make_checkout(disk).start()
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    assert refused.returncode == 1
    assert "is full" in refused.stderr and "Traceback" not in refused.stderr


def test_a_disk_that_fills_up_while_installing_is_said(tmp_path: Path) -> None:
    log = tmp_path / "install.log"
    log.write_text("ERROR: Could not install packages: [Errno 28] No space left on device\n")
    assert "is full" in str(run.failure_of(str(tmp_path / "venv"), str(log)))


def test_an_environment_that_python_does_not_see_ends_the_start(checkout: Checkout) -> None:
    refused = checkout.start(TALARIA_ENVIRONMENT_READY="/nowhere")
    assert refused.returncode == 1 and "/nowhere" in refused.stderr


@pytest.mark.parametrize("variables", [{}, {"XDG_DATA_HOME": "/data"}, {"XDG_DATA_HOME": "relative"}])
def test_the_data_folder_is_that_of_platformdirs(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]
) -> None:
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert run.user_data_folder("linux", os.environ) == platformdirs.unix.Unix().user_data_dir
    assert run.user_data_folder("darwin", os.environ) == platformdirs.macos.MacOS().user_data_dir


def test_the_data_folder_on_windows_is_the_local_one() -> None:
    assert run.user_data_folder("win32", {"LOCALAPPDATA": "C:\\Local"}) == "C:\\Local"


@pytest.mark.parametrize("argv", [[], ["--state-dir", "~/x"], ["--port", "1", "--state-dir=relative"]])
@pytest.mark.parametrize("variable", [None, "~/y"])
def test_the_state_folder_is_that_of_the_settings(
    monkeypatch: pytest.MonkeyPatch, argv: list[str], variable: str | None
) -> None:
    monkeypatch.delenv("TALARIA_STATE_DIR", raising=False)
    if variable:
        monkeypatch.setenv("TALARIA_STATE_DIR", variable)
    named = argv[-1].removeprefix("--state-dir=") if argv else None
    assert run.state_folder(argv) == str(load({"state_dir": named}, os.environ).state_dir)
