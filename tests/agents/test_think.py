"""Thinking at the head of a reply is told apart from the reply."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.agents.think import ThinkSplitter

CASES = {
    "no thought": ("Hello <think>", "", "Hello <think>"),
    "thought and reply": ("<think>let me see</think>\n\nHello", "let me see", "Hello"),
    "blank lines first": ("\n <think>hm</think>Hi", "hm", "Hi"),
    "never closed": ("<think>on and on </thin", "on and on </thin", ""),
    "empty thought": ("<think>\n</think>\n\nHi", "\n", "Hi"),
    "almost a tag": ("<thin ice", "", "<thin ice"),
    "only the beginning of a tag": ("<thi", "", "<thi"),
    "a tag in the reply": ("<think>a</think>b <think>c</think>", "a", "b <think>c</think>"),
    "other tags in the thought": ("<think>a <b> </ c</think>d", "a <b> </ c", "d"),
    "blank reply": ("  \n", "", "  \n"),
    "only a thought": ("<think>思考 😀</think>\n", "思考 😀", ""),
}


def split(*pieces: str) -> tuple[str, str]:
    splitter = ThinkSplitter()
    events = [event for piece in pieces for event in splitter.feed(piece)] + splitter.finish()
    assert all(event.data["text"] for event in events)
    texts = {
        kind: "".join(e.data["text"] for e in events if e.type == kind) for kind in ("reasoning", "token")
    }
    return texts["reasoning"], texts["token"]


@pytest.mark.parametrize(("content", "thought", "reply"), CASES.values(), ids=CASES.keys())
def test_thought_and_reply_are_parted(content: str, thought: str, reply: str) -> None:
    assert split(content) == (thought, reply)


@given(st.sampled_from([case[0] for case in CASES.values()]), st.data())
def test_any_cut_parts_the_same(content: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(content)), max_size=6)))
    pieces = [content[a:b] for a, b in zip([0, *cuts], [*cuts, len(content)], strict=True)]
    assert split(*pieces) == split(content)
