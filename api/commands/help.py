"""/help: which commands there are."""

from api.commands.base import Answer, Command, Context, no_argument


def _run(context: Context, argument: str) -> Answer:
    no_argument(argument, "help")
    commands = context.registry.commands
    lines = [f"/{command.name} {command.hint}".rstrip() + f": {command.help}" for command in commands]
    lines.append("A text that begins with // or with a blank is sent as it is.")
    return Answer("\n".join(lines), {"commands": [command.name for command in commands]})


COMMAND = Command("help", "Show the commands.", _run)
