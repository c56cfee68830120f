"""Replies of OpenAI-compatible endpoints, over a real socket."""

import gzip
import logging
import socket
import subprocess
import sys
from typing import Any

import pytest

from api.agents.endpoint import Timeouts, Tries
from tests.agents.conftest import KEY
from tests.fake_openai import (
    DONE,
    FakeOpenAI,
    HangUp,
    Reply,
    Wait,
    chunk,
    event,
    json_reply,
    text_chunks,
    text_reply,
)

USAGE = {"prompt_tokens": 1000, "completion_tokens": 50}


def stream(*steps: Any, **options: Any) -> Reply:
    return Reply(steps, **options)


def test_a_reply_is_its_pieces_and_one_usage(ask: Any, server: FakeOpenAI) -> None:
    server.enqueue(
        text_reply(["naïve ", "😀 ", "答え"], {**USAGE, "prompt_tokens_details": {"cached_tokens": 900}})
    )
    outcome = ask()
    assert [kind.type for kind in outcome.events] == ["token", "token", "token", "usage"]
    assert outcome.text() == "naïve 😀 答え"
    assert outcome.of("usage") == [
        {
            "input_tokens": 1000,
            "output_tokens": 50,
            "cache_read_tokens": 900,
            "reasoning_tokens": None,
            "context_tokens": 1050,
        }
    ]


def test_the_request_holds_what_is_set_and_nothing_else(ask: Any, server: FakeOpenAI) -> None:
    messages = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b", "tool_calls": []},
        {"role": "user", "content": "c \ud800"},
    ]
    assert ask(messages).error is None
    assert server.requests == [
        {
            "model": "m",
            "stream": True,
            "stream_options": {"include_usage": True},
            "messages": [
                {"role": "user", "content": "a"},
                {"role": "assistant", "content": "b"},
                {"role": "user", "content": "c \ufffd"},
            ],
        }
    ]


def test_limits_model_and_headers_are_sent_where_they_are_set(
    ask: Any, make_agent: Any, server: FakeOpenAI
) -> None:
    agent = make_agent(temperature=0.0, max_tokens=9, headers={"X-Title": "Talaria"})
    ask(agent=agent, model="other")
    assert {key: server.requests[0][key] for key in ("model", "temperature", "max_tokens")} == {
        "model": "other",
        "temperature": 0.0,
        "max_tokens": 9,
    }
    assert server.headers[0]["x-title"] == "Talaria"
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


def test_the_environment_of_other_services_is_not_sent(
    ask: Any, make_agent: Any, server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "from-the-environment")
    ask(agent=make_agent(api_key=None))
    assert "from-the-environment" not in str(server.headers)


def test_a_connection_is_kept_for_the_next_call(ask: Any, make_agent: Any, server: FakeOpenAI) -> None:
    agent = make_agent()
    assert [ask(agent=agent).text() for _ in range(3)] == ["You said: Hello"] * 3
    assert server.connections == 1


def test_no_model_is_an_error_with_a_hint(ask: Any, make_agent: Any) -> None:
    error = ask(agent=make_agent(model=None)).error
    assert (error.type, bool(error.hint)) == ("model_not_found", True)


# Strange chunks


def test_role_only_null_and_empty_chunks_add_nothing(ask: Any, server: FakeOpenAI) -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 2}
    server.enqueue(
        stream(
            event({"choices": []}),
            chunk({"role": "assistant", "content": None}),
            chunk({}),
            chunk({"content": ""}),
            chunk({"content": "O"}),
            event({"choices": None}),
            event({"choices": [None]}),
            event({}),
            event([]),
            event("text"),
            event({"choices": [{"index": 0}]}),
            event({"choices": [{"delta": None}]}),
            chunk({"content": "K"}, usage=None),
            chunk(finish_reason="stop"),
            event({"choices": [], "usage": usage}),
            DONE,
        )
    )
    outcome = ask()
    assert (outcome.error, outcome.text()) == (None, "OK")
    assert [numbers["context_tokens"] for numbers in outcome.of("usage")] == [5]


@pytest.mark.parametrize("content", ["Hello", None, ""])
def test_an_answer_that_is_not_streamed_is_a_reply(ask: Any, server: FakeOpenAI, content: str | None) -> None:
    message = {"role": "assistant", "content": content, "tool_calls": []}
    server.enqueue(json_reply({"choices": [{"message": message, "finish_reason": "stop"}], "usage": USAGE}))
    outcome = ask()
    assert (outcome.error, outcome.text(), len(outcome.of("usage"))) == (None, content or "", 1)


