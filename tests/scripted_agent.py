"""A backend that says what a test tells it to, step by step, and remembers what it was asked."""

import threading
from collections import deque
from collections.abc import Callable, Iterator

from api.agents.base import AgentInfo, ModelInfo, RunRequest, Stop
from api.events import Event, token

Step = str | Event | BaseException | threading.Event | Callable[[Stop], None]
WAIT_S = 20.0


class ScriptedAgent:
    """Each run takes the next script: texts and events are yielded, errors raised, flags waited for."""

    name = "scripted"

    def __init__(self) -> None:
        self.history: list[RunRequest] = []
        self.runs_ended = 0
        self.makes_titles = False
        self.extracts_facts = False
        self.prepared_as_default: bool | None = None
        self._scripts: deque[list[Step]] = deque()

    def enqueue(self, *steps: Step) -> None:
        self._scripts.append(list(steps))

    def run(self, request: RunRequest, stop: Stop) -> Iterator[Event]:
        self.history.append(request)
        script = self._scripts.popleft() if self._scripts else [f"echo {len(self.history)}"]
        try:
            for step in script:
                if stop.requested:
                    return
                if isinstance(step, str):
                    yield token(step)
                elif isinstance(step, Event):
                    yield step
                elif isinstance(step, BaseException):
                    raise step
                elif isinstance(step, threading.Event):
                    stop.on_request(step.set)
                    assert step.wait(WAIT_S), "the test never opened this gate"
                else:
                    step(stop)
        finally:
            self.runs_ended += 1

    def info(self) -> AgentInfo:
        models = (ModelInfo("model-1", "default", "Model 1"),)
        return AgentInfo(self.name, True, None, models, self.makes_titles, self.extracts_facts)

    def prepare(self, is_default: bool) -> None:
        self.prepared_as_default = is_default

    def close(self) -> None:
        pass
