"""/compress: sum up the older part of this conversation for the model."""

from api.commands.base import Answer, Command, Context


def _run(context: Context, argument: str) -> Answer:
    started = context.runner.compress(context.session_id, argument)
    output = "The older messages are being summed up. They stay in the chat; the model gets the summary."
    return Answer(output, {"stream_id": started.stream_id, "turn_id": started.turn_id})


COMMAND = Command(
    "compress",
    "Sum up the older messages, so that the chat fits the model again.",
    _run,
    "[focus]",
    ("compact",),
)
