"""A conversation made of a plain list of messages, each row checked before anything is written."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from api.sessions import shapes
from api.sessions.model import Session

ROLES = ("user", "assistant", "system", "tool")
_TEXTS = ("name", "reasoning", "tool_call_id")


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that cannot be a message: its place, counted from 1, and why."""

    position: int
    reason: str


def check(rows: Sequence[Any]) -> list[BadRow]:
    """What is wrong with `rows`; nothing where all of them can be messages."""
    called: set[str] = set()
    bad = []
    for position, row in enumerate(rows, start=1):
        reason = next(_reasons(row, called), None)
        if reason:
            bad.append(BadRow(position, reason))
        elif row.get("tool_calls"):
            called |= {call["id"] for call in row["tool_calls"]}
    return bad


def fill(session: Session, rows: Sequence[Mapping[str, Any]], now: float) -> None:
    """Append rows that `check` has passed; those without a time get that of the one before."""
    time_s = now
    for row in rows:
        time_s = float(row["timestamp"]) if row.get("timestamp") is not None else time_s
        extra = {name: row[name] for name in (*_TEXTS, "tool_calls") if row.get(name)}
        session.append(row["role"], row.get("content"), time_s, None, extra)
    session.seen = len(session.messages)


def _reasons(row: Any, called: set[str]) -> Iterator[str]:
    if not isinstance(row, Mapping):
        yield "a message is an object with a role and a content"
        return
    if row.get("role") not in ROLES:
        yield f"the role must be one of {', '.join(ROLES)}"
    yield from _content_reasons(row)
    time_s = row.get("timestamp")
    if time_s is not None and not shapes.is_time(time_s):
        yield "the timestamp must be a number of Unix seconds"
    for name in _TEXTS:
        if not isinstance(row.get(name), str | None):
            yield f"{name} must be a text"
    if row.get("tool_calls") and (row.get("role") != "assistant" or not _are_calls(row["tool_calls"])):
        yield "tool_calls must be a list of calls of the assistant, each with id and function"
    if row.get("role") == "tool" and row.get("tool_call_id") not in called:
        yield "a tool message needs the tool_call_id of a call before it"


def _content_reasons(row: Mapping[str, Any]) -> Iterator[str]:
    content = row.get("content")
    if content is None and row.get("role") == "assistant" and row.get("tool_calls"):
        return
    if isinstance(content, list):
        if not content or not all(_is_part(part) for part in content):
            yield "the content must be a list of parts, each with a type"
    elif not isinstance(content, str):
        yield "the content must be a text or a list of parts"


def _is_part(part: Any) -> bool:
    if not isinstance(part, Mapping) or not isinstance(part.get("type"), str):
        return False
    return part["type"] != "text" or isinstance(part.get("text"), str)


def _are_calls(calls: Any) -> bool:
    return shapes.MESSAGE["tool_calls"](calls) and all(
        isinstance(call.get("function"), dict) for call in calls
    )
