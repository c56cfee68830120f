"""The dialog of models: choose one, connect a server, change it, take it away; by keyboard and on a phone."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, Route, expect

from tests.fake_openai import FakeOpenAI
from tests.page.conftest import Chat, Served, gated, serve

SERVER = {"name": "Ollama", "models": ["qwen3:8b", "gemma3:4b"]}


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[Served]:
    """A server that nobody has connected a model to."""
    running = serve(tmp_path / "bare")
    yield running
    running.stop()


@pytest.fixture
def page(context: BrowserContext, bare: Served) -> Page:
    page = context.new_page()
    page.goto(f"{bare.base}#token={bare.token}")
    expect(page.locator("#app")).to_be_visible()
    return page


def found(page: Page, *servers: dict[str, object]) -> None:
    """What is found on this machine: which programs run on the machine of a test is unknown."""
    page.route("**/api/endpoints/local", lambda route: route.fulfill(json={"servers": list(servers)}))


def opened(page: Page) -> Locator:
    page.get_by_role("button", name="choose a model").click()
    dialog = page.get_by_role("dialog", name="Models")
    expect(dialog).to_be_visible()
    return dialog


def fill(dialog: Locator, **fields: str) -> None:
    dialog.locator("summary").click()
    for name, text in fields.items():
        dialog.get_by_label(name, exact=True).fill(text)


def test_a_server_is_connected_by_its_form_and_answers(page: Page, fake: FakeOpenAI, bare: Served) -> None:
    found(page)
    fake.models = [{"id": "big"}, {"id": "small"}]
    dialog = opened(page)
    fill(dialog, Name="My box", Address=fake.base_url, Key="sk-page-1", Model="small")
    dialog.get_by_role("button", name="Test").click()
    expect(dialog.locator("#endpoint-outcome")).to_contain_text("lists 2 models")
    expect(dialog.get_by_label("Use it by default")).to_be_checked()
    dialog.get_by_role("button", name="Save").click()
    card = dialog.get_by_role("group", name="My box")
    expect(card.locator(".badge")).to_have_text(["In this chat", "Default"])
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(page.get_by_role("button", name="choose a model")).to_be_focused()
    expect(page.locator("#chat-model")).to_have_text("small")
    chat = Chat(page, bare)
    chat.send("Hello")
    chat.replied("You said: Hello")
    assert fake.requests[0]["model"] == "small"
    assert fake.headers[0]["authorization"] == "Bearer sk-page-1"


def test_a_server_that_was_found_is_connected_by_one_press(page: Page, fake: FakeOpenAI) -> None:
    fake.models = [{"id": name} for name in SERVER["models"]]
    found(page, SERVER | {"base_url": fake.base_url})
    dialog = opened(page)
    offer = dialog.get_by_role("group", name="Ollama, found on this machine")
    offer.get_by_label("Model of Ollama").select_option("gemma3:4b")
    offer.get_by_role("button", name="Connect").click()
    card = dialog.get_by_role("group", name="Ollama", exact=True)
    expect(card.locator(".badge")).to_have_text(["In this chat", "Default"])
    expect(card.get_by_label("Model of Ollama")).to_have_value("gemma3:4b")
    expect(offer).to_have_count(0)
    expect(dialog.locator("#models-note")).to_have_text("All that were found are connected.")


def test_a_model_is_chosen_for_one_chat(chat: Chat, fake: FakeOpenAI) -> None:
    fake.models = [{"id": "m"}, {"id": "other"}]
    found(chat.page)
    dialog = opened(chat.page)
    card = dialog.get_by_role("group", name="default")
    card.get_by_label("Model of default").select_option("other")
    card.get_by_role("button", name="Use in this chat").click()
    expect(dialog.locator("#models-said")).to_contain_text("other")
    dialog.get_by_role("button", name="Close").click()
    expect(chat.page.locator("#chat-model")).to_have_text("other")
    chat.send("Hello")
    chat.replied("You said: Hello")
    assert fake.requests[0]["model"] == "other"
    chat.page.get_by_role("button", name="New chat").click()
    expect(chat.page.locator("#chat-model")).to_have_text("m")


def test_an_endpoint_is_changed_and_removed(page: Page, fake: FakeOpenAI) -> None:
    found(page)
    dialog = opened(page)
    fill(dialog, Name="One", Address=fake.base_url, Key="sk-page-1")
    dialog.get_by_role("button", name="Save").click()
    card = dialog.get_by_role("group", name="One")
    card.get_by_role("button", name="Change").click()
    expect(dialog.get_by_label("Name", exact=True)).to_be_focused()
    expect(dialog.get_by_label("Key", exact=True)).to_have_value("")
    dialog.get_by_label("Name", exact=True).fill("Two")
    dialog.get_by_role("button", name="Save").click()
    card = dialog.get_by_role("group", name="Two")
    card.get_by_role("button", name="Remove").click()
    card.get_by_role("button", name="Remove it and its key").click()
    expect(card).to_have_count(0)
    expect(dialog.get_by_role("group", name="Demo model").locator(".badge")).to_have_count(2)


def test_the_question_before_a_removal_stays_when_its_card_changes(page: Page, fake: FakeOpenAI) -> None:
    held: list[Route] = []
    page.route("**/api/endpoints/test", lambda route: held.append(route))
    found(page)
    dialog = opened(page)
    fill(dialog, Name="One", Address=fake.base_url)
    dialog.get_by_role("button", name="Save").click()
    card = dialog.get_by_role("group", name="One")
    expect(card.locator(".card-note")).to_have_text("Asking for its models…")
    card.get_by_role("button", name="Remove").click()
    sure = card.get_by_role("button", name="Remove it and its key")
    expect(sure).to_be_focused()
    for route in held:
        route.fulfill(json={"ok": True, "models": ["m"], "latency_ms": 1})
    expect(card.locator(".card-note")).to_have_text("1 model.")
    expect(sure).to_be_focused()
    card.get_by_role("button", name="Use in this chat").click()
    expect(card.get_by_role("button", name="Remove", exact=True)).to_be_visible()
    expect(sure).to_have_count(0)


def test_what_cannot_work_is_said_in_the_dialog(page: Page) -> None:
    found(page)
    dialog = opened(page)
    expect(dialog.locator("#models-note")).to_contain_text("No model server answers")
    fill(dialog, Address="http://127.0.0.1:9/v1")
    dialog.get_by_role("button", name="Test").click()
    expect(dialog.locator("#endpoint-outcome")).to_contain_text(
        "Nothing answers at 127.0.0.1:9. Start the server at 127.0.0.1:9, or correct its address"
    )
    expect(dialog.get_by_role("button", name="Save")).to_be_in_viewport(ratio=1)
    dialog.get_by_label("Address", exact=True).fill("ftp://example.org/v1")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert")).to_contain_text("http or https")
    expect(dialog.get_by_role("alert")).to_be_in_viewport(ratio=1)


def test_escape_closes_the_dialog_and_not_the_reply(chat: Chat, fake: FakeOpenAI) -> None:
    fake.enqueue(gated("one ", "two"))
    chat.send("Hello")
    expect(chat.live).to_contain_text("one")
    found(chat.page)
    dialog = opened(chat.page)
    chat.page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    chat.state("Writing…")
    for gate in ("g1", "end"):
        fake.gate(gate).set()
    chat.replied("one two")


def test_the_dialog_fits_a_phone(new_chat: Callable[[], Chat]) -> None:
    chat = new_chat()
    chat.page.set_viewport_size({"width": 390, "height": 760})
    chat.open()
    found(chat.page, SERVER | {"base_url": "http://127.0.0.1:11434/v1"})
    dialog = opened(chat.page)
    expect(dialog.locator(".card")).to_have_count(3)
    dialog.locator("summary").click()
    assert dialog.evaluate("element => element.scrollWidth <= element.clientWidth")
    box = dialog.bounding_box()
    assert box and box["x"] >= 0 and box["x"] + box["width"] <= 390
    save = dialog.get_by_role("button", name="Save")
    save.scroll_into_view_if_needed()
    expect(save).to_be_in_viewport(ratio=1)


def test_the_note_of_the_demonstration_model_leads_here(page: Page) -> None:
    found(page)
    page.get_by_role("button", name="Connect a better model").click()
    expect(page.get_by_role("dialog", name="Models")).to_be_visible()
    expect(page.locator("#models-list")).to_contain_text(re.compile("Demo model"))
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Connect a better model")).to_be_focused()


def test_a_default_that_was_declined_stays_declined_after_a_restart(
    context: BrowserContext, fake: FakeOpenAI, tmp_path: Path
) -> None:
    first = serve(tmp_path)
    page = context.new_page()
    page.goto(f"{first.base}#token={first.token}")
    found(page)
    dialog = opened(page)
    fill(dialog, Name="One", Address=fake.base_url)
    dialog.get_by_label("Use it by default").uncheck()
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("group", name="One")).to_be_visible()
    first.stop()
    second = serve(tmp_path)
    page.goto(f"{second.base}#token={second.token}")
    expect(page.locator("#chat-model")).to_have_text("Demo model")
    second.stop()


@pytest.fixture
def embedded(context: BrowserContext, tmp_path: Path) -> Iterator[Chat]:
    """A chat of a server whose start has named the demonstration model."""
    running = serve(tmp_path / "embedded", "--agent", "embedded")
    yield Chat(context.new_page(), running).open()
    running.stop()


def test_a_default_of_the_start_is_not_offered_otherwise_and_the_chat_can_choose(
    embedded: Chat, fake: FakeOpenAI
) -> None:
    found(embedded.page)
    dialog = opened(embedded.page)
    fill(dialog, Name="One", Address=fake.base_url, Model="m")
    expect(dialog.get_by_label("Use it by default")).to_be_hidden()
    dialog.get_by_role("button", name="Save").click()
    card = dialog.get_by_role("group", name="One")
    expect(dialog.locator("#models-said")).to_contain_text("One is connected. “Use in this chat”")
    expect(dialog.locator("#models-said")).to_be_in_viewport(ratio=1)
    expect(dialog.locator("#models-error")).to_be_empty()
    expect(dialog.get_by_label("Name", exact=True)).to_have_value("")
    expect(dialog.locator("#models-given")).to_contain_text("use the agent embedded: Talaria was started so")
    expect(card.get_by_role("button", name="Use by default")).to_have_count(0)
    card.get_by_role("button", name="Use in this chat").click()
    dialog.get_by_role("button", name="Close").click()
    embedded.send("Hello")
    embedded.replied("You said: Hello")


def test_a_found_server_is_connected_beside_a_default_of_the_start(embedded: Chat, fake: FakeOpenAI) -> None:
    found(embedded.page, {"name": "Ollama", "models": ["m"], "base_url": fake.base_url})
    dialog = opened(embedded.page)
    dialog.get_by_role("button", name="Connect", exact=True).click()
    expect(dialog.get_by_role("group", name="Ollama", exact=True)).to_be_visible()
    expect(dialog.locator("#models-said")).to_contain_text("Ollama is connected")
    expect(dialog.locator("#models-error")).to_be_empty()


def test_an_endpoint_is_kept_once_whatever_becomes_of_the_default(page: Page, fake: FakeOpenAI) -> None:
    refusal = {"error": "Not now.", "code": "unavailable"}
    page.route("**/api/default-model", lambda route: route.fulfill(status=503, json=refusal))
    found(page)
    dialog = opened(page)
    fill(dialog, Name="One", Address=fake.base_url)
    dialog.get_by_role("button", name="Save").dblclick()
    expect(dialog.get_by_role("alert")).to_have_text("Not now.")
    expect(dialog.get_by_role("group", name="One")).to_have_count(1)
    expect(dialog.get_by_label("Address", exact=True)).to_have_value("")


def test_the_last_endpoint_goes_and_the_next_one_answers_where_the_start_has_named_openai(
    context: BrowserContext, fake: FakeOpenAI, tmp_path: Path
) -> None:
    running = serve(tmp_path, "--agent", "openai")
    chat = Chat(context.new_page(), running).open()
    found(chat.page)
    expect(chat.page.locator("#model-note")).to_contain_text("No endpoint is set up")
    dialog = opened(chat.page)
    expect(dialog.locator("#endpoint-default")).to_be_checked()
    for name in ("One", "Two"):
        fill(dialog, Name=name, Address=fake.base_url, Model=name)
        dialog.get_by_role("button", name="Save").click()
        card = dialog.get_by_role("group", name=name)
        expect(card.locator(".badge")).to_have_text(["In this chat", "Default"])
        expect(dialog.locator("#models-error")).to_be_empty()
        if name == "One":
            card.get_by_role("button", name="Remove").click()
            card.get_by_role("button", name="Remove it and its key").click()
            expect(card).to_have_count(0)
            dialog.locator("summary").click()
    dialog.get_by_role("button", name="Close").click()
    chat.send("Hello")
    chat.replied("You said: Hello")
    running.stop()
