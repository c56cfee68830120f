"""The request that a turn sends: the active line as OpenAI-style messages, nothing internal in it."""

from collections.abc import Sequence
from typing import Any

from api.agents.tool_calls import free_name
from api.clock import day_of
from api.memory.base import Fact
from api.sessions.content import text_of
from api.sessions.model import NOTICE, SUMMARY, Message, Session, TurnRecord, last_summary
from api.turns.attached import ATTACHMENT

NO_REPLY = "(no reply)"
KNOWN_IS = (
    "What the user has said in earlier conversations, with the day; use it where it helps, and where two "
    "statements differ the later one counts:"
)
INTERRUPTED_TOOL = "(interrupted)"
SUMMARY_IS = "Summary of the conversation so far:\n\n"
SUMMARISE = (
    "Sum up the conversation above for yourself, so that it can go on from your summary alone. Keep names, "
    "numbers, decisions, open questions and what the user asked for; leave out what no longer matters. "
    "Write the summary alone, in the language of the conversation."
)
_PART_TYPES = ("text", "image_url", "input_audio", "file")


def request_messages(session: Session, facts: Sequence[Fact] = ()) -> list[dict[str, Any]]:
    """What the model is sent for the line up to the head, the last summary in place of what it covers.

    Recalled `facts` stand before the conversation, apart from what the user has typed.
    """
    messages = [_plain(message) for message in _context(session.line()) if message.kind != NOTICE]
    instructions = [text for text in (session.system_prompt, known(facts)) if text]
    if instructions:
        messages.insert(0, {"role": "system", "content": "\n\n".join(instructions)})
    return _alternating(_with_all_results(messages))


def known(facts: Sequence[Fact]) -> str:
    """What the model is told of recalled facts; nothing where there are none."""
    if not facts:
        return ""
    lines = [f"- {fact.text} ({day_of(fact.created_at).isoformat()})" for fact in facts]
    return "\n".join([KNOWN_IS, *lines])


def summary_messages(session: Session, record: TurnRecord) -> list[dict[str, Any]]:
    """What the model is sent for a summary: the line up to what it shall cover, and what to do with it."""
    line = session.line(record.extra.get("covers"))
    focus = record.extra.get("focus")
    wish = f"{SUMMARISE} Pay special attention to this: {focus}" if focus else SUMMARISE
    messages = [_plain(message) for message in _context(line) if message.kind != NOTICE]
    return _alternating([*_with_all_results(messages), {"role": "user", "content": wish}])


def _context(line: Sequence[Message]) -> list[Message]:
    summary = last_summary(line)
    if summary is None:
        return list(line)
    return [summary] + [m for m in line if m.id > summary.covers and m.kind != SUMMARY]


def _plain(message: Message) -> dict[str, Any]:
    """A message with the fields that a provider knows, and no others."""
    plain: dict[str, Any] = {"role": message.role, "content": _content(message)}
    if message.kind == SUMMARY:
        plain["content"] = SUMMARY_IS + text_of(message.content)
    if message.role == "assistant" and message.extra.get("tool_calls"):
        plain["tool_calls"] = message.extra["tool_calls"]
    if message.role == "tool":
        plain["tool_call_id"] = message.extra.get("tool_call_id") or ""
    return plain


def _content(message: Message) -> Any:
    attachments = message.extra.get("attachments") if message.role == "user" else None
    if not attachments:
        return _words(message)
    words = _words(message)
    parts = words if isinstance(words, list) else [{"type": "text", "text": words}] if words else []
    named = [a for a in attachments if isinstance(a, dict) and isinstance(a.get("id"), str)]
    files = [{"type": ATTACHMENT, "id": a["id"], "filename": str(a.get("filename") or "file")} for a in named]
    return [*parts, *files] or words


def _words(message: Message) -> Any:
    if isinstance(message.content, list) and message.role == "user":
        parts = [part for part in map(_part, message.content) if part is not None]
        if parts:
            return parts
    return text_of(message.content)


def _part(part: Any) -> dict[str, Any] | None:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if not isinstance(part, dict) or part.get("type") not in _PART_TYPES:
        return None
    if part["type"] == "text" and not isinstance(part.get("text"), str):
        return None
    return part


def _with_all_results(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each tool call directly followed by its result; a missing one says so, a stray one is left out.

    Some models name the calls of every answer alike: a result belongs to the last call of its name before
    it, and each call is sent under a name of its own.
    """
    complete: list[dict[str, Any]] = []
    waiting: dict[str, list[dict[str, Any]]] = {}
    taken: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            if results := waiting.get(message["tool_call_id"]):
                results.pop(0)["content"] = message["content"]
            continue
        calls = message.get("tool_calls", ())
        own = [call | {"id": free_name(call["id"], taken)} for call in calls]
        missing = [{"role": "tool", "tool_call_id": call["id"], "content": INTERRUPTED_TOOL} for call in own]
        waiting |= {call["id"]: [] for call in calls}
        for call, result in zip(calls, missing, strict=True):
            waiting[call["id"]].append(result)
        complete += [message | {"tool_calls": own} if own else message, *missing]
    return complete


def _alternating(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """No reply without a word and no two user messages side by side: providers refuse both."""
    fixed: list[dict[str, Any]] = []
    for message in messages:
        if message["role"] == "user" and fixed and fixed[-1]["role"] == "user":
            fixed.append({"role": "assistant", "content": NO_REPLY})
        if message["role"] == "assistant" and not message["content"] and not message.get("tool_calls"):
            message = message | {"content": NO_REPLY}
        fixed.append(message)
    return fixed
