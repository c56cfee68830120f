"""SQLite summaries and words of all sessions: derived from the files, rebuilt from them at will."""

import logging
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import orjson

from api.concurrency import new_lock
from api.errors import InvalidRequest, NotFound, StorageFailed, TalariaError, Unavailable
from api.sessions import words
from api.sessions.model import Session
from api.sessions.outlook import Outlook, outlook
from api.sessions.rows import EVERYTHING, Facets, Filter, Page, Row, damaged_row, row_of
from api.sessions.store import SessionStore, Stamp, stamp_of
from api.sessions.words import Hit

log = logging.getLogger(__name__)

T = TypeVar("T")

# Only a foreign program ever locks the file, and a change of a session must not wait for it.
LOCK_WAIT_S = 0.1
_LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_VERSION = 3
_SCHEMA = """
CREATE TABLE IF NOT EXISTS sessions (
  session_id TEXT PRIMARY KEY, listed INTEGER, pinned INTEGER, archived INTEGER, updated_at REAL,
  damaged INTEGER, running INTEGER, source_id TEXT, memory TEXT, inode INTEGER, size INTEGER,
  mtime_ns INTEGER, row TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_recency ON sessions (listed, archived, pinned, updated_at, session_id);
CREATE INDEX IF NOT EXISTS by_source ON sessions (source_id);
CREATE INDEX IF NOT EXISTS by_memory ON sessions (session_id) WHERE memory IS NOT NULL;
"""
_SUFFIXES = ("", "-wal", "-shm")
_RUNNING = "SELECT session_id FROM sessions WHERE running = 1"
_PUT = "INSERT OR REPLACE INTO sessions VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)"


