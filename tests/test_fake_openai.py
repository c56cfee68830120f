"""The scripted endpoint answers as scripted and leaves nothing behind."""

import json
import threading
from http.client import HTTPConnection, HTTPException
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.fake_openai import FakeOpenAI, HangUp, Reply, Wait, json_reply


def post(server: FakeOpenAI, body: dict[str, Any]) -> tuple[int, bytes]:
    address = urlsplit(server.base_url)
    connection = HTTPConnection(address.hostname or "", address.port, timeout=5)
    try:
        connection.request("POST", "/v1/chat/completions", json.dumps(body))
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def question(text: str = "hi", **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}], **more}


def test_without_a_script_it_repeats_the_question() -> None:
    with FakeOpenAI() as server:
        status, body = post(server, question("ping"))
    assert (status, json.loads(body)["choices"][0]["message"]["content"]) == (200, "You said: ping")
    assert server.requests == [question("ping")]


@pytest.mark.parametrize("body", [question(tools=[]), {"messages": [{"role": "user", "tool_calls": []}]}])
def test_it_refuses_empty_lists_of_tools(body: dict[str, Any]) -> None:
    with FakeOpenAI() as server:
        assert post(server, body)[0] == 400


def test_replies_come_in_order() -> None:
    with FakeOpenAI() as server:
        server.enqueue(json_reply({"n": 1}), json_reply({"n": 2}, 503))
        assert [post(server, question()) for _ in range(2)] == [(200, b'{"n": 1}'), (503, b'{"n": 2}')]


def test_a_hang_up_breaks_the_answer_off() -> None:
    with FakeOpenAI() as server:
        server.enqueue(Reply((b"half", HangUp())))
        with pytest.raises(HTTPException):
            post(server, question())


def test_closing_it_ends_an_answer_that_waits() -> None:
    failures: list[Exception] = []

    def ask(server: FakeOpenAI) -> None:
        try:
            post(server, question())
        except (HTTPException, OSError) as failure:
            failures.append(failure)

    with FakeOpenAI() as server:
        server.enqueue(Reply((b"half", Wait("never"))))
        client = threading.Thread(target=ask, args=(server,))
        client.start()
        assert server.reached("never").wait(5)
    client.join(5)
    assert len(failures) == 1
