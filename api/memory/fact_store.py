"""The facts of the local memory in one SQLite file: where each was said, and which batches were taken."""

import logging
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from api.clock import Clock
from api.concurrency import new_lock
from api.files import make_folder
from api.memory.base import ACTIVE, SUGGESTED, USER, WITHDRAWN, Fact, MemoryFailed, Source
from api.memory.words import indexed

log = logging.getLogger(__name__)

LOCK_WAIT_S = 2.0
ERASED = "[erased]"
_VERSION = 2
_SCHEMA = """
CREATE TABLE IF NOT EXISTS facts (
  place INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, text TEXT NOT NULL, kind TEXT NOT NULL,
  state TEXT NOT NULL, origin TEXT NOT NULL, is_own INTEGER NOT NULL DEFAULT 0, created_at REAL NOT NULL);
CREATE INDEX IF NOT EXISTS by_kind ON facts (state, kind, place);
CREATE TABLE IF NOT EXISTS sources (
  place INTEGER NOT NULL, session_id TEXT NOT NULL, turn_id TEXT, message_id INTEGER, batch_id TEXT,
  is_withdrawn INTEGER NOT NULL DEFAULT 0);
CREATE INDEX IF NOT EXISTS by_fact ON sources (place);
CREATE INDEX IF NOT EXISTS by_turn ON sources (session_id, turn_id);
CREATE TABLE IF NOT EXISTS batches (id TEXT PRIMARY KEY, taken_at REAL NOT NULL);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(text, tokenize = "porter unicode61 remove_diacritics 2");
"""
_COLUMNS = "facts.place, facts.id, facts.text, facts.kind, facts.created_at, facts.state, facts.origin"


@dataclass(frozen=True, slots=True)
class Stored:
    """A fact with its place in the file, which grows with time."""

    place: int
    fact: Fact


