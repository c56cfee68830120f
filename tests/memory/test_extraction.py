"""What a model's answer teaches, and what becomes of an answer that cannot be read."""

from collections.abc import Mapping
from typing import Any

import orjson
import pytest

from api.memory.base import ACTIVE, FACT, PREFERENCE, SUGGESTED, TOOL_TEXT, USER, Entry, MemoryFailed
from api.memory.extraction import SCHEMA, Learned, extract

SAID = Entry("t1", 1, "user", "Hello! I like green tea and I live in Berlin.")
REPLY = Entry("t1", 2, "assistant", "Your flight to Paris is booked.")
LATER = Entry("t2", 3, "user", "Thanks a lot, goodbye.")
ENTRIES = [SAID, REPLY, LATER]
TEA = {"text": "User likes green tea.", "kind": "preference", "message": 1}


class ScriptedModel:
    """Gives one answer after the other, and remembers what it was asked."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.prompts: list[str] = []

    def __call__(self, prompt: str, schema: Mapping[str, Any]) -> str:
        assert schema is SCHEMA
        self.prompts.append(prompt)
        return self.answers.pop(0)


def answer(*facts: Any) -> str:
    return orjson.dumps({"facts": facts}).decode()


def learned(*answers: str) -> list[Learned]:
    return extract(ENTRIES, ScriptedModel(*answers))


LEARNED_TEA = Learned("User likes green tea.", PREFERENCE, SAID, ACTIVE, USER)


@pytest.mark.parametrize(
    "text",
    [
        answer(TEA),
        f"```json\n{answer(TEA)}\n```",
        f"<think>The user likes tea.</think>\n{answer(TEA)}\nThat is all.",
        answer({**TEA, "text": "  User likes\n green   tea. "}),
        answer({**TEA, "why": "said so"}),
    ],
)
def test_the_facts_of_an_answer_are_learned(text: str) -> None:
    assert learned(text) == [LEARNED_TEA]


def test_nothing_to_learn() -> None:
    assert learned(answer()) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I have learned nothing.",
        "{",
        "}{",
        "[]",
        '{"facts": "none"}',
        '{"fact": []}',
        answer({**TEA, "kind": "rumour"}),
        answer({**TEA, "text": ""}),
        answer({**TEA, "text": "x" * 401}),
        answer({**TEA, "message": "first"}),
        answer({**TEA, "message": None}),
        answer("User likes tea."),
        "{\ud83d}",
        '{"facts":' * 9000 + "}" * 9000,
        f"{{maybe}} {answer(TEA)}",
        '{"facts": NaN}',
    ],
)
def test_another_shape_is_asked_for_once_more(text: str) -> None:
    model = ScriptedModel(text, answer(TEA))
    assert extract(ENTRIES, model) == [LEARNED_TEA]
    assert model.prompts[1].startswith(model.prompts[0]) and "could not be read" in model.prompts[1]
    with pytest.raises(MemoryFailed, match="in the shape asked for"):
        learned(text, text)


def test_twenty_facts_of_400_characters_are_learned() -> None:
    facts = [{**TEA, "text": f"tea {n} ".ljust(400, "x")} for n in range(20)]
    assert len(learned(answer(*facts))) == 20


@pytest.mark.parametrize("number", [0, -1, 4, 10**15])
def test_a_message_that_is_not_there_teaches_nothing(number: int) -> None:
    facts = orjson.dumps(TEA).decode().replace('"message":1', f'"message":{number}')
    assert learned(f'{{"facts": [{facts}, {orjson.dumps(TEA).decode()}]}}') == [LEARNED_TEA]


def test_what_the_words_of_the_user_do_not_bear_out_is_suggested() -> None:
    facts = [
        {"text": "User is a pilot from Norway.", "kind": "fact", "message": 1},
        {"text": "User does not like green tea.", "kind": "preference", "message": 1},
        {"text": "User has a flight to Paris.", "kind": "fact", "message": 2},
        {"text": "User lives in Berlin.", "kind": "fact", "message": 3},
    ]
    found = learned(answer(*facts))
    assert {(fact.state, fact.origin) for fact in found} == {(SUGGESTED, TOOL_TEXT)}
    assert [fact.entry.message_id for fact in found] == [1, 1, 2, 3]


@pytest.mark.parametrize("half", ["\ud83d", "\\ud83d"])
def test_half_a_character_becomes_its_replacement(half: str) -> None:
    text = f'{{"facts": [{{"text": "User likes green tea {half}", "kind": "fact", "message": 1}}]}}'
    assert learned(text) == [Learned("User likes green tea \ufffd", FACT, SAID)]


def test_the_model_sees_numbered_messages_and_no_tool_text() -> None:
    model = ScriptedModel(answer())
    long = Entry("t3", 6, "user", "y" * 5000)
    tool = Entry("t3", 5, "tool", "secret of a tool")
    aside = Entry("t3", 7, "user", "an aside of ours", {"kind": "command"})
    extract([*ENTRIES, tool, long, aside], model)
    (prompt,) = model.prompts
    assert "[1] User: Hello!" in prompt and "[2] Assistant: Your flight" in prompt
    assert "secret" not in prompt and "aside" not in prompt
    assert f"[5] User: {'y' * 4000}" in prompt and "y" * 4001 not in prompt


@pytest.mark.parametrize("texts", [["hi"], ["yes", "no thanks"], []])
def test_a_few_words_are_not_worth_a_question(texts: list[str]) -> None:
    entries = [Entry("t1", n, "user", text) for n, text in enumerate(texts, start=1)]
    assert extract([*entries, REPLY], ScriptedModel()) == []


def test_a_sentence_without_blanks_is_worth_one() -> None:
    model = ScriptedModel(answer())
    assert extract([Entry("t1", 1, "user", "我喜欢喝绿茶")], model) == [] and len(model.prompts) == 1


def test_without_a_model_the_words_of_the_user_are_searched_by_rules() -> None:
    told = Entry("t2", 4, "assistant", "I prefer coffee.")
    aside = Entry("t2", 5, "user", "I prefer cake.", {"kind": "command"})
    assert extract([SAID, told, aside], None) == [
        Learned("I like green tea and I live in Berlin.", PREFERENCE, SAID)
    ]


def test_a_pasted_document_teaches_nothing_by_itself() -> None:
    document = Entry("t1", 1, "user", f"{SAID.text}\n{'Lorem ipsum dolor. ' * 250}")
    assert extract([document], None) == []
    assert extract([document], ScriptedModel(answer(TEA))) == [
        Learned("User likes green tea.", PREFERENCE, document, SUGGESTED, TOOL_TEXT)
    ]


@pytest.mark.parametrize(("named", "kept"), [(25, 25), (500, 100)])
def test_a_model_may_name_many_facts_but_not_without_end(named: int, kept: int) -> None:
    assert len(extract(ENTRIES, ScriptedModel(answer(*[TEA] * named)))) == kept
