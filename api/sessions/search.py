"""Search over all conversations: the words of the catalog, checked against what the files show."""

from collections.abc import Sequence
from dataclasses import dataclass

from api.errors import InvalidRequest, TalariaError
from api.sessions import tree
from api.sessions.catalog import Catalog
from api.sessions.model import Message, Session
from api.sessions.store import SessionStore
from api.sessions.words import Hit

_MORE = 2


@dataclass(frozen=True, slots=True)
class Result:
    """A place where the words stand. A title has no message; `undone` messages are on no shown line."""

    session_id: str
    title: str
    message_id: int | None
    role: str | None
    snippet: str
    match_type: str
    timestamp: float
    undone: bool


@dataclass(frozen=True, slots=True)
class Results:
    """One page of results, newest first; `next` is the cursor of the following one, None on the last."""

    results: Sequence[Result]
    next: str | None


@dataclass(frozen=True, slots=True)
class Scope:
    """What a search takes in beside the shown lines: archived chats, and lines that were undone."""

    archived: bool = False
    undone: bool = False


class Search:
    """Finds words in titles and in messages of the active lines and of their visible variants."""

    def __init__(self, store: SessionStore, catalog: Catalog) -> None:
        self._store = store
        self._catalog = catalog

    def find(self, query: str, limit: int, before: str | None = None, scope: Scope = Scope()) -> Results:
        """One page of at most `limit` results below the cursor `before`.

        Raises `InvalidRequest` for a query without a word or a cursor that is none.
        """
        results: list[Result] = []
        shown: dict[str, set[int]] = {}
        place = _place(before)
        while True:
            hits = self._catalog.find(query, limit * _MORE, place)
            for hit in hits:
                if len(results) == limit:
                    return Results(results, str(place))
                place = hit.place
                result = self._result(hit, scope, shown)
                if result:
                    results.append(result)
            if len(hits) < limit * _MORE:
                return Results(results, None)

    def _result(self, hit: Hit, scope: Scope, shown: dict[str, set[int]]) -> Result | None:
        """What a hit shows; None where its session is gone, unreadable or out of scope."""
        try:
            session = self._store.load(hit.session_id)
            message = session.message(hit.message_id) if hit.message_id else None
        except TalariaError:
            return None
        if session.archived and not scope.archived:
            return None
        if message is None:
            return _of_title(hit, session)
        if session.session_id not in shown:
            shown[session.session_id] = tree.visible(session)
        is_undone = message.id not in shown[session.session_id]
        return _of_message(hit, session, message, is_undone) if scope.undone or not is_undone else None


def _of_title(hit: Hit, session: Session) -> Result:
    return Result(
        session.session_id, session.title, None, None, hit.snippet, "title", session.created_at, False
    )


def _of_message(hit: Hit, session: Session, message: Message, is_undone: bool) -> Result:
    place = (session.session_id, session.title, message.id, message.role)
    return Result(*place, hit.snippet, "message", message.timestamp, is_undone)


def _place(before: str | None) -> int | None:
    if before is None:
        return None
    if not (before.isascii() and before.isdigit() and len(before) < 20 and int(before) < 2**63):
        raise InvalidRequest("`before` is no cursor of this search.")
    return int(before)
