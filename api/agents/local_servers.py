"""Model servers that listen on this machine: asked on their usual ports, only when somebody wants to know."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from api.agents.endpoint import Endpoint, Timeouts
from api.agents.openai_chat import list_models
from api.concurrency import Workers
from api.errors import TalariaError

# The ports that the documentation of each server names.
USUAL_PORTS: Mapping[str, int] = {"Ollama": 11434, "LM Studio": 1234, "llama.cpp": 8080, "vLLM": 8000}
WAIT_S = 0.3
_PATIENCE = Timeouts(connect_s=WAIT_S, models_s=WAIT_S)


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A server that answered, and what it offers."""

    name: str
    base_url: str
    models: tuple[str, ...]


class LocalServers:
    """Looks for servers on the loopback address, at all ports at once."""

    def __init__(self, workers: Workers, ports: Mapping[str, int] = USUAL_PORTS) -> None:
        self._workers = workers
        self._ports = ports
        self._own_port: int | None = None

    def leave_out(self, own_port: int) -> None:
        """Never ask this port: Talaria itself listens there."""
        self._own_port = own_port

    def find(self) -> list[LocalServer]:
        """Those that list their models within `WAIT_S`, in the order of their names."""
        found: list[LocalServer] = []
        threads = [
            self._workers.spawn(f"look for {name}", self._look(name, port, found))
            for name, port in self._ports.items()
            if port != self._own_port
        ]
        for thread in threads:
            thread.join(4 * WAIT_S)
        return sorted(found, key=lambda server: server.name)

    def _look(self, name: str, port: int, found: list[LocalServer]) -> Callable[[], None]:
        endpoint = Endpoint("local", name, f"http://127.0.0.1:{port}/v1")

        def look() -> None:
            try:
                models = list_models(endpoint, _PATIENCE)
            except TalariaError:
                return
            found.append(LocalServer(name, endpoint.base_url, tuple(model.id for model in models)))

        return look
