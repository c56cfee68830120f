"""No memory: nothing is learned, nothing is recalled."""

from collections.abc import Mapping, Sequence
from typing import NoReturn

from api.errors import InvalidRequest, NotFound
from api.memory.base import USER, Ask, CommitResult, Entry, Fact, Health, MemoryTool, Source

IS_OFF = "Memory is set to none: nothing is kept or recalled. Start Talaria with --memory local for that."


class NoMemory:
    """Stands where a provider would stand."""

    name = "none"
    remembers = False

    def recall(self, query: str, session_id: str, limit: int) -> Sequence[Fact]:
        return ()

    def sync_turn(self, session_id: str, turn_id: str, entries: Sequence[Entry]) -> None:
        pass

    def on_session_end(
        self, session_id: str, batch_id: str, entries: Sequence[Entry], ask: Ask | None
    ) -> CommitResult:
        return CommitResult()

    def on_turns_undone(self, session_id: str, turn_ids: Sequence[str]) -> None:
        pass

    def on_turns_restored(self, session_id: str, turn_ids: Sequence[str]) -> None:
        pass

    def on_message_erased(self, session_id: str, message_id: int) -> None:
        pass

    def tools(self) -> Sequence[MemoryTool]:
        return ()

    def facts(
        self, query: str = "", state: str | None = None, before: str | None = None, limit: int = 50
    ) -> tuple[Sequence[Fact], str | None]:
        return (), None

    def known(self, fact_ids: Sequence[str]) -> Sequence[Fact]:
        return ()

    def learned_in(self, session_id: str) -> Mapping[str, Sequence[str]]:
        return {}

    def add(self, text: str, kind: str, source: Source | None = None, origin: str = USER) -> Fact:
        return _refuse()

    def update(self, fact_id: str, text: str | None, kind: str | None) -> Fact:
        return _unknown()

    def delete(self, fact_id: str) -> Fact:
        return _unknown()

    def restore(self, fact_id: str) -> Fact:
        return _unknown()

    def accept(self, fact_id: str) -> Fact:
        return _unknown()

    def refuse(self, fact_id: str) -> Fact:
        return _unknown()

    def health(self) -> Health:
        return Health(True, IS_OFF, 0)

    def close(self) -> None:
        pass


def _refuse() -> NoReturn:
    raise InvalidRequest(IS_OFF)


def _unknown() -> NoReturn:
    raise NotFound("There is no such fact.")
