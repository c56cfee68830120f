"""A running turn as a value: what it has said so far, and the messages that this becomes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson

from api.events import Event
from api.sessions.usage import COUNTS


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call; `result` is None while it runs. `duration` in seconds."""

    tid: str
    name: str
    args: Any
    result: str | None = None
    duration: float | None = None
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Round:
    """One answer of the model: its words, and the tools it called after them."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True)
class Turn:
    """What a turn has said so far. `apply` takes one event and gives the turn after it."""

    session_id: str
    turn_id: str
    rounds: tuple[Round, ...] = (Round(),)
    usage: Mapping[str, Any] | None = None
    notices: tuple[str, ...] = ()
    recalled: tuple[str, ...] = ()
    has_remembered: bool = False

    @property
    def stream_id(self) -> str:
        return f"{self.session_id}.{self.turn_id}"

    @property
    def text(self) -> str:
        return "".join(entry.text for entry in self.rounds)

    @property
    def reasoning(self) -> str:
        return "".join(entry.reasoning for entry in self.rounds)

    @property
    def calls(self) -> list[Call]:
        return [call for entry in self.rounds for call in entry.calls]

    @property
    def is_empty(self) -> bool:
        return self.rounds == (Round(),)

    def apply(self, event: Event) -> "Turn":
        """The turn after `event`; an event that says nothing about the reply changes nothing."""
        data = event.data
        if event.type in ("token", "reasoning"):
            return self._say("text" if event.type == "token" else "reasoning", data["text"])
        if event.type == "tool":
            return self._call(Call(data["tid"], data["name"], data["args"]))
        if event.type == "tool_complete":
            return self._complete(data)
        if event.type == "notice":
            return replace(self, notices=(*self.notices, data["text"]))
        if event.type == "memory":
            facts = [fact["id"] for fact in data["recalled"]]
            has_remembered = self.has_remembered or bool(data["written"])
            return replace(self, recalled=(*self.recalled, *facts), has_remembered=has_remembered)
        if event.type == "usage":
            return replace(self, usage=_added(self.usage, data))
        return self

    def _say(self, part: str, text: str) -> "Turn":
        # Words after a tool call belong to the model's next answer.
        last = self.rounds[-1]
        rounds, last = (self.rounds, Round()) if last.calls else (self.rounds[:-1], last)
        return replace(self, rounds=(*rounds, replace(last, **{part: getattr(last, part) + text})))

    def _call(self, call: Call) -> "Turn":
        last = self.rounds[-1]
        return replace(self, rounds=(*self.rounds[:-1], replace(last, calls=(*last.calls, call))))

    def _complete(self, data: Mapping[str, Any]) -> "Turn":
        def completed(call: Call) -> Call:
            if call.tid != data["tid"]:
                return call
            done = {"result": data["result"], "duration": data["duration"], "is_error": data["is_error"]}
            return replace(call, **done)

        rounds = (replace(entry, calls=tuple(map(completed, entry.calls))) for entry in self.rounds)
        return replace(self, rounds=tuple(rounds))

    def snapshot(self) -> dict[str, Any]:
        """The turn so far for a reader who missed its events."""
        tools = [{name: getattr(c, name) for name in Call.__dataclass_fields__} for c in self.calls]
        return {"text": self.text, "reasoning": self.reasoning, "tools": tools}

    def messages(self) -> list[tuple[str, Any, dict[str, Any]]]:
        """The reply as messages: role, content and optional fields of each, in order."""
        if self.is_empty:
            return []
        return [message for entry in self.rounds for message in _round_messages(entry)]


def _round_messages(entry: Round) -> Iterable[tuple[str, Any, dict[str, Any]]]:
    extra: dict[str, Any] = {"reasoning": entry.reasoning} if entry.reasoning else {}
    if entry.calls:
        extra["tool_calls"] = [_tool_call(call) for call in entry.calls]
    yield "assistant", entry.text, extra
    for call in entry.calls:
        if call.result is not None:
            details = {"is_error": True} if call.is_error else {}
            yield "tool", call.result, {"tool_call_id": call.tid, "name": call.name, **details}


def _tool_call(call: Call) -> dict[str, Any]:
    arguments = orjson.dumps(call.args if call.args is not None else {}).decode()
    return {"id": call.tid, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _added(before: Mapping[str, Any] | None, data: Mapping[str, Any]) -> dict[str, Any]:
    """The usage of one more model call added to those before; None stays "unknown" until a number comes."""
    total = dict(before or {})
    for name in COUNTS:
        if data.get(name) is not None:
            total[name] = (total.get(name) or 0) + data[name]
        else:
            total.setdefault(name, None)
    # A context is not a sum: the last call says how full it is.
    total["context_tokens"] = data.get("context_tokens", total.get("context_tokens"))
    total.setdefault("cost", data.get("cost"))
    return total
