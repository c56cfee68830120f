#!/usr/bin/env python3
"""Start Talaria: make its environment on first use, then hand over to `api.cli` inside it.

Standard library only, and readable by Python 3.6, so that an old Python can say which one is needed.
"""

import configparser
import errno
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import time

try:
    import fcntl
except ImportError:
    # Windows: two first starts at once are not kept apart there.
    fcntl = None

NEEDED = (3, 11)
HANDED_OVER = "TALARIA_ENVIRONMENT_READY"
EXIT_FAILED = 1
EXIT_INTERRUPTED = 130
MB = 1024 * 1024
ROOM_MB = {"core": 150, "test": 450}
DOWNLOAD_MB = {"core": 11, "test": 90}
NO_ROOM_SIGNS = ("No space left on device", "[Errno 28]", "Disk quota exceeded")
NO_NETWORK_SIGNS = (
    "after connection broken",
    "Failed to establish a new connection",
    "Temporary failure in name resolution",
    "Max retries exceeded",
    "ConnectTimeoutError",
    "ReadTimeoutError",
    "Network is unreachable",
    "ProxyError",
)


class CannotStart(Exception):
    """A start that cannot work, in one sentence that says what to do."""


def main(argv):
    problem = python_problem(sys.version_info, shutil.which)
    if problem:
        return refuse(problem)
    checkout = os.path.dirname(os.path.abspath(__file__))
    handed_over = os.environ.pop(HANDED_OVER, None)
    if handed_over and os.path.realpath(handed_over) == os.path.realpath(sys.prefix):
        return hand_over(checkout, argv)
    if handed_over:
        return refuse(f"The Python of {handed_over} does not find its environment. Remove that folder.")
    try:
        environment = find_or_make(checkout, argv)
    except CannotStart as exc:
        return refuse(str(exc))
    except KeyboardInterrupt:
        return interrupted()
    return restart_inside(environment, argv)


def python_problem(version, which):
    """Why this Python cannot run Talaria, or None."""
    if tuple(version[:2]) >= NEEDED:
        return None
    found = "%d.%d" % tuple(version[:2])
    for minor in range(20, NEEDED[1] - 1, -1):
        if which("python3.%d" % minor):
            return f"Talaria needs Python 3.11 or newer, not {found}. Start it with: python3.{minor} run.py"
    return f"Talaria needs Python 3.11 or newer, and this is Python {found}. Install a newer one and use it."


def refuse(sentence):
    print(sentence, file=sys.stderr)
    return EXIT_FAILED


def interrupted():
    print("Interrupted. The next start begins the installation again.", file=sys.stderr)
    return EXIT_INTERRUPTED


# The hand-over


def restart_inside(environment, argv):
    """Become the environment's Python, with the same arguments, input and output."""
    command = [python_of(environment), os.path.abspath(__file__), *argv]
    variables = dict(os.environ)
    variables[HANDED_OVER] = environment
    # A foreign PYTHONHOME would send the environment's Python to another library.
    variables.pop("PYTHONHOME", None)
    sys.stdout.flush()
    sys.stderr.flush()
    if os.name == "posix":
        os.execve(command[0], command, variables)
    try:
        return subprocess.call(command, env=variables)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


def hand_over(checkout, argv):
    sys.path.insert(0, checkout)
    from api.cli import main as talaria

    return talaria(argv)


# Where the environment is


def find_or_make(checkout, argv):
    """The folder of a ready environment: beside run.py, else in the state folder."""
    with_tests = argv[:1] == ["test"]
    mark = wanted_mark(checkout)
    places = [os.path.join(checkout, ".venv"), os.path.join(state_folder(argv), "venv")]
    for place in places:
        if is_ready(place, mark, with_tests):
            return place
    for place in places:
        lock = open_lock(place)
        if lock is not None:
            with lock:
                return make_locked(place, lock, checkout, mark, with_tests)
    raise CannotStart(
        f"Neither {checkout} nor {os.path.dirname(places[1])} can be written. "
        "Name a folder that can: --state-dir FOLDER"
    )


