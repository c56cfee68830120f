"""/redo: bring undone turns back."""

from api.commands.base import Answer, Command, Context
from api.session_ops import parse_count
from api.sessions.content import preview, text_of


def _run(context: Context, argument: str) -> Answer:
    _, restored = context.ops.redo(context.session_id, parse_count(argument, "/redo"))
    typed = [message for message in restored if message.is_typed]
    first = preview(text_of(typed[0].content)) if typed else ""
    words = f': "{first}"' if first else ""
    turns = "1 turn" if len(typed) == 1 else f"{len(typed)} turns"
    return Answer(
        f"Brought back {turns}{words}.", {"restored_count": len(restored), "restored_turns": len(typed)}
    )


COMMAND = Command("redo", "Bring back what /undo took.", _run, "[n]")
