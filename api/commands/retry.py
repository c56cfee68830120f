"""/retry: ask the last question again."""

from api.commands.base import Answer, Command, Context, no_argument


def _run(context: Context, argument: str) -> Answer:
    no_argument(argument, "retry")
    started = context.runner.regenerate(context.session_id)
    return Answer("Asking again.", {"stream_id": started.stream_id, "turn_id": started.turn_id})


COMMAND = Command("retry", "Ask again; the reply so far stays as a variant.", _run)
