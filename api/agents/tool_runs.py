"""Runs the tools that a model has called, and gives it their results."""

from collections.abc import Generator, Sequence
from typing import Any

import orjson

from api import events
from api.agents.base import Tool
from api.agents.tool_calls import ToolCall
from api.clock import Clock
from api.errors import TalariaError
from api.events import Event

NO_TOOL = "This tool is not available here."


def called(
    text: str, calls: Sequence[ToolCall], tools: Sequence[Tool]
) -> Generator[Event, None, list[dict[str, Any]]]:
    """The events of these calls, one after the other; the messages that the model is sent next.

    `text` is what it said before it called.
    """
    named = {tool.name: tool for tool in tools}
    messages: list[dict[str, Any]] = [
        {"role": "assistant", "content": text, "tool_calls": [_as_sent(call) for call in calls]}
    ]
    clock = Clock()
    for call in calls:
        yield events.tool(call.id, call.name, call.arguments)
        began = clock.monotonic()
        result, is_error = _result(named.get(call.name), call)
        yield events.tool_complete(call.id, call.name, result, clock.monotonic() - began, is_error)
        messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    return messages


def _result(tool: Tool | None, call: ToolCall) -> tuple[str, bool]:
    """What a tool says, and whether that is an error that the model may mend."""
    if tool is None:
        return NO_TOOL, True
    try:
        return tool.run(call.arguments), False
    except (TalariaError, ValueError) as exc:
        return str(exc), True


def _as_sent(call: ToolCall) -> dict[str, Any]:
    arguments = call.arguments if isinstance(call.arguments, dict) else {}
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": orjson.dumps(arguments).decode()},
    }


def described(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """The tools as a provider is told of them."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": dict(tool.parameters),
            },
        }
        for tool in tools
    ]
