"""Several chats and several tabs: pieces and drafts stay where they belong, changes arrive everywhere."""

from collections.abc import Callable

from playwright.sync_api import expect

from tests.fake_openai import FakeOpenAI
from tests.page.conftest import Chat, Served, gated, serve


def test_two_tabs_are_in_step(new_chat: Callable[[], Chat], fake: FakeOpenAI) -> None:
    first, second = new_chat().open(), new_chat().open("")
    first.send("Hello")
    first.replied("You said: Hello")
    second.rows.first.locator("a").click()
    second.replied("You said: Hello")
    fake.enqueue(gated("One ", "two"))
    first.send("Again")
    expect(second.live).to_have_text("One ")
    second.said("Hello", "Again")
    expect(second.rows.first).to_contain_text("writing")
    fake.gate("g1").set()
    fake.gate("end").set()
    for tab in (first, second):
        tab.replied("You said: Hello", "One two")
    second.send("/undo")
    for tab in (first, second):
        tab.replied("You said: Hello")
    expect(second.box).to_have_value("Again")
    expect(first.box).to_have_value("")


def test_pieces_and_drafts_stay_with_their_chat(chat: Chat, fake: FakeOpenAI) -> None:
    fake.enqueue(gated("Alpha ", "beta"))
    chat.send("In A")
    expect(chat.live).to_have_text("Alpha ")
    chat.box.fill("a draft for A")
    chat.page.get_by_role("button", name="New chat").click()
    expect(chat.live).to_have_count(0)
    expect(chat.box).to_have_value("")
    chat.send("In B")
    chat.replied("You said: In B")
    chat.said("In B")
    chat.rows.filter(has_text="In A").locator("a").click()
    expect(chat.live).to_have_text("Alpha ")
    chat.said("In A")
    expect(chat.box).to_have_value("a draft for A")
    fake.gate("g1").set()
    fake.gate("end").set()
    chat.replied("Alpha beta")
    chat.rows.filter(has_text="In B").locator("a").click()
    chat.replied("You said: In B")
    expect(chat.box).to_have_value("")


def test_a_draft_survives_a_reload(chat: Chat) -> None:
    chat.box.fill("half a thought")
    chat.page.reload()
    expect(chat.box).to_have_value("half a thought")


def test_rename_in_place(chat: Chat) -> None:
    chat.send("Hello")
    chat.replied("You said: Hello")
    chat.option("Hello", "Rename")
    field = chat.page.get_by_label("Title of this chat")
    field.fill("Better <b>name</b>")
    field.press("Enter")
    expect(chat.rows.locator(".session-title")).to_have_text("Better <b>name</b>")
    expect(chat.page.locator("#chat-title")).to_have_text("Better <b>name</b>")
    chat.option("Better", "Rename")
    field.fill("Never")
    field.press("Escape")
    expect(chat.rows.locator(".session-title")).to_have_text("Better <b>name</b>")


def test_a_deleted_chat_comes_back_by_undo(chat: Chat) -> None:
    chat.send("Keep me")
    chat.replied("You said: Keep me")
    chat.option("Keep me", "Delete")
    expect(chat.rows).to_have_count(0)
    expect(chat.page.locator("#chat-title")).to_have_text("New chat")
    chat.page.locator("#toast").get_by_role("button", name="Undo").press("Enter")
    expect(chat.rows).to_have_count(1)
    chat.replied("You said: Keep me")
    expect(chat.page.locator("#transcript")).to_be_focused()


def test_a_damaged_chat_is_named_and_hides_no_other(chat: Chat, served: Served) -> None:
    chat.allow("409 (CONFLICT)")
    chat.send("Whole")
    chat.replied("You said: Whole")
    chat.page.goto("about:blank")
    served.stop()
    (served.state_dir / "sessions" / "20260101_000000_abcdef.json").write_text("{broken")
    again = serve(served.state_dir)
    served.process, served.port = again.process, again.port
    chat.open()
    row = chat.rows.filter(has_text="damaged")
    expect(chat.rows).to_have_count(2)
    row.locator("a").click()
    expect(chat.page.locator("#transcript-problem")).to_contain_text("damaged")
    chat.option("Damaged chat", "Delete")
    expect(chat.page.locator("#toast")).to_contain_text("Deleted a damaged chat. Its file stays")
    expect(chat.page.locator("#toast").get_by_role("button", name="Undo")).to_have_count(0)
    expect(chat.rows).to_have_count(1)
    assert len(list((served.state_dir / "trash").glob("*-20260101_000000_abcdef.json"))) == 1


def test_the_list_is_read_page_by_page(chat: Chat, served: Served) -> None:
    make = """async ({token, count}) => {
      const headers = {Authorization: `Bearer ${token}`, "Content-Type": "application/json"};
      for (let n = 0; n < count; n += 1) {
        await fetch("api/session/new", {method: "POST", headers, body: JSON.stringify({title: `Chat ${n}`})});
      }
    }"""
    chat.page.evaluate(make, {"token": served.token, "count": 120})
    expect(chat.rows.first).to_contain_text("Chat 119")
    chat.page.reload()
    expect(chat.rows.first).to_contain_text("Chat 119")
    assert chat.rows.count() < 120
    while chat.rows.count() < 120:
        shown = chat.rows.count()
        chat.rows.last.scroll_into_view_if_needed()
        chat.page.wait_for_function(
            "shown => document.querySelectorAll('#session-list .session').length > shown", arg=shown
        )
    expect(chat.rows.last).to_contain_text("Chat 0")
    titles = chat.rows.locator(".session-title").all_text_contents()
    assert titles == [f"Chat {n}" for n in reversed(range(120))]
    expect(chat.page.locator("#session-more")).to_be_hidden()


def test_back_and_forward_walk_through_the_chats(chat: Chat) -> None:
    chat.send("First")
    chat.replied("You said: First")
    chat.page.keyboard.press("Control+Shift+O")
    expect(chat.box).to_be_focused()
    chat.send("Second")
    chat.replied("You said: Second")
    chat.page.go_back()
    chat.replied("You said: First")
    chat.page.go_forward()
    chat.replied("You said: Second")


def test_a_title_that_runs_from_right_to_left_is_cut_at_its_end(chat: Chat) -> None:
    chat.send("/new مرحبا كيف الحال")
    title = chat.page.locator("#chat-title")
    expect(title).to_have_text("مرحبا كيف الحال")
    expect(title).to_have_css("direction", "rtl")
