"""Where a provider is reached and how patiently: values only, no network."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import urlsplit

from api.errors import AgentError

# Shorter ones protect nothing, and hiding them would blot out common words.
SHORTEST_KEY = 4
SHORTEST_HEADER = 8
HIDDEN = "•••"
# The endpoint that was given by flags, the environment or settings.json.
GIVEN = "default"
EDITED_IN = "Models in the page"
ADD_ONE = "Add one under Models in the page, or start Talaria with --openai-base-url."


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An OpenAI-compatible service. Secrets stay out of its repr; `proxy` is the address of an HTTP proxy."""

    id: str
    name: str
    base_url: str
    model: str | None = None
    api_key: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    context_limit: int | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    vision: bool | None = None
    proxy: str | None = field(default=None, repr=False)

    @property
    def address_in(self) -> str:
        """Where a person corrects the address."""
        return "--openai-base-url" if self.id == GIVEN else EDITED_IN

    @property
    def key_in(self) -> str:
        """Where a person corrects the key."""
        return "TALARIA_OPENAI_API_KEY" if self.id == GIVEN else EDITED_IN

    @property
    def host(self) -> str:
        """Host and port as a person reads them, without user and password."""
        try:
            parts = urlsplit(self.base_url)
            port = f":{parts.port}" if parts.port else ""
            return f"{parts.hostname or self.base_url}{port}"
        except ValueError:
            return "its address"

    @property
    def service(self) -> str:
        """Scheme, host and port of the address: whom the secrets were entered for."""
        parts = urlsplit(self.base_url)
        return f"{parts.scheme}://{parts.netloc.lower()}"

    def without_secrets(self, text: str) -> str:
        """`text` with the API key and the values of the extra headers hidden."""
        key = (self.api_key or "").strip()
        words = [word for value in self.headers.values() for word in value.split()]
        secrets = [key] if len(key) >= SHORTEST_KEY else []
        secrets += [word for word in words if len(word) >= SHORTEST_HEADER]
        for secret in secrets:
            text = text.replace(secret, HIDDEN)
        return text


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long a call may stay without a single byte, in seconds; a keep-alive is a sign of life.

    `ending_s` counts after the finish reason, when only usage and the end mark are awaited.
    """

    connect_s: float = 10.0
    first_token_s: float = 300.0
    silence_s: float = 120.0
    ending_s: float = 10.0
    models_s: float = 5.0


@dataclass(frozen=True, slots=True)
class Tries:
    """How often a call is begun in all, and the pauses between, in seconds."""

    count: int = 3
    pause_s: float = 0.5
    longest_pause_s: float = 8.0

    def pause_after(self, attempt: int, asked_s: float | None) -> float | None:
        """The pause after `attempt` (from 1) failed; None when no further try is worth it."""
        if attempt >= self.count or (asked_s is not None and asked_s > self.longest_pause_s):
            return None
        return (
            asked_s if asked_s is not None else min(self.pause_s * 2 ** (attempt - 1), self.longest_pause_s)
        )


class Endpoints(Protocol):
    """Gives the endpoint of an id, the default one for None. `get` raises `AgentError` for an unknown id."""

    def get(self, endpoint_id: str | None) -> Endpoint: ...

    def all(self) -> Sequence[Endpoint]: ...


class EndpointTable:
    """A fixed set of endpoints; the first is the default."""

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        self._endpoints = tuple(endpoints)

    def get(self, endpoint_id: str | None) -> Endpoint:
        for endpoint in self._endpoints:
            if endpoint_id is None or endpoint.id == endpoint_id:
                return endpoint
        wanted = "" if endpoint_id is None else f" called {endpoint_id}"
        raise AgentError(
            f"No endpoint{wanted} is set up.",
            type="unavailable",
            hint=ADD_ONE,
        )

    def all(self) -> Sequence[Endpoint]:
        return self._endpoints
