"""Endpoints and models: set up in the page, kept with their keys apart, used by the next turn."""

import logging
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from api.agents.endpoint import HIDDEN
from api.agents.local_servers import LocalServers
from api.concurrency import Workers
from api.services import shipped_agents
from tests.fake_openai import FakeOpenAI
from tests.web.live_server import Client, LiveServer, live_server

KEY = "sk-very-secret-1234"


@pytest.fixture
def live(tmp_path: Path) -> Iterator[LiveServer]:
    with live_server(tmp_path, shipped_agents) as server:
        yield server


def save(client: Client, **fields: Any) -> dict[str, Any]:
    answer = client.post("/api/endpoints/save", fields)
    assert answer.status == 200, answer.raw
    assert KEY not in answer.raw.decode()
    return dict(answer.json["endpoint"])


def ask(client: Client, session_id: str, text: str) -> tuple[str, Any]:
    """The last event of the stream of a turn."""
    answer = client.send(session_id, text)
    assert answer.status == 202, answer.raw
    _, event, data = client.events(answer.json["stream_id"])[-1]
    return event, data


def test_a_saved_endpoint_answers_the_chats_that_choose_it(live: LiveServer, fake: FakeOpenAI) -> None:
    headers = {"X-Team": "blue-team-token"}
    saved = save(
        live.client, name="Box", base_url=fake.base_url, model="m1", api_key=KEY, headers=headers,
        temperature=0.5, max_tokens=99, context_limit=4096,
    )  # fmt: skip
    assert (saved["has_key"], saved["editable"], saved["headers"]) == (True, True, {"X-Team": HIDDEN})
    session_id = live.client.new_session(agent="openai", endpoint=saved["id"])
    assert ask(live.client, session_id, "hi")[0] == "done"
    (request,) = fake.requests
    assert (request["model"], request["temperature"], request["max_tokens"]) == ("m1", 0.5, 99)
    assert fake.headers[0]["authorization"] == f"Bearer {KEY}"
    assert fake.headers[0]["x-team"] == "blue-team-token"
    status = live.client.get(f"/api/session/status?session_id={session_id}").json
    assert (status["model"], status["context_limit"]) == ("m1", 4096)


def test_endpoints_outlive_a_restart_with_their_keys_in_a_file_of_their_own(
    tmp_path: Path, fake: FakeOpenAI
) -> None:
    with live_server(tmp_path, shipped_agents) as live:
        saved = save(live.client, base_url=fake.base_url, api_key=KEY)
        chosen = {"endpoint": saved["id"], "model": "m7"}
        assert live.client.post("/api/default-model", chosen).json["default"] == "openai"
    assert KEY not in (tmp_path / "endpoints.json").read_text()
    assert stat.S_IMODE(os.stat(tmp_path / "keys.json").st_mode) == 0o600
    with live_server(tmp_path, shipped_agents) as live:
        (entry,) = live.client.get("/api/endpoints").json["endpoints"]
        assert (entry["id"], entry["has_key"], entry["model"]) == (saved["id"], True, "m7")
        assert live.client.get("/api/models").json["default"] == "openai"
        assert ask(live.client, live.client.new_session(), "hi")[0] == "done"
    assert fake.requests[0]["model"] == "m7"
    assert fake.headers[0]["authorization"] == f"Bearer {KEY}"


def test_a_change_counts_from_the_next_turn_and_keeps_what_it_does_not_name(
    live: LiveServer, fake: FakeOpenAI
) -> None:
    saved = save(live.client, base_url=fake.base_url, model="m1", api_key=KEY, headers={"X-A": "aaaaaaaaaa"})
    session_id = live.client.new_session(agent="openai", endpoint=saved["id"])
    ask(live.client, session_id, "one")
    save(live.client, id=saved["id"], model="m2", headers={"X-A": HIDDEN, "X-B": "b"})
    ask(live.client, session_id, "two")
    assert [request["model"] for request in fake.requests] == ["m1", "m2"]
    assert fake.headers[1]["authorization"] == f"Bearer {KEY}"
    assert (fake.headers[1]["x-a"], fake.headers[1]["x-b"]) == ("aaaaaaaaaa", "b")


