"""An OpenAI-compatible endpoint on a real loopback socket that answers as a test scripts it."""

import json
import select
import socket
import sys
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from socketserver import ThreadingMixIn
from typing import Any, Self
from urllib.parse import urlsplit

DEFAULT_USAGE = {"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17}
TITLE, MEMORY = "Name the conversation", "You keep the memory"
NO_FACTS = '{"facts": []}'
DONE = b"data: [DONE]\n\n"
# How often a handler that waits looks whether its client is still there.
LOOK_S = 0.005


@dataclass(frozen=True)
class Wait:
    """A step: wait until the test opens the gate of this name, the client leaves or the server closes."""

    gate: str


@dataclass(frozen=True)
class HangUp:
    """A step: close the connection at once, in the middle of the answer."""


Step = bytes | Wait | HangUp


@dataclass(frozen=True)
class Reply:
    """One scripted answer: the steps of its body after the headers; `before` come before the headers."""

    steps: Sequence[Step] = ()
    status: int = 200
    content_type: str = "text/event-stream"
    headers: dict[str, str] = field(default_factory=dict)
    before: Sequence[Step] = ()


def event(data: Any) -> bytes:
    """One server-sent event that carries `data` as JSON."""
    return b"data: " + json.dumps(data, ensure_ascii=False).encode() + b"\n\n"


def chunk(delta: dict[str, Any] | None = None, finish_reason: str | None = None, **more: Any) -> bytes:
    """One event of a streamed chat completion."""
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish_reason}
    return event({"object": "chat.completion.chunk", "choices": [choice], **more})


def text_chunks(pieces: Iterable[str], usage: dict[str, Any] | None = None) -> list[bytes]:
    """The events of a whole reply in these pieces, with usage at its end if there is any."""
    steps = [chunk({"role": "assistant", "content": None})]
    steps += [chunk({"content": piece}) for piece in pieces]
    steps.append(chunk(finish_reason="stop"))
    if usage is not None:
        steps.append(event({"object": "chat.completion.chunk", "choices": [], "usage": usage}))
    return [*steps, DONE]


def text_reply(pieces: Iterable[str], usage: dict[str, Any] | None = None, **options: Any) -> Reply:
    """A whole streamed reply."""
    return Reply(text_chunks(pieces, usage), **options)


def json_reply(value: Any, status: int = 200, **headers: str) -> Reply:
    """An answer that is one JSON value."""
    names = {name.replace("_", "-"): text for name, text in headers.items()}
    return Reply((json.dumps(value).encode(),), status, "application/json", names)


def with_gate_before(reply: Reply, gate: str) -> Reply:
    """`reply` with its headers held back until the gate is open, as servers do until the first token."""
    return replace(reply, before=(Wait(gate),))


