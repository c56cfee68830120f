"""Turns what a provider says about a failure into an `AgentError` for a person."""

import math
import re
from typing import Any

from api.agents.endpoint import Endpoint
from api.errors import AgentError
from api.text import valid_unicode

LONGEST_WORDS = 500

# The first row that fits decides; words are matched against code, type and message together.
_WORDS = (
    (
        "context_exceeded",
        r"context.?length|context.?window|context.?size|maximum context|max_model_len|prompt is too long"
        r"|too many (input )?tokens|reduce the length|maximum number of tokens|string_above_max_length",
    ),
    ("quota_exhausted", r"quota|billing|insufficient.(credit|balance|fund)|out of credit|payment.required"),
    ("rate_limit", r"rate.?limit|too many requests|throttl"),
    (
        "model_not_found",
        r"model.?not.?found|model_not_exist|unknown model|invalid model|no such model"
        r"|model\b.{0,200}\b(does not exist|not found|is not available)",
    ),
    ("auth_mismatch", r"api.?key|unauthori[sz]ed|authentication|permission.denied"),
    ("unavailable", r"overload|unavailable|loading model|at capacity|try again later|timed? ?out"),
)
_PATTERNS = tuple((kind, re.compile(words, re.IGNORECASE | re.DOTALL)) for kind, words in _WORDS)

_BY_STATUS = {
    401: "auth_mismatch",
    402: "quota_exhausted",
    403: "auth_mismatch",
    404: "model_not_found",
    408: "unavailable",
    413: "context_exceeded",
    429: "rate_limit",
    502: "unavailable",
    503: "unavailable",
    504: "unavailable",
    529: "unavailable",
}

_HINTS = {
    "auth_mismatch": "Check the API key of this endpoint: {key_in}.",
    "quota_exhausted": "Check the plan and balance at the provider, or choose another endpoint.",
    "rate_limit": "Wait a moment, then retry.",
    "model_not_found": "Choose another model, and check that the base URL is right (many end with /v1).",
    "context_exceeded": "Take a long message back by /undo, begin a new chat, or choose a larger model.",
    "unavailable": "Try again in a moment, or choose another endpoint.",
}

_SENTENCES = {
    "auth_mismatch": "refused the API key",
    "quota_exhausted": "says that the quota is used up",
    "rate_limit": "received too many requests",
    "model_not_found": "does not know the model or the address",
    "context_exceeded": "says that the chat is too long for this model",
    "unavailable": "is not available at the moment",
}


class PassingFailure(AgentError):
    """A failure that another try may not meet, as long as nothing of the reply has been shown."""


class BrokenOff(PassingFailure):
    """The connection ended before the body did."""


class Silence(AgentError):
    """No byte came for longer than a call may be silent."""


def error_in(chunk: dict[str, Any], event: str) -> Any:
    """What a chunk says about a failure, None where it is an ordinary one."""
    if chunk.get("error"):
        return chunk["error"] if isinstance(chunk["error"], dict) else chunk
    if event == "error" or chunk.get("object") == "error":
        return chunk
    if chunk.get("error_message") or chunk.get("error_type"):
        return {"message": chunk.get("error_message"), "code": chunk.get("error_type")}
    is_complaint = isinstance(chunk.get("message"), str) or bool(chunk.get("detail"))
    return chunk if is_complaint and event == "message" and "choices" not in chunk else None


def failure_from(endpoint: Endpoint, said: Any, status: int | None = None) -> AgentError:
    """The error for what the provider `said`: text, an error object, or nothing.

    `status` is that of the HTTP answer, None for a failure told inside a successful one.
    """
    said = _as_object(said)
    # What is not implemented (501) is not there a moment later either.
    is_passing = status is not None and (status >= 500 or status == 429) and status != 501
    status = status or _status(said)
    kind = _kind(status, f"{_code(said)}\n{_words(said)}")
    words = _shortened(endpoint.without_secrets(_words(said)))
    sentence = _SENTENCES.get(kind, f"answered with status {status}" if status else "reported an error")
    message = f"{endpoint.name} {sentence}: {words}" if words else f"{endpoint.name} {sentence}."
    hint = _HINTS.get(kind, "Try again, or choose another endpoint or model.").format(key_in=endpoint.key_in)
    is_passing = is_passing and kind not in ("quota_exhausted", "context_exceeded")
    return (PassingFailure if is_passing else AgentError)(message, type=kind, hint=hint)


def retry_after(value: str | None) -> int | None:
    """The seconds that a Retry-After header asks for; a date or nonsense counts as no header."""
    try:
        return math.ceil(float(value)) if value and 0 <= float(value) < 10**9 else None
    except ValueError:
        return None


def _kind(status: int | None, words: str) -> str:
    # These two say all; a provider's explanation of them often speaks of keys, plans and limits alike.
    if status in (401, 402):
        return _BY_STATUS[status]
    for kind, pattern in _PATTERNS:
        if pattern.search(words):
            return kind
    return _BY_STATUS.get(status or 0, "provider_error")


def _words(said: dict[str, Any]) -> str:
    """The sentence in an error object or in the one inside it, under any of its usual names."""
    for level in (said, _as_object(said.get("error")), _as_object(said.get("detail"))):
        for name in ("message", "error_message", "error", "detail", "msg", "title"):
            value = level.get(name)
            if isinstance(value, str) and value.strip():
                return valid_unicode(value.strip())
    return ""


def _code(said: dict[str, Any]) -> str:
    values = [
        level.get(name)
        for level in (said, _as_object(said.get("error")))
        for name in ("code", "type", "status", "error_type")
    ]
    return " ".join(str(value) for value in values if isinstance(value, str | int))


def _status(said: dict[str, Any]) -> int | None:
    """The HTTP status that an error object names inside a successful answer."""
    for name in ("code", "status", "status_code", "http_status"):
        value = said.get(name)
        if isinstance(value, str | int) and re.fullmatch("[45][0-9][0-9]", str(value)):
            return int(value)
    return None


def _as_object(said: Any) -> dict[str, Any]:
    if isinstance(said, list):
        said = next((item for item in said if isinstance(item, dict)), {})
    if isinstance(said, dict):
        return said
    return {"message": said} if isinstance(said, str) else {}


def _shortened(words: str) -> str:
    words = " ".join(words.split())
    return words if len(words) <= LONGEST_WORDS else words[: LONGEST_WORDS - 1] + "…"
