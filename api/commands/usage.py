"""/usage: what this conversation has cost."""

from typing import Any

from api.commands.base import Answer, Command, Context, no_argument


def _run(context: Context, argument: str) -> Answer:
    no_argument(argument, "usage")
    usage = context.ops.usage(context.session_id)
    return Answer("\n".join(_lines(usage)), usage)


def _lines(usage: dict[str, Any]) -> list[str]:
    cost = usage["estimated_cost"]
    lines = [
        f"Tokens: {_known(usage['input_tokens'])} in, {_known(usage['output_tokens'])} out",
        f"Of those read from a cache: {_known(usage['cache_read_tokens'])}",
        f"Cost: {'unknown' if cost is None else f'${cost:.4f}'}",
    ]
    if usage["unknown_turns"]:
        lines.append(f"Turns without numbers from the provider: {usage['unknown_turns']} of {usage['turns']}")
    return lines


def _known(number: int | None) -> str:
    return "unknown" if number is None else f"{number:,}"


COMMAND = Command("usage", "Show the tokens and the cost of this chat.", _run)
