"""Tools that are offered to a model: called, answered, and what it says then."""

from collections.abc import Mapping
from typing import Any

import pytest

from api.agents.base import Tool
from api.agents.openai_chat import ROUNDS_LIMIT
from api.agents.refusals import Refusals
from api.errors import AgentError
from tests.fake_openai import DEFAULT_USAGE, DONE, FakeOpenAI, Reply, chunk, json_reply, text_reply


def read_tool(asked: list[Any]) -> Tool:
    def read(arguments: Any) -> str:
        asked.append(arguments)
        if not isinstance(arguments, Mapping) or not isinstance(arguments.get("path"), str):
            raise ValueError("path must be a text")
        return f"contents of {arguments['path']}"

    parameters = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    return Tool("read", "Read a file.", parameters, read)


def stream(*steps: bytes) -> Reply:
    return Reply(steps)


def calls(*entries: dict[str, Any]) -> Reply:
    return stream(
        *[chunk({"tool_calls": [entry]}) for entry in entries], chunk(finish_reason="tool_calls"), DONE
    )


def call(index: int | None, call_id: str | None, arguments: Any, name: str = "read") -> dict[str, Any]:
    entry: dict[str, Any] = {"function": {"name": name, "arguments": arguments}}
    if index is not None:
        entry["index"] = index
    if call_id is not None:
        entry["id"] = call_id
    return entry


A, B = '{"path": "a"}', '{"path": "b"}'
SHAPES = {
    "by the book": [call(0, "1", A), call(1, "2", B)],
    "one index for both": [call(0, "1", A), call(0, "2", B)],
    "no index": [call(None, "1", A), call(None, "2", B)],
    "arguments as objects": [call(0, "1", {"path": "a"}), call(1, "2", {"path": "b"})],
    "no ids": [call(0, None, A), call(1, None, B)],
}


def test_calls_of_two_answers_that_are_named_alike_are_two_calls(ask: Any, server: FakeOpenAI) -> None:
    server.enqueue(calls(call(0, "c1", A)), calls(call(0, "c1", B)), text_reply(["Both are read."]))
    outcome = ask(tools=(read_tool([]),))
    done = {done["tid"]: done["result"] for done in outcome.of("tool_complete")}
    assert list(done.values()) == ["contents of a", "contents of b"]


@pytest.mark.parametrize("entries", SHAPES.values(), ids=SHAPES)
def test_each_call_has_its_result_and_the_model_goes_on(
    ask: Any, server: FakeOpenAI, entries: list[dict[str, Any]]
) -> None:
    asked: list[Any] = []
    server.enqueue(calls(*entries), text_reply(["Both are read."]))
    outcome = ask(tools=(read_tool(asked),))
    assert (outcome.error, outcome.text()) == (None, "Both are read.")
    assert asked == [{"path": "a"}, {"path": "b"}]
    assert [done["result"] for done in outcome.of("tool_complete")] == ["contents of a", "contents of b"]
    assert len({done["tid"] for done in outcome.of("tool_complete")}) == 2
    first, second = server.requests
    assert [tool["function"]["name"] for tool in first["tools"]] == ["read"]
    answer, *results = second["messages"][1:]
    assert [entry["function"]["arguments"] for entry in answer["tool_calls"]] == [
        '{"path":"a"}',
        '{"path":"b"}',
    ]
    ids = [entry["id"] for entry in answer["tool_calls"]]
    assert [(result["role"], result["tool_call_id"]) for result in results] == [
        ("tool", name) for name in ids
    ]


