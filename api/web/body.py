"""Reads JSON bodies: orjson, and a second, bounded reader for what orjson refuses."""

import json
from typing import Any

import orjson
from flask.json.provider import JSONProvider

from api.errors import InvalidRequest
from api.text import clean_json, is_deeper

DEPTH_LIMIT = 100


def read_json(raw: bytes) -> Any:
    """The value in `raw`, every string valid Unicode. Raises `InvalidRequest`."""
    if not raw:
        raise InvalidRequest("The body is empty. Send a JSON object.")
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        value = _read_slowly(raw)
    if is_deeper(value, DEPTH_LIMIT):
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


class OrjsonProvider(JSONProvider):
    """Flask's JSON in both directions by orjson."""

    def dumps(self, obj: Any, **_kwargs: Any) -> str:
        return orjson.dumps(obj).decode()

    def loads(self, s: str | bytes, **_kwargs: Any) -> Any:
        return read_json(s.encode() if isinstance(s, str) else s)

    def response(self, *args: Any, **kwargs: Any) -> Any:
        value = self._prepare_response_obj(args, kwargs)
        return self._app.response_class(self.dumps(value), mimetype="application/json")
