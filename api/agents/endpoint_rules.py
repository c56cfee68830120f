"""What an endpoint may be: each field as JSON is checked before anything is kept or asked."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from api.agents.endpoint import HIDDEN, Endpoint
from api.errors import InvalidRequest
from api.sessions.content import clean_title

PLAIN = ("name", "base_url", "model", "headers", "context_limit", "temperature", "max_tokens", "vision")
_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}\Z")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}\Z")
_LIMIT = 2**31


def check_id(value: Any) -> str:
    """`value` if it can be the id of an endpoint. Raises `InvalidRequest`."""
    if not isinstance(value, str) or not _ID.match(value):
        raise InvalidRequest("The id of an endpoint is made of small letters, digits, - and _.")
    return value


def from_json(entry: Mapping[str, Any], before: Endpoint | None) -> Endpoint:
    """The endpoint in `entry` on top of `before`. Raises `InvalidRequest` with what is wrong.

    What is secret in `before` stays only where `entry` says nothing of it and the service is the same.
    """
    base = before or Endpoint(check_id(entry.get("id")), "", "")
    changes: dict[str, Any] = {name: CHECKS[name](entry[name]) for name in PLAIN if name in entry}
    endpoint = replace(base, **changes)
    if not endpoint.base_url:
        raise InvalidRequest("An endpoint needs a base_url, such as http://127.0.0.1:11434/v1.")
    is_same = before is not None and before.service == endpoint.service
    kept = base.headers if is_same else {}
    headers = {n: kept.get(n) if value == HIDDEN else value for n, value in endpoint.headers.items()}
    key = _key(entry["api_key"]) if "api_key" in entry else base.api_key if is_same else None
    endpoint = replace(endpoint, api_key=key, headers={n: v for n, v in headers.items() if v is not None})
    return endpoint if endpoint.name else replace(endpoint, name=endpoint.host)


def _url(value: Any) -> str:
    try:
        parts = urlsplit(value if isinstance(value, str) else "")
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_address = False
    if not is_address or not str(value).isprintable() or " " in value:
        raise InvalidRequest("base_url must be an http or https address, such as http://127.0.0.1:11434/v1.")
    if "@" in parts.netloc or "?" in value or "#" in value:
        # An address is shown to everyone who sees the page; what is secret belongs into the key.
        raise InvalidRequest("base_url must hold no user, password, ? or #; a key has a field of its own.")
    return str(value).rstrip("/")


def _name(value: Any) -> str:
    if not isinstance(value, str | None):
        raise InvalidRequest("The name of an endpoint must be a text.")
    return clean_title(value or "", 60)


def _model(value: Any) -> str | None:
    if not isinstance(value, str | None) or len(value or "") > 200:
        raise InvalidRequest("model must be a text of at most 200 characters.")
    return (value or "").strip() or None


def _headers(value: Any) -> dict[str, str]:
    headers = {} if value is None else value
    is_good = isinstance(headers, Mapping) and all(
        isinstance(name, str) and _HEADER.match(name) and (text == HIDDEN or _is_plain(text))
        for name, text in headers.items()
    )
    if not is_good:
        raise InvalidRequest("headers must be an object of names and texts of one line.")
    return dict(headers)


def _key(value: Any) -> str | None:
    if value is not None and not _is_plain(value):
        raise InvalidRequest("The key must be a text of one line.")
    return (value or "").strip() or None


def _is_plain(value: Any) -> bool:
    return (
        isinstance(value, str)
        and value.isascii()
        and (value.isprintable() or not value)
        and len(value) <= 4000
    )


def _count(value: Any) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < _LIMIT:
        raise InvalidRequest("context_limit and max_tokens must be whole numbers above 0.")
    return value


def _temperature(value: Any) -> float | None:
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 5:
        raise InvalidRequest("temperature must be a number from 0 to 5.")
    return value


def _vision(value: Any) -> bool | None:
    if not isinstance(value, bool | None):
        raise InvalidRequest("vision must be true, false or null.")
    return value


CHECKS = {
    "name": _name,
    "base_url": _url,
    "model": _model,
    "headers": _headers,
    "context_limit": _count,
    "max_tokens": _count,
    "temperature": _temperature,
    "vision": _vision,
}
