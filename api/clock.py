"""Time and ids: wall time is for showing, monotonic time for time-outs."""

import secrets
import time
from datetime import date, datetime


def day_of(time_s: float) -> date:
    """The day of a wall time on this machine."""
    return datetime.fromtimestamp(time_s).date()


class Clock:
    """The system's clocks and its source of fresh ids."""

    def now(self) -> float:
        """Wall time in Unix seconds."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds that never run backwards; differences only."""
        return time.monotonic()

    def new_session_id(self) -> str:
        """A session id in the form of Hermes: `YYYYMMDD_HHMMSS_<6 hex>`, local time."""
        return datetime.fromtimestamp(self.now()).strftime("%Y%m%d_%H%M%S_") + secrets.token_hex(3)

    def new_id(self, length: int = 16) -> str:
        """`length` random hex digits."""
        return secrets.token_hex((length + 1) // 2)[:length]
