"""A scripted endpoint, and an agent that speaks to it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from api.agents.base import RunRequest, Stop
from api.agents.endpoint import Endpoint, EndpointTable, Timeouts, Tries
from api.agents.openai_chat import OpenAIAgent
from api.errors import AgentError
from api.events import Event
from tests.fake_openai import FakeOpenAI

KEY = "sk-local-0123456789"


class Outcome:
    """What a run yielded, and the error that ended it."""

    def __init__(self, events: list[Event], error: AgentError | None) -> None:
        self.events = events
        self.error = error

    def text(self, kind: str = "token") -> str:
        return "".join(event.data["text"] for event in self.events if event.type == kind)

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [dict(event.data) for event in self.events if event.type == kind]


@pytest.fixture
def server() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as fake:
        yield fake


@pytest.fixture
def make_agent(server: FakeOpenAI) -> Iterator[Callable[..., OpenAIAgent]]:
    """Makes agents for the server; `tries` and `timeouts` apart, options are those of `Endpoint`."""
    made: list[OpenAIAgent] = []

    def make(tries: Tries | None = None, timeouts: Timeouts | None = None, **options: Any) -> OpenAIAgent:
        values = {"base_url": server.base_url, "model": "m", "api_key": KEY, **options}
        endpoint = Endpoint("default", "Fake", **values)
        tries = tries or Tries(pause_s=0.0)
        made.append(OpenAIAgent(EndpointTable([endpoint]), timeouts or Timeouts(), tries))
        return made[-1]

    yield make
    for agent in made:
        agent.close()


@pytest.fixture
def ask(make_agent: Callable[..., OpenAIAgent]) -> Callable[..., Outcome]:
    """Asks the server one question and gives all that came of it."""

    def run(question: Any = "Hello", agent: OpenAIAgent | None = None, **options: Any) -> Outcome:
        messages = question if isinstance(question, list) else [{"role": "user", "content": question}]
        events: list[Event] = []
        try:
            for event in (agent or make_agent()).run(RunRequest("s", "t", messages, **options), Stop()):
                events.append(event)
        except AgentError as error:
            return Outcome(events, error)
        return Outcome(events, None)

    return run
