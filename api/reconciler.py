"""Keeps what memory knows in step with the lines of sessions, and forgets deleted ones on request."""

import logging
from contextlib import suppress
from functools import partial

from api.clock import Clock
from api.concurrency import Crew, new_lock
from api.errors import NotFound, TalariaError
from api.memory.base import MemoryProvider
from api.sessions import segments
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
        with self._lock:
            if session_id in self._under_way:
                return
            self._under_way.add(session_id)
        if not self._calls.submit(partial(self._reconcile, session_id)):
            with self._lock:
                self._under_way.discard(session_id)

    def forget(self, session_id: str) -> None:
        """Withdraw what was learned in a session that lies in the trash with the wish to be forgotten."""
        if not self._calls.submit(partial(self._forget, session_id)):
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

    def _reconcile(self, session_id: str) -> None:
        left: list[str] = []
        returned: list[str] = []
        try:
            session = self._store.load(session_id)
            withdrawn, back = segments.left(session), segments.returned(session)
            if withdrawn:
                self._provider.on_turns_undone(session_id, withdrawn)
            if back:
                self._provider.on_turns_restored(session_id, back)
            left, returned = withdrawn, back
        except TalariaError as exc:
            self._note_failed(session_id, exc)
        finally:
            # From here on a save may ask again: it would see what this one has not.
            with self._lock:
                self._under_way.discard(session_id)
        if left or returned:
            with suppress(NotFound), self._store.edit(session_id) as session:
                segments.note_withdrawn(session, left)
                segments.note_restored(session, returned)

    def _find_wishes(self) -> None:
        for entry in self._store.trashed():
            with suppress(TalariaError):
                if segments.to_forget(self._store.load_trashed(entry)):
                    self.forget(entry.session_id)

    def _forget(self, session_id: str) -> None:
        try:
            for entry in self._store.trashed(session_id):
                self._forget_one(entry)
        except TalariaError as exc:
            self._note_failed(session_id, exc)
            self._forget_later(session_id)

    def _forget_later(self, session_id: str) -> None:
        with self._lock:
            self._to_forget.add(session_id)

    def _forget_one(self, entry: Trashed) -> None:
        turn_ids: list[str] = []
        try:
            turn_ids = segments.to_forget(self._store.load_trashed(entry))
            if turn_ids:
                self._provider.on_turns_undone(entry.session_id, turn_ids)
                with self._store.edit_trashed(entry) as session:
                    segments.note_forgotten(session)
        except NotFound:
            # It came back from the trash meanwhile, or is gone for ever.
            with suppress(NotFound):
                left = segments.left(self._store.load(entry.session_id))
                back = [turn_id for turn_id in turn_ids if turn_id not in left]
                self._provider.on_turns_restored(entry.session_id, back)

    def _note_failed(self, session_id: str, error: TalariaError) -> None:
        log.warning("memory is not in step with %s yet: %s", session_id, error)
        with self._lock:
            self._again_from = self._clock.monotonic() + segments.RETRY_S
