"""Failures of OpenAI-compatible endpoints: told plainly, and tried again within bounds."""

import logging
import socket
from typing import Any

import pytest

from api.agents.endpoint import Timeouts, Tries
from tests.agents.conftest import KEY
from tests.fake_openai import DONE, FakeOpenAI, HangUp, Reply, Wait, chunk, event, json_reply

USAGE = {"prompt_tokens": 1000, "completion_tokens": 50}


def stream(*steps: Any, **options: Any) -> Reply:
    return Reply(steps, **options)


# Failures told with status 200

ERRORS_IN_200: dict[str, tuple[Reply, str, str]] = {
    "after some text": (
        stream(
            *(chunk({"content": text}) for text in ("some ", "text ", "first")),
            event({"error": {"message": "overloaded", "code": 502}}),
        ),
        "overloaded",
        "some text first",
    ),
    "with empty choices": (stream(event({"choices": [], "error": {"message": "broken"}})), "broken", ""),
    "as a string": (stream(event({"error": "broken"}), DONE), "broken", ""),
    "in a choice": (
        stream(event({"choices": [{"delta": {}, "error": {"message": "broken"}}]})),
        "broken",
        "",
    ),
    "with the text it ends": (
        stream(event({"choices": [{"delta": {"content": "a"}}], "error": {"message": "broken"}})),
        "broken",
        "a",
    ),
    "as an error event": (
        stream(b'event: error\n: HTTP_STATUS/429\ndata: {"code":"Throttling","message":"quota"}\n\n'),
        "quota",
        "",
    ),
    "as an error event in words": (stream(b"event: error\ndata: out of luck\n\n"), "out of luck", ""),
    "code and message only": (stream(event({"code": "Throttling", "message": "quota"})), "quota", ""),
    "error_type": (stream(event({"error_type": "Busy", "error_message": "come back"})), "come back", ""),
    "as JSON": (json_reply({"error": {"message": "no such thing"}}), "no such thing", ""),
    "as a list": (json_reply([{"error": {"message": "no such thing", "code": 400}}]), "no such thing", ""),
    "as a finish reason": (stream(chunk({"content": "a"}), chunk(finish_reason="error"), DONE), "error", "a"),
    "only the end mark": (stream(DONE), "empty answer", ""),
    "an empty body": (stream(), "empty answer", ""),
    "only comments": (stream(b": alive\n\n" * 3), "empty answer", ""),
    "only a role": (stream(chunk({"role": "assistant"}), DONE), "without a reply", ""),
    "a web page": (stream(b"\n<!DOCTYPE html><p>Sign in", content_type="text/html"), "web page", ""),
    "words": (stream(b"Bad gateway", content_type="text/plain"), "empty answer", ""),
    "JSON without a reply": (json_reply({"status": "ok"}), "without a reply", ""),
    "half of a JSON": (stream(b'{"choices": [', content_type="application/json"), "cannot be read", ""),
    "a chunk that is no JSON": (stream(chunk({"content": "a"}), b"data: {nope}\n\n"), "{nope}", "a"),
    "an end without finish": (stream(chunk({"content": "a"})), "ended early", "a"),
    "an end inside a chunk": (
        stream(chunk({"content": "a"}), chunk({"content": "b"})[:30]),
        "ended early",
        "a",
    ),
    "a hang-up after some text": (stream(chunk({"content": "a"}), HangUp()), "ended early", "a"),
    "a hang-up with text held back": (stream(chunk({"content": "<thi"}), HangUp()), "ended early", "<thi"),
    "broken compression": (
        stream(b"this is no gzip", headers={"Content-Encoding": "gzip"}),
        "cannot be unpacked",
        "",
    ),
}


@pytest.mark.parametrize(("reply", "words", "text"), ERRORS_IN_200.values(), ids=ERRORS_IN_200.keys())
def test_failures_told_with_status_200_fail_the_turn(
    ask: Any, make_agent: Any, server: FakeOpenAI, reply: Reply, words: str, text: str
) -> None:
    agent = make_agent(tries=Tries(count=1))
    server.enqueue(reply)
    outcome = ask(agent=agent)
    assert outcome.error is not None
    assert words in str(outcome.error)
    assert outcome.text() == text
    assert len(server.requests) == 1
    assert ask(agent=agent).text() == "You said: Hello"


def test_usage_that_came_before_a_failure_is_counted(ask: Any, server: FakeOpenAI) -> None:
    server.enqueue(stream(chunk({"content": "a"}, usage=USAGE), event({"error": {"message": "broken"}})))
    outcome = ask()
    assert (bool(outcome.error), len(outcome.of("usage"))) == (True, 1)


# Failures of the HTTP answer and of the network


@pytest.mark.parametrize(
    ("status", "kind", "requests"),
    [
        (400, "provider_error", 1),
        (401, "auth_mismatch", 1),
        (402, "quota_exhausted", 1),
        (404, "model_not_found", 1),
        (429, "rate_limit", 3),
        (500, "provider_error", 3),
        (503, "unavailable", 3),
    ],
)
def test_an_error_status_is_tried_again_only_where_it_may_pass(
    ask: Any, server: FakeOpenAI, status: int, kind: str, requests: int
) -> None:
    server.enqueue(*[json_reply({"error": {"message": f"you sent {KEY}"}}, status)] * 9)
    outcome = ask()
    assert (outcome.error.type, len(server.requests)) == (kind, requests)
    assert KEY not in str(outcome.error) + outcome.error.hint
    assert "you sent •••" in str(outcome.error)


