"""A session as a page shows it: its metadata, without the messages."""

from dataclasses import asdict
from typing import Any

from api.sessions.codec import record_to_json
from api.sessions.drafts import Drafts
from api.sessions.model import Session
from api.sessions.rows import row_of
from api.turns.runner import TurnRunner

_PLAIN = (
    *("title_source", "endpoint", "profile", "workspace", "cwd", "personality", "system_prompt"),
    *("yolo", "memory_off", "temporary", "head"),
)


class Shown:
    """Joins what the file, the runner and the draft of a session say."""

    def __init__(self, runner: TurnRunner, drafts: Drafts) -> None:
        self._runner = runner
        self._drafts = drafts

    def session(self, session: Session) -> dict[str, Any]:
        """The fields of its row in the list, and those that only an open session needs."""
        live = self._runner.active(session.session_id)
        plain = {name: getattr(session, name) for name in _PLAIN}
        return (
            asdict(row_of(session))
            | plain
            | {
                "running": live is not None,
                "parent": _parent(session),
                "active_turn": {"turn_id": live.turn_id, "stream_id": live.turn.stream_id} if live else None,
                "queue": [record_to_json(item) for item in session.queue],
                "draft": asdict(self._drafts.load(session.session_id)),
                "can_undo": session.last_typed() is not None,
                "can_redo": bool(session.redo),
            }
        )

    def changed(self, session: Session) -> dict[str, Any]:
        """The answer to a change of a session."""
        return {"ok": True, "session": self.session(session), "revision": session.revision}


def _parent(session: Session) -> dict[str, Any] | None:
    if not session.parent:
        return None
    return {name: session.parent.get(name) for name in ("session_id", "message_id")}
