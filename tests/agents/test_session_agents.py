"""Agents of sessions: one each, never closed while something uses them, closed once."""

import random
import threading
from dataclasses import dataclass, field
from typing import Any

import pytest

from api.agents.session_agents import SessionAgents


@dataclass(eq=False)
class Spy:
    """An agent that knows how often it was closed, and whether it was used after that."""

    session_id: str
    owner: str
    closed: int = 0
    used_after: int = 0

    def commit_memory_session(self, entries: Any, *, batch_id: str) -> None:
        self.used_after += self.closed > 0

    def close(self) -> None:
        self.closed += 1


@dataclass
class Scene:
    limit: int = 2
    made: list[Spy] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.agents = SessionAgents(self._make, lambda agent: agent.close(), self.limit)

    def _make(self, session_id: str, owner: str) -> Spy:
        self.made.append(Spy(session_id, owner))
        return self.made[-1]

    def closed(self) -> list[str]:
        return [f"{spy.session_id} {spy.owner}" for spy in self.made if spy.closed]


@pytest.fixture
def scene() -> Scene:
    return Scene()


def turn(scene: Scene, session_id: str, owner: str = "a") -> list[Any]:
    """One turn; what leaves for it."""
    held, leaving = scene.agents.begin(session_id, owner)
    scene.agents.give_back(held)
    return leaving


def test_the_least_recently_used_one_leaves_and_is_closed_when_it_is_given_back(scene: Scene) -> None:
    for session_id in ("s1", "s2", "s1"):
        assert turn(scene, session_id) == []
    (leaving,) = turn(scene, "s3")
    assert leaving.agent.session_id == "s2" and scene.agents.sessions() == ["s1", "s3"]
    assert scene.closed() == []
    scene.agents.give_back(leaving)
    assert scene.closed() == ["s2 a"]


def test_one_at_work_or_in_a_commit_does_not_leave(scene: Scene) -> None:
    first, _ = scene.agents.begin("s1", "a")
    turn(scene, "s2")
    with scene.agents.lend("s2", "a"):
        assert turn(scene, "s3") == [] and len(scene.agents) == 3
    scene.agents.give_back(first)
    leaving = turn(scene, "s4")
    assert [held.agent.session_id for held in leaving] == ["s1", "s2"] and len(scene.agents) == 2


def test_the_one_that_leaves_does_its_own_commit(scene: Scene) -> None:
    turn(scene, "s1", "a")
    (leaving,) = turn(scene, "s1", "b")
    with scene.agents.lend("s1", "a") as agent:
        assert agent is leaving.agent
        scene.agents.give_back(leaving)
        assert scene.closed() == []
    assert scene.closed() == ["s1 a"]
    with scene.agents.lend("s1", "a") as again:
        assert again is not agent and len(scene.made) == 3
    assert scene.closed() == ["s1 a", "s1 a"] and len(scene.agents) == 1


def test_one_that_is_dropped_is_closed_after_its_last_use(scene: Scene) -> None:
    held, _ = scene.agents.begin("s1", "a")
    scene.agents.drop("s1")
    scene.agents.drop("s1")
    assert scene.agents.sessions() == [] and scene.closed() == []
    scene.agents.give_back(held)
    assert scene.closed() == ["s1 a"]


def test_in_any_order_each_is_closed_once_and_never_used_after() -> None:
    scene = Scene(limit=3)

    def work(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(400):
            session_id, owner = f"s{chance.randrange(8)}", chance.choice("ab")
            step = chance.randrange(3)
            if step == 0:
                held, leaving = scene.agents.begin(session_id, owner)
                held.agent.commit_memory_session((), batch_id="")
                for one in [*leaving, held]:
                    scene.agents.give_back(one)
            elif step == 1:
                with scene.agents.lend(session_id, owner) as agent:
                    agent.commit_memory_session((), batch_id="")
            else:
                scene.agents.drop(session_id)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for session_id in scene.agents.sessions():
        scene.agents.drop(session_id)
    assert {spy.closed for spy in scene.made} == {1}
    assert sum(spy.used_after for spy in scene.made) == 0