def test_a_key_never_goes_to_another_service_unasked(live: LiveServer, fake: FakeOpenAI) -> None:
    saved = save(live.client, base_url="http://127.0.0.1:9/v1", api_key=KEY, headers={"X-A": KEY})
    moved = {"id": saved["id"], "base_url": fake.base_url, "headers": {"X-A": HIDDEN}}
    assert live.client.post("/api/endpoints/test", moved).json["ok"] is True
    changed = save(live.client, **moved)
    assert (changed["has_key"], changed["headers"]) == (False, {})


def test_a_deleted_endpoint_says_what_to_do_and_takes_its_key_along(
    live: LiveServer, fake: FakeOpenAI
) -> None:
    saved = save(live.client, base_url=fake.base_url, api_key=KEY)
    session_id = live.client.new_session(agent="openai", endpoint=saved["id"])
    assert live.client.post("/api/endpoints/delete", {"id": saved["id"]}).json == {"ok": True}
    state = live.services.settings.state_dir
    assert KEY not in (state / "keys.json").read_text()
    event, data = ask(live.client, session_id, "hi")
    assert event == "apperror" and "no longer there" in data["message"] and data["hint"]
    assert live.client.post("/api/endpoints/delete", {"id": saved["id"]}).status == 404
    moved = live.client.post("/api/session/update", {"session_id": session_id, "agent": "embedded"})
    assert moved.status == 200 and moved.json["session"]["endpoint"] is None


def test_the_endpoint_of_the_start_is_shown_and_stays(tmp_path: Path, fake: FakeOpenAI) -> None:
    with live_server(tmp_path, shipped_agents, openai_base_url=fake.base_url, openai_model="m") as live:
        (entry,) = live.client.get("/api/endpoints").json["endpoints"]
        assert (entry["id"], entry["editable"], entry["source"]) == ("default", False, "start")
        for path, body in (("save", {"id": "default", "model": "x"}), ("delete", {"id": "default"})):
            answer = live.client.post(f"/api/endpoints/{path}", body)
            assert (answer.status, answer.json["code"]) == (400, "invalid_request")
        other = save(live.client, base_url=fake.base_url, model="other")
        live.client.post("/api/default-model", {"endpoint": other["id"]})
        ask(live.client, live.client.new_session(), "hi")
        assert fake.requests[-1]["model"] == "other"


@pytest.mark.parametrize(
    "fields",
    [
        {"base_url": "ftp://x"},
        {"base_url": "http://user:pass@x/v1"},
        {"base_url": "http://"},
        {"base_url": "http://[::1"},
        {"base_url": "http://x:99999/v1"},
        {"base_url": "http://x/v1#a"},
        {"base_url": "http://:pass@x/v1"},
        {"base_url": "http://@x/v1"},
        {"base_url": "http://x/v1?key=secret"},
        {"base_url": "http://x/\nv1"},
        {"base_url": "javascript:alert(1)"},
        {"base_url": None},
        {},
        {"base_url": "http://x", "headers": {"a b": "c"}},
        {"base_url": "http://x", "headers": {"a": "b\r\nc: d"}},
        {"base_url": "http://x", "headers": ["a"]},
        {"base_url": "http://x", "api_key": "a\nb"},
        {"base_url": "http://x", "context_limit": 0},
        {"base_url": "http://x", "max_tokens": -1},
        {"base_url": "http://x", "temperature": 99},
        {"base_url": "http://x", "id": "../x"},
        {"base_url": "http://x", "id": "DEFAULT"},
    ],
)
def test_what_cannot_be_an_endpoint_is_refused(live: LiveServer, fields: dict[str, Any]) -> None:
    answer = live.client.post("/api/endpoints/save", fields)
    assert (answer.status, answer.json["code"]) == (400, "invalid_request")
    assert b"secret" not in answer.raw
    assert not (live.services.settings.state_dir / "endpoints.json").exists()


def test_a_test_tells_the_models_or_what_is_wrong(live: LiveServer, fake: FakeOpenAI) -> None:
    fake.models = [{"id": "a"}, {"id": "b"}]
    good = live.client.post("/api/endpoints/test", {"base_url": fake.base_url, "api_key": KEY}).json
    assert (good["ok"], good["models"], good["error"]) == (True, ["a", "b"], None)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
        bad = live.client.post("/api/endpoints/test", {"base_url": address, "api_key": KEY}).json
    assert bad["ok"] is False and bad["error"] and KEY not in bad["error"]
    assert live.client.post("/api/endpoints/test", {"id": "nobody"}).status == 400


