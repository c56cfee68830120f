"""The tools of memory as one turn offers them to its model."""

from functools import partial
from typing import Any

from api.agents.base import Tool
from api.events import Event
from api.memory.base import Asked, Fact, MemoryTool, Source, told
from api.session_memory import SessionMemory
from api.sessions.content import text_of
from api.sessions.model import Session


class MemoryTools:
    """What memory offers, and what the model has kept by it in this turn."""

    def __init__(self, memory: SessionMemory, session: Session, turn_id: str) -> None:
        self._check_on = partial(memory.check_on, session.session_id)
        typed = [message for message in session.line() if message.is_typed]
        source = Source(session.session_id, turn_id, typed[-1].id if typed else None)
        self._asked = Asked(source, "\n".join(text_of(message.content) for message in typed))
        self._written: list[Fact] = []
        offered = memory.tools(session)
        self.offered = tuple(
            Tool(tool.name, tool.description, tool.parameters, partial(self._run, tool)) for tool in offered
        )

    def _run(self, tool: MemoryTool, arguments: Any) -> str:
        # It may have been switched off since the turn began.
        self._check_on()
        did = tool.run(self._asked, arguments)
        self._written += did.written
        return did.text

    def news(self) -> list[Event]:
        """What readers must hear of the facts that were kept since the last call."""
        written, self._written = self._written, []
        return [told(written=written)] if written else []
