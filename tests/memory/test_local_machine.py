"""The local memory under any order of batches, undos, deletions and restarts."""

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from api.clock import Clock
from api.memory.base import ACTIVE, DELETED, STATES, WITHDRAWN, Entry
from api.memory.local import LocalMemory

TEXTS = ("I like green tea.", "I don't like green tea.", "I live in Berlin.")
TEXT = st.sampled_from(TEXTS)
TURN = st.tuples(st.sampled_from(["s1", "s2"]), st.sampled_from(["t1", "t2", "t3"]))


@dataclass
class Known:
    """What is known of one fact: who said it, whether the user has made it theirs, or has deleted it."""

    said: list[tuple[tuple[str, str], bool]] = field(default_factory=list)
    is_own: bool = False
    is_deleted: bool = False

    @property
    def state(self) -> str:
        if self.is_deleted:
            return DELETED
        return ACTIVE if self.is_own or any(counts for _, counts in self.said) else WITHDRAWN

    def set_counts(self, turn: tuple[str, str], counts: bool) -> None:
        self.said = [(said, counts if said == turn else before) for said, before in self.said]


class LocalMachine(RuleBasedStateMachine):
    """The facts in the file are those of a simple model, in the same states."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.memory = LocalMemory(Path(self.folder.name), Clock())
        self.known: dict[str, Known] = {}
        self.batches: set[str] = set()

    def teardown(self) -> None:
        self.memory.close()
        self.folder.cleanup()

    def id_of(self, text: str) -> str | None:
        found = (self.memory.facts(state=state)[0] for state in STATES)
        return next((fact.id for facts in found for fact in facts if fact.text == text), None)

    @rule(text=TEXT, turn=TURN)
    def learn(self, text: str, turn: tuple[str, str]) -> None:
        session_id, turn_id = turn
        batch_id = f"{session_id}:{turn_id} {text}"
        self.memory.on_session_end(session_id, batch_id, [Entry(turn_id, 1, "user", text)], None)
        known = self.known.get(text)
        if batch_id not in self.batches and not (known and known.is_deleted):
            self.known.setdefault(text, Known()).said.append((turn, True))
        self.batches.add(batch_id)

    @rule(turn=TURN)
    def undo(self, turn: tuple[str, str]) -> None:
        self.memory.on_turns_undone(turn[0], [turn[1]])
        for known in self.known.values():
            known.set_counts(turn, False)

    @rule(turn=TURN)
    def redo(self, turn: tuple[str, str]) -> None:
        self.memory.on_turns_restored(turn[0], [turn[1]])
        for known in self.known.values():
            known.set_counts(turn, True)

    @rule(text=TEXT)
    def add(self, text: str) -> None:
        self.memory.add(text)
        known = self.known.setdefault(text, Known())
        known.is_own, known.is_deleted = True, False

    @rule(text=TEXT)
    def delete(self, text: str) -> None:
        if fact_id := self.id_of(text):
            self.memory.delete(fact_id)
            self.known[text].is_own, self.known[text].is_deleted = False, True

    @rule(text=TEXT)
    def restore(self, text: str) -> None:
        if fact_id := self.id_of(text):
            self.memory.restore(fact_id)
            self.known[text].is_own, self.known[text].is_deleted = True, False

    @rule()
    def restart(self) -> None:
        self.memory.close()
        self.memory = LocalMemory(Path(self.folder.name), Clock())

    @invariant()
    def the_file_says_what_the_model_says(self) -> None:
        found = {fact.text: state for state in STATES for fact in self.memory.facts(state=state)[0]}
        assert found == {text: known.state for text, known in self.known.items()}

    @invariant()
    def only_what_counts_is_recalled(self) -> None:
        recalled = {fact.text for fact in self.memory.recall("green tea Berlin", "s", 6)}
        assert recalled == {text for text, known in self.known.items() if known.state == ACTIVE}


TestLocalMemory = LocalMachine.TestCase
TestLocalMemory.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
