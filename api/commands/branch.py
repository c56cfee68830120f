"""/branch: go on from here in a chat of its own."""

from api.commands.base import Answer, Command, Context


def _run(context: Context, argument: str) -> Answer:
    session = context.maker.branch(context.session_id, title=argument)
    return Answer(f"A branch: {session.title}", {"session_id": session.session_id, "title": session.title})


COMMAND = Command("branch", "Go on from here in a new chat; this one stays.", _run, "[title]", ("fork",))
