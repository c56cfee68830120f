"""Runs the command that a text is, for every way in which a text arrives."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from api.agents.model_list import ModelList
from api.commands.base import Context, Registry
from api.errors import NotFound
from api.session_making import SessionMaker
from api.session_memory import SessionMemory
from api.session_ops import SessionOps
from api.sessions.store import SessionStore
from api.turns.runner import TurnRunner


@dataclass(frozen=True, slots=True)
class Ran:
    """A command by its name and its answer; `revision` is None where its session is gone."""

    command: str
    output: str
    data: Mapping[str, Any]
    revision: int | None


class Dispatcher:
    """Finds the command of a text and gives it what it may use."""

    def __init__(
        self,
        registry: Registry,
        store: SessionStore,
        maker: SessionMaker,
        ops: SessionOps,
        runner: TurnRunner,
        models: ModelList,
        memory: SessionMemory,
    ) -> None:
        self.registry = registry
        self._store = store
        self._maker = maker
        self._ops = ops
        self._runner = runner
        self._models = models
        self._memory = memory

    def run(self, session_id: str, text: str) -> Ran | None:
        """Run the command that `text` is; None for a text that is meant for the model.

        Raises `UnknownCommand`, `NotFound`, and what the command raises.
        """
        found = self.registry.find(text)
        if found is None:
            return None
        command, argument = found
        self._store.load(session_id)
        rooms = (self._maker, self._ops, self._runner, self._models, self._memory, self.registry)
        answer = command.run(Context(session_id, *rooms), argument)
        return Ran(command.name, answer.output, answer.data, self._revision(session_id))

    def _revision(self, session_id: str) -> int | None:
        try:
            return self._store.load(session_id).revision
        except NotFound:
            return None
