"""A whole Talaria on a real waitress and a free port, with a scripted agent behind it."""

import http.client
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from api.app import create_app
from api.clock import Clock
from api.services import MakeAgents, Services, build
from api.settings import load
from api.web.gate import Gate, reach_of
from api.web.waitress_server import WebServer
from tests.scripted_agent import ScriptedAgent
from tests.sse_reader import SseReader

TOKEN = "token-of-the-tests"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: http.client.HTTPMessage
    raw: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.raw)


class Client:
    """Speaks to one server over one connection a call, as a script with the token would."""

    def __init__(self, port: int, token: str = TOKEN) -> None:
        self.port = port
        self.token = token

    def call(self, method: str, path: str, body: Any = None, **headers: str | None) -> Answer:
        """`headers` replace the usual ones, by name with `_` for `-`; None leaves one out."""
        raw = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        usual: dict[str, str | None] = {"Authorization": f"Bearer {self.token}"}
        if raw is not None:
            usual["Content-Type"] = "application/json"
        usual |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            sent = {name: value for name, value in usual.items() if value is not None}
            connection.request(method, path, raw, sent)
            response = connection.getresponse()
            is_endless = response.headers.get("Content-Type", "").startswith("text/event-stream")
            return Answer(response.status, response.headers, b"" if is_endless else response.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str | None) -> Answer:
        return self.call("GET", path, **headers)

    def post(self, path: str, body: Any = None, **headers: str | None) -> Answer:
        return self.call("POST", path, {} if body is None else body, **headers)

    def new_session(self, **fields: Any) -> str:
        answer = self.post("/api/session/new", fields)
        assert answer.status == 201, answer.raw
        return str(answer.json["session"]["session_id"])

    def send(self, session_id: str, message: Any, **fields: Any) -> Answer:
        return self.post("/api/chat/start", {"session_id": session_id, "message": message, **fields})

    def session(self, session_id: str) -> dict[str, Any]:
        answer = self.get(f"/api/session?session_id={session_id}")
        assert answer.status == 200, answer.raw
        return dict(answer.json["session"])

    def contents(self, session_id: str) -> list[Any]:
        return [message["content"] for message in self.session(session_id)["messages"]]

    @contextmanager
    def stream(self, path: str, **headers: str) -> Iterator[SseReader]:
        """An open event stream, read by a parser that follows the standard."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            sent = {"Authorization": f"Bearer {self.token}"}
            sent |= {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request("GET", path, headers=sent)
            response = connection.getresponse()
            assert response.status == 200, response.read()
            yield SseReader(response)
            response.close()
        finally:
            connection.close()

    def events(self, stream_id: str, after_seq: int = 0) -> list[tuple[str, str, Any]]:
        """The whole stream of a turn up to its end: id, event, data of each frame."""
        with self.stream(f"/api/chat/stream?stream_id={stream_id}&after_seq={after_seq}") as reader:
            return list(reader)


@dataclass
class LiveServer:
    services: Services
    agent: ScriptedAgent
    client: Client
    app: Any

    @property
    def port(self) -> int:
        return self.client.port


@contextmanager
def live_server(
    state_dir: Path,
    make_agents: MakeAgents | None = None,
    environ: Mapping[str, str] | None = None,
    **flags: Any,
) -> Iterator[LiveServer]:
    """A server with a scripted agent, or with the agents that `make_agents` gives."""
    agent = ScriptedAgent()
    flags = {"state_dir": str(state_dir), "token": TOKEN, "port": 0, **flags}
    settings = load(flags, environ or {})
    services = build(settings, Clock(), make_agents or (lambda *_given: {"embedded": agent}))
    services.open()
    gate = Gate(services.auth, settings.allow_hosts, reach_of(settings))
    app = create_app(services, gate)
    server = WebServer(app, settings.host, settings.port, settings.base_path, is_proxied=settings.behind_tls)
    gate.port = server.port
    services.start()
    services.workers.spawn("listener", server.run)
    try:
        yield LiveServer(services, agent, Client(gate.port), app)
    finally:
        services.settle(0.0, 5.0)
        server.stop(5.0)
        assert not services.close(20.0)
