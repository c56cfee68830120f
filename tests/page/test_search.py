"""Search in all chats: hits open at their message, Escape leads back to them."""

import pytest
from playwright.sync_api import expect

from tests.page.conftest import Chat

SIZES = [(1280, 800), (390, 844)]


def search(chat: Chat, text: str) -> None:
    chat.page.keyboard.press("Control+k")
    box = chat.page.get_by_role("searchbox", name="Search in all chats")
    expect(box).to_be_focused()
    box.fill(text)


@pytest.mark.parametrize("size", SIZES)
def test_a_hit_opens_at_its_message_and_escape_leads_back(chat: Chat, size: tuple[int, int]) -> None:
    page = chat.page
    page.set_viewport_size({"width": size[0], "height": size[1]})
    said = ["The kettle is blue.", *[f"Filler {number}\n\n" + "word\n\n" * 12 for number in range(4)]]
    for number, text in enumerate(said, start=1):
        chat.send(text)
        expect(chat.stored).to_have_count(number)
    page.keyboard.press("Control+Shift+O")
    chat.send("Something else")
    chat.replied("You said: Something else")

    search(chat, "kettle")
    hits = page.locator("#search-results a")
    expect(hits).to_have_count(3)
    expect(hits.filter(has_text="In the title")).to_have_count(1)
    page.keyboard.press("ArrowDown")
    expect(hits.first).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(hits.nth(1)).to_be_focused()
    hit = page.locator("#search-results a[href$='message=1']")
    hit.focus()
    page.keyboard.press("Enter")
    found = page.locator(".is-found")
    expect(found).to_be_focused()
    expect(found).to_contain_text("The kettle is blue.")
    expect(found).to_be_in_viewport()
    page.keyboard.press("Escape")
    expect(hit).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("searchbox", name="Search in all chats")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#search-results")).to_be_hidden()
    expect(chat.rows).to_have_count(2)


def test_what_is_found_is_text(chat: Chat) -> None:
    chat.send("<img src=x onerror=alert(1)> kettle")
    expect(chat.stored).to_have_count(1)
    search(chat, "onerror")
    hits = chat.page.locator("#search-results")
    expect(hits.locator(".hit-snippet").first).to_contain_text("<img src=x")
    expect(hits.locator("img")).to_have_count(0)


def test_nothing_found_is_said(chat: Chat) -> None:
    search(chat, "no such word")
    expect(chat.page.locator("#search-note")).to_have_text("Nothing found.")


def test_a_link_to_a_message_opens_there(chat: Chat) -> None:
    for number in range(1, 5):
        chat.send(f"Question {number}\n\n" + "word\n\n" * 12)
        expect(chat.stored).to_have_count(number)
    chat.page.goto(chat.page.url + "&message=1")
    found = chat.page.locator(".is-found")
    expect(found).to_be_focused()
    expect(found).to_contain_text("Question 1")
    chat.page.reload()
    expect(found).to_be_in_viewport()


def test_a_link_to_a_message_that_is_not_there_says_so(chat: Chat) -> None:
    chat.send("Hello")
    chat.replied("You said: Hello")
    chat.page.goto(chat.page.url + "&message=99")
    expect(chat.page.locator("#toast")).to_contain_text("not in the chat as it stands")