def test_a_failure_that_passes_is_not_seen(ask: Any, server: FakeOpenAI) -> None:
    server.enqueue(json_reply({}, 503), json_reply({}, 429, Retry_After="0"))
    outcome = ask()
    assert (outcome.error, outcome.text()) == (None, "You said: Hello")


def test_a_provider_that_asks_for_a_long_wait_is_not_tried_again(ask: Any, server: FakeOpenAI) -> None:
    server.enqueue(json_reply({}, 429, Retry_After="3600"))
    outcome = ask()
    assert (outcome.error.type, outcome.error.retry_after_s, len(server.requests)) == ("rate_limit", 3600, 1)


def test_a_failure_after_some_text_is_not_tried_again(ask: Any, server: FakeOpenAI) -> None:
    server.enqueue(stream(chunk({"content": "a"}), HangUp()))
    outcome = ask()
    assert (outcome.error.type, outcome.text(), len(server.requests)) == ("provider_error", "a", 1)


def test_a_hang_up_before_any_text_is_tried_again(ask: Any, server: FakeOpenAI) -> None:
    server.enqueue(Reply(before=(HangUp(),)), stream(chunk({"role": "assistant"}), HangUp()))
    outcome = ask()
    assert (outcome.error, outcome.text(), len(server.requests)) == (None, "You said: Hello", 3)


def test_stream_options_that_are_refused_are_left_out_from_then_on(
    ask: Any, make_agent: Any, server: FakeOpenAI
) -> None:
    agent = make_agent()
    server.enqueue(json_reply({"error": {"message": "unknown field: stream_options"}}, 400))
    assert [ask(agent=agent).text() for _ in range(2)] == ["You said: Hello"] * 2
    assert ["stream_options" in request for request in server.requests] == [True, False, False]


def test_an_error_page_is_not_quoted(ask: Any, server: FakeOpenAI) -> None:
    server.enqueue(*[Reply((b"<html><h1>502",), 502, "text/html")] * 3)
    assert str(ask().error) == "Fake is not available at the moment."


def test_a_refused_connection_names_the_host_and_what_to_do(ask: Any, make_agent: Any) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{unused.getsockname()[1]}"
        error = ask(agent=make_agent(base_url=f"http://{host}/v1")).error
    assert (error.type, host in str(error), host in error.hint) == ("unavailable", True, True)


def test_an_unknown_host_is_named(ask: Any, make_agent: Any) -> None:
    error = ask(agent=make_agent(base_url="http://nowhere.invalid/v1")).error
    assert (error.type, str(error)) == ("unavailable", "The host name nowhere.invalid cannot be found.")


def test_a_proxy_is_used_where_one_is_set(ask: Any, make_agent: Any, server: FakeOpenAI) -> None:
    proxy = server.base_url.removesuffix("/v1")
    outcome = ask(agent=make_agent(base_url="http://nowhere.invalid/v1", proxy=proxy))
    assert (outcome.error, outcome.text()) == (None, "You said: Hello")
    assert server.headers[0]["host"] == "nowhere.invalid"


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"base_url": "localhost:1/v1"}, "unavailable"),
        ({"api_key": "schlüssel"}, "auth_mismatch"),
        ({"headers": {"X-A": "a\nb"}}, "auth_mismatch"),
    ],
)
def test_an_endpoint_that_cannot_work_is_refused(ask: Any, make_agent: Any, options: Any, kind: str) -> None:
    assert ask(agent=make_agent(**options)).error.type == kind


def test_a_server_that_speaks_no_tls_is_told(ask: Any, make_agent: Any, server: FakeOpenAI) -> None:
    agent = make_agent(base_url=server.base_url.replace("http:", "https:"))
    error = ask(agent=agent).error
    server.failures.clear()
    assert (error.type, "secure connection" in str(error)) == ("unavailable", True)


@pytest.mark.parametrize(
    ("reply", "timeouts", "text"),
    [
        (Reply(before=(Wait("never"),)), Timeouts(first_token_s=0.05), ""),
        (stream(chunk({"content": "a"}), Wait("never")), Timeouts(silence_s=0.05), "a"),
    ],
)
def test_silence_is_bounded(
    ask: Any, make_agent: Any, server: FakeOpenAI, reply: Reply, timeouts: Timeouts, text: str
) -> None:
    server.enqueue(reply)
    outcome = ask(agent=make_agent(timeouts=timeouts))
    assert (outcome.error.type, outcome.text(), len(server.requests)) == ("unavailable", text, 1)


def test_silence_after_the_finish_ends_the_reply(ask: Any, make_agent: Any, server: FakeOpenAI) -> None:
    server.enqueue(stream(chunk({"content": "a"}), chunk(finish_reason="stop"), Wait("never")))
    outcome = ask(agent=make_agent(timeouts=Timeouts(ending_s=0.05)))
    assert (outcome.error, outcome.text()) == (None, "a")


def test_the_key_is_in_no_log(ask: Any, server: FakeOpenAI, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    server.enqueue(json_reply({"error": {"message": f"bad key {KEY}"}}, 401))
    error = ask().error
    logging.getLogger("test").error("turn failed", exc_info=error)
    assert KEY not in caplog.text
