"""The document of the API is whole: every address and method, who may ask, what each refusal looks like."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from flask_openapi3.models import APISpec

from api.web.gate import PUBLIC
from tests.web.live_server import Client, LiveServer

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
REFUSALS = {"400", "401", "403", "404", "405", "409", "413", "415", "421", "429", "500", "503"}
ERROR = {"$ref": "#/components/schemas/ErrorAnswer"}


@pytest.fixture
def document(client: Client) -> dict[str, Any]:
    answer = client.get("/api/openapi.json")
    assert answer.status == 200 and answer.headers["Content-Type"] == "application/json"
    return dict(answer.json)


def operations(document: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {
        (path, method.upper()): operation
        for path, item in document["paths"].items()
        for method, operation in item.items()
    }


def routes(live: LiveServer) -> dict[tuple[str, str], str]:
    """The endpoints of /api and of /health by address, as OpenAPI writes it, and method."""
    return {
        (re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule), method): rule.endpoint
        for rule in live.app.url_map.iter_rules()
        for method in METHODS
        if method in rule.methods and (rule.rule.startswith("/api/") or rule.rule == "/health")
    }


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for entry in value.values():
            yield from references(entry)
    if isinstance(value, list):
        for entry in value:
            yield from references(entry)


def test_it_needs_the_token(client: Client) -> None:
    assert client.get("/api/openapi.json", Authorization=None).status == 401


def test_it_is_an_openapi_document_in_which_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1.")
    assert document["info"]["title"] == "Talaria" and document["info"]["version"]
    APISpec.model_validate(document)
    for reference in set(references(document)):
        found: Any = document
        for step in reference.removeprefix("#/").split("/"):
            found = found[step]
    ids = [operation["operationId"] for operation in operations(document).values()]
    assert len(ids) == len(set(ids))


def test_it_lists_every_route_and_method_and_no_other(document: dict[str, Any], live: LiveServer) -> None:
    assert set(operations(document)) == set(routes(live))


def test_every_operation_says_its_answer_and_its_refusals(document: dict[str, Any]) -> None:
    for place, operation in operations(document).items():
        responses = operation["responses"]
        answers = [status for status in responses if status.startswith("2")]
        assert answers and all(responses[status]["content"] for status in answers), place
        assert set(responses) - set(answers) == REFUSALS, place
        for status in REFUSALS:
            assert responses[status]["content"]["application/json"]["schema"] == ERROR, (place, status)


def test_every_operation_says_whether_it_needs_the_token(document: dict[str, Any], live: LiveServer) -> None:
    assert document["components"]["securitySchemes"] == {"token": {"type": "http", "scheme": "bearer"}}
    endpoints = routes(live)
    for place, operation in operations(document).items():
        expected = None if endpoints[place] in PUBLIC else [{"token": []}]
        assert operation.get("security") == expected, place


def test_every_operation_is_listed_under_its_part_of_the_api(
    document: dict[str, Any], live: LiveServer
) -> None:
    parts = {place: endpoint.partition(".")[0] for place, endpoint in routes(live).items()}
    assert {place: entry["tags"] for place, entry in operations(document).items()} == {
        place: [part] for place, part in parts.items()
    }
