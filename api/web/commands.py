"""Slash commands over HTTP."""

from typing import Annotated, Any

from flask_openapi3.blueprint import APIBlueprint
from pydantic import BaseModel, Field

from api.commands.base import Command
from api.commands.dispatcher import Dispatcher, Ran
from api.errors import InvalidRequest
from api.web import schemas as s
from api.web.room import new_room


class CommandBody(s.Body):
    session_id: s.SessionId
    text: Annotated[str, Field(min_length=1, max_length=10_000)]


class CommandsAnswer(BaseModel):
    commands: list[dict[str, Any]]


def blueprint(dispatcher: Dispatcher) -> APIBlueprint:
    bp = new_room("commands")

    @bp.get("/api/commands", responses={200: CommandsAnswer})
    def commands() -> Any:
        return {"commands": [_describe(command) for command in dispatcher.registry.commands]}

    @bp.post("/api/command", responses={200: s.CommandAnswer})
    def command(body: CommandBody) -> Any:
        ran = dispatcher.run(body.session_id, body.text)
        if ran is None:
            raise InvalidRequest("A command begins with / and a name; /help shows them.")
        return ran_json(ran)

    return bp


def ran_json(ran: Ran) -> dict[str, Any]:
    """The answer to a command."""
    return {"command": ran.command, "output": ran.output, "data": dict(ran.data), "revision": ran.revision}


def _describe(command: Command) -> dict[str, Any]:
    return {
        "name": command.name,
        "aliases": list(command.aliases),
        "hint": command.hint,
        "help": command.help,
        "kind": "action",
    }
