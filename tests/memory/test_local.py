"""The memory that ships: what it keeps, withdraws, forgets, finds, and what a broken file does to it."""

import random
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest

from api.clock import Clock
from api.errors import InvalidRequest, NotFound
from api.memory.base import (
    ACTIVE,
    DELETED,
    FACT,
    INSTRUCTION,
    PREFERENCE,
    SUGGESTED,
    TOOL_TEXT,
    USER,
    WITHDRAWN,
    Asked,
    Entry,
    Fact,
    MemoryFailed,
    Source,
)
from api.memory.fact_store import ERASED
from api.memory.forgetting import forget
from api.memory.local import LocalMemory
from tests.web.live_server import live_server

TEA = "I like green tea."


class Model:
    """Names the facts it was given, and counts how often it is asked."""

    def __init__(self, *facts: Mapping[str, Any]) -> None:
        self.facts = facts
        self.asked = 0

    def __call__(self, prompt: str, schema: Mapping[str, Any]) -> str:
        self.asked += 1
        return orjson.dumps({"facts": self.facts}).decode()


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[LocalMemory]:
    memory = LocalMemory(tmp_path, Clock())
    yield memory
    memory.close()


def learn(
    memory: LocalMemory, text: str, turn: str = "t1", session: str = "s1", batch: str | None = None
) -> Sequence[Fact]:
    """A batch of one turn in which the user says `text`."""
    entry = Entry(turn, int(turn[1:]), "user", text)
    return memory.on_session_end(session, batch or f"{session}:{turn}", [entry], None).facts


def texts(memory: LocalMemory, state: str | None = None, query: str = "") -> list[str]:
    return [fact.text for fact in memory.facts(query, state)[0]]


def all_bytes(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.glob("facts.db*")))


# Learning.


def test_a_batch_teaches_facts_that_say_where_they_are_from(memory: LocalMemory) -> None:
    (fact,) = learn(memory, f"Hello. {TEA}")
    assert (fact.text, fact.kind, fact.state, fact.origin) == (TEA, PREFERENCE, ACTIVE, USER)
    assert fact.source == Source("s1", "t1", 1) and fact.created_at > 0
    assert memory.recall("Which tea do I drink?", "s2", 6) == [fact]


def test_the_same_batch_again_teaches_and_asks_nothing(memory: LocalMemory) -> None:
    model = Model({"text": TEA, "kind": "preference", "message": 1})
    entries = [Entry("t1", 1, "user", f"Yes, {TEA}")]
    first = memory.on_session_end("s1", "b", entries, model)
    assert memory.on_session_end("s1", "b", entries, model) == first
    assert (model.asked, texts(memory)) == (1, [TEA])


def test_a_batch_that_cannot_be_read_leaves_nothing_and_can_be_repeated(memory: LocalMemory) -> None:
    entries = [Entry("t1", 1, "user", f"Yes, {TEA}")]
    with pytest.raises(MemoryFailed):
        memory.on_session_end("s1", "b", entries, Model({"text": TEA}))
    assert texts(memory) == []
    model = Model({"text": TEA, "kind": "preference", "message": 1})
    assert len(memory.on_session_end("s1", "b", entries, model).facts) == 1


def test_what_is_said_twice_is_one_fact_with_both_places(memory: LocalMemory) -> None:
    (first,) = learn(memory, TEA)
    (again,) = learn(memory, "I really like green tea", turn="t2", session="s2")
    assert (again.id, again.text, again.source) == (first.id, TEA, Source("s2", "t2", 2))
    assert texts(memory) == [TEA]


def test_contradictions_stand_side_by_side(memory: LocalMemory) -> None:
    learn(memory, TEA)
    learn(memory, "I don't like green tea.", turn="t2")
    assert texts(memory) == ["I don't like green tea.", TEA]


# Undo, restore, delete.


def test_a_fact_leaves_with_the_last_turn_that_said_it_and_comes_back(memory: LocalMemory) -> None:
    learn(memory, TEA, turn="t1")
    learn(memory, TEA, turn="t2")
    memory.on_turns_undone("s1", ["t1"])
    (fact,) = memory.facts()[0]
    assert (fact.state, fact.source) == (ACTIVE, Source("s1", "t2", 2))
    for _ in range(2):
        memory.on_turns_undone("s1", ["t2"])
        assert texts(memory, WITHDRAWN) == [TEA] and memory.recall("green tea", "s", 6) == []
    for _ in range(2):
        memory.on_turns_restored("s1", ["t1"])
        assert texts(memory, ACTIVE) == [TEA]


