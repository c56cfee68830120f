"""The work of one turn on its thread: whatever happens in it becomes the outcome of the turn."""

import logging

from api.agents.pool import AgentPool
from api.errors import AgentError, StorageFailed, TalariaError
from api.session_memory import SessionMemory
from api.sessions.model import DONE, STOPPED
from api.sessions.store import SessionStore
from api.turns.attached import Read
from api.turns.live import LiveTurn
from api.turns.settle import Outcome, failure, interrupted
from api.turns.talk import talk

log = logging.getLogger(__name__)


def run(live: LiveTurn, store: SessionStore, agents: AgentPool, read: Read, memory: SessionMemory) -> Outcome:
    """Ask the agent of the session and say how that ended; raises nothing."""
    try:
        session = store.load(live.session_id)
        with memory.at_work(session):
            talk(session, agents.get(session.agent), live, read, memory)
    except AgentError as exc:
        outcome = failure(exc.message, exc.type, exc.hint)
    except StorageFailed as exc:
        outcome = failure(exc.message, "storage")
    except TalariaError as exc:
        outcome = failure(exc.message)
    except BaseException as exc:
        log.exception("turn %s: the agent failed", live.turn.stream_id)
        if isinstance(exc, Exception):
            outcome = failure("The agent failed in an unexpected way; the log has the details.")
        else:
            outcome = interrupted()
    else:
        outcome = Outcome(DONE)
    return Outcome(STOPPED) if live.stop.requested else outcome
