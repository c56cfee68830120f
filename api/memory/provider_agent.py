"""The agent of a session for backends without a memory of their own: it commits through the provider."""

from collections.abc import Sequence
from dataclasses import dataclass

from api.memory.base import Ask, CommitResult, Entry, MemoryProvider


@dataclass(frozen=True, slots=True)
class ProviderAgent:
    """Commits what was said in one session; `ask` reaches the model that said it, if that can be asked."""

    session_id: str
    owner: str
    provider: MemoryProvider
    ask: Ask | None

    def commit_memory_session(self, entries: Sequence[Entry], *, batch_id: str) -> CommitResult:
        """Let the provider learn from a batch. Raises `MemoryFailed`, `AgentError`."""
        return self.provider.on_session_end(self.session_id, batch_id, entries, self.ask)

    def close(self) -> None:
        """It holds nothing."""
