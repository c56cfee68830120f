"""Every lock and every thread of the process is made here."""

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout

from api.errors import TalariaError, Unavailable

log = logging.getLogger(__name__)

LOCK_WAIT_S = 5.0
# What waits longer waits for good: a flag refuses some longer times, and those without an end.
LONGEST_WAIT_S = 1e6


def new_lock() -> threading.Lock:
    """A lock for the private state of one object, never held while waiting for anything else."""
    return threading.Lock()


def new_condition() -> threading.Condition:
    """A condition for one object whose listeners wait for news."""
    return threading.Condition(threading.Lock())


def new_flag() -> threading.Event:
    """A flag that a thread can wait for."""
    return threading.Event()


def new_slots(count: int) -> threading.BoundedSemaphore:
    """`count` places; taking one without waiting says whether one was free."""
    return threading.BoundedSemaphore(count)


@dataclass
class _Entry:
    """The lock of one key and how many threads hold it or wait for it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    users: int = 0


class KeyedLocks:
    """One lock a key, in this process and across processes.

    A thread holds keys by one `hold` at a time, so no order between locks exists that could be wrong.
    Lock files stay where they are while a server runs: an unlinked lock would let a second holder in.
    """

    def __init__(self, folder: Path, wait_s: float = LOCK_WAIT_S) -> None:
        self._folder = folder
        self._wait_s = wait_s
        self._guard = threading.Lock()
        self._entries: dict[str, _Entry] = {}
        self._held = threading.local()

    @contextmanager
    def hold(self, *keys: str) -> Iterator[None]:
        """Hold all `keys`. Raises `Unavailable` after a bounded wait, `RuntimeError` inside another hold."""
        wanted = sorted(set(keys))
        already = getattr(self._held, "keys", None)
        if already:
            raise RuntimeError(f"this thread holds {already} and asked for {wanted}")
        with ExitStack() as stack:
            for key in wanted:
                stack.enter_context(self._hold_one(key))
            self._held.keys = wanted
            stack.callback(self._forget_held)
            yield

    def _forget_held(self) -> None:
        self._held.keys = None

    @contextmanager
    def _hold_one(self, key: str) -> Iterator[None]:
        entry = self._enter(key)
        try:
            if not entry.lock.acquire(timeout=self._wait_s):
                raise Unavailable("This chat is being changed. Try again in a moment.", retry_after_s=1)
            try:
                with self._file_lock(key):
                    yield
            finally:
                entry.lock.release()
        finally:
            self._leave(key, entry)

    @contextmanager
    def _file_lock(self, key: str) -> Iterator[None]:
        lock = FileLock(self._folder / f"{key}.lock", timeout=self._wait_s)
        try:
            lock.acquire()
        except Timeout:
            raise Unavailable("Another process is changing this chat. Try again.", retry_after_s=1) from None
        except OSError as exc:
            raise Unavailable(f"The state folder cannot be locked: {exc.strerror}.", retry_after_s=5) from exc
        try:
            yield
        finally:
            lock.release()

    def _enter(self, key: str) -> _Entry:
        with self._guard:
            entry = self._entries.setdefault(key, _Entry())
            entry.users += 1
            return entry

    def _leave(self, key: str, entry: _Entry) -> None:
        with self._guard:
            entry.users -= 1
            if entry.users == 0:
                del self._entries[key]


class FileClaim:
    """The claim of one process on something named by a file, free again when that process ends in any way."""

    def __init__(self, path: Path) -> None:
        # Not bound to a thread: shutdown may give back what a worker took.
        self._lock = FileLock(path, thread_local=False)

    def acquire(self) -> bool:
        """Take it; False when another process has it. Raises `OSError` where no file can be made."""
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            return False
        return True

    def release(self) -> None:
        self._lock.release()


class ServerLock(FileClaim):
    """The claim of one server on its state folder."""


class Workers:
    """The threads of the process. All of them are daemons and are waited for at the end."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._threads: set[threading.Thread] = set()
        self.stopping = threading.Event()

    def spawn(self, name: str, work: Callable[[], object]) -> threading.Thread:
        """Run `work` in a thread of its own; what it raises is logged and ends only that thread."""
        thread = threading.Thread(target=self._run, args=(name, work), name=name, daemon=True)
        # In one step: `stop` can wait only for a started thread, and none leaves before it is listed.
        with self._guard:
            thread.start()
            self._threads.add(thread)
        return thread

    def _run(self, name: str, work: Callable[[], object]) -> None:
        try:
            self.attempt(name, work)
        finally:
            with self._guard:
                self._threads.discard(threading.current_thread())

    def attempt(self, name: str, work: Callable[[], object]) -> None:
        """Run `work` here; what it raises is logged."""
        try:
            work()
        except TalariaError as exc:
            log.warning("thread %s: %s", name, exc)
        except BaseException:
            log.exception("thread %s: an error ended its work", name)

    def every(self, name: str, seconds: float, step: Callable[[], object]) -> None:
        """Call `step` again and again until the end; a step that raises is logged and the next one runs."""

        def loop() -> None:
            while not self.stopping.wait(seconds):
                self.attempt(name, step)

        self.spawn(name, loop)

    def stop(self, join_s: float) -> list[str]:
        """Tell the loops to end and wait for all threads together; the names of those that did not end."""
        self.stopping.set()
        with self._guard:
            threads = [thread for thread in self._threads if thread is not threading.current_thread()]
        for thread in threads:
            thread.join(join_s / max(1, len(threads)))
        return [thread.name for thread in threads if thread.is_alive()]


class Crew:
    """At most `size` threads that do one piece of work after the other, and end when none is left.

    A piece that takes longer than `patience_s` hangs; while all of them hang, nothing more is taken.
    """

    def __init__(
        self,
        workers: Workers,
        name: str,
        size: int,
        patience_s: float,
        monotonic: Callable[[], float],
        waiting_limit: int = 64,
    ) -> None:
        self._workers = workers
        self._name = name
        self._size = size
        self._patience_s = patience_s
        self._monotonic = monotonic
        self._waiting_limit = waiting_limit
        self._lock = threading.Lock()
        self._waiting: deque[Callable[[], object]] = deque()
        self._since: dict[object, float] = {}

    @property
    def is_stuck(self) -> bool:
        """Whether every thread hangs."""
        with self._lock:
            return self._is_stuck()

    def _is_stuck(self) -> bool:
        late = self._monotonic() - self._patience_s
        return len(self._since) == self._size and all(since <= late for since in self._since.values())

    def submit(self, work: Callable[[], object], waiting_limit: int | None = None) -> bool:
        """Do `work` soon; False where all threads hang, too much waits, or no thread can be had."""
        limit = self._waiting_limit if waiting_limit is None else waiting_limit
        with self._lock:
            if self._is_stuck() or len(self._waiting) >= limit:
                return False
            self._waiting.append(work)
            if len(self._since) == self._size:
                return True
            member = object()
            self._since[member] = self._monotonic()
        try:
            self._workers.spawn(self._name, lambda: self._work(member))
        except RuntimeError as exc:
            log.error("no thread for %s: %s", self._name, exc)
            with self._lock:
                del self._since[member]
                if work in self._waiting:
                    self._waiting.remove(work)
                    return False
        return True

    def _work(self, member: object) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    del self._since[member]
                    return
                work = self._waiting.popleft()
                self._since[member] = self._monotonic()
            self._workers.attempt(self._name, work)
