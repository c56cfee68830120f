"""Titles come from the model once, in the background, and never over a person's own."""

import threading

import pytest

from api.errors import AgentError
from api.events import reasoning, usage
from api.turns.begin import Sending
from tests.conftest import House, wait_until

FIRST_WORDS = "Where is Oslo, and how do I get there?"


def talk(house: House, *title_steps: object, text: str = FIRST_WORDS) -> str:
    """A session after its first reply, with `title_steps` as the script of the title."""
    house.agent.makes_titles = True
    session_id = house.new_session().session_id
    house.agent.enqueue("In Norway.")
    house.agent.enqueue(*title_steps)  # type: ignore[arg-type]
    house.runner.send(session_id, Sending(text))
    return session_id


def title_of(house: House, session_id: str) -> str:
    return house.store.load(session_id).title


def wait_titled(house: House, session_id: str) -> None:
    wait_until(lambda: house.store.load(session_id).other_usage, "a title that was paid for")


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ("Travel to Oslo", "Travel to Oslo"),
        ('  "Travel to Oslo."\n\nIs that good?', "Travel to Oslo"),
        ("**Title: Oslo**", "Oslo"),
        ("\n# 東京 trip\n", "東京 trip"),
        ("Oslo\u202e gnp", "Oslo gnp"),
        ("", FIRST_WORDS),
        (" \n\u200b", FIRST_WORDS),
        ("The user wants to know where Oslo is. " * 5, FIRST_WORDS),
    ],
)
def test_the_first_words_stand_until_the_model_names_it(house: House, said: str, title: str) -> None:
    session_id = talk(house, said, usage(input_tokens=3, output_tokens=2, context_tokens=5))
    assert title_of(house, session_id) == FIRST_WORDS
    wait_titled(house, session_id)
    assert title_of(house, session_id) == title
    session = house.store.load(session_id)
    assert list(session.other_usage["title"].values()) == [
        {"calls": 1, "unknown_calls": 0, "input_tokens": 3, "output_tokens": 2}
    ]


def test_reasoning_never_becomes_a_title(house: House) -> None:
    session_id = talk(house, reasoning("The user wants"))
    wait_titled(house, session_id)
    assert title_of(house, session_id) == FIRST_WORDS


def test_a_title_typed_meanwhile_stays(house: House) -> None:
    gate = threading.Event()
    session_id = talk(house, gate, "Travel to Oslo")
    wait_until(lambda: len(house.agent.history) == 2)
    with house.store.edit(session_id) as session:
        session.title, session.title_source = "Mine", "user"
    gate.set()
    wait_titled(house, session_id)
    assert title_of(house, session_id) == "Mine"


def test_it_is_asked_once_and_not_for_a_title_of_ones_own(house: House) -> None:
    session_id = talk(house, "Travel to Oslo")
    wait_titled(house, session_id)
    house.runner.send(session_id, Sending("more"))
    house.wait_idle(session_id)
    own = house.new_session(title="Mine", title_source="user").session_id
    house.runner.send(own, Sending("hello"))
    house.wait_idle(own)
    assert [request.turn_id for request in house.agent.history] == ["t1", "title", "t2", "t1"]


def test_it_gives_way_to_the_next_message_and_is_asked_after_that(house: House) -> None:
    session_id = talk(house, "Tra", threading.Event())
    wait_until(lambda: len(house.agent.history) == 2)
    house.agent.enqueue("second reply")
    house.agent.enqueue("Oslo again")
    house.runner.send(session_id, Sending("more"))
    wait_until(lambda: title_of(house, session_id) != FIRST_WORDS, "a title")
    assert title_of(house, session_id) == "Oslo again"
    assert [request.turn_id for request in house.agent.history] == ["t1", "title", "t2", "title"]


@pytest.mark.parametrize("failure", [AgentError("overloaded"), ValueError("odd")])
def test_a_failure_leaves_the_first_words(house: House, failure: BaseException, caplog: object) -> None:
    session_id = talk(house, failure)
    wait_until(lambda: house.agent.runs_ended == 2)
    house.wait_idle(session_id)
    assert title_of(house, session_id) == FIRST_WORDS


def test_a_chat_deleted_meanwhile_stays_deleted(house: House) -> None:
    gate = threading.Event()
    session_id = talk(house, gate, "Travel to Oslo")
    wait_until(lambda: len(house.agent.history) == 2)
    house.runner.delete(session_id)
    gate.set()
    wait_until(lambda: house.agent.runs_ended == 2)
    assert not house.store.path(session_id).exists()


def test_the_revision_stays_and_the_list_gets_the_title(house: House) -> None:
    session_id = talk(house, "Travel to Oslo")
    wait_until(lambda: title_of(house, session_id) == "Travel to Oslo")
    revision = house.store.load(session_id).revision
    wait_until(lambda: house.catalog.page().rows[0].title == "Travel to Oslo")
    assert house.catalog.page().rows[0].revision == revision == 3
