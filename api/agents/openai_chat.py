"""The backend for any OpenAI-compatible endpoint."""

from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from api import events
from api.agents.base import AgentInfo, ModelInfo, RunRequest, Stop, Tool
from api.agents.body import BodyDecoder
from api.agents.chunks import Reply
from api.agents.connections import Connections, connection_class
from api.agents.endpoint import ADD_ONE, Endpoint, Endpoints, Timeouts, Tries
from api.agents.provider_errors import BrokenOff, PassingFailure, Silence
from api.agents.refusals import Refusals
from api.agents.tool_runs import called, described
from api.agents.usage import count
from api.concurrency import new_flag
from api.errors import AgentError
from api.events import Event
from api.text import clean_json

if TYPE_CHECKING:
    from api.agents.openai_client import Connection
    from api.agents.wire import Line

ANY_MODEL = "default"
ROUNDS_LIMIT = 8
TOO_MANY_ROUNDS = "The model called tools again and again; the reply ends here."
CONTEXT_FIELDS = ("context_length", "max_model_len", "context_window")


class OpenAIAgent:
    """Answers turns by streaming chat completions; one client per endpoint, kept until `close`."""

    def __init__(
        self,
        endpoints: Endpoints,
        timeouts: Timeouts | None = None,
        tries: Tries | None = None,
        name: str = "openai",
    ) -> None:
        self.name = name
        self._endpoints = endpoints
        self._timeouts = timeouts or Timeouts()
        self._tries = tries or Tries()
        self._connections = Connections(self._timeouts)
        self._refusals = Refusals()

    def prepare(self, is_default: bool) -> None:
        """Load the `openai` library."""
        connection_class()

    def run(self, request: RunRequest, stop: Stop) -> Iterator[Event]:
        """The events of one reply, as `Agent` promises."""
        if stop.requested:
            return
        self._connections.keep_only([endpoint.id for endpoint in self._endpoints.all()])
        with self._connections.use(self._endpoints.get(request.endpoint)) as connection:
            line = connection.new_line()
            stop.on_request(line.cut)
            try:
                body = _body(request, connection.endpoint, _model(request, connection, line))
                yield from self._rounds(connection, body, line, stop, request.tools)
            finally:
                line.release()

    def info(self) -> AgentInfo:
        """What is known without asking the network."""
        endpoints = self._endpoints.all()
        models = tuple(_model_info(endpoint, endpoint.model) for endpoint in endpoints if endpoint.model)
        reason = None if endpoints else f"No endpoint is set up. {ADD_ONE}"
        ids = tuple(endpoint.id for endpoint in endpoints)
        return AgentInfo(self.name, bool(endpoints), reason, models, endpoints=ids, takes_tools=True)

    def close(self) -> None:
        """Close all clients."""
        self._connections.close()

    def _rounds(
        self,
        connection: "Connection",
        body: dict[str, Any],
        line: "Line",
        stop: Stop,
        tools: Sequence[Tool],
    ) -> Iterator[Event]:
        """One answer, and a further one to the results of the tools that it called, while it calls any."""
        # Some models name the calls of every answer alike.
        taken: set[str] = set()
        for _ in range(ROUNDS_LIMIT):
            reply = yield from self._bounded_tries(connection, body, line, stop)
            calls = reply.tool_calls(taken)
            if stop.requested or not calls:
                return
            results = yield from called(reply.text, calls, tools)
            if not tools:
                return
            body = body | {"messages": [*body["messages"], *results]}
        yield events.notice(TOO_MANY_ROUNDS, "warning")

    def _bounded_tries(
        self, connection: "Connection", body: dict[str, Any], line: "Line", stop: Stop
    ) -> Generator[Event, None, Reply]:
        attempt = 0
        while True:
            attempt += 1
            reply = Reply(connection.endpoint)
            sent = self._refusals.without(connection.endpoint.base_url, body)
            try:
                yield from self._whole_reply(connection, sent, line, stop, reply)
                return reply
            except AgentError as error:
                pause_s = self._pause_before_another(attempt, connection.endpoint, sent, error)
                if reply.has_output or pause_s is None:
                    raise
            if _is_stopped_within(pause_s, stop):
                return reply

    def _pause_before_another(
        self, attempt: int, endpoint: Endpoint, sent: dict[str, Any], error: AgentError
    ) -> float | None:
        """For how many seconds to wait before the next try; None where it would not help."""
        if isinstance(error, PassingFailure):
            return self._tries.pause_after(attempt, error.retry_after_s)
        return 0.0 if self._refusals.note(endpoint.base_url, sent, error) else None

    def _whole_reply(
        self, connection: "Connection", body: dict[str, Any], line: "Line", stop: Stop, reply: Reply
    ) -> Iterator[Event]:
        try:
            yield from self._stream(connection, body, line, stop, reply)
            if not stop.requested:
                reply.check_is_whole()
        except AgentError:
            yield from reply.rest()
            if stop.requested:
                return
            yield from reply.usage()
            raise
        yield from reply.rest()
        if not stop.requested:
            yield from reply.notices()
            yield from reply.usage()

    def _stream(
        self, connection: "Connection", body: dict[str, Any], line: "Line", stop: Stop, reply: Reply
    ) -> Iterator[Event]:
        """The events of one answer as its bytes come; it may break off after what makes it whole."""
        decoder = BodyDecoder(connection.endpoint)
        try:
            with connection.answer(body, line) as pieces:
                for piece in pieces:
                    for event, data in decoder.feed(piece):
                        yield from reply.read(event, data)
                        if stop.requested:
                            return
                    if reply.is_done:
                        return
                    line.timeout_s = self._patience(reply)
        except BrokenOff:
            if not reply.has_output and not reply.has_finished:
                raise
        except Silence:
            if not reply.has_finished:
                raise
        for event, data in decoder.finish():
            yield from reply.read(event, data)

    def _patience(self, reply: Reply) -> float:
        if reply.has_finished:
            return self._timeouts.ending_s
        return self._timeouts.silence_s if reply.has_output else self._timeouts.first_token_s


