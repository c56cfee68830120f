"""The backends of this process, by name."""

from collections.abc import Mapping

from api.agents.base import Agent, AgentInfo
from api.errors import InvalidRequest


class AgentPool:
    """Finds the backend of a session; `default` answers where a session names none."""

    def __init__(self, agents: Mapping[str, Agent], default: str) -> None:
        self._agents = dict(agents)
        self.default = default

    def choose_default(self, name: str) -> None:
        """Let `name` answer from now on where a session names none. Raises `InvalidRequest`."""
        self.get(name)
        self.default = name

    def get(self, name: str | None) -> Agent:
        """The backend called `name`. Raises `InvalidRequest` for a name that nobody has."""
        try:
            return self._agents[name or self.default]
        except KeyError:
            known = ", ".join(sorted(self._agents))
            raise InvalidRequest(f"There is no agent {name!r}. Choose one of: {known}.") from None

    def check(self, name: str | None, endpoint: str | None) -> AgentInfo:
        """What is known of the agent. Raises `InvalidRequest` where it or its endpoint is not there."""
        info = self.get(name).info()
        if endpoint is not None and endpoint not in info.endpoints:
            known = ", ".join(info.endpoints) or "none"
            raise InvalidRequest(f"There is no endpoint {endpoint!r}. Known: {known}.")
        return info

    def infos(self) -> list[AgentInfo]:
        return [agent.info() for agent in self._agents.values()]

    def prepare(self) -> None:
        """Let every backend load what its first run would wait for."""
        for name, agent in self._agents.items():
            agent.prepare(is_default=name == self.default)

    def close(self) -> None:
        for agent in self._agents.values():
            agent.close()
