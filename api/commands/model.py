"""/model: which model answers this conversation."""

from api.commands.base import Answer, Command, Context


def _run(context: Context, argument: str) -> Answer:
    if argument:
        context.ops.update(context.session_id, {"model": argument})
    status = context.ops.status(context.session_id)
    output = f"Agent: {status['agent']}, model: {status['model'] or 'the first one that the endpoint lists'}"
    return Answer(output, {"agent": status["agent"], "model": status["model"]})


COMMAND = Command("model", "Show or set the model of this chat.", _run, "[name]")
