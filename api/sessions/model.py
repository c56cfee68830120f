"""A conversation: metadata, an append-only tree of messages with a head, its turns and its queue."""

import copy
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from api.errors import NotFound

SCHEMA_VERSION = 1
ERASED = "[erased]"
COPIED = "copied"
CHAT, COMPRESS = "chat", "compress"
SUMMARY, NOTICE, INJECTED, STEER = "summary", "notice", "injected", "steer"
RUNNING, DONE, STOPPED, FAILED, INTERRUPTED = "running", "done", "stopped", "failed", "interrupted"

_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,127}\Z")
_DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])\Z")


def is_session_id(value: object) -> bool:
    """Whether `value` can be a session id, and so a file name on every platform."""
    return isinstance(value, str) and bool(_ID.match(value)) and not _DEVICE.match(value)


@dataclass(frozen=True, slots=True)
class Message:
    """One immutable entry of the tree. `extra` holds the optional fields, known to us or not."""

    id: int
    parent: int | None
    role: str
    content: Any
    timestamp: float
    turn: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str | None:
        return self.extra.get("kind")

    @property
    def is_typed(self) -> bool:
        """Whether a person wrote it: role user, and none of the kinds that are made for the model."""
        return self.role == "user" and self.kind is None

    @property
    def covers(self) -> int:
        """The last message that a summary stands for; 0 where it stands for none."""
        return int(self.extra.get("covers") or 0)


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """What the file remembers of a turn. `user` is the id of the message that set it off, if one did.

    `owner` names the agent whose work it is, `<agent>/<endpoint or profile>`; `generation` counts the
    completed turns of which memory shall hear; `memory` is the batch in which it did, or `withdrawn`.
    """

    id: str
    user: int | None
    kind: str = CHAT
    state: str = RUNNING
    started_at: float = 0.0
    finished_at: float | None = None
    agent: str | None = None
    model: str | None = None
    usage: Mapping[str, Any] | None = None
    error: Mapping[str, Any] | None = None
    recalled: Sequence[Any] = ()
    client_id: str | None = None
    generation: int | None = None
    owner: str | None = None
    memory: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_copied(self) -> bool:
        """Whether it ran in the chat that this one was copied from, and was paid there."""
        return bool(self.extra.get(COPIED))


