"""The decoder of server-sent events follows the standard, however the bytes are cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.agents.sse import EventDecoder
from api.errors import AgentError

CASES = {
    "line feeds": (b"data: a\n\ndata: b\n\n", ["a", "b"]),
    "CR LF": (b"data: a\r\n\r\ndata: b\r\n\r\n", ["a", "b"]),
    "bare CR": (b"data: a\r\rdata: b\r\r", ["a", "b"]),
    "mixed line ends": (b"data: a\r\n\rdata: b\n\r\n", ["a", "b"]),
    "no blank after the colon": (b"data:a\n\ndata:  b\n\n", ["a", " b"]),
    "comments": (b": hi\n:\ndata: a\n: between\n\n:\n\n", ["a"]),
    "ids and retry": (b"id: 7\nretry: 10\ndata: a\n\nid\n\n", ["a"]),
    "unknown field": (b"nonsense: x\ndata: a\nword\n\n", ["a"]),
    "byte order mark": ("\ufeffdata: a\n\n".encode(), ["a"]),
    "byte order mark inside": ("data: a\n\n\ufeffdata: b\n\n".encode(), ["a"]),
    "several data lines": (b"data: a\ndata\ndata:\ndata: b\n\n", ["a\n\n\nb"]),
    "lone data line": (b"data:\n\n", [""]),
    "no blank line at the end": (b"data: a\n\ndata: [DONE]", ["a", "[DONE]"]),
    "other separators": (
        "data: a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\n\n".encode(),
        ["a\u2028b\u2029c\x85d\x0be\x0cf\x1cg"],
    ),
    "invalid byte": (b"data: na\xe9ve\n\ndata: b\n\n", ["na\ufffdve", "b"]),
    "invalid byte before the line end": (b"data: \xf0\x9f\n\ndata: b\n\n", ["\ufffd", "b"]),
    "characters of many bytes": ("data: naïve 😀 答え\n\n".encode(), ["naïve 😀 答え"]),
    "nothing": (b"", []),
    "only blank lines": (b"\n\r\n\r\n\n", []),
}


def decode(*pieces: bytes) -> list[tuple[str, str]]:
    decoder = EventDecoder()
    events = [event for piece in pieces for event in decoder.feed(piece)]
    return events + decoder.finish()


@pytest.mark.parametrize(("stream", "expected"), CASES.values(), ids=CASES.keys())
def test_a_stream_gives_its_events(stream: bytes, expected: list[str]) -> None:
    assert [data for _, data in decode(stream)] == expected


@pytest.mark.parametrize(("stream", "expected"), CASES.values(), ids=CASES.keys())
def test_one_byte_at_a_time_gives_the_same(stream: bytes, expected: list[str]) -> None:
    assert [data for _, data in decode(*(bytes([byte]) for byte in stream))] == expected


def test_an_event_has_its_name_and_the_next_one_has_not() -> None:
    assert decode(b"event: error\ndata: x\n\ndata: y\n\nevent: lost\n\ndata: z\n\n") == [
        ("error", "x"),
        ("message", "y"),
        ("message", "z"),
    ]


def test_an_event_is_given_with_the_piece_that_ends_it() -> None:
    decoder = EventDecoder()
    assert decoder.feed(b"data: a\r") == []
    assert decoder.feed(b"\n\r") == [("message", "a")]
    assert decoder.feed(b"\ndata: b\n\n") == [("message", "b")]


FRAGMENTS = st.sampled_from(
    [
        b"data: ",
        b"data",
        b":",
        b"\n",
        b"\r",
        b"\r\n",
        b"event: x",
        b" ",
        "é😀\u2028".encode(),
        b"\xff",
        b"a",
        b"\xef\xbb\xbf",
    ]
)


@given(st.lists(FRAGMENTS, max_size=40).map(b"".join), st.data())
def test_any_cut_gives_the_same_events(stream: bytes, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert decode(*pieces) == decode(stream)


@pytest.mark.parametrize("piece", [b"x" * 10, b"data: xxxx\n", b": comment"])
def test_an_event_without_end_is_refused(piece: bytes) -> None:
    decoder = EventDecoder(max_event_bytes=1000)
    with pytest.raises(AgentError, match="refused"):
        for _ in range(1000):
            decoder.feed(piece)


def test_what_came_before_a_refused_event_is_given() -> None:
    decoder = EventDecoder(max_event_bytes=100)
    assert decoder.feed(b"data: a\n\ndata: " + b"x" * 200 + b"\n\n") == [("message", "a")]
    with pytest.raises(AgentError):
        decoder.finish()


def test_many_events_in_one_stream_are_all_given() -> None:
    decoder = EventDecoder(max_event_bytes=100)
    stream = b'data: {"n":1}\n\n' * 20_000
    events = [
        event for cut in range(0, len(stream), 4096) for event in decoder.feed(stream[cut : cut + 4096])
    ]
    assert len(events) == 20_000
