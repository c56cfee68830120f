"""Settings over HTTP: where each value comes from, and what the next start will be told."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from api.setting_rows import SETTINGS
from api.settings import load
from tests.web.live_server import TOKEN, Client, live_server


def rows(client: Client) -> dict[str, Any]:
    answer = client.get("/api/settings")
    assert answer.status == 200 and TOKEN not in answer.raw.decode()
    return {row["name"]: row for row in answer.json["settings"]}


def test_every_row_of_the_table_says_where_it_comes_from(client: Client) -> None:
    found = rows(client)
    assert list(found) == [row.name for row in SETTINGS]
    assert (found["port"]["source"], found["port"]["editable"]) == ("flag", False)
    assert (found["token"]["value"], found["token"]["editable"]) == (True, False)
    assert (found["openai_api_key"]["value"], found["host"]["value"]) == (False, "127.0.0.1")
    assert (found["host"]["source"], found["host"]["editable"]) == ("default", True)


def test_a_change_counts_from_the_next_start_and_null_takes_it_back(tmp_path: Path) -> None:
    with live_server(tmp_path) as live:
        answer = live.client.post(
            "/api/settings", {"openai_base_url": "http://127.0.0.1:1/v1/", "allow_hosts": ["Box"]}
        )
        assert (answer.status, answer.json["restart_needed"]) == (200, True)
        row = rows(live.client)["openai_base_url"]
        assert (row["value"], row["stored"]) == (None, "http://127.0.0.1:1/v1")
        settings = load({"state_dir": str(tmp_path)}, {})
        assert (settings.openai_base_url, settings.allow_hosts) == ("http://127.0.0.1:1/v1", ("box",))
        assert settings.sources["allow_hosts"] == "settings"
        back = live.client.post("/api/settings", {"openai_base_url": None, "allow_hosts": None}).json
        assert back["restart_needed"] is False
    assert orjson.loads((tmp_path / "settings.json").read_bytes()) == {"schema_version": 1}


@pytest.mark.parametrize(
    "body",
    [{"port": 1}, {"token": "x"}, {"state_dir": "/x"}, {"colour": "red"}, {"agent": "hermit"}, {"agent": 7},
     {"openai_base_url": "ftp://x"}, {"allow_hosts": [1]}, {"allow_hosts": "a", "no_browser": "maybe"}],
)  # fmt: skip
def test_what_cannot_be_is_refused_and_nothing_is_written(tmp_path: Path, body: dict[str, Any]) -> None:
    with live_server(tmp_path) as live:
        answer = live.client.post("/api/settings", body)
        assert (answer.status, answer.json["code"]) == (400, "invalid_request")
    assert not (tmp_path / "settings.json").exists()


def test_a_start_that_would_be_refused_is_not_set_up(tmp_path: Path) -> None:
    with live_server(tmp_path) as live:
        for body in ({"host": "0.0.0.0"}, {"host": "0.0.0.0", "insecure_lan": True}):
            answer = live.client.post("/api/settings", body)
            assert (answer.status, answer.json["code"]) == (400, "invalid_request")
    assert not (tmp_path / "settings.json").exists()
    with live_server(tmp_path, environ={"TALARIA_PASSWORD": "correct horse"}) as live:
        assert live.client.post("/api/settings", {"host": "0.0.0.0", "insecure_lan": True}).status == 200
        found = rows(live.client)["password"]
        assert (found["value"], found["source"]) == (True, "environment")
