"""Reads the bodies of requests, and writes JSON."""

from typing import Any

import orjson
from flask import Request
from flask.json.provider import JSONProvider
from werkzeug.formparser import FormDataParser

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


class StrictRequest(Request):
    """A request whose form raises `ValueError` where it cannot be read, where the library finds it empty."""

    def make_form_data_parser(self) -> FormDataParser:
        parser = super().make_form_data_parser()
        parser.silent = False
        return parser


class OrjsonProvider(JSONProvider):
    """Flask's JSON in both directions by orjson."""

    def dumps(self, obj: Any, **_kwargs: Any) -> str:
        return orjson.dumps(obj).decode()

    def loads(self, s: str | bytes, **_kwargs: Any) -> Any:
        return read_json(s.encode() if isinstance(s, str) else s)

    def response(self, *args: Any, **kwargs: Any) -> Any:
        value = self._prepare_response_obj(args, kwargs)
        return self._app.response_class(self.dumps(value), mimetype="application/json")
