"""Whole files or none: every file of the state folder is written here."""

import errno
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from api.errors import StorageFailed

TEMPORARY = ".tmp"

Checkpoint = Callable[[str], None]


def no_checkpoint(_point: str) -> None:
    """Where a crash test ends the process; nothing happens here otherwise."""


def write_whole(path: Path, data: bytes, checkpoint: Checkpoint = no_checkpoint) -> None:
    """Replace the file at `path` by `data`, mode 0600, durable on return. Raises `StorageFailed`.

    A reader sees the old file or the new one, and so does the next start after a crash.
    """
    with _storage_errors(path), _temporary(path, data, checkpoint) as temporary:
        os.replace(temporary, path)
        checkpoint("renamed")
        sync_folder(path.parent)


def create_whole(path: Path, data: bytes) -> None:
    """Make the file at `path`, mode 0600, durable on return. Raises `FileExistsError`, `StorageFailed`."""
    with _storage_errors(path), _temporary(path, data, no_checkpoint) as temporary:
        os.link(temporary, path)
        sync_folder(path.parent)


def move(source: Path, target: Path) -> None:
    """Rename a file durably, also into another folder of the same disk. Raises `StorageFailed`."""
    with _storage_errors(source):
        os.rename(source, target)
        sync_folder(target.parent)
        sync_folder(source.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(folder: Path) -> Path:
    """The folder, made with mode 0700 where it is missing. Raises `StorageFailed`."""
    with _storage_errors(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def sweep_temporaries(folder: Path) -> int:
    """Remove what writes that were cut off have left in `folder` and below; how many files that were.

    Only before anything is written: a file on its way looks the same.
    """
    left = list(folder.rglob(f".*{TEMPORARY}"))
    for path in left:
        path.unlink(missing_ok=True)
    return len(left)


@contextmanager
def _temporary(path: Path, data: bytes, checkpoint: Checkpoint) -> Iterator[Path]:
    """A durable file beside `path` with a name of its own; gone afterwards unless it was renamed."""
    temporary = path.parent / f".{path.name}.{secrets.token_hex(6)}{TEMPORARY}"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb", buffering=0) as file:
            half = len(data) // 2 if checkpoint is not no_checkpoint else len(data)
            _write_all(file.fileno(), data[:half])
            checkpoint("half written")
            _write_all(file.fileno(), data[half:])
            os.fsync(file.fileno())
        checkpoint("synced")
        yield temporary
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


@contextmanager
def _storage_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except FileExistsError:
        raise
    except OSError as exc:
        raise StorageFailed(_sentence(path, exc), retry_after_s=5) from exc


def _sentence(path: Path, exc: OSError) -> str:
    if exc.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"The disk is full: nothing was saved. Free some space on the disk of {path.parent}."
    if exc.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"The folder {path.parent} cannot be written. Check its owner and its mode."
    return f"The file {path.name} could not be saved: {exc.strerror or exc}."
