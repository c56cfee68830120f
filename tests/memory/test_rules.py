"""What plain rules take for a statement about a person, and what not."""

import pytest

from api.memory.base import FACT, INSTRUCTION, PREFERENCE, PROJECT
from api.memory.rules import statements

STATED = {
    "I prefer tabs over spaces.": PREFERENCE,
    "I'd rather have short answers.": PREFERENCE,
    "I would prefer metric units.": PREFERENCE,
    "I really like green tea": PREFERENCE,
    "I love hiking in the mountains.": PREFERENCE,
    "I like to cook on Sundays.": PREFERENCE,
    "I hate small talk.": PREFERENCE,
    "I can't stand coriander.": PREFERENCE,
    "I don’t like long introductions.": PREFERENCE,
    "I dislike the cold.": PREFERENCE,
    "My favourite colour is blue.": PREFERENCE,
    "My favorite programming language is Python.": PREFERENCE,
    "I always use ruff.": PREFERENCE,
    "I never eat meat.": PREFERENCE,
    "I usually work at night.": PREFERENCE,
    "I prefer `ruff` over `black`.": PREFERENCE,
    'My favourite book is "Dune".': PREFERENCE,
    "Well, I prefer tea.": PREFERENCE,
    "Always answer in German.": INSTRUCTION,
    "Never use emojis.": INSTRUCTION,
    "Please don't use bullet points.": INSTRUCTION,
    "Do not write comments in code.": INSTRUCTION,
    "From now on answer briefly.": INSTRUCTION,
    "In future, use British spelling.": INSTRUCTION,
    "My name is Ann.": FACT,
    "My wife's name is Eva.": FACT,
    "My birthday is the third of May.": FACT,
    "Call me Bob.": FACT,
    "I'm a nurse.": FACT,
    "I am an electrical engineer from Graz.": FACT,
    "I'm allergic to nuts.": FACT,
    "I am vegan.": FACT,
    "I'm 42 years old.": FACT,
    "I live in Berlin.": FACT,
    "I work at a small bakery.": FACT,
    "I speak Hungarian.": FACT,
    "Remember that the cellar key hangs behind the door.": FACT,
    "Please note that I'm on call on Fridays.": FACT,
    "We decided to use Postgres.": PROJECT,
    "We have agreed on two-week sprints.": PROJECT,
    "Our app is written in Kotlin.": PROJECT,
    "The project uses Django.": PROJECT,
    "We deploy on Fridays.": PROJECT,
}

NOT_STATED = [
    "Do I prefer tabs?",
    "What is my name?",
    "Is my name Ann?",
    "why do I always use ruff",
    "How do we deploy this",
    "Can you tell me what I prefer",
    "I like it.",
    "I like that.",
    "I love this one!",
    "I like your answer.",
    "I like the second version better.",
    "I don't like the way it looks.",
    "I love how you explain things.",
    "I'd like to know more about tea.",
    "I would like to know the time.",
    "I would like you to write a poem.",
    "I'd like a table of all planets.",
    "I would love to see an example.",
    "I always get an error here.",
    "I never said that.",
    "I never knew that.",
    "I'm a bit confused.",
    "I am a little lost.",
    "If I prefer tea, what should I buy.",
    "When we run the build, it fails.",
    "Suppose I live in Berlin.",
    "Let's say my name is Bob.",
    "Imagine I am a pirate.",
    "Call me when you are done.",
    "Remember when we talked about tea.",
    "Note that the function returns None.",
    "Write a poem about a person who prefers tea.",
    "Always.",
    "Thanks!",
    "ok",
    "",
    "   \n\n ",
    "> I prefer tabs.",
    "  > I prefer tabs.\n> I live in Berlin.",
    "```\nI prefer tabs.\n```",
    "```python\n# I live in Berlin.",
    "`I prefer tabs.`",
    'She said "I prefer tabs."',
    'He wrote: "I hate it. I prefer tea."',
    "Er sagte „I prefer tea“.",
    "My colleague’s mail: «I live in Berlin.»",
]


@pytest.mark.parametrize("sentence", STATED)
def test_a_statement_is_found_whole_and_of_its_kind(sentence: str) -> None:
    found = [(statement.text, statement.kind) for statement in statements(sentence)]
    assert found == [(sentence.replace("’", "'"), STATED[sentence])]


@pytest.mark.parametrize("text", NOT_STATED)
def test_nothing_is_stated_by(text: str) -> None:
    assert list(statements(text)) == []


def test_only_the_sentence_that_states_something_is_kept() -> None:
    text = "Hello! I live in   Berlin. What is the weather like there?\nI prefer Celsius\n\nThanks."
    assert [statement.text for statement in statements(text)] == ["I live in Berlin.", "I prefer Celsius"]


def test_what_is_said_around_code_and_quotes_counts() -> None:
    text = "I prefer tea.\n```\nI prefer code.\n```\n> I prefer quotes.\nI live in Berlin."
    assert [statement.text for statement in statements(text)] == ["I prefer tea.", "I live in Berlin."]


@pytest.mark.parametrize("length", [400, 401])
def test_a_sentence_of_more_than_400_characters_is_left_out(length: int) -> None:
    sentence = "I prefer " + "x" * (length - 9)
    assert [statement.text for statement in statements(sentence)] == [sentence][: length == 400]