class FactStore:
    """Reads and writes facts, durably. Raises `MemoryFailed` where the file cannot be used."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self._path = make_folder(folder) / "facts.db"
        self._clock = clock
        self._lock = new_lock()
        self._connection: sqlite3.Connection | None = None

    @contextmanager
    def change(self) -> Iterator["Facts"]:
        """All or nothing of what the block does."""
        with self._lock, self._errors():
            connection = self._open()
            with connection:
                yield Facts(connection, self._clock)

    @contextmanager
    def read(self) -> Iterator["Facts"]:
        with self._lock, self._errors():
            yield Facts(self._open(), self._clock)

    def scrub(self) -> None:
        """Leave nothing in the file of words that it does not hold any more."""
        with self._lock, self._errors():
            connection = self._open()
            connection.execute("INSERT INTO words (words) VALUES ('optimize')")
            connection.commit()
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        with self._lock:
            self._disconnect()

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as exc:
            # The next call opens it anew: it may have been mended or moved away by then.
            self._disconnect()
            raise MemoryFailed(
                f"The facts in {self._path} cannot be used ({exc}). Nothing in it was changed; move the file "
                "away when it is damaged."
            ) from exc

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            # Its log, which holds words too, takes over the rights of the file.
            self._path.touch(mode=0o600)
            self._path.chmod(0o600)
            with ExitStack() as undo:
                connection = sqlite3.connect(self._path, check_same_thread=False, timeout=LOCK_WAIT_S)
                undo.callback(connection.close)
                _prepare(connection)
                undo.pop_all()
            self._connection = connection
        return self._connection


def _prepare(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA journal_mode=WAL")
    # A batch counts as taken when the session file says so, and then it must be here.
    connection.execute("PRAGMA synchronous=FULL")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > _VERSION:
        raise MemoryFailed("The facts were written by a newer Talaria. Update Talaria to use them.")
    connection.executescript(_SCHEMA)
    if version != _VERSION:
        with connection:
            _index_anew(connection)
            connection.execute(f"PRAGMA user_version={_VERSION}")


def _index_anew(connection: sqlite3.Connection) -> None:
    """Before version 2 the index held the texts as they were written."""
    rows = connection.execute("SELECT place, text FROM facts").fetchall()
    connection.execute("DELETE FROM words")
    connection.executemany(
        "INSERT INTO words (rowid, text) VALUES (?, ?)", [(place, indexed(text)) for place, text in rows]
    )


class Facts:
    """The facts within one read or one change."""

    def __init__(self, connection: sqlite3.Connection, clock: Clock) -> None:
        self._connection = connection
        self._clock = clock

    def get(self, fact_id: str) -> Stored | None:
        return next(iter(self._select("facts WHERE id = ?", [fact_id])), None)

    def insert(self, fact: Fact, is_own: bool) -> Stored:
        """Keep a new fact; its time is now and its id is made here."""
        fact_id, now = f"f_{self._clock.new_id()}", self._clock.now()
        cursor = self._connection.execute(
            "INSERT INTO facts (id, text, kind, state, origin, is_own, created_at) VALUES (?,?,?,?,?,?,?)",
            [fact_id, fact.text, fact.kind, fact.state, fact.origin, is_own, now],
        )
        self._connection.execute(
            "INSERT INTO words (rowid, text) VALUES (?, ?)", [cursor.lastrowid, indexed(fact.text)]
        )
        return self._known(fact_id)

    def set(self, stored: Stored, **values: Any) -> Stored:
        """Change columns of a fact: text, kind, state, origin, is_own."""
        names = ", ".join(f"{name} = ?" for name in values)
        self._connection.execute(
            f"UPDATE facts SET {names} WHERE place = ?", [*values.values(), stored.place]
        )
        if "text" in values:
            self._connection.execute(
                "UPDATE words SET text = ? WHERE rowid = ?", [indexed(values["text"]), stored.place]
            )
        return self._known(stored.fact.id)

    def _known(self, fact_id: str) -> Stored:
        found = self.get(fact_id)
        assert found is not None
        return found

    def add_source(self, stored: Stored, source: Source, batch_id: str | None = None) -> None:
        """Note one more place where a fact was said."""
        row = [stored.place, source.session_id, source.turn_id, source.message_id, batch_id]
        self._connection.execute(
            "INSERT INTO sources (place, session_id, turn_id, message_id, batch_id) VALUES (?,?,?,?,?)", row
        )

    def matching(self, expression: str, states: Sequence[str], limit: int) -> list[Stored]:
        """Facts in these states with words of an FTS5 expression, the best ones first."""
        marks = ",".join("?" * len(states))
        return self._select(
            f"words JOIN facts ON facts.place = words.rowid WHERE words MATCH ? AND state IN ({marks})"
            " ORDER BY rank LIMIT ?",
            [expression, *states, limit],
        )

    def newest(self, state: str, kinds: Sequence[str], limit: int) -> list[Stored]:
        """The newest facts of a state and of some kinds."""
        marks = ",".join("?" * len(kinds))
        return self._select(
            f"facts WHERE state = ? AND kind IN ({marks}) ORDER BY place DESC LIMIT ?",
            [state, *kinds, limit],
        )

    def page(
        self, expression: str | None, states: Sequence[str], before: int | None, limit: int
    ) -> list[Stored]:
        """Facts in these states below a place, newest first; with an expression only those it finds."""
        found = "words JOIN facts ON facts.place = words.rowid WHERE words MATCH ?"
        tables = found if expression else "facts WHERE 1"
        marks = ",".join("?" * len(states))
        values = [expression] if expression else []
        return self._select(
            f"{tables} AND state IN ({marks}) AND facts.place < ? ORDER BY facts.place DESC LIMIT ?",
            [*values, *states, 2**62 if before is None else before, limit],
        )

    def holders(self, word: str, limit: int) -> int:
        """How many facts hold a word, counted up to `limit`."""
        query = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)"
        return int(self._connection.execute(query, [f'"{indexed(word)}"', limit]).fetchone()[0])

    def count(self, state: str | None = None) -> int:
        where, values = ("WHERE state = ?", [state]) if state else ("", [])
        return int(self._connection.execute(f"SELECT count(*) FROM facts {where}", values).fetchone()[0])

    def has_batch(self, batch_id: str) -> bool:
        found = self._connection.execute("SELECT 1 FROM batches WHERE id = ?", [batch_id]).fetchone()
        return found is not None

    def note_batch(self, batch_id: str) -> None:
        self._connection.execute("INSERT INTO batches VALUES (?, ?)", [batch_id, self._clock.now()])

    def last_batch_at(self) -> float | None:
        """When the last batch was taken."""
        found = self._connection.execute("SELECT max(taken_at) FROM batches").fetchone()[0]
        return None if found is None else float(found)

    def of_batch(self, batch_id: str) -> list[Stored]:
        """The facts that a batch has taught."""
        where = "facts WHERE place IN (SELECT place FROM sources WHERE batch_id = ?) ORDER BY place"
        return self._select(where, [batch_id])

    def withdraw(self, session_id: str, turn_ids: Sequence[str]) -> None:
        """Let turns count no more: facts that nothing else bears out are withdrawn."""
        self._set_withdrawn(session_id, turn_ids, True)
        self._connection.execute(
            "UPDATE facts SET state = ? WHERE state IN (?, ?) AND is_own = 0"
            " AND place IN (SELECT place FROM sources)"
            " AND place NOT IN (SELECT place FROM sources WHERE is_withdrawn = 0)",
            [WITHDRAWN, ACTIVE, SUGGESTED],
        )

    def bring_back(self, session_id: str, turn_ids: Sequence[str]) -> None:
        """Let turns count again, and the facts that they bear out with them; erased words stay away."""
        self._set_withdrawn(session_id, turn_ids, False)
        self._connection.execute(
            "UPDATE facts SET state = iif(origin = ?, ?, ?) WHERE state = ? AND text != ? AND place IN"
            " (SELECT place FROM sources WHERE is_withdrawn = 0)",
            [USER, ACTIVE, SUGGESTED, WITHDRAWN, ERASED],
        )

    def _set_withdrawn(self, session_id: str, turn_ids: Sequence[str], value: bool) -> None:
        query = "UPDATE sources SET is_withdrawn = ? WHERE session_id = ? AND turn_id = ?"
        self._connection.executemany(query, [[value, session_id, turn_id] for turn_id in turn_ids])

    def said_in(self, session_id: str, message_id: int) -> list[Stored]:
        """The facts that name a message as a source."""
        where = "facts WHERE place IN (SELECT place FROM sources WHERE session_id = ? AND message_id = ?)"
        return self._select(where, [session_id, message_id])

    def known(self, fact_ids: Sequence[str]) -> list[Stored]:
        """The facts with these ids."""
        where = "facts WHERE id IN (SELECT value FROM json_each(?)) ORDER BY place"
        return self._select(where, [orjson.dumps(list(fact_ids)).decode()])

    def learned_in(self, session_id: str) -> dict[str, list[str]]:
        """The ids of the facts that turns of a session bear out, by turn."""
        rows = self._connection.execute(
            "SELECT turn_id, facts.id FROM sources JOIN facts ON facts.place = sources.place"
            " WHERE session_id = ? AND turn_id IS NOT NULL AND is_withdrawn = 0"
            " GROUP BY turn_id, facts.id ORDER BY min(sources.rowid)",
            [session_id],
        )
        found: dict[str, list[str]] = {}
        for turn_id, fact_id in rows:
            found.setdefault(turn_id, []).append(fact_id)
        return found

    def _select(self, where: str, values: Sequence[Any]) -> list[Stored]:
        rows = self._connection.execute(f"SELECT {_COLUMNS} FROM {where}", values).fetchall()
        return [
            Stored(place, Fact(fact_id, text, kind, created_at, self._source(place), state, origin))
            for place, fact_id, text, kind, created_at, state, origin in rows
        ]

    def _source(self, place: int) -> Source | None:
        """Where a fact was said last, in turns that still count if there are any."""
        row = self._connection.execute(
            "SELECT session_id, turn_id, message_id FROM sources WHERE place = ?"
            " ORDER BY is_withdrawn, rowid DESC LIMIT 1",
            [place],
        ).fetchone()
        return Source(*row) if row else None