@pytest.mark.parametrize(
    ("text", "code"),
    [("{", "damaged"), ("[]", "damaged"), ('{"schema_version": 1, "endpoints": [7]}', "damaged"),
     ('{"endpoints": []}', "damaged"), ('{"schema_version": 9}', "newer_version")],
)  # fmt: skip
@pytest.mark.parametrize("name", ["endpoints.json", "keys.json"])
def test_a_damaged_file_stops_no_start_and_is_never_overwritten(
    tmp_path: Path, name: str, text: str, code: str, fake: FakeOpenAI
) -> None:
    if name == "keys.json" and "7" in text:
        text = '{"schema_version": 1, "keys": 7}'
        (tmp_path / "endpoints.json").write_bytes(
            orjson.dumps({"schema_version": 1, "endpoints": [{"id": "a", "base_url": "http://x"}]})
        )
    (tmp_path / name).write_text(text)
    with live_server(tmp_path, shipped_agents, openai_base_url=fake.base_url, openai_model="m") as live:
        answer = live.client.get("/api/endpoints").json
        readable = ["a"] if name == "keys.json" and "7" in text else []
        assert [entry["id"] for entry in answer["endpoints"]] == ["default", *readable] and answer["problem"]
        refused = live.client.post("/api/endpoints/save", {"base_url": "http://x"})
        assert (refused.status, refused.json["code"]) == (409, code)
        assert ask(live.client, live.client.new_session(), "hi")[0] == "done"
    assert (tmp_path / name).read_text() == text


def test_one_bad_entry_hides_no_other_and_a_mended_file_counts_again(
    tmp_path: Path, fake: FakeOpenAI
) -> None:
    good = {"id": "good", "base_url": fake.base_url, "model": "m"}
    path = tmp_path / "endpoints.json"
    path.write_bytes(orjson.dumps({"schema_version": 1, "endpoints": [7, {"id": "bad"}, good]}))
    with live_server(tmp_path, shipped_agents) as live:
        answer = live.client.get("/api/endpoints").json
        assert [entry["id"] for entry in answer["endpoints"]] == ["good"]
        assert str(path) in answer["problem"]
        assert ask(live.client, live.client.new_session(agent="openai", endpoint="good"), "hi")[0] == "done"
        assert live.client.post("/api/endpoints/save", {"base_url": "http://x"}).status == 409
        path.write_bytes(orjson.dumps({"schema_version": 1, "endpoints": [good]}))
        save(live.client, base_url="http://x")
        answer = live.client.get("/api/endpoints").json
        assert (len(answer["endpoints"]), answer["problem"]) == (2, None)


def test_the_model_of_the_default_can_be_named_alone_and_the_last_word_counts(
    tmp_path: Path, fake: FakeOpenAI
) -> None:
    with live_server(tmp_path, shipped_agents, openai_base_url=fake.base_url, openai_model="m") as live:
        session_id = live.client.new_session()
        chosen = live.client.post("/api/default-model", {"model": "m9"}).json
        assert (chosen["default"], chosen["endpoint"], chosen["model"]) == ("openai", "default", "m9")
        ask(live.client, session_id, "one")
        own = save(live.client, base_url=fake.base_url, model="a")
        live.client.post("/api/default-model", {"endpoint": own["id"], "model": "b"})
        ask(live.client, session_id, "two")
        save(live.client, id=own["id"], model="c")
        ask(live.client, session_id, "three")
    assert [request["model"] for request in fake.requests] == ["m9", "b", "c"]


def test_the_demonstration_model_can_be_the_default_again(live: LiveServer, fake: FakeOpenAI) -> None:
    own = save(live.client, base_url=fake.base_url, model="a")
    live.client.post("/api/default-model", {"endpoint": own["id"]})
    demo = {"agent": "embedded", "endpoint": "embedded", "model": "smollm2-135m"}
    assert live.client.post("/api/default-model", demo).status == 200
    assert live.client.get("/api/models").json["default"] == "embedded"