def test_the_same_turn_of_another_chat_is_another_turn(memory: LocalMemory) -> None:
    learn(memory, TEA, session="s1")
    memory.on_turns_undone("s2", ["t1"])
    assert texts(memory, ACTIVE) == [TEA]


def test_what_was_withdrawn_is_learned_anew(memory: LocalMemory) -> None:
    learn(memory, TEA)
    memory.on_turns_undone("s1", ["t1"])
    learn(memory, TEA, turn="t2")
    assert texts(memory, ACTIVE) == [TEA]
    memory.on_turns_undone("s1", ["t2"])
    suggestion = Model({"text": TEA, "kind": "preference", "message": 1})
    memory.on_session_end("s1", "b", [Entry("t3", 3, "user", "What do you know about me?")], suggestion)
    assert texts(memory, SUGGESTED) == [TEA]


def test_a_suggestion_that_comes_back_is_a_suggestion(memory: LocalMemory) -> None:
    suggestion = Model({"text": TEA, "kind": "preference", "message": 1})
    memory.on_session_end("s1", "b", [Entry("t1", 1, "user", "What do you know about me?")], suggestion)
    memory.on_turns_undone("s1", ["t1"])
    memory.on_turns_restored("s1", ["t1"])
    assert texts(memory, SUGGESTED) == [TEA]


@pytest.mark.parametrize("own", ["add", "update", "accept", "restore"])
def test_the_users_own_fact_is_never_withdrawn(memory: LocalMemory, own: str) -> None:
    (fact,) = learn(memory, TEA)
    if own == "add":
        assert memory.add(TEA).id == fact.id
    elif own == "update":
        memory.update(fact.id, None, INSTRUCTION)
    elif own == "restore":
        memory.restore(fact.id)
    else:
        model = Model({"text": "Lives in Rome.", "kind": "fact", "message": 1})
        entries = [Entry("t1", 1, "user", "What do you know about me?")]
        (fact,) = memory.on_session_end("s1", "b", entries, model).facts
        memory.accept(fact.id)
    memory.on_turns_undone("s1", ["t1"])
    assert fact.id in {fact.id for fact in memory.facts(state=ACTIVE)[0]}


def test_what_was_deleted_is_not_learned_again_nor_what_is_nearly_the_same(memory: LocalMemory) -> None:
    (fact,) = learn(memory, "I drink green tea in the morning. I like it. I like green tea.")[-1:]
    assert memory.delete(fact.id).state == DELETED
    assert learn(memory, TEA, turn="t2") == learn(memory, "I love green tea", turn="t3") == []
    asked = Asked(Source("s1", "t4", 4), TEA)
    assert "asked to forget" in memory.tools()[0].run(asked, {"text": TEA}).text
    assert texts(memory, ACTIVE) == [] and memory.recall("green tea", "s", 6) == []


def test_what_was_deleted_does_not_keep_its_contrary_out(memory: LocalMemory) -> None:
    for text, contrary in [
        (TEA, "I don't like green tea."),
        ("My favourite programming language is Python.", "My favourite programming language is Rust."),
    ]:
        memory.delete(memory.add(text).id)
        assert [fact.text for fact in learn(memory, contrary, batch=contrary)] == [contrary]


def test_the_users_word_brings_back_what_they_deleted(memory: LocalMemory) -> None:
    fact = memory.add(TEA)
    memory.delete(fact.id)
    assert memory.restore(fact.id).state == ACTIVE
    memory.delete(fact.id)
    again = memory.add("i like GREEN tea")
    assert (again.id, again.text, again.state) == (fact.id, "i like GREEN tea", ACTIVE)


def test_a_deleted_fact_stays_deleted_when_its_turn_comes_back(memory: LocalMemory) -> None:
    (fact,) = learn(memory, TEA)
    memory.delete(fact.id)
    memory.on_turns_undone("s1", ["t1"])
    memory.on_turns_restored("s1", ["t1"])
    assert texts(memory, DELETED) == [TEA]


# The page.


def test_a_fact_is_corrected_and_found_by_its_new_words(memory: LocalMemory) -> None:
    fact = memory.add("I live in Berln.", FACT, Source("s1", None, 4))
    assert fact.source == Source("s1", None, 4)
    changed = memory.update(fact.id, "I live in\n Berlin.", None)
    assert (changed.text, changed.kind, changed.state) == ("I live in Berlin.", FACT, ACTIVE)
    assert texts(memory, query="berl") == ["I live in Berlin."] and texts(memory, query="Berln") == []


def test_what_is_added_again_gets_a_source_too(memory: LocalMemory) -> None:
    memory.add(TEA)
    assert memory.add(TEA, PREFERENCE, Source("s1", None, 7)).source == Source("s1", None, 7)


