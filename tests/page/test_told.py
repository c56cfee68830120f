"""The line under a reply: what it was given and has taught, corrected and forgotten in place."""

import json

import pytest
from playwright.sync_api import expect

from tests.fake_openai import FakeOpenAI
from tests.page.conftest import Chat
from tests.page.test_memory import SIZES

TEA = "I prefer green tea over coffee."
FACT = "The user prefers green tea over coffee."


def taught(chat: Chat, fake: FakeOpenAI, text: str = FACT) -> None:
    """A chat that has come to an end, and what it has taught."""
    fake.memory_replies.append(json.dumps({"facts": [{"text": text, "kind": "preference", "message": 1}]}))
    chat.send(TEA)
    chat.replied(f"You said: {TEA}")
    chat.send("/memory commit")
    expect(chat.page.locator(".told")).to_have_count(1)


@pytest.mark.parametrize("size", SIZES)
def test_a_reply_says_what_was_learned_and_used(chat: Chat, fake: FakeOpenAI, size: tuple[int, int]) -> None:
    page = chat.page
    page.set_viewport_size({"width": size[0], "height": size[1]})
    told = page.locator("#messages .told")
    taught(chat, fake)
    expect(told.locator("summary")).to_have_text("Learned 1")
    page.keyboard.press("Control+Shift+O")
    chat.send("Green tea or coffee today?")
    expect(told.locator("summary")).to_have_text("Used 1 memory")
    told.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(told.locator(".fact-text")).to_have_text(FACT)
    told.get_by_role("button", name="Correct").press("Enter")
    text = told.get_by_label("What is remembered")
    expect(text).to_be_focused()
    text.press("Escape")
    expect(told.get_by_role("button", name="Correct")).to_be_focused()
    page.keyboard.press("Enter")
    text.fill("I drink white tea.")
    text.press("Enter")
    expect(told.locator(".fact-text")).to_have_text("I drink white tea.")
    told.get_by_role("button", name="Forget").click()
    expect(told.locator(".badge")).to_have_text("forgotten")
    expect(told.get_by_role("button", name="Bring back")).to_be_focused()
    told.get_by_role("button", name="Bring back").click()
    expect(told.locator(".badge")).to_have_count(0)
    chat.send("And now?")
    expect(told).to_have_count(2)
    # What was unfolded stays so when the chat goes on.
    expect(told.first.locator(".fact-text")).to_be_visible()


def test_a_fact_leads_to_the_chat_that_said_it(chat: Chat, fake: FakeOpenAI) -> None:
    taught(chat, fake)
    chat.page.keyboard.press("Control+Shift+O")
    chat.send("Green tea or coffee today?")
    chat.page.locator("#messages .told summary").click()
    chat.page.get_by_role("link", name="Where it was said").click()
    expect(chat.page.locator(".is-found")).to_contain_text(TEA)


def test_an_undone_turn_is_no_source_any_more(chat: Chat, fake: FakeOpenAI) -> None:
    taught(chat, fake)
    chat.page.keyboard.press("Control+Shift+O")
    chat.send("Green tea or coffee today?")
    told = chat.page.locator("#messages .told")
    told.locator("summary").click()
    expect(told.locator(".badge")).to_have_count(0)
    chat.rows.last.locator("a").click()
    chat.said(TEA)
    chat.send("/undo")
    chat.said()
    chat.rows.filter(has_text="Green tea or coffee today?").locator("a").click()
    told.locator("summary").click()
    expect(told.locator(".badge")).to_have_text("withdrawn")


def test_the_words_of_a_fact_are_words(chat: Chat, fake: FakeOpenAI) -> None:
    chat.send("My name is <img src=x onerror=alert(1)> Kim.")
    expect(chat.stored).to_have_count(1)
    name = "The user's name is <img src=x onerror=alert(1)> Kim."
    fake.memory_replies.append(json.dumps({"facts": [{"text": name, "kind": "fact", "message": 1}]}))
    chat.send("/memory commit")
    told = chat.page.locator("#messages .told")
    told.locator("summary").click()
    expect(told.locator(".fact-text")).to_have_text(name)
    expect(told.locator("img")).to_have_count(0)
