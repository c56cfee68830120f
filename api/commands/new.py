"""/new: begin another conversation."""

from api.commands.base import Answer, Command, Context


def _run(context: Context, argument: str) -> Answer:
    session = context.maker.new(argument, context.session_id)
    return Answer("A new chat.", {"session_id": session.session_id})


COMMAND = Command("new", "Begin a new chat.", _run, "[title]")