def test_suggestions_are_accepted_or_refused(memory: LocalMemory) -> None:
    remember = memory.tools()[0]
    asked = Asked(Source("s1", "t1", 1), "What is the capital of Norway?")
    for text in ("Lives in Rome.", "Owns a boat."):
        assert "Suggested" in remember.run(asked, {"text": text}).text
    boat, rome = memory.facts(state=SUGGESTED)[0]
    assert boat.origin == TOOL_TEXT and memory.recall("boat Rome", "s", 6) == []
    assert (memory.accept(rome.id).state, memory.refuse(boat.id).state) == (ACTIVE, DELETED)
    for change in (memory.accept, memory.refuse):
        with pytest.raises(InvalidRequest):
            change(rome.id)
    assert "asked to forget" in remember.run(asked, {"text": "Owns a boat."}).text


def test_the_model_keeps_what_the_user_has_said(memory: LocalMemory) -> None:
    remember, recall = memory.tools()
    asked = Asked(Source("s1", "t1", 1), f"By the way, {TEA}")
    assert remember.run(asked, {"text": "User likes green tea.", "kind": "preference"}).text == "Kept."
    assert recall.run(asked, {"query": "tea"}).text == "- User likes green tea."
    # A wish helps with any question.
    assert "tea" in recall.run(asked, {"query": "boats"}).text
    for arguments in ({}, {"text": 7}, {"text": " "}, {"text": "x" * 401}, {"text": "x", "kind": ["fact"]}):
        with pytest.raises(ValueError):
            remember.run(asked, arguments)
    with pytest.raises(ValueError):
        recall.run(asked, {"query": None})
    memory.on_turns_undone("s1", ["t1"])
    assert texts(memory, WITHDRAWN) == ["User likes green tea."]


@pytest.mark.parametrize("query", ["", "number"])
def test_pages_follow_each_other_newest_first(memory: LocalMemory, query: str) -> None:
    for number in range(7):
        memory.add(f"Number {number} is lucky.")
    seen: list[str] = []
    cursor: str | None = None
    while True:
        facts, cursor = memory.facts(query, before=cursor, limit=3)
        seen += [fact.text for fact in facts]
        memory.add(f"Number {100 + len(seen)} has come meanwhile.")
        if cursor is None:
            break
    assert seen == [f"Number {number} is lucky." for number in reversed(range(7))]


def test_states_are_listed_apart_and_deleted_ones_only_when_asked_for(memory: LocalMemory) -> None:
    first, second = memory.add("One boat."), memory.add("Two trains.")
    memory.delete(first.id)
    assert texts(memory) == ["Two trains."] and texts(memory, DELETED) == ["One boat."]
    assert texts(memory, ACTIVE, "train") == [second.text] and texts(memory, DELETED, "train") == []
    assert memory.health().facts == 1


@pytest.mark.parametrize("query", ["???", '"', "NEAR(", "tea AND", "*", "\x00", "\ud83d"])
def test_no_query_breaks_the_search(memory: LocalMemory, query: str) -> None:
    memory.add(TEA)
    assert texts(memory, query=query) == [] or query == "tea AND"
    assert [fact.text for fact in memory.recall(query, "s", 6)] in ([], [TEA])


@pytest.mark.parametrize(
    "wrong", [{"state": "lost"}, {"before": "x"}, {"before": "-1"}, {"before": "٣"}, {"before": "9" * 30}]
)
def test_a_question_that_cannot_be_is_refused(memory: LocalMemory, wrong: dict[str, str]) -> None:
    with pytest.raises(InvalidRequest):
        memory.facts(**wrong)


def test_a_fact_that_cannot_be_is_refused(memory: LocalMemory) -> None:
    fact = memory.add("x" * 400)
    for text in ("", " \n ", "x" * 401):
        with pytest.raises(InvalidRequest):
            memory.add(text)
        with pytest.raises(InvalidRequest):
            memory.update(fact.id, text, None)
    with pytest.raises(InvalidRequest):
        memory.add(TEA, "rumour")
    for change in (memory.delete, memory.restore, memory.accept, memory.refuse):
        with pytest.raises(NotFound):
            change("f_none")
    assert memory.add("half \ud83d").text == "half \ufffd"


# Erasing.


