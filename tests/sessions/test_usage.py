"""Sums of what was spent, whatever stands in the file."""

from typing import Any

import orjson
import pytest

from api.sessions.model import DONE, Session, TurnRecord
from api.sessions.usage import note_other, spent

DAY = "2026-12-01"


@pytest.mark.parametrize("damage", [5, [], {DAY: 5}, {DAY: {"calls": "x", "input_tokens": True}}])
def test_a_call_is_counted_over_a_damaged_entry(damage: Any) -> None:
    session = Session("a", other_usage={"title": damage})
    note_other(session, "title", DAY, {"input_tokens": 3, "cost": None})
    note_other(session, "title", DAY, None)
    assert session.other_usage["title"][DAY] == {"calls": 2, "unknown_calls": 1, "input_tokens": 3}


def test_amounts_that_nothing_can_have_are_unknown_and_every_sum_can_be_sent() -> None:
    beyond = {"input_tokens": 2**63, "output_tokens": 2**63}
    session = Session("a", turns=[TurnRecord("t1", None, state=DONE, usage=beyond)])
    session.other_usage = {"title": {DAY: beyond | {"input_tokens": 4}}}
    sums = spent(session)
    assert (sums["input_tokens"], sums["output_tokens"], sums["total_tokens"]) == (4, None, 4)
    assert orjson.loads(orjson.dumps(sums)) == sums
