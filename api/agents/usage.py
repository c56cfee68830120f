"""Reads what a model call has used from the many forms in which providers say it."""

import math
from typing import Any

from api import events
from api.events import Event

# Beyond this no count of tokens is real.
LARGEST_COUNT = 10**12


def usage_event(usage: Any) -> Event | None:
    """The `usage` event of a provider's usage object, None where it holds no number."""
    if not isinstance(usage, dict):
        return None
    prompt_details = _details(usage, "prompt_tokens_details", "input_tokens_details")
    reply_details = _details(usage, "completion_tokens_details", "output_tokens_details")
    input_tokens = _first_count(usage, "prompt_tokens", "input_tokens")
    output_tokens = _first_count(usage, "completion_tokens", "output_tokens")
    cached = _first_count(prompt_details, "cached_tokens")
    if cached is None:
        cached = _first_count(usage, "prompt_cache_hit_tokens", "cached_tokens")
    numbers = {
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "cache_read_tokens": cached,
        "reasoning_tokens": _first_count(reply_details, "reasoning_tokens"),
        "context_tokens": _context(usage, input_tokens, output_tokens),
    }
    if all(number is None for number in numbers.values()):
        return None
    return events.usage(**numbers)


def count(value: Any) -> int | None:
    """`value` as a count, None where it is no whole number that can be one."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return int(value) if 0 <= value <= LARGEST_COUNT and value == int(value) else None


def _context(usage: dict[str, Any], input_tokens: int | None, output_tokens: int | None) -> int | None:
    if input_tokens is not None and output_tokens is not None:
        return input_tokens + output_tokens
    return _first_count(usage, "total_tokens")


def _details(usage: dict[str, Any], *names: str) -> dict[str, Any]:
    return next((usage[name] for name in names if isinstance(usage.get(name), dict)), {})


def _first_count(values: dict[str, Any], *names: str) -> int | None:
    return next((number for name in names if (number := count(values.get(name))) is not None), None)
