"""The endpoints that a user has set up, kept on disk: what can be shown in one file, the keys in another.

A key is kept with the service that it was entered for and counts only there, however old the other file is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from api import files
from api.agents.endpoint import ADD_ONE, GIVEN, Endpoint
from api.agents.endpoint_rules import PLAIN, check_id, from_json
from api.clock import Clock
from api.concurrency import new_lock
from api.errors import (
    AgentError,
    Damaged,
    InvalidRequest,
    NewerVersion,
    NotFound,
    StorageFailed,
    TalariaError,
)

_SCHEMA_VERSION = 1
# Version 1 held bare keys.
_KEYS_VERSION = 2
_MEND = "Mend it or move it away."


@dataclass(frozen=True, slots=True)
class Default:
    """What answers where a chat says nothing: an agent, and for `openai` an endpoint and a model of it."""

    agent: str | None = None
    endpoint: str | None = None
    model: str | None = None


class EndpointStore:
    """All endpoints of this process: the one of flags and environment, which stays, and those on disk.

    The default one comes first. A damaged file is left as it is: what cannot be read of it is missing, as
    `problem` says, and nothing can be saved until it is mended or moved away.
    """

    def __init__(self, state_dir: Path, given: Endpoint | None, clock: Clock) -> None:
        self._file = state_dir / "endpoints.json"
        self._keys_file = state_dir / "keys.json"
        self._given = given
        self._clock = clock
        self._lock = new_lock()
        self.problem: TalariaError | None = None
        self.default = Default()
        self._stored: dict[str, Endpoint] = {}
        self._read()

    def get(self, endpoint_id: str | None) -> Endpoint:
        """The endpoint of an id, the default one for None. Raises `AgentError` for one that is not there."""
        for endpoint in self.all():
            if endpoint_id in (None, endpoint.id):
                return endpoint
        if endpoint_id is None:
            raise AgentError("No endpoint is set up.", type="unavailable", hint=ADD_ONE)
        what = f"cannot be read: {self.problem}" if self.problem else "is no longer there."
        raise AgentError(
            f"The endpoint {endpoint_id!r} of this chat {what}",
            type="unavailable",
            hint="Choose another model for this chat under Models in the page, then retry.",
        )

    def all(self) -> Sequence[Endpoint]:
        with self._lock:
            known = {**({GIVEN: self._given} if self._given else {}), **self._stored}
            default = self.default
        chosen = known.pop(default.endpoint or "", None)
        if chosen is None:
            return list(known.values())
        return [replace(chosen, model=default.model or chosen.model), *known.values()]

    def is_given(self, endpoint_id: str) -> bool:
        """Whether flags or the environment have set it up, so that it cannot be changed here."""
        return self._given is not None and endpoint_id == GIVEN

    def save(self, entry: Mapping[str, Any]) -> Endpoint:
        """Add an endpoint, or change the one of `entry["id"]`; a field that is missing stays as it was.

        A key stays only where the address stays, so that it never goes to another service unasked. Raises
        `InvalidRequest`, `NotFound`, `Damaged`, `NewerVersion`, `StorageFailed`.
        """
        with self._lock:
            self._require_whole()
            endpoint_id = entry.get("id") or f"e{self._clock.new_id(8)}"
            if self.is_given(check_id(endpoint_id)):
                raise InvalidRequest("This endpoint was given at the start and is changed there.")
            before = self._stored.get(endpoint_id)
            if entry.get("id") and before is None:
                raise NotFound("There is no such endpoint.")
            endpoint = from_json({**entry, "id": endpoint_id}, before)
            default = self.default
            if endpoint_id == default.endpoint and "model" in entry:
                # The model that was named last is the one that counts.
                default = replace(default, model=None)
            self._write({**self._stored, endpoint_id: endpoint}, default)
            return endpoint

    def delete(self, endpoint_id: str) -> None:
        """Forget an endpoint and its key. Raises `InvalidRequest`, `NotFound`, and what `save` raises."""
        with self._lock:
            self._require_whole()
            if self.is_given(endpoint_id):
                raise InvalidRequest("This endpoint was given at the start and is removed there.")
            if endpoint_id not in self._stored:
                raise NotFound("There is no such endpoint.")
            left = {name: entry for name, entry in self._stored.items() if name != endpoint_id}
            default = Default(self.default.agent) if self.default.endpoint == endpoint_id else self.default
            self._write(left, default)

    def choose_default(self, default: Default) -> None:
        """Remember what answers where a chat says nothing. Raises what `save` raises.

        An endpoint of another agent may be named too; among ours it changes nothing.
        """
        with self._lock:
            self._require_whole()
            self._write(self._stored, default)

    def _require_whole(self) -> None:
        """Raise what is wrong with the files, unless they have been mended or moved away since."""
        if self.problem is not None:
            self._read()
        if self.problem is not None:
            raise self.problem

    def _read(self) -> None:
        """Take in what can be read; `problem` says what cannot."""
        self.problem = None
        data = self._part(self._file, "endpoints", list, _SCHEMA_VERSION)
        keys = self._part(self._keys_file, "keys", dict, _KEYS_VERSION).get("keys", {})
        stored: dict[str, Endpoint] = {}
        for entry in data.get("endpoints", []):
            try:
                endpoint = _with_key(from_json(entry | {"api_key": None}, None), keys.get(entry["id"]))
            except (TalariaError, KeyError, TypeError) as exc:
                self.problem = Damaged(f"An endpoint in {self._file} cannot be read ({exc}). {_MEND}")
            else:
                stored[endpoint.id] = endpoint
        default = data.get("default")
        names = default if isinstance(default, dict) else {}
        self._stored = stored
        self.default = Default(*(_text(names.get(name)) for name in ("agent", "endpoint", "model")))

    def _part(self, path: Path, name: str, kind: type, version: int) -> dict[str, Any]:
        """The content of a file with `name` in it; nothing where it cannot be read."""
        try:
            data = _load(path, version)
            if not isinstance(data.get(name, kind()), kind):
                raise Damaged(f"{path} holds no {name}. {_MEND}")
        except TalariaError as exc:
            self.problem = exc
            return {}
        return data

    def _write(self, stored: dict[str, Endpoint], default: Default) -> None:
        """Both files, then the memory; a key that nobody uses is better than an endpoint without its key."""
        self._write_keys(stored)
        plain = {
            "default": {name: getattr(default, name) for name in ("agent", "endpoint", "model")},
            "endpoints": [to_json(entry) for entry in stored.values()],
        }
        try:
            _dump(self._file, plain, _SCHEMA_VERSION)
        except StorageFailed:
            # A new key does not count beside an old address, which would be without any after the next start.
            self._write_keys(self._stored)
            raise
        self._stored, self.default = stored, default

    def _write_keys(self, stored: Mapping[str, Endpoint]) -> None:
        keys = {
            name: {"service": entry.service, "key": entry.api_key}
            for name, entry in stored.items()
            if entry.api_key
        }
        if keys or self._keys_file.exists():
            _dump(self._keys_file, {"keys": keys}, _KEYS_VERSION)


def to_json(endpoint: Endpoint) -> dict[str, Any]:
    """An endpoint as it is kept and shown, without its key."""
    return {name: getattr(endpoint, name) for name in ("id", *PLAIN)} | {"headers": dict(endpoint.headers)}


def _with_key(endpoint: Endpoint, kept: Any) -> Endpoint:
    """`endpoint` with the key that is kept under its id, unless that was entered for another service."""
    if isinstance(kept, dict):
        kept = kept["key"] if kept["service"] == endpoint.service else None
    return from_json({"api_key": kept}, endpoint)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _load(path: Path, newest: int) -> dict[str, Any]:
    try:
        data = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as exc:
        raise Damaged(f"{path} cannot be read ({exc}). {_MEND}") from exc
    version = data.get("schema_version") if isinstance(data, dict) else None
    if not isinstance(version, int):
        raise Damaged(f"{path} names no version. {_MEND}")
    if version > newest:
        raise NewerVersion(f"{path} was written by a newer Talaria. Update Talaria to change it.")
    return dict(data)


def _dump(path: Path, data: Mapping[str, Any], version: int) -> None:
    files.write_whole(path, orjson.dumps({"schema_version": version, **data}, option=orjson.OPT_INDENT_2))
