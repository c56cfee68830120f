"""What every provider promises, whoever keeps the facts."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from api.clock import Clock
from api.errors import InvalidRequest, NotFound
from api.memory.base import Asked, Entry, MemoryProvider, Source
from api.memory.local import LocalMemory
from api.memory.none import NoMemory
from api.memory.openviking import Account, OpenVikingMemory, Patience
from tests.memory.fake_openviking import FakeOpenViking

ENTRIES = [
    Entry("t1", 1, "user", "I like green tea."),
    Entry("t1", 2, "assistant", "Noted."),
    Entry("t1", 3, "tool", "{}"),
]


@pytest.fixture(params=["local", "none", "openviking"])
def provider(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryProvider]:
    with ExitStack() as stack:
        if request.param == "local":
            made: MemoryProvider = LocalMemory(tmp_path, Clock())
        elif request.param == "none":
            made = NoMemory()
        else:
            server = stack.enter_context(FakeOpenViking())
            made = OpenVikingMemory(Account(server.endpoint), Clock(), Patience(30.0, 30.0, 30.0))
        yield made
        made.close()


def test_it_says_its_name_and_whether_it_remembers(provider: MemoryProvider) -> None:
    assert provider.name in ("local", "none", "openviking")
    assert provider.remembers is (provider.name != "none")
    assert provider.health().is_healthy


def test_the_same_batch_gives_the_same_result(provider: MemoryProvider) -> None:
    first = provider.on_session_end("s1", "s1:1-1", ENTRIES, None)
    assert provider.on_session_end("s1", "s1:1-1", ENTRIES, None) == first


def test_a_batch_of_nothing_is_taken(provider: MemoryProvider) -> None:
    assert not provider.on_session_end("s1", "s1:1-1", [], None).facts


def test_what_follows_a_turn_may_come_twice_and_for_turns_it_never_heard_of(provider: MemoryProvider) -> None:
    provider.on_session_end("s1", "s1:1-1", ENTRIES, None)
    for _ in range(2):
        provider.sync_turn("s1", "t1", ENTRIES)
        provider.on_turns_undone("s1", ["t1", "t9"])
        provider.on_turns_undone("s9", [])
        provider.on_turns_restored("s1", ["t1", "t9"])
        provider.on_message_erased("s1", 1)
        provider.on_message_erased("s9", 9)
    assert provider.health().is_healthy


def test_facts_are_known_by_their_ids_and_by_the_turn_that_taught_them(provider: MemoryProvider) -> None:
    facts = provider.on_session_end("s1", "s1:1-1", ENTRIES, None).facts
    ids = [fact.id for fact in facts]
    assert list(provider.known([*ids, "f_none", "'"])) == list(facts)
    assert not provider.known([])
    assert dict(provider.learned_in("s1")) == ({"t1": ids} if ids else {})
    assert not provider.learned_in("s2")
    provider.on_turns_undone("s1", ["t1"])
    assert not provider.learned_in("s1")
    assert [fact.id for fact in provider.known(ids)] == ids


@pytest.mark.parametrize("query", ["", "  ", "tea", "x" * 100_000, "\ud83d", '"tea" OR', "\x00"])
def test_any_question_is_answered_with_at_most_so_many(provider: MemoryProvider, query: str) -> None:
    provider.on_session_end("s1", "s1:1-1", ENTRIES, None)
    for limit in (1, 6):
        assert len(provider.recall(query, "s2", limit)) <= limit


def test_tools_refuse_arguments_that_they_do_not_understand(provider: MemoryProvider) -> None:
    for tool in provider.tools():
        assert tool.parameters["type"] == "object" and tool.description
        with pytest.raises(ValueError):
            tool.run(Asked(Source("s1")), {})


def test_a_fact_that_is_not_there_cannot_be_changed(provider: MemoryProvider) -> None:
    changes = [provider.delete, provider.restore, provider.accept, provider.refuse]
    for change in changes:
        with pytest.raises((NotFound, InvalidRequest)):
            change("f_none")
    with pytest.raises((NotFound, InvalidRequest)):
        provider.update("f_none", "text", None)


def test_eight_threads_may_call_it_at_once(provider: MemoryProvider) -> None:
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            for turn in range(5):
                provider.on_session_end(f"s{number}", f"s{number}:{turn}-{turn}", ENTRIES, None)
                provider.recall("Which tea?", "s", 6)
                provider.health()
        except BaseException as exc:
            errors.append(exc)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_it_can_be_closed_twice(provider: MemoryProvider) -> None:
    provider.close()
