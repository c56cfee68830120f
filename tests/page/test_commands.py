"""Slash commands in the page: completion, answers, and texts that only look like commands."""

import re

from playwright.sync_api import expect

from tests.page.conftest import Chat


def test_undo_redo_and_retry(chat: Chat) -> None:
    chat.send("First")
    chat.replied("You said: First")
    chat.send("Second")
    chat.replied("You said: First", "You said: Second")
    chat.send("/undo")
    chat.replied("You said: First")
    expect(chat.page.locator("#panel")).to_contain_text('Took back 1 turn: "Second". /redo')
    expect(chat.box).to_have_value("Second")
    chat.box.fill("")
    chat.send("/redo")
    chat.replied("You said: First", "You said: Second")
    expect(chat.page.locator("#panel")).to_contain_text('Brought back 1 turn: "Second".')
    chat.send("/retry")
    expect(chat.page.locator(".variants")).to_contain_text("2/2")
    chat.replied("You said: First", "You said: Second")


def test_the_focus_stays_at_the_variants_and_does_not_fall_with_a_button(chat: Chat) -> None:
    chat.send("Hello")
    chat.replied("You said: Hello")
    for count in ("2/2", "3/3"):
        chat.send("/retry")
        expect(chat.page.locator(".variants")).to_have_text(count)
    before = chat.page.get_by_role("button", name="Previous variant")
    for count in ("2/3", "1/3"):
        before.press("Enter")
        expect(chat.page.locator(".variants")).to_have_text(count)
        expect(before if count == "2/3" else chat.page.locator("#transcript")).to_be_focused()


def test_the_answer_of_a_command_is_no_part_of_the_conversation(chat: Chat) -> None:
    chat.send("Hello")
    chat.replied("You said: Hello")
    chat.send("/status")
    panel = chat.page.locator("#panel")
    expect(panel).to_contain_text("State: idle")
    expect(panel).to_contain_text(re.compile(r"Context: \d+ tokens; the limit is unknown"))
    chat.said("Hello")
    chat.box.press("Escape")
    expect(panel).to_be_hidden()


def test_new_opens_another_chat(chat: Chat) -> None:
    chat.send("Hello")
    chat.replied("You said: Hello")
    chat.send("/new Plans")
    expect(chat.page.locator("#chat-title")).to_have_text("Plans")
    chat.said()
    expect(chat.rows).to_have_count(2)


def test_completion_by_keyboard(chat: Chat) -> None:
    box, options = chat.box, chat.page.get_by_role("listbox", name="Commands").get_by_role("option")
    box.press_sequentially("/re")
    expect(options).to_have_count(3)
    expect(options.last).to_contain_text("also /reset")
    expect(box).to_have_attribute("aria-expanded", "true")
    expect(box).to_have_attribute("aria-activedescendant", "command-redo")
    box.press("ArrowDown")
    expect(box).to_have_attribute("aria-activedescendant", "command-retry")
    box.press("Escape")
    expect(options).to_have_count(0)
    expect(box).to_have_value("/re")
    box.press("Backspace")
    expect(box).to_have_attribute("aria-expanded", "true")
    box.press_sequentially("ed")
    box.press("Tab")
    expect(box).to_have_value("/redo ")
    expect(options).to_have_count(0)
    expect(box).to_be_focused()
    box.fill("/hel")
    box.press("Enter")
    expect(box).to_have_value("/help")
    box.press("Enter")
    expect(chat.page.locator("#panel")).to_contain_text("Show the commands.")


def test_an_unknown_command_is_held_back(chat: Chat) -> None:
    chat.allow("409 (CONFLICT)")
    chat.send("/undoo")
    panel = chat.page.locator("#panel")
    expect(panel).to_contain_text("There is no command /undoo")
    expect(chat.box).to_have_value("/undoo")
    panel.get_by_role("button", name="/undo", exact=True).click()
    expect(chat.box).to_have_value("/undo")
    expect(panel).to_be_hidden()
    chat.send("/undoo")
    panel.get_by_role("button", name="Send as text").click()
    chat.replied("You said: /undoo")
    expect(chat.box).to_have_value("")


def test_a_path_is_sent_as_text(chat: Chat) -> None:
    chat.send("/etc/hosts is broken, why?")
    chat.replied("You said: /etc/hosts is broken, why?")
