"""The command line: what it accepts, what it refuses, and with which exit code."""

import subprocess
import sys
import types
from collections.abc import Sequence
from pathlib import Path

import pytest

from api import cli
from api.errors import TalariaError, UsageError
from api.setting_rows import SETTINGS
from api.settings import Settings


class StubServer(types.ModuleType):
    """Stands for `api.server`; remembers what it was asked to serve."""

    def __init__(self, code: int = 0, error: Exception | None = None) -> None:
        super().__init__("api.server")
        self.code, self.error = code, error
        self.served: list[Settings] = []

    def serve(self, settings: Settings) -> int:
        self.served.append(settings)
        if self.error:
            raise self.error
        return self.code


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> StubServer:
    stub = StubServer()
    for row in SETTINGS:
        if row.environment:
            monkeypatch.delenv(row.environment, raising=False)
    monkeypatch.setenv("TALARIA_STATE_DIR", str(tmp_path))
    monkeypatch.setitem(sys.modules, "api.server", stub)
    monkeypatch.setattr(cli, "server", stub, raising=False)
    return stub


def exit_code(*argv: str) -> int:
    with pytest.raises(SystemExit) as end:
        cli.main(argv)
    return int(end.value.code or 0)


def test_no_command_serves(server: StubServer) -> None:
    assert exit_code("--port", "0", "--no-browser", "--allow-host", "a", "--allow-host", "b") == 0
    [settings] = server.served
    assert settings.port == 0 and settings.no_browser and settings.allow_hosts == ("a", "b")


def test_serve_can_be_named(server: StubServer) -> None:
    assert exit_code("serve", "--port", "5") == 0
    assert server.served[0].port == 5


def test_the_code_of_the_server_is_the_exit_code(server: StubServer) -> None:
    server.code = 4
    assert exit_code() == 4


@pytest.mark.parametrize(("error", "code"), [(TalariaError("Broken."), 1), (UsageError("Wrong."), 2)])
def test_an_error_of_ours_is_one_sentence(
    server: StubServer, error: TalariaError, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    server.error = error
    assert exit_code() == code
    assert capsys.readouterr().err == f"{error}\n"


@pytest.mark.parametrize(
    "argv", [["--unknown"], ["unknown"], ["--port", "x"], ["agents", "install", "other"]]
)
def test_what_is_not_understood_ends_with_2(server: StubServer, argv: list[str]) -> None:
    assert exit_code(*argv) == 2
    assert server.served == []


def test_a_token_on_the_command_line_is_warned_of(
    server: StubServer, capsys: pytest.CaptureFixture[str]
) -> None:
    exit_code("--token", "sesame")
    warned = capsys.readouterr().err
    assert "--token-file" in warned and "sesame" not in warned
    assert server.served[0].token == "sesame"


def test_help_names_every_flag_and_variable(server: StubServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("--help") == 0
    text = capsys.readouterr().out
    for row in SETTINGS:
        if row.flag:
            assert row.flag in text
            assert not row.environment or row.environment in text
    assert server.served == []


class Calls:
    """Stands for `subprocess.call`; remembers the commands and fails those that hold `failing`."""

    def __init__(self, failing: str = "") -> None:
        self.failing = failing
        self.commands: list[Sequence[str]] = []

    def __call__(self, command: Sequence[str], cwd: Path) -> int:
        self.commands.append(command)
        return int(bool(self.failing) and self.failing in command)


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    path = tmp_path / "chromium"
    path.touch()
    monkeypatch.setenv("TALARIA_CHROMIUM", str(path))
    return path


def test_test_runs_every_check(
    monkeypatch: pytest.MonkeyPatch, browser: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = Calls()
    monkeypatch.setattr(subprocess, "call", calls)
    assert exit_code("test") == 0
    assert len(calls.commands) == len(cli.GATE)
    assert "All checks passed" in capsys.readouterr().out


def test_one_failed_check_fails_and_the_others_run(
    monkeypatch: pytest.MonkeyPatch, browser: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = Calls(failing="mypy")
    monkeypatch.setattr(subprocess, "call", calls)
    assert exit_code("test") == 1
    assert len(calls.commands) == len(cli.GATE)
    assert "Not passed: types." in capsys.readouterr().err


def test_test_with_arguments_is_pytest(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Calls()
    monkeypatch.setattr(subprocess, "call", calls)
    assert exit_code("test", "-k", "word", "tests/x.py") == 0
    assert calls.commands == [[sys.executable, "-m", "pytest", "-k", "word", "tests/x.py"]]


def test_test_without_chromium_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TALARIA_CHROMIUM", "/nowhere/chromium")
    monkeypatch.setattr(subprocess, "call", Calls())
    assert exit_code("test") == 1
    assert "apt install chromium" in capsys.readouterr().err


def test_the_layers_command_works_here() -> None:
    done = subprocess.run([sys.executable, "-c", cli.LINT_IMPORTS], cwd=cli.CHECKOUT, capture_output=True)
    assert done.returncode == 0, done.stdout
