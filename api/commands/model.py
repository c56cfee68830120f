"""/model: which model answers this conversation."""

from api.commands.base import Answer, Command, Context


def _run(context: Context, argument: str) -> Answer:
    if argument:
        context.ops.update(context.session_id, context.models.find(argument))
    status = context.ops.status(context.session_id)
    output = f"Agent: {status['agent']}, model: {status['model'] or 'the first one that the endpoint lists'}"
    if not argument:
        output += _list(context)
    return Answer(output, {"agent": status["agent"], "model": status["model"]})


def _list(context: Context) -> str:
    """What can be chosen, and what listens on this machine."""
    known = [f"{model.endpoint}/{model.id} ({agent})" for agent, model in context.models.known()]
    found = [
        f"{model} at {server.name}, {server.base_url}"
        for server in context.models.on_this_machine()
        for model in server.models
    ]
    sections = (("Set up:", known), ("Found on this machine, to be added as an endpoint:", found))
    return "".join("\n".join(["", title, *lines]) for title, lines in sections if lines)


COMMAND = Command("model", "Show or set the model of this chat.", _run, "[name]")
