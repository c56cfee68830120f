"""Erase: the words of one message become `[erased]`, in its session and in every copy of it."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from typing import Any

from api.errors import NotFound, TalariaError
from api.sessions import segments
from api.sessions.blobs import PREFIX, Blobs, digests_in
from api.sessions.catalog import Catalog
from api.sessions.copying import copied_as
from api.sessions.model import ERASED, Session
from api.sessions.store import SessionStore

_WITHOUT_WORDS = ("tool_call_id", "name", "status", "kind", "covers", "is_error", "source")
# Files of a message that is being erased, by their bare digests: so written they keep no file alive.
_LEFT = "files_to_remove"

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class _Copy:
    """Where a copy of a message lies, and the way to change it."""

    place: Place
    edit: AbstractContextManager[Session]


def erase(session: Session, message_id: int) -> None:
    """Take the words out of a message, its reasoning, attachments and the arguments of its calls too.

    A title that was made of the conversation goes with them. Raises `NotFound`.
    """
    message = session.message(message_id)
    extra = {name: message.extra[name] for name in _WITHOUT_WORDS if name in message.extra}
    if message.extra.get("tool_calls"):
        extra["tool_calls"] = [_without_arguments(call) for call in message.extra["tool_calls"]]
    session.messages[message_id - 1] = replace(message, content=ERASED, extra=extra)
    if session.title_source == "auto":
        session.title = ""
    segments.ask_to_erase(session, message_id)


def _change_extra(session: Session, message_id: int, more: dict[str, Any]) -> None:
    """Give a message `more` in place of the files that it notes."""
    message = session.message(message_id)
    extra = {name: value for name, value in message.extra.items() if name != _LEFT}
    session.messages[message_id - 1] = replace(message, extra={**extra, **more})


def _is_late(source: Session, message_id: int, twin: Session, place: int) -> bool:
    return bool(source.message(message_id).content == ERASED != twin.message(place).content)


def _without_arguments(call: dict[str, object]) -> dict[str, object]:
    function = call.get("function")
    name = function.get("name") if isinstance(function, dict) else None
    return {"id": call["id"], "type": "function", "function": {"name": name, "arguments": "{}"}}


class Eraser:
    """Finds a message and its copies wherever they lie: session files, the trash, the catalog."""

    def __init__(self, store: SessionStore, catalog: Catalog, blobs: Blobs) -> None:
        self._store = store
        self._blobs = blobs
        self._catalog = catalog

    def begin(self, session: Session, message_id: int) -> None:
        """Erase a message in its own session, which notes its files until `finish`. Raises `NotFound`."""
        message = session.message(message_id)
        files = message.extra.get(_LEFT) or sorted(digests_in([message.content, message.extra]))
        erase(session, message_id)
        if files:
            _change_extra(session, message_id, {_LEFT: files})

    def finish(self, session: Session, message_id: int) -> Session:
        """Leave nothing of a message, after all its copies are erased, in the catalog and the blobs.

        The session as it is then. Raises `StorageFailed`.
        """
        files = session.message(message_id).extra.get(_LEFT) or []
        self._scrub([f"{PREFIX}{digest}" for digest in files])
        if not files:
            return session
        with self._store.edit(session.session_id) as cleared:
            _change_extra(cleared, message_id, {})
        return cleared

    def spread(self, session_id: str, message_id: int) -> list[Place]:
        """Erase all copies of a message, and copies of those; the places where they lay.

        Damaged files are left as they are. Raises `StorageFailed`.
        """
        done: list[Place] = []
        sources = [(session_id, message_id)]
        while sources:
            source = sources.pop()
            while found := [copy for copy in self._copies(*source) if copy.place not in done]:
                for copy in found:
                    if copy.place in done:
                        continue
                    # A copy that is deleted or restored meanwhile is found at its new place.
                    with suppress(NotFound), copy.edit as session:
                        erase(session, copy.place[1])
                        done.append(copy.place)
                        sources.append(copy.place)
        return done

    def catch_up(self, twin: Session) -> Session:
        """Erase in a new copy what was erased in its source while it was made; the copy as it is then.

        An erase that comes later finds the copy by itself.
        """
        parent = twin.parent or {}
        source = self._wherever(parent["session_id"])
        copied = enumerate(parent["messages"], start=1)
        late = [place for place, message_id in copied if source and _is_late(source, message_id, twin, place)]
        if not late:
            return twin
        with self._store.edit(twin.session_id) as session:
            for place in late:
                erase(session, place)
        for place in late:
            message = twin.message(place)
            self._scrub([message.content, message.extra])
        return session

    def _wherever(self, session_id: str) -> Session | None:
        """A session, also from the trash; None where nobody can read it."""
        with suppress(TalariaError):
            return self._store.load(session_id)
        with suppress(TalariaError, IndexError):
            return self._store.load_trashed(self._store.trashed(session_id)[-1])
        return None

    def _scrub(self, named: Any) -> None:
        self._blobs.drop(named)
        self._catalog.scrub()

    def _copies(self, session_id: str, message_id: int) -> Iterator[_Copy]:
        yield from self._listed(session_id, message_id)
        for entry in self._store.trashed():
            with suppress(TalariaError):
                copied = copied_as(self._store.load_trashed(entry), session_id, message_id)
                if copied:
                    yield _Copy((entry.session_id, copied), self._store.edit_trashed(entry))
        # A copy that was restored in between was in neither place.
        yield from self._listed(session_id, message_id)

    def _listed(self, session_id: str, message_id: int) -> Iterator[_Copy]:
        for name in self._catalog.copies_of(session_id):
            with suppress(TalariaError):
                copied = copied_as(self._store.load(name), session_id, message_id)
                if copied:
                    yield _Copy((name, copied), self._store.edit(name))
