"""The searchable words of titles and messages: an FTS5 table beside the rows of the catalog."""

import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

import regex

from api.errors import InvalidRequest
from api.sessions.content import text_of
from api.sessions.model import ERASED, INJECTED, NOTICE, Message, Session

TABLES = ("places", "words")
SCHEMA = """
CREATE TABLE IF NOT EXISTS places (
  id INTEGER PRIMARY KEY, session_id TEXT NOT NULL, message_id INTEGER NOT NULL);
CREATE UNIQUE INDEX IF NOT EXISTS by_message ON places (session_id, message_id);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(
  text, tokenize = "unicode61 remove_diacritics 2", prefix = '1 2 3');
"""
_PLACE = "(SELECT id FROM places WHERE session_id = ? AND message_id = ?)"
TITLE = 0
SNIPPET_WORDS = 24
TERMS_LIMIT = 16
# A place is a time in milliseconds and a number within it, so that the order of places is that of time.
_IN_A_MS = 2**20
_LAST_MS = 2**42

# Between letters of scripts that put no blanks between words; nothing that can be seen, and never a letter.
_SEAM = "\u2060"
_UNSPACED = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\u30fc\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}]\p{M}*"
)
_TERM = re.compile(r'"([^"]*)"?|([^\s"]+)')


@dataclass(frozen=True, slots=True)
class Hit:
    """A title (`message_id` None) or a message in which the words stand; later ones have higher places."""

    place: int
    session_id: str
    message_id: int | None
    snippet: str


def put(connection: sqlite3.Connection, session: Session) -> None:
    """Note what is new in a session whose earlier words are known: messages, its title, erased words.

    Of a temporary one nothing is noted.
    """
    if session.temporary:
        return
    _put_title(connection, session)
    row = connection.execute("SELECT max(message_id) FROM places WHERE session_id = ?", [session.session_id])
    known = row.fetchone()[0] or 0
    for message in session.messages[known:]:
        if _is_searched(message):
            _insert(connection, session.session_id, message.id, message.timestamp, text_of(message.content))
    for message in session.messages:
        if message.content == ERASED:
            _delete(connection, session.session_id, message.id)


def rewrite(connection: sqlite3.Connection, session: Session) -> None:
    """Note all words of a session anew, whatever was known of it."""
    remove(connection, session.session_id)
    put(connection, session)


def remove(connection: sqlite3.Connection, session_id: str) -> None:
    """Forget the words of a session."""
    known = connection.execute("SELECT id FROM places WHERE session_id = ?", [session_id]).fetchall()
    connection.executemany("DELETE FROM words WHERE rowid = ?", known)
    connection.execute("DELETE FROM places WHERE session_id = ?", [session_id])


def merge(connection: sqlite3.Connection) -> None:
    """Bring the index into one piece; words that were removed leave it only now."""
    connection.execute("INSERT INTO words (words) VALUES ('optimize')")


def find(connection: sqlite3.Connection, query: str, limit: int, before: int | None = None) -> list[Hit]:
    """The newest titles and messages with all words of `query`, below the place `before`.

    A part in quotes must stand as it is written; the last word, and each that ends in `*`, may go on.
    Raises `InvalidRequest` for a query without a letter or digit.
    """
    rows = connection.execute(
        "SELECT places.id, session_id, message_id, snippet(words, 0, '', '', '…', ?) FROM words"
        " JOIN places ON places.id = words.rowid WHERE words MATCH ? AND words.rowid < ?"
        " ORDER BY words.rowid DESC LIMIT ?",
        [SNIPPET_WORDS, _expression(query), _LAST_MS * _IN_A_MS if before is None else before, limit],
    )
    return [
        Hit(place, session_id, message_id or None, text.replace(_SEAM, ""))
        for place, session_id, message_id, text in rows
    ]


def _is_searched(message: Message) -> bool:
    return message.role in ("user", "assistant") and message.kind not in (NOTICE, INJECTED)


def _put_title(connection: sqlite3.Connection, session: Session) -> None:
    found = connection.execute(
        f"SELECT text FROM words WHERE rowid = {_PLACE}", [session.session_id, TITLE]
    ).fetchone()
    if (found[0] if found else "") != _seamed(session.title):
        _delete(connection, session.session_id, TITLE)
        _insert(connection, session.session_id, TITLE, session.created_at, session.title)


def _insert(
    connection: sqlite3.Connection, session_id: str, message_id: int, time_s: float, text: str
) -> None:
    if not text or text == ERASED:
        return
    start = min(max(int(time_s * 1000), 0), _LAST_MS - 1) * _IN_A_MS
    taken = "SELECT max(id) FROM places WHERE id >= ? AND id < ?"
    last = connection.execute(taken, [start, start + _IN_A_MS]).fetchone()[0]
    place = start if last is None else last + 1
    connection.execute("INSERT INTO places VALUES (?, ?, ?)", [place, session_id, message_id])
    connection.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", [place, _seamed(text)])


def _delete(connection: sqlite3.Connection, session_id: str, message_id: int) -> None:
    for table, column in (("words", "rowid"), ("places", "id")):
        connection.execute(f"DELETE FROM {table} WHERE {column} = {_PLACE}", [session_id, message_id])


def _seamed(text: str) -> str:
    """`text` with letters of scripts without spaces apart, so that each is a word of its own."""
    if text.isascii():
        return text
    return _UNSPACED.sub(rf"{_SEAM}\g<0>{_SEAM}", text)


def _expression(query: str) -> str:
    terms = list(_terms(query))
    if not terms:
        raise InvalidRequest("Search for a word: at least one letter or digit.")
    return " ".join(terms[:TERMS_LIMIT])


def _terms(query: str) -> Iterator[str]:
    """Each word or quoted part of a query in the language of FTS5; within its quotes nothing is special."""
    found = list(_TERM.finditer(query.replace("\0", " ")))
    for match in found:
        quoted, word = match.group(1, 2)
        text = quoted if word is None else word
        if not any(map(str.isalnum, text)):
            continue
        may_go_on = word is not None and (word[-1] == "*" or (match is found[-1] and word[-1].isalnum()))
        yield f'"{_seamed(text)}"' + ("*" if may_go_on else "")
