"""Parts of a request that some models take and others refuse: learned from what they say."""

import re
from typing import Any

from api.agents.provider_errors import PassingFailure
from api.concurrency import new_lock
from api.errors import AgentError

# How providers speak of each part that a request can do without.
_PARTS = {
    "tools": re.compile(r"\btools?\b|function.?call|auto.?tool", re.IGNORECASE),
    "response_format": re.compile(
        r"response.?format|json.?schema|structured.?output|guided|grammar", re.IGNORECASE
    ),
}
_REFUSES = re.compile(
    r"support|enable|permit|allow|unknown|unrecogni[sz]ed|unexpected|unavailable|not available|invalid"
    r"|not implemented|cannot|failed to parse",
    re.IGNORECASE,
)


class Refusals:
    """What each model of each endpoint has refused, for as long as this process lives."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._refused: set[tuple[str, str, str]] = set()

    def without(self, base_url: str, body: dict[str, Any]) -> dict[str, Any]:
        """A request as its model takes it."""
        with self._lock:
            return {
                name: value
                for name, value in body.items()
                if (base_url, body["model"], name) not in self._refused
            }

    def note(self, base_url: str, sent: dict[str, Any], error: AgentError) -> bool:
        """Learn from an error; whether it was about a part of what was sent, so that asking again helps."""
        if isinstance(error, PassingFailure) or not _REFUSES.search(error.message):
            return False
        parts = [name for name, words in _PARTS.items() if name in sent and words.search(error.message)]
        with self._lock:
            self._refused.update((base_url, sent["model"], name) for name in parts)
        return bool(parts)
