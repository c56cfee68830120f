"""The backends of this process, by name."""

from collections.abc import Mapping

from api.agents.base import Agent, AgentInfo
from api.errors import InvalidRequest


class AgentPool:
    """Finds the backend of a session; `default` answers where a session names none."""

    def __init__(self, agents: Mapping[str, Agent], default: str) -> None:
        self._agents = dict(agents)
        self.default = default

    def get(self, name: str | None) -> Agent:
        """The backend called `name`. Raises `InvalidRequest` for a name that nobody has."""
        try:
            return self._agents[name or self.default]
        except KeyError:
            known = ", ".join(sorted(self._agents))
            raise InvalidRequest(f"There is no agent {name!r}. Choose one of: {known}.") from None

    def infos(self) -> list[AgentInfo]:
        return [agent.info() for agent in self._agents.values()]

    def close(self) -> None:
        for agent in self._agents.values():
            agent.close()
