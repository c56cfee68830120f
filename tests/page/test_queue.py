"""Waiting texts on the page: shown, taken back, sent."""

from playwright.sync_api import expect

from tests.fake_openai import FakeOpenAI
from tests.page.conftest import Chat, gated


def test_a_waiting_text_is_taken_back_and_the_next_sent_after_a_stop(chat: Chat, fake: FakeOpenAI) -> None:
    fake.enqueue(gated("One ", "two"))
    chat.open()
    chat.send("first")
    expect(chat.live).to_have_text("One")
    chat.send("second")
    chat.send("third")
    waiting = chat.page.locator(".message-user", has=chat.page.get_by_role("button", name="Take back"))
    expect(waiting).to_have_count(2)
    waiting.first.get_by_role("button", name="Take back").click()
    expect(waiting).to_have_count(1)
    chat.page.keyboard.press("Escape")
    chat.page.get_by_role("button", name="Send now").press("Enter")
    expect(chat.stored.last).to_contain_text("You said")
    expect(chat.page.locator("#transcript")).to_be_focused()
    expect(waiting).to_have_count(0)
    assert [m["content"] for m in fake.requests[-1]["messages"] if m["role"] == "user"] == ["first", "third"]