def test_a_whole_message_after_the_streamed_text_is_not_added(ask: Any, server: FakeOpenAI) -> None:
    last = {"choices": [{"index": 0, "message": {"content": "OK"}, "finish_reason": "stop"}]}
    server.enqueue(stream(chunk({"content": "O"}), chunk({"content": "K"}), event(last)))
    assert ask().text() == "OK"


@pytest.mark.parametrize(
    "usage", [None, {}, {"prompt_tokens": None, "completion_tokens": None, "prompt_tokens_details": None}]
)
def test_no_usage_gives_no_usage_event(ask: Any, server: FakeOpenAI, usage: Any) -> None:
    server.enqueue(text_reply(["Hi"], usage) if usage is not None else text_reply(["Hi"]))
    outcome = ask()
    assert (outcome.error, outcome.of("usage")) == (None, [])


def test_the_last_usage_counts_once(ask: Any, server: FakeOpenAI) -> None:
    running = [chunk({"content": "a"}, usage={"prompt_tokens": 5, "completion_tokens": n}) for n in range(3)]
    server.enqueue(stream(*running, chunk(finish_reason="stop", usage=None), DONE))
    assert [numbers["output_tokens"] for numbers in ask().of("usage")] == [2]


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning", "reasoning_text"])
def test_reasoning_is_apart_from_the_reply(ask: Any, server: FakeOpenAI, name: str) -> None:
    thoughts = [chunk({name: "hm "}), chunk({name: "so", "content": None}), chunk({"content": "Hi"})]
    server.enqueue(stream(*thoughts, chunk(finish_reason="stop"), DONE))
    outcome = ask()
    assert (outcome.text("reasoning"), outcome.text()) == ("hm so", "Hi")


def test_reasoning_under_two_names_counts_once(ask: Any, server: FakeOpenAI) -> None:
    server.enqueue(
        stream(chunk({"reasoning": "hm", "reasoning_content": "hm"}), chunk({"content": "Hi"}), DONE)
    )
    assert ask().text("reasoning") == "hm"


@pytest.mark.parametrize("closing", ["</think>\n\nHi", ""])
def test_inline_thinking_is_reasoning(ask: Any, server: FakeOpenAI, closing: str) -> None:
    server.enqueue(text_reply(list("<think>a < b" + closing)))
    outcome = ask()
    assert (outcome.text("reasoning"), outcome.text()) == ("a < b", "Hi" if closing else "")


def test_parts_of_content_are_told_apart(ask: Any, server: FakeOpenAI) -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "Hi"},
    ]
    server.enqueue(stream(chunk({"content": parts}), DONE))
    outcome = ask()
    assert (outcome.text("reasoning"), outcome.text()) == ("hm", "Hi")


@pytest.mark.parametrize(("reason", "notices"), [("length", 1), ("content_filter", 1), ("stop", 0)])
def test_a_reply_that_was_cut_off_says_so(ask: Any, server: FakeOpenAI, reason: str, notices: int) -> None:
    server.enqueue(stream(chunk({"content": "Hi"}), chunk(finish_reason=reason), DONE))
    outcome = ask()
    assert (outcome.error, len(outcome.of("notice"))) == (None, notices)


def test_tool_calls_are_answered_as_not_available(ask: Any, server: FakeOpenAI) -> None:
    calls = [
        {"index": n, "id": f"c{n}", "function": {"name": "read", "arguments": '{"n":1}'}} for n in range(2)
    ]
    server.enqueue(stream(chunk({"tool_calls": calls}), chunk(finish_reason="tool_calls"), DONE))
    outcome = ask()
    assert [item.type for item in outcome.events] == ["tool", "tool_complete"] * 2
    assert [call["args"] for call in outcome.of("tool")] == [{"n": 1}] * 2
    assert all(done["is_error"] for done in outcome.of("tool_complete"))


# Text


@pytest.mark.parametrize(
    ("escaped", "expected"),
    [
        (['"ok \\ud83d end 😀"'], "ok \ufffd end 😀"),
        (['"\\udc00"'], "\ufffd"),
        (['"\\ud83d\\ude00"'], "😀"),
        (['"a\\ud83d"', '"\\ude80b"'], "a🚀b"),
        (['"a\\ud83d"', '"b"'], "a\ufffdb"),
        (['"a\\ud83d"'], "a\ufffd"),
    ],
)
def test_lone_surrogates_reach_nobody(
    ask: Any, server: FakeOpenAI, escaped: list[str], expected: str
) -> None:
    pieces = [b'data: {"choices":[{"delta":{"content":%b}}]}\n\n' % text.encode() for text in escaped]
    server.enqueue(stream(*pieces, chunk(finish_reason="stop"), DONE))
    assert ask().text() == expected


