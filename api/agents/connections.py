"""The clients of the endpoints in use: one each, kept for later calls, closed when nobody needs it."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from api.agents.endpoint import Endpoint, Timeouts
from api.concurrency import new_lock

if TYPE_CHECKING:
    from api.agents.openai_client import Connection


@dataclass(slots=True)
class _Kept:
    """A client, and how many calls run on it."""

    connection: "Connection"
    users: int = 0


class Connections:
    """Lends clients. One of older settings is closed as soon as the last call on it has ended."""

    def __init__(self, timeouts: Timeouts) -> None:
        self._timeouts = timeouts
        self._lock = new_lock()
        self._kept: dict[str, _Kept] = {}
        self._leaving: list[_Kept] = []

    @contextmanager
    def use(self, endpoint: Endpoint) -> Iterator["Connection"]:
        """The client of `endpoint` for one call. Raises `AgentError` for one that cannot be called."""
        connection_class()
        with self._lock:
            kept = self._current(endpoint)
            kept.users += 1
        try:
            yield kept.connection
        finally:
            with self._lock:
                kept.users -= 1
            self._close_unwanted()

    def keep_only(self, endpoint_ids: Collection[str]) -> None:
        """Part with the clients of all other endpoints."""
        with self._lock:
            for name in self._kept.keys() - set(endpoint_ids):
                self._part_with(name)
        self._close_unwanted()

    def close(self) -> None:
        """Close all clients, also those that calls run on."""
        with self._lock:
            left = [*self._kept.values(), *self._leaving]
            self._kept, self._leaving = {}, []
        for kept in left:
            kept.connection.close()

    def _current(self, endpoint: Endpoint) -> _Kept:
        kept = self._kept.get(endpoint.id)
        if kept is not None and kept.connection.endpoint == endpoint:
            return kept
        made = _Kept(connection_class()(endpoint, self._timeouts))
        if kept is not None:
            self._part_with(endpoint.id)
        self._kept[endpoint.id] = made
        return made

    def _part_with(self, endpoint_id: str) -> None:
        kept = self._kept.pop(endpoint_id)
        self._leaving.append(kept)

    def _close_unwanted(self) -> None:
        with self._lock:
            over = [kept for kept in self._leaving if kept.users == 0]
            self._leaving = [kept for kept in self._leaving if kept.users > 0]
        for kept in over:
            kept.connection.close()


def connection_class() -> "type[Connection]":
    """The class that brings the `openai` library with it, loaded by the first who needs it."""
    from api.agents.openai_client import Connection

    return Connection
