"""The password of a user: given at the start, or set once and kept as a hash in the state folder."""

import hmac
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path

import argon2
from argon2.exceptions import InvalidHashError, VerificationError

from api.errors import Damaged, UsageError
from api.files import make_folder, write_whole
from api.settings import PASSWORD_FILE, Settings

SHORTEST = 8


@dataclass(frozen=True, slots=True)
class Password:
    """A password by itself, or by its argon2 hash; `key` changes with it and is not to be shown."""

    key: bytes = field(repr=False)
    is_hash: bool

    def matches(self, text: str) -> bool:
        """Whether `text` is the password; as slow as the hash where it is kept as one."""
        if not self.is_hash:
            return hmac.compare_digest(_normal(text), self.key)
        try:
            return argon2.PasswordHasher().verify(self.key, _normal(text))
        except VerificationError:
            return False


def find_password(settings: Settings) -> Password | None:
    """The password that counts now, None without one. Raises `UsageError`, `Damaged`."""
    if settings.password_file:
        return Password(_normal(_first_line(settings.password_file)), is_hash=False)
    if settings.password:
        return Password(_normal(settings.password), is_hash=False)
    path = settings.state_dir / PASSWORD_FILE
    try:
        kept = path.read_text(encoding="ascii").strip()
        argon2.extract_parameters(kept)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, InvalidHashError) as exc:
        raise Damaged(f"{path} cannot be read. Set the password again: python3 run.py password") from exc
    return Password(kept.encode(), is_hash=True)


def set_password(state_dir: Path, text: str) -> None:
    """Keep the hash of a password. Raises `UsageError` for one that is too short, `StorageFailed`."""
    if len(text) < SHORTEST:
        raise UsageError(f"The password needs at least {SHORTEST} characters. Nothing was changed.")
    hashed = argon2.PasswordHasher().hash(_normal(text))
    write_whole(make_folder(state_dir) / PASSWORD_FILE, hashed.encode() + b"\n")


def remove_password(state_dir: Path) -> bool:
    """Forget the kept password; whether there was one."""
    path = state_dir / PASSWORD_FILE
    was_there = path.exists()
    path.unlink(missing_ok=True)
    return was_there


def _normal(text: str) -> bytes:
    # Keyboards write the same accented letter in two ways.
    return unicodedata.normalize("NFC", text).encode(errors="replace")


def _first_line(path: Path) -> str:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as exc:
        raise UsageError(f"The password file {path} cannot be read ({exc}).") from exc
    if not lines or not lines[0]:
        raise UsageError(f"The password file {path} is empty: its first line is the password.")
    return lines[0]
