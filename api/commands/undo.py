"""/undo: take the last turns back."""

from api.commands.base import Answer, Command, Context
from api.session_ops import parse_count


def _run(context: Context, argument: str) -> Answer:
    asked = parse_count(argument, "/undo")
    undone = context.ops.undo(context.session_id, asked)
    turns = "1 turn" if undone.undone_turns == 1 else f"{undone.undone_turns} turns"
    fewer = " There were no more." if undone.undone_turns < asked else ""
    words = f': "{undone.preview}"' if undone.preview else ""
    output = f"Took back {turns}{words}.{fewer} /redo brings it back. Files and mails stay as they are."
    return Answer(output, undone.as_undo())


COMMAND = Command("undo", "Take back the last turn, or the last n.", _run, "[n]")
