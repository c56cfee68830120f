"""Replies as HTML over HTTP: while they run, after a reconnect, and stored."""

import threading
from typing import Any

from api.events import tool, tool_complete
from api.render.renderings import Renderings
from tests.conftest import wait_until
from tests.web.live_server import Client, LiveServer

WHOLE = Renderings().whole
REPLY = [
    "# Title\n\nSome *wo",
    "rds*.\n\n```python\nx = ",
    "1\n``",
    "`\n\n- a\n",
    "- b\n\n[l] end\n\n[l]: https://e.example/\n",
]


class Blocks:
    """The blocks of a reply as a page has them, from the events that it hears."""

    def __init__(self) -> None:
        self.html: list[str] = []
        self.seqs: list[int] = []
        self.texts = ""

    def hear(self, id: str, name: str, data: dict[str, Any]) -> None:
        if name == "html":
            assert id == ""
            self._change(data)
            return
        self.seqs.append(int(id.rpartition(":")[2]))
        if name == "snapshot":
            self.html, self.texts = list(data["html"]), data["text"]
        elif name == "token":
            self.texts += data["text"]

    def _change(self, data: dict[str, Any]) -> None:
        assert set(data) >= {"block", "html", "final", "append"}
        self.html += [""] * (data["block"] + 1 - len(self.html))
        before = self.html[data["block"]]
        if data["append"]:
            foot = "</code></pre>\n" if before.endswith("</code></pre>\n") else "</div>\n"
            self.html[data["block"]] = before.removesuffix(foot) + data["html"] + foot
        else:
            self.html[data["block"]] = data["html"]

    @property
    def shown(self) -> list[str]:
        return [html for html in self.html if html]


def read(client: Client, stream_id: str, after_seq: int = 0) -> tuple[Blocks, list[tuple[str, str, Any]]]:
    blocks = Blocks()
    with client.stream(f"/api/chat/stream?stream_id={stream_id}&after_seq={after_seq}&html=1") as reader:
        events = list(reader)
    for event in events:
        blocks.hear(*event)
    return blocks, events


def start(live: LiveServer, *steps: Any, message: str = "Say *hi*") -> tuple[str, str]:
    session_id = live.client.new_session()
    live.agent.enqueue(*steps)
    return session_id, live.client.send(session_id, message).json["stream_id"]


def stored_blocks(client: Client, session_id: str) -> list[list[str]]:
    session = client.get(f"/api/session?session_id={session_id}&html=1").json["session"]
    return [message["blocks"] for message in session["messages"] if message["role"] != "tool"]


def test_blocks_at_the_end_are_those_of_the_whole_and_of_the_stored_message(live: LiveServer) -> None:
    session_id, stream_id = start(live, *REPLY)
    blocks, events = read(live.client, stream_id)
    assert blocks.shown == WHOLE("".join(REPLY))
    assert events[0][2]["user_message"]["html"] == ["<p>Say <em>hi</em></p>\n"]
    assert events[-1][1] == "done"
    assert blocks.seqs == list(range(1, len(blocks.seqs) + 1))
    assert stored_blocks(live.client, session_id) == [["<p>Say <em>hi</em></p>\n"], WHOLE("".join(REPLY))]


def test_without_html_nothing_is_rendered(live: LiveServer) -> None:
    session_id, stream_id = start(live, *REPLY)
    assert "html" not in [name for _, name, _ in live.client.events(stream_id)]
    assert "blocks" not in live.client.session(session_id)["messages"][0]


def test_a_reader_that_comes_back_gets_the_blocks_so_far_and_goes_on(live: LiveServer) -> None:
    gate = threading.Event()
    _, stream_id = start(live, *REPLY[:3], gate, *REPLY[3:])
    blocks = Blocks()
    with live.client.stream(f"/api/chat/stream?stream_id={stream_id}&html=1") as reader:
        while "rds*" not in blocks.texts:
            blocks.hear(*next(reader))
    later = Blocks()
    with live.client.stream(
        f"/api/chat/stream?stream_id={stream_id}&after_seq={blocks.seqs[-1]}&html=1"
    ) as reader:
        while not later.html:
            later.hear(*next(reader))
        assert later.html[0] == "<h1>Title</h1>\n"
        gate.set()
        for event in reader:
            later.hear(*event)
    assert later.texts == "".join(REPLY)
    assert later.shown == WHOLE("".join(REPLY))
    assert read(live.client, stream_id, after_seq=2)[0].shown == WHOLE("".join(REPLY))


