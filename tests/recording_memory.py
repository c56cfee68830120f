"""A provider that remembers what it was told, and does as a test says: fail, hang, store and then fail."""

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from api.memory.base import Ask, CommitResult, Entry, Fact, MemoryFailed
from api.memory.none import NoMemory

FAIL, STORE_AND_FAIL = "fail", "store and fail"
WAIT_S = 20.0
Step = str | threading.Event | BaseException


@dataclass(frozen=True)
class Commit:
    session_id: str
    batch_id: str
    turns: tuple[str, ...]
    texts: tuple[str, ...]


@dataclass
class RecordingMemory(NoMemory):
    """`stored` maps each batch that was taken to its turns; `holds` is what it knows: session and turn."""

    commits: list[Commit] = field(default_factory=list)
    stored: dict[str, tuple[str, ...]] = field(default_factory=dict)
    holds: set[tuple[str, str]] = field(default_factory=set)
    erased: list[tuple[str, int]] = field(default_factory=list)
    synced: list[tuple[str, str]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    knows: list[Fact] = field(default_factory=list)
    steps: deque[Step] = field(default_factory=deque)
    begun: threading.Event = field(default_factory=threading.Event)
    undo_steps: deque[Step] = field(default_factory=deque)
    undo_begun: threading.Event = field(default_factory=threading.Event)
    name = "recording"
    remembers = True

    def recall(self, query: str, session_id: str, limit: int) -> Sequence[Fact]:
        self.asked.append(query)
        return self.knows[:limit]

    def sync_turn(self, session_id: str, turn_id: str, entries: Sequence[Entry]) -> None:
        self.synced.append((session_id, turn_id))

    def on_session_end(
        self, session_id: str, batch_id: str, entries: Sequence[Entry], ask: Ask | None
    ) -> CommitResult:
        turns = tuple(dict.fromkeys(entry.turn_id for entry in entries))
        self.commits.append(Commit(session_id, batch_id, turns, tuple(entry.text for entry in entries)))
        step = self.steps.popleft() if self.steps else None
        self.begun.set()
        if isinstance(step, threading.Event):
            assert step.wait(WAIT_S), "the test never opened this gate"
        if isinstance(step, BaseException):
            raise step
        if step == FAIL:
            raise MemoryFailed("memory is down")
        if batch_id not in self.stored:
            self.stored[batch_id] = turns
            self.holds |= {(session_id, turn_id) for turn_id in turns}
        if step == STORE_AND_FAIL:
            raise MemoryFailed("memory broke off")
        return CommitResult()

    def on_turns_undone(self, session_id: str, turn_ids: Sequence[str]) -> None:
        step = self.undo_steps.popleft() if self.undo_steps else None
        if step == FAIL:
            raise MemoryFailed("memory is down")
        self.holds -= {(session_id, turn_id) for turn_id in turn_ids}
        if isinstance(step, threading.Event):
            self.undo_begun.set()
            assert step.wait(WAIT_S), "the test never opened this gate"

    def on_turns_restored(self, session_id: str, turn_ids: Sequence[str]) -> None:
        known = {turn_id for turns in self.stored.values() for turn_id in turns}
        self.holds |= {(session_id, turn_id) for turn_id in turn_ids if turn_id in known}

    def on_message_erased(self, session_id: str, message_id: int) -> None:
        self.erased.append((session_id, message_id))

    def batches(self) -> list[tuple[str, tuple[str, ...]]]:
        return [(commit.batch_id, commit.turns) for commit in self.commits]
