"""/status: what this conversation is doing."""

from typing import Any

from api.commands.base import Answer, Command, Context, no_argument


def _run(context: Context, argument: str) -> Answer:
    no_argument(argument, "status")
    status = context.ops.status(context.session_id)
    return Answer("\n".join(_lines(status)), status)


def _lines(status: dict[str, Any]) -> list[str]:
    tokens = status["total_tokens"]
    context, limit = status["context_tokens"], status["context_limit"]
    state = "writing a reply" if status["agent_running"] else "idle"
    return [
        f"Chat: {status['title'] or 'untitled'} ({status['session_id']})",
        f"Agent: {status['agent']}, model: {status['model'] or 'unknown'}",
        f"State: {state}, waiting texts: {status['queued']}",
        f"Messages: {status['message_count']}, tokens spent: {_known(tokens)}",
        f"Context: {_known(context)} of {limit:,} tokens"
        if limit
        else f"Context: {_known(context)} tokens; the limit is unknown",
    ]


def _known(number: int | None) -> str:
    return "unknown" if number is None else f"{number:,}"


COMMAND = Command("status", "Show agent, model, state and tokens of this chat.", _run)
