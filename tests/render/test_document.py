"""Whole texts as safe HTML: what is shown, what leads somewhere, what stays as it was written."""

import re
import time
from html import unescape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.render.code import highlight
from api.render.document import Renderer

RENDERER = Renderer()
CODES = (
    'foo = "\\(bar\\)"', "$x$", "__init__", "a_b_c", "2**3**4", "# note", "List<T> & Co",
    "</code></pre>", "</script>", "&lt;", "\ta\tb", "a\n\n\nb", "````", "a\r\nb", "x = 'é\u2028'",
)  # fmt: skip


def html(text: str) -> str:
    return "".join(RENDERER.blocks(text, {}))


def code_of(text: str) -> str:
    found = re.search(r"<code>(.*?)</code>", html(text), re.DOTALL)
    assert found, html(text)
    return unescape(re.sub(r"<[^>]*>", "", found.group(1)).replace("&#13;", "\r"))


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("language", ["", "python", "html", "nonsense"])
@pytest.mark.parametrize("fence", ["`````\n", "~~~~~\r\n"])
def test_a_fence_shows_its_code_exactly(code: str, language: str, fence: str) -> None:
    mark, end = fence.rstrip(), fence[5:]
    assert code_of(f"{mark}{language}{end}{code}{end}{mark}{end}after") == code
    assert code_of(f"{mark}{language}{end}{code}") == code


@pytest.mark.parametrize("code", [code for code in CODES if "\n" not in code and "`" not in code])
def test_inline_code_is_shown_exactly(code: str) -> None:
    assert code_of(f"say `{code}` now") == code


@settings(max_examples=300, deadline=None)
@given(
    st.text(alphabet="ab\n\r\t \"'<&#/*(){}=.0\\é", max_size=60).filter(lambda code: not code.endswith("\r")),
    st.sampled_from(["python", "js", "html", "bash"]),
)
def test_highlighting_changes_no_character(code: str, language: str) -> None:
    assert code_of(f"~~~{language}\n{code}\n~~~") == code


@pytest.mark.parametrize(("language", "code"), [("perl", "s{" * 30_000), ("java", "a " * 30_000)])
def test_code_that_its_lexer_cannot_cope_with_is_shown_without_colours(language: str, code: str) -> None:
    begun = time.monotonic()
    assert highlight(code, language) == code
    assert time.monotonic() - begun < 10


def test_known_languages_have_classes_and_no_styles() -> None:
    shown = html("```python\ndef f(): return 'x'\n```")
    assert '<pre data-language="python"><code><span class="hl-k">def</span>' in shown
    assert "style" not in shown


def test_a_rule_for_whole_lines_colours_the_last_line_too() -> None:
    assert html("```diff\n- a\n+ b\n```").count("<span") == 2


@pytest.mark.parametrize(
    "text",
    [
        "[x](javascript:alert(1))", "[x](JaVaScRiPt:alert(1))", "[x](<java\tscript:alert(1)>)",
        "[x](&#1;javascript:alert(1))", "[x](\x01javascript:alert(1))", "[x](javascript&#58;alert(1))",
        "[x](javascript&colon;alert(1))", "[x][r]\n\n[r]: javascript:alert(1)",
        "![x](javascript:alert(1))", "<javascript:alert(1)>", "[x](vbscript:x)",
        "[x](data:text/html,<script>alert(1)</script>)", "![x](data:text/html,x)",
        '<a href="javascript:alert(1)">x</a>', '[x](https://e.example/"onmouseover="alert(1))',
        '[x](https://e.example/ "a\\" onclick=\\"alert(1)")', '<img src=x onerror=alert(1)>',
        "[x](java\nscript:alert(1))", "$\\href{javascript:alert(1)}{x}$", "[x](#token=abc)",
        "[x](/%0a#code=abc)", "<svg onload=alert(1)>", "[x](blob:https://e/1)",
        "[x](file:///etc/passwd)",
    ],
)  # fmt: skip
def test_nothing_active_comes_through(text: str) -> None:
    shown = html(text)
    for tag in re.findall(r"<[a-z][^>]*>", shown):
        attributes = dict(re.findall(r'([\w-]+)="([^"]*)"', tag))
        assert not any(name.startswith("on") or name in ("id", "name", "style", "src") for name in attributes)
        href = unescape(attributes.get("href", "https:"))
        assert re.match(r"https?:|mailto:|[^:]*$", href) and "#" not in href


