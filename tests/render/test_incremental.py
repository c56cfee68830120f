"""Text that grows: after its end it equals the whole, whatever it is and wherever it was cut."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from api.render.document import Document, Renderer
from api.render.incremental import OPEN_LIMIT, PAUSE_S, Incremental
from tests.render.page import Page

RENDERER = Renderer()

LINES = st.sampled_from(
    [
        "", "", "", " ", "a", "b c", "  d", "    e", "\tf", "***", "---", "===", "- ", "-", "- a",
        "- [ ] t", "-  b", "  - n", "   m", "* s", "+ p", "1. one", "2) two", "10. ten", "# h",
        "## h #", "####### no", "> q", ">", "> > qq", ">- l", "> [!NOTE]", "```", "````", "~~~",
        "```py", "  ```", "    ```", "- ```", "> ```", "x `c` y", "|a|b|", "a | b", "|-|-|",
        "--- | ---", "|:-:|-:|", "[l]", "[l]: /u", "[l]: /v 't'", "[m][l]", "[m]:", "/w", "'ti",
        "tle'", "[^1]", "[^1]: note", "[^2]: n [^1]", "a[^2] b", "    more", "$$", "$$ x $$", "$x$",
        "$5 and $10", "\\[", "\\]", "\\(a\\)", "*e*", "**b", "_i_", "~~s~~", "<b>", "&lt;", "&amp",
        "![i](http://x/y)", "<http://a.b>", "http://a.b/?c=1&d=2", "www.a.bc", "\\", "a\\", "a  ",
        "\0", "é", "\u2028", "\x0b", "[", "]", "`", "``", "[x]: <y>",
    ]
)  # fmt: skip
ENDS = st.sampled_from(["\n", "\n", "\n", "\r\n", "\r", "\n\n", ""])
TEXTS = st.one_of(
    st.lists(st.tuples(LINES, ENDS), max_size=24).map(lambda lines: "".join(a + b for a, b in lines)),
    st.text(alphabet="ab \n\r\t`~#>-*+_=|$\\[]()^:!1.<&\0", max_size=60),
    st.text(max_size=30),
)
CUTS = st.lists(st.integers(0, 400), max_size=40)
LIMITS = st.sampled_from([OPEN_LIMIT, 20, 0])


def fed(text: str, cuts: list[int], step_s: float, open_limit: int = OPEN_LIMIT) -> Page:
    incremental, page, now = Incremental(RENDERER, open_limit), Page(), 0.0
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    for start, end in pairwise(places):
        page.take(incremental.feed(text[start:end], now))
        assert page.html == incremental.blocks
        now += step_s
    assert incremental.text == text
    page.take(incremental.finish())
    assert page.html == incremental.blocks
    return page


@settings(max_examples=400, deadline=None)
@given(TEXTS, CUTS, st.sampled_from([0.0, 0.07, 1.0]), LIMITS)
@example("- a\n\nb", [1, 2, 3, 4, 5], 1.0, 100)
@example("[l]\n\na\n\n[l]: /u\n", [3, 5, 8, 12], 1.0, 100)
@example("```\na\r\nb\n``\n```\nc", list(range(20)), 1.0, 100)
def test_the_end_equals_the_whole(text: str, cuts: list[int], step_s: float, open_limit: int) -> None:
    page = fed(text, cuts, step_s, open_limit)
    assert page.html == RENDERER.blocks(text, {})
    assert page.finals >= {number for number, html in page.blocks.items() if html}


@settings(max_examples=150, deadline=None)
@given(TEXTS)
def test_the_end_equals_the_whole_letter_by_letter(text: str) -> None:
    assert fed(text, list(range(len(text))), 1.0).html == RENDERER.blocks(text, {})


@settings(max_examples=300, deadline=None)
@given(TEXTS.map(lambda text: text.replace("[", "(")), CUTS, LIMITS)
def test_a_finished_block_is_never_sent_again(text: str, cuts: list[int], open_limit: int) -> None:
    incremental, now = Incremental(RENDERER, open_limit), 0.0
    finals: dict[int, str] = {}
    for start, end in pairwise(sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})):
        for change in incremental.feed(text[start:end], now):
            assert change.block not in finals
            if change.final:
                finals[change.block] = change.html
        now += 1.0
    assert not {change.block for change in incremental.finish()} & set(finals)


class CountingRenderer(Renderer):
    """Counts the letters that it is given to parse."""

    letters = 0

    def parse(self, text: str, known: dict[str, Any] | None = None) -> Document:
        self.letters += len(text)
        return super().parse(text, known)


def grown(line: str, opening: str = "") -> str:
    return (opening + "".join(line.format(n) for n in range(20_000)))[:200_000]


SHAPES = {
    "paragraphs": grown("Some *words* and `code` {}.\n\n"),
    "one paragraph": grown("Some *words* and `code` {} "),
    "one fence": grown("x = {}  # note\n\n", "```python\n"),
    "one list": grown("- item {} **bold**\n"),
    "one table": grown("| {} | `b` |\n", "| a | b |\n|---|---|\n"),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("step_s", [0.0001, 0.004])
def test_a_piece_costs_the_same_at_any_length(shape: str, step_s: float) -> None:
    renderer, text, now = CountingRenderer(), SHAPES[shape], 0.0
    incremental, letters = Incremental(renderer), []
    for start in range(0, 200_000, 10):
        incremental.feed(text[start : start + 10], now)
        now += step_s
        letters.append(renderer.letters)
    thousands = [end - start for start, end in pairwise([0, *letters[999::1000]])]
    # What stays open is parsed again only while it is small, and what is finished once, after a pause.
    in_a_pause = 10 * PAUSE_S / step_s
    assert max(thousands) <= 10_000 + in_a_pause + OPEN_LIMIT * (1000 * step_s / PAUSE_S + 1)
    assert sum(thousands) <= 200_000 * 1.5 + OPEN_LIMIT * 20_000 * step_s / PAUSE_S
    incremental.finish()
    assert renderer.letters <= letters[-1] + 200_000


def test_a_small_open_block_is_rendered_five_times_a_second() -> None:
    incremental = Incremental(RENDERER)
    changes = [bool(incremental.feed("word ", n * 0.01)) for n in range(100)]
    assert changes[0] and 5 <= sum(changes) <= 6
    assert incremental.wait_s(0.99) == pytest.approx(0.01, abs=0.011)
    assert incremental.feed("", 2.0) and incremental.wait_s(2.0) is None


def test_an_open_fence_grows_by_its_text_and_closes_with_colours() -> None:
    incremental, page = Incremental(RENDERER), Page()
    page.take(incremental.feed("hi\n\n```python\n", 0.0))
    assert page.html[1:] == ['<pre data-language="python"><code></code></pre>\n']
    for piece, shown in [
        ("a <", "a &lt;"),
        (" b\n", "a &lt; b"),
        ("``", "a &lt; b"),
        ("x\r", "a &lt; b\n``x"),
    ]:
        changes = incremental.feed(piece, 0.0)
        assert all(change.append for change in changes)
        page.take(changes)
        assert page.html[1] == f'<pre data-language="python"><code>{shown}</code></pre>\n'
    page.take(incremental.feed("\n```\nafter\n", 0.3))
    assert page.html == RENDERER.blocks("hi\n\n```python\na < b\n``x\r\n```\nafter\n", {})
    assert page.finals == {0, 1}