@pytest.mark.parametrize(
    "text",
    [
        "a\rb",
        "\r\n\r\n",
        '\n\ndata: {"x":1}\n\n',
        "\n\nevent: done\n\n",
        "\n:\n",
        "a\u2028b\u2029c\x85d\x0be\x0cf",
        "[DONE]",
        "data: [DONE]",
    ],
)
def test_text_that_looks_like_framing_stays_text(ask: Any, server: FakeOpenAI, text: str) -> None:
    server.enqueue(text_reply(["x", text, "y"]))
    outcome = ask()
    assert (outcome.error, outcome.text()) == (None, f"x{text}y")


# Framing

PIECES = ["na", "ïve", " 😀", " ", "答え"]
PLAIN = b"".join(text_chunks(PIECES))
FRAMINGS: dict[str, Reply] = {
    "CR LF": stream(PLAIN.replace(b"\n", b"\r\n")),
    "bare CR": stream(PLAIN.replace(b"\n", b"\r")),
    "no blank after data": stream(PLAIN.replace(b"data: ", b"data:")),
    "comments": stream(PLAIN.replace(b"\n\n", b"\n: alive\n\n: OPENROUTER PROCESSING\n\n")),
    "keep-alives": stream(
        PLAIN.replace(b"\n\n", b"\n\nevent: ping\ndata: {}\n\ndata:\n\nid: 3\nretry: 9\n\n")
    ),
    "pings that are no JSON": stream(PLAIN.replace(b"\n\n", b"\n\nevent: ping\ndata: still here\n\n")),
    "byte order mark": stream(b"\xef\xbb\xbf" + PLAIN),
    "blank lines first": stream(b"\n", b"\r\n", PLAIN),
    "one byte a write": stream(*(bytes([byte]) for byte in PLAIN)),
    "all in one write": stream(PLAIN),
    "no blank line at the end": stream(PLAIN.rstrip(b"\n")),
    "no end mark": stream(PLAIN.removesuffix(DONE)),
    "no end mark, no blank line": stream(PLAIN.removesuffix(DONE).rstrip(b"\n")),
    "no finish reason": stream(PLAIN.replace(b'"stop"', b"null")),
    "gzip": stream(gzip.compress(PLAIN), headers={"Content-Encoding": "gzip"}),
    "gzip, one byte a write": stream(
        *(bytes([byte]) for byte in gzip.compress(PLAIN)), headers={"Content-Encoding": "gzip"}
    ),
    "another content type": stream(PLAIN, content_type="text/plain"),
    "JSON content type": stream(PLAIN, content_type="application/json"),
    "more after the end mark": stream(PLAIN, chunk({"content": "late"}), DONE),
    "hang-up after the finish": stream(PLAIN.removesuffix(DONE), HangUp()),
}


@pytest.mark.parametrize("reply", FRAMINGS.values(), ids=FRAMINGS.keys())
def test_any_framing_gives_the_same_reply(ask: Any, server: FakeOpenAI, reply: Reply) -> None:
    server.enqueue(reply)
    outcome = ask()
    assert (outcome.error, outcome.text(), len(server.requests)) == (None, "naïve 😀 答え", 1)


def test_an_invalid_byte_costs_only_itself(ask: Any, server: FakeOpenAI) -> None:
    server.enqueue(stream(PLAIN.replace("ï".encode(), b"\xe9")))
    outcome = ask()
    assert (outcome.error, outcome.text()) == (None, "na\ufffdve 😀 答え")


def test_a_server_that_stays_silent_after_the_end_mark_is_not_waited_for(
    ask: Any, server: FakeOpenAI
) -> None:
    server.enqueue(stream(PLAIN, Wait("never")))
    outcome = ask()
    assert (outcome.error, outcome.text()) == (None, "naïve 😀 答え")
    assert server.client_left.wait(5)


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


# What is known about models


def test_models_are_listed_with_their_context(make_agent: Any, server: FakeOpenAI) -> None:
    server.models = [{"id": "m"}, {"id": "big", "max_model_len": 32768}, {"name": "nameless"}]
    models = make_agent(context_limit=4096).models()
    assert [(model.id, model.context_limit) for model in models] == [("m", 4096), ("big", 32768)]


def test_info_asks_no_network(make_agent: Any, server: FakeOpenAI) -> None:
    info = make_agent(base_url="http://nowhere.invalid/v1", vision=True).info()
    assert (info.available, [model.id for model in info.models], info.models[0].vision) == (True, ["m"], True)
    assert server.connections == 0


def test_importing_the_backend_loads_no_heavy_library() -> None:
    code = "import sys, api.agents.openai_chat; print([m for m in ('openai', 'httpx2') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
