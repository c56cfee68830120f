"""Text from outside becomes valid Unicode that can be saved again."""

import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.text import MAX_NESTING, TextJoiner, clean_json, read_json, read_strict_json, valid_unicode

ANY_TEXT = st.text(st.characters(exclude_categories=()))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ok \ud83d end 😀", "ok \ufffd end 😀"),
        ("\udc00", "\ufffd"),
        ("\ud83d\ude00", "😀"),
        ("\ud83d\ud83d\ude80", "\ufffd🚀"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("答え naïve", "答え naïve"),
        ("", ""),
    ],
)
def test_lone_surrogates_are_replaced_and_pairs_joined(text: str, expected: str) -> None:
    assert valid_unicode(text) == expected


@given(ANY_TEXT)
def test_any_text_becomes_encodable_and_stays_so(text: str) -> None:
    clean = valid_unicode(text)
    assert valid_unicode(clean.encode().decode()) == clean


@given(st.recursive(ANY_TEXT | st.none(), lambda inner: st.lists(inner) | st.dictionaries(ANY_TEXT, inner)))
def test_any_nested_value_can_be_saved(value: object) -> None:
    assert orjson.loads(orjson.dumps(clean_json(value))) == clean_json(value)


def test_a_value_nested_too_deep_is_refused() -> None:
    value: list[object] = []
    for _ in range(MAX_NESTING + 1):
        value = [value]
    with pytest.raises(ValueError, match="too deep"):
        clean_json(value)


@given(ANY_TEXT, st.data())
def test_text_cut_anywhere_is_joined_as_the_whole(text: str, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(text)))
    joiner = TextJoiner()
    joined = joiner.feed(text[:cut]) + joiner.feed(text[cut:]) + joiner.finish()
    assert joined == valid_unicode(text)


@given(ANY_TEXT)
def test_escaped_surrogates_are_read(text: str) -> None:
    assert valid_unicode(read_json(json.dumps({"k": text}))["k"]) == valid_unicode(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("NaN", None),
        ('["\\ud800", Infinity]', ["\ud800", None]),
        ('["\\ud800", ' + "9" * 30 + "]", ["\ud800", 1e30]),
    ],
)
def test_what_orjson_refuses_is_read_as_far_as_it_can_be_saved(text: str, expected: object) -> None:
    assert read_json(text) == expected


@pytest.mark.parametrize("text", ["", "{", "nope", "[" * 100_000])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        read_json(text)


@pytest.mark.parametrize(
    "bad", [b'{"k": NaN}', b'{"k": "\\ud800", "n": Infinity}', b'"a\nb"', b'"\xff"', b"{"]
)
def test_a_strict_reader_takes_json_only(bad: bytes) -> None:
    with pytest.raises(ValueError):
        read_strict_json(bad)


def test_a_strict_reader_gives_what_can_be_saved() -> None:
    value = read_strict_json(b'{"k": "\\ud800", "n": 123456789012345678901234567890}')
    assert orjson.loads(orjson.dumps(value)) == {"k": "\ufffd", "n": 1.2345678901234568e29}


def test_a_strict_reader_refuses_what_is_nested_without_end() -> None:
    with pytest.raises(ValueError, match="too deep"):
        read_strict_json(b'["\\ud800",' + b"[" * 100_000 + b"]" * 100_001)