def list_models(endpoint: Endpoint, timeouts: Timeouts | None = None) -> Sequence[ModelInfo]:
    """The models that an endpoint lists. Raises `AgentError` soon where it does not answer."""
    connection = connection_class()(endpoint, timeouts or Timeouts())
    line = connection.new_line()
    try:
        return tuple(_listed_model(endpoint, model) for model in connection.models(line))
    finally:
        line.release()
        connection.close()


def _model(request: RunRequest, connection: "Connection", line: "Line") -> str:
    """The model to ask: the chosen one, else the first that the endpoint lists.

    Where it lists none the call itself tells what is wrong, and a server of one model takes any name.
    """
    chosen = request.model or connection.endpoint.model
    if chosen:
        return chosen
    try:
        listed = connection.models(line)
    except AgentError:
        return ANY_MODEL
    return str(listed[0]["id"]) if listed else ANY_MODEL


def _body(request: RunRequest, endpoint: Endpoint, model: str) -> dict[str, Any]:
    """The request as the provider gets it: only what is set, and no empty list that strict ones refuse."""
    messages = [
        {key: value for key, value in message.items() if key != "tool_calls" or value}
        for message in clean_json(list(request.messages))
    ]
    limits = {"temperature": endpoint.temperature, "max_tokens": endpoint.max_tokens}
    chosen = {key: value for key, value in limits.items() if value is not None}
    body: dict[str, Any] = {"model": model, "messages": messages, **chosen}
    if request.tools:
        body["tools"] = described(request.tools)
    if request.schema:
        shape = {"name": "answer", "schema": dict(request.schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": shape}
    return body


def _is_stopped_within(seconds: float, stop: Stop) -> bool:
    flag = new_flag()
    stop.on_request(flag.set)
    return flag.wait(seconds)


def _model_info(endpoint: Endpoint, model: str) -> ModelInfo:
    return ModelInfo(model, endpoint.id, model, endpoint.context_limit, endpoint.vision)


def _listed_model(endpoint: Endpoint, model: dict[str, Any]) -> ModelInfo:
    told = next((limit for name in CONTEXT_FIELDS if (limit := count(model.get(name)))), None)
    is_default = model["id"] == endpoint.model
    limit = endpoint.context_limit if is_default and endpoint.context_limit else told
    return ModelInfo(model["id"], endpoint.id, model["id"], limit, endpoint.vision if is_default else None)
