"""Endpoints are found by id, and tries are bounded."""

import pytest

from api.agents.endpoint import Endpoint, EndpointTable, Tries
from api.agents.provider_errors import failure_from
from api.errors import AgentError

ONE, TWO = Endpoint("one", "One", "http://one/v1"), Endpoint("two", "Two", "http://two/v1")


def test_the_first_endpoint_is_the_default() -> None:
    table = EndpointTable([ONE, TWO])
    assert (table.get(None), table.get("two"), tuple(table.all())) == (ONE, TWO, (ONE, TWO))


@pytest.mark.parametrize(("endpoints", "wanted"), [([ONE], "three"), ([], None)])
def test_an_unknown_endpoint_is_refused(endpoints: list[Endpoint], wanted: str | None) -> None:
    with pytest.raises(AgentError, match="No endpoint") as caught:
        EndpointTable(endpoints).get(wanted)
    assert caught.value.type == "unavailable"


@pytest.mark.parametrize(
    ("attempt", "asked_s", "pause_s"),
    [(1, None, 0.5), (2, None, 1.0), (3, None, None), (1, 4, 4), (1, 60, None), (1, 0, 0)],
)
def test_pauses_grow_and_obey_the_provider_within_bounds(
    attempt: int, asked_s: float | None, pause_s: float | None
) -> None:
    assert Tries().pause_after(attempt, asked_s) == pause_s


@pytest.mark.parametrize(("endpoint_id", "place"), [("default", "TALARIA_OPENAI_API_KEY"), ("e1", "Models")])
def test_a_refused_key_is_corrected_where_it_was_given(endpoint_id: str, place: str) -> None:
    endpoint = Endpoint(endpoint_id, "One", "http://one/v1")
    assert place in failure_from(endpoint, "no", 401).hint
