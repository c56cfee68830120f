"""/compress on the page: seen while it runs, folded when it is there, and nothing of the chat is gone."""

from playwright.sync_api import expect

from tests.fake_openai import FakeOpenAI, json_reply
from tests.page.conftest import Chat, gated


def test_a_summary_is_seen_while_it_is_made_and_folded_then(chat: Chat, fake: FakeOpenAI) -> None:
    chat.open()
    for text in ("one", "two", "three"):
        chat.send(text)
        expect(chat.stored).to_have_count({"one": 1, "two": 2, "three": 3}[text])
    fake.enqueue(gated("They talked ", "about **one**."))
    chat.send("/compress the numbers")
    expect(chat.page.locator(".is-live .note")).to_have_text("Summing up the older messages…")
    fake.gate("g1").set()
    fake.gate("end").set()
    summary = chat.page.get_by_role("article", name="Summary")
    expect(summary).to_have_count(1)
    expect(chat.live).to_have_count(0)
    expect(chat.stored).to_have_count(3)
    expect(summary.locator(".text")).to_be_hidden()
    summary.locator("summary").click()
    expect(summary.locator(".text")).to_have_text("They talked about one.")
    chat.page.reload()
    expect(summary).to_have_count(1)
    chat.send("four")
    expect(chat.stored).to_have_count(4)
    sent = fake.requests[-1]["messages"]
    assert sent[0]["content"].endswith("They talked about **one**.")


def test_what_was_left_out_is_still_told_after_a_reload(chat: Chat, fake: FakeOpenAI) -> None:
    chat.open()
    chat.send("one")
    expect(chat.stored).to_have_count(1)
    error = {"message": "maximum context length is 10 tokens", "code": "context_length_exceeded"}
    fake.enqueue(json_reply({"error": error}, 400))
    chat.send("two")
    notice = chat.page.locator(".message-aside")
    expect(notice).to_contain_text("no longer fit")
    expect(chat.stored).to_have_count(2)
    chat.page.reload()
    expect(notice).to_contain_text("no longer fit")
