"""The endpoints that a user has set up, kept on disk: what can be shown in one file, the keys in another."""

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
from api.errors import AgentError, Damaged, InvalidRequest, NewerVersion, NotFound, TalariaError

_SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Default:
    """What answers where a chat says nothing: an agent, and for `openai` an endpoint and a model of it."""

    agent: str | None = None
    endpoint: str | None = None
    model: str | None = None


class EndpointStore:
    """All endpoints of this process: the one of flags and environment, which stays, and those on disk.

    The default one comes first. A damaged file is left as it is: what it held is missing, and nothing can
    be saved until it is mended or moved away.
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
        try:
            self._read()
        except TalariaError as exc:
            self.problem = exc

    def get(self, endpoint_id: str | None) -> Endpoint:
        """The endpoint of an id, the default one for None. Raises `AgentError` for one that is not there."""
        for endpoint in self.all():
            if endpoint_id in (None, endpoint.id):
                return endpoint
        if endpoint_id is None:
            raise AgentError("No endpoint is set up.", type="unavailable", hint=ADD_ONE)
        raise AgentError(
            f"The endpoint {endpoint_id!r} of this chat is no longer there.",
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
            self._write({**self._stored, endpoint_id: endpoint}, self.default)
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
        """Remember what answers where a chat says nothing. Raises what `save` raises."""
        with self._lock:
            self._require_whole()
            known = {*self._stored, *([GIVEN] if self._given else [])}
            if default.endpoint is not None and default.endpoint not in known:
                raise InvalidRequest(f"There is no endpoint {default.endpoint!r}.")
            self._write(self._stored, default)

    def _require_whole(self) -> None:
        if self.problem is not None:
            raise self.problem

    def _read(self) -> None:
        data, keys = _load(self._file), _load(self._keys_file).get("keys", {})
        try:
            entries = [entry | {"api_key": keys.get(entry["id"])} for entry in data.get("endpoints", [])]
            self._stored = {entry["id"]: from_json(entry, None) for entry in entries}
            default = data.get("default", {})
            self.default = Default(*(_text(default.get(name)) for name in ("agent", "endpoint", "model")))
        except (TalariaError, AttributeError, KeyError, TypeError) as exc:
            raise Damaged(f"{self._file} holds no endpoints ({exc}). Mend it or move it away.") from exc

    def _write(self, stored: dict[str, Endpoint], default: Default) -> None:
        """Both files, then the memory; a key that nobody uses is better than an endpoint without its key."""
        keys = {name: entry.api_key for name, entry in stored.items() if entry.api_key}
        if keys or self._keys_file.exists():
            _dump(self._keys_file, {"keys": keys})
        plain = {
            "default": {name: getattr(default, name) for name in ("agent", "endpoint", "model")},
            "endpoints": [to_json(entry) for entry in stored.values()],
        }
        _dump(self._file, plain)
        self._stored, self.default = stored, default


def to_json(endpoint: Endpoint) -> dict[str, Any]:
    """An endpoint as it is kept and shown, without its key."""
    return {name: getattr(endpoint, name) for name in ("id", *PLAIN)} | {"headers": dict(endpoint.headers)}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _load(path: Path) -> dict[str, Any]:
    try:
        data = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as exc:
        raise Damaged(f"{path} cannot be read ({exc}). Mend it or move it away.") from exc
    version = data.get("schema_version") if isinstance(data, dict) else None
    if not isinstance(version, int):
        raise Damaged(f"{path} names no version. Mend it or move it away.")
    if version > _SCHEMA_VERSION:
        raise NewerVersion(f"{path} was written by a newer Talaria. Update Talaria to change it.")
    return dict(data)


def _dump(path: Path, data: Mapping[str, Any]) -> None:
    files.write_whole(
        path, orjson.dumps({"schema_version": _SCHEMA_VERSION, **data}, option=orjson.OPT_INDENT_2)
    )
