"""Slash commands over HTTP."""

from typing import Any

from flask_openapi3.blueprint import APIBlueprint

from api.agents.model_list import ModelList
from api.commands.base import Command, Context, Registry
from api.errors import InvalidRequest, NotFound
from api.session_making import SessionMaker
from api.session_ops import SessionOps
from api.sessions.store import SessionStore
from api.turns.runner import TurnRunner
from api.web import schemas as s
from api.web.room import new_room


class CommandRoom:
    """Runs the command that a text is, for every way in which a text arrives."""

    def __init__(
        self,
        registry: Registry,
        store: SessionStore,
        maker: SessionMaker,
        ops: SessionOps,
        runner: TurnRunner,
        models: ModelList,
    ) -> None:
        self.registry = registry
        self._models = models
        self._store = store
        self._maker = maker
        self._ops = ops
        self._runner = runner

    def run(self, session_id: str, text: str) -> dict[str, Any] | None:
        """The answer of the command; None for a text that is meant for the model."""
        found = self.registry.find(text)
        if found is None:
            return None
        command, argument = found
        self._store.load(session_id)
        answer = command.run(
            Context(session_id, self._maker, self._ops, self._runner, self._models, self.registry), argument
        )
        return {
            "command": command.name,
            "output": answer.output,
            "data": dict(answer.data),
            "revision": self._revision(session_id),
        }

    def _revision(self, session_id: str) -> int | None:
        try:
            return self._store.load(session_id).revision
        except NotFound:
            return None


def blueprint(room: CommandRoom) -> APIBlueprint:
    bp = new_room("commands")

    @bp.get("/api/commands", responses={200: s.CommandsAnswer})
    def commands() -> Any:
        return {"commands": [_describe(command) for command in room.registry.commands]}

    @bp.post("/api/command", responses={200: s.CommandAnswer})
    def command(body: s.CommandBody) -> Any:
        answer = room.run(body.session_id, body.text)
        if answer is None:
            raise InvalidRequest("A command begins with / and a name; /help shows them.")
        return answer

    return bp


def _describe(command: Command) -> dict[str, Any]:
    return {
        "name": command.name,
        "aliases": list(command.aliases),
        "hint": command.hint,
        "help": command.help,
        "kind": "action",
    }
