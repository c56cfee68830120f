"""`run.py password` as a person uses it: in a terminal, asked twice, nothing shown."""

import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pytest

from api.auth.password import find_password
from api.settings import load
from tests.server_process import CHECKOUT, SERVE, ServerProcess
from tests.web.live_server import Client

WAIT_S = 30.0


def dialogue(folder: Path, *answers: str, flags: tuple[str, ...] = ()) -> tuple[int, str]:
    """The exit code and what a terminal shows; each answer is typed after a question."""
    terminal, inner = pty.openpty()
    words = [sys.executable, "-c", SERVE, "password", "--state-dir", str(folder), *flags]
    process = subprocess.Popen(
        words, cwd=CHECKOUT, stdin=inner, stdout=inner, stderr=inner, start_new_session=True
    )
    os.close(inner)
    shown, left = "", list(answers)
    try:
        while select.select([terminal], [], [], WAIT_S)[0]:
            piece = os.read(terminal, 1024)
            if not piece:
                break
            shown += piece.decode()
            if left and shown.endswith(": "):
                os.write(terminal, left.pop(0).encode() + b"\n")
    except OSError:
        # Linux tells the end of the other side in this way.
        pass
    finally:
        os.close(terminal)
    return process.wait(WAIT_S), shown


def test_it_asks_twice_and_shows_nothing(tmp_path: Path) -> None:
    code, shown = dialogue(tmp_path / "state", "correct horse", "correct horse")
    assert (code, "The password is set." in shown, "correct" in shown) == (0, True, False)
    found = find_password(load({"state_dir": str(tmp_path / "state")}, {}))
    assert found and found.matches("correct horse")


def test_two_different_ones_are_asked_for_again(tmp_path: Path) -> None:
    code, shown = dialogue(tmp_path, "correct horse", "correct house", "battery staple", "battery staple")
    assert code == 0 and "do not match" in shown
    found = find_password(load({"state_dir": str(tmp_path)}, {}))
    assert found and found.matches("battery staple")


def test_a_short_one_is_refused_in_a_sentence(tmp_path: Path) -> None:
    code, shown = dialogue(tmp_path, "short", "short")
    assert code == 2 and "8 characters" in shown and "Traceback" not in shown
    assert not (tmp_path / "password").exists()


def test_it_can_be_removed(tmp_path: Path) -> None:
    dialogue(tmp_path, "correct horse", "correct horse")
    assert dialogue(tmp_path, flags=("--remove",))[0] == 0
    assert not (tmp_path / "password").exists()


def test_an_open_server_needs_it_and_takes_it_at_once(tmp_path: Path) -> None:
    flags = ("--host", "0.0.0.0", "--insecure-lan")
    with ServerProcess(tmp_path, *flags) as refused:
        assert refused.wait() == 2
        assert "python3 run.py password" in "\n".join(refused.lines)
    dialogue(tmp_path, "correct horse", "correct horse")
    with ServerProcess(tmp_path, *flags, "--base-path", "chat") as server:
        found = server.wait_line(r"listening on http://127\.0\.0\.1:(\d+)/chat/#token=(\S+)")
        client = Client(int(found[1]), found[2])
        assert "whoever shares the network" in "\n".join(server.lines)
        assert (
            client.post("/chat/api/auth/login", {"password": "correct horse"}, Authorization=None).status
            == 200
        )
        dialogue(tmp_path, "battery staple", "battery staple")
        for password, status in (("correct horse", 401), ("battery staple", 200)):
            answer = client.post("/chat/api/auth/login", {"password": password}, Authorization=None)
            assert answer.status == status
        assert server.stop() == 0
        assert "battery" not in "\n".join(server.lines)


@pytest.mark.parametrize("flag", ["--behind-tls", "--insecure-lan"])
def test_a_second_start_points_to_the_base_path(tmp_path: Path, flag: str) -> None:
    with ServerProcess(tmp_path, flag, "--base-path", "/chat") as first:
        first.wait_line(r"listening on \S+/chat/#token=")
        with ServerProcess(tmp_path) as second:
            assert second.wait() == 3
            assert any("/chat/#token=" in line for line in second.lines)
