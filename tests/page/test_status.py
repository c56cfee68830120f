"""The honest lines: which model answers, what it lacks, and what other tabs left unread."""

from collections.abc import Callable

from playwright.sync_api import Route, expect

from tests.page.conftest import Chat, Served

LABEL = "Demo model (SmolLM2-135M, runs on this machine). Often wrong."
PROGRESS = "The demonstration model is still being installed: downloading the model (40 of 120 MB)."


def test_the_demo_model_says_what_it_is_and_how_far_it_is(
    new_chat: Callable[[], Chat], served: Served
) -> None:
    chat = new_chat()
    model = {"id": "demo", "endpoint": "embedded", "label": LABEL, "context_limit": 2048, "vision": False}
    asked: list[bool] = []

    def answer(route: Route) -> None:
        asked.append(len(asked) > 1)
        reason = None if asked[-1] else PROGRESS
        info = {"name": "embedded", "available": asked[-1], "reason": reason, "models": [model]}
        route.fulfill(json={"agents": [info], "default": "embedded"})

    chat.page.route("**/api/models", answer)
    chat.open()
    note = chat.page.locator("#model-note")
    expect(note).to_have_text(PROGRESS)
    expect(note).to_contain_text(LABEL)
    expect(chat.page.get_by_role("button", name="Connect a better model")).to_be_visible()
    expect(chat.page.locator("#chat-model")).to_have_text("Demo model")
    assert asked == [False, False, True]


def test_the_connected_model_is_named_without_a_note(chat: Chat) -> None:
    expect(chat.page.locator("#chat-model")).to_have_text("m")
    expect(chat.page.locator("#chat-agent")).to_have_text("openai · ")
    expect(chat.page.locator("#model-note")).to_be_hidden()


def test_a_reply_that_nobody_has_read_is_marked_until_it_is(new_chat: Callable[[], Chat]) -> None:
    first, second = new_chat().open(), new_chat().open("")
    hidden = "() => Object.defineProperty(document, 'hidden', { get: () => window.isUnseen === true })"
    first.page.evaluate(hidden)
    first.page.evaluate("() => { window.isUnseen = true; }")
    first.send("Hello")
    expect(second.rows.first).to_contain_text("new")
    second.rows.first.locator("a").click()
    second.replied("You said: Hello")
    expect(second.rows.first.locator(".mark")).to_have_count(0)
    second.page.get_by_role("button", name="New chat").click()
    expect(second.rows.first.locator(".mark")).to_have_count(0)
