"""The slash commands: one registry for the page, the API and every other surface."""

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from api.agents.model_list import ModelList
from api.errors import InvalidRequest, UnknownCommand
from api.session_making import SessionMaker
from api.session_memory import SessionMemory
from api.session_ops import SessionOps
from api.turns.runner import TurnRunner

# A command is the first thing in a text, so that a path such as /etc/hosts stays a text.
_COMMAND = re.compile(r"/([a-z][a-z-]*)(?:\s|\Z)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command says: a text for people, data for programs. Nothing of it enters the conversation."""

    output: str
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Context:
    """What a command may use: the session it was typed in, and the operations of the process."""

    session_id: str
    maker: SessionMaker
    ops: SessionOps
    runner: TurnRunner
    models: ModelList
    memory: SessionMemory
    registry: "Registry"


@dataclass(frozen=True, slots=True)
class Command:
    """A slash command: `hint` shows its argument, `help` is a sentence, `run` takes the rest of the text."""

    name: str
    help: str
    run: Callable[[Context, str], Answer]
    hint: str = ""
    aliases: Sequence[str] = ()


class Registry:
    """All commands by name and alias."""

    def __init__(self, commands: Sequence[Command]) -> None:
        self.commands = tuple(sorted(commands, key=lambda command: command.name))
        self._by_name = {name: c for c in self.commands for name in (c.name, *c.aliases)}

    def find(self, text: str) -> tuple[Command, str] | None:
        """The command that a text is, with its argument; None for a text that is meant for the model.

        Raises `UnknownCommand` with suggestions for a text that looks like a command and is none.
        """
        match = _COMMAND.match(text)
        if match is None:
            return None
        name = match[1].lower()
        if name not in self._by_name:
            close = difflib.get_close_matches(name, self._by_name, n=3, cutoff=0.6)
            raise UnknownCommand(
                f"There is no command /{name}. Send it as text, or see /help.",
                details={"suggestions": [f"/{entry}" for entry in close]},
            )
        return self._by_name[name], text[match.end() :].strip()


def no_argument(argument: str, name: str) -> None:
    """Refuse words that a command does not understand."""
    if argument:
        raise InvalidRequest(f"/{name} takes no argument.")
