"""Logging in with a password, and out again; how often it may be tried."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from api.auth.password import set_password
from tests.web.live_server import TOKEN, Answer, Client, LiveServer, live_server

PASSWORD = "correct horse"


@pytest.fixture
def live(tmp_path: Path) -> Iterator[LiveServer]:
    set_password(tmp_path / "state", PASSWORD)
    with live_server(tmp_path / "state") as server:
        yield server


def log_in(client: Client, **body: Any) -> Answer:
    return client.post("/api/auth/login", body, Authorization=None)


def test_a_login_is_good_until_its_logout(live: LiveServer) -> None:
    assert live.client.get("/api/auth/status", Authorization=None).json == {"password": True}
    token = log_in(live.client, password=PASSWORD).json["token"]
    assert token != TOKEN
    visitor = Client(live.port, token)
    assert visitor.get("/api/sessions").status == 200
    assert visitor.post("/api/auth/logout").json == {"ok": True, "ended": True}
    assert visitor.get("/api/sessions").status == 401
    assert live.client.post("/api/auth/logout").json == {"ok": True, "ended": False}
    assert live.client.get("/api/sessions").status == 200


@pytest.mark.parametrize("how", ["header", "ticket"])
def test_an_open_stream_ends_with_the_login_that_opened_it(live: LiveServer, how: str) -> None:
    visitor = Client(live.port, log_in(live.client, password=PASSWORD).json["token"])
    path = "/api/events"
    if how == "ticket":
        path += "?ticket=" + visitor.post("/api/auth/ticket", {"path": path}).json["ticket"]
    with visitor.stream(path) if how == "header" else Client(live.port, "").stream(path) as reader:
        assert next(reader)[1] == "hello"
        visitor.post("/api/auth/logout")
        assert [event for _, event, _ in reader] == []
    assert visitor.get(path, Authorization=None).status == 401


def test_a_stream_of_the_access_token_outlives_a_logout(live: LiveServer) -> None:
    with live.client.stream("/api/events") as reader:
        next(reader)
        live.client.post("/api/auth/logout")
        live.client.new_session(title="x")
        assert reader.until("sessions_changed")["row"]["title"] == "x"


def test_a_login_outlives_a_restart_and_not_its_password(tmp_path: Path) -> None:
    set_password(tmp_path, PASSWORD)
    with live_server(tmp_path) as live:
        token = log_in(live.client, password=PASSWORD).json["token"]
    with live_server(tmp_path) as live:
        visitor = Client(live.port, token)
        assert visitor.get("/api/sessions").status == 200
        set_password(tmp_path, "another password")
        assert visitor.get("/api/sessions").status == 401
        assert log_in(live.client, password="another password").status == 200


@pytest.mark.parametrize("body", [{"password": "wrong"}, {"password": "\ud800"}, {"code": "wrong"}])
def test_what_is_wrong_is_unauthorized(live: LiveServer, body: dict[str, Any]) -> None:
    answer = log_in(live.client, **body)
    assert (answer.status, answer.json["code"]) == (401, "unauthorized")


def test_a_login_without_anything_is_no_request(live: LiveServer) -> None:
    for body in ({}, {"password": ""}, {"password": 7}):
        assert log_in(live.client, **body).status == 400


@pytest.mark.parametrize("is_given", [True, False], ids=["a file of the start", "a kept one"])
def test_a_password_that_cannot_be_read_says_nothing_of_this_machine(tmp_path: Path, is_given: bool) -> None:
    file = tmp_path / "password"
    set_password(tmp_path, PASSWORD)
    with live_server(tmp_path, password_file=str(file) if is_given else None) as live:
        file.unlink() if is_given else file.write_bytes(b"\xff")
        for answer in (log_in(live.client, password=PASSWORD), Client(live.port, "x").get("/api/sessions")):
            assert (answer.status, answer.json["code"]) == (409, "damaged")
            assert str(tmp_path) not in answer.raw.decode()
        assert live.client.get("/api/sessions").status == 200


def test_without_a_password_nobody_logs_in_with_one(tmp_path: Path) -> None:
    with live_server(tmp_path) as live:
        answer = log_in(live.client, password="anything")
        assert answer.status == 401 and "token" in answer.json["error"]


def test_the_sixth_try_within_a_minute_waits_even_with_the_right_password(live: LiveServer) -> None:
    for _ in range(5):
        assert log_in(live.client, password="wrong").status == 401
    answer = log_in(live.client, password=PASSWORD)
    assert (answer.status, answer.json["code"]) == (429, "rate_limited")
    assert 1 <= int(answer.headers["Retry-After"]) <= 60
    assert live.client.get("/api/sessions").status == 200
