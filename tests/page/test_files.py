"""Files of a message: chosen, pasted, dropped; shown, sent, refused, and not lost."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Route, expect

from tests.fake_openai import FakeOpenAI
from tests.page.conftest import Chat

SIZES = [(1280, 800), (390, 844)]
# One red pixel.
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108020000009077"
    "53de0000000c49444154789c63f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
)
HAND_OVER = """([type, name, text, html, folder]) => {
  const data = new DataTransfer();
  if (name) data.items.add(new File([text], name, { type: "text/plain" }));
  else data.setData("text/plain", text);
  if (html) data.setData("text/html", html);
  const place = type === "paste" ? document.activeElement : document.querySelector(".chat");
  const event = type === "paste"
    ? new ClipboardEvent(type, { clipboardData: data, bubbles: true, cancelable: true })
    : new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true });
  return place.dispatchEvent(event);
}"""


def choose(chat: Chat, *files: tuple[str, bytes]) -> None:
    payload: list[Any] = [{"name": name, "mimeType": "", "buffer": data} for name, data in files]
    with chat.page.expect_file_chooser() as chooser:
        chat.page.get_by_role("button", name="Attach files").click()
    chooser.value.set_files(payload)


def chips(chat: Chat) -> Locator:
    return chat.page.locator("#draft-files .file-name")


def asked(chat: Chat, held: list[Route], count: int) -> Route:
    """The last of so many requests, once it has come."""
    for _ in range(500):
        if len(held) == count:
            return held[-1]
        chat.page.wait_for_timeout(20)
    raise AssertionError("no such request")


def sent(fake: FakeOpenAI) -> Any:
    return fake.requests[-1]["messages"][-1]["content"]


@pytest.mark.parametrize("size", SIZES)
def test_chosen_files_are_sent_with_the_message_and_shown_in_it(
    chat: Chat, fake: FakeOpenAI, size: tuple[int, int]
) -> None:
    page = chat.page
    page.set_viewport_size({"width": size[0], "height": size[1]})
    choose(chat, ("red.png", PNG), ("<b>notes.txt", b"Milk and bread"))
    expect(chips(chat)).to_have_text(["red.png", "<b>notes.txt"])
    chat.send("What is this?")
    chat.said("What is this?")
    expect(chat.stored).to_have_count(1)
    parts = sent(fake)
    assert [part["type"] for part in parts] == ["text", "image_url", "text"]
    assert "Milk and bread" in parts[2]["text"]
    expect(chips(chat)).to_have_count(0)
    files = page.locator("#messages .message-user .files")
    image = files.get_by_role("img", name="red.png")
    expect(image).to_be_visible()
    assert image.evaluate("image => image.naturalWidth") == 1
    with page.expect_download() as download:
        files.get_by_role("link", name="notes").click()
    assert download.value.path().read_bytes() == b"Milk and bread"
    page.reload()
    expect(image).to_be_visible()
    with page.context.expect_page() as opened:
        image.click()
    assert opened.value.url.startswith("blob:")


def test_a_file_needs_no_words_and_can_be_removed(chat: Chat, fake: FakeOpenAI) -> None:
    choose(chat, ("a.txt", b"one"), ("b.txt", b"two"))
    expect(chips(chat)).to_have_text(["a.txt", "b.txt"])
    chat.page.get_by_role("button", name="Remove a.txt").click()
    expect(chips(chat)).to_have_text(["b.txt"])
    expect(chat.box).to_be_focused()
    chat.page.keyboard.press("Enter")
    expect(chat.stored).to_have_count(1)
    assert "two" in str(sent(fake)) and "one" not in str(sent(fake))


def test_what_is_pasted_or_dropped_is_attached(chat: Chat) -> None:
    page = chat.page
    chat.box.focus()
    assert page.evaluate(HAND_OVER, ["paste", "a.txt", "one", "", False]) is False
    expect(chips(chat)).to_have_text(["a.txt"])
    page.evaluate(HAND_OVER, ["dragenter", "b.txt", "two", "", False])
    expect(page.locator(".chat")).to_have_class("chat is-drop")
    assert page.evaluate(HAND_OVER, ["drop", "b.txt", "two", "", False]) is False
    expect(chips(chat)).to_have_text(["a.txt", "b.txt"])
    expect(page.locator(".chat")).to_have_class("chat")
    # A long text is a file; a short one is left to the browser.
    assert page.evaluate(HAND_OVER, ["paste", "", "x" * 8001, "", False]) is False
    expect(chips(chat)).to_have_text(["a.txt", "b.txt", "Pasted text.txt"])
    assert page.evaluate(HAND_OVER, ["paste", "", "x" * 8000, "", False]) is True


def test_what_cannot_be_attached_is_said(chat: Chat) -> None:
    chat.allow("415 (UNSUPPORTED", "400 (BAD", "422")
    panel = chat.page.locator("#panel")
    choose(chat, ("page.bin", b"\x00\x01\xff\xfe" * 100))
    expect(panel).to_contain_text("page.bin was not attached.")
    choose(chat, ("big.txt", b"x" * (25 * 1024 * 1024 + 1)))
    expect(panel).to_contain_text("big.txt is larger than 25 MB.")
    choose(chat, *[(f"{number}.txt", b"x%d" % number) for number in range(21)])
    expect(panel).to_contain_text("at most 20 files")
    expect(chips(chat)).to_have_count(20)
    chat.page.get_by_role("button", name="Close", exact=True).click()
    expect(panel).to_be_hidden()


def test_files_stay_with_their_draft(chat: Chat) -> None:
    chat.send("One")
    chat.replied("You said: One")
    choose(chat, ("a.txt", b"one"))
    expect(chips(chat)).to_have_text(["a.txt"])
    chat.page.locator("#new-chat").click()
    expect(chips(chat)).to_have_count(0)
    chat.page.reload()
    chat.rows.first.locator("a").click()
    expect(chips(chat)).to_have_text(["a.txt"])


def test_an_upload_that_ends_elsewhere_goes_to_its_own_chat(chat: Chat) -> None:
    held: list[Route] = []
    chat.send("One")
    chat.replied("You said: One")
    chat.page.route("**/api/upload", lambda route: held.append(route))
    choose(chat, ("a.txt", b"one"))
    chat.state("Uploading…")
    chat.page.locator("#new-chat").click()
    asked(chat, held, 1).continue_()
    expect(chips(chat)).to_have_count(0)
    chat.state("Ready")
    chat.rows.first.locator("a").click()
    expect(chips(chat)).to_have_text(["a.txt"])


def test_a_text_sent_before_its_file_has_arrived_waits_for_it(chat: Chat, fake: FakeOpenAI) -> None:
    chat.allow("ERR_FAILED")
    held: list[Route] = []
    chat.page.route("**/api/upload", lambda route: held.append(route))
    choose(chat, ("a.txt", b"one"), ("b.txt", b"two"))
    chat.send("Look")
    chat.state("Uploading; sent when that is done…")
    expect(chat.box).to_have_value("Look")
    asked(chat, held, 1).continue_()
    asked(chat, held, 2).abort()
    expect(chat.page.locator("#panel")).to_contain_text("b.txt was not attached.")
    expect(chips(chat)).to_have_text(["a.txt"])
    expect(chat.box).to_have_value("Look")
    choose(chat, ("b.txt", b"two"))
    chat.box.press("Enter")
    chat.state("Uploading; sent when that is done…")
    asked(chat, held, 3).continue_()
    chat.said("Look")
    expect(chat.stored).to_have_count(1)
    assert "one" in str(sent(fake)) and "two" in str(sent(fake))


def test_a_refused_send_gives_the_files_back(chat: Chat, fake: FakeOpenAI) -> None:
    chat.allow("ERR_FAILED", "409 (CONFLICT)")
    choose(chat, ("a.txt", b"one"))
    expect(chips(chat)).to_have_text(["a.txt"])
    chat.page.route("**/api/chat/start", lambda route: route.abort(), times=1)
    chat.send("Look")
    expect(chat.page.locator("#panel")).to_contain_text("Not sent")
    expect(chat.box).to_have_value("Look")
    expect(chips(chat)).to_have_text(["a.txt"])
    chat.page.reload()
    expect(chips(chat)).to_have_text(["a.txt"])
    chat.send("/lock")
    chat.page.get_by_role("button", name="Send as text").click()
    chat.said("/lock")
    expect(chat.stored).to_have_count(1)
    assert "one" in str(sent(fake))
    choose(chat, ("b.txt", b"two"))
    expect(chips(chat)).to_have_text(["b.txt"])
    chat.send("/status")
    expect(chat.page.locator("#panel")).to_be_visible()
    expect(chips(chat)).to_have_text(["b.txt"])


def test_a_change_keeps_the_files(chat: Chat, fake: FakeOpenAI, new_chat: Callable[[], Chat]) -> None:
    choose(chat, ("a.txt", b"one"))
    expect(chips(chat)).to_have_text(["a.txt"])
    chat.send("Look")
    expect(chat.stored).to_have_count(1)
    chat.box.press("ArrowUp")
    chat.page.get_by_label("Change the message").fill("Look again")
    chat.page.keyboard.press("Enter")
    chat.said("Look again")
    expect(chat.page.locator("#messages .files")).to_have_count(1)
    expect(chat.stored).to_have_count(1)
    assert "one" in str(sent(fake))
