"""Reads JSON bodies: orjson, and a second, bounded reader for what orjson refuses."""

import json
from typing import Any

import orjson
from flask.json.provider import JSONProvider

from api.errors import InvalidRequest
from api.text import clean_json

DEPTH_LIMIT = 100


def read_json(raw: bytes) -> Any:
    """The value in `raw`, every string valid Unicode. Raises `InvalidRequest`."""
    if not raw:
        raise InvalidRequest("The body is empty. Send a JSON object.")
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        value = _read_slowly(raw)
    if _is_deeper(value, DEPTH_LIMIT):
        raise InvalidRequest(f"The body is nested deeper than {DEPTH_LIMIT} levels.")
    return value


def _read_slowly(raw: bytes) -> Any:
    """What the standard reader makes of it: it takes escaped lone surrogates, which become U+FFFD."""
    try:
        return clean_json(json.loads(raw, parse_constant=_refuse))
    except (ValueError, RecursionError) as exc:
        raise InvalidRequest("The body is no valid JSON.") from exc


def _refuse(name: str) -> None:
    raise ValueError(name)


def _is_deeper(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit + 1):
        level = [child for entry in level for child in _children(entry)]
        if not level:
            return False
    return True


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [child for child in value.values() if isinstance(child, dict | list)]
    if isinstance(value, list):
        return [child for child in value if isinstance(child, dict | list)]
    return []


class OrjsonProvider(JSONProvider):
    """Flask's JSON in both directions by orjson."""

    def dumps(self, obj: Any, **_kwargs: Any) -> str:
        return orjson.dumps(obj).decode()

    def loads(self, s: str | bytes, **_kwargs: Any) -> Any:
        return read_json(s.encode() if isinstance(s, str) else s)

    def response(self, *args: Any, **kwargs: Any) -> Any:
        value = self._prepare_response_obj(args, kwargs)
        return self._app.response_class(self.dumps(value), mimetype="application/json")
