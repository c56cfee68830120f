"""What every memory provider offers, and the values that go in and out of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from api.errors import TalariaError
from api.events import Event

PREFERENCE, FACT, PROJECT, INSTRUCTION = "preference", "fact", "project", "instruction"
KINDS = (PREFERENCE, FACT, PROJECT, INSTRUCTION)
ACTIVE, SUGGESTED, WITHDRAWN, DELETED = "active", "suggested", "withdrawn", "deleted"
STATES = (ACTIVE, SUGGESTED, WITHDRAWN, DELETED)
USER, TOOL_TEXT = "user", "tool_text"
FACT_LIMIT = 400
RECALL_LIMIT = 6

# Asks the model of the session: a prompt and the JSON Schema that its answer shall have; the answer's text.
# Raises `AgentError` where the model cannot be asked.
Ask = Callable[[str, Mapping[str, Any]], str]


class MemoryFailed(TalariaError):
    """A provider could not do what it was asked; the work stays and is repeated."""

    status, code = 503, "unavailable"


@dataclass(frozen=True, slots=True)
class Source:
    """Where a fact was said; `message_id` None for one that no single message tells."""

    session_id: str
    turn_id: str | None = None
    message_id: int | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that is remembered. `origin` tells whose words it comes from; times in Unix seconds.

    `state`: active ones are recalled; a suggested one waits for the user's word; a withdrawn one was said
    in a turn that was undone; a deleted one stays as a mark that the same is not learned again.
    """

    id: str
    text: str
    kind: str = FACT
    created_at: float = 0.0
    source: Source | None = None
    state: str = ACTIVE
    origin: str = USER


def told(recalled: Sequence[Fact] = (), written: Sequence[Fact] = ()) -> Event:
    """Tells readers of a turn which facts it was given, and which ones the model has kept in it."""
    return Event("memory", {"recalled": [*map(_shown, recalled)], "written": [*map(_shown, written)]})


def _shown(fact: Fact) -> dict[str, Any]:
    return {"id": fact.id, "text": fact.text, "kind": fact.kind, "state": fact.state}


@dataclass(frozen=True, slots=True)
class Entry:
    """One message of a turn as memory is told it, in the order of the conversation."""

    turn_id: str
    message_id: int
    role: str
    text: str
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CommitResult:
    """What a boundary has taught: the facts that were written, merged ones not counted."""

    facts: Sequence[Fact] = ()


@dataclass(frozen=True, slots=True)
class Health:
    """Whether a provider works now, and if not why not; `facts` is None where it cannot be counted.

    `last_commit_at` is when it last took a batch, Unix seconds; None where it does not know.
    """

    is_healthy: bool
    reason: str | None = None
    facts: int | None = None
    last_commit_at: float | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """In which turn a tool is called, and all that the user has typed on the line so far."""

    source: Source
    user_text: str = ""


def text_argument(arguments: Any, name: str) -> str:
    """A text among the arguments of a tool. Raises `ValueError`."""
    if not isinstance(arguments, Mapping) or not isinstance(arguments.get(name), str):
        raise ValueError(f"{name} must be a text")
    return str(arguments[name])


@dataclass(frozen=True, slots=True)
class Did:
    """What a tool says to the model, and the facts that it has kept."""

    text: str
    written: Sequence[Fact] = ()


@dataclass(frozen=True, slots=True)
class MemoryTool:
    """A function that the model may call: `parameters` is a JSON Schema.

    `run` raises `ValueError` for arguments that it does not understand.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    run: Callable[[Asked, Any], Did]


class MemoryProvider(Protocol):
    """A place that remembers. Every method may be called from any thread, and may raise `MemoryFailed`.

    `remembers` is False for the one that stands for no memory at all.
    """

    name: str
    remembers: bool

    def recall(self, query: str, session_id: str, limit: int) -> Sequence[Fact]:
        """The facts that help to answer `query`, best first, at most `limit`."""

    def sync_turn(self, session_id: str, turn_id: str, entries: Sequence[Entry]) -> None:
        """Take note of a completed turn; nothing is learned yet."""

    def on_session_end(
        self, session_id: str, batch_id: str, entries: Sequence[Entry], ask: Ask | None
    ) -> CommitResult:
        """Learn from the turns of a batch; the same `batch_id` again stores nothing twice.

        `ask` is None where the model of the session is too weak to be asked.
        """

    def on_turns_undone(self, session_id: str, turn_ids: Sequence[str]) -> None:
        """Withdraw what was learned in these turns alone. Idempotent."""

    def on_turns_restored(self, session_id: str, turn_ids: Sequence[str]) -> None:
        """Bring back what was withdrawn with these turns. Idempotent."""

    def on_message_erased(self, session_id: str, message_id: int) -> None:
        """Withdraw the facts that name this message, and keep nothing of their words. Idempotent."""

    def tools(self) -> Sequence[MemoryTool]: ...

    def facts(
        self, query: str = "", state: str | None = None, before: str | None = None, limit: int = 50
    ) -> tuple[Sequence[Fact], str | None]:
        """Facts, newest first, and the cursor of the next page; deleted ones only where `state` asks."""

    def known(self, fact_ids: Sequence[str]) -> Sequence[Fact]:
        """The facts with these ids, in any state; those that are not there are left out."""

    def learned_in(self, session_id: str) -> Mapping[str, Sequence[str]]:
        """The ids of the facts that each turn of a session has taught; undone turns are left out."""

    def add(self, text: str, kind: str, source: Source | None = None, origin: str = USER) -> Fact: ...

    def update(self, fact_id: str, text: str | None, kind: str | None) -> Fact: ...

    def delete(self, fact_id: str) -> Fact:
        """Forget a fact and leave a mark: the same, said again, is not learned. Raises `NotFound`."""

    def restore(self, fact_id: str) -> Fact:
        """Bring a deleted or withdrawn fact back. Raises `NotFound`."""

    def accept(self, fact_id: str) -> Fact: ...

    def refuse(self, fact_id: str) -> Fact: ...

    def health(self) -> Health: ...

    def close(self) -> None: ...