def state_folder(argv):
    """The state folder, worked out as `api.settings` does it, before any library is there."""
    for index, word in enumerate(argv):
        if word == "--state-dir" and index + 1 < len(argv):
            return absolute(argv[index + 1])
        if word.startswith("--state-dir="):
            return absolute(word.split("=", 1)[1])
    if os.environ.get("TALARIA_STATE_DIR"):
        return absolute(os.environ["TALARIA_STATE_DIR"])
    return os.path.join(user_data_folder(sys.platform, os.environ), "talaria")


def absolute(path):
    return os.path.abspath(os.path.expanduser(path))


def user_data_folder(platform, environ):
    """The folder that platformdirs names for a user's data."""
    if platform == "win32":
        return environ.get("LOCALAPPDATA") or os.path.expanduser("~\\AppData\\Local")
    named = environ.get("XDG_DATA_HOME", "").strip()
    if os.path.isabs(named):
        return named
    if platform == "darwin":
        return os.path.expanduser("~/Library/Application Support")
    return os.path.expanduser("~/.local/share")


def python_of(environment):
    if os.name == "nt":
        return os.path.join(environment, "Scripts", "python.exe")
    return os.path.join(environment, "bin", "python")


# When it counts as made


def wanted_mark(checkout):
    """What `.ready` says in an environment that fits this checkout and this Python."""
    try:
        with open(os.path.join(checkout, "setup.cfg"), "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
    except OSError as exc:
        raise CannotStart(
            f"setup.cfg beside run.py cannot be read ({exc.strerror}). Get a complete copy."
        ) from exc
    return f"{digest} {sys.version.split()[0]}"


def read_mark(environment):
    try:
        with open(os.path.join(environment, ".ready"), encoding="utf-8") as file:
            return file.read().strip()
    except (OSError, ValueError):
        return ""


def is_ready(environment, mark, with_tests):
    found = read_mark(environment)
    fits = found == mark + " test" or (found == mark + " core" and not with_tests)
    return fits and os.path.exists(python_of(environment))


def write_mark(environment, text):
    path = os.path.join(environment, ".ready")
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".new", path)


# Making it


def open_lock(environment):
    """An open lock file beside `environment`, or None where nothing can be written."""
    folder, name = os.path.split(environment)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        lock = open(os.path.join(folder, "." + name.lstrip(".") + ".lock"), "a")
    except OSError as exc:
        if is_full(exc):
            raise no_room(folder, ROOM_MB["core"]) from exc
        return None
    if os.access(folder, os.W_OK):
        return lock
    lock.close()
    return None


def make_locked(environment, lock, checkout, mark, with_tests):
    """Make `environment` unless another start did so while this one waited."""
    wait_for(lock)
    if is_ready(environment, mark, with_tests):
        return environment
    try:
        make(environment, lock, checkout, mark, with_tests)
    except OSError as exc:
        if is_full(exc):
            raise no_room(os.path.dirname(environment), needed_mb(with_tests)) from exc
        raise CannotStart(f"{environment} cannot be made ({exc}). Remove it and start again.") from exc
    return environment


def wait_for(lock):
    """Take the lock. It is free again when its holder and the holder's pip have ended, however they ended."""
    if fcntl is None:
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("Another start is making the environment; waiting for it.", file=sys.stderr, flush=True)
        fcntl.flock(lock, fcntl.LOCK_EX)


def make(environment, lock, checkout, mark, with_tests):
    requirements = read_requirements(checkout)
    if not is_ready(environment, mark, False):
        check_venv_module()
        remove(environment)
        check_room(environment, with_tests)
        os.makedirs(environment)
        print(f"First start: making the environment in {environment}", file=sys.stderr)
        command = [base_python(), "-I", "-m", "venv", environment]
        run_step("Python environment", environment, lock, command)
        install("libraries", "core", requirements["core"], environment, lock)
        write_mark(environment, mark + " core")
    if with_tests:
        # While the tools come in, the environment counts as half-made.
        os.remove(os.path.join(environment, ".ready"))
        install("test tools", "test", requirements["test"], environment, lock)
        write_mark(environment, mark + " test")


