"""When two facts say the same, nearly the same, or the opposite."""

import pytest

from api.memory.likeness import is_alike, is_same, is_supported

SAME = [
    ("I like tea.", "User likes tea"),
    ("I like tea.", "i  LIKE tea!"),
    ("The user lives in Berlin.", "I live in Berlin"),
    ("I prefer tabs over spaces.", "User prefers tabs to spaces"),
    ("I dislike coffee.", "User dislikes coffee"),
    ("?", "?"),
    ("i", "I"),
]

NOT_THE_SAME = [
    ("I like tea.", "I don't like tea."),
    ("I like tea.", "I dislike tea."),
    ("I like tea.", "I like coffee."),
    ("Anna likes Bob.", "Bob likes Anna."),
    ("I prefer tabs over spaces.", "I prefer spaces over tabs."),
    ("I use Python 3.11.", "I use Python 3.12."),
    ("?", "!"),
]

ALIKE = [
    ("I like green tea.", "I really love green tea"),
    ("I drink green tea in the morning.", "I drink green tea early in the morning."),
    ("I work at Acme.", "I work at Acme Labs."),
]

# To forget the first must not keep the second from being learned.
CONTRADICTIONS = [
    *NOT_THE_SAME[:3],
    NOT_THE_SAME[5],
    ("I live in Berlin.", "I live in Munich."),
    ("My favourite programming language is Python.", "My favourite programming language is Rust."),
    ("Our web app is deployed on Fridays by hand.", "Our web app is deployed on Mondays by hand."),
    ("I drink green tea in the morning.", "I never drink green tea in the morning."),
    ("I avoid long meetings on Mondays.", "I enjoy long meetings on Mondays."),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_in_other_words_is_the_same(one: str, other: str) -> None:
    assert is_same(one, other) and is_same(other, one)
    assert is_alike(one, other)


@pytest.mark.parametrize(("one", "other"), NOT_THE_SAME)
def test_what_differs_in_meaning_is_not_the_same(one: str, other: str) -> None:
    assert not is_same(one, other) and not is_same(other, one)


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_near_duplicates_are_alike(one: str, other: str) -> None:
    assert is_alike(one, other) and is_alike(other, one)
    assert not is_same(one, other)


@pytest.mark.parametrize(("one", "other"), CONTRADICTIONS)
def test_contradictions_are_not_alike(one: str, other: str) -> None:
    assert not is_alike(one, other) and not is_alike(other, one)


@pytest.mark.parametrize(
    ("fact", "said", "is_so"),
    [
        ("User likes green tea.", "By the way, I like green tea.", True),
        ("The user lives in Berlin.", "I've been living in Berlin for years", True),
        ("User is a vegetarian from Graz", "what is the weather", False),
        ("User dislikes coffee.", "I can't stand coffee.", True),
        ("User does not like tea.", "I like tea.", False),
        ("User likes tea.", "I like tea, not coffee.", True),
        ("User likes coffee.", "I don't like coffee. I like tea.", False),
        ("User likes coffee.", "I like tea, not coffee.", False),
        ("User likes tea.", "I like tea but not coffee.", True),
        ("User does not like tea.", "I like tea, not coffee.", False),
        ("User does not drink coffee.", "I like tea. Coffee I never drink.", True),
        ("User eats meat.", "Ich esse kein meat", False),
        ("User is allergic to nuts.", "Don't forget that I'm allergic to nuts!", True),
        ("User lives in Oslo.", "My sister does not live in Oslo", False),
        ("User.", "anything", True),
    ],
)
def test_a_fact_is_borne_out_by_its_words(fact: str, said: str, is_so: bool) -> None:
    assert is_supported(fact, said) is is_so
