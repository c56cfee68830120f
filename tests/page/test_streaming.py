"""A reply on its way to the page: piece by piece, through a reload, and to its end."""

from playwright.sync_api import expect

from tests.fake_openai import FakeOpenAI, Reply, Wait, text_chunks
from tests.page.conftest import Chat


def gated(*pieces: str) -> Reply:
    """A reply of which each piece but the first waits for its gate: `g1`, `g2` …"""
    chunks = text_chunks(pieces, {"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17})
    steps: list[bytes | Wait] = chunks[:2]
    for place, step in enumerate(chunks[2 : len(pieces) + 1], start=1):
        steps += [Wait(f"g{place}"), step]
    return Reply([*steps, Wait("end"), *chunks[len(pieces) + 1 :]])


def test_a_reply_shows_two_different_texts_before_its_end(chat: Chat, fake: FakeOpenAI) -> None:
    fake.enqueue(gated("One ", "two ", "three"))
    chat.send("Count")
    expect(chat.live).to_have_text("One ")
    chat.state("Writing…")
    fake.gate("g1").set()
    expect(chat.live).to_have_text("One two ")
    fake.gate("g2").set()
    expect(chat.live).to_have_text("One two three")
    fake.gate("end").set()
    chat.replied("One two three")
    chat.said("Count")
    chat.state("Ready")
    expect(chat.page.locator("#state-tokens")).to_have_text("12 tokens in, 5 out")
    expect(chat.page.locator("#status")).to_have_text("The reply is finished.")


def test_a_reload_in_mid_reply_neither_loses_nor_doubles_text(chat: Chat, fake: FakeOpenAI) -> None:
    fake.enqueue(gated("One ", "two ", "three"))
    chat.send("Count")
    expect(chat.live).to_have_text("One ")
    chat.page.reload()
    expect(chat.live).to_have_text("One ")
    chat.said("Count")
    fake.gate("g1").set()
    expect(chat.live).to_have_text("One two ")
    fake.gate("g2").set()
    fake.gate("end").set()
    chat.replied("One two three")
    chat.said("Count")
