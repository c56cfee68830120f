"""A stop closes the upstream connection at every moment of a reply."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from api.agents.base import RunRequest, Stop
from api.agents.endpoint import Tries
from api.events import Event
from tests.conftest import WAIT_S
from tests.fake_openai import (
    DONE,
    FakeOpenAI,
    Reply,
    Wait,
    chunk,
    json_reply,
    text_reply,
    with_gate_before,
)

REQUEST = RunRequest("s", "t", [{"role": "user", "content": "Hello"}])
HALF_A_CHUNK = chunk({"content": "never shown"})[:20]


class Run:
    """A reply that is read in a thread of its own."""

    def __init__(self, agent: Any, stop: Stop) -> None:
        self.stop = stop
        self.events: list[Event] = []
        self.error: BaseException | None = None
        self.has_text = threading.Event()
        self._agent = agent
        self.thread = threading.Thread(target=self._read, name="reader")

    def _read(self) -> None:
        try:
            for event in self._agent.run(REQUEST, self.stop):
                self.events.append(event)
                self.has_text.set()
        except Exception as error:
            self.error = error


@contextmanager
def running(agent: Any, stop: Stop | None = None) -> Iterator[Run]:
    run = Run(agent, stop or Stop())
    run.thread.start()
    try:
        yield run
    finally:
        run.stop.request()
        run.thread.join(WAIT_S)
        assert not run.thread.is_alive()


MOMENTS = {
    "before the headers": with_gate_before(text_reply(["late"]), "here"),
    "before the first token": Reply((b": alive\n\n", Wait("here"))),
    "between two tokens": Reply((chunk({"content": "a"}), Wait("here"), chunk({"content": "b"}))),
    "inside a chunk": Reply((chunk({"content": "a"}) + HALF_A_CHUNK, Wait("here"))),
    "after the finish": Reply((chunk({"content": "a"}), chunk(finish_reason="stop"), Wait("here"))),
    "in the body of an error": Reply((b'{"error":', Wait("here")), status=500),
}


@pytest.mark.parametrize("reply", MOMENTS.values(), ids=MOMENTS.keys())
@pytest.mark.parametrize("calls_before", [0, 1], ids=["new connection", "kept connection"])
def test_stop_closes_the_upstream_within_a_second(
    make_agent: Any, server: FakeOpenAI, reply: Reply, calls_before: int
) -> None:
    agent = make_agent()
    for _ in range(calls_before):
        assert list(agent.run(REQUEST, Stop()))
    server.enqueue(reply)
    with running(agent) as run:
        assert server.reached("here").wait(5)
        if chunk({"content": "a"}) in b"".join(step for step in reply.steps if isinstance(step, bytes)):
            assert run.has_text.wait(5)
        run.stop.request()
        assert server.client_left.wait(1)
        run.thread.join(1)
        assert not run.thread.is_alive()
    assert run.error is None
    assert server.connections == 1


def test_stop_in_the_middle_of_a_flood_ends_it(make_agent: Any, server: FakeOpenAI) -> None:
    server.enqueue(Reply([chunk({"content": "word "})] * 200_000))
    with running(make_agent()) as run:
        assert run.has_text.wait(WAIT_S)
        run.stop.request()
        assert server.client_left.wait(WAIT_S)
    assert run.error is None
    assert 0 < len(run.events) < 200_000


def test_stop_before_the_run_asks_nobody(make_agent: Any, server: FakeOpenAI) -> None:
    stop = Stop()
    stop.request()
    assert list(make_agent().run(REQUEST, stop)) == []
    assert server.connections == 0


class WatchedStop(Stop):
    """A stop that tells when a second thing waits for it: after the connection, the pause between tries."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.has_two = threading.Event()

    def on_request(self, close: Callable[[], None]) -> None:
        super().on_request(close)
        self.count += 1
        if self.count == 2:
            self.has_two.set()


def test_stop_while_waiting_for_another_try_ends_the_wait(make_agent: Any, server: FakeOpenAI) -> None:
    server.enqueue(json_reply({}, status=503))
    stop = WatchedStop()
    with running(make_agent(tries=Tries(pause_s=60, longest_pause_s=60)), stop) as run:
        assert stop.has_two.wait(5)
        run.stop.request()
        run.thread.join(1)
        assert not run.thread.is_alive()
    assert (run.error, run.events) == (None, [])


def test_stop_keeps_the_words_that_were_held_back(make_agent: Any, server: FakeOpenAI) -> None:
    server.enqueue(Reply((chunk({"reasoning": "hm", "content": "<thi"}), Wait("here"))))
    stop = Stop()
    events = make_agent().run(REQUEST, stop)
    shown = [next(events)]
    stop.request()
    shown += events
    assert [(event.type, event.data["text"]) for event in shown] == [("reasoning", "hm"), ("token", "<thi")]


def test_a_late_stop_does_not_touch_the_next_call(make_agent: Any, server: FakeOpenAI) -> None:
    agent, stop = make_agent(), Stop()
    assert list(agent.run(REQUEST, stop))
    server.enqueue(Reply((chunk({"content": "a"}), Wait("here"), chunk(finish_reason="stop"), DONE)))
    with running(agent) as run:
        assert server.reached("here").wait(5)
        stop.request()
        server.gate("here").set()
        run.thread.join(5)
    assert run.error is None
    assert [event.data.get("text") for event in run.events] == ["a"]
    assert server.connections == 1


def test_a_run_that_is_abandoned_closes_the_upstream(make_agent: Any, server: FakeOpenAI) -> None:
    server.enqueue(Reply((chunk({"content": "a"}), Wait("here"))))
    events = make_agent().run(REQUEST, Stop())
    assert next(events).data == {"text": "a"}
    events.close()
    assert server.client_left.wait(1)


def test_two_runs_of_one_agent_are_stopped_apart(make_agent: Any, server: FakeOpenAI) -> None:
    agent = make_agent()
    server.enqueue(Reply((chunk({"content": "a"}), Wait("one"))))
    with running(agent) as first:
        assert server.reached("one").wait(5)
        server.enqueue(Reply((chunk({"content": "b"}), Wait("two"), chunk(finish_reason="stop"), DONE)))
        with running(agent) as second:
            assert server.reached("two").wait(5)
            first.stop.request()
            assert server.client_left.wait(1)
            server.gate("two").set()
            second.thread.join(5)
            assert (second.error, [event.type for event in second.events]) == (None, ["token"])
