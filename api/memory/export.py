"""All facts as a file to take away."""

from collections.abc import Iterator
from dataclasses import asdict

import orjson

from api.clock import day_of
from api.memory.base import ACTIVE, KINDS, Fact, MemoryProvider

FORMATS = {"json": "application/json", "md": "text/markdown"}
_HEADINGS = {
    "preference": "Preferences",
    "fact": "Facts",
    "project": "Projects",
    "instruction": "Instructions",
}


def exported(provider: MemoryProvider, format: str) -> bytes:
    """Every fact that is not deleted, as JSON; as Markdown those that count. Raises `MemoryFailed`."""
    if format == "json":
        facts = [asdict(fact) for fact in _all(provider)]
        return orjson.dumps({"facts": facts}, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    lines = ["# What Talaria remembers"]
    facts_by_kind = list(_all(provider, ACTIVE))
    for kind in KINDS:
        chosen = [fact for fact in facts_by_kind if fact.kind == kind]
        if chosen:
            lines += ["", f"## {_HEADINGS[kind]}", "", *map(_line, chosen)]
    return ("\n".join(lines) + "\n").encode()


def _line(fact: Fact) -> str:
    return f"- {fact.text} ({day_of(fact.created_at).isoformat()})"


def _all(provider: MemoryProvider, state: str | None = None) -> Iterator[Fact]:
    before: str | None = None
    while True:
        facts, before = provider.facts("", state, before, 500)
        yield from facts
        if before is None:
            return
