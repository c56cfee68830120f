"""The `openai` client of one endpoint: its raw bytes, its time-outs, and its failures in plain words.

Importing this module loads the `openai` library, which takes a third of a second.
"""

import itertools
import math
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import httpx2
import openai

from api.agents.endpoint import Endpoint, Timeouts
from api.agents.provider_errors import BrokenOff, PassingFailure, Silence, failure_from, retry_after
from api.agents.wire import Line, LineTransport, sending_on
from api.errors import AgentError
from api.text import read_json

# After the end mark the rest of the body is read, so that the connection can serve the next call.
DRAIN_S = 0.2
DRAIN_PIECES = 8
WRITE_S = 60.0
# The client refuses to have no key; servers without keys ignore this one.
NO_KEY = "none"


class Connection:
    """One endpoint's client and its pool of connections, kept for all calls."""

    def __init__(self, endpoint: Endpoint, timeouts: Timeouts) -> None:
        self.endpoint = endpoint
        self._timeouts = timeouts
        self._takes_stream_options = True
        _check(endpoint)
        # The read time-out of a call is that of its line.
        timeout = httpx2.Timeout(WRITE_S, connect=timeouts.connect_s)
        http = httpx2.Client(
            transport=LineTransport(endpoint.proxy), timeout=timeout, follow_redirects=True, trust_env=False
        )
        self._client = openai.OpenAI(
            api_key=(endpoint.api_key or "").strip() or NO_KEY,
            admin_api_key="",
            organization="",
            project="",
            base_url=endpoint.base_url,
            default_headers=dict(endpoint.headers),
            timeout=timeout,
            max_retries=0,
            http_client=http,
        )
        # The environment names an organization for OpenAI's own service, no business of other providers.
        self._client.organization = self._client.project = None

    def new_line(self) -> Line:
        return Line(self._timeouts.first_token_s)

    @contextmanager
    def answer(self, body: dict[str, Any], line: Line) -> Iterator[Iterator[bytes]]:
        """The bytes of the answer to `body` as they come.

        Raises `AgentError`: `PassingFailure` where another try may help, `BrokenOff` and `Silence`
        for a connection that ended or fell silent.
        """
        with self._plain_failures(line), self._response(body, line) as response:
            pieces = response.iter_bytes()
            yield pieces
            line.timeout_s = DRAIN_S
            with suppress(httpx2.HTTPError):
                for _ in itertools.islice(pieces, DRAIN_PIECES):
                    pass

    def models(self, line: Line) -> list[dict[str, Any]]:
        """The models that the endpoint lists. Raises `AgentError`."""
        line.timeout_s = self._timeouts.models_s
        with self._plain_failures(line), sending_on(line):
            answer: Any = self._client.models.with_raw_response.list(timeout=self._timeouts.models_s)
        try:
            said = read_json(answer.text)
        except ValueError:
            said = None
        found = said.get("data") if isinstance(said, dict) else said
        if not isinstance(found, list):
            raise failure_from(self.endpoint, "the list of models cannot be read")
        return [model for model in found if isinstance(model, dict) and isinstance(model.get("id"), str)]

    def close(self) -> None:
        self._client.close()

    @contextmanager
    def _response(self, body: dict[str, Any], line: Line) -> Iterator[Any]:
        line.timeout_s = self._timeouts.first_token_s
        try:
            opened = self._send(body, line)
        except (openai.BadRequestError, openai.UnprocessableEntityError) as exc:
            if not self._takes_stream_options or "stream_options" not in exc.response.text:
                raise
            self._takes_stream_options = False
            opened = self._send(body, line)
        try:
            yield opened.http_response
        finally:
            opened.http_response.close()

    def _send(self, body: dict[str, Any], line: Line) -> Any:
        options = {"stream_options": {"include_usage": True}} if self._takes_stream_options else {}
        create: Any = self._client.chat.completions.with_streaming_response.create
        with sending_on(line):
            return create(**body, stream=True, **options).__enter__()

    @contextmanager
    def _plain_failures(self, line: Line) -> Iterator[None]:
        """Failures of the libraries as `AgentError`, without their text as a cause: it may repeat the key."""
        try:
            yield
        except openai.APIStatusError as exc:
            raise self._refusal(exc.response) from None
        except (openai.APIConnectionError, httpx2.HTTPError) as exc:
            raise self._breakage(exc, line) from None

    def _refusal(self, response: Any) -> AgentError:
        """The failure that an error status with its body tells."""
        text = response.text.strip()
        try:
            said = read_json(text)
        except ValueError:
            said = "" if text.startswith("<") else text
        failure = failure_from(self.endpoint, said, response.status_code)
        failure.retry_after_s = retry_after(response.headers.get("retry-after"))
        return failure

    def _breakage(self, exc: BaseException, line: Line) -> AgentError:
        """The failure behind a connection that was not made, broke or fell silent."""
        name, host = self.endpoint.name, self.endpoint.host
        check = f"Check the base URL of this endpoint ({self.endpoint.address_in}) and your network."
        causes = list(_causes(exc))
        if any(isinstance(cause, httpx2.ConnectTimeout) for cause in causes):
            return Silence(f"{host} accepts no connection.", type="unavailable", hint=check)
        if any(isinstance(cause, httpx2.TimeoutException | openai.APITimeoutError) for cause in causes):
            seconds = math.ceil(line.timeout_s)
            hint = "The model may be loading or too slow; retry, or choose a smaller one."
            return Silence(f"{name} sent nothing for {seconds} seconds.", type="unavailable", hint=hint)
        if any(isinstance(cause, socket.gaierror) for cause in causes):
            return self._unavailable(f"The host name {host} cannot be found.")
        if any(isinstance(cause, ssl.SSLError) for cause in causes):
            message = f"No secure connection to {host}: its certificate or protocol is refused."
            return AgentError(message, type="unavailable", hint=check)
        if any(isinstance(cause, httpx2.ConnectError | httpx2.ProxyError) for cause in causes):
            return self._unavailable(f"Nothing answers at {host}.")
        if any(isinstance(cause, httpx2.DecodingError) for cause in causes):
            return AgentError(f"{name} sent compressed data that cannot be unpacked.", hint=check)
        return BrokenOff(
            f"{name} closed the connection before it had answered.",
            type="unavailable",
            hint="Retry. If it happens again, look at the log of the provider.",
        )

    def _unavailable(self, message: str) -> AgentError:
        name, host = self.endpoint.name, self.endpoint.host
        server = f"the server at {host}" if name == host else f"the server of {name} at {host}"
        hint = f"Start {server}, or correct its address ({self.endpoint.address_in})."
        return PassingFailure(message, type="unavailable", hint=hint)


def _check(endpoint: Endpoint) -> None:
    """Raises `AgentError` for an endpoint that no request can be made for."""
    if not endpoint.base_url.startswith(("http://", "https://")):
        raise AgentError(
            f"The base URL of {endpoint.name} must begin with http:// or https://.",
            type="unavailable",
            hint=f"Correct it: {endpoint.address_in}.",
        )
    for value in ((endpoint.api_key or "").strip(), *endpoint.headers, *endpoint.headers.values()):
        if not (value.isascii() and value.isprintable()):
            raise AgentError(
                f"The API key or a header of {endpoint.name} holds characters that cannot be sent.",
                type="auth_mismatch",
                hint=f"Set it again: {endpoint.key_in}.",
            )


def _causes(exc: BaseException | None) -> Iterator[BaseException]:
    while exc is not None:
        yield exc
        exc = exc.__cause__ or exc.__context__
