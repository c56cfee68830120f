"""/memory: what is remembered of this chat, and whether anything shall be."""

from collections.abc import Mapping
from typing import Any

from api.commands.base import Answer, Command, Context
from api.errors import InvalidRequest

USAGE = "/memory takes status, commit, learn, off, on, or forget and a text."


def _run(context: Context, argument: str) -> Answer:
    word, _, rest = argument.partition(" ")
    word, rest = word.lower() or "status", rest.strip()
    if word == "forget":
        return _forget(context, rest)
    if rest or word not in _ACTIONS:
        raise InvalidRequest(USAGE)
    return _ACTIONS[word](context)


def _status(context: Context) -> Answer:
    memory = context.ops.status(context.session_id)["memory"]
    lines = [f"Memory: {memory['provider']}, {_state(memory)}"]
    if memory["reason"]:
        lines.append(memory["reason"])
    lines.append(f"Turns of this chat that it has not learned from yet: {memory['uncommitted_turns']}")
    if memory["uncounted_turns"] and not memory["off"]:
        lines.append(f"Turns that only /memory learn includes: {memory['uncounted_turns']}")
    if memory["last_error"]:
        lines.append(f"Last problem: {memory['last_error']}")
    return Answer("\n".join(lines), memory)


def _state(memory: Mapping[str, Any]) -> str:
    if memory["off"]:
        return "off in this chat"
    if not memory["healthy"]:
        return "not working"
    return "working" if memory["facts"] is None else f"working, {memory['facts']} facts"


def _commit(context: Context) -> Answer:
    turns = context.memory.commit(context.session_id)
    memory = context.ops.status(context.session_id)["memory"]
    if turns:
        text = f"Memory is told {turns} turns."
    elif memory["uncounted_turns"]:
        text = f"Nothing waits. {memory['uncounted_turns']} turns do not count; /memory learn includes them."
    else:
        text = "Memory was told all of this."
    return Answer(text, {"turns": turns})


def _learn(context: Context) -> Answer:
    turns = context.memory.learn(context.session_id)
    return Answer(f"Memory learns from {turns} more turns.", {"turns": turns})


def _off(context: Context) -> Answer:
    context.ops.keep_from_memory(context.session_id, True)
    return Answer("Memory is off in this chat: nothing is recalled and nothing is learned.", {"off": True})


def _on(context: Context) -> Answer:
    context.ops.keep_from_memory(context.session_id, False)
    return Answer("Memory is on in this chat.", {"off": False})


def _forget(context: Context, text: str) -> Answer:
    if not text:
        raise InvalidRequest("Say what to forget: /memory forget and words of it.")
    facts = context.memory.forget(text)
    lines = ["Forgotten:", *(f"- {fact.text}" for fact in facts)]
    data = {"forgotten": [fact.id for fact in facts]}
    return Answer("\n".join(lines) if facts else "Nothing is known of this.", data)


_ACTIONS = {"status": _status, "commit": _commit, "learn": _learn, "off": _off, "on": _on}

COMMAND = Command(
    "memory",
    "Show or steer what is remembered.",
    _run,
    "[status | commit | learn | off | on | forget <text>]",
)
