"""Reads a session file, and edits it under its lock."""

import logging
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from api import files
from api.clock import Clock
from api.concurrency import KeyedLocks, new_lock
from api.errors import Conflict, Damaged, InvalidRequest, NotFound, StaleRevision, TalariaError
from api.sessions import codec
from api.sessions.model import Session, is_session_id, is_shorter, seen_by_readers, seen_by_runs

log = logging.getLogger(__name__)

CACHE_BYTES = 16 * 1024 * 1024

Stamp = tuple[int, int, int]
# What was saved: the id, and the session with the stamp of its file, or None for one that is gone.
Observer = Callable[[str, Session | None, Stamp | None], None]


@dataclass(frozen=True, slots=True)
class Trashed:
    """A deleted conversation that can still be restored."""

    session_id: str
    deleted_at: float
    path: Path


class SessionStore:
    """The session files of one state folder. `edit` is the one way to change a session."""

    def __init__(
        self,
        state_dir: Path,
        locks: KeyedLocks,
        clock: Clock,
        *,
        cache_bytes: int = CACHE_BYTES,
        checkpoint: files.Checkpoint = files.no_checkpoint,
    ) -> None:
        self._folder = files.make_folder(state_dir / "sessions")
        self._trash = files.make_folder(state_dir / "trash")
        self._locks = locks
        self._clock = clock
        self._observers: list[Observer] = []
        self._checkpoint = checkpoint
        self._cache = _Cache(cache_bytes)

    def on_saved(self, observer: Observer) -> None:
        """Call `observer` under the session's lock after every change that is on disk; it must not fail."""
        self._observers.append(observer)

    def new_id(self) -> str:
        """An id that no conversation has, in use or in the trash."""
        while True:
            session_id = self._clock.new_session_id()
            if not self.path(session_id).exists() and not self.trashed(session_id):
                return session_id

    def path(self, session_id: str) -> Path:
        """The file of a session. Raises `InvalidRequest` before a path is built from a bad id."""
        if not is_session_id(session_id):
            raise InvalidRequest("This is no session id.")
        return self._folder / f"{session_id}.json"

    def create(self, session: Session) -> Session:
        """Write a new session; its id must be free."""
        session.revision = 1
        try:
            files.create_whole(self.path(session.session_id), codec.encode(session))
        except FileExistsError:
            raise Conflict("A chat with this id exists.") from None
        self._announce_saved(session)
        return session

    def load(self, session_id: str) -> Session:
        """The session as it is on disk, not to be changed. Raises `NotFound`, `Damaged`, `NewerVersion`."""
        path = self.path(session_id)
        try:
            stamp = stamp_of(path)
            cached = self._cache.get(session_id, stamp)
            if cached is not None:
                return cached
            raw = path.read_bytes()
        except FileNotFoundError:
            raise NotFound() from None
        except OSError as exc:
            raise Damaged(f"The file of this chat cannot be read ({exc.strerror}).") from exc
        session = codec.decode(raw)
        if session.session_id != session_id:
            raise NotFound("The file of this chat holds another chat.")
        self._cache.put(session_id, stamp, session, len(raw))
        return session

    @contextmanager
    def edit(self, session_id: str, expected_revision: int | None = None) -> Iterator[Session]:
        """Change a session: loaded inside its lock, saved when the block ends without an error.

        Raises `NotFound`, `Damaged`, `NewerVersion`, `StaleRevision`, `Unavailable`, `StorageFailed`; after
        any of them the file, the cache and the readers are as they were.
        """
        self.path(session_id)
        with self._locks.hold(session_id):
            before = self.load(session_id)
            if expected_revision not in (None, before.revision):
                raise StaleRevision(details={"revision": before.revision})
            session = before.copy()
            yield session
            self._save(before, session)

    @contextmanager
    def remove(self, session_id: str) -> Iterator[Session | None]:
        """Move a session to the trash; the block may settle what runs. None stands for a damaged file."""
        path = self.path(session_id)
        with self._locks.hold(session_id):
            before = self._load_or_none(session_id)
            session = before.copy() if before else None
            yield session
            if before and session:
                self._save(before, session)
            files.move(path, self._trash / f"{int(self._clock.now())}-{session_id}.json")
            self._cache.drop(session_id)
            self._tell(session_id, None, None)

    def _load_or_none(self, session_id: str) -> Session | None:
        try:
            return self.load(session_id)
        except NotFound:
            raise
        except TalariaError:
            return None

    def restore(self, session_id: str) -> Session:
        """Bring a session back from the trash. Raises `NotFound`, `Conflict`, `Damaged`, `NewerVersion`."""
        path = self.path(session_id)
        with self._locks.hold(session_id):
            if path.exists():
                raise Conflict("A chat with this id exists.")
            kept = self.trashed(session_id)
            if not kept:
                raise NotFound()
            session = self.load_trashed(kept[-1])
            files.move(kept[-1].path, path)
            self._announce_saved(session)
            return session

    def trashed(self, session_id: str | None = None) -> list[Trashed]:
        """What lies in the trash, oldest first, of one session or of all."""
        found = []
        for path in self._trash.glob(f"*-{session_id or '*'}.json"):
            seconds, _, name = path.stem.partition("-")
            is_ours = seconds.isascii() and seconds.isdigit() and session_id in (None, name)
            # A folder of such a name is nothing that we have put there.
            if is_ours and not path.is_dir():
                found.append(Trashed(name, float(seconds), path))
        return sorted(found, key=lambda entry: entry.deleted_at)

    def load_trashed(self, entry: Trashed) -> Session:
        """A deleted session, not to be changed. Raises `NotFound`, `Damaged`, `NewerVersion`."""
        try:
            session = codec.decode(entry.path.read_bytes())
        except FileNotFoundError:
            raise NotFound() from None
        except OSError as exc:
            raise Damaged(f"The file of this chat cannot be read ({exc.strerror}).") from exc
        if session.session_id != entry.session_id:
            raise NotFound("The file of this chat holds another chat.")
        return session

    @contextmanager
    def edit_trashed(self, entry: Trashed) -> Iterator[Session]:
        """Change a deleted session where it lies, for an erase. Raises what `edit` raises."""
        with self._locks.hold(entry.session_id):
            before = self.load_trashed(entry)
            session = before.copy()
            yield session
            self._write(entry.path, before, session)

    def purge(
        self,
        *,
        session_id: str | None = None,
        older_than: float | None = None,
        keeps: Callable[[Session], bool] = lambda _session: False,
    ) -> int:
        """Remove deleted sessions for ever: one, those deleted before a time, or all; how many.

        Those that `keeps` wants stay for the next time.
        """
        doomed = [e for e in self.trashed(session_id) if older_than is None or e.deleted_at < older_than]
        return sum(self._purge(entry, keeps) for entry in doomed)

    def _purge(self, entry: Trashed, keeps: Callable[[Session], bool]) -> bool:
        # Without the lock an erase that is under way would put the file back.
        with self._locks.hold(entry.session_id):
            with suppress(TalariaError):
                if keeps(self.load_trashed(entry)):
                    return False
            return _unlink(entry.path)

    def entries(self) -> Iterator[tuple[str, Path]]:
        """Every session file with its id, damaged ones too, in no order."""
        with os.scandir(self._folder) as entries:
            for entry in entries:
                session_id = entry.name.removesuffix(".json")
                if entry.name.endswith(".json") and is_session_id(session_id):
                    yield session_id, Path(entry.path)

    def _save(self, before: Session, session: Session) -> None:
        if self._write(self.path(session.session_id), before, session):
            self._announce_saved(session)

    def _write(self, path: Path, before: Session, session: Session) -> bool:
        """Put a changed session into its file; False where nothing has changed."""
        if session == before:
            return False
        if is_shorter(session, before):
            raise RuntimeError(f"a save of {session.session_id} would lose messages; nothing was written")
        if seen_by_readers(session) != seen_by_readers(before):
            session.revision = before.revision + 1
        if seen_by_runs(session) != seen_by_runs(before):
            session.execution_generation = before.execution_generation + 1
        files.write_whole(path, codec.encode(session), self._checkpoint)
        return True

    def announce(self, session_id: str) -> None:
        """Tell of a session that is as it was while what belongs to it has changed; under its lock."""
        self._tell(session_id, self.load(session_id), stamp_of(self.path(session_id)))

    def _announce_saved(self, session: Session) -> None:
        stamp = stamp_of(self.path(session.session_id))
        self._cache.put(session.session_id, stamp, session, stamp[1])
        self._tell(session.session_id, session, stamp)

    def _tell(self, session_id: str, session: Session | None, stamp: Stamp | None) -> None:
        for observer in self._observers:
            observer(session_id, session, stamp)


