"""Tool calls come out whole, in all the ways in which providers send their pieces."""

import json
from typing import Any

import pytest

from api.agents.tool_calls import ToolCall, ToolCallAssembler

Chunks = list[Any]
A, B = '{"path": "a"}', '{"path": "b"}'


def entry(
    index: Any = None, id: Any = None, name: Any = None, arguments: Any = None, **more: Any
) -> dict[str, Any]:
    """One entry with only what is given."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return {k: v for k, v in (("index", index), ("id", id)) if v is not None} | {"function": function} | more


def letters(text: str, **fixed: Any) -> Chunks:
    return [[entry(arguments=letter, **fixed)] for letter in text]


def assemble(chunks: Chunks) -> list[ToolCall]:
    assembler = ToolCallAssembler()
    for chunk in chunks:
        assembler.add(chunk)
    return list(assembler.finish())


def by_the_book(**more: Any) -> Chunks:
    first = [[entry(0, "x", "read", "", **more)], *letters(A, index=0)]
    return [*first, [entry(1, "y", "read", "", **more)], *letters(B, index=1)]


TWO_CALLS: dict[str, Chunks] = {
    "by the book": by_the_book(type="function"),
    "one index, ids at the head": [
        [entry(0, "x", "read", "")],
        *letters(A, index=0),
        [entry(0, "y", "read", "")],
        *letters(B, index=0),
    ],
    "one index, ids in every piece": [
        [entry(0, "x", "read", "")],
        *letters(A, index=0, id="x"),
        [entry(0, "y", "read", "")],
        *letters(B, index=0, id="y"),
    ],
    "one index, ids, interleaved": [
        [entry(0, "x", "read", "")],
        [entry(0, "y", "read", "")],
        *(
            piece
            for pair in zip(letters(A, index=0, id="x"), letters(B, index=0, id="y"), strict=True)
            for piece in pair
        ),
    ],
    "one index, heads between, interleaved": [
        [entry(0, "x", "read", A[:5])],
        [entry(0, "y", "read", B[:5])],
        [entry(0, "x", None, A[5:])],
        [entry(0, "y", None, B[5:])],
    ],
    "no index": [[entry(None, "x", "read", "")], *letters(A), [entry(None, "y", "read", "")], *letters(B)],
    "null index": [
        [{"index": None, "id": "x", "function": {"name": "read", "arguments": A}}],
        [{"index": None, "id": "y", "function": {"name": "read", "arguments": B}}],
    ],
    "no index and no id": [[entry(name="read", arguments=A)], [entry(name="read", arguments=B)]],
    "index only at the head": [
        [entry(0, "x", "read", "")],
        *letters(A),
        [entry(1, "y", "read", "")],
        *letters(B),
    ],
    "name in every piece": [
        *letters(A, index=0, id="x", name="read"),
        *letters(B, index=1, id="y", name="read"),
    ],
    "name in every piece, no id": [*letters(A, index=0, name="read"), *letters(B, index=1, name="read")],
    "name in every piece, no index, no id": [*letters(A, name="read"), *letters(B, name="read")],
    "name in every piece, one index, no id": [
        *letters(A, index=0, name="read"),
        *letters(B, index=0, name="read"),
    ],
    "name in pieces": [
        [entry(0, "x", "re", "")],
        [entry(0, None, "ad", "")],
        *letters(A, index=0),
        [entry(1, "y", "rea", "")],
        [entry(1, None, "d", "")],
        *letters(B, index=1),
    ],
    "new id in every piece, empty name": [
        [entry(0, "x", "read", "")],
        *([entry(0, f"x{n}", "", letter)] for n, letter in enumerate(A)),
        [entry(1, "y", "read", "")],
        *([entry(1, f"y{n}", "", letter)] for n, letter in enumerate(B)),
    ],
    "new id in every piece, empty name, no index": [
        [entry(None, "x", "read", "")],
        *([entry(None, f"x{n}", "", letter)] for n, letter in enumerate(A)),
        [entry(None, "y", "read", "")],
        *([entry(None, f"y{n}", "", letter)] for n, letter in enumerate(B)),
    ],
    "new id and name in every piece": [
        *([entry(0, f"x{n}", "read", letter)] for n, letter in enumerate(A)),
        *([entry(1, f"y{n}", "read", letter)] for n, letter in enumerate(B)),
    ],
    "two entries of one index in a chunk": [
        [entry(0, "x", "read", A[:6]), entry(0, None, None, A[6:])],
        [entry(1, "y", "read", B[:3]), entry(1, None, "", B[3:])],
    ],
    "two calls of one index in a chunk": [[entry(0, None, "read", A), entry(0, None, "read", B)]],
    "null arguments first": [
        [{"index": 0, "id": "x", "function": {"name": "read", "arguments": None}}],
        *letters(A, index=0),
        [{"index": 1, "id": "y", "function": {"name": "read", "arguments": None}}],
        *letters(B, index=1),
    ],
    "arguments as an object": [
        [entry(0, "x", "read", {"path": "a"})],
        [entry(1, "y", "read", {"path": "b"})],
    ],
    "arguments as an object, no index": [
        [entry(name="read", arguments={"path": "a"})],
        [entry(name="read", arguments={"path": "b"})],
    ],
    "arguments encoded twice": [
        [entry(0, "x", "read", json.dumps(A))],
        [entry(1, "y", "read", json.dumps(B))],
    ],
    "both whole in one chunk": [[entry(0, "x", "read", A), entry(1, "y", "read", B)]],
    "both whole in one chunk, no index": [[entry(None, "x", "read", A), entry(None, "y", "read", B)]],
    "the same id for both": [[entry(0, "x", "read", A), entry(1, "x", "read", B)]],
    "empty ids": [[entry(0, "", "read", A), entry(1, "", "read", B)]],
    "whole calls repeated at the end": [*by_the_book(), [entry(0, "x", "read", A), entry(1, "y", "read", B)]],
    "nonsense between": [
        [entry(0, "x", "read", A)],
        None,
        [None, 3],
        {},
        [{}],
        [{"function": None}],
        [entry(1, "y", "read", B)],
    ],
}


@pytest.mark.parametrize("chunks", TWO_CALLS.values(), ids=TWO_CALLS.keys())
def test_two_parallel_calls_come_out_whole(chunks: Chunks) -> None:
    calls = assemble(chunks)
    assert [(call.name, call.arguments) for call in calls] == [
        ("read", {"path": "a"}),
        ("read", {"path": "b"}),
    ]
    assert len({call.id for call in calls}) == 2
    assert all(call.id for call in calls)


def test_ids_that_were_given_are_kept() -> None:
    assert [call.id for call in assemble(TWO_CALLS["new id in every piece, empty name"])] == ["x", "y"]


@pytest.mark.parametrize("arguments", [None, "", "  ", "null", "{}", {}])
def test_a_call_without_arguments_has_an_empty_object(arguments: Any) -> None:
    assert assemble([[entry(0, "x", "now", arguments)]]) == [ToolCall("x", "now", {})]


def test_two_calls_without_arguments_stay_two() -> None:
    assert [call.name for call in assemble([[entry(name="list"), entry(name="pwd")]])] == ["list", "pwd"]


def test_arguments_that_are_no_json_are_kept_as_text() -> None:
    assert assemble([[entry(0, "x", "read", '{"path": ')]]) == [ToolCall("x", "read", '{"path": ')]


def test_surrogates_in_arguments_and_keys_become_valid_text() -> None:
    arguments = '{"\\ud83d": "\\ud83d\\ude80", "k": ["\\udc00"]}'
    assert assemble([[entry(0, "x", "read", arguments)]])[0].arguments == {"\ufffd": "🚀", "k": ["\ufffd"]}


def test_a_pair_cut_over_two_pieces_is_joined() -> None:
    assert assemble([[entry(0, "x", "r", '{"k":"\ud83d')], [entry(0, arguments='\ude80"}')]])[
        0
    ].arguments == {"k": "🚀"}


def test_arguments_nested_too_deep_are_kept_as_text() -> None:
    text = "[" * 400 + "]" * 400
    assert assemble([[entry(0, "x", "read", text)]])[0].arguments == text
