"""The process that listens: waitress on a bound port, its facts on standard output, its orderly end."""

import errno
import logging
import os
import signal
import sys
import webbrowser
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import Any

import orjson
import psutil
from flask import Flask

from api import __version__
from api.agents.endpoint import ADD_ONE
from api.app import create_app
from api.auth.access import token_path
from api.clock import Clock
from api.concurrency import ServerLock, new_flag
from api.errors import StorageFailed
from api.files import make_folder, write_whole
from api.services import Services, build
from api.settings import LOOPBACK_HOSTS, Settings
from api.web.gate import Gate, reach_of
from api.web.waitress_server import WebServer

log = logging.getLogger(__name__)

Stop = Callable[[], None]
MakeServices = Callable[[Settings, Clock], Services]

GRACE_S = 2.0
DRAIN_S = 8.0
JOIN_S = 0.5
FLUSH_S = 1.0
WAKE_S = 1.0
EXIT_OK, EXIT_FAILED, EXIT_STATE_IN_USE, EXIT_PORT_IN_USE = 0, 1, 3, 4


class PlainFormatter(logging.Formatter):
    """One line a message: what came from outside cannot forge another."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        line = super().formatMessage(record)
        return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)


def serve(settings: Settings, make_services: MakeServices = build) -> int:
    """Serve until a signal comes; the exit code."""
    _log_to_stderr()
    state_dir = make_folder(settings.state_dir)
    claim = ServerLock(state_dir / "server.lock")
    try:
        has_claim = claim.acquire()
    except OSError as exc:
        raise StorageFailed(f"The state folder {state_dir} cannot be written ({exc.strerror}).") from exc
    if not has_claim:
        return _point_to_running(state_dir, settings)
    try:
        return _serve_claimed(settings, make_services)
    finally:
        claim.release()


def _serve_claimed(settings: Settings, make_services: MakeServices) -> int:
    services = make_services(settings, Clock())
    gate = Gate(services.auth, settings.allow_hosts, reach_of(settings))
    with ExitStack() as ending:
        ending.callback(_close, services)
        services.open()
        try:
            server = _listen(create_app(services, gate), settings)
        except OSError as exc:
            return _say_no_port(settings, exc)
        gate.port = server.port
        services.local_servers.leave_out(server.port)
        ending.pop_all()
        ending.callback(_close, services, server)
        _run(settings, services, server)
    return EXIT_OK


def _listen(app: Flask, settings: Settings) -> WebServer:
    return WebServer(app, settings.host, settings.port, settings.base_path, is_proxied=settings.behind_tls)


def _run(settings: Settings, services: Services, server: WebServer) -> None:
    """Answer until somebody asks this process to end."""
    stop = new_flag()
    _stop_on_signals(stop.set)
    note = settings.state_dir / "server.json"
    try:
        _note_running(note, settings, services, server.port)
        _start(settings, services, server, stop.set)
        _say_listening(settings, services, server.port)
        # Woken now and then: a signal that another thread receives does not end a wait without end.
        while not stop.wait(WAKE_S):
            pass
    finally:
        note.unlink(missing_ok=True)


def _start(settings: Settings, services: Services, server: WebServer, stop: Stop) -> None:
    services.start()
    services.workers.spawn("listener", server.run)
    services.workers.spawn("warm up", lambda: _warm_up(services))
    if settings.exit_with_parent:
        services.workers.spawn("parent watch", lambda: _wait_for_parent(stop))


def _warm_up(services: Services) -> None:
    """Load what is heavy while the page is already up."""
    services.rendered.renderings.warm()
    services.agents.prepare()


def _wait_for_parent(stop: Stop) -> None:
    while os.read(sys.stdin.fileno(), 4096):
        pass
    stop()


def _close(services: Services, server: WebServer | None = None) -> None:
    """Settle what runs, let the last events out, close the port, then end the threads."""
    services.settle(GRACE_S if server else 0, DRAIN_S if server else 0)
    if server:
        server.stop(FLUSH_S)
    left = services.close(JOIN_S)
    log.info("ended%s", f"; still at work: {', '.join(left)}" if left else "")


def _stop_on_signals(stop: Stop) -> None:
    def handle(_signal: int, _frame: FrameType | None) -> None:
        stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handle)


def address(host: str, port: int, base_path: str = "/") -> str:
    """The address of a server as a browser on this machine takes it."""
    names = {"localhost": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "[::1]"}
    name = names.get(host) or (f"[{host}]" if ":" in host else host)
    return f"http://{name}:{port}{base_path}"


def _note_running(path: Path, settings: Settings, services: Services, port: int) -> None:
    note = {
        "pid": os.getpid(),
        "host": settings.host,
        "port": port,
        "base_path": settings.base_path,
        "boot_id": services.hub.boot_id,
        "version": __version__,
        "started_at": services.clock.now(),
        "token_file": None if settings.token else str(token_path(settings).absolute()),
    }
    write_whole(path, orjson.dumps(note, option=orjson.OPT_APPEND_NEWLINE))


def _say_listening(settings: Settings, services: Services, port: int) -> None:
    url = address(settings.host, port, settings.base_path)
    _say(f"state folder {settings.state_dir}")
    _say(f"default agent {services.agents.default}")
    if services.agents.default == "openai" and not services.endpoints.all():
        _say(f"no endpoint is set up: {ADD_ONE}")
    if settings.host not in LOOPBACK_HOSTS:
        _say(f"other machines reach it on port {port} and log in with the password")
    _say(f"listening on {url}#token={services.auth.token}")
    if not settings.no_browser:
        opened = f"{url}#code={services.auth.new_code()}"
        services.workers.spawn("browser", lambda: webbrowser.open(opened))


def _point_to_running(state_dir: Path, settings: Settings) -> int:
    """A second start on the same folder: say where the first one answers, and open it."""
    try:
        note = orjson.loads((state_dir / "server.json").read_bytes())
        url = address(note["host"], note["port"], note.get("base_path", "/"))
    except (OSError, ValueError, KeyError, TypeError):
        _say(f"Another Talaria is just starting or ending on the state folder {state_dir}.", err=True)
        return EXIT_STATE_IN_USE
    _say(f"Talaria is already running (process {note.get('pid')}) on {url}{_token_of(note)}")
    if not settings.no_browser:
        # Without the token, which other users could read from a command line; the page kept its own.
        webbrowser.open(url)
    return EXIT_STATE_IN_USE


def _token_of(note: dict[str, Any]) -> str:
    """The token of the running server for its address; nothing where it was given one that no file has."""
    try:
        return f"#token={Path(note['token_file']).read_text(encoding='utf-8').strip()}"
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _say_no_port(settings: Settings, exc: OSError) -> int:
    if exc.errno != errno.EADDRINUSE:
        reason = exc.strerror or str(exc)
        _say(f"Port {settings.port} cannot be had ({reason}). Try another, such as --port 8787.", err=True)
        return EXIT_FAILED
    following = settings.port + 1 if settings.port < 65535 else 0
    _say(f"Port {settings.port} is taken{_holder_of(settings.port)}.", err=True)
    _say(f"Try: python3 run.py --port {following}", err=True)
    return EXIT_PORT_IN_USE


def _holder_of(port: int) -> str:
    try:
        for connection in psutil.net_connections(kind="tcp"):
            is_it = getattr(connection.laddr, "port", None) == port
            if is_it and connection.status == psutil.CONN_LISTEN and connection.pid:
                return f" by {psutil.Process(connection.pid).name()} (process {connection.pid})"
    except (psutil.Error, OSError):
        pass
    return ""


def _say(text: str, err: bool = False) -> None:
    print(text, file=sys.stderr if err else sys.stdout, flush=True)


def _log_to_stderr() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(PlainFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    for noisy in ("httpx2", "httpcore2", "openai", "waitress.queue"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
