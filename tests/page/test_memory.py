"""The memory dialog: what is remembered is found, corrected, forgotten and brought back; its source opens."""

import json
import urllib.request

import pytest
from playwright.sync_api import Locator, expect

from tests.page.conftest import Chat

SIZES = [(1280, 800), (390, 844)]


def opened(chat: Chat) -> Locator:
    if chat.page.locator("#drawer-open").is_visible():
        chat.page.locator("#drawer-open").click()
    chat.page.get_by_role("button", name="Memory", exact=True).click()
    dialog = chat.page.get_by_role("dialog", name="Memory")
    expect(dialog).to_be_visible()
    return dialog


def remember(chat: Chat, text: str) -> None:
    chat.page.get_by_label("Something to remember").fill(text)
    chat.page.get_by_role("button", name="Remember", exact=True).click()
    expect(chat.page.get_by_label("Something to remember")).to_have_value("")


def texts(dialog: Locator, *expected: str) -> None:
    expect(dialog.locator(".fact-text")).to_have_text(list(expected))


def stored(chat: Chat, state: str = "active") -> list[str]:
    address = f"{chat.served.base}api/memory?state={state}"
    request = urllib.request.Request(address, headers={"Authorization": f"Bearer {chat.served.token}"})
    with urllib.request.urlopen(request) as answer:
        return [fact["text"] for fact in json.load(answer)["facts"]]


@pytest.mark.parametrize("size", SIZES)
def test_a_fact_is_added_found_corrected_forgotten_and_brought_back(
    chat: Chat, size: tuple[int, int]
) -> None:
    page = chat.page
    page.set_viewport_size({"width": size[0], "height": size[1]})
    dialog = opened(chat)
    expect(dialog.get_by_text("Nothing is remembered yet.")).to_be_visible()
    remember(chat, "I like <b>green</b> tea.")
    remember(chat, "My boat leaks.")
    texts(dialog, "My boat leaks.", "I like <b>green</b> tea.")

    dialog.get_by_label("Search in memory").fill("boat")
    texts(dialog, "My boat leaks.")
    dialog.get_by_role("button", name="Correct: My boat leaks.").click()
    editor = dialog.get_by_label("What is remembered")
    expect(editor).to_be_focused()
    editor.fill("My boat is dry.")
    page.keyboard.press("Enter")
    texts(dialog, "My boat is dry.")
    assert stored(chat) == ["My boat is dry.", "I like <b>green</b> tea."]

    dialog.get_by_role("button", name="Forget: My boat is dry.").click()
    back = dialog.get_by_role("button", name="Bring back: My boat is dry.")
    expect(back).to_be_focused()
    assert stored(chat) == ["I like <b>green</b> tea."]
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("button", name="Forget: My boat is dry.")).to_be_visible()
    assert len(stored(chat)) == 2
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_escape_leaves_a_fact_as_it_was(chat: Chat) -> None:
    dialog = opened(chat)
    remember(chat, "My boat leaks.")
    dialog.get_by_role("button", name="Correct").click()
    dialog.get_by_label("What is remembered").fill("Never")
    chat.page.keyboard.press("Escape")
    texts(dialog, "My boat leaks.")
    expect(dialog).to_be_visible()
    assert stored(chat) == ["My boat leaks."]


def test_what_is_refused_is_said_and_nothing_is_lost(chat: Chat) -> None:
    chat.allow("400")
    dialog = opened(chat)
    remember(chat, "My boat leaks.")
    dialog.get_by_role("button", name="Correct").click()
    editor = dialog.get_by_label("What is remembered")
    editor.fill("   ")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert")).not_to_be_empty()
    expect(editor).to_have_value("   ")
    assert stored(chat) == ["My boat leaks."]


def test_forgotten_facts_are_listed_on_demand(chat: Chat) -> None:
    dialog = opened(chat)
    remember(chat, "My boat leaks.")
    dialog.get_by_role("button", name="Forget").click()
    expect(dialog.get_by_role("button", name="Bring back")).to_be_visible()
    dialog.get_by_label("Facts shown").select_option("Remembered")
    expect(dialog.get_by_text("Nothing found.")).to_be_visible()
    dialog.get_by_label("Facts shown").select_option("Forgotten")
    texts(dialog, "My boat leaks.")


def test_a_fact_leads_to_the_message_that_said_it(chat: Chat) -> None:
    chat.send("I have a boat that leaks.")
    expect(chat.stored).to_have_count(1)
    chat.send("Something else")
    expect(chat.stored).to_have_count(2)
    session = chat.page.evaluate("() => new URLSearchParams(location.hash.slice(1)).get('session')")
    body = {"text": "Has a boat that leaks.", "session_id": session, "message_id": 1}
    request = urllib.request.Request(
        f"{chat.served.base}api/memory/add",
        json.dumps(body).encode(),
        {"Authorization": f"Bearer {chat.served.token}", "Content-Type": "application/json"},
    )
    urllib.request.urlopen(request).close()
    chat.page.keyboard.press("Control+Shift+O")
    dialog = opened(chat)
    dialog.get_by_role("link", name="Where it was said").click()
    expect(dialog).to_be_hidden()
    expect(chat.page.locator(".is-found")).to_contain_text("I have a boat that leaks.")