class Catalog:
    """The list of sessions. An error in it never fails a change of a session: it is put right when read."""

    def __init__(self, path: Path, store: SessionStore, has_draft: Callable[[str], bool]) -> None:
        self._path = path
        self._store = store
        self._has_draft = has_draft
        self._lock = new_lock()
        self._stale = True
        self._connection = self._open()

    def put(self, session_id: str, session: Session | None, stamp: Stamp | None) -> Row | None:
        """Note the new state of a session, or with None that it is gone; the row that a list shows now."""
        row = row_of(session) if session else None
        try:
            with self._lock, self._connection:
                if session and row and stamp:
                    self._write(row, stamp, session)
                    words.put(self._connection, session)
                else:
                    self._remove(session_id)
        except sqlite3.Error as exc:
            log.warning("the catalog could not be written (%s); the next list puts it right", exc)
            self._stale = True
        return row

    def reconcile(self) -> None:
        """Bring the catalog in step with the files, reading only those that have changed."""
        self._stale = False
        try:
            on_disk = dict(_stamps(self._store.entries()))
        except OSError as exc:
            self._stale = True
            raise StorageFailed(f"The folder of the chats cannot be read: {exc.strerror}.") from exc
        known = {
            row[0]: row[1:] for row in self._read("SELECT session_id, inode, size, mtime_ns FROM sessions")
        }
        changed = [name for name, stamp in on_disk.items() if known.get(name) != stamp]
        with self._lock, self._connection:
            for session_id in known.keys() - on_disk.keys():
                self._remove(session_id)
            for session_id in changed:
                self._write_from_file(session_id, on_disk[session_id])

    def page(
        self, limit: int = 50, before: str | None = None, archived: bool = False, only: Filter = EVERYTHING
    ) -> Page:
        """Listed sessions, pinned ones first, then by newest activity. A bad `before`: `InvalidRequest`."""
        after, values = ("", []) if before is None else _after(before)
        where, chosen = only.sql()
        page = self._healed(lambda: self._page(limit, after, values, (where, [archived, *chosen])))
        if all(self._store.path(row.session_id).exists() for row in page.rows):
            return page
        # Somebody else has removed files.
        self._stale = True
        return self._healed(lambda: self._page(limit, after, values, (where, [archived, *chosen])))

    def facets(self) -> Facets:
        """The projects and tags of all listed sessions, each with the number of its sessions."""
        return self._healed(self._facets)

    def active_since(self, time_s: float) -> list[str]:
        """The sessions, listed or not, in which something was said since a time in Unix seconds."""
        query = "SELECT session_id FROM sessions WHERE updated_at >= ?"
        return [row[0] for row in self._healed(lambda: self._read(query, [time_s]))]

    def row(self, session_id: str) -> Row | None:
        """The row of one session, listed or not; None where there is none."""
        found = self._healed(
            lambda: self._rows("SELECT row FROM sessions WHERE session_id = ?", [session_id])
        )
        return found[0] if found else None

    def find(self, query: str, limit: int, before: int | None = None) -> list[Hit]:
        """The newest places where the words of `query` stand, of any line. `InvalidRequest`: no words."""
        return self._healed(lambda: self._find(query, limit, before))

    def copies_of(self, session_id: str) -> list[str]:
        """The sessions that were copied from this one by branch or duplicate."""
        query = "SELECT session_id FROM sessions WHERE source_id = ?"
        return [row[0] for row in self._healed(lambda: self._read(query, [session_id]))]

    def scrub(self) -> None:
        """Leave nothing in its files of words that it does not hold any more."""
        self._healed(self._scrub)

    def running(self) -> list[str]:
        """The sessions whose file names a running turn."""
        return [row[0] for row in self._healed(lambda: self._read(_RUNNING))]

    def for_memory(self) -> dict[str, Outlook]:
        """The sessions of which memory has something to hear."""
        query = "SELECT session_id, memory FROM sessions WHERE memory IS NOT NULL ORDER BY session_id"
        return {name: Outlook(**orjson.loads(text)) for name, text in self._healed(lambda: self._read(query))}

    def unlisted(self, before: float) -> list[str]:
        """Sessions that no list shows and nobody has touched since `before`, Unix seconds."""
        query = "SELECT session_id FROM sessions WHERE listed = 0 AND updated_at < ?"
        return [row[0] for row in self._healed(lambda: self._read(query, [before]))]

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def _page(self, limit: int, after: str, values: list[Any], chosen: tuple[str, list[Any]]) -> Page:
        where = f"FROM sessions WHERE listed = 1 AND archived = ?{chosen[0]}"
        total = self._read(f"SELECT count(*) {where}", chosen[1])[0][0]
        found = self._read(
            f"SELECT pinned, updated_at, session_id, row {where}{after}"
            " ORDER BY pinned DESC, updated_at DESC, session_id DESC LIMIT ?",
            [*chosen[1], *values, limit + 1],
        )
        rows = [_row(entry[3]) for entry in found[:limit]]
        return Page(rows, _cursor(found[limit - 1][:3]) if len(found) > limit else None, total)

    def _facets(self) -> Facets:
        projects = self._read(
            "SELECT json_extract(row, '$.project') AS name, count(*) FROM sessions"
            " WHERE listed = 1 AND name IS NOT NULL GROUP BY name ORDER BY name"
        )
        tags = self._read(
            "SELECT tag.value, count(*) FROM sessions, json_each(row, '$.tags') AS tag"
            " WHERE listed = 1 GROUP BY tag.value ORDER BY tag.value"
        )
        return Facets(dict(projects), dict(tags))

    def _scrub(self) -> None:
        for suffix in _SUFFIXES:
            self._path.with_name(f"{self._path.name}.damaged{suffix}").unlink(missing_ok=True)
        with self._lock:
            words.merge(self._connection)
            self._connection.commit()
            self._connection.execute("VACUUM")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _find(self, query: str, limit: int, before: int | None) -> list[Hit]:
        with self._lock:
            return words.find(self._connection, query, limit, before)

    def _read(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._connection.execute(query, values).fetchall()

    def _rows(self, query: str, values: Sequence[Any]) -> list[Row]:
        return [_row(entry[0]) for entry in self._read(query, values)]

    def _healed(self, read: Callable[[], T]) -> T:
        """What `read` gives on a catalog in step; one that fails is made anew, in memory if need be.

        Raises `Unavailable` while another program holds the catalog's file locked.
        """
        try:
            if self._stale:
                self.reconcile()
            return read()
        except sqlite3.Error as exc:
            if getattr(exc, "sqlite_errorcode", None) in _LOCKED:
                self._stale = True
                raise Unavailable("Another program has locked the list of chats.", retry_after_s=1) from exc
            log.warning("the catalog cannot be used (%s); it is made anew from the session files", exc)
        with self._lock:
            self._connection.close()
            self._connection = self._open_anew()
        self.reconcile()
        return read()

    def _open(self) -> sqlite3.Connection:
        try:
            return _connect(self._path)
        except sqlite3.Error as exc:
            log.warning("the catalog cannot be opened (%s); it is made anew from the session files", exc)
            return self._open_anew()

    def _open_anew(self) -> sqlite3.Connection:
        try:
            for suffix in _SUFFIXES:
                path = self._path.with_name(self._path.name + suffix)
                if path.exists():
                    path.replace(self._path.with_name(f"{self._path.name}.damaged{suffix}"))
            return _connect(self._path)
        except (sqlite3.Error, OSError) as exc:
            log.warning("the catalog is kept in memory until the next start (%s)", exc)
            return _connect(None)

    def _write_from_file(self, session_id: str, stamp: Stamp) -> None:
        try:
            session = self._store.load(session_id)
        except NotFound:
            self._remove(session_id)
        except TalariaError as exc:
            log.warning("session file %s.json: %s", session_id, exc)
            self._write(damaged_row(session_id, stamp), stamp)
            words.remove(self._connection, session_id)
        else:
            self._write(row_of(session), stamp, session)
            words.rewrite(self._connection, session)

    def _write(self, row: Row, stamp: Stamp, session: Session | None = None) -> None:
        """Write a row with the stamp of its file; without a session it is that of a damaged one."""
        is_listed = session is None or self._is_listed(session)
        flags = (is_listed, row.pinned, row.archived, row.updated_at, row.damaged, row.running)
        more = (_source_id(session), _memory(session)) if session else (None, None)
        values = (row.session_id, *flags, *more, *stamp, orjson.dumps(row).decode())
        self._connection.execute(_PUT, values)

    def _is_listed(self, session: Session) -> bool:
        """Whether a list shows it: it shall stay, and has words or a name, or somebody types in it."""
        if session.temporary:
            return False
        has_something = session.messages or session.queue or session.title
        return bool(has_something) or self._has_draft(session.session_id)

    def _remove(self, session_id: str) -> None:
        self._connection.execute("DELETE FROM sessions WHERE session_id = ?", [session_id])
        words.remove(self._connection, session_id)


def _stamps(entries: Iterable[tuple[str, Path]]) -> Iterator[tuple[str, Stamp]]:
    """The stamp of each session file; one that went while we looked, or that leads nowhere, has none."""
    for session_id, path in entries:
        with suppress(OSError):
            yield session_id, stamp_of(path)


def _connect(path: Path | None) -> sqlite3.Connection:
    """A connection to the catalog at `path`, made where it is missing; None keeps it in memory."""
    connection = sqlite3.connect(path or ":memory:", check_same_thread=False, timeout=LOCK_WAIT_S)
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        # The files are the truth: losing the last rows in a power cut costs one reconcile.
        connection.execute("PRAGMA synchronous=OFF")
        if connection.execute("PRAGMA user_version").fetchone()[0] != _VERSION:
            for table in ("sessions", *words.TABLES):
                connection.execute(f"DROP TABLE IF EXISTS {table}")
            connection.execute(f"PRAGMA user_version={_VERSION}")
        connection.executescript(_SCHEMA + words.SCHEMA)
        if path:
            path.chmod(0o600)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _row(text: str) -> Row:
    """The row in a column; one that cannot be read is an error of the catalog like any other."""
    try:
        return Row(**orjson.loads(text))
    except (ValueError, TypeError) as exc:
        raise sqlite3.DataError(f"a row is unreadable: {exc}") from exc


def _source_id(session: Session) -> str | None:
    source_id = (session.parent or {}).get("session_id")
    return source_id if isinstance(source_id, str) else None


def _memory(session: Session) -> str | None:
    """What memory has to hear of a session, as it stands in a row; None where there is nothing."""
    found = outlook(session)
    return None if found.is_empty else orjson.dumps(found).decode()


def _cursor(place: Sequence[Any]) -> str:
    return orjson.dumps(list(place)).hex()


def _after(cursor: str) -> tuple[str, list[Any]]:
    try:
        pinned, updated_at, session_id = orjson.loads(bytes.fromhex(cursor))
        if pinned not in (0, 1):
            raise ValueError("pinned is a flag")
        values = [int(pinned), float(updated_at), str(session_id)]
    except (ValueError, TypeError) as exc:
        raise InvalidRequest("`before` is no cursor of this list.") from exc
    return " AND (pinned, updated_at, session_id) < (?, ?, ?)", values
