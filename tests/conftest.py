"""Fixtures that every room shares: a throwaway state folder and the objects of one process over it."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from api.agents.pool import AgentPool
from api.clock import Clock
from api.concurrency import KeyedLocks, Workers
from api.files import make_folder
from api.hub import Hub
from api.sessions.blobs import Blobs
from api.sessions.catalog import Catalog
from api.sessions.drafts import Drafts
from api.sessions.model import Session
from api.sessions.store import SessionStore
from api.turns.journal import Journal
from api.turns.runner import TurnRunner
from api.turns.turn import Turn
from tests.fake_openai import FakeOpenAI
from tests.scripted_agent import ScriptedAgent

WAIT_S = 20.0


def wait_until(condition: Callable[[], object], what: str = "a condition") -> None:
    """Wait for another thread or process, bounded; the first true answer ends it."""
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not come true"
        threading.Event().wait(0.005)


@dataclass
class House:
    """One process's worth of objects over a state folder, without the web."""

    state_dir: Path
    clock: Clock
    store: SessionStore
    catalog: Catalog
    hub: Hub[Turn]
    journal: Journal
    workers: Workers
    agent: ScriptedAgent
    runner: TurnRunner

    def new_session(self, **fields: object) -> Session:
        session = Session(self.store.new_id(), **fields)  # type: ignore[arg-type]
        return self.store.create(session)

    def close(self) -> None:
        self.runner.close(0.0)
        assert not self.workers.stop(WAIT_S)
        self.catalog.close()

    def wait_idle(self, session_id: str) -> Session:
        wait_until(lambda: self.runner.active(session_id) is None, "the end of the turn")
        return self.store.load(session_id)

    def contents(self, session_id: str) -> list[object]:
        return [message.content for message in self.store.load(session_id).line()]


def build_house(state_dir: Path, **store_options: object) -> House:
    clock, workers, hub = Clock(), Workers(), Hub[Turn]("boot-test")
    locks = KeyedLocks(make_folder(state_dir / "locks"))
    store = SessionStore(state_dir, locks, clock, **store_options)  # type: ignore[arg-type]
    drafts = Drafts(state_dir, store, locks, clock)
    catalog = Catalog(state_dir / "catalog.db", store, drafts.has)
    store.on_saved(catalog.put)
    journal, agent = Journal(state_dir), ScriptedAgent()
    runner = TurnRunner(
        store, hub, journal, AgentPool({"scripted": agent}, "scripted"), clock, workers, Blobs(state_dir)
    )
    return House(state_dir, clock, store, catalog, hub, journal, workers, agent, runner)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    built = build_house(tmp_path / "state")
    yield built
    built.close()


@pytest.fixture
def fake() -> Iterator[FakeOpenAI]:
    """An endpoint that answers what it is told to."""
    with FakeOpenAI() as endpoint:
        yield endpoint


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    deadline = time.monotonic() + 5
    while left := [t for t in threading.enumerate() if t not in before and t.is_alive()]:
        assert time.monotonic() < deadline, f"the test left threads: {left}"
        left[0].join(0.05)
