"""What every backend offers, and what a turn hands to it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from api.concurrency import new_lock
from api.events import Event


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that the model may call: `parameters` is a JSON Schema.

    `run` takes the decoded arguments and gives the result as text; it raises `ValueError` for arguments
    that it does not understand, and `TalariaError` where it cannot be done now.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    run: Callable[[Any], str]


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One question to a backend: OpenAI-style `messages`, ready to be sent as they are.

    `schema` is the JSON Schema that the answer shall have; a backend that cannot see to it ignores it.
    `known` is what of the system message memory has put there, for one that writes its own.
    """

    session_id: str
    turn_id: str
    messages: Sequence[dict[str, Any]]
    model: str | None = None
    endpoint: str | None = None
    schema: Mapping[str, Any] | None = None
    tools: Sequence[Tool] = ()
    known: str = ""


class Stop:
    """A request to end a run: a flag, and the things to close so that a blocked read wakes up."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._closers: list[Callable[[], None]] = []
        self._requested = False

    @property
    def requested(self) -> bool:
        return self._requested

    def request(self) -> None:
        """Set the flag and run every closer once; later calls do nothing."""
        with self._lock:
            closers = [] if self._requested else self._closers
            self._requested = True
            self._closers = []
        for close in closers:
            close()

    def on_request(self, close: Callable[[], None]) -> None:
        """Run `close` when the stop comes, or now if it has come. It must not block."""
        with self._lock:
            if not self._requested:
                self._closers.append(close)
                return
        close()


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A model that can be chosen; `context_limit` in tokens, None where it is unknown."""

    id: str
    endpoint: str
    label: str
    context_limit: int | None = None
    vision: bool | None = None


@dataclass(frozen=True, slots=True)
class AgentInfo:
    """A backend as the page shows it: whether it can answer now, and if not why not.

    `makes_titles` and `extracts_facts` are False for one that is too weak to name a conversation or to say
    what was learned in it, `takes_tools` is True for one that may be offered tools; `endpoints` are the ids
    that a chat can choose among.
    """

    name: str
    available: bool
    reason: str | None = None
    models: Sequence[ModelInfo] = field(default_factory=tuple)
    makes_titles: bool = True
    extracts_facts: bool = True
    takes_tools: bool = False
    endpoints: Sequence[str] = ()

    def chosen(self, endpoint: str | None, model: str | None) -> ModelInfo | None:
        """The model that answers a chat which has chosen these; None where nothing is known of it."""
        there = [entry for entry in self.models if endpoint in (None, entry.endpoint)]
        if model is None:
            return there[0] if there else None
        return next((entry for entry in there if entry.id == model), None)

    def model(self, endpoint: str | None, model: str | None) -> str | None:
        """The name of that model; None where the endpoint decides."""
        chosen = self.chosen(endpoint, model)
        return model or (chosen.id if chosen else None)

    def context_limit(self, endpoint: str | None, model: str | None) -> int | None:
        """Tokens that it can be sent; None where nobody has said."""
        chosen = self.chosen(endpoint, model)
        return chosen.context_limit if chosen else None

    def vision(self, endpoint: str | None, model: str | None) -> bool | None:
        """Whether it takes images; None where nobody has said."""
        chosen = self.chosen(endpoint, model)
        return chosen.vision if chosen else None


class Agent(Protocol):
    """A backend. `run` yields events until the reply is complete.

    `run` ends normally when the reply is complete or the stop was requested; it raises
    `AgentError` when the backend could not finish, after it has yielded what it received. It yields
    `token`, `reasoning`, `tool`, `tool_complete`, `usage` and `notice` events only.
    """

    name: str

    def prepare(self, is_default: bool) -> None:
        """Load what the first run would wait for; in the background, after the port is open.

        What costs a download or much memory is only for the default agent. It raises nothing.
        """

    def run(self, request: RunRequest, stop: Stop) -> Iterator[Event]: ...

    def info(self) -> AgentInfo: ...

    def close(self) -> None: ...