def _unlink(path: Path) -> bool:
    """Remove a file; whether it is gone now."""
    try:
        path.unlink(missing_ok=True)
    except OSError as exc:
        log.warning("%s cannot be removed from the trash: %s", path.name, exc.strerror)
        return False
    return True


def stamp_of(path: Path) -> Stamp:
    """What tells one version of a file from another: inode, size, time of change."""
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


class _Cache:
    """Sessions as they were read, bounded by the bytes of their files, least recently used first out."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._lock = new_lock()
        self._entries: OrderedDict[str, tuple[Stamp, Session, int]] = OrderedDict()
        self._bytes = 0

    def get(self, session_id: str, stamp: Stamp) -> Session | None:
        with self._lock:
            entry = self._entries.get(session_id)
            if entry is None or entry[0] != stamp:
                return None
            self._entries.move_to_end(session_id)
            return entry[1]

    def put(self, session_id: str, stamp: Stamp, session: Session, size: int) -> None:
        with self._lock:
            self._discard(session_id)
            self._entries[session_id] = (stamp, session, size)
            self._bytes += size
            while self._bytes > self._limit and len(self._entries) > 1:
                self._discard(next(iter(self._entries)))

    def drop(self, session_id: str) -> None:
        with self._lock:
            self._discard(session_id)

    def _discard(self, session_id: str) -> None:
        entry = self._entries.pop(session_id, None)
        if entry:
            self._bytes -= entry[2]