@dataclass(frozen=True, slots=True)
class QueueItem:
    """A text that waits for the running turn to end; its turn id is fixed from birth."""

    turn_id: str
    content: Any
    queued_at: float
    client_id: str | None = None
    attachments: Sequence[Any] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ActiveTurn:
    """The turn that runs, and the process it runs in. `prior_head` is where a regenerate came from."""

    turn_id: str
    boot_id: str
    started_at: float
    kind: str = CHAT
    prior_head: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Session:
    """One conversation. Its messages are only ever appended; undo, redo and variants move `head`."""

    session_id: str
    schema_version: int = SCHEMA_VERSION
    title: str = ""
    title_source: str = "auto"
    created_at: float = 0.0
    updated_at: float = 0.0
    ended_at: float | None = None
    end_reason: str | None = None
    agent: str | None = None
    endpoint: str | None = None
    model: str | None = None
    profile: str | None = None
    workspace: str | None = None
    cwd: str | None = None
    personality: str | None = None
    system_prompt: str | None = None
    launch: dict[str, Any] = field(default_factory=dict)
    seen: int = 0
    yolo: bool = False
    memory_off: bool = False
    temporary: bool = False
    pinned: bool = False
    archived: bool = False
    project: str | None = None
    tags: list[str] = field(default_factory=list)
    source: dict[str, Any] = field(default_factory=lambda: {"kind": "web"})
    parent: dict[str, Any] | None = None
    external_session_id: str | None = None
    revision: int = 0
    execution_generation: int = 0
    head: int | None = None
    redo: list[int] = field(default_factory=list)
    tips: dict[str, int] = field(default_factory=dict)
    next_turn: int = 1
    active_turn: ActiveTurn | None = None
    queue: list[QueueItem] = field(default_factory=list)
    other_usage: dict[str, Any] = field(default_factory=dict)
    receipts: dict[str, Any] = field(default_factory=dict)
    memory: dict[str, Any] = field(default_factory=dict)
    turns: list[TurnRecord] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)

    def copy(self) -> "Session":
        """A copy that can be changed freely; messages and turns are immutable and shared."""
        twin = copy.copy(self)
        for name in _LISTS:
            setattr(twin, name, list(getattr(self, name)))
        for name in _DICTS:
            setattr(twin, name, copy.deepcopy(getattr(self, name)))
        return twin

    def message(self, message_id: int) -> Message:
        """The message with this id; raises `NotFound`."""
        # Ids count up from 1 and nothing is removed, so the place follows from the id.
        if 1 <= message_id <= len(self.messages):
            return self.messages[message_id - 1]
        raise NotFound(f"This chat has no message {message_id}.")

    def line(self, head: int | None = None) -> list[Message]:
        """The messages from the root to `head`, by default the active line."""
        at = self.head if head is None else head
        line = []
        while at is not None:
            message = self.message(at)
            line.append(message)
            at = message.parent
        line.reverse()
        return line

    def append(
        self,
        role: str,
        content: Any,
        timestamp: float,
        turn: str | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> Message:
        """Add a message under the head and move the head to it."""
        message = Message(len(self.messages) + 1, self.head, role, content, timestamp, turn, extra or {})
        self.messages.append(message)
        self.head = message.id
        return message

    def take_turn_id(self) -> str:
        """A turn id that this session has never given out."""
        turn_id = f"t{self.next_turn}"
        self.next_turn += 1
        return turn_id

    @property
    def newest_turn_id(self) -> str:
        return f"t{self.next_turn - 1}"

    def turn(self, turn_id: str) -> TurnRecord:
        """The turn with this id; raises `NotFound`."""
        for record in reversed(self.turns):
            if record.id == turn_id:
                return record
        raise NotFound(f"This chat has no turn {turn_id}.")

    def has_waiting(self, turn_id: str) -> bool:
        """Whether the text of this turn still waits in the queue."""
        return any(item.turn_id == turn_id for item in self.queue)

    def update_turn(self, turn_id: str, **changes: Any) -> TurnRecord:
        """Put changed values into the record of a turn."""
        place = self.turns.index(self.turn(turn_id))
        self.turns[place] = replace(self.turns[place], **changes)
        return self.turns[place]

    def shown(self) -> list[Message]:
        """What a person counts on the active line: typed messages and replies."""
        return [message for message in self.line() if message.is_typed or message.role == "assistant"]

    def last_typed(self) -> Message | None:
        """The last message on the active line that a person wrote."""
        return next((message for message in reversed(self.line()) if message.is_typed), None)


def last_summary(line: Sequence[Message]) -> Message | None:
    """The summary that a model gets in place of what it covers, if this line has one."""
    return next((message for message in reversed(line) if message.kind == SUMMARY), None)


_LISTS = ("tags", "redo", "queue", "turns", "messages")
_DICTS = tuple(f.name for f in fields(Session) if str(f.type).startswith("dict"))


def seen_by_readers(session: Session) -> tuple[Any, ...]:
    """What a reader of the conversation sees; `revision` grows whenever it changes."""
    title = session.title if session.title_source == "user" else None
    flags = (session.yolo, session.memory_off, session.agent, session.endpoint, session.model)
    return (title, session.head, session.redo, session.queue, session.active_turn, flags, session.messages)


def seen_by_runs(session: Session) -> tuple[Any, ...]:
    """What a start or an end of a turn and a head move change; `execution_generation` grows with it."""
    turn = session.active_turn.turn_id if session.active_turn else None
    return (session.head, turn)


def is_shorter(new: Session, old: Session) -> bool:
    """Whether `new` lost or changed a message of `old`; only erased words may differ."""
    if len(new.messages) < len(old.messages):
        return True
    pairs = zip(old.messages, new.messages, strict=False)
    return any(a is not b and not _is_erased(a, b) for a, b in pairs)


def _is_erased(old: Message, new: Message) -> bool:
    return (new.id, new.parent, new.role, new.content) == (old.id, old.parent, old.role, ERASED)
