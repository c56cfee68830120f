"""The memory that ships: facts in a file on this machine, found by their words."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from api.clock import Clock
from api.errors import InvalidRequest, NotFound
from api.memory.base import (
    ACTIVE,
    DELETED,
    FACT,
    FACT_LIMIT,
    INSTRUCTION,
    KINDS,
    PREFERENCE,
    RECALL_LIMIT,
    STATES,
    SUGGESTED,
    TOOL_TEXT,
    USER,
    WITHDRAWN,
    Ask,
    Asked,
    CommitResult,
    Did,
    Entry,
    Fact,
    Health,
    MemoryFailed,
    MemoryTool,
    Source,
    text_argument,
)
from api.memory.extraction import extract, is_said
from api.memory.fact_store import ERASED, Facts, FactStore, Stored
from api.memory.likeness import is_alike, is_same
from api.memory.query import QUERY_WORDS, telling_words, words_of
from api.memory.words import indexed
from api.text import valid_unicode

# A word that so many facts hold tells none of them apart.
_FREQUENT = 200
_CANDIDATES = 50
# What the user wishes in general helps with every question.
_ALWAYS = 3
_ERASED_FACT = "The words of this fact were erased."
_SHOWN_STATES = (ACTIVE, SUGGESTED, WITHDRAWN)


class LocalMemory:
    """Learns at boundaries, recalls by words, forgets for good. One file in `folder`."""

    name = "local"
    remembers = True

    def __init__(self, folder: Path, clock: Clock) -> None:
        self._store = FactStore(folder, clock)

    def recall(self, query: str, session_id: str, limit: int) -> Sequence[Fact]:
        """Facts with words of the question; half of the room is kept for the user's latest wishes."""
        with self._store.read() as facts:
            words = telling_words(query, lambda word: facts.holders(word, _FREQUENT) >= _FREQUENT)
            expression = _any_of(words)
            found = facts.matching(expression, (ACTIVE,), limit) if expression else []
            wishes = facts.newest(ACTIVE, (INSTRUCTION, PREFERENCE), min(_ALWAYS, limit // 2))
        places = {stored.place for stored in found}
        missing = [wish for wish in wishes if wish.place not in places]
        return [stored.fact for stored in [*found[: limit - len(missing)], *missing]]

    def sync_turn(self, session_id: str, turn_id: str, entries: Sequence[Entry]) -> None:
        """Nothing: it learns at boundaries."""

    def on_session_end(
        self, session_id: str, batch_id: str, entries: Sequence[Entry], ask: Ask | None
    ) -> CommitResult:
        """Learn what a batch says, all of it or nothing."""
        with self._store.read() as facts:
            if facts.has_batch(batch_id):
                return CommitResult([stored.fact for stored in facts.of_batch(batch_id)])
        learned = extract(entries, ask)
        with self._store.change() as facts:
            if not facts.has_batch(batch_id):
                facts.note_batch(batch_id)
                for entry in learned:
                    source = Source(session_id, entry.entry.turn_id, entry.entry.message_id)
                    fact = Fact("", entry.text, entry.kind, state=entry.state, origin=entry.origin)
                    _learn(facts, fact, source, batch_id)
            return CommitResult([stored.fact for stored in facts.of_batch(batch_id)])

    def on_turns_undone(self, session_id: str, turn_ids: Sequence[str]) -> None:
        with self._store.change() as facts:
            facts.withdraw(session_id, turn_ids)

    def on_turns_restored(self, session_id: str, turn_ids: Sequence[str]) -> None:
        with self._store.change() as facts:
            facts.bring_back(session_id, turn_ids)

    def on_message_erased(self, session_id: str, message_id: int) -> None:
        with self._store.change() as facts:
            named = facts.said_in(session_id, message_id)
            for stored in named:
                state = DELETED if stored.fact.state == DELETED else WITHDRAWN
                facts.set(stored, text=ERASED, state=state, is_own=False)
        if named:
            self._store.scrub()

    def tools(self) -> Sequence[MemoryTool]:
        return (
            MemoryTool(
                "remember",
                "Keep one thing that the user has said about themselves or wants to be remembered, as a "
                "short sentence that can be understood on its own.",
                {
                    "type": "object",
                    "properties": {
                        "text": {"type": "string"},
                        "kind": {"type": "string", "enum": list(KINDS)},
                    },
                    "required": ["text"],
                },
                self._remember,
            ),
            MemoryTool(
                "recall",
                "Look up what the user has said in earlier conversations.",
                {
                    "type": "object",
                    "properties": {"query": {"type": "string"}},
                    "required": ["query"],
                },
                self._look_up,
            ),
        )

    def facts(
        self, query: str = "", state: str | None = None, before: str | None = None, limit: int = 50
    ) -> tuple[Sequence[Fact], str | None]:
        if state is not None and state not in STATES:
            raise InvalidRequest(f"The state must be one of {', '.join(STATES)}.")
        if before is not None and not (before.isascii() and before.isdigit() and len(before) < 19):
            raise InvalidRequest("`before` is no cursor of this list.")
        expression = _all_of(words_of(query))
        if query.strip() and expression is None:
            return (), None
        states = (state,) if state else _SHOWN_STATES
        with self._store.read() as facts:
            found = facts.page(expression, states, int(before) if before else None, limit + 1)
        following = str(found[limit - 1].place) if len(found) > limit else None
        return [stored.fact for stored in found[:limit]], following

    def known(self, fact_ids: Sequence[str]) -> Sequence[Fact]:
        with self._store.read() as facts:
            return [stored.fact for stored in facts.known(fact_ids)]

    def learned_in(self, session_id: str) -> Mapping[str, Sequence[str]]:
        with self._store.read() as facts:
            return facts.learned_in(session_id)

    def add(self, text: str, kind: str = FACT, source: Source | None = None, origin: str = USER) -> Fact:
        """Keep what the user enters; the same text is one fact. Raises `InvalidRequest`."""
        text, kind = _checked(text), _checked_kind(kind)
        with self._store.change() as facts:
            for stored in _alike(facts, text, (*_SHOWN_STATES, DELETED)):
                if is_same(stored.fact.text, text):
                    break
            else:
                stored = facts.insert(Fact("", text, kind), is_own=True)
            if source:
                facts.add_source(stored, source)
            return facts.set(stored, text=text, kind=kind, state=ACTIVE, origin=origin, is_own=True).fact

    def update(self, fact_id: str, text: str | None = None, kind: str | None = None) -> Fact:
        """Correct a fact; from then on it is the user's own. Raises `NotFound`, `InvalidRequest`."""
        if text is None and kind is None:
            raise InvalidRequest("Say what shall be changed: the text, the kind or both.")
        with self._store.change() as facts:
            stored = _get(facts, fact_id)
            if text is None and stored.fact.text == ERASED:
                raise InvalidRequest(_ERASED_FACT)
            values = {
                "text": stored.fact.text if text is None else _checked(text),
                "kind": stored.fact.kind if kind is None else _checked_kind(kind),
            }
            return facts.set(stored, **values, state=ACTIVE, origin=USER, is_own=True).fact

    def delete(self, fact_id: str) -> Fact:
        with self._store.change() as facts:
            return facts.set(_get(facts, fact_id), state=DELETED, is_own=False).fact

    def restore(self, fact_id: str) -> Fact:
        with self._store.change() as facts:
            stored = _get(facts, fact_id)
            if stored.fact.text == ERASED:
                raise InvalidRequest(_ERASED_FACT)
            return facts.set(stored, state=ACTIVE, is_own=True).fact

    def accept(self, fact_id: str) -> Fact:
        with self._store.change() as facts:
            return facts.set(_suggested(facts, fact_id), state=ACTIVE, origin=USER, is_own=True).fact

    def refuse(self, fact_id: str) -> Fact:
        with self._store.change() as facts:
            return facts.set(_suggested(facts, fact_id), state=DELETED).fact

    def health(self) -> Health:
        try:
            with self._store.read() as facts:
                return Health(True, None, facts.count(ACTIVE), facts.last_batch_at())
        except MemoryFailed as exc:
            return Health(False, exc.message)

    def close(self) -> None:
        self._store.close()

    def _remember(self, asked: Asked, arguments: Any) -> Did:
        text, kind = text_argument(arguments, "text"), arguments.get("kind", FACT)
        text, kind = _checked(text), _checked_kind(kind)
        is_own = is_said(text, asked.user_text)
        state, origin = (ACTIVE, USER) if is_own else (SUGGESTED, TOOL_TEXT)
        with self._store.change() as facts:
            kept = _learn(facts, Fact("", text, kind, state=state, origin=origin), asked.source, None)
        if kept is None:
            return Did("The user has asked to forget this; it was not kept.")
        is_active = kept.fact.state == ACTIVE
        return Did("Kept." if is_active else "Suggested: it counts when the user accepts it.", [kept.fact])

    def _look_up(self, asked: Asked, arguments: Any) -> Did:
        found = self.recall(text_argument(arguments, "query"), asked.source.session_id, RECALL_LIMIT)
        return Did("\n".join(f"- {fact.text}" for fact in found) or "Nothing is known about this.")


def _learn(facts: Facts, fact: Fact, source: Source, batch_id: str | None) -> Stored | None:
    """Keep a fact, or join it to one that says the same; None where the user has forgotten such a one."""
    alike = _alike(facts, fact.text, (*_SHOWN_STATES, DELETED))
    known = next((stored for stored in alike if is_same(stored.fact.text, fact.text)), None)
    is_active = known is not None and known.fact.state == ACTIVE
    if not is_active and any(stored.fact.state == DELETED for stored in alike):
        return None
    if known is None:
        known = facts.insert(fact, is_own=False)
    elif known.fact.state == WITHDRAWN or (known.fact.state == SUGGESTED and fact.state == ACTIVE):
        known = facts.set(known, state=fact.state, origin=fact.origin)
    facts.add_source(known, source, batch_id)
    return known


def _alike(facts: Facts, text: str, states: Sequence[str]) -> list[Stored]:
    """Facts in these states that say nearly the same as a text."""
    expression = _any_of(sorted(words_of(text), key=len, reverse=True)[: 2 * QUERY_WORDS])
    found = facts.matching(expression, states, _CANDIDATES) if expression else []
    return [stored for stored in found if stored.fact.text != ERASED and is_alike(stored.fact.text, text)]


def _any_of(words: Sequence[str]) -> str | None:
    return " OR ".join(f'"{indexed(word)}"' for word in words) or None


def _all_of(words: Sequence[str]) -> str | None:
    return " ".join(f'"{word}"*' for word in words[:QUERY_WORDS]) or None


def _get(facts: Facts, fact_id: str) -> Stored:
    found = facts.get(fact_id)
    if found is None:
        raise NotFound("There is no such fact.")
    return found


def _suggested(facts: Facts, fact_id: str) -> Stored:
    stored = _get(facts, fact_id)
    if stored.fact.state != SUGGESTED:
        raise InvalidRequest("This fact is not a suggestion.")
    return stored


def _checked(text: str) -> str:
    """The text of a fact on one line. Raises `InvalidRequest`."""
    text = " ".join(valid_unicode(text).split())
    if not text:
        raise InvalidRequest("A fact needs a text.")
    if len(text) > FACT_LIMIT:
        raise InvalidRequest(f"A fact has at most {FACT_LIMIT} characters.")
    return text


def _checked_kind(kind: Any) -> str:
    if kind not in KINDS:
        raise InvalidRequest(f"The kind must be one of {', '.join(KINDS)}.")
    return str(kind)
