"""What providers say about failures becomes one sentence for a person, of the right type."""

from typing import Any

import pytest

from api.agents.endpoint import Endpoint
from api.agents.provider_errors import PassingFailure, failure_from, retry_after

ENDPOINT = Endpoint("x", "Acme", "https://user:pass@acme.example:8443/v1", api_key="sk-secret-1234")


@pytest.mark.parametrize(
    ("status", "said", "kind"),
    [
        (401, {"error": {"message": "Incorrect API key provided"}}, "auth_mismatch"),
        (403, "Forbidden", "auth_mismatch"),
        (400, {"error": {"message": "API key not valid", "status": "INVALID_ARGUMENT"}}, "auth_mismatch"),
        (402, {"error": {"message": "Insufficient credits for this key"}}, "quota_exhausted"),
        (429, {"error": {"message": "x", "code": "insufficient_quota"}}, "quota_exhausted"),
        (429, {"error": {"message": "slow down"}}, "rate_limit"),
        (404, "404 page not found", "model_not_found"),
        (400, {"error": {"message": "The model `gpt-9` does not exist"}}, "model_not_found"),
        (404, {"error": "model 'qwen' not found, try pulling it first"}, "model_not_found"),
        (400, {"error": {"code": "context_length_exceeded", "message": "too long"}}, "context_exceeded"),
        (
            400,
            {"error": {"code": 400, "type": "exceed_context_size_error", "message": "x"}},
            "context_exceeded",
        ),
        (400, {"detail": [{"msg": "prompt is too long: 9 > 8"}]}, "context_exceeded"),
        (500, "", "provider_error"),
        (503, {"error": {"message": "Loading model"}}, "unavailable"),
        (502, "<html>", "unavailable"),
        (400, {"error": {"message": "temperature must be at most 2"}}, "provider_error"),
        (None, {"message": "overloaded", "code": 502}, "unavailable"),
        (None, {"code": "Throttling", "message": "quota"}, "quota_exhausted"),
        (None, None, "provider_error"),
    ],
)
def test_failures_have_the_type_that_the_page_knows(status: int | None, said: Any, kind: str) -> None:
    assert failure_from(ENDPOINT, said, status).type == kind


@pytest.mark.parametrize(
    "said", ["no", {"message": "no"}, {"error": {"message": "no"}}, [{"error": {"message": "no"}}]]
)
def test_the_words_of_the_provider_are_kept(said: Any) -> None:
    assert str(failure_from(ENDPOINT, said)) == "Acme reported an error: no"


def test_an_echoed_key_is_hidden_also_where_the_words_are_shortened() -> None:
    failure = failure_from(ENDPOINT, "x" * 495 + " sk-secret-1234 is wrong", 401)
    assert "sk-s" not in str(failure)
    assert "sk-secret-1234" not in repr(ENDPOINT)


def test_an_echoed_header_is_hidden() -> None:
    endpoint = Endpoint("x", "Acme", "http://h/v1", headers={"Authorization": "Bearer abcdef123456"})
    assert "abcdef123456" not in str(failure_from(endpoint, "bad token abcdef123456"))
    assert "abcdef123456" not in repr(endpoint)


def test_the_host_is_shown_without_user_and_password() -> None:
    assert ENDPOINT.host == "acme.example:8443"


@pytest.mark.parametrize(
    ("status", "is_passing"), [(500, True), (503, True), (429, True), (400, False), (None, False)]
)
def test_only_failures_of_the_http_answer_are_worth_another_try(status: int | None, is_passing: bool) -> None:
    assert (
        isinstance(failure_from(ENDPOINT, {"code": 503, "message": "x"}, status), PassingFailure)
        is is_passing
    )


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("2", 2),
        ("0.4", 1),
        ("-1", None),
        ("nan", None),
        ("Wed, 21 Oct 2026 07:28:00 GMT", None),
    ],
)
def test_retry_after_is_read_in_seconds(header: str | None, seconds: int | None) -> None:
    assert retry_after(header) == seconds
