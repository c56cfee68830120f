"""What a conversation has spent: sums over its turns and over the calls made beside them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from api.sessions.model import RUNNING, Session, TurnRecord
from api.sessions.shapes import is_amount

COUNTS = ("input_tokens", "output_tokens", "cache_read_tokens", "reasoning_tokens")


def spent(session: Session) -> dict[str, Any]:
    """Sums over every call there was; None where none gave a number. Undo never lowers them."""
    return totals(session.turns, [entry for _, entry in others(session)])


def by_model(session: Session) -> list[dict[str, Any]]:
    """The same for the turns of each model."""
    return grouped([turn for turn in session.turns if not turn.is_copied], "model")


def context_tokens(session: Session) -> int | None:
    """How full the context was after the last turn that said so."""
    last = next((turn.usage for turn in reversed(session.turns) if turn.usage), None) or {}
    return last.get("context_tokens")


def note_other(session: Session, kind: str, day: str, usage: Mapping[str, Any] | None) -> None:
    """Count a model call that belongs to no turn; `day` as YYYY-MM-DD, None for one without numbers."""
    days = session.other_usage.get(kind)
    days = days if isinstance(days, dict) else {}
    before = days.get(day)
    before = before if isinstance(before, dict) else {}
    news = {"calls": 1, "unknown_calls": int(usage is None), **(usage or {})}
    sums = {
        name: total((before.get(name), news.get(name)))
        for name in ("calls", "unknown_calls", *COUNTS, "cost")
    }
    known = {name: number for name, number in sums.items() if number is not None}
    session.other_usage[kind] = {**days, day: {**before, **known}}


def others(session: Session) -> list[tuple[str, Mapping[str, Any]]]:
    """The calls that belong to no turn: day and sums, those of damaged entries left out."""
    kinds = [days for days in session.other_usage.values() if isinstance(days, dict)]
    return [(day, entry) for days in kinds for day, entry in days.items() if isinstance(entry, dict)]


def total(numbers: Iterable[Any]) -> Any:
    """The sum of the amounts among `numbers`; None, which means unknown, where there is none."""
    known = [n for n in numbers if is_amount(n)]
    return sum(known) if known else None


def grouped(turns: Iterable[TurnRecord], name: str) -> list[dict[str, Any]]:
    """Sums over the turns of each model or agent, in the order of their names; None for unknown ones."""
    groups: dict[str | None, list[TurnRecord]] = {}
    for turn in turns:
        groups.setdefault(getattr(turn, name) or None, []).append(turn)
    return [{name: group, **totals(groups[group])} for group in sorted(groups, key=lambda g: g or "")]


def totals(records: Sequence[TurnRecord], other: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """Sums over turns, copied ones left out, and over entries made by `note_other`."""
    turns = [turn for turn in records if not turn.is_copied]
    usages = [turn.usage or {} for turn in turns] + list(other)
    sums: dict[str, Any] = {name: total(usage.get(name) for usage in usages) for name in COUNTS}
    sums["total_tokens"] = total((sums["input_tokens"], sums["output_tokens"]))
    sums["estimated_cost"] = total(usage.get("cost") for usage in usages)
    sums["cost_status"] = "unknown" if sums["estimated_cost"] is None else "estimated"
    sums["turns"] = len(turns)
    sums["unknown_turns"] = sum(
        turn.state != RUNNING and (turn.usage or {}).get("input_tokens") is None for turn in turns
    )
    return sums
