"""Which value each field of a session file may have, so that whatever is read can be used without a check."""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from api.sessions.model import DONE, FAILED, INTERRUPTED, RUNNING, STOPPED

Shape = Callable[[Any], bool]

TURN_STATES = frozenset({RUNNING, DONE, STOPPED, FAILED, INTERRUPTED})
_TURN_ID = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
INT_LIMIT = 2**53
_LATEST_S = 2.0**33


def is_int(value: Any) -> bool:
    """Whether `value` is a whole number that every reader of JSON knows."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= INT_LIMIT


def is_number(value: Any) -> bool:
    """Whether `value` is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def is_amount(value: Any) -> bool:
    """Whether `value` is a number that can be summed and sent."""
    return is_number(value) and abs(value) <= INT_LIMIT


def is_time(value: Any) -> bool:
    """Whether `value` is a time in Unix seconds that a calendar can show."""
    return is_number(value) and abs(value) < _LATEST_S


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def is_object(value: Any) -> bool:
    return isinstance(value, dict)


def is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _is_turn_id(value: Any) -> bool:
    # It becomes part of a file name.
    return isinstance(value, str) and bool(_TURN_ID.match(value))


def _is_state(value: Any) -> bool:
    return isinstance(value, str) and value in TURN_STATES


def or_none(shape: Shape) -> Shape:
    """The same, or nothing."""
    return lambda value: value is None or shape(value)


def _list_of(shape: Shape) -> Shape:
    return lambda value: is_list(value) and all(map(shape, value))


def _fits(shapes: Mapping[str, Shape]) -> Shape:
    """Whether a value is an object whose known fields, as far as they are there, have their shapes."""
    return lambda value: (
        is_object(value) and all(shape(value[name]) for name, shape in shapes.items() if name in value)
    )


_TEXT, _INT, _NUMBER, _TIME = map(or_none, (is_text, is_int, is_number, is_time))
_COUNTS = ("input_tokens", "output_tokens", "cache_read_tokens", "reasoning_tokens", "context_tokens", "cost")
_USAGE = _fits(dict.fromkeys(_COUNTS, _NUMBER))
_ERROR = _fits(dict.fromkeys(("message", "type", "hint"), _TEXT))
_FUNCTION = _fits(dict.fromkeys(("name", "arguments"), _TEXT))
_BATCH_NEEDS = {"id", "turns", "owner"}
_BATCH = _fits(
    {
        **dict.fromkeys(("id", "owner"), is_text),
        "turns": _list_of(is_text),
        "attempts": _INT,
        "error": _TEXT,
        "tried_at": _TIME,
    }
)
_BATCHES = _list_of(lambda batch: _BATCH(batch) and batch.keys() >= _BATCH_NEEDS)
# Turns are counted on from there.
_GENERATION = or_none(lambda value: is_int(value) and abs(value) < INT_LIMIT // 2)
_MEMORY = _fits(
    {"batches": _BATCHES, "generation": _GENERATION, "last_commit_at": _TIME, "last_error": _TEXT}
)
_NAMES = ("agent", "endpoint", "model", "profile", "workspace", "cwd", "personality", "project")
_TEXTS = ("end_reason", "system_prompt", "external_session_id")

SESSION: Mapping[str, Shape] = {
    "session_id": is_text,
    "title_source": is_text,
    "seen": is_int,
    "revision": is_int,
    "execution_generation": is_int,
    "next_turn": is_int,
    "redo": is_list,
    "tags": _list_of(is_text),
    "parent": or_none(is_object),
    **dict.fromkeys((*_NAMES, *_TEXTS), _TEXT),
    "memory": _MEMORY,
    **dict.fromkeys(("launch", "source", "tips", "other_usage", "receipts"), is_object),
}
TURN: Mapping[str, Shape] = {
    "id": _is_turn_id,
    "user": _INT,
    "kind": is_text,
    "state": _is_state,
    "started_at": is_time,
    "finished_at": _TIME,
    "usage": or_none(_USAGE),
    "error": or_none(_ERROR),
    "recalled": is_list,
    "generation": _GENERATION,
    "adopted": or_none(_list_of(is_int)),
    "told_in": _TEXT,
    **dict.fromkeys(("agent", "model", "client_id", "owner", "memory"), _TEXT),
}
QUEUE_ITEM: Mapping[str, Shape] = {
    "turn_id": _is_turn_id,
    "queued_at": is_time,
    "client_id": _TEXT,
    "attachments": is_list,
}
ACTIVE_TURN: Mapping[str, Shape] = {
    "turn_id": _is_turn_id,
    "boot_id": is_text,
    "started_at": is_time,
    "kind": is_text,
    "prior_head": _INT,
}
MESSAGE: Mapping[str, Shape] = {
    "id": is_int,
    "parent": _INT,
    "role": is_text,
    "turn": _TEXT,
    "tool_calls": or_none(
        _list_of(lambda call: _fits({"id": is_text, "function": _FUNCTION})(call) and "id" in call)
    ),
    "covers": _INT,
    "attachments": or_none(is_list),
    **dict.fromkeys(("kind", "status", "tool_call_id", "name", "reasoning"), _TEXT),
}


def check(what: str, values: Mapping[str, Any], shapes: Mapping[str, Shape]) -> None:
    """Raise `ValueError` for the first field of `values` that does not have its shape."""
    for name, shape in shapes.items():
        if name in values and not shape(values[name]):
            raise ValueError(f"{name} of {what} has a value that it cannot have")
