"""The pure modules of the page, imported and called in the browser."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.page.conftest import serve

PARSE = """async (pieces) => {
  const { createParser } = await import("/static/js/sse.js");
  const events = [];
  const parser = createParser((event) => events.push([event.type, event.data, event.id]));
  for (const piece of pieces) parser.feed(piece);
  return events;
}"""
REDUCE = """async ({ events, from }) => {
  const { initialState, reduce } = await import("/static/js/state.js");
  const { shownLine } = await import("/static/js/line.js");
  let state = { ...initialState(), ...from };
  for (const event of events) state = reduce(state, event);
  return { state, line: shownLine(state) };
}"""


@pytest.fixture(scope="module")
def tab(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A page of the server's origin; the modules need nothing else of it."""
    served = serve(tmp_path_factory.mktemp("modules"), "--openai-base-url", "http://127.0.0.1:9/v1")
    page = browser.new_page()
    page.goto(served.base)
    yield page
    page.close()
    served.stop()


@pytest.mark.parametrize(
    ("pieces", "events"),
    [
        (["data: a\n\n"], [["message", "a", ""]]),
        (["data: a\r\n\r\n"], [["message", "a", ""]]),
        (["data: a\r\rdata: b\r\r"], [["message", "a", ""], ["message", "b", ""]]),
        (["data: a\r", "\n\r", "\n"], [["message", "a", ""]]),
        (["event: x\nid: 7\nda", "ta: a\n", "\n"], [["x", "a", "7"]]),
        (["data: a\ndata:b\ndata\n\n"], [["message", "a\nb\n", ""]]),
        ([": beat\n\ndata: a\n\n"], [["message", "a", ""]]),
        (["event: x\n\ndata: a\n\n"], [["message", "a", ""]]),
        (["id: 1\ndata: a\n\ndata: b\n\n"], [["message", "a", "1"], ["message", "b", "1"]]),
        (["id: 1\0\ndata: a\n\n"], [["message", "a", ""]]),
        (["data: a\u2028b\u0085c\x0bd\n\n"], [["message", "a\u2028b\u0085c\x0bd", ""]]),
        (["data:  two blanks\n\n"], [["message", " two blanks", ""]]),
        (["data: never ended\n"], []),
    ],
)
def test_events_are_cut_as_the_standard_says(tab: Page, pieces: list[str], events: list[list[str]]) -> None:
    assert tab.evaluate(PARSE, pieces) == events


def reduced(tab: Page, *events: dict[str, Any], **start: Any) -> dict[str, Any]:
    answer: dict[str, Any] = tab.evaluate(REDUCE, {"events": events, "from": start})
    return answer


def said(seq: int, kind: str, **data: Any) -> dict[str, Any]:
    return {"type": "turn/event", "stream_id": "s.t1", "event": {"type": kind, "seq": seq, "data": data}}