def test_words_before_a_call_stay_and_are_sent_along(ask: Any, server: FakeOpenAI) -> None:
    server.enqueue(
        stream(
            chunk({"content": "Let me "}),
            chunk({"content": "look."}),
            chunk({"tool_calls": [call(0, "1", A)]}),
            chunk(finish_reason="tool_calls", usage=DEFAULT_USAGE),
            DONE,
        ),
        text_reply(["Done."], DEFAULT_USAGE),
    )
    outcome = ask(tools=(read_tool([]),))
    assert outcome.text() == "Let me look.Done."
    assert server.requests[1]["messages"][1]["content"] == "Let me look."
    assert len(outcome.of("usage")) == 2


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (call(0, "1", "{}"), "path must be a text"),
        (call(0, "1", "not json"), "path must be a text"),
        (call(0, "1", ""), "path must be a text"),
        (call(0, "1", A, "write"), "This tool is not available here."),
    ],
)
def test_a_call_that_makes_no_sense_is_told_to_the_model(
    ask: Any, server: FakeOpenAI, entry: dict[str, Any], said: str
) -> None:
    server.enqueue(calls(entry), text_reply(["Sorry."]))
    outcome = ask(tools=(read_tool([]),))
    (done,) = outcome.of("tool_complete")
    assert (done["result"], done["is_error"], outcome.text()) == (said, True, "Sorry.")
    assert server.requests[1]["messages"][-1]["content"] == said


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "fake-model does not support tools"),
        (404, "No endpoints found that support tool use."),
        (400, '"auto" tool choice requires --enable-auto-tool-choice'),
        (422, "tools: Extra inputs are not permitted"),
        (400, "Unrecognized request argument supplied: tools"),
        (501, "Function calling is not implemented."),
    ],
)
def test_a_model_that_takes_no_tools_is_asked_without(
    ask: Any, make_agent: Any, server: FakeOpenAI, status: int, said: str
) -> None:
    refusal = json_reply({"error": {"message": said}}, status)
    server.enqueue(refusal, text_reply(["Hi"]), text_reply(["Hi again"]))
    agent, tools = make_agent(), (read_tool([]),)
    assert ask(agent=agent, tools=tools).text() == "Hi"
    assert ask(agent=agent, tools=tools).text() == "Hi again"
    assert ["tools" in request for request in server.requests] == [True, False, False]


@pytest.mark.parametrize(
    "said",
    [
        "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
        "This response_format type is unavailable now",
        "Structured output is not supported by the loaded model.",
        "Failed to parse grammar",
    ],
)
def test_a_model_that_takes_no_schema_is_asked_without(
    ask: Any, make_agent: Any, server: FakeOpenAI, said: str
) -> None:
    server.enqueue(json_reply({"error": {"message": said}}, 400), text_reply(["{}"]), text_reply(["{}"]))
    agent, schema = make_agent(), {"type": "object"}
    assert ask(agent=agent, schema=schema).text() == "{}"
    assert ask(agent=agent, schema=schema).text() == "{}"
    assert ["response_format" in request for request in server.requests] == [True, False, False]


def test_two_first_turns_may_both_learn_that_a_model_takes_no_tools() -> None:
    refusals, sent = Refusals(), {"model": "m", "tools": []}
    error = AgentError("m does not support tools")
    assert refusals.note("http://one", sent, error) and refusals.note("http://one", sent, error)
    assert refusals.without("http://one", sent) == {"model": "m"}
    assert refusals.without("http://other", sent) == sent
    assert not refusals.note("http://one", {"model": "m"}, error), "asking again would help nothing"


@pytest.mark.parametrize(
    "said", ["temperature is not supported", "A tool result is missing.", "messages: tool_call_id is invalid"]
)
def test_a_refusal_of_another_kind_is_an_error(ask: Any, server: FakeOpenAI, said: str) -> None:
    server.enqueue(json_reply({"error": {"message": said}}, 400))
    outcome = ask(tools=(read_tool([]),))
    assert outcome.error is not None and said in outcome.error.message
    assert len(server.requests) == 1


def test_a_model_that_calls_for_ever_is_ended(ask: Any, server: FakeOpenAI) -> None:
    server.enqueue(*[calls(call(0, f"c{number}", A)) for number in range(ROUNDS_LIMIT + 5)])
    outcome = ask(tools=(read_tool([]),))
    assert outcome.error is None and len(server.requests) == ROUNDS_LIMIT
    assert len(outcome.of("tool_complete")) == ROUNDS_LIMIT and len(outcome.of("notice")) == 1


def test_a_schema_is_asked_for(ask: Any, server: FakeOpenAI) -> None:
    ask(schema={"type": "object"})
    shape = {"type": "json_schema", "json_schema": {"name": "answer", "schema": {"type": "object"}}}
    assert server.requests[0]["response_format"] == shape
