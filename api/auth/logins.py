"""The logins by password: tokens that are good until somebody logs out or the password changes."""

import hashlib
import hmac
import logging
import secrets
from collections.abc import Sequence
from pathlib import Path

import orjson

from api.clock import Clock
from api.concurrency import new_lock
from api.files import write_whole

log = logging.getLogger(__name__)

SCHEMA_VERSION = 1
# Browsers that are never logged out fill the file up; the oldest ones make room.
MOST = 100


class Logins:
    """Keeps a hash of each token, made with the key of the password: another password ends them all."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._lock = new_lock()

    def new(self, key: bytes) -> str:
        """A token for one browser, durable when this returns. Raises `StorageFailed`."""
        token = secrets.token_urlsafe(32)
        login = {"hash": _hash(token, key), "created_at": self._clock.now()}
        with self._lock:
            self._write([*self._read(), login][-MOST:])
        return token

    def accepts(self, token: str, key: bytes) -> bool:
        """Whether `token` is a login that has not ended."""
        wanted = _hash(token, key)
        return any(hmac.compare_digest(str(login.get("hash")), wanted) for login in self._read())

    def end(self, token: str, key: bytes) -> bool:
        """End the login of a token; whether there was one. Raises `StorageFailed`."""
        wanted = _hash(token, key)
        with self._lock:
            logins = self._read()
            left = [login for login in logins if login.get("hash") != wanted]
            if len(left) < len(logins):
                self._write(left)
        return len(left) < len(logins)

    def _read(self) -> list[dict[str, object]]:
        try:
            logins = orjson.loads(self._path.read_bytes())["logins"]
        except FileNotFoundError:
            return []
        except (OSError, ValueError, TypeError, KeyError):
            # Nobody is locked out by it: the password makes new ones.
            log.warning("%s is damaged: everybody has to log in again", self._path)
            return []
        return [login for login in logins if isinstance(login, dict)] if isinstance(logins, list) else []

    def _write(self, logins: Sequence[dict[str, object]]) -> None:
        whole = {"schema_version": SCHEMA_VERSION, "logins": list(logins)}
        write_whole(self._path, orjson.dumps(whole, option=orjson.OPT_APPEND_NEWLINE))


def _hash(token: str, key: bytes) -> str:
    return hmac.new(key, token.encode(errors="replace"), hashlib.sha256).hexdigest()
