"""One client an endpoint: kept, replaced by a change, and closed only when no call runs on it."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from api.agents.base import RunRequest, Stop
from api.agents.connections import Connections
from api.agents.endpoint import Endpoint, Timeouts
from api.agents.endpoint_store import EndpointStore
from api.agents.openai_chat import OpenAIAgent
from api.agents.openai_client import Connection
from api.clock import Clock
from tests.fake_openai import FakeOpenAI, Reply, Wait, text_chunks


@pytest.fixture
def connections() -> Iterator[Connections]:
    made = Connections(Timeouts())
    yield made
    made.close()


@pytest.fixture
def endpoint(server: FakeOpenAI) -> Endpoint:
    return Endpoint("box", "Box", server.base_url, "m1")


def can_call(connection: Connection) -> bool:
    line = connection.new_line()
    try:
        return bool(connection.models(line))
    except RuntimeError:
        return False
    finally:
        line.release()


def test_the_same_settings_have_the_same_client(connections: Connections, endpoint: Endpoint) -> None:
    with connections.use(endpoint) as first:
        pass
    with connections.use(replace(endpoint)) as second:
        assert second is first and can_call(second)


def test_a_replaced_client_serves_its_call_to_the_end(connections: Connections, endpoint: Endpoint) -> None:
    with connections.use(endpoint) as first:
        with connections.use(replace(endpoint, model="m2")) as second:
            assert second is not first
        assert can_call(first) and can_call(second)
    assert not can_call(first) and can_call(second)


def test_the_client_of_a_removed_endpoint_is_closed_after_its_call(
    connections: Connections, endpoint: Endpoint
) -> None:
    with connections.use(endpoint) as first:
        connections.keep_only([])
        assert can_call(first)
    assert not can_call(first)


def test_a_change_under_a_running_reply_does_not_cut_it(server: FakeOpenAI, tmp_path: Path) -> None:
    chunks = text_chunks(["one", " two"])
    server.enqueue(Reply([*chunks[:2], Wait("more"), *chunks[2:]]))
    store = EndpointStore(tmp_path, None, Clock())
    saved = store.save({"base_url": server.base_url, "model": "m1"})
    agent = OpenAIAgent(store)
    ask = RunRequest("s", "t", [{"role": "user", "content": "hi"}], endpoint=saved.id)
    running = agent.run(ask, Stop())
    words = [next(event for event in running if event.type == "token").data["text"]]
    store.save({"id": saved.id, "model": "m2"})
    list(agent.run(ask, Stop()))
    server.gate("more").set()
    words += [event.data["text"] for event in running if event.type == "token"]
    assert "".join(words) == "one two"
    assert [request["model"] for request in server.requests] == ["m1", "m2"]
    agent.close()
