"""Texts that somebody types and has not sent, one file a session."""

import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from api import files
from api.clock import Clock
from api.concurrency import KeyedLocks
from api.errors import NotFound, StaleRevision, Unavailable
from api.sessions import shapes
from api.sessions.blobs import PREFIX
from api.sessions.model import is_session_id
from api.sessions.store import SessionStore
from api.text import MAX_NESTING, is_deeper

log = logging.getLogger(__name__)

_SCHEMA_VERSION = 1
_DRAFT = {
    "text": shapes.is_text,
    "attachments": shapes.is_list,
    "draft_version": shapes.is_int,
    "updated_at": shapes.is_time,
}


@dataclass(frozen=True, slots=True)
class Draft:
    """A text with its attachments. `version` counts its changes; 0 is that of a draft that never was."""

    text: str = ""
    attachments: Sequence[Any] = ()
    version: int = 0
    updated_at: float = 0.0

    @property
    def is_empty(self) -> bool:
        return not self.text and not self.attachments


class Drafts:
    """The drafts of one state folder. They change nothing of a session, nor when it was last active."""

    def __init__(self, state_dir: Path, store: SessionStore, locks: KeyedLocks, clock: Clock) -> None:
        self._folder = files.make_folder(state_dir / "drafts")
        self._store = store
        self._locks = locks
        self._clock = clock

    def load(self, session_id: str) -> Draft:
        """The draft of a session; an empty one where there is none or where its file is damaged."""
        try:
            return self._read(session_id) or Draft()
        except (OSError, ValueError, KeyError, TypeError) as exc:
            log.warning("the draft of %s cannot be read: %s", session_id, exc)
            return Draft()

    def has(self, session_id: str) -> bool:
        return not self.load(session_id).is_empty

    def save(
        self, session_id: str, text: str, attachments: Sequence[Any] = (), version: int | None = None
    ) -> Draft:
        """Keep a text. `version` is the one that it was typed on top of; None takes whatever there is.

        Raises `NotFound`, `StaleRevision` with the stored draft where another page has typed meanwhile,
        `StorageFailed`.
        """
        path = self._store.path(session_id)
        with self._locks.hold(session_id):
            if not path.exists():
                raise NotFound()
            stored = self.load(session_id)
            if version is not None and version < stored.version:
                raise StaleRevision(
                    "This draft was changed in another page.", details={"draft": asdict(stored)}
                )
            newest = min(max(stored.version, version or 0) + 1, shapes.INT_LIMIT)
            draft = Draft(text, tuple(attachments), newest, self._clock.now())
            self._replace(session_id, stored, draft)
            return draft

    def sent(self, session_id: str, text: str, attachments: Iterable[Any] = ()) -> None:
        """Forget a draft whose text and files were sent; any other one stays, and a failure keeps it."""
        if not self.has(session_id):
            return
        with suppress(Unavailable), self._locks.hold(session_id):
            stored = self.load(session_id)
            has_all_files = _names(stored.attachments) <= _names(attachments)
            if has_all_files and text.strip().startswith(stored.text.strip()):
                self._replace(session_id, stored, Draft("", (), stored.version + 1, self._clock.now()))

    def sweep(self) -> int:
        """Remove the drafts of sessions that are neither here nor in the trash; how many."""
        orphans = [path for path in self._folder.glob("*.json") if not self._is_known(path.stem)]
        for path in orphans:
            path.unlink(missing_ok=True)
        return len(orphans)

    def _is_known(self, session_id: str) -> bool:
        if not is_session_id(session_id):
            return False
        return self._store.path(session_id).exists() or bool(self._store.trashed(session_id))

    def _read(self, session_id: str) -> Draft | None:
        """The draft in its file; None without one. Raises an error for a file that holds no draft."""
        try:
            data = orjson.loads(self._path(session_id).read_bytes())
        except FileNotFoundError:
            return None
        shapes.check("the draft", data, _DRAFT)
        if is_deeper(data, MAX_NESTING):
            raise ValueError("it is nested too deep")
        return Draft(data["text"], tuple(data["attachments"]), data["draft_version"], data["updated_at"])

    def _replace(self, session_id: str, stored: Draft, draft: Draft) -> None:
        self._write(session_id, draft)
        if stored.is_empty != draft.is_empty:
            # A list shows an empty chat as long as somebody types in it.
            self._store.announce(session_id)

    def _write(self, session_id: str, draft: Draft) -> None:
        plain = {
            "schema_version": _SCHEMA_VERSION,
            "draft_version": draft.version,
            "text": draft.text,
            "attachments": list(draft.attachments),
            "updated_at": draft.updated_at,
        }
        files.write_whole(self._path(session_id), orjson.dumps(plain))

    def _path(self, session_id: str) -> Path:
        return self._folder / f"{session_id}.json"


def _names(attachments: Iterable[Any]) -> set[str]:
    """What tells attachments apart, given as ids of files or as the answers to their uploads."""
    ids = (entry.get("id") if isinstance(entry, dict) else entry for entry in attachments)
    return {str(name).removeprefix(PREFIX) for name in ids}
