"""Replies of OpenAI-compatible endpoints, over a real socket."""

import gzip
import subprocess
import sys
from typing import Any

import pytest

from api.agents.endpoint import Endpoint
from api.agents.openai_chat import list_models
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


@pytest.mark.parametrize(("listed", "asked"), [([{"id": "only"}, {"id": "other"}], "only"), ([], "default")])
def test_without_a_chosen_model_the_first_listed_one_is_asked(
    ask: Any, make_agent: Any, server: FakeOpenAI, listed: Any, asked: str
) -> None:
    server.models = listed
    assert ask(agent=make_agent(model=None)).error is None
    assert server.requests[0]["model"] == asked


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


# What is known about models


def test_models_are_listed_with_their_context(server: FakeOpenAI) -> None:
    server.models = [{"id": "m"}, {"id": "big", "max_model_len": 32768}, {"name": "nameless"}]
    models = list_models(Endpoint("e", "e", server.base_url, "m", context_limit=4096))
    assert [(model.id, model.context_limit) for model in models] == [("m", 4096), ("big", 32768)]


def test_info_asks_no_network(make_agent: Any, server: FakeOpenAI) -> None:
    info = make_agent(base_url="http://nowhere.invalid/v1", vision=True).info()
    assert (info.available, [model.id for model in info.models], info.models[0].vision) == (True, ["m"], True)
    assert server.connections == 0


def test_importing_the_backend_loads_no_heavy_library() -> None:
    code = "import sys, api.agents.openai_chat; print([m for m in ('openai', 'httpx2') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
