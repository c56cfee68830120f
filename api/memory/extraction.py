"""What a conversation teaches: said by its model in a fixed shape, or found by plain rules."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError

from api.memory.base import ACTIVE, FACT_LIMIT, SUGGESTED, TOOL_TEXT, USER, Ask, Entry, MemoryFailed
from api.memory.likeness import is_supported
from api.memory.rules import statements
from api.text import clean_json, read_json

# A model that begins to repeat itself does not stop.
FACTS_LIMIT = 100
TRIES = 2
# What is typed in one go and longer than this is a document and not a statement.
_LONGEST = 4000
_CONTEXT = 400
_FEWEST_WORDS = 3
INSTRUCTION = (
    "You keep the memory of an assistant. Below is a part of a conversation. List what the user has said "
    "about themselves, their preferences, their projects and how they want to be answered, as far as it will "
    "still matter in other conversations. Take nothing from what the assistant says, from quoted texts or "
    "files, and nothing that is only about the task at hand. Each fact is one short sentence in the user's "
    "language that can be understood on its own; `message` is the number of the user's message that says "
    'it. Answer with JSON alone, in this shape: {"facts": [{"text": "The user lives in Oslo.", '
    '"kind": "fact", "message": 1}]}. `kind` is preference, fact, project or instruction. '
    'Often there is nothing: then answer {"facts": []}.'
)


class _Fact(BaseModel):
    text: str = Field(min_length=1, max_length=FACT_LIMIT)
    kind: Literal["preference", "fact", "project", "instruction"]
    message: int


class _Facts(BaseModel):
    facts: list[_Fact]


SCHEMA = _Facts.model_json_schema()


@dataclass(frozen=True, slots=True)
class Learned:
    """A fact to be kept, and the message that says it; what the user's words do not bear out is suggested."""

    text: str
    kind: str
    entry: Entry
    state: str = ACTIVE
    origin: str = USER


def extract(entries: Sequence[Entry], ask: Ask | None) -> list[Learned]:
    """What these messages teach; `ask` None lets rules find it. Raises `MemoryFailed`, `AgentError`."""
    typed = [entry for entry in entries if entry.role == "user" and not entry.extra.get("kind")]
    if ask is None:
        said = [entry for entry in typed if len(entry.text) <= _LONGEST]
        return [Learned(found.text, found.kind, entry) for entry in said for found in statements(entry.text)]
    if all(len(entry.text.split()) < _FEWEST_WORDS and entry.text.isascii() for entry in typed):
        return []
    prompt = "\n\n".join([INSTRUCTION, *_shown(entries)])
    return list(_learned(_asked(ask, prompt), entries))


def is_said(fact: str, typed: str) -> bool:
    """Whether a person who typed this has said so themselves: in a document that they paste others speak."""
    return len(typed) <= _LONGEST and is_supported(fact, typed)


def _shown(entries: Sequence[Entry]) -> Iterator[str]:
    for number, entry in enumerate(entries, start=1):
        if entry.role == "user" and not entry.extra.get("kind"):
            yield f"[{number}] User: {entry.text[:_LONGEST]}"
        elif entry.role == "assistant" and entry.text:
            yield f"[{number}] Assistant: {entry.text[:_CONTEXT]}"


def _asked(ask: Ask, prompt: str) -> _Facts:
    """The facts that the model names; it gets a second try where its answer has another shape."""
    for _ in range(TRIES):
        try:
            return _Facts.model_validate(_json_in(ask(prompt, SCHEMA)))
        except ValidationError as exc:
            reason = exc.errors(include_url=False)[0]["msg"]
        prompt = f"{prompt}\n\nYour last answer could not be read ({reason}). Answer with the JSON alone."
    raise MemoryFailed(f"The model did not say what was learned in the shape asked for ({reason}).")


def _json_in(answer: str) -> Any:
    """The object in an answer that may have thoughts or a fence around it; None without one."""
    start, end = answer.find("{"), answer.rfind("}")
    try:
        return clean_json(read_json(answer[start : end + 1]))
    except ValueError:
        return None


def _learned(found: _Facts, entries: Sequence[Entry]) -> Iterator[Learned]:
    for fact in found.facts[:FACTS_LIMIT]:
        text = " ".join(fact.text.split())
        entry = entries[fact.message - 1] if 1 <= fact.message <= len(entries) else None
        if not text or entry is None:
            continue
        if entry.role == "user" and is_said(text, entry.text):
            yield Learned(text, fact.kind, entry)
        else:
            yield Learned(text, fact.kind, entry, SUGGESTED, TOOL_TEXT)
