"""The main job as a whole: a question on the page, the real local model, a kill and a restart."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from api.agents.embedded_install import EmbeddedInstall
from tests.embedded_model import installed
from tests.page.conftest import Chat, Served, serve

__all__ = ["installed"]
MODEL_WAIT_MS = 90_000
# Asks for as many words as a reply may have, so that it is still running when the test looks.
FIRST = "Write a very long story about a garden and its keeper, with many chapters."
SECOND = "Write a very long story about a ship and its captain, with many chapters."


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


def test_a_real_reply_streams_and_outlives_a_kill_and_a_restart(
    context: BrowserContext, cached_model: Path, tmp_path: Path
) -> None:
    with ended(serve(tmp_path / "state")) as first:
        chat = Chat(context.new_page(), first).open()
        wait_for_model(chat)
        watch_replies(chat)
        chat.send(FIRST)
        different_texts(chat, 2)
        expect(chat.page.locator(".is-live")).to_have_count(0, timeout=MODEL_WAIT_MS)
        answer = chat.stored.last.locator(".text").inner_text()
        assert answer.strip()
        chat.page.evaluate("() => { window.seenTexts = []; }")
        chat.send(SECOND)
        shown = different_texts(chat, 2)[-1]
        first.stop(signal.SIGKILL)
    with ended(serve(tmp_path / "state", port=first.port)):
        chat.page.reload()
        chat.said(FIRST, SECOND)
        texts = chat.stored.locator(".text")
        expect(texts.first).to_have_text(answer)
        expect(texts.last).to_contain_text(shown.strip()[:40])
        expect(chat.page.locator(".end[data-status=interrupted]")).to_have_count(1)


@contextmanager
def ended(served: Served) -> Iterator[Served]:
    """A server that has ended afterwards, whatever happens."""
    try:
        yield served
    finally:
        if served.process.poll() is None:
            served.stop()


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