@pytest.mark.parametrize(
    "text", ["[x]({})", "<{}>", "{}", "| a |\n|---|\n| {} |", "**{}**", "**[x]({})**", "[x][r]\n\n[r]: {}"]
)
def test_good_links_lead_exactly_there(text: str) -> None:
    address = "https://e.example/?a=1&b=2"
    links = re.findall(r"<a [^>]*>", html(text.replace("{}", address)))
    assert len(links) == 1
    assert unescape(re.findall('href="(.*?)"', links[0])[0]) == address
    assert 'target="_blank"' in links[0] and 'rel="noopener noreferrer nofollow"' in links[0]


def test_mail_and_relative_links_are_links() -> None:
    shown = html("[a](mailto:a@b.example) [b](notes/one.md?x=1#part) [c](//e.example/x)")
    assert re.findall('href="(.*?)"', shown) == [
        "mailto:a@b.example",
        "notes/one.md?x=1#part",
        "//e.example/x",
    ]
    assert shown.count("target=") == 2


def test_a_file_name_is_no_link() -> None:
    assert "<a" not in html("see run.py and README.md")
    assert "<a" in html("see www.example.com")


def test_an_image_is_a_place_with_its_address() -> None:
    shown = html('![a <b>](https://e.example/i.png?a=1&b=2 "t")')
    assert '<span class="remote-image" data-src="https://e.example/i.png?a=1&amp;b=2"' in shown
    assert "<img" not in shown and ">a &lt;b&gt;</span>" in shown


@pytest.mark.parametrize(
    "text", ["$5 and $10", "costs 5$ or 10$ now", "$ x $", "$x $", "\\$x$", "`$x$`", "$x$5"]
)
def test_no_formula(text: str) -> None:
    assert "<math" not in html(text)


@pytest.mark.parametrize(
    "text", ["$x^2$", "a ($x$), b", "\\(x\\)", "$$x$$", "\\[x\\]", "- $$\n  x\n  $$", "$\\text{a b}$"]
)
def test_a_formula(text: str) -> None:
    assert "<math" in html(text)


def test_a_formula_on_lines_of_its_own_is_no_list() -> None:
    shown = html("so:\n$$\n\\begin{aligned} a &= b \\\\\n- c &= d \\end{aligned}\n$$\nand")
    assert '<div class="math"><math display="block">' in shown
    assert "<li>" not in shown and "<mtable" in shown


@pytest.mark.parametrize("formula", ["x^", "\\foo{x}", "\\left( x", "{" * 100 + "}" * 100, "x" * 3000])
def test_a_formula_that_cannot_be_read_is_shown_as_it_was_written(formula: str) -> None:
    shown = html(f"${formula}$")
    assert f'<span class="math-source">${formula}$</span>' in shown or shown == f"<p>${formula}$</p>\n"


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="\\{}[]^_&xab1+-= '|()", max_size=30))
def test_any_formula_is_answered(formula: str) -> None:
    assert html(f"\\({formula}\\)")


def test_tables_scroll_in_a_box_and_align_by_class() -> None:
    shown = html("|a|b|\n|:-:|-:|\n|1|2|")
    assert shown.startswith('<div class="table"><table>')
    assert '<td class="align-right">2</td>' in shown and "style" not in shown


def test_tasks_are_boxes_that_nobody_ticks() -> None:
    shown = html("- [x] a\n- [ ] b")
    assert shown.count('type="checkbox"') == shown.count("disabled") == 2 and shown.count("checked") == 1


def test_footnotes_are_numbered_by_mention_and_none_is_lost() -> None:
    blocks = RENDERER.blocks(
        "a[^z] b[^y]\n\n[^y]: two [^z]\n[^z]: one\n\n    more\n\n[^q]: unused\n\nend", {}
    )
    assert blocks[0] == '<p>a<sup class="footnote-ref">1</sup> b<sup class="footnote-ref">2</sup></p>\n'
    assert blocks[1] == "<p>end</p>\n"
    assert [re.sub("<[^>]*>", "", item).split()[0] for item in blocks[2].split("<li>")[1:]] == [
        "one",
        "two",
        "unused",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "[" * 40 + "x", "[a](" * 2000, "x" * 3000 + " *a*", "a *b* " * 15_000, ">" * 60 + " deep",
        "- " * 60 + "deep", "\\[ a\n" * 3000, "$a " * 10_000, "| a " * 200 + "|\n",
    ],
)  # fmt: skip
def test_what_would_cost_too_much_is_shown_as_it_is(text: str) -> None:
    shown = unescape(re.sub(r"<[^>]*>", "", html(text)))
    assert "".join(shown.split()) == "".join(text.split())


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_answered(text: str) -> None:
    assert all(RENDERER.blocks(text, {}))
