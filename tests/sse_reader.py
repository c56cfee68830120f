"""A reader of event streams written from the WHATWG standard, for what our server sends."""

import json
from collections.abc import Iterator
from http.client import HTTPResponse
from typing import Any


class SseReader:
    """Iterates over (id, event, data); data is decoded JSON. Comments are counted."""

    def __init__(self, response: HTTPResponse) -> None:
        self._response = response
        self.comments = 0

    def __iter__(self) -> Iterator[tuple[str, str, Any]]:
        return self

    def __next__(self) -> tuple[str, str, Any]:
        last_id, event, data = "", "message", []
        while True:
            raw = self._response.readline()
            if not raw:
                raise StopIteration
            line = raw.decode().rstrip("\n")
            assert "\r" not in line
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if line == "":
                if data:
                    return last_id, event, json.loads("\n".join(data))
                event = "message"
            elif line.startswith(":"):
                self.comments += 1
            elif name == "id":
                last_id = value
            elif name == "event":
                event = value
            elif name == "data":
                data.append(value)

    def until(self, event: str) -> Any:
        """The data of the next event of this kind."""
        for _, name, data in self:
            if name == event:
                return data
        raise AssertionError(f"the stream ended without {event}")
