"""Every call of the API answers what its document says, whatever it is asked."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from api.app import create_app
from api.clock import Clock
from api.services import build
from api.settings import load
from api.web.gate import Gate
from tests.scripted_agent import ScriptedAgent
from tests.web.live_server import TOKEN

# Streams that do not end by themselves cannot be asked in passing.
ENDLESS = frozenset({"/api/events"})
EXAMPLES = 25
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
HEADERS = {"Authorization": f"Bearer {TOKEN}"}


@dataclass
class Api:
    """The application in this process, its document, and a session to be named in requests."""

    app: Any
    schema: Any
    session_id: str


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    settings = load({"state_dir": str(tmp_path_factory.mktemp("state")), "token": TOKEN}, {})
    services = build(settings, Clock(), lambda _settings, _workers, _endpoints: {"embedded": ScriptedAgent()})
    services.open()
    gate = Gate(services.auth, settings.allow_hosts)
    gate.port = 80
    app = create_app(services, gate)
    session_id = services.maker.import_messages([{"role": "user", "content": "hello"}]).session_id
    schema = schemathesis.openapi.from_wsgi("/api/openapi.json", app, headers=HEADERS)
    yield Api(app, schema, session_id)
    services.settle(1.0, 1.0)
    assert not services.close(20.0)


def rules(app: Any) -> set[tuple[str, str]]:
    """Address and method of every call of the API."""
    return {
        (rule.rule.replace("<", "{").replace(">", "}"), method)
        for rule in app.url_map.iter_rules()
        for method in rule.methods - {"HEAD", "OPTIONS"}
        if rule.rule.startswith("/api/") or rule.rule == "/health"
    }


def tried(api: Api) -> dict[tuple[str, str], Any]:
    operations = [operation.ok() for operation in api.schema.get_all_operations()]
    return {(o.path, o.method.upper()): o for o in operations if o.path not in ENDLESS}


def name_the_session(case: Any, session_id: str) -> None:
    """Let a request be about the session that there is, so that it comes further than its first look-up."""
    if isinstance(case.body, dict) and "session_id" in case.body:
        case.body["session_id"] = session_id
    if case.query and "session_id" in case.query:
        case.query["session_id"] = session_id
    if case.query and "stream_id" in case.query:
        case.query["stream_id"] = f"{session_id}.t1"


def test_every_call_is_tried_but_the_endless_streams(api: Api) -> None:
    endless = {place for place in rules(api.app) if place[0] in ENDLESS}
    assert {path for path, _ in endless} == ENDLESS
    # The document itself was read to come here.
    assert set(tried(api)) == rules(api.app) - endless - {("/api/openapi.json", "GET")}


def test_what_is_answered_is_what_the_document_says(api: Api) -> None:
    for place, operation in tried(api).items():
        check(api, place, operation)


def check(api: Api, place: tuple[str, str], operation: Any) -> None:
    @given(case=operation.as_strategy(), is_about_ours=st.booleans())
    @seed(1)
    @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    def ask(case: Any, is_about_ours: bool) -> None:
        if is_about_ours:
            name_the_session(case, api.session_id)
        case.call_and_validate(headers=HEADERS, checks=CHECKS)

    try:
        ask()
    except BaseException as exc:
        exc.add_note(f"It was {place}.")
        raise
