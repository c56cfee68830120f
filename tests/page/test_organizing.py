"""The list of chats: days, pins, the archive, projects, tags, copies; by keyboard, at both widths."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.fake_openai import FakeOpenAI
from tests.page.conftest import Chat, gated

SIZES = [(1280, 800), (390, 844)]


def say(chat: Chat, *texts: str) -> None:
    """One chat for each text."""
    for text in texts:
        chat.page.keyboard.press("Control+Shift+O")
        chat.send(text)
        chat.replied(f"You said: {text}")


def titles(chat: Chat, *expected: str) -> None:
    expect(chat.rows.locator(".session-title")).to_have_text(list(expected))


def days(chat: Chat, *expected: str) -> None:
    expect(chat.page.locator("#session-list h2")).to_have_text(list(expected))


def show(chat: Chat, name: str) -> None:
    chat.page.get_by_label("Chats shown").select_option(name)


def test_pinned_chats_stand_first(chat: Chat) -> None:
    say(chat, "One", "Two", "Three")
    days(chat, "Today")
    titles(chat, "Three", "Two", "One")
    chat.option("One", "Pin")
    titles(chat, "One", "Three", "Two")
    days(chat, "Pinned", "Today")
    chat.page.reload()
    titles(chat, "One", "Three", "Two")
    chat.option("One", "Unpin")
    titles(chat, "Three", "Two", "One")
    days(chat, "Today")


@pytest.mark.parametrize("size", SIZES)
def test_the_menu_of_a_chat_is_worked_by_keyboard(chat: Chat, size: tuple[int, int]) -> None:
    page = chat.page
    say(chat, "One")
    page.set_viewport_size({"width": size[0], "height": size[1]})
    if page.locator("#drawer-open").is_visible():
        page.locator("#drawer-open").click()
        expect(page.locator("#new-chat")).to_be_focused()
    button = page.get_by_role("button", name="Options for One")
    button.focus()
    page.keyboard.press("Enter")
    item = page.get_by_role("menuitem")
    expect(item.first).to_be_focused()
    expect(item.first).to_be_in_viewport()
    page.keyboard.press("ArrowUp")
    expect(item.last).to_be_focused()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    expect(item.filter(has_text="Pin")).to_be_focused()
    page.keyboard.press("Escape")
    expect(item).to_have_count(0)
    expect(button).to_be_focused()
    expect(button).to_be_in_viewport()
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    days(chat, "Pinned")
    expect(button).to_be_focused()
    button.click()
    page.mouse.click(5, 5)
    expect(item).to_have_count(0)


def test_escape_in_the_menu_leaves_the_reply_running(chat: Chat, fake: FakeOpenAI) -> None:
    fake.enqueue(gated("Alpha ", "beta"))
    chat.send("Go on")
    expect(chat.live).to_have_text("Alpha ")
    chat.page.get_by_role("button", name="Options for Go on").click()
    chat.page.keyboard.press("Escape")
    for gate in ("g1", "end"):
        fake.gate(gate).set()
    chat.replied("Alpha beta")


def test_the_archive_takes_a_chat_and_gives_it_back(chat: Chat) -> None:
    say(chat, "One", "Two")
    chat.option("One", "Archive")
    titles(chat, "Two")
    chat.page.get_by_role("button", name="Undo").click()
    titles(chat, "Two", "One")
    chat.option("One", "Archive")
    titles(chat, "Two")
    show(chat, "Archive")
    titles(chat, "One")
    chat.page.reload()
    titles(chat, "Two")
    show(chat, "Archive")
    chat.option("One", "Take out of the archive")
    titles(chat)
    expect(chat.page.locator("#session-note")).to_have_text("The archive is empty.")
    show(chat, "All chats")
    titles(chat, "Two", "One")


def test_projects_and_tags_are_given_and_filtered_by(chat: Chat) -> None:
    say(chat, "One", "Two")
    chat.option("One", "Project and tags")
    dialog = chat.page.get_by_role("dialog", name="Project and tags")
    dialog.get_by_label("Project").fill("<b>House</b>")
    dialog.get_by_label("Tags", exact=True).fill("blue, blue , green,")
    chat.page.keyboard.press("Enter")
    expect(dialog).to_be_hidden()
    show(chat, "<b>House</b> (1)")
    titles(chat, "One")
    say(chat, "Three")
    titles(chat, "One")
    show(chat, "All chats")
    titles(chat, "Three", "Two", "One")
    chat.option("Two", "Project and tags")
    dialog.get_by_role("button", name="green").click()
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_hidden()
    show(chat, "green (2)")
    titles(chat, "Two", "One")
    for name in ("Two", "One"):
        chat.option(name, "Project and tags")
        dialog.get_by_label("Tags", exact=True).fill("")
        dialog.get_by_role("button", name="Save").click()
        expect(dialog).to_be_hidden()
    # Its last chat has left the tag, and the list with it.
    titles(chat, "Three", "Two", "One")
    expect(chat.page.get_by_label("Chats shown").locator("option")).to_have_text(
        ["All chats", "Archive", "<b>House</b> (1)"]
    )


def test_escape_closes_the_dialog_and_changes_nothing(chat: Chat) -> None:
    say(chat, "One")
    chat.option("One", "Project and tags")
    dialog = chat.page.get_by_role("dialog", name="Project and tags")
    dialog.get_by_label("Project").fill("House")
    chat.page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    chat.option("One", "Project and tags")
    expect(dialog.get_by_label("Project")).to_have_value("")


def test_what_the_server_refuses_stays_in_the_dialog(chat: Chat) -> None:
    chat.allow("400 (BAD REQUEST)")
    say(chat, "One")
    chat.option("One", "Project and tags")
    dialog = chat.page.get_by_role("dialog", name="Project and tags")
    typed = dialog.get_by_label("Tags", exact=True)
    typed.fill("blue, " + "x" * 300)
    chat.page.keyboard.press("Enter")
    expect(dialog.get_by_role("alert")).not_to_be_empty()
    expect(typed).to_have_value("blue, " + "x" * 300)
    typed.fill("blue")
    chat.page.keyboard.press("Enter")
    expect(dialog).to_be_hidden()
    show(chat, "blue (1)")


def test_a_copy_opens(chat: Chat) -> None:
    say(chat, "One")
    chat.option("One", "Duplicate")
    expect(chat.rows).to_have_count(2)
    chat.said("One")
    chat.send("Two")
    chat.said("One", "Two")
    chat.rows.last.locator("a").click()
    chat.said("One")


def test_another_tab_sees_it(chat: Chat, new_chat: Callable[[], Chat]) -> None:
    say(chat, "One", "Two")
    other = new_chat().open()
    titles(other, "Two", "One")
    other.option("One", "Pin")
    titles(other, "One", "Two")
    chat.page.bring_to_front()
    titles(chat, "One", "Two")
    chat.option("Two", "Archive")
    titles(chat, "One")
    other.page.bring_to_front()
    titles(other, "One")


def test_days_have_names(chat: Chat) -> None:
    script = """async () => {
      const { dayGroup } = await import("./static/js/format.js");
      const now = new Date(2026, 2, 31, 0, 30);
      const at = (...time) => new Date(...time).getTime() / 1000;
      const times = [at(2026, 3, 2), at(2026, 2, 31), at(2026, 2, 30, 23, 59), at(2026, 2, 30),
        at(2026, 2, 29, 23, 59), at(2026, 2, 24), at(2026, 2, 23, 23, 59), at(2026, 2, 1), at(2025, 11, 31)];
      return times.map((time) => dayGroup(time, now));
    }"""
    assert chat.page.evaluate(script) == [
        "Today",
        "Today",
        "Yesterday",
        "Yesterday",
        "Previous 7 days",
        "Previous 7 days",
        "Previous 30 days",
        "Previous 30 days",
        "December 2025",
    ]
