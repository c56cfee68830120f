"""Rendered messages in a real browser: what is shown, what is copied, what leads somewhere."""

from typing import Any
from urllib.parse import urljoin

import pytest
from playwright.sync_api import Locator, expect

from tests.fake_openai import DEFAULT_USAGE, FakeOpenAI, Reply, Wait, text_chunks, text_reply
from tests.page.conftest import Chat, gated

CODES = {
    "python": 'foo = "\\(bar\\)"\n# note __init__ $x$\n\tdef f(a_b_c):\n\n\n\t\treturn 2**3**4',
    "html": "</code></pre>\n</script> &lt; <img src=x onerror=alert(1)>\nList<T> & Co",
    "": "````\nfour inside five\n````\n  **no** _markup_ # here",
    "c": "int a;\r\nint b;\r\n\r\nreturn a;",
}
READ = "element => element.textContent"
ACTIVE = """root => [...root.querySelectorAll("*")].flatMap((element) => {
  const leads = (a) => (["href", "src"].includes(a.name) ? element[a.name] || a.value : "");
  const isActive = (a) => a.name.startsWith("on") || /^(javascript|vbscript|data):/i.test(leads(a));
  return [...element.attributes].filter(isActive).map((a) => a.name + "=" + a.value);
})"""
GOOD = "https://e.example/?a=1&b=2"
LINKS = f"""[one]({GOOD}) and **[two]({GOOD})** bare {GOOD}

| a |
|---|
| [three]({GOOD}) |

[mail](mailto:a@b.example) [near](notes/one.md)

[a](javascript:alert(1)) [b](JaVaScRiPt:alert(1)) [c](<java\tscript:alert(1)>) [d](java\nscript:alert(1))
[e](\x01javascript:alert(1)) [f](javascript&#58;alert(1)) [g](javascript&colon;alert(1)) [h][h]
![i](javascript:alert(1)) <javascript:alert(1)> [j](vbscript:x) [k](data:text/html,<script>alert(1)</script>)
[l](https://e.example/"onmouseover="alert(1)) <a href="javascript:alert(1)">m</a> ![n](data:text/html,x)

[h]: javascript:alert(1)
"""


def fenced(language: str, code: str) -> str:
    end = "\r\n" if "\r" in code else "\n"
    return f"`````{language}{end}{code}{end}`````{end}"


@pytest.fixture
def copied(chat: Chat) -> Any:
    """What the clipboard holds after a press on a copy button."""
    chat.page.context.grant_permissions(["clipboard-read", "clipboard-write"])

    def press(button: Locator) -> str:
        button.click()
        expect(button).to_have_text("Copied")
        return str(chat.page.evaluate("() => navigator.clipboard.readText()"))

    return press


