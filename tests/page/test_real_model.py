"""The main job as a whole: a question on the page, the real local model, a kill and a restart."""

import signal
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from api.agents.embedded_install import EmbeddedInstall
from tests.embedded_model import installed
from tests.page.conftest import Chat, serve

__all__ = ["installed"]
MODEL_WAIT_MS = 90_000
QUESTION = "Write a long story about a ship and its captain."


def watch_replies(chat: Chat) -> None:
    """Note every text that a running reply shows from now on."""
    chat.page.evaluate(
        """() => {
            window.seenTexts = [];
            const look = () => {
                const text = document.querySelector(".is-live .text")?.textContent;
                if (text && text !== window.seenTexts.at(-1)) window.seenTexts.push(text);
            };
            const all = { childList: true, subtree: true, characterData: true };
            new MutationObserver(look).observe(document.body, all);
        }"""
    )


def different_texts(chat: Chat, count: int) -> list[str]:
    """The texts of running replies since `watch_replies`, as soon as there are `count` different ones."""
    chat.page.wait_for_function(
        "count => new Set(window.seenTexts).size >= count", arg=count, timeout=MODEL_WAIT_MS
    )
    return list(chat.page.evaluate("() => window.seenTexts"))


@pytest.fixture
def cached_model(installed: EmbeddedInstall, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder in which the model is installed already."""
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "talaria").symlink_to(installed.folder, target_is_directory=True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    return cache


def test_a_real_reply_streams_and_outlives_a_reload_a_kill_and_a_restart(
    context: BrowserContext, cached_model: Path, tmp_path: Path
) -> None:
    first = serve(tmp_path / "state")
    chat = Chat(context.new_page(), first).open()
    wait_for_model(chat)
    watch_replies(chat)
    chat.send("Name three fruits.")
    different_texts(chat, 2)
    expect(chat.page.locator(".is-live")).to_have_count(0, timeout=MODEL_WAIT_MS)
    answer = chat.stored.last.locator(".text").inner_text()
    assert answer.strip()
    chat.send(QUESTION)
    expect(chat.live).to_be_visible(timeout=MODEL_WAIT_MS)
    chat.page.reload()
    watch_replies(chat)
    shown = different_texts(chat, 2)[-1]
    first.stop(signal.SIGKILL)
    second = serve(tmp_path / "state", port=first.port)
    try:
        chat.page.reload()
        chat.said("Name three fruits.", QUESTION)
        texts = chat.stored.locator(".text")
        expect(texts.first).to_have_text(answer)
        expect(texts.last).to_contain_text(shown.strip()[:40])
        expect(chat.page.locator(".end[data-status=interrupted]")).to_have_count(1)
    finally:
        second.stop()


def wait_for_model(chat: Chat) -> None:
    chat.page.wait_for_function(
        """async () => {
            const token = Object.values(localStorage).find((value) => value.length > 30);
            const auth = { Authorization: `Bearer ${token}` };
            const { agents } = await (await fetch("/api/models", { headers: auth })).json();
            return agents.find((agent) => agent.name === "embedded").available;
        }""",
        timeout=MODEL_WAIT_MS,
    )