@pytest.mark.parametrize("state", [ACTIVE, DELETED, WITHDRAWN])
def test_erased_words_are_in_no_file(memory: LocalMemory, tmp_path: Path, state: str) -> None:
    memory.add("I own a zeppelin.")
    (fact,) = learn(memory, "I prefer quokkas over wombats.", turn="t2")
    learn(memory, "I prefer quokkas to wombats", turn="t3")
    memory.update(fact.id, "I prefer quokkas over narwhals.", None)
    if state == DELETED:
        memory.delete(fact.id)
    if state == WITHDRAWN:
        memory.on_turns_undone("s1", ["t2", "t3"])
    assert b"quokka" in all_bytes(tmp_path)
    for _ in range(2):
        memory.on_message_erased("s1", 2)
    left = all_bytes(tmp_path).lower()
    assert [word for word in (b"quokka", b"wombat", b"narwhal") if word in left] == []
    assert b"zeppelin" in left
    # What was forgotten stays forgotten.
    assert texts(memory, DELETED if state == DELETED else WITHDRAWN) == [ERASED]
    assert memory.recall("quokkas", "s", 1) == []


def test_an_erased_fact_does_not_come_back(memory: LocalMemory) -> None:
    (fact,) = learn(memory, TEA)
    memory.on_message_erased("s1", 1)
    memory.on_turns_restored("s1", ["t1"])
    assert texts(memory, ACTIVE) == []
    with pytest.raises(InvalidRequest, match="were erased"):
        memory.restore(fact.id)
    assert learn(memory, TEA, batch="s1:t1") == memory.facts()[0]
    assert memory.add("Erased").id != fact.id


def test_an_erase_of_a_message_that_taught_nothing_changes_nothing(memory: LocalMemory) -> None:
    learn(memory, TEA)
    memory.on_message_erased("s1", 9)
    memory.on_message_erased("s2", 1)
    assert texts(memory, ACTIVE) == [TEA]


# Recall.


def test_recall_looks_for_the_longest_words_that_tell_facts_apart(memory: LocalMemory) -> None:
    words = ["aa", "bbb", "cccc", "ddddd", "eeeeee", "fffffff", "gggggggg", "hhhhhhhhh", "iiiiiiiiii"]
    for word in words:
        memory.add(f"{word} is here", FACT)
    found = memory.recall("with what would there " + " ".join(words), "s", 20)
    assert {fact.text.split()[0] for fact in found} == set(words[1:])


def test_words_that_many_facts_hold_are_passed_over(memory: LocalMemory) -> None:
    with memory._store.change() as facts:
        for number in range(250):
            facts.insert(Fact("", f"programming note {number}"), is_own=True)
    memory.add("My cat has fleas.", FACT)
    found = memory.recall("Has programming my cat?", "s", 6)
    assert [fact.text for fact in found] == ["My cat has fleas."]
    assert memory.recall("programming", "s", 6) == []


def test_wishes_are_always_recalled(memory: LocalMemory) -> None:
    for number in range(10):
        memory.add(f"The boat number {number} leaks.", FACT)
    for number in range(5):
        memory.add(f"Answer in {number} lines.", INSTRUCTION)
    memory.add("I like metric units.", PREFERENCE)
    found = memory.recall("Which boat leaks?", "s", 6)
    assert [fact.kind for fact in found] == [FACT, FACT, FACT, PREFERENCE, INSTRUCTION, INSTRUCTION]
    assert len(memory.recall("nothing of this kind", "s", 6)) == 3
    assert [fact.kind for fact in memory.recall("boat", "s", 1)] == [FACT]


@pytest.mark.parametrize(
    ("fact", "question"),
    [
        ("Ich wohne in der Goethestraße.", "Wo liegt die Goethestraße?"),
        ("J'habite à Besançon.", "Connais-tu besancon ?"),
        ("Живу в Москве.", "Что есть в МОСКВЕ?"),
        ("I own three bicycles.", "Which bicycle should I take?"),
    ],
)
def test_words_are_found_in_other_spellings(memory: LocalMemory, fact: str, question: str) -> None:
    memory.add(fact, FACT)
    assert [found.text for found in memory.recall(question, "s", 6)] == [fact]


def test_a_long_question_among_ten_thousand_facts_asks_the_file_a_bounded_number_of_times(
    memory: LocalMemory,
) -> None:
    chance = random.Random(7)
    vocabulary = [f"word{number:04d}" for number in range(2000)]
    with memory._store.change() as facts:
        for _ in range(10_000):
            facts.insert(Fact("", " ".join(chance.sample(vocabulary, 8))), is_own=True)
    question = " ".join(chance.sample(vocabulary, 40))
    statements: list[str] = []
    with memory._store.read() as facts:
        facts._connection.set_trace_callback(statements.append)
    found = memory.recall(question, "s", 6)
    assert len(found) == 6 and len({fact.id for fact in found}) == 6
    ours = [one for one in statements if one.startswith("SELECT") and "%_" not in one and "'main'" not in one]
    looked_up = [one for one in ours if "count(*)" in one]
    assert len(looked_up) == 8 and len(ours) <= 8 + 2 + 12, ours


