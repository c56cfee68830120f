"""/stop: end the running reply."""

from api.commands.base import Answer, Command, Context, no_argument


def _run(context: Context, argument: str) -> Answer:
    no_argument(argument, "stop")
    stream_id = context.runner.cancel(context.session_id)
    output = "Stopped. What had arrived is kept." if stream_id else "Nothing is running."
    return Answer(output, {"cancelled": stream_id is not None, "stream_id": stream_id})


COMMAND = Command("stop", "Stop the reply that is being written.", _run)
