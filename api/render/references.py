"""The link definitions of a text, and which of them a block asked for."""

from typing import Any

Target = tuple[str, str]


class References(dict[str, Any]):
    """Where the parser keeps definitions; `asked` notes the labels that were looked up."""

    def __init__(self, known: dict[str, Any] | None = None) -> None:
        super().__init__(known or {})
        self.asked: dict[str, Target | None] = {}

    def get(self, label: str, default: Any = None) -> Any:
        self.asked[label] = self.target(label)
        return super().get(label, default)

    def target(self, label: str) -> Target | None:
        """Where a label leads: address and title."""
        found = super().get(label)
        return (found["href"], found["title"]) if found else None

    def answer(self, asked: dict[str, Target | None]) -> bool:
        """Whether these labels lead where they led when they were asked for."""
        return all(self.target(label) == target for label, target in asked.items())
