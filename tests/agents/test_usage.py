"""Usage is read as it was told: unknown stays unknown, and no number is made up."""

import math
from typing import Any

import pytest

from api.agents.usage import count, usage_event

FIELDS = ("input_tokens", "output_tokens", "cache_read_tokens", "reasoning_tokens", "context_tokens")


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 1000, "completion_tokens": 50}, (1000, 50, None, None, 1050)),
        ({"prompt_tokens": None, "completion_tokens": 7}, (None, 7, None, None, None)),
        ({"prompt_tokens": None, "completion_tokens": 7, "total_tokens": 20}, (None, 7, None, None, 20)),
        (
            {"prompt_tokens": 1000, "completion_tokens": 50, "prompt_tokens_details": None},
            (1000, 50, None, None, 1050),
        ),
        (
            {
                "prompt_tokens": 1000,
                "completion_tokens": 50,
                "prompt_tokens_details": {"cached_tokens": 900},
                "completion_tokens_details": {"reasoning_tokens": 30},
            },
            (1000, 50, 900, 30, 1050),
        ),
        ({"prompt_tokens": 5, "completion_tokens": 0, "prompt_cache_hit_tokens": 3}, (5, 0, 3, None, 5)),
        ({"input_tokens": 5, "output_tokens": 2}, (5, 2, None, None, 7)),
        ({"prompt_tokens": -1, "completion_tokens": "9", "total_tokens": 4.0}, (None, None, None, None, 4)),
    ],
)
def test_each_number_is_read_or_unknown(usage: Any, expected: tuple[int | None, ...]) -> None:
    event = usage_event(usage)
    assert event is not None
    assert tuple(event.data[name] for name in FIELDS) == expected


@pytest.mark.parametrize(
    "usage", [None, {}, [], "12", {"prompt_tokens": None}, {"prompt_tokens_details": None}]
)
def test_usage_without_a_number_is_no_usage(usage: Any) -> None:
    assert usage_event(usage) is None


@pytest.mark.parametrize("value", [True, None, "3", -1, 1.5, math.nan, math.inf, 10**30, [], -0.5])
def test_what_is_no_count_is_unknown(value: Any) -> None:
    assert count(value) is None