def test_what_waits_is_shown_without_a_further_piece(live: LiveServer) -> None:
    gate = threading.Event()
    _, stream_id = start(live, "one ", "two ", "three", gate)
    blocks = Blocks()
    with live.client.stream(f"/api/chat/stream?stream_id={stream_id}&html=1") as reader:
        while blocks.shown != ["<p>one two three</p>\n"]:
            blocks.hear(*next(reader))
    gate.set()


def test_words_after_a_tool_call_are_blocks_of_their_own_that_come_after_it(live: LiveServer) -> None:
    calls = [tool("c1", "look", {"q": "*x*"}), tool_complete("c1", "look", "*no* markdown", 0.1, False)]
    session_id, stream_id = start(live, "- before", *calls, "- after")
    blocks, events = read(live.client, stream_id)
    names = [(name, data.get("block")) for _, name, data in events if name in ("html", "tool")]
    place = names.index(("tool", None))
    assert {block for _, block in names[:place]} == {0} and {block for _, block in names[place + 1 :]} == {1}
    assert blocks.shown == [*WHOLE("- before"), *WHOLE("- after")]
    assert stored_blocks(live.client, session_id)[1:] == [WHOLE("- before"), WHOLE("- after")]
    tools = [
        m
        for m in live.client.get(f"/api/session?session_id={session_id}&html=1").json["session"]["messages"]
        if m["role"] == "tool"
    ]
    assert "blocks" not in tools[0]
    live.services.rendered._turns.clear()
    assert read(live.client, stream_id, after_seq=1)[0].shown == blocks.shown


def test_two_readers_get_the_same_and_it_is_rendered_once(live: LiveServer) -> None:
    gate = threading.Event()
    _, stream_id = start(live, *REPLY[:2], gate, *REPLY[2:])
    path = f"/api/chat/stream?stream_id={stream_id}&html=1"
    with live.client.stream(path) as first, live.client.stream(path) as second:
        wait_until(lambda: live.services.hub.listeners() == 2)
        gate.set()
        heard = [Blocks(), Blocks()]
        for blocks, reader in zip(heard, (first, second), strict=True):
            for event in reader:
                blocks.hear(*event)
    assert heard[0].shown == heard[1].shown == WHOLE("".join(REPLY))
    assert list(live.services.rendered._turns) == [stream_id]


def test_all_events_carry_blocks_with_their_places(live: LiveServer) -> None:
    with live.client.stream("/api/events?html=1") as reader:
        reader.until("hello")
        session_id, stream_id = start(live, *REPLY)
        blocks = Blocks()
        for id, name, data in reader:
            if name == "html":
                assert (data["session_id"], data["stream_id"]) == (session_id, stream_id)
                blocks.hear(id, name, data)
            if name == "done":
                break
    assert blocks.shown == WHOLE("".join(REPLY))


def test_a_turn_of_an_earlier_process_has_its_blocks(live: LiveServer) -> None:
    _, stream_id = start(live, *REPLY)
    read(live.client, stream_id)
    live.services.hub._streams.clear()
    blocks, events = read(live.client, stream_id)
    assert [name for _, name, _ in events] == ["turn_started", "snapshot", "done"]
    assert blocks.shown == WHOLE("".join(REPLY))


def test_a_stopped_reply_ends_as_it_is_stored(live: LiveServer) -> None:
    gate = threading.Event()
    session_id, stream_id = start(live, "```\nopen ", gate, "never")
    with live.client.stream(f"/api/chat/stream?stream_id={stream_id}&html=1") as reader:
        blocks = Blocks()
        while not blocks.shown:
            blocks.hear(*next(reader))
        live.client.post("/api/chat/cancel", {"stream_id": stream_id})
        for event in reader:
            blocks.hear(*event)
    assert stored_blocks(live.client, session_id)[1] == blocks.shown == ["<pre><code>open </code></pre>\n"]


def test_a_summary_streams_as_html_without_a_message_before_it(live: LiveServer) -> None:
    session_id = live.client.new_session()
    for number in range(3):
        live.client.events(live.client.send(session_id, f"u{number}").json["stream_id"])
    live.agent.enqueue("They **talked**.")
    stream_id = live.client.send(session_id, "/compress").json["data"]["stream_id"]
    for _ in range(2):
        with live.client.stream(f"/api/chat/stream?stream_id={stream_id}&html=1") as reader:
            events = [(name, data) for _, name, data in reader]
        assert events[0][0] == "turn_started" and events[0][1]["user_message"] is None
        assert events[-1][0] == "done"
        live.services.hub.forget(session_id)
