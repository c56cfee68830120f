"""Keeps what memory knows in step with the lines of sessions, and forgets deleted ones on request."""

import logging
from contextlib import suppress
from functools import partial

from api.clock import Clock
from api.concurrency import Crew, new_lock
from api.errors import NotFound, TalariaError
from api.memory.base import MemoryProvider
from api.sessions import segments
from api.sessions.outlook import RETRY_S
from api.sessions.store import SessionStore, Trashed

log = logging.getLogger(__name__)


class Reconciler:
    """Withdraws and brings back in the background; what fails is tried again by a later step.

    What is left to do stands in the session files: turns that memory was told and that are off the line, and
    the wish of a deleted session to be forgotten.
    """

    def __init__(self, store: SessionStore, provider: MemoryProvider, calls: Crew, clock: Clock) -> None:
        self._store = store
        self._provider = provider
        self._calls = calls
        self._clock = clock
        self._lock = new_lock()
        self._under_way: set[str] = set()
        self._to_forget: set[str] = set()
        self._again_from = 0.0

    @property
    def may_try(self) -> bool:
        """Whether the last failure is long enough ago."""
        with self._lock:
            return self._clock.monotonic() >= self._again_from

    def soon(self, session_id: str) -> None:
        """Bring memory in step with the line of a session."""
        if self._take(session_id) and not self._calls.submit(partial(self._reconcile, session_id)):
            self._give_back(session_id)

    def forget(self, session_id: str) -> None:
        """Withdraw what was learned in a session that lies in the trash with the wish to be forgotten."""
        is_ours = self._take(session_id)
        if is_ours and self._calls.submit(partial(self._forget, session_id)):
            return
        if is_ours:
            self._give_back(session_id)
        self._forget_later(session_id)

    def recover(self) -> None:
        """After a start: look through the trash for wishes that were not done."""
        self._calls.submit(self._find_wishes)

    def step(self) -> None:
        """Try again what has failed."""
        if self.may_try:
            with self._lock:
                left, self._to_forget = self._to_forget, set()
            for session_id in left:
                self.forget(session_id)

    def _take(self, session_id: str) -> bool:
        """Whether a session is ours alone now: calls for one session never overlap."""
        with self._lock:
            is_free = session_id not in self._under_way
            self._under_way.add(session_id)
            return is_free

    def _give_back(self, session_id: str) -> None:
        with self._lock:
            self._under_way.discard(session_id)

    def _reconcile(self, session_id: str) -> None:
        is_done = False
        try:
            with suppress(NotFound):
                self._bring_in_step(session_id)
            is_done = True
        except TalariaError as exc:
            log.warning("memory is not in step with %s yet: %s", session_id, exc)
        finally:
            self._end(session_id, is_done)

    def _bring_in_step(self, session_id: str) -> None:
        """What the calls shall do is noted before them, and what they have done after them."""
        with self._store.edit(session_id) as session:
            away, back = segments.begin_moves(session)
            words = segments.to_erase(session)
        if away:
            self._provider.on_turns_undone(session_id, away)
        if back:
            self._provider.on_turns_restored(session_id, back)
        for message_id in words:
            self._provider.on_message_erased(session_id, message_id)
        if away or back or words:
            with self._store.edit(session_id) as session:
                segments.note_moved(session, away, back)
                segments.note_erased(session, words)

    def _end(self, session_id: str, is_done: bool) -> None:
        """Let the session go; what was asked meanwhile, or has moved again, is done next."""
        with self._lock:
            self._under_way.discard(session_id)
            if not is_done:
                self._again_from = self._clock.monotonic() + RETRY_S
                return
            is_asked = session_id in self._to_forget
            self._to_forget.discard(session_id)
        if is_asked:
            self.forget(session_id)
            return
        with suppress(TalariaError):
            if segments.is_out_of_step(self._store.load(session_id)):
                self.soon(session_id)

    def _find_wishes(self) -> None:
        for entry in self._store.trashed():
            with suppress(TalariaError):
                if segments.has_wish(self._store.load_trashed(entry)):
                    self.forget(entry.session_id)

    def _forget(self, session_id: str) -> None:
        is_done = False
        try:
            for entry in self._store.trashed(session_id):
                # One that has come back meanwhile is brought in step there.
                with suppress(NotFound):
                    self._forget_one(entry)
            is_done = True
        except TalariaError as exc:
            log.warning("memory has not forgotten %s yet: %s", session_id, exc)
        finally:
            if not is_done:
                self._forget_later(session_id)
            self._end(session_id, is_done)

    def _forget_later(self, session_id: str) -> None:
        with self._lock:
            self._to_forget.add(session_id)

    def _forget_one(self, entry: Trashed) -> None:
        session = self._store.load_trashed(entry)
        turn_ids, words = segments.to_forget(session), segments.to_erase(session)
        if turn_ids:
            self._provider.on_turns_undone(entry.session_id, turn_ids)
        for message_id in words:
            self._provider.on_message_erased(entry.session_id, message_id)
        with self._store.edit_trashed(entry) as session:
            segments.note_forgotten(session, turn_ids)
            segments.note_erased(session, words)
