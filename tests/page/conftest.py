"""A real server over a throwaway state folder with a scripted endpoint, and a real browser before it."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Locator,
    Page,
    expect,
    sync_playwright,
)

from tests.fake_openai import DEFAULT_USAGE, FakeOpenAI, Reply, Wait, text_chunks

CHECKOUT = Path(__file__).resolve().parents[2]
CHROMIUM = os.environ.get("TALARIA_CHROMIUM", "/usr/bin/chromium")
WAIT_MS = 15_000
SERVE = "import sys; sys.path.insert(0, '.'); from api.cli import main; main()"

expect.set_options(timeout=WAIT_MS)


@dataclass
class Served:
    """A server process and where it listens."""

    process: subprocess.Popen[str]
    state_dir: Path
    port: int
    token: str
    path: str = "/"

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}{self.path}"

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        self.process.send_signal(how)
        self.process.wait(30)
        if self.process.stdout:
            self.process.stdout.close()


def serve(state_dir: Path, *flags: str, port: int = 0) -> Served:
    """Start a server and wait until it listens."""
    words = [sys.executable, "-c", SERVE, "--state-dir", str(state_dir), "--port", str(port), "--no-browser"]
    process = subprocess.Popen([*words, *flags], cwd=CHECKOUT, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    for line in process.stdout:
        if found := re.match(r"listening on http://127\.0\.0\.1:(\d+)(/\S*)#token=(\S+)", line):
            return Served(process, state_dir, int(found[1]), found[3], found[2])
    raise AssertionError("the server did not start")


def gated(*pieces: str) -> Reply:
    """A reply of which each piece but the first waits for its gate: `g1`, `g2` …"""
    chunks = text_chunks(pieces, DEFAULT_USAGE)
    steps: list[bytes | Wait] = chunks[:2]
    for place, step in enumerate(chunks[2 : len(pieces) + 1], start=1):
        steps += [Wait(f"g{place}"), step]
    return Reply([*steps, Wait("end"), *chunks[len(pieces) + 1 :]])


@dataclass
class Chat:
    """The page in one tab, with what a person does in it."""

    page: Page
    served: Served
    allowed: list[str] = field(default_factory=list)

    def open(self, fragment: str | None = None) -> "Chat":
        self.page.goto(self.served.base + (f"#token={self.served.token}" if fragment is None else fragment))
        expect(self.page.locator("#app")).to_be_visible()
        return self

    def allow(self, *parts: str) -> None:
        """Console messages with these parts belong to the test: a browser notes each refused request."""
        self.allowed.extend(parts)

    @property
    def box(self) -> Locator:
        return self.page.locator("#message")

    def send(self, text: str) -> None:
        self.box.fill(text)
        self.box.press("Enter")

    @property
    def live(self) -> Locator:
        return self.page.locator(".is-live .text")

    @property
    def stored(self) -> Locator:
        """Stored replies."""
        return self.page.locator("#messages .message-reply")

    @property
    def rows(self) -> Locator:
        return self.page.locator("#session-list .session")

    def option(self, chat: str, name: str) -> None:
        """Choose from the menu of a chat in the list."""
        self.page.get_by_role("button", name=f"Options for {chat}").click()
        self.page.get_by_role("menuitem", name=name, exact=True).click()

    def said(self, *texts: str) -> None:
        """Wait until exactly these bubbles of the user are shown."""
        expect(self.page.locator("#messages .message-user .text")).to_have_text(list(texts))

    def replied(self, *texts: str) -> None:
        """Wait until exactly these stored replies are shown and nothing is running."""
        expect(self.stored.locator(".text")).to_have_text(list(texts))
        expect(self.page.locator(".is-live")).to_have_count(0)

    def state(self, text: str | re.Pattern[str]) -> None:
        expect(self.page.locator("#state-text")).to_have_text(text)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def served(fake: FakeOpenAI, tmp_path: Path) -> Iterator[Served]:
    running = serve(tmp_path / "state", "--openai-base-url", fake.base_url, "--openai-model", "m")
    yield running
    running.stop()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    made = browser.new_context(viewport={"width": 1280, "height": 800})
    made.set_default_timeout(WAIT_MS)
    yield made
    made.close()


@pytest.fixture
def new_chat(context: BrowserContext, served: Served) -> Iterator[Callable[[], Chat]]:
    """Makes tabs. Whatever one complains of fails the test: errors, violations of the CSP."""
    chats: list[Chat] = []
    troubles: list[tuple[Chat, str]] = []

    def make() -> Chat:
        chat = Chat(context.new_page(), served)
        chats.append(chat)
        chat.page.on("pageerror", lambda error: troubles.append((chat, str(error))))
        chat.page.on("console", lambda message: note(chat, message))
        return chat

    def note(chat: Chat, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            troubles.append((chat, message.text))

    yield make
    left = [text for chat, text in troubles if not any(part in text for part in chat.allowed)]
    assert left == []


@pytest.fixture
def chat(new_chat: Callable[[], Chat]) -> Chat:
    """One tab, logged in, at a new chat."""
    return new_chat().open()