class FakeOpenAI:
    """The endpoint. Use it in a `with`; without a scripted reply it answers `You said: ...`."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        # No title unless a test wants one: its words may be any.
        self.title_requests: list[dict[str, Any]] = []
        self.title_reply = text_reply([" "])
        # Nothing is learned unless a test wants it.
        self.memory_requests: list[dict[str, Any]] = []
        self.memory_replies: deque[str] = deque()
        self.memory_gate: str | None = None
        self.takes_schemas = True
        self.models: list[dict[str, Any]] = [{"id": "fake-model", "object": "model"}]
        self.client_left = threading.Event()
        self.connections = 0
        self.failures: list[BaseException] = []
        self._lock = threading.Lock()
        self._replies: deque[Reply] = deque()
        self._gates: dict[str, threading.Event] = {}
        self._reached: dict[str, threading.Event] = {}
        self._closing = threading.Event()
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), name="fake-openai")

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def enqueue(self, *replies: Reply) -> None:
        """Answer the next requests with these, in order."""
        with self._lock:
            self._replies.extend(replies)

    def gate(self, name: str) -> threading.Event:
        """The gate that a `Wait` of this name waits for; `set` opens it."""
        with self._lock:
            return self._gates.setdefault(name, threading.Event())

    def reached(self, name: str) -> threading.Event:
        """Set as soon as an answer waits at the gate of this name."""
        with self._lock:
            return self._reached.setdefault(name, threading.Event())

    def close(self) -> None:
        """Stop answering, end every connection and wait for all threads."""
        self._closing.set()
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.end_connections()
        self._server.server_close()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
        assert not self.failures, self.failures

    def next_reply(self, body: dict[str, Any]) -> Reply:
        """The answer to a request, which is recorded; what is no turn is answered beside the script."""
        if _begins_with(body, TITLE):
            with self._lock:
                self.title_requests.append(body)
            return self.title_reply
        if _begins_with(body, MEMORY):
            with self._lock:
                self.memory_requests.append(body)
                if "response_format" in body and not self.takes_schemas:
                    return json_reply({"error": {"message": "response_format is not supported"}}, 400)
                words = self.memory_replies.popleft() if self.memory_replies else NO_FACTS
            reply = text_reply([words], DEFAULT_USAGE)
            return with_gate_before(reply, self.memory_gate) if self.memory_gate else reply
        with self._lock:
            self.requests.append(body)
            scripted = self._replies.popleft() if self._replies else None
        messages = body.get("messages") or []
        if body.get("tools") == [] or any(message.get("tool_calls") == [] for message in messages):
            return json_reply({"error": {"message": "[] is too short: an empty list of tools"}}, 400)
        return scripted or _echo(body)

    def wait(self, name: str, connection: socket.socket) -> bool:
        """Whether the gate opened before the client left or the server closed."""
        gate = self.gate(name)
        self.reached(name).set()
        while not gate.wait(LOOK_S):
            if self._closing.is_set():
                return False
            if _has_left(connection):
                self.client_left.set()
                return False
        return True


def _begins_with(body: dict[str, Any], words: str) -> bool:
    messages = body.get("messages") or [{}]
    return str(messages[0].get("content") or "").startswith(words)


class _Server(ThreadingMixIn, HTTPServer):
    """Serves each connection in a thread that `server_close` waits for."""

    daemon_threads = False
    request_queue_size = 64

    def __init__(self, fake: FakeOpenAI) -> None:
        self.fake = fake
        self._open: set[socket.socket] = set()
        self._open_lock = threading.Lock()
        super().__init__(("127.0.0.1", 0), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._open_lock:
            self._open.add(request)
        self.fake.connections += 1
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._open_lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def end_connections(self) -> None:
        """Wake the threads that wait for a next request on a connection kept alive."""
        with self._open_lock:
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        failure = sys.exc_info()[1]
        if failure is not None and not isinstance(failure, ConnectionError):
            self.fake.failures.append(failure)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    # Without this a piece of a reply waits for the acknowledgement of the one before.
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        if urlsplit(self.path).path == "/v1/models":
            self._answer(json_reply({"object": "list", "data": self.server.fake.models}))
        else:
            self._answer(json_reply({"error": {"message": "no such path"}}, 404))

    def do_POST(self) -> None:
        fake = self.server.fake
        length = int(self.headers["Content-Length"])
        raw = self.rfile.read(length)
        if len(raw) < length:
            # The client was stopped while it sent.
            self.close_connection = True
            return
        body = json.loads(raw)
        if urlsplit(self.path).path != "/v1/chat/completions":
            self._answer(json_reply({"error": {"message": "no such path"}}, 404))
            return
        if not (_begins_with(body, TITLE) or _begins_with(body, MEMORY)):
            fake.headers.append({name.lower(): value for name, value in self.headers.items()})
        self._answer(fake.next_reply(body))

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the output of the tests clean."""

    def _answer(self, reply: Reply) -> None:
        try:
            if self._play(reply):
                return
        except ConnectionError:
            self.server.fake.client_left.set()
        self.close_connection = True

    def _play(self, reply: Reply) -> bool:
        """Whether the whole reply was sent."""
        if not all(self._step(step) for step in reply.before):
            return False
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.content_type)
        self.send_header("Transfer-Encoding", "chunked")
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        if not all(self._step(step) for step in reply.steps):
            return False
        self.wfile.write(b"0\r\n\r\n")
        return True

    def _step(self, step: Step) -> bool:
        if isinstance(step, Wait):
            return self.server.fake.wait(step.gate, self.connection)
        if isinstance(step, HangUp):
            return False
        if step:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(step), step))
        return True


def _has_left(connection: socket.socket) -> bool:
    readable, _, _ = select.select([connection], [], [], 0)
    try:
        return bool(readable) and connection.recv(1, socket.MSG_PEEK) == b""
    except ConnectionError:
        return True


def _echo(body: dict[str, Any]) -> Reply:
    said = next((item["content"] for item in reversed(body["messages"]) if item["role"] == "user"), "")
    if not isinstance(said, str):
        said = "".join(part.get("text", "") for part in said)
    pieces = ["You said: ", said]
    if body.get("stream"):
        return text_reply(pieces, DEFAULT_USAGE)
    message = {"role": "assistant", "content": "".join(pieces)}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return json_reply({"object": "chat.completion", "choices": [choice], "usage": DEFAULT_USAGE})
