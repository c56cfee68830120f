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
from api.memory.base import MemoryProvider
from api.memory.local import LocalMemory
from api.services import teller
from api.session_memory import SessionMemory
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
LOOK_S = 0.005


def wait_until(condition: Callable[[], object], what: str = "a condition") -> None:
    """Wait for another thread or process, bounded; the first true answer ends it."""
    # Counted, since a test may have frozen the clock.
    for _ in range(int(WAIT_S / LOOK_S)):
        if condition():
            return
        threading.Event().wait(LOOK_S)
    raise AssertionError(f"{what} did not come true")


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
    memory: SessionMemory
    runner: TurnRunner
    pool: AgentPool
    drafts: Drafts
    blobs: Blobs

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


def build_house(state_dir: Path, provider: MemoryProvider | None = None, **store_options: object) -> House:
    clock, workers, hub = Clock(), Workers(), Hub[Turn]("boot-test")
    locks = KeyedLocks(make_folder(state_dir / "locks"))
    store = SessionStore(state_dir, locks, clock, **store_options)  # type: ignore[arg-type]
    drafts = Drafts(state_dir, store, locks, clock)
    catalog = Catalog(state_dir / "catalog.db", store, drafts.has)
    store.on_saved(catalog.put)
    journal, agent = Journal(state_dir), ScriptedAgent()
    pool = AgentPool({"scripted": agent}, "scripted")
    provider = provider or LocalMemory(state_dir / "memory", clock)
    memory = SessionMemory(store, catalog, pool, provider, clock, workers, teller(hub), 1800.0)
    blobs = Blobs(state_dir)
    runner = TurnRunner(store, hub, journal, pool, clock, workers, blobs, memory)
    own = (store, catalog, hub, journal, workers, agent, memory, runner, pool, drafts, blobs)
    return House(state_dir, clock, *own)


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