@pytest.mark.parametrize(
    "given", [{"agent": "embedded"}, {"environ": {"TALARIA_AGENT": "embedded"}}], ids=str
)
def test_a_default_agent_of_the_start_is_changed_there_and_nowhere_else(
    tmp_path: Path, fake: FakeOpenAI, given: dict[str, Any]
) -> None:
    with live_server(tmp_path, shipped_agents, **given) as live:
        own = save(live.client, base_url=fake.base_url, model="a")
        refused = live.client.post("/api/default-model", {"endpoint": own["id"]})
        assert (refused.status, refused.json["code"]) == (400, "invalid_request")
        models = live.client.get("/api/models").json
        assert (models["default"], models["given"]) == ("embedded", "embedded")
        assert live.client.post("/api/default-model", {"agent": "embedded"}).status == 200


def test_a_default_agent_of_the_start_stays_without_an_endpoint_and_takes_the_next_one(
    tmp_path: Path, fake: FakeOpenAI
) -> None:
    with live_server(tmp_path, shipped_agents, agent="openai") as live:
        session_id = live.client.new_session()
        event, data = ask(live.client, session_id, "one")
        assert event == "apperror" and data["message"] == "No endpoint is set up." and data["hint"]
        for _ in range(2):
            own = save(live.client, base_url=fake.base_url, model="m")
            assert ask(live.client, session_id, "two")[0] == "done"
            live.client.post("/api/endpoints/delete", {"id": own["id"]})
            models = live.client.get("/api/models").json
            (info,) = [agent for agent in models["agents"] if agent["name"] == "openai"]
            assert (models["default"], info["available"]) == ("openai", False)
            assert "No endpoint is set up" in info["reason"]


def test_an_endpoint_that_cannot_be_saved_keeps_its_key(tmp_path: Path, fake: FakeOpenAI) -> None:
    with live_server(tmp_path, shipped_agents) as live:
        own = save(live.client, base_url=fake.base_url, api_key=KEY)
        kept = (tmp_path / "keys.json").read_bytes()
        (tmp_path / "endpoints.json").unlink()
        (tmp_path / "endpoints.json").mkdir()
        moved = {"id": own["id"], "base_url": "http://127.0.0.1:9/v1", "api_key": "of-another-service"}
        assert live.client.post("/api/endpoints/save", moved).status == 503
        assert (tmp_path / "keys.json").read_bytes() == kept
        (entry,) = live.client.get("/api/endpoints").json["endpoints"]
        assert entry["base_url"] == fake.base_url


@pytest.mark.parametrize("late", ["endpoints.json", "keys.json"])
def test_a_save_that_was_killed_between_its_files_sends_no_key_to_another_service(
    tmp_path: Path, fake: FakeOpenAI, late: str
) -> None:
    """`late` is still as it was before the save."""
    other = {"base_url": "http://127.0.0.1:9/v1", "api_key": "of-another-service"}
    here = {"base_url": fake.base_url, "api_key": KEY}
    before, after = (here, other) if late == "endpoints.json" else (other, here)
    with live_server(tmp_path, shipped_agents) as live:
        own = save(live.client, model="m", **before)
        as_before = (tmp_path / late).read_bytes()
        save(live.client, id=own["id"], **after)
    (tmp_path / late).write_bytes(as_before)
    with live_server(tmp_path, shipped_agents) as live:
        answer = live.client.get("/api/endpoints").json
        assert ([entry["has_key"] for entry in answer["endpoints"]], answer["problem"]) == ([False], None)
        assert ask(live.client, live.client.new_session(agent="openai"), "hi")[0] == "done"
        assert "of-another-service" not in str(fake.headers[0]) and KEY not in str(fake.headers[0])
        save(live.client, id=own["id"], api_key=KEY)
        assert ask(live.client, live.client.new_session(agent="openai"), "hi")[0] == "done"
    assert fake.headers[-1]["authorization"] == f"Bearer {KEY}"


def test_keys_of_an_older_version_count_and_are_bound_by_the_next_save(
    tmp_path: Path, fake: FakeOpenAI
) -> None:
    entry = {"id": "e1", "base_url": fake.base_url, "model": "m"}
    (tmp_path / "endpoints.json").write_bytes(orjson.dumps({"schema_version": 1, "endpoints": [entry]}))
    (tmp_path / "keys.json").write_bytes(orjson.dumps({"schema_version": 1, "keys": {"e1": KEY}}))
    with live_server(tmp_path, shipped_agents) as live:
        assert ask(live.client, live.client.new_session(agent="openai"), "hi")[0] == "done"
        save(live.client, id="e1", name="One")
    assert fake.headers[0]["authorization"] == f"Bearer {KEY}"
    kept = orjson.loads((tmp_path / "keys.json").read_bytes())
    service = fake.base_url.removesuffix("/v1")
    assert kept == {"schema_version": 2, "keys": {"e1": {"service": service, "key": KEY}}}