def read_requirements(checkout):
    setup = configparser.ConfigParser()
    try:
        setup.read(os.path.join(checkout, "setup.cfg"), encoding="utf-8")
        core = setup.get("options", "install_requires", fallback="")
        test = setup.get("options.extras_require", "test", fallback="")
    except configparser.Error as exc:
        raise CannotStart("setup.cfg cannot be understood. Get a complete copy of Talaria.") from exc
    return {"core": core.split("\n"), "test": core.split("\n") + test.split("\n")}


def base_python():
    # Started by a Python inside some environment, the new one must not depend on that.
    return getattr(sys, "_base_executable", None) or sys.executable


def check_venv_module():
    missing = [name for name in ("venv", "ensurepip") if importlib.util.find_spec(name) is None]
    if missing:
        raise CannotStart(
            f"This Python lacks its module {missing[0]}. On Debian and Ubuntu: apt install python3-venv. "
            "Elsewhere, install the complete Python."
        )


def remove(environment):
    mark = os.path.join(environment, ".ready")
    if os.path.exists(mark):
        os.remove(mark)
    if os.path.lexists(environment):
        print(f"Removing the environment that does not fit: {environment}", file=sys.stderr)
        if os.path.islink(environment) or not os.path.isdir(environment):
            os.remove(environment)
        else:
            shutil.rmtree(environment)


def needed_mb(with_tests):
    return ROOM_MB["test" if with_tests else "core"]


def check_room(environment, with_tests):
    folder = os.path.dirname(environment)
    if shutil.disk_usage(folder).free < needed_mb(with_tests) * MB:
        raise no_room(folder, needed_mb(with_tests))


def is_full(exc):
    return exc.errno in (errno.ENOSPC, errno.EDQUOT)


def no_room(folder, megabytes):
    return CannotStart(
        f"The disk of {folder} is full: about {megabytes} MB are needed. Make room, start again."
    )


def install(name, part, requirements, environment, lock):
    wanted = [line.strip() for line in requirements if line.strip()]
    if not wanted:
        return
    # Isolated: packages on PYTHONPATH or of the user must not count as installed here.
    command = [python_of(environment), "-I", "-m", "pip", "install", "--retries", "1", "--no-input"]
    command += ["--disable-pip-version-check", "--progress-bar", "off", *wanted]
    run_step(f"{name} (about {DOWNLOAD_MB[part]} MB to download)", environment, lock, command)


def run_step(name, environment, lock, command):
    """Run one command with its output in `install.log`, and say on one line what, how big and how long."""
    print(f"  {name} ...", end="", file=sys.stderr, flush=True)
    begun, size_before = time.monotonic(), size_of(environment)
    path = os.path.join(environment, "install.log")
    with open(path, "ab") as log:
        # The command inherits the lock: if this process is killed, the next start waits until it has ended.
        code = subprocess.call(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=dict(os.environ, PIP_USER="0"),
            **({"pass_fds": [lock.fileno()]} if os.name == "posix" else {}),
        )
    if code:
        print(" failed", file=sys.stderr)
        raise failure_of(environment, path)
    grown = (size_of(environment) - size_before) / MB
    print(f" {grown:.0f} MB on disk, {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)


def size_of(folder):
    total = 0
    for parent, _, names in os.walk(folder):
        total += sum(os.lstat(os.path.join(parent, name)).st_size for name in names)
    return total


def failure_of(environment, path):
    """What an installation that failed says to the user, read from its log."""
    with open(path, encoding="utf-8", errors="replace") as log:
        text = log.read()
    if any(sign in text for sign in NO_ROOM_SIGNS) or shutil.disk_usage(environment).free < MB:
        return no_room(os.path.dirname(environment), ROOM_MB["core"])
    if any(sign in text for sign in NO_NETWORK_SIGNS):
        return CannotStart(
            "The package index cannot be reached. Talaria needs the network once, for its libraries: "
            f"check the connection and start again. Details: {path}"
        )
    lines = [line.strip() for line in text.splitlines() if "ERROR" in line or "Error" in line]
    reason = lines[-1] if lines else "no reason was given"
    return CannotStart(f"The installation failed: {reason}. Details: {path}. The next start tries again.")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
