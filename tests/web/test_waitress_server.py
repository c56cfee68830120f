"""What is answered below the application: heads and bodies that nobody can read."""

import json
import logging

import pytest
from waitress.adjustments import Adjustments

from api.web.waitress_server import Parser
from tests.web.live_server import TOKEN, LiveServer
from tests.web.test_gate import ask

UNREADABLE = {
    "no start line": (b"\x00\r\n\r\n", 400, "invalid_request"),
    "a broken address": (b"GET http://[::1/ HTTP/1.1\r\n\r\n", 400, "invalid_request"),
    "a header without a name": (b"GET / HTTP/1.1\r\nA b: c\r\n\r\n", 400, "invalid_request"),
    "an encoding that nobody knows": (
        b"GET / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
        501,
        "invalid_request",
    ),
    "endless headers": (b"GET / HTTP/1.1\r\nX: ".ljust(256 * 1024, b"x"), 431, "too_large"),
    "a body without measure": (
        b"POST / HTTP/1.1\r\nContent-Length: 99999999999999\r\n\r\n",
        413,
        "too_large",
    ),
}


@pytest.mark.parametrize(("head", "status", "code"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_what_cannot_be_read_is_answered_like_any_refusal(
    live: LiveServer, caplog: pytest.LogCaptureFixture, head: bytes, status: int, code: str
) -> None:
    with caplog.at_level(logging.WARNING):
        first, _, body = ask(live.port, head).partition(b"\r\n\r\n")
    assert int(first.split(b" ", 2)[1]) == status
    assert b"Content-Type: application/json" in first and b"nosniff" in first
    assert json.loads(body)["code"] == code
    assert caplog.records == []


@pytest.mark.parametrize(("head", "_status", "_code"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_a_client_that_leaves_before_such_an_answer_can_be_logged(
    head: bytes, _status: int, _code: str
) -> None:
    parser = Parser(Adjustments())
    parser.received(head)
    assert parser.error is not None
    assert isinstance(parser.path, str)


@pytest.mark.parametrize(
    "path", ["/api//sessions", "/static//js/main.js", "/static//etc/passwd", "/api/sessions//"]
)
def test_a_path_with_two_slashes_is_nothing_of_ours(live: LiveServer, path: str) -> None:
    answer = live.client.get(path)
    assert (answer.status, answer.json["code"]) == (404, "not_found")


def test_a_stream_that_is_only_asked_for_its_head_leaves_the_connection_in_step(live: LiveServer) -> None:
    head = f"Host: 127.0.0.1:{live.port}\r\nAuthorization: Bearer {TOKEN}\r\n"
    asked = f"HEAD /api/events HTTP/1.1\r\n{head}\r\nGET /health HTTP/1.1\r\n{head}Connection: close\r\n\r\n"
    first, _, rest = ask(live.port, asked.encode()).partition(b"\r\n\r\n")
    assert b"text/event-stream" in first
    assert rest.startswith(b"HTTP/1.1 200")