def test_a_model_without_any_endpoint_is_refused(live: LiveServer) -> None:
    answer = live.client.post("/api/default-model", {"agent": "openai", "model": "m"})
    assert (answer.status, answer.json["code"]) == (400, "invalid_request")


def test_a_chat_of_a_deleted_endpoint_can_be_changed_otherwise(live: LiveServer, fake: FakeOpenAI) -> None:
    own = save(live.client, base_url=fake.base_url)
    session_id = live.client.new_session(agent="openai", endpoint=own["id"])
    live.client.post("/api/endpoints/delete", {"id": own["id"]})
    update = {"session_id": session_id, "personality": "terse"}
    assert live.client.post("/api/session/update", update).status == 200
    assert live.client.post("/api/session/update", {**update, "model": "m"}).status == 400


def test_unknown_agents_and_endpoints_are_refused(live: LiveServer) -> None:
    session_id = live.client.new_session()
    for fields in ({"agent": "hermit"}, {"endpoint": "nowhere"}, {"agent": "openai", "endpoint": "nowhere"}):
        assert live.client.post("/api/session/new", fields).status == 400
        assert live.client.post("/api/session/update", {"session_id": session_id, **fields}).status == 400
        assert live.client.post("/api/default-model", fields).status == 400


def test_servers_on_this_machine_are_found_with_their_models(fake: FakeOpenAI) -> None:
    fake.models = [{"id": "qwen3:8b"}]
    silent = socket.create_server(("127.0.0.1", 0))
    port = int(fake.base_url.rsplit(":", 1)[1].removesuffix("/v1"))
    workers = Workers()
    ports = {"Ollama": port, "LM Studio": silent.getsockname()[1], "llama.cpp": 9}
    (found,) = LocalServers(workers, ports).find()
    assert (found.name, found.base_url, found.models) == ("Ollama", fake.base_url, ("qwen3:8b",))
    silent.close()
    assert not workers.stop(20.0)


def test_our_own_port_is_not_asked(fake: FakeOpenAI) -> None:
    workers = Workers()
    port = int(fake.base_url.rsplit(":", 1)[1].removesuffix("/v1"))
    local = LocalServers(workers, {"vLLM": port})
    local.leave_out(port)
    assert local.find() == [] and fake.connections == 0
    assert not workers.stop(20.0)


def test_the_model_command_lists_what_can_be_chosen_and_chooses_it(
    live: LiveServer, fake: FakeOpenAI
) -> None:
    saved = save(live.client, base_url=fake.base_url, model="m1")
    session_id = live.client.new_session()
    listed = live.client.send(session_id, "/model").json["output"]
    assert f"{saved['id']}/m1 (openai)" in listed and "embedded/" in listed
    live.client.send(session_id, f"/model {saved['id']}/org/m9")
    session = live.client.session(session_id)
    assert (session["agent"], session["endpoint"], session["model"]) == ("openai", saved["id"], "org/m9")
    live.client.send(session_id, "/model m1")
    assert live.client.session(session_id)["model"] == "m1"
    assert ask(live.client, session_id, "hi")[0] == "done"
    assert fake.requests[-1]["model"] == "m1"
    assert live.client.send(session_id, "/model /").status == 400


def test_no_key_reaches_the_log(live: LiveServer, fake: FakeOpenAI, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    saved = save(live.client, base_url=fake.base_url, api_key=KEY)
    ask(live.client, live.client.new_session(agent="openai", endpoint=saved["id"]), "hi")
    live.client.post("/api/endpoints/test", {"id": saved["id"]})
    assert KEY not in caplog.text


def test_without_any_endpoint_the_demonstration_model_answers_again(
    live: LiveServer, fake: FakeOpenAI
) -> None:
    ids = [save(live.client, base_url=fake.base_url, name=name)["id"] for name in "ab"]
    live.client.post("/api/default-model", {"endpoint": ids[0]})
    for endpoint_id, default in zip(ids, ("openai", "embedded"), strict=True):
        live.client.post("/api/endpoints/delete", {"id": endpoint_id})
        assert live.client.get("/api/models").json["default"] == default
