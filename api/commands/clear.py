"""/clear: begin this conversation again."""

from api.commands.base import Answer, Command, Context, no_argument


def _run(context: Context, argument: str) -> Answer:
    no_argument(argument, "clear")
    _, removed = context.ops.truncate(context.session_id, None)
    output = "Cleared. /redo brings it back, turn by turn." if removed else "There is nothing to clear."
    return Answer(output, {"removed_count": removed})


COMMAND = Command("clear", "Empty this chat; /redo brings it back.", _run, aliases=("reset",))
