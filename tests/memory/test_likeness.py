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


@pytest.mark.parametrize(
    ("said", "fact"),
    [
        ("我喜欢绿茶。", "用户喜欢绿茶。"),
        ("私は緑茶が好きです。", "ユーザーは緑茶が好きです。"),
        ("Ich heiße Kim und wohne in Oslo.", "Der Nutzer wohnt in Oslo."),
        ("J'habite à Lyon.", "L'utilisateur habite à Lyon."),
        ("Vivo en Madrid.", "El usuario vive en Madrid."),
        ("Me llamo Kim.", "El usuario se llama Kim."),
        ("Soy vegetariano y tengo dos hijos.", "El usuario es vegetariano."),
    ],
)
def test_what_is_said_in_another_language_is_said(said: str, fact: str) -> None:
    assert is_supported(fact, said)


@pytest.mark.parametrize(
    ("said", "fact"),
    [
        ("我不喜欢绿茶。", "用户喜欢绿茶。"),
        ("緑茶は好きではない。", "ユーザーは緑茶が好きです。"),
        ("Ich mag keinen Tee.", "Der Nutzer mag Tee."),
        ("Je n'aime pas le thé.", "L'utilisateur aime le thé."),
        ("No vivo en Madrid.", "El usuario vive en Madrid."),
    ],
)
def test_the_opposite_in_another_language_is_not_said(said: str, fact: str) -> None:
    assert not is_supported(fact, said)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I had a dog.", "I have a dog."),
        ("The user is married.", "The user was married."),
        ("The user wants a cat.", "The user has a cat."),
        ("The user lives in Oslo.", "The user used to live in Oslo."),
        ("The user would like to be in Oslo.", "The user is in Oslo."),
        ("L'utilisateur aime le thé vert.", "L'utilisateur n'aime plus le thé vert."),
        ("Ich trinke Alkohol am Wochenende.", "Ich trinke niemals Alkohol am Wochenende."),
        ("El usuario come carne.", "El usuario jamás come carne."),
        ("The user is allergic to peanuts.", "The user is hardly allergic to peanuts."),
        ("The user eats meat on Fridays.", "The user eats everything except meat on Fridays."),
        ("The user likes C++ and Rust.", "The user likes C# and Rust."),
        (
            "I would rather drink tea than coffee with breakfast every weekday morning.",
            "I would rather drink coffee than tea with breakfast every weekday morning.",
        ),
    ],
)
def test_another_time_wish_or_direction_is_another_fact(one: str, other: str) -> None:
    assert not is_same(one, other) and not is_alike(one, other) and not is_alike(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("J'aime le café noir.", "J'aime le cafe\u0301 noir."),
        ("我喜欢绿茶", "我 喜欢 绿茶"),
        ("我喜欢绿茶", "我喜欢喝绿茶"),
        ("I like tea.", "Ｉ ｌｉｋｅ Ｔｅａ."),
    ],
)
def test_another_way_of_writing_is_the_same_fact(one: str, other: str) -> None:
    assert is_alike(one, other)
