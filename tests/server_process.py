"""A Talaria of its own process, as a user starts it: to be killed, stopped and started again."""

import os
import queue
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.web.live_server import Client

CHECKOUT = Path(__file__).resolve().parent.parent
SERVE = "from api.cli import main; main()"
START_S = 60.0
_WHERE = ("--port", "0", "--no-browser")


class ServerProcess:
    """A server over `state_dir`. What it prints is kept in `lines`; a bare one gets no flags of ours."""

    def __init__(
        self,
        state_dir: Path,
        *flags: str,
        words: Sequence[str] = ("-c", SERVE),
        environ: Mapping[str, str] | None = None,
        prefix: Sequence[str] = (),
        is_bare: bool = False,
    ) -> None:
        self.state_dir = state_dir
        self.lines: list[str] = []
        self._printed: queue.Queue[str | None] = queue.Queue()
        usual = () if is_bare else (*_WHERE, "--state-dir", str(state_dir), *flags)
        self.process = subprocess.Popen(
            [*prefix, sys.executable, *words, *usual],
            cwd=CHECKOUT,
            env=None if environ is None else dict(environ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self._printed.put(line.rstrip("\n"))
        self._printed.put(None)

    def wait_line(self, pattern: str) -> re.Match[str]:
        """The first line from here on that has `pattern` in it."""
        while True:
            line = self._printed.get(timeout=START_S)
            assert line is not None, f"the process ended: {self.lines}"
            self.lines.append(line)
            if found := re.search(pattern, line):
                return found

    def wait_listening(self) -> Client:
        found = self.wait_line(r"listening on http://127\.0\.0\.1:(\d+)/#token=(\S+)")
        return Client(int(found[1]), found[2])

    def kill(self) -> None:
        self._kill_all()
        self._finish()

    def _kill_all(self) -> None:
        """Kill the process and what it started, such as a server under a tracer."""
        os.killpg(self.process.pid, signal.SIGKILL)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask the process to end; its exit code."""
        self.process.send_signal(number)
        return self._finish()

    def wait(self) -> int:
        """The exit code of a process that ends by itself."""
        return self._finish()

    def _finish(self) -> int:
        code = self.process.wait(30)
        self._reader.join(30)
        while not self._printed.empty():
            line = self._printed.get()
            if line is not None:
                self.lines.append(line)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                pipe.close()
        return code

    def __enter__(self) -> "ServerProcess":
        return self

    def __exit__(self, *_exc: object) -> None:
        if self.process.poll() is None:
            self._kill_all()
        self._finish()