# Files that cannot be used, and threads.


def test_a_damaged_file_is_said_and_the_server_starts(tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    folder.mkdir()
    (folder / "facts.db").write_bytes(b"this is no database " * 1000)
    with live_server(tmp_path) as live:
        status = live.client.get("/api/memory/status").json
        assert status["healthy"] is False and "move the file away" in status["reason"]
        assert live.client.get("/api/memory").status == 503
        assert live.client.get("/health?deep=1").json["memory"]["healthy"] is False
        session_id = live.client.new_session()
        live.client.events(live.client.send(session_id, "Hello").json["stream_id"])
        assert live.client.contents(session_id) == ["Hello", "echo 1"]
        (folder / "facts.db").unlink()
        assert live.client.get("/api/memory/status").json["healthy"] is True


def test_a_file_of_a_newer_talaria_is_left_alone(tmp_path: Path, memory: LocalMemory) -> None:
    with closing(sqlite3.connect(tmp_path / "facts.db")) as connection:
        connection.execute("PRAGMA user_version=99")
    assert "newer Talaria" in str(memory.health().reason)
    with pytest.raises(MemoryFailed):
        memory.add(TEA)


def test_a_locked_file_is_said_and_used_when_it_is_free(tmp_path: Path, memory: LocalMemory) -> None:
    memory.add(TEA)
    with closing(sqlite3.connect(tmp_path / "facts.db")) as connection:
        connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(MemoryFailed, match="locked"):
            learn(memory, "I live in Berlin.")
        connection.rollback()
    learn(memory, "I live in Berlin.")
    assert texts(memory) == ["I live in Berlin.", TEA]


def test_the_file_is_for_its_owner_only(tmp_path: Path, memory: LocalMemory) -> None:
    memory.add(TEA)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.glob("facts.db*")} == {0o600}


def test_eight_threads_at_once(memory: LocalMemory) -> None:
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            for turn in range(1, 11):
                learn(memory, f"I like number {turn}.", f"t{turn}", f"s{number}")
                memory.recall("Which number do I like?", "s", 6)
            memory.on_turns_undone(f"s{number}", ["t1", "t2"])
        except BaseException as exc:
            errors.append(exc)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert sorted(texts(memory, ACTIVE)) == sorted(f"I like number {turn}." for turn in range(3, 11))
    assert sorted(texts(memory, WITHDRAWN)) == ["I like number 1.", "I like number 2."]


# Scripts without blanks, and words that only begin alike.


def test_what_is_written_without_blanks_is_found_by_its_words(memory: LocalMemory) -> None:
    memory.add("用户喜欢绿茶。")
    memory.add("用户住在奥斯陆。")
    assert texts(memory, query="绿茶") == ["用户喜欢绿茶。"]
    assert [fact.text for fact in memory.recall("我应该喝绿茶吗", "s", 6)] == ["用户喜欢绿茶。"]
    assert [fact.text for fact in forget(memory, "绿茶")] == ["用户喜欢绿茶。"]
    assert not learn(memory, "我 喜欢 绿茶。")


def test_an_index_of_an_older_version_is_made_anew(tmp_path: Path) -> None:
    memory = LocalMemory(tmp_path, Clock())
    memory.add("用户喜欢绿茶。")
    memory.close()
    with sqlite3.connect(tmp_path / "facts.db") as connection:
        connection.execute("UPDATE words SET text = '用户喜欢绿茶。'")
        connection.execute("PRAGMA user_version=1")
    connection.close()
    memory = LocalMemory(tmp_path, Clock())
    assert texts(memory, query="绿茶") == ["用户喜欢绿茶。"]
    memory.close()


def test_forget_takes_whole_words_or_the_id_of_a_fact(memory: LocalMemory) -> None:
    fact = memory.add("The user's team uses Postgres.")
    assert forget(memory, "tea") == []
    assert texts(memory) == ["The user's team uses Postgres."]
    assert [gone.id for gone in forget(memory, fact.id)] == [fact.id]


def test_an_erased_fact_is_not_made_active_by_a_change_of_its_kind(memory: LocalMemory) -> None:
    (fact,) = learn(memory, TEA)
    memory.on_message_erased("s1", 1)
    for kind in (None, "fact"):
        with pytest.raises(InvalidRequest):
            memory.update(fact.id, None, kind)
    assert texts(memory, ACTIVE) == []
