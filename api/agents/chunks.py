"""Turns the decoded pieces of one reply into events, and says at its end whether it was whole."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from api import events
from api.agents.body import DONE
from api.agents.endpoint import Endpoint
from api.agents.provider_errors import error_in, failure_from
from api.agents.think import ThinkSplitter
from api.agents.tool_calls import ToolCall, ToolCallAssembler
from api.agents.usage import usage_event
from api.errors import AgentError
from api.events import Event
from api.text import TextJoiner, read_json

REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")
LONGEST_QUOTE = 200
CUT_OFF = "The reply was cut off: the model reached its limit of tokens."
FILTERED = "The provider's content filter ended the reply."


class Reply:
    """One reply of a model while it arrives.

    `is_done` says that the end mark came, `has_finished` that a finish reason came; `text` is what it has
    said so far, its thoughts left out.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self.is_done = False
        self.text = ""
        self._endpoint = endpoint
        self._content = TextJoiner()
        self._thought = TextJoiner()
        self._splitter = ThinkSplitter()
        self._tool_calls = ToolCallAssembler()
        self._usage: Event | None = None
        self._finish_reason = ""
        self._has_output = False
        self._has_started = False

    @property
    def has_output(self) -> bool:
        """Whether any word or tool call of the reply has come."""
        return self._has_output

    @property
    def has_finished(self) -> bool:
        return bool(self._finish_reason)

    def read(self, event: str, data: str) -> Iterator[Event]:
        """The events of one decoded piece. Raises `AgentError` for a failure told in it."""
        text = data.strip()
        if self.is_done or not text:
            return
        if text == DONE:
            self.is_done = True
            return
        self._has_started = True
        chunk = self._decoded(event, text)
        if chunk is not None:
            yield from self._chunk(event, chunk)

    def rest(self) -> Iterator[Event]:
        """The text that waits for more, when nothing more will come."""
        yield from self._pieces(self._thought.finish(), self._content.finish())
        yield from self._said(self._splitter.finish())

    def usage(self) -> Iterator[Event]:
        """The last usage that was told, if any."""
        if self._usage is not None:
            yield self._usage

    def tool_calls(self, taken: set[str] | None = None) -> Sequence[ToolCall]:
        return self._tool_calls.finish(taken)

    def notices(self) -> Iterator[Event]:
        """What the user must know about a reply that ended for a reason of its own."""
        if self._finish_reason == "length":
            yield events.notice(CUT_OFF, "warning")
        elif self._finish_reason == "content_filter":
            yield events.notice(FILTERED, "warning")

    def check_is_whole(self) -> None:
        """Raises `AgentError` for a reply that never came or broke off."""
        if self.has_finished or (self.is_done and self._has_output):
            return
        name = self._endpoint.name
        if self._has_output:
            raise AgentError(
                f"The reply of {name} ended early: the connection closed before the model had finished.",
                hint="Retry. If it happens again, look at the log of the provider.",
            )
        what = "an answer without a reply in it" if self._has_started else "an empty answer"
        raise AgentError(
            f"{name} sent {what}.",
            type="no_response",
            hint="Retry, and check the base URL and the model of this endpoint.",
        )

    def _decoded(self, event: str, text: str) -> dict[str, Any] | None:
        """The object in a piece, None for one that carries nothing for us."""
        try:
            chunk = read_json(text)
        except ValueError:
            if event == "error":
                raise failure_from(self._endpoint, text) from None
            if event != "message":
                return None
            raise self._unreadable(text) from None
        if isinstance(chunk, list):
            chunk = next((item for item in chunk if isinstance(item, dict)), None)
        if event == "error" and not isinstance(chunk, dict):
            raise failure_from(self._endpoint, str(chunk))
        return chunk if isinstance(chunk, dict) else None

    def _unreadable(self, text: str) -> AgentError:
        start = self._endpoint.without_secrets(text)[:LONGEST_QUOTE]
        return AgentError(
            f"{self._endpoint.name} sent something that cannot be read: {start}",
            hint="Retry, and check the base URL of this endpoint.",
        )

    def _chunk(self, event: str, chunk: dict[str, Any]) -> Iterator[Event]:
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        choice = choice if isinstance(choice, dict) else {}
        yield from self._choice(choice)
        usage = chunk.get("usage") or choice.get("usage")
        if usage:
            self._usage = usage_event(usage) or self._usage
        said = error_in(chunk, event) or choice.get("error")
        if said:
            raise failure_from(self._endpoint, said)
        if choice.get("finish_reason") == "error":
            raise failure_from(self._endpoint, "")

    def _choice(self, choice: dict[str, Any]) -> Iterator[Event]:
        delta = choice.get("delta")
        if not delta and not self._has_output:
            # A whole message counts only alone: some repeat the streamed text in one at the end.
            delta = choice.get("message")
            if isinstance(delta, dict):
                self._finish_reason = self._finish_reason or "stop"
        if isinstance(delta, dict):
            yield from self._delta(delta)
        reason = choice.get("finish_reason")
        if reason and isinstance(reason, str):
            self._finish_reason = reason

    def _delta(self, delta: dict[str, Any]) -> Iterator[Event]:
        thought = next((delta[name] for name in REASONING_FIELDS if delta.get(name)), None)
        content = delta.get("content")
        if isinstance(content, list):
            thought, content = _joined(content, "thinking"), _joined(content, "text")
        if not content:
            content = delta.get("refusal")
        if thought and isinstance(thought, str):
            yield from self._pieces(self._thought.feed(thought), "")
        if content and isinstance(content, str):
            yield from self._pieces("", self._content.feed(content))
        calls = delta.get("tool_calls")
        if calls:
            self._has_output = True
            self._tool_calls.add(calls)

    def _pieces(self, thought: str, content: str) -> Iterator[Event]:
        if thought:
            self._has_output = True
            yield events.reasoning(thought)
        if content:
            self._has_output = True
            yield from self._said(self._splitter.feed(content))

    def _said(self, pieces: Iterable[Event]) -> Iterator[Event]:
        for event in pieces:
            if event.type == "token":
                self.text += event.data["text"]
            yield event


def _joined(parts: list[Any], kind: str) -> str:
    """The text of the parts of one kind; a thinking part may hold text parts."""
    texts: list[Any] = []
    for part in parts:
        text = part.get(kind) if isinstance(part, dict) else None
        if isinstance(text, list):
            texts += [inner.get("text") for inner in text if isinstance(inner, dict)]
        else:
            texts.append(text)
    return "".join(text for text in texts if isinstance(text, str))