@pytest.mark.parametrize("language", CODES)
def test_code_is_shown_and_copied_exactly_at_every_moment(
    chat: Chat, fake: FakeOpenAI, copied: Any, language: str
) -> None:
    code = CODES[language]
    end = "\r\n" if "\r" in code else "\n"
    # The end of a line, and marks alone in one, wait until it is known whether the fence closes there.
    half = code.index(" ", len(code) // 4)
    pieces = [
        "Here:\n\n``",
        f"```{language}{end}{code[:half]}",
        code[half:],
        f"{end}``",
        f"```{end}",
        "after",
    ]
    fake.enqueue(gated(*pieces))
    chat.send("Show me code")
    expect(chat.live).to_contain_text("Here:")
    shown, button = chat.page.locator(".is-live pre code"), chat.page.locator(".is-live .copy")
    for gate, so_far in (("g1", code[:half]), ("g2", code), ("g3", code), ("g4", code), ("g5", code)):
        fake.gate(gate).set()
        if gate == "g5":
            expect(chat.live).to_contain_text("after")
        chat.page.wait_for_function(
            "text => document.querySelector('.is-live pre code')?.textContent === text", arg=so_far
        )
        assert copied(button) == so_far
    assert shown.locator("em, strong, math, h1").count() == 0
    fake.gate("end").set()
    expect(chat.page.locator(".is-live")).to_have_count(0)
    for _ in range(2):
        stored = chat.stored.locator("pre code")
        expect(stored).to_be_visible()
        assert stored.evaluate(READ) == code
        assert copied(chat.stored.locator(".copy")) == code
        chat.page.reload()
    assert (
        chat.page.evaluate("() => document.querySelectorAll('#messages img, #messages script').length") == 0
    )


def test_inline_code_and_an_unclosed_fence_are_exact(chat: Chat, fake: FakeOpenAI) -> None:
    inline = [
        "$x$",
        "__init__",
        "a_b_c",
        "2**3**4",
        "List<T> & Co",
        "</code></pre>",
        "</script>",
        "&lt;",
        "\\(b\\)",
    ]
    code = "never closed\n\t&lt;\n\n\n# end"
    fake.enqueue(text_reply([" ".join(f"`{part}`" for part in inline), "\n\n```\n", code], DEFAULT_USAGE))
    chat.send("Show me code")
    expect(chat.stored.locator("pre code")).to_be_visible()
    for _ in range(2):
        assert chat.stored.locator("p code").evaluate_all("all => all.map((e) => e.textContent)") == inline
        assert chat.stored.locator("pre code").evaluate(READ) == code
        chat.page.reload()
        expect(chat.stored.locator("pre code")).to_be_visible()


def check_links(chat: Chat, place: Locator) -> None:
    assert place.evaluate(ACTIVE) == []
    links = place.evaluate(
        "root => [...root.querySelectorAll('a')].map((a) => [a.textContent, a.href, a.rel, a.target])"
    )
    by_text = {text: rest for text, *rest in links}
    for text in ("one", "two", "three", GOOD):
        address, rel, target = by_text[text]
        assert (address, target) == (GOOD, "_blank")
        assert {"noopener", "noreferrer"} <= set(rel.split())
    assert by_text["mail"][0] == "mailto:a@b.example"
    assert by_text["near"][0] == urljoin(chat.served.base, "notes/one.md")
    assert place.locator("a a, img").count() == 0


def test_links_are_safe_and_lead_where_they_say(chat: Chat, fake: FakeOpenAI) -> None:
    chunks = text_chunks([LINKS[n : n + 7] for n in range(0, len(LINKS), 7)], DEFAULT_USAGE)
    fake.enqueue(Reply([*chunks[:-3], Wait("end"), *chunks[-3:]]))
    chat.send(LINKS)
    last = chat.live.get_by_text("<a href=")
    expect(last).to_be_visible()
    check_links(chat, chat.page.locator(".is-live"))
    check_links(chat, chat.page.locator("#messages .message-user").first)
    fake.gate("end").set()
    expect(chat.page.locator(".is-live")).to_have_count(0)
    for _ in range(2):
        expect(chat.stored).to_be_visible()
        check_links(chat, chat.stored)
        check_links(chat, chat.page.locator("#messages .message-user").first)
        assert chat.page.locator("#session-list, #chat-title").first.evaluate(ACTIVE) == []
        chat.page.reload()


def test_a_title_with_markup_is_text(chat: Chat, fake: FakeOpenAI) -> None:
    fake.enqueue(text_reply(["ok"], DEFAULT_USAGE))
    chat.send("[x](javascript:alert(1)) **b**")
    expect(chat.page.locator("#chat-title")).to_have_text("[x](javascript:alert(1)) **b**")
    assert chat.page.locator("#chat-title *, #session-list strong").count() == 0


def test_an_image_elsewhere_is_never_loaded_and_says_where_it_is(chat: Chat, fake: FakeOpenAI) -> None:
    asked: list[str] = []
    chat.page.on("request", lambda request: asked.append(request.url))
    fake.enqueue(text_reply(["![A *cat*](https://pics.example/cat.png?a=1&b=2)"], DEFAULT_USAGE))
    chat.send("A picture")
    box = chat.stored.locator("details.remote-image")
    expect(box.locator("summary")).to_have_text("A catpics.example")
    box.locator("summary").click()
    expect(box).to_contain_text("https://pics.example/cat.png?a=1&b=2")
    link = box.get_by_role("link", name="Open in a new tab")
    assert link.get_attribute("href") == "https://pics.example/cat.png?a=1&b=2"
    assert link.get_attribute("rel") == "noopener noreferrer nofollow"
    assert all(url.startswith(chat.served.base) for url in asked)


def test_a_wide_table_scrolls_in_itself_on_a_phone(chat: Chat, fake: FakeOpenAI) -> None:
    chat.page.set_viewport_size({"width": 390, "height": 844})
    row = "| " + " | ".join(f"column {n}" for n in range(9)) + " |\n"
    fake.enqueue(text_reply([row + "|---" * 9 + "|\n" + row * 3, "\n```\n" + "long " * 60], DEFAULT_USAGE))
    chat.send("A table")
    expect(chat.stored.locator("pre")).to_be_visible()
    wide = "element => element.scrollWidth > element.clientWidth"
    assert chat.stored.locator(".table").evaluate(wide)
    assert chat.stored.locator("pre").evaluate(wide)
    assert not chat.page.locator("#transcript").evaluate(wide)


def test_maths_tasks_and_footnotes_are_elements(chat: Chat, fake: FakeOpenAI) -> None:
    text = "$x^2$ for $5 and $10[^1]\n\n- [x] a\n- [ ] b\n\n[^1]: note\n"
    fake.enqueue(text_reply([text], DEFAULT_USAGE))
    chat.send("Say it")
    expect(chat.stored.locator("math msup")).to_have_count(1)
    expect(chat.stored.locator("p").first).to_contain_text("for $5 and $10")
    expect(chat.stored.locator("input[type=checkbox][disabled]")).to_have_count(2)
    expect(chat.stored.locator(".footnotes li")).to_have_text("note")
