"""Who may ask at all, over every address of the server."""

import re
import socket

import pytest

from api.web.gate import PUBLIC
from tests.web.live_server import TOKEN, Client, LiveServer

GOOD_HOSTS = ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST:{port}", "[::1]:{port}"]
BAD_HOSTS = [
    "attacker.example:{port}", "127.0.0.1.attacker.example", "localhost.attacker.example", "127.0.0.1:1",
    "127.0.0.1", "localhost", "", "127.0.0.1:{port}.", "127.0.0.1:{port}, evil", "0.0.0.0:{port}",
    "127.0.0.1:{port}@evil.example", "evil.example#127.0.0.1:{port}", "127.1:{port}", "[::1]",
    "[::ffff:127.0.0.1]:{port}", "127.0.0.1:0{port}", "127.0.0.1:{port}x", "local host:{port}",
]  # fmt: skip


def ask(port: int, request: bytes) -> bytes:
    """The raw answer to raw bytes."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(request)
        parts = []
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


def every_address(live: LiveServer) -> list[tuple[str, str, str]]:
    """Method, path and endpoint of every rule, with unknown paths and a wrong method for good measure."""
    found = [("GET", "/nothing/here", ""), ("POST", "/api/nothing", ""), ("DELETE", "/api/sessions", "")]
    for rule in live.app.url_map.iter_rules():
        path = re.sub(r"<[^>]*>", "app.js", rule.rule)
        found += [(method, path, rule.endpoint) for method in sorted(rule.methods)]
    return found


@pytest.mark.parametrize("host", BAD_HOSTS)
def test_a_foreign_host_is_refused_everywhere(live: LiveServer, host: str) -> None:
    for method, path, _ in every_address(live):
        answer = live.client.call(
            method, path, None, Host=host.format(port=live.port), X_Forwarded_Host=f"127.0.0.1:{live.port}"
        )
        assert answer.status in (400, 421), (method, path)
        assert b"session" not in answer.raw


@pytest.mark.parametrize("host", GOOD_HOSTS)
def test_our_own_names_are_answered(live: LiveServer, host: str) -> None:
    assert live.client.get("/api/sessions", Host=host.format(port=live.port)).status == 200


def test_no_host_two_hosts_and_a_foreign_host_behind_our_address_are_refused(live: LiveServer) -> None:
    good = f"Host: 127.0.0.1:{live.port}\r\n"
    auth, close = f"Authorization: Bearer {TOKEN}\r\n", "Connection: close\r\n\r\n"
    absolute = f"http://127.0.0.1:{live.port}/api/sessions"
    for head in (
        f"GET /api/sessions HTTP/1.0\r\n{auth}\r\n",
        f"GET /api/sessions HTTP/1.1\r\n{good}Host: evil.example\r\n{auth}{close}",
        f"GET /api/sessions HTTP/1.1\r\n{good}{good}{auth}{close}",
        f"GET {absolute} HTTP/1.1\r\nHost: evil.example\r\n{auth}{close}",
    ):
        status = ask(live.port, head.encode()).split(b" ", 2)[1]
        assert status in (b"400", b"421"), head


FOREIGN = [
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://localhost:3000"},
    {"Origin": ""},
    {"Origin": "file://"},
    {"Origin": "http://[::1"},
    {"Sec_Fetch_Site": "cross-site"},
    {"Sec_Fetch_Site": "same-site"},
    {"Sec_Fetch_Site": "anything"},
]


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
def test_a_foreign_page_changes_nothing_and_gets_no_permission(
    live: LiveServer, headers: dict[str, str]
) -> None:
    for method, path, _ in every_address(live):
        answer = live.client.call(method, path, None if method == "GET" else {}, **headers)
        if method not in ("GET", "HEAD"):
            assert (answer.status, answer.json["code"]) == (403, "forbidden"), (method, path)
        assert not [name for name in answer.headers if name.lower().startswith("access-control")]
    assert live.services.catalog.page().total == 0


def test_without_a_token_only_the_shell_and_the_login_answer(live: LiveServer) -> None:
    live.client.new_session(title="secret title")
    for method, path, endpoint in every_address(live):
        answer = live.client.call(method, path, {} if method == "POST" else None, Authorization=None)
        if endpoint in PUBLIC:
            assert answer.status != 401 or path == "/api/auth/login"
        else:
            assert answer.status == 401, (method, path)
        assert b"secret" not in answer.raw


@pytest.mark.parametrize(
    "value", ["", "Bearer", "Bearer x", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN}x", "Bearer é"]
)
def test_a_wrong_token_is_refused(client: Client, value: str) -> None:
    assert client.get("/api/sessions", Authorization=value.encode().decode("latin-1")).status == 401


def test_404_and_405_come_after_the_token_and_415_after_405(client: Client) -> None:
    assert client.get("/api/nothing", Authorization=None).status == 401
    assert client.get("/api/nothing").json["code"] == "not_found"
    wrong = client.call("POST", "/api/sessions", b"x", Content_Type="text/plain")
    assert (wrong.status, wrong.json["code"]) == (405, "method_not_allowed")
    assert wrong.headers["Allow"] == "GET, HEAD, OPTIONS"
    assert client.call("POST", "/api/session/new", b"{}", Content_Type="text/plain").status == 415


KINDS = [
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "",
    None,
    "text/json",
]


@pytest.mark.parametrize("kind", KINDS)
def test_only_json_changes_anything(client: Client, kind: str | None) -> None:
    session_id = client.new_session()
    body = b'{"session_id": "' + session_id.encode() + b'", "message": "/undo", "pad": "=x"}'
    for path in ("/api/chat/start", "/api/session/undo", "/api/session/delete"):
        assert client.post(path, body, Content_Type=kind).status == 415
    assert client.post("/api/chat/start", body, Content_Type="Application/JSON; charset=utf-8").status == 409


def test_no_get_changes_state(live: LiveServer) -> None:
    rules = list(live.app.url_map.iter_rules())
    # The settings are read at the address where they are changed, by a view of its own.
    read = {rule.rule for rule in rules if "GET" in rule.methods}
    assert read & {rule.rule for rule in rules if "POST" in rule.methods} == {"/api/settings"}
    for rule in rules:
        if "POST" in rule.methods:
            assert "GET" not in rule.methods
            assert rule.rule in read or live.client.get(rule.rule).status == 405


BODIES = [
    b"", b"{", b"[]", b'"x"', b"null", b"7", b"\xff", b'{"title": NaN}', b'{"a": Infinity}',
    b'{"a":' + b"[" * 101 + b"]" * 101 + b"}", b"[" * 100_000, b'{"a":' * 5_000, b'"{\\"title\\": \\"x\\"}"',
]  # fmt: skip


@pytest.mark.parametrize("body", BODIES, ids=lambda body: repr(body[:24]))
def test_a_body_that_is_no_json_object_is_refused(client: Client, body: bytes) -> None:
    answer = client.post("/api/session/new", body)
    assert (answer.status, answer.json["code"]) == (400, "invalid_request")


def test_a_large_body_is_refused(client: Client) -> None:
    answer = client.post("/api/session/new", b'{"title": "' + b"x" * 2_200_000 + b'"}')
    assert (answer.status, answer.json["code"]) == (413, "too_large")


def test_a_byte_order_mark_and_a_hundred_levels_are_accepted(client: Client) -> None:
    assert client.post("/api/session/new", b'\xef\xbb\xbf{"title": "x"}').status == 201
    assert client.post("/api/session/new", b'{"a":' + b"[" * 99 + b"]" * 99 + b"}").status == 201


def test_a_code_opens_once(live: LiveServer) -> None:
    code = live.services.auth.new_code()
    login = {"code": code}
    answer = live.client.post("/api/auth/login", login, Authorization=None)
    assert answer.json == {"token": TOKEN}
    again = live.client.post("/api/auth/login", login, Authorization=None)
    assert (again.status, again.json["code"]) == (401, "unauthorized")


def test_the_sixth_login_within_a_minute_waits(live: LiveServer) -> None:
    for _ in range(5):
        assert live.client.post("/api/auth/login", {"code": "x"}, Authorization=None).status == 401
    answer = live.client.post("/api/auth/login", {"code": "x"}, Authorization=None)
    assert (answer.status, answer.json["code"]) == (429, "rate_limited")


def test_a_ticket_opens_one_path_by_get(live: LiveServer) -> None:
    ticket = live.client.post("/api/auth/ticket", {"path": "/api/sessions"}).json["ticket"]
    assert live.client.get(f"/api/sessions?ticket={ticket}", Authorization=None).status == 200
    assert live.client.get(f"/api/trash?ticket={ticket}", Authorization=None).status == 401
    ticket = live.client.post("/api/auth/ticket", {"path": "/api/session/new"}).json["ticket"]
    assert live.client.post(f"/api/session/new?ticket={ticket}", Authorization=None).status == 401


def test_public_answers_say_nothing_of_the_user(live: LiveServer) -> None:
    assert live.client.get("/health", Authorization=None).json == {"status": "ok"}
    assert live.client.get("/health?deep=1", Authorization=None).status == 401
    assert live.client.get("/health?deep=1").json["sessions"] == 0
    assert live.client.get("/api/auth/status", Authorization=None).json == {"password": False}


def test_every_answer_carries_the_security_headers(live: LiveServer) -> None:
    for path in ("/", "/api/sessions", "/nothing"):
        headers = live.client.get(path).headers
        assert "script-src 'self'" in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"


def test_an_answer_that_cannot_be_written_is_a_failure_of_ours(
    live: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live.services.report, "last", lambda _days: {"total": 2**70})
    answer = live.client.get("/api/usage")
    assert (answer.status, answer.json["code"]) == (500, "internal")
    assert answer.json["details"]["log_id"]
