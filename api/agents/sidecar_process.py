"""The parent's side of the model process: starts it on first use, knows its address, ends it."""

import secrets
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from api.agents.sidecar import EXIT_NO_ENGINE, EXIT_NO_MODEL
from api.concurrency import new_condition
from api.errors import AgentError

START_S = 60.0
END_S = 2.0
SCRIPT = Path(__file__).with_name("sidecar.py")
KEPT_LINES = 20
LISTENING = "listening "
WINDOWS_ILLEGAL_INSTRUCTION = 0xC000001D
PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT")
LOADER_PATHS = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
OTHER_MODEL = "Or connect another model under Models in the page."


@dataclass(frozen=True, slots=True)
class SidecarAddress:
    """Where a running model process answers, and the key that it asks for."""

    base_url: str
    key: str

    def __repr__(self) -> str:
        return f"SidecarAddress({self.base_url})"


class _Child:
    """One life of the model process; all fields are guarded by the condition of its `Sidecar`."""

    def __init__(self, process: subprocess.Popen[str], key: str) -> None:
        self.process = process
        self.key = key
        self.address: SidecarAddress | None = None
        self.lines: deque[str] = deque(maxlen=KEPT_LINES)
        self.is_leaving = False
        self.is_over = False

    @property
    def is_alive(self) -> bool:
        # `poll` sees a crash before the reader does, but sees nothing while the reader waits for the end.
        return not self.is_leaving and self.process.poll() is None


class Sidecar:
    """Owns at most one model process. `spawn` runs the thread that reads what the process prints."""

    def __init__(
        self,
        engine: Path,
        model: Path,
        environ: Mapping[str, str],
        spawn: Callable[[str, Callable[[], object]], Any],
        *,
        script: Path = SCRIPT,
        start_s: float = START_S,
    ) -> None:
        self._words = [sys.executable, "-I", str(script), str(engine), str(model)]
        self._environ = {name: environ[name] for name in (*PASSED_ON, *LOADER_PATHS) if name in environ}
        self._spawn = spawn
        self._start_s = start_s
        self._changed = new_condition()
        self._child: _Child | None = None
        self._is_closed = False

    @property
    def state(self) -> str:
        """`off`, `starting` or `running`."""
        with self._changed:
            if self._child is None or not self._child.is_alive:
                return "off"
            return "running" if self._child.address else "starting"

    @property
    def pid(self) -> int | None:
        with self._changed:
            return self._child.process.pid if self._child and self._child.is_alive else None

    def address(self, is_cancelled: Callable[[], bool] = lambda: False) -> SidecarAddress | None:
        """Where the model answers; starts it where needed. None when cancelled meanwhile (see `wake`).

        Raises `AgentError` (unavailable) with the reason why it cannot run here.
        """
        with self._changed:
            if self._is_closed:
                raise AgentError("Talaria is ending.", type="unavailable")
            child = self._child
            if child is None or not child.is_alive:
                child = self._child = self._launch()
            self._changed.wait_for(lambda: child.address or child.is_over or is_cancelled(), self._start_s)
            if child.address and not child.is_over:
                return child.address
            if not child.is_over and is_cancelled():
                return None
            reason = self._reason(child)
        _end(child.process, wait_s=0)
        raise AgentError(reason, type="unavailable")

    def wake(self) -> None:
        """Let those who wait in `address` ask again whether they are cancelled."""
        with self._changed:
            self._changed.notify_all()

    def close(self) -> None:
        """End the process; later calls of `address` are refused."""
        with self._changed:
            self._is_closed = True
            child = self._child
            self._changed.notify_all()
        if child is not None:
            _end(child.process, wait_s=END_S)

    def _launch(self) -> _Child:
        key = secrets.token_urlsafe(32)
        try:
            process = subprocess.Popen(
                self._words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                encoding="utf-8",
                errors="replace",
                env=self._environ | {"TALARIA_SIDECAR_KEY": key},
                # Ctrl-C in the terminal is the server's to answer, not the model's.
                start_new_session=True,
            )
        except OSError as exc:
            raise AgentError(f"The demonstration model cannot start: {exc}.", type="unavailable") from exc
        child = _Child(process, key)
        self._spawn("sidecar-output", lambda: self._read(child))
        return child

    def _read(self, child: _Child) -> None:
        """Take every line until the process ends, so that it never waits for a full pipe."""
        assert child.process.stdin is not None and child.process.stdout is not None
        with child.process.stdin, child.process.stdout as output:
            for line in output:
                self._take(child, line.strip())
            with self._changed:
                child.is_leaving = True
            child.process.wait()
        with self._changed:
            child.is_over = True
            self._changed.notify_all()

    def _take(self, child: _Child, line: str) -> None:
        with self._changed:
            child.lines.append(line)
            if line.startswith(LISTENING):
                child.address = SidecarAddress(line.removeprefix(LISTENING).rstrip("/") + "/v1", child.key)
                self._changed.notify_all()

    def _reason(self, child: _Child) -> str:
        if not child.is_over:
            return f"The demonstration model did not start within {self._start_s:.0f} s. Try again."
        return death_reason(child.process.returncode, list(child.lines))


def death_reason(code: int, lines: list[str]) -> str:
    """What a model process that ended by itself says to the user."""
    last = lines[-1] if lines else ""
    # 132 is how a shell, and some containers, report the same signal.
    if code in (-getattr(signal, "SIGILL", 4), 128 + 4, WINDOWS_ILLEGAL_INSTRUCTION):
        return f"The demonstration model needs a processor with AVX2, and this one lacks it. {OTHER_MODEL}"
    if code == EXIT_NO_ENGINE and "libgomp" in last:
        return f"The demonstration model needs libgomp1. On Debian: apt install libgomp1. {OTHER_MODEL}"
    if code == EXIT_NO_ENGINE:
        return f"The engine of the demonstration model cannot be loaded ({last}). {OTHER_MODEL}"
    if code == EXIT_NO_MODEL:
        return f"The demonstration model's file cannot be loaded ({last}). {OTHER_MODEL}"
    return f"The demonstration model ended unexpectedly (code {code}). Try again. {OTHER_MODEL}"


def _end(process: subprocess.Popen[str], *, wait_s: float) -> None:
    """Close its input, by which it ends; kill it where that does not help in time."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(wait_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
