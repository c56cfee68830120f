"""Events: what a running turn says, in the vocabulary of the HTTP contract."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

TERMINAL = frozenset({"done", "cancel", "apperror"})


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened: `type` is an event name of the contract, `data` is JSON."""

    type: str
    data: Mapping[str, Any]


def token(text: str) -> Event:
    """A piece of the reply."""
    return Event("token", {"text": text})


def reasoning(text: str) -> Event:
    """A piece of the model's thinking, shown folded."""
    return Event("reasoning", {"text": text})


def tool(tid: str, name: str, args: Any, preview: str = "") -> Event:
    """A tool call begins; `args` is the decoded argument object."""
    return Event("tool", {"tid": tid, "name": name, "args": args, "preview": preview})


def tool_complete(tid: str, name: str, result: str, duration_s: float, is_error: bool) -> Event:
    """A tool call has its result."""
    return Event(
        "tool_complete",
        {"tid": tid, "name": name, "result": result, "duration": duration_s, "is_error": is_error},
    )


def usage(**numbers: Any) -> Event:
    """What a model call has used: `input_tokens`, `output_tokens` and further counts; None = unknown."""
    return Event("usage", numbers)


def notice(text: str, level: str = "info") -> Event:
    """A sentence for the user that is no part of the conversation."""
    return Event("notice", {"text": text, "level": level})
