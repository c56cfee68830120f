"""What can be done with one message: copy, change, ask again, branch, link, erase; by keyboard too."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.fake_openai import DONE, FakeOpenAI, Reply, chunk, text_reply
from tests.page.conftest import Chat, gated

SIZES = [(1280, 800), (390, 844)]


def button(message: Locator, name: str) -> Locator:
    return message.get_by_role("button", name=name, exact=True)


def mine(chat: Chat) -> Locator:
    return chat.page.locator("#messages .message-user")


def editor(page: Page) -> Locator:
    return page.get_by_label("Change the message")


def clipboard(page: Page) -> str:
    return str(page.evaluate("navigator.clipboard.readText()"))


def more(message: Locator, name: str) -> None:
    button(message, "More").click()
    message.page.get_by_role("menuitem", name=name, exact=True).click()


def talk(chat: Chat, *texts: str) -> None:
    for text in texts:
        chat.send(text)
        expect(chat.stored.last.locator(".text")).to_have_text(f"You said: {text}")


def test_words_are_copied_as_they_were_written(chat: Chat) -> None:
    chat.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    chat.send("A *star* and\n\n- one")
    expect(chat.stored).to_have_count(1)
    button(chat.stored, "Copy reply").click()
    expect(chat.page.locator("#status")).to_have_text("Copied.")
    assert clipboard(chat.page) == "You said: A *star* and\n\n- one"
    mine(chat).hover()
    button(mine(chat), "Copy message").click()
    expect(chat.page.locator("#status")).to_have_text("Copied.")
    assert clipboard(chat.page) == "A *star* and\n\n- one"


def test_a_reply_with_tools_is_copied_whole(chat: Chat, fake: FakeOpenAI) -> None:
    chat.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    call = {"index": 0, "id": "c1", "function": {"name": "recall", "arguments": '{"query": "tea"}'}}
    looking = [chunk({"content": "Let me look."}), chunk({"tool_calls": [call]})]
    fake.enqueue(
        Reply([*looking, chunk(finish_reason="tool_calls"), DONE]), text_reply(["Nothing is known."])
    )
    chat.send("What tea do I like?")
    expect(chat.stored).to_have_count(2)
    foot = chat.page.locator("#messages .message-reply .message-foot")
    expect(foot).to_have_count(1)
    button(foot, "Copy reply").click()
    expect(chat.page.locator("#status")).to_have_text("Copied.")
    assert clipboard(chat.page) == "Let me look.\n\nNothing is known."


@pytest.mark.parametrize("size", SIZES)
def test_a_message_is_changed_and_asked_anew_by_keyboard(chat: Chat, size: tuple[int, int]) -> None:
    page = chat.page
    talk(chat, "One", "Two")
    page.set_viewport_size({"width": size[0], "height": size[1]})
    button(mine(chat).first, "Edit").focus()
    page.keyboard.press("Enter")
    expect(editor(page)).to_be_focused()
    expect(editor(page)).to_have_value("One")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("and a half")
    page.keyboard.press("Escape")
    expect(editor(page)).to_have_count(0)
    expect(button(mine(chat).first, "Edit")).to_be_focused()
    chat.said("One", "Two")
    page.keyboard.press("Enter")
    expect(editor(page)).to_be_focused()
    page.keyboard.press("Control+a")
    page.keyboard.type("Three")
    page.keyboard.press("Enter")
    chat.said("Three")
    chat.replied("You said: Three")
    expect(chat.box).to_be_focused()
    expect(mine(chat).locator(".variants")).to_have_text("2/2")
    button(mine(chat), "Previous variant").click()
    chat.said("One", "Two")
    chat.replied("You said: One", "You said: Two")


def test_the_last_message_is_changed_with_an_arrow(chat: Chat) -> None:
    talk(chat, "One", "Two")
    chat.box.press("ArrowUp")
    expect(editor(chat.page)).to_have_value("Two")
    expect(editor(chat.page)).to_be_focused()
    chat.page.keyboard.type("!")
    chat.page.keyboard.press("Enter")
    chat.said("One", "Two!")
    chat.box.fill("A draft")
    chat.box.press("Home")
    chat.box.press("ArrowUp")
    expect(editor(chat.page)).to_have_count(0)


def test_a_changed_message_is_no_command_and_an_empty_one_is_not_sent(chat: Chat) -> None:
    talk(chat, "One")
    chat.box.press("ArrowUp")
    editor(chat.page).fill("  ")
    editor(chat.page).press("Enter")
    expect(editor(chat.page)).to_be_focused()
    editor(chat.page).fill("/undo")
    chat.page.get_by_role("button", name="Send", exact=True).first.click()
    chat.said("/undo")
    chat.replied("You said: /undo")


def test_what_is_typed_into_a_message_outlives_a_running_reply_and_a_visit_elsewhere(
    chat: Chat, fake: FakeOpenAI
) -> None:
    chat.allow("409 (CONFLICT)")
    talk(chat, "One")
    fake.enqueue(gated("Alpha ", "beta"))
    chat.send("Two")
    expect(chat.live).to_have_text("Alpha ")
    mine(chat).first.hover()
    button(mine(chat).first, "Edit").click()
    editor(chat.page).fill("Three")
    editor(chat.page).press("Enter")
    expect(chat.page.locator("#panel")).to_contain_text("Not sent")
    expect(editor(chat.page)).to_have_value("Three")
    for gate in ("g1", "end"):
        fake.gate(gate).set()
    chat.replied("You said: One", "Alpha beta")
    expect(editor(chat.page)).to_have_value("Three")
    chat.page.locator("#new-chat").click()
    expect(editor(chat.page)).to_have_count(0)
    chat.rows.first.locator("a").click()
    expect(editor(chat.page)).to_have_value("Three")
    editor(chat.page).press("Enter")
    chat.said("Three")


@pytest.mark.parametrize("hears", [True, False])
def test_a_change_whose_answer_was_lost_is_sent_once(new_chat: Callable[[], Chat], hears: bool) -> None:
    chat = new_chat()
    chat.allow("ERR_FAILED")
    if not hears:
        chat.page.route("**/api/events*", lambda route: route.abort())
    chat.open()
    talk(chat, "One")
    lost = []

    def lose(route: Route) -> None:
        lost.append(route.fetch())
        route.abort()

    chat.page.route("**/api/chat/start", lose, times=1)
    chat.box.press("ArrowUp")
    editor(chat.page).fill("Two")
    editor(chat.page).press("Enter")
    expect(chat.page.locator("#panel")).to_contain_text("cannot be reached")
    assert len(lost) == 1
    if not hears:
        editor(chat.page).press("Enter")
    chat.said("Two")
    chat.replied("You said: Two")
    expect(editor(chat.page)).to_have_count(0)
    expect(chat.box).to_have_value("")
    expect(mine(chat).locator(".variants")).to_have_text("2/2")


def test_words_for_a_message_that_another_tab_took_back_go_to_the_box(
    chat: Chat, new_chat: Callable[[], Chat]
) -> None:
    talk(chat, "One", "Two")
    chat.box.press("ArrowUp")
    editor(chat.page).fill("Three")
    other = new_chat().open("")
    other.rows.first.locator("a").click()
    other.said("One", "Two")
    other.send("/undo")
    other.said("One")
    chat.page.bring_to_front()
    chat.said("One")
    expect(editor(chat.page)).to_have_count(0)
    expect(chat.box).to_have_value("Three")


def test_an_earlier_reply_is_asked_for_again(chat: Chat) -> None:
    talk(chat, "One", "Two")
    chat.stored.first.hover()
    button(chat.stored.first, "Retry").click()
    chat.said("One")
    expect(chat.stored.locator(".variants")).to_have_text("2/2")
    button(chat.stored, "Previous variant").click()
    chat.said("One", "Two")


def test_a_branch_goes_on_from_a_reply(chat: Chat) -> None:
    talk(chat, "One", "Two")
    chat.stored.first.hover()
    button(chat.stored.first, "Branch from here").click()
    chat.said("One")
    expect(chat.rows).to_have_count(2)
    expect(chat.page.locator("#toast")).to_contain_text("a chat of its own")
    expect(chat.box).to_be_focused()
    chat.send("Three")
    chat.said("One", "Three")
    chat.page.go_back()
    chat.said("One", "Two")


def test_a_link_leads_to_its_message(chat: Chat, new_chat: Callable[[], Chat]) -> None:
    chat.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    talk(chat, "One", "Two", "Three")
    mine(chat).nth(1).hover()
    more(mine(chat).nth(1), "Copy link")
    expect(chat.page.locator("#toast")).to_contain_text("link to the message is copied")
    address = clipboard(chat.page)
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/#session=[\w-]+&message=\d+", address)
    other = new_chat()
    other.page.goto(address)
    expect(other.page.locator(".is-found")).to_contain_text("Two")


def test_words_are_erased_only_after_a_question(chat: Chat) -> None:
    talk(chat, "One", "Secret")
    dialog = chat.page.get_by_role("dialog", name="Erase this message?")
    mine(chat).last.hover()
    more(mine(chat).last, "Erase")
    expect(button(dialog, "Cancel")).to_be_focused()
    chat.page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    chat.said("One", "Secret")
    expect(button(mine(chat).last, "More")).to_be_focused()
    chat.page.keyboard.press("Enter")
    chat.page.get_by_role("menuitem", name="Erase").click()
    button(dialog, "Erase").click()
    chat.said("One", "[erased]")
    expect(chat.page.locator("#toast")).to_contain_text("The words are erased.")


def test_what_is_erased_of_a_copy_is_said(chat: Chat) -> None:
    talk(chat, "One")
    chat.option("One", "Duplicate")
    expect(chat.rows).to_have_count(2)
    for words in ("The chat that they were copied from still has them.",):
        more(chat.stored, "Erase")
        button(chat.page.get_by_role("dialog"), "Erase").click()
        expect(chat.page.locator("#toast")).to_contain_text(words)
    chat.rows.last.locator("a").click()
    chat.replied("You said: One")
    more(mine(chat), "Erase")
    button(chat.page.get_by_role("dialog"), "Erase").click()
    expect(chat.page.locator("#toast")).to_contain_text("erased here and in 1 copy.")
