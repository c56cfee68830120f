"""The three ways in: a token in the address, a code that is exchanged, and the form."""

import json
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import BrowserContext, Route, expect

from api.auth.password import set_password
from tests.fake_openai import FakeOpenAI
from tests.page.conftest import Chat, Served, serve


def test_the_token_is_taken_from_the_address_and_kept(new_chat: Callable[[], Chat], served: Served) -> None:
    chat = new_chat().open()
    assert served.token not in chat.page.url
    chat.page.goto(served.base)
    expect(chat.page.locator("#app")).to_be_visible()
    chat.state("Ready")


def test_a_code_is_exchanged(new_chat: Callable[[], Chat], served: Served) -> None:
    chat = new_chat()
    asked = []

    def login(route: Route) -> None:
        asked.append(route.request.post_data_json)
        route.fulfill(status=200, body=json.dumps({"token": served.token}), content_type="application/json")

    chat.page.route("**/api/auth/login", login)
    chat.open("#code=abc")
    chat.state("Ready")
    assert asked == [{"code": "abc"}]
    assert "code" not in chat.page.url


def test_a_used_code_leads_to_the_form(new_chat: Callable[[], Chat], served: Served) -> None:
    chat = new_chat()
    chat.allow("401 (UNAUTHORIZED)")
    chat.page.goto(served.base + "#code=used")
    expect(chat.page.locator("#login-problem")).to_contain_text("used up")
    chat.page.get_by_label("Access token").fill(f"listening on {served.base}#token={served.token}")
    chat.page.get_by_role("button", name="Open").click()
    expect(chat.page.locator("#app")).to_be_visible()
    chat.send("Hello")
    chat.replied("You said: Hello")


def test_another_name_of_the_machine_asks_for_the_token(new_chat: Callable[[], Chat], served: Served) -> None:
    chat = new_chat().open()
    chat.allow("401 (UNAUTHORIZED)")
    chat.page.goto(f"http://localhost:{served.port}/")
    field = chat.page.get_by_label("Access token")
    expect(field).to_be_focused()
    field.fill("wrong")
    field.press("Enter")
    expect(chat.page.locator("#login-problem")).to_contain_text("This token is not accepted")
    field.fill(served.token)
    field.press("Enter")
    expect(chat.page.locator("#app")).to_be_visible()
    chat.send("Hello")
    chat.replied("You said: Hello")


def test_the_form_fits_a_phone(new_chat: Callable[[], Chat], served: Served) -> None:
    chat = new_chat()
    chat.page.set_viewport_size({"width": 360, "height": 740})
    chat.page.goto(served.base)
    for part in ("#login-form", "#login-token"):
        expect(chat.page.locator(part)).to_be_in_viewport(ratio=1)


def test_a_password_opens_the_page_until_the_logout(
    context: BrowserContext, fake: FakeOpenAI, tmp_path: Path
) -> None:
    set_password(tmp_path, "correct horse")
    served = serve(
        tmp_path, "--base-path", "/chat", "--openai-base-url", fake.base_url, "--openai-model", "m"
    )
    page = context.new_page()
    page.goto(served.base.rstrip("/"))
    field = page.get_by_label("password")
    for typed, problem in (("wrong horse", "not the password"), ("wrong", "printed")):
        field.fill(typed)
        field.press("Enter")
        expect(page.locator("#login-problem")).to_contain_text(problem)
    field.fill("correct horse")
    field.press("Enter")
    expect(page.locator("#app")).to_be_visible()
    chat = Chat(page, served)
    chat.send("Hello")
    chat.replied("You said: Hello")
    page.reload()
    chat.replied("You said: Hello")
    page.get_by_role("button", name="Log out").click()
    expect(field).to_be_visible()
    page.reload()
    expect(field).to_be_visible()
    field.fill(served.token)
    field.press("Enter")
    expect(page.locator("#app")).to_be_visible()
    expect(page.get_by_role("button", name="Log out")).to_be_hidden()
    served.stop()
