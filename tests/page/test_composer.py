"""The message box: no text is lost, none is sent by accident, none is sent twice."""

from playwright.sync_api import Browser, Route, expect

from tests.fake_openai import FakeOpenAI
from tests.page.conftest import Chat, Served


def test_a_refused_text_is_back_in_the_box(chat: Chat) -> None:
    chat.allow("503", "409")
    text = "A long thought. " * 125
    refusal = {
        "status": 503,
        "json": {"error": "Talaria is busy. Try again in a moment.", "code": "unavailable"},
    }
    chat.page.route("**/api/chat/start", lambda route: route.fulfill(**refusal))
    chat.send(text)
    expect(chat.page.locator("#panel")).to_contain_text("Talaria is busy")
    expect(chat.box).to_have_value(text)
    chat.said()
    chat.page.reload()
    expect(chat.box).to_have_value(text)


def test_a_send_whose_answer_was_lost_is_not_doubled(chat: Chat, fake: FakeOpenAI) -> None:
    chat.allow("ERR_FAILED")
    chat.send("Hello")
    chat.replied("You said: Hello")

    def lose(route: Route) -> None:
        route.fetch()
        chat.page.unroute("**/api/chat/start")
        route.abort()

    chat.page.route("**/api/session?*", lambda route: route.abort())
    chat.page.route("**/api/chat/start", lose)
    chat.send("Once")
    expect(chat.box).to_have_value("Once")
    expect(chat.page.locator("#panel")).to_contain_text("Not sent")
    chat.page.unroute("**/api/session?*")
    chat.box.press("Enter")
    chat.replied("You said: Hello", "You said: Once")
    chat.said("Hello", "Once")
    expect(chat.box).to_have_value("")
    asked = [request["messages"][-1]["content"] for request in fake.requests]
    assert asked == ["Hello", "Once"]


def test_a_text_that_arrived_after_all_leaves_the_box(chat: Chat) -> None:
    chat.allow("ERR_FAILED")
    chat.send("Hello")
    chat.replied("You said: Hello")

    def lose(route: Route) -> None:
        route.fetch()
        route.abort()

    chat.page.route("**/api/chat/start", lose)
    chat.send("Once")
    chat.replied("You said: Hello", "You said: Once")
    expect(chat.box).to_have_value("")


def test_shift_enter_makes_a_line_and_composition_never_sends(chat: Chat) -> None:
    chat.box.press_sequentially("one")
    chat.box.press("Shift+Enter")
    chat.box.press_sequentially("two")
    expect(chat.box).to_have_value("one\ntwo")
    press = """(box, init) => {
      box.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", bubbles: true, ...init}));
    }"""
    chat.box.evaluate(press, {"isComposing": True})
    chat.box.evaluate(press, {"keyCode": 229})
    expect(chat.box).to_have_value("one\ntwo")
    chat.box.press("Enter")
    chat.replied("You said: one\ntwo")


def test_markup_is_shown_as_text(chat: Chat, fake: FakeOpenAI) -> None:
    text = """<img src=x onerror="alert(1)"><script>alert(2)</script><a href="javascript:alert(3)">x</a>"""
    chat.send(text)
    chat.replied(f"You said: {text}")
    chat.said(text)
    expect(chat.rows.locator(".session-title")).to_contain_text("<img src=x")
    for place in ("#messages", "#session-list", "#chat-title"):
        assert chat.page.locator(place).locator("img, script, a[href^=javascript]").count() == 0


def test_everything_is_reached_by_keyboard(chat: Chat) -> None:
    chat.send("Hello")
    chat.replied("You said: Hello")
    chat.page.locator("#new-chat").focus()
    for name in ("Search in all chats", "Chats shown", "Hello", "Options for Hello"):
        chat.page.keyboard.press("Tab")
        focused = chat.page.evaluate(
            "() => document.activeElement.ariaLabel ?? document.activeElement.textContent"
        )
        assert name in focused
    chat.page.keyboard.press("Shift+Escape")
    expect(chat.box).to_be_focused()


def test_the_phone_has_the_list_in_a_drawer(chat: Chat) -> None:
    chat.send("Hello")
    chat.replied("You said: Hello")
    chat.page.set_viewport_size({"width": 390, "height": 844})
    expect(chat.rows.first).not_to_be_in_viewport()
    chat.page.get_by_role("button", name="Show the list of chats").click()
    expect(chat.rows.first).to_be_in_viewport()
    chat.page.keyboard.press("Escape")
    expect(chat.rows.first).not_to_be_in_viewport()
    assert chat.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_a_text_refused_after_leaving_its_chat_stays_with_that_chat(chat: Chat) -> None:
    chat.allow("503")
    chat.send("First")
    chat.replied("You said: First")
    held: list[Route] = []
    chat.page.route("**/api/chat/start", lambda route: held.append(route))
    with chat.page.expect_request("**/api/chat/start"):
        chat.send("For A only")
    chat.page.get_by_role("button", name="New chat").click()
    refusal = {"error": "Talaria is busy. Try again in a moment.", "code": "unavailable"}
    with chat.page.expect_response("**/api/chat/start"):
        held[0].fulfill(status=503, json=refusal)
    expect(chat.box).to_have_value("")
    chat.rows.first.locator("a").click()
    expect(chat.box).to_have_value("For A only")
    chat.said("First")


def test_on_a_touch_screen_the_enter_key_says_that_it_makes_a_line(browser: Browser, served: Served) -> None:
    context = browser.new_context(has_touch=True, is_mobile=True, viewport={"width": 390, "height": 844})
    chat = Chat(context.new_page(), served).open()
    expect(chat.box).to_have_js_property("enterKeyHint", "enter")
    chat.send("one line")
    expect(chat.box).to_have_value("one line\n")
    chat.page.get_by_role("button", name="Send", exact=True).tap()
    chat.replied("You said: one line\n")
    context.close()
