"""A session as lists show it, and which ones a list shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from api.sessions.content import snippet_of
from api.sessions.model import Session
from api.sessions.store import Stamp


@dataclass(frozen=True, slots=True)
class Row:
    """A session as a list shows it. `queued` counts waiting texts; times in Unix seconds."""

    session_id: str
    title: str = ""
    snippet: str = ""
    created_at: float = 0.0
    updated_at: float = 0.0
    message_count: int = 0
    agent: str | None = None
    model: str | None = None
    pinned: bool = False
    archived: bool = False
    project: str | None = None
    tags: Sequence[str] = ()
    source: Any = None
    running: bool = False
    queued: int = 0
    unread: bool = False
    damaged: bool = False
    revision: int = 0


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list; `next` is the cursor of the following page, None on the last."""

    rows: Sequence[Row]
    next: str | None
    total: int


@dataclass(frozen=True, slots=True)
class Filter:
    """Which sessions a list shows; None stands for all."""

    project: str | None = None
    tag: str | None = None
    pinned: bool | None = None

    def sql(self) -> tuple[str, list[Any]]:
        """Conditions for the table of sessions, and their values."""
        conditions = {
            " AND json_extract(row, '$.project') = ?": self.project,
            " AND EXISTS (SELECT 1 FROM json_each(row, '$.tags') WHERE value = ?)": self.tag,
            " AND pinned = ?": self.pinned,
        }
        chosen = {text: value for text, value in conditions.items() if value is not None}
        return "".join(chosen), list(chosen.values())


EVERYTHING = Filter()


@dataclass(frozen=True, slots=True)
class Facets:
    """How many sessions each project and each tag has."""

    projects: Mapping[str, int]
    tags: Mapping[str, int]


def row_of(session: Session) -> Row:
    """The row that a list shows for a session."""
    shown = session.shown()
    last_reply = next((m.id for m in reversed(shown) if m.role == "assistant"), 0)
    return Row(
        session_id=session.session_id,
        title=session.title,
        snippet=next(filter(None, (snippet_of(m.content) for m in reversed(shown))), ""),
        created_at=session.created_at,
        updated_at=session.updated_at,
        message_count=len(shown),
        agent=session.agent,
        model=session.model,
        pinned=bool(session.pinned),
        archived=bool(session.archived),
        project=session.project,
        tags=session.tags,
        source=session.source,
        running=session.active_turn is not None,
        queued=len(session.queue),
        unread=last_reply > session.seen,
        revision=session.revision,
    )


def damaged_row(session_id: str, stamp: Stamp) -> Row:
    """The row of a session whose file cannot be read."""
    seconds = stamp[2] / 1e9
    return replace(Row(session_id), title=session_id, damaged=True, created_at=seconds, updated_at=seconds)
