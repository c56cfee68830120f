"""The models that can answer: those of the agents, and those of servers that listen on this machine."""

from api.agents.base import ModelInfo
from api.agents.local_servers import LocalServer, LocalServers
from api.agents.pool import AgentPool
from api.errors import InvalidRequest


class ModelList:
    """Looks models up by the names that people type."""

    def __init__(self, agents: AgentPool, local: LocalServers) -> None:
        self._agents = agents
        self._local = local

    def known(self) -> list[tuple[str, ModelInfo]]:
        """Every model that is set up, with the agent that it belongs to."""
        return [(info.name, model) for info in self._agents.infos() for model in info.models]

    def on_this_machine(self) -> list[LocalServer]:
        """Servers that answer now; asked each time."""
        return self._local.find()

    def find(self, name: str) -> dict[str, str | None]:
        """What to set in a session for `model` or `endpoint/model`. Raises `InvalidRequest` for no name."""
        endpoint, slash, rest = name.partition("/")
        for info in self._agents.infos():
            if slash and rest and endpoint in info.endpoints:
                return {"agent": info.name, "endpoint": endpoint, "model": rest}
        for agent, model in self.known():
            if name == model.id:
                return {"agent": agent, "endpoint": model.endpoint, "model": name}
        if not name.strip("/"):
            raise InvalidRequest("Name a model, such as /model qwen3:8b.")
        return {"model": name}
