"""A question to a model beside the conversation: its whole answer as a text, and what it has cost."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from api.agents.base import Agent, RunRequest, Stop
from api.errors import AgentError

LONGEST_ANSWER = 20_000


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model said; `usage` None where it gave no numbers."""

    text: str
    usage: Mapping[str, Any] | None


def ask(agent: Agent, request: RunRequest, stop: Stop, longest: int = LONGEST_ANSWER) -> Answer:
    """The answer to one request. Raises `AgentError`, also where it never ends or the stop has come."""
    text, usage = "", None
    for event in agent.run(request, stop):
        if event.type == "token":
            text += event.data["text"]
        elif event.type == "usage":
            usage = event.data
        if len(text) > longest:
            stop.request()
            raise AgentError("The model talks on and on instead of answering.", type="no_response")
    if stop.requested:
        raise AgentError("The question was given up.", type="interrupted")
    return Answer(text, usage)
