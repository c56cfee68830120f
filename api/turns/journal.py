"""The words of running turns on disk, one file a turn, so that a killed server loses none it showed."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import orjson

from api.errors import StorageFailed
from api.events import Event
from api.files import make_folder
from api.sessions.shapes import Shape, check, is_number, is_text, or_none
from api.turns.turn import Turn


class JournalFile:
    """The open journal of one turn. A write reaches the system at once; it outlives a kill of the process."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def write(self, event: Event) -> None:
        """Append one event. Raises `StorageFailed`."""
        line = orjson.dumps({"type": event.type, "data": event.data}) + b"\n"
        try:
            if self._descriptor is None:
                self._descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            if os.write(self._descriptor, line) != len(line):
                raise StorageFailed("The disk is full: the reply cannot be kept.")
        except OSError as exc:
            raise StorageFailed(f"The reply cannot be kept on disk: {exc.strerror}.") from exc

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


class Journal:
    """The folder of journals: `<session id>.<turn id>.jsonl`."""

    def __init__(self, state_dir: Path) -> None:
        self._folder = make_folder(state_dir / "journal")

    def open(self, session_id: str, turn_id: str) -> JournalFile:
        return JournalFile(self._path(session_id, turn_id))

    def read(self, session_id: str, turn_id: str) -> list[Event]:
        """The events of a turn up to the last whole line that is one; none where there is no journal."""
        try:
            lines = self._path(session_id, turn_id).read_bytes().split(b"\n")
        except FileNotFoundError:
            return []
        events = []
        for line in lines[:-1]:
            try:
                events.append(_event(line))
            except (ValueError, KeyError, TypeError, AttributeError):
                break
        return events

    def turn(self, session_id: str, turn_id: str) -> Turn:
        """A turn as far as its journal tells it."""
        turn = Turn(session_id, turn_id)
        for event in self.read(session_id, turn_id):
            turn = turn.apply(event)
        return turn

    def remove(self, session_id: str, turn_id: str | None = None) -> None:
        """Remove the journal of a turn, or all those of a session."""
        for path in self._folder.glob(f"{session_id}.{turn_id or '*'}.jsonl"):
            path.unlink(missing_ok=True)

    def entries(self) -> Iterator[tuple[str, str]]:
        """The session and turn ids of every journal."""
        for path in self._folder.glob("*.*.jsonl"):
            session_id, turn_id = path.name.removesuffix(".jsonl").rsplit(".", 1)
            yield session_id, turn_id

    def _path(self, session_id: str, turn_id: str) -> Path:
        return self._folder / f"{session_id}.{turn_id}.jsonl"


def _event(line: bytes) -> Event:
    """The event in a line. Raises an error for a line that no turn has written."""
    entry = orjson.loads(line)
    event = Event(entry["type"], entry["data"])
    if event.type in _KEPT:
        fields = _FIELDS.get(event.type) or dict.fromkeys(event.data.keys(), _COUNT)
        check(event.type, {name: event.data[name] for name in fields}, fields)
    return event


def _is_anything(_value: object) -> bool:
    return True


def _are_facts(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(fact, dict) and is_text(fact.get("id")) for fact in value
    )


_COUNT = or_none(is_number)
_FIELDS: Mapping[str, Mapping[str, Shape]] = {
    "token": {"text": is_text},
    "reasoning": {"text": is_text},
    "notice": {"text": is_text},
    "memory": {"recalled": _are_facts, "written": _are_facts},
    "tool": {"tid": is_text, "name": is_text, "args": _is_anything},
    "tool_complete": {
        "tid": is_text,
        "result": _is_anything,
        "duration": _COUNT,
        "is_error": _is_anything,
    },
}
_KEPT = frozenset({*_FIELDS, "usage"})
