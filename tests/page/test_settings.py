"""The dialog of settings: theme, Enter, shortcuts, deleted chats, and the settings of the server."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, expect

from tests.page.conftest import Chat

SIZES = [(1280, 800), (390, 844)]


def opened(chat: Chat) -> Locator:
    chat.page.keyboard.press("Control+Comma")
    dialog = chat.page.get_by_role("dialog", name="Settings")
    expect(dialog).to_be_visible()
    return dialog


def ground(chat: Chat) -> str:
    return str(chat.page.evaluate("getComputedStyle(document.body.parentElement).backgroundColor"))


@pytest.mark.parametrize("size", SIZES)
def test_the_theme_is_that_of_the_system_or_a_chosen_one(
    chat: Chat, new_chat: Callable[[], Chat], size: tuple[int, int]
) -> None:
    page = chat.page
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.emulate_media(color_scheme="light")
    light = ground(chat)
    page.emulate_media(color_scheme="dark")
    dark = ground(chat)
    assert light != dark
    other = new_chat().open("")
    page.bring_to_front()
    dialog = opened(chat)
    dialog.get_by_label("Theme").select_option("Light")
    assert ground(chat) == light
    # Another tab follows, and so does the next start of the page.
    expect(other.page.locator("html")).to_have_attribute("data-theme", "light")
    page.reload()
    expect(page.locator("#app")).to_be_visible()
    assert ground(chat) == light
    dialog = opened(chat)
    expect(dialog.get_by_label("Theme")).to_have_value("light")
    dialog.get_by_label("Theme").select_option("As the system")
    assert ground(chat) == dark
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_enter_begins_a_line_where_somebody_likes_that(chat: Chat) -> None:
    dialog = opened(chat)
    dialog.get_by_label("Enter key").select_option("begins a line, Ctrl+Enter sends")
    chat.page.keyboard.press("Escape")
    chat.box.fill("One")
    chat.box.press("Enter")
    chat.page.keyboard.type("two")
    expect(chat.box).to_have_value("One\ntwo")
    chat.box.press("Control+Enter")
    chat.said("One\ntwo")
    chat.page.evaluate("localStorage.setItem('talaria.preferences', 'nonsense')")
    chat.page.reload()
    chat.box.fill("Three")
    chat.box.press("Enter")
    chat.said("One\ntwo", "Three")


def test_every_shortcut_stands_there(chat: Chat) -> None:
    keys = opened(chat).locator("#settings-keys dt")
    expect(keys).to_have_text(["Ctrl+Shift+O", "Ctrl+K", "Ctrl+,", "Shift+Esc", "Esc"])


def test_a_deleted_chat_is_restored_and_the_trash_emptied(chat: Chat) -> None:
    for text in ("<b>One</b>", "Two"):
        chat.page.keyboard.press("Control+Shift+O")
        chat.send(text)
        chat.replied(f"You said: {text}")
        chat.option(text, "Delete")
    expect(chat.rows).to_have_count(0)
    dialog = opened(chat)
    expect(dialog.locator(".trash-title")).to_have_count(2)
    dialog.get_by_role("button", name="Restore <b>One</b>").click()
    expect(dialog).to_be_hidden()
    chat.said("<b>One</b>")
    expect(chat.rows).to_have_count(1)
    dialog = opened(chat)
    expect(dialog.locator(".trash-title")).to_have_text(["Two"])
    dialog.get_by_role("button", name="Empty the trash").click()
    question = chat.page.get_by_role("dialog", name="Empty the trash?")
    question.get_by_role("button", name="Cancel").click()
    expect(dialog.locator(".trash-title")).to_have_text(["Two"])
    dialog.get_by_role("button", name="Empty the trash").click()
    question.get_by_role("button", name="Empty", exact=True).click()
    expect(dialog.locator(".trash-title")).to_have_count(0)
    expect(dialog.locator("#settings-said")).to_have_text("1 chat is removed.")
    chat.said("<b>One</b>")


def test_a_setting_of_the_server_is_set_for_its_next_start(chat: Chat) -> None:
    chat.allow("400 (BAD REQUEST)")
    dialog = opened(chat)
    port = dialog.get_by_role("listitem").filter(has_text="Given by")
    expect(port.first).to_be_visible()
    idle = dialog.get_by_label("memory idle s")
    idle.fill("soon")
    idle.press("Enter")
    expect(dialog.get_by_role("alert")).not_to_be_empty()
    expect(idle).to_have_value("soon")
    idle.fill("600")
    idle.press("Enter")
    expect(dialog.locator("#settings-problem")).to_be_empty()
    expect(dialog.locator("#settings-said")).to_have_text("It counts from the next start of Talaria.")
    chat.page.keyboard.press("Escape")
    expect(opened(chat).get_by_label("memory idle s")).to_have_value("600")
