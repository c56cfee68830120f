"""Who is reached how: other machines, a proxy in front, a path prefix."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from api.setting_values import OWN_PATHS
from tests.web.live_server import Client, LiveServer, live_server

PASSWORD = "correct horse"


@pytest.fixture
def lan(tmp_path: Path) -> Iterator[LiveServer]:
    environ = {"TALARIA_PASSWORD": PASSWORD}
    with live_server(tmp_path, environ=environ, host="0.0.0.0", insecure_lan=True) as server:
        yield server


@pytest.fixture
def proxied(tmp_path: Path) -> Iterator[LiveServer]:
    with live_server(tmp_path, behind_tls=True, allow_hosts=("chat.example",), base_path="/chat/") as server:
        yield server


def status(client: Client, path: str = "/api/sessions", **headers: str) -> int:
    return client.get(path, **headers).status


def test_on_the_network_addresses_are_answered_and_names_only_where_allowed(lan: LiveServer) -> None:
    port = lan.port
    for host in (f"192.168.1.5:{port}", f"[fd00::5]:{port}", f"127.0.0.1:{port}"):
        assert status(lan.client, Host=host) == 200, host
    for host in (f"evil.example:{port}", f"0.0.0.0:{port}", "192.168.1.5:1", "192.168.1.5", f"fd00::5:{port}",
                 f"192.168.1.5.evil.example:{port}", f"[192.168.1.5]:{port}"):  # fmt: skip
        assert status(lan.client, Host=host) == 421, host


def test_every_path_is_one_that_no_base_path_can_begin_with(proxied: LiveServer) -> None:
    first = {rule.rule.split("/")[1] for rule in proxied.app.url_map.iter_rules()}
    assert first - {""} == set(OWN_PATHS)


def test_on_loopback_other_addresses_are_foreign(tmp_path: Path) -> None:
    with live_server(tmp_path) as live:
        assert status(live.client, Host=f"192.168.1.5:{live.port}") == 421


def test_a_proxy_that_hands_the_host_on_is_answered(proxied: LiveServer) -> None:
    assert status(proxied.client, Host="chat.example") == 200
    origin = {"Host": "chat.example", "Origin": "https://chat.example"}
    assert proxied.client.post("/api/session/new", {}, **origin).status == 201


def test_a_proxy_that_forwards_the_host_beside_it_is_answered(proxied: LiveServer) -> None:
    forwarded = {"X_Forwarded_Host": "chat.example"}
    assert status(proxied.client, **forwarded) == 200
    ours = proxied.client.post("/api/session/new", {}, Origin="https://chat.example", **forwarded)
    assert ours.status == 201
    foreign = proxied.client.post("/api/session/new", {}, Origin="https://evil.example", **forwarded)
    assert foreign.status == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example", "X_Forwarded_Host": "chat.example"},
        {"X_Forwarded_Host": "evil.example"},
        {"X_Forwarded_Host": "evil.example, chat.example"},
        {"X_Forwarded_Host": ""},
    ],
    ids=str,
)
def test_what_is_forwarded_opens_nothing(proxied: LiveServer, headers: dict[str, str]) -> None:
    assert status(proxied.client, **headers) == 421


def test_without_a_proxy_forwarded_headers_count_for_nothing(tmp_path: Path) -> None:
    with live_server(tmp_path, allow_hosts=("chat.example",)) as live:
        forwarded = {"X_Forwarded_Host": "chat.example", "X_Forwarded_Proto": "https"}
        assert status(live.client, **forwarded) == 200
        answer = live.client.post("/api/session/new", {}, Origin="https://chat.example", **forwarded)
        assert answer.status == 403


def test_under_a_prefix_both_kinds_of_proxy_are_served(proxied: LiveServer) -> None:
    for prefix in ("", "/chat"):
        assert status(proxied.client, f"{prefix}/") == 200
        assert status(proxied.client, f"{prefix}/static/js/main.js") == 200
        assert status(proxied.client, f"{prefix}/api/sessions") == 200
        assert status(proxied.client, f"{prefix}/api/sessions", Authorization="") == 401
    assert status(proxied.client, "/other/api/sessions") == 404
    for path in ("/api/sessions", "/chat/api/sessions"):
        ticket = proxied.client.post("/api/auth/ticket", {"path": path}).json["ticket"]
        assert status(proxied.client, f"/chat/api/sessions?ticket={ticket}", Authorization="") == 200
        assert status(proxied.client, f"/chat/api/trash?ticket={ticket}", Authorization="") == 401
    bare = proxied.client.get("/chat")
    assert (bare.status, bare.headers["Location"]) == (302, "/chat/")
