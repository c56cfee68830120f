"""Reads and writes the JSON of HTTP bodies."""

from typing import Any

import orjson
from flask.json.provider import JSONProvider

from api.errors import InvalidRequest
from api.text import is_deeper, read_strict_json

DEPTH_LIMIT = 100


def read_json(raw: bytes) -> Any:
    """The value in `raw`, every string valid Unicode. Raises `InvalidRequest`."""
    if not raw:
        raise InvalidRequest("The body is empty. Send a JSON object.")
    try:
        value = read_strict_json(raw)
    except ValueError as exc:
        raise InvalidRequest("The body is no valid JSON.") from exc
    if is_deeper(value, DEPTH_LIMIT):
        raise InvalidRequest(f"The body is nested deeper than {DEPTH_LIMIT} levels.")
    return value


class OrjsonProvider(JSONProvider):
    """Flask's JSON in both directions by orjson."""

    def dumps(self, obj: Any, **_kwargs: Any) -> str:
        return orjson.dumps(obj).decode()

    def loads(self, s: str | bytes, **_kwargs: Any) -> Any:
        return read_json(s.encode() if isinstance(s, str) else s)

    def response(self, *args: Any, **kwargs: Any) -> Any:
        value = self._prepare_response_obj(args, kwargs)
        return self._app.response_class(self.dumps(value), mimetype="application/json")