def session(revision: int, *messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    kept = {"session_id": "s", "revision": revision, "queue": [], "active_turn": None}
    return {"type": "session/loaded", "session": {**kept, "messages": list(messages), **more}}


ASK = {"id": 1, "parent": None, "role": "user", "text": "Hi", "turn": "t1"}
REPLY = {"id": 2, "parent": 1, "role": "assistant", "text": "one two", "turn": "t1"}
ATTACH = {"type": "turn/attached", "session_id": "s", "stream_id": "s.t1"}
STARTED = said(1, "turn_started", turn_id="t1", user_message={"id": 1, "content": "Hi"})


def text_of(answer: dict[str, Any]) -> str:
    return "".join(part["text"] for part in answer["state"]["turn"]["parts"])


def test_an_event_that_comes_twice_counts_once(tab: Page) -> None:
    one, two = said(2, "token", text="one "), said(3, "token", text="two")
    answer = reduced(tab, ATTACH, STARTED, one, two, one, two, two, open="s")
    assert text_of(answer) == "one two"


def test_a_snapshot_stands_for_what_is_missing_and_never_for_what_is_newer(tab: Page) -> None:
    behind = said(2, "snapshot", text="one ", reasoning="", tools=[])
    ahead = said(9, "snapshot", text="one two three", reasoning="", tools=[])
    tokens = [said(2, "token", text="one "), said(3, "token", text="two")]
    assert text_of(reduced(tab, ATTACH, STARTED, *tokens, behind, open="s")) == "one two"
    assert text_of(reduced(tab, ATTACH, STARTED, *tokens, ahead, open="s")) == "one two three"


def test_an_event_of_another_turn_changes_nothing(tab: Page) -> None:
    foreign = {**said(2, "token", text="foreign"), "stream_id": "s.t2"}
    assert text_of(reduced(tab, ATTACH, STARTED, foreign, open="s")) == ""
    assert reduced(tab, ATTACH, open="other")["state"]["turn"] is None


def test_an_older_session_never_replaces_a_newer_one(tab: Page) -> None:
    answer = reduced(tab, session(5, ASK, REPLY), session(4, ASK), open="s")
    assert len(answer["state"]["session"]["messages"]) == 2


def test_a_stored_reply_takes_the_place_of_the_running_one(tab: Page) -> None:
    token = said(2, "token", text="one two")
    active = {"turn_id": "t1", "stream_id": "s.t1"}
    before = reduced(tab, session(1, ASK, active_turn=active), STARTED, token, open="s")
    assert [m["id"] for m in before["line"]["messages"]] == [1]
    assert before["line"]["live"]["parts"] == [{"kind": "text", "text": "one two"}]
    after = reduced(tab, ATTACH, STARTED, token, session(2, ASK, REPLY), open="s")
    assert [m["id"] for m in after["line"]["messages"]] == [1, 2]
    assert after["line"]["live"] is None


def test_words_that_could_not_be_stored_stay(tab: Page) -> None:
    end = said(3, "apperror", message="The disk is full.", type="storage", message_ids=[])
    answer = reduced(tab, ATTACH, STARTED, said(2, "token", text="one"), end, session(2, ASK), open="s")
    assert text_of(answer) == "one"


def test_tools_and_usage_of_a_turn(tab: Page) -> None:
    events = [
        said(2, "token", text="Look: "),
        said(3, "tool", tid="a", name="find", args={"q": 1}, preview=""),
        said(4, "tool_complete", tid="a", name="find", result="3", duration=0.5, is_error=False),
        said(5, "token", text="three"),
        said(6, "usage", input_tokens=10, output_tokens=None),
        said(7, "usage", input_tokens=5, output_tokens=2),
    ]
    turn = reduced(tab, ATTACH, STARTED, *events, open="s")["state"]["turn"]
    assert [part["kind"] for part in turn["parts"]] == ["text", "tool", "text"]
    assert turn["parts"][1]["result"] == "3"
    assert turn["usage"] == {"input_tokens": 15, "output_tokens": 2}


def row(session_id: str, updated_at: float, revision: int = 1, **more: Any) -> dict[str, Any]:
    kept = {"session_id": session_id, "updated_at": updated_at, "revision": revision, "title": session_id}
    return {**kept, "pinned": False, "archived": False, **more}


def listed(answer: dict[str, Any]) -> list[str]:
    return [entry["session_id"] for entry in answer["state"]["list"]["rows"]]


def test_rows_keep_their_order_and_their_newest_state(tab: Page) -> None:
    page = {"type": "list/page", "rows": [row("a", 3), row("b", 2)], "next": "c", "replace": True}
    changes = [
        {"type": "list/row", "session_id": "b", "row": row("b", 9, 5)},
        {"type": "list/row", "session_id": "b", "row": row("b", 2, 4)},
        {"type": "list/row", "session_id": "old", "row": row("old", 1)},
        {"type": "list/row", "session_id": "empty", "row": row("empty", 9, title="", message_count=0)},
    ]
    assert listed(reduced(tab, page, *changes)) == ["b", "a"]
    gone = {"type": "list/row", "session_id": "a", "row": None}
    assert listed(reduced(tab, page, gone, page)) == ["b"]


def html(block: int, html: str, append: bool = False) -> dict[str, Any]:
    """A change of a block; on the wire it has no number, so the page gives it that of the event before."""
    return said(1, "html", block=block, html=html, final=False, append=append)


def blocks_of(answer: dict[str, Any]) -> list[list[tuple[int, str]]]:
    parts = answer["state"]["turn"]["parts"]
    return [[(b["number"], b["html"] + b["added"]) for b in part.get("blocks", [])] for part in parts]


def test_blocks_stay_with_the_words_they_belong_to(tab: Page) -> None:
    events = [
        said(2, "token", text="one"),
        html(0, "<p>one</p>"),
        said(3, "tool", tid="a", name="find", args={}, preview=""),
        said(4, "token", text="two"),
        html(1, "<p>t</p>"),
        html(0, "<p>one!</p>"),
        html(1, "wo", append=True),
    ]
    answer = reduced(tab, ATTACH, STARTED, *events, open="s")
    assert blocks_of(answer) == [[(0, "<p>one!</p>")], [], [(1, "<p>t</p>wo")]]


def test_words_on_both_sides_of_reasoning_are_shown_once(tab: Page) -> None:
    events = [
        said(2, "token", text="one "),
        html(0, "<p>one</p>"),
        said(3, "reasoning", text="hm"),
        said(4, "token", text="two"),
        html(0, "<p>one two</p>"),
    ]
    parts = reduced(tab, ATTACH, STARTED, *events, open="s")["state"]["turn"]["parts"]
    assert [part["kind"] for part in parts] == ["text", "reasoning", "text"]
    assert [len(part.get("blocks", "?")) for part in parts] == [1, 1, 0]


def test_a_snapshot_brings_its_blocks(tab: Page) -> None:
    ahead = said(9, "snapshot", text="one two", reasoning="", tools=[], html=["<p>one</p>", "<p>tw</p>"])
    answer = reduced(tab, ATTACH, STARTED, ahead, html(1, "<p>two</p>"), open="s")
    assert blocks_of(answer) == [[(0, "<p>one</p>"), (1, "<p>two</p>")]]
