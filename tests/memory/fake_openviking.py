"""An OpenViking server on a loopback socket: sessions, commits, a search, and faults."""

import json
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import unquote

Handler = BaseHTTPRequestHandler
HANG, TRICKLE, HANG_UP = "hang", "trickle", "hang up"
SESSIONS = "/api/v1/sessions/"
BEAT_S = 0.005


@dataclass(frozen=True)
class Call:
    """One request; `path` as it was sent."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass(frozen=True)
class Fault:
    """What happens to the next call whose path ends so: an answer, or one of the words above.

    `is_done` says that the call takes effect all the same, and only its answer is lost.
    """

    end: str
    what: str | tuple[int, Any]
    is_done: bool = False
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Kept:
    """One session: what waits for a commit, and what commits have taken."""

    live: list[Any] = field(default_factory=list)
    taken: list[Any] = field(default_factory=list)
    commits: int = 0


class FakeOpenViking:
    """`tells_totals` False is a server that does not count the messages of its commits."""

    def __init__(self, key: str | None = None, tells_totals: bool = True) -> None:
        self.key = key
        self.tells_totals = tells_totals
        self.calls: list[Call] = []
        self.sessions: dict[str, Kept] = {}
        self.memories: list[Any] = []
        self.faults: deque[Fault] = deque()
        self.closing = threading.Event()
        self.hanging = threading.Event()
        fake = self

        class OurHandler(_Handler):
            server_of = fake

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), OurHandler)
        self._server.daemon_threads = False
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def named(self, end: str) -> list[Call]:
        return [call for call in self.calls if call.path.endswith(end)]

    def order(self) -> list[str]:
        """What was called, in short."""
        return [f"{call.method} {call.path.rsplit('/', 1)[-1]}" for call in self.calls]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    # What it does.

    def fault(self, path: str) -> Fault | None:
        for fault in self.faults:
            if path.endswith(fault.end):
                self.faults.remove(fault)
                return fault
        return None

    def answer(self, call: Call) -> tuple[int, Any]:
        if self.key and call.headers.get("x-api-key") != self.key and call.path != "/health":
            return 401, error("UNAUTHENTICATED", f"{call.headers.get('x-api-key')} is no key")
        if call.path == "/health":
            return 200, {"status": "ok", "healthy": True, "version": "0.5.2"}
        if call.path == "/api/v1/search/search":
            return 200, ok({"memories": self.memories, "resources": [], "skills": []})
        name, _, verb = call.path.removeprefix(SESSIONS).partition("/")
        return self._session(unquote(name), call.method, verb, call.body)

    def _session(self, name: str, method: str, verb: str, body: Any) -> tuple[int, Any]:
        if method == "GET":
            if name not in self.sessions:
                return 404, error("NOT_FOUND", f"Session {name} not found")
            return 200, ok(self._told(self.sessions[name]))
        kept = self.sessions.setdefault(name, Kept())
        if verb == "messages/batch":
            if len(body["messages"]) > 100:
                return 422, error("INVALID_ARGUMENT", "at most 100 messages")
            kept.live += body["messages"]
            return 200, ok({"added": len(body["messages"])})
        assert (verb, body) == ("commit", {"keep_recent_count": 0})
        kept.taken, kept.commits = kept.taken + kept.live, kept.commits + bool(kept.live)
        kept.live = []
        return 200, ok({"status": "accepted"})

    def _told(self, kept: Kept) -> dict[str, Any]:
        told = {"message_count": len(kept.live), "commit_count": kept.commits, "pending_tokens": 1}
        if self.tells_totals:
            told["total_message_count"] = len(kept.live) + len(kept.taken)
        return told


def ok(result: Any) -> dict[str, Any]:
    return {"status": "ok", "result": result}


def error(code: str, message: str) -> dict[str, Any]:
    return {"status": "error", "error": {"code": code, "message": message}}


class _Handler(BaseHTTPRequestHandler):
    server_of: FakeOpenViking
    timeout = 20

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _serve(self) -> None:
        fake = self.server_of
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        call = Call(self.command, self.path, headers, json.loads(raw) if raw else None)
        fake.calls.append(call)
        fault = fake.fault(call.path)
        status, body = fake.answer(call) if fault is None or fault.is_done else (0, None)
        if fault is None:
            self._send(status, body, {})
        elif isinstance(fault.what, tuple):
            self._send(*fault.what, fault.headers)
        else:
            act: dict[str, Callable[[], None]] = {HANG: self._hang, TRICKLE: self._trickle}
            act.get(fault.what, lambda: None)()

    def _send(self, status: int, body: Any, headers: dict[str, str]) -> None:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        with suppress(OSError):
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

    def _hang(self) -> None:
        self.server_of.hanging.set()
        self.server_of.closing.wait()

    def _trickle(self) -> None:
        """A head that goes on, a letter at a time."""
        with suppress(OSError):
            self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
            while not self.server_of.closing.wait(BEAT_S):
                self.wfile.write(b"a")
