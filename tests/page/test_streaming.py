"""A reply on its way to the page: piece by piece, through a reload, and to its end."""

import json
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Route, expect

from tests.fake_openai import DONE, FakeOpenAI, HangUp, Reply, chunk, event, json_reply, text_chunks
from tests.page.conftest import Chat, Served, gated, serve


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


def test_a_stop_keeps_what_had_arrived_and_offers_a_retry(chat: Chat, fake: FakeOpenAI) -> None:
    fake.enqueue(gated("One ", "two"))
    chat.send("Count")
    expect(chat.live).to_have_text("One ")
    chat.box.press("Escape")
    chat.replied("One ")
    expect(chat.page.locator(".end")).to_contain_text("Stopped")
    assert fake.client_left.wait(10)
    fake.enqueue(gated("Again"))
    fake.gate("end").set()
    chat.page.get_by_role("button", name="Retry").click()
    chat.replied("Again")
    chat.said("Count")
    expect(chat.page.locator(".variants")).to_contain_text("2/2")
    chat.page.get_by_role("button", name="Previous variant").click()
    chat.replied("One ")


def test_a_failure_says_why_and_keeps_the_question(chat: Chat, fake: FakeOpenAI) -> None:
    fake.enqueue(json_reply({"error": {"message": "Incorrect API key provided"}}, 401))
    chat.send("Hello")
    end = chat.page.locator(".end")
    expect(end).to_contain_text("Failed")
    expect(end).to_contain_text("API key")
    chat.said("Hello")
    end.get_by_role("button", name="Retry").click()
    chat.replied("You said: Hello")
    expect(end).to_have_count(0)


def test_a_reply_that_breaks_off_keeps_its_words(chat: Chat, fake: FakeOpenAI) -> None:
    fake.enqueue(Reply([*text_chunks(["Half a "])[:2], HangUp()]))
    chat.send("Hello")
    expect(chat.page.locator(".end")).to_contain_text("Failed")
    chat.replied("Half a ")


def test_reasoning_is_folded_and_stays_unfolded_once_opened(chat: Chat, fake: FakeOpenAI) -> None:
    steps = [chunk({"reasoning_content": "Let me think"}), chunk({"content": "Yes"})]
    ended = gated("", *[]).steps[2:]
    fake.enqueue(Reply([*steps, *ended]))
    chat.send("Is it?")
    reasoning = chat.page.locator("details.reasoning")
    expect(chat.live.last).to_have_text("Yes")
    assert reasoning.evaluate("details => details.open") is False
    reasoning.locator("summary").click()
    fake.gate("end").set()
    expect(chat.stored.locator("details.reasoning[open]")).to_contain_text("Let me think")
    expect(chat.stored.locator(".parts > .text")).to_have_text("Yes")


def test_texts_sent_meanwhile_wait_and_go_out_in_order(chat: Chat, fake: FakeOpenAI) -> None:
    fake.enqueue(gated("First reply"))
    chat.send("First")
    expect(chat.live).to_have_text("First reply")
    chat.send("Second")
    chat.send("Third")
    waiting = chat.page.locator("#waiting .text")
    expect(waiting).to_have_text(["Second", "Third"])
    fake.gate("end").set()
    chat.replied("First reply", "You said: Second", "You said: Third")
    chat.said("First", "Second", "Third")
    expect(waiting).to_have_count(0)


def test_the_reply_goes_on_while_the_network_is_lost(chat: Chat, fake: FakeOpenAI) -> None:
    chat.allow("ERR_FAILED")
    breaks = iter([True])

    def break_off(route: Route) -> None:
        """The first two events of the stream, then an end without an end of the reply; then nothing."""
        if not next(breaks, False):
            route.abort()
            return
        stream_id = parse_qs(urlsplit(route.request.url).query)["stream_id"][0]
        start = {"turn_id": "t1", "user_message": {"id": 1, "content": "Count"}}
        frames = [("turn_started", start), ("token", {"text": "One "})]
        lines = [
            f"id: {stream_id}:{n}\nevent: {t}\ndata: {json.dumps(d)}\n\n"
            for n, (t, d) in enumerate(frames, 1)
        ]
        route.fulfill(body="".join(lines), content_type="text/event-stream")

    chat.page.route("**/api/chat/stream?*", break_off)
    fake.enqueue(gated("One ", "two ", "three"))
    chat.send("Count")
    chat.state("Network lost. The reply goes on; connecting again…")
    expect(chat.live).to_have_text("One ")
    fake.gate("g1").set()
    chat.page.unroute("**/api/chat/stream?*")
    expect(chat.live).to_have_text("One two ")
    chat.state("Writing…")
    fake.gate("g2").set()
    fake.gate("end").set()
    chat.replied("One two three")


def test_a_restart_of_the_server_in_mid_reply_ends_it_as_interrupted(
    chat: Chat, fake: FakeOpenAI, served: Served
) -> None:
    chat.allow(
        "ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_RESET", "ERR_EMPTY"
    )
    fake.enqueue(gated("One ", "two"))
    chat.send("Count")
    expect(chat.live).to_have_text("One ")
    served.process.kill()
    served.process.wait(30)
    chat.state("Network lost. The reply goes on; connecting again…")
    expect(chat.live).to_have_text("One ")
    again = serve(
        served.state_dir, "--openai-base-url", fake.base_url, "--openai-model", "m", port=served.port
    )
    try:
        expect(chat.page.locator(".end")).to_contain_text("Interrupted")
        chat.replied("One ")
        chat.state("Ready")
        chat.send("Still there?")
        chat.replied("One ", "You said: Still there?")
    finally:
        again.stop()


def test_text_of_a_long_reply_is_whole(chat: Chat, fake: FakeOpenAI) -> None:
    lines = [f"{n}: some words of a long reply\n" for n in range(1500)]
    fake.enqueue(Reply([*text_chunks(lines)[:-2], event({"choices": []}), DONE]))
    chat.send("Write much")
    expect(chat.stored).to_contain_text("1499: some words", timeout=20_000)
    assert chat.stored.locator(".text").text_content() == "".join(lines)


def test_the_reader_is_not_pulled_down(chat: Chat, fake: FakeOpenAI) -> None:
    page = "".join(f"line {n}\n" for n in range(200))
    fake.enqueue(gated(page, "more\n", "end"))
    jump = chat.page.locator("#jump")
    scroller = chat.page.locator("#transcript")
    chat.send("Write")
    expect(chat.live).to_contain_text("line 199")
    expect(jump).to_be_hidden()
    scroller.evaluate("element => { element.scrollTop = 300; }")
    expect(jump).to_be_visible()
    # What is read stays where it is on the screen, also when something above it gets its final size.
    place = "element => Math.round(element.getBoundingClientRect().top)"
    before = chat.live.evaluate(place)
    fake.gate("g1").set()
    expect(chat.live).to_contain_text("more")
    assert abs(chat.live.evaluate(place) - before) <= 1
    expect(jump).to_be_visible()
    jump.click()
    expect(jump).to_be_hidden()
    fake.gate("g2").set()
    fake.gate("end").set()
    expect(chat.stored).to_contain_text("end")
    expect(chat.stored).to_have_css("content-visibility", "visible")
    at_end = "element => element.scrollHeight - element.scrollTop - element.clientHeight < 2"
    assert scroller.evaluate(at_end)
