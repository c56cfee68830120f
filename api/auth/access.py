"""Who may ask: the access token, logins, codes that open a browser, and tickets for one address."""

import hmac
import logging
import math
import secrets
from collections import deque
from collections.abc import Callable
from pathlib import Path

from api.auth.logins import Logins
from api.auth.password import Password
from api.clock import Clock
from api.concurrency import new_lock
from api.errors import Damaged, RateLimited, TalariaError, Unauthorized, UsageError
from api.files import create_whole
from api.settings import Settings

log = logging.getLogger(__name__)

CODE_S = 60.0
TICKET_S = 60.0
# How long what a login has opened may outlive its logout.
LOOK_S = 1.0
LOGINS_A_MINUTE = 5
MINUTE_S = 60.0


class Auth:
    """The access token of this server, the password, and what is given out for them.

    `password` finds the one that counts at this moment. Times in monotonic seconds.
    """

    def __init__(
        self, token: str, password: Callable[[], Password | None], logins: Logins, clock: Clock
    ) -> None:
        self._token = token
        self._find = password
        self._logins = logins
        self._clock = clock
        self._lock = new_lock()
        self._codes: dict[str, float] = {}
        self._tickets: dict[str, tuple[str, str, float]] = {}
        self._tries: deque[float] = deque()

    @property
    def token(self) -> str:
        return self._token

    def accepts(self, token: str) -> bool:
        """Whether `token` is the access token, or that of a login."""
        if hmac.compare_digest(token.encode(errors="replace"), self._token.encode()):
            return True
        password = self._current() if token else None
        return password is not None and self._logins.accepts(token, password.key)

    @property
    def has_password(self) -> bool:
        return self._current() is not None

    def _current(self) -> Password | None:
        try:
            return self._find()
        except TalariaError as exc:
            # Who may ask is not known here: what is wrong where is for the log.
            log.warning("%s", exc)
            raise Damaged("The password of this Talaria cannot be read. Set it again where it runs.") from exc

    def log_in(self, text: str) -> str:
        """A token for the password, good until its logout. Raises `Unauthorized`, `RateLimited`."""
        self._count_try()
        password = self._current()
        if password is None:
            raise Unauthorized("No password is set here. Use the access token.")
        if not password.matches(text):
            raise Unauthorized("This is not the password.")
        return self._logins.new(password.key)

    def log_out(self, token: str) -> bool:
        """End the login of this token; False for the access token, which stays."""
        password = self._current()
        return password is not None and self._logins.end(token, password.key)

    def new_code(self) -> str:
        """A code that opens one browser, once and within a minute: it may be seen on a command line."""
        code = secrets.token_urlsafe(24)
        with self._lock:
            self._codes[code] = self._clock.monotonic() + CODE_S
        return code

    def redeem(self, code: str) -> str:
        """The access token for a code. Raises `Unauthorized`, `RateLimited`."""
        self._count_try()
        with self._lock:
            ends = self._codes.pop(code, None)
        if ends is None or ends < self._clock.monotonic():
            raise Unauthorized("This code is used up or too old. Open the printed address instead.")
        return self._token

    def _count_try(self) -> None:
        now = self._clock.monotonic()
        with self._lock:
            while self._tries and self._tries[0] <= now - MINUTE_S:
                self._tries.popleft()
            if len(self._tries) >= LOGINS_A_MINUTE:
                raise RateLimited(retry_after_s=max(1, math.ceil(self._tries[0] + MINUTE_S - now)))
            self._tries.append(now)

    def new_ticket(self, path: str, token: str) -> str:
        """A ticket for GET of one path as by `token`, for what cannot send a header; good for a minute."""
        ticket, now = secrets.token_urlsafe(24), self._clock.monotonic()
        with self._lock:
            self._tickets = {t: entry for t, entry in self._tickets.items() if entry[2] >= now}
            self._tickets[ticket] = (path, token, now + TICKET_S)
        return ticket

    def token_of(self, ticket: str, path: str) -> str:
        """The token that a ticket stands for at `path` now; empty for none."""
        with self._lock:
            known, token, ends = self._tickets.get(ticket, ("", "", 0.0))
        return token if known == path and ends >= self._clock.monotonic() else ""

    def admission(self, token: str) -> "Admission":
        """Tells, for as long as something stays open, whether the token that opened it is good."""
        return Admission(self, token, self._clock)


class Admission:
    """Whether a token that was good still is; looked up once in `LOOK_S` at most, as that reads files."""

    def __init__(self, auth: Auth, token: str, clock: Clock) -> None:
        self._auth = auth
        self._token = token
        self._clock = clock
        self._next = clock.monotonic() + LOOK_S

    def has_ended(self) -> bool:
        now = self._clock.monotonic()
        if now < self._next:
            return False
        self._next = now + LOOK_S
        try:
            return not self._auth.accepts(self._token)
        except TalariaError:
            return True


def access_token(settings: Settings) -> str:
    """The token of the settings, else the one kept in the state folder, made at the first start."""
    return _known_token(settings) or _make(token_path(settings))


def _known_token(settings: Settings) -> str | None:
    """The token that there is without making one. Raises `UsageError` where it cannot be read."""
    if settings.token:
        return _checked(settings.token, "The token")
    path = token_path(settings)
    try:
        return _checked(path.read_text(encoding="utf-8").strip(), str(path))
    except FileNotFoundError:
        if settings.token_file:
            raise UsageError(f"The token file {path} is not there.") from None
        return None
    except (OSError, UnicodeDecodeError) as exc:
        raise UsageError(f"The token file {path} cannot be read ({exc}).") from exc


def token_path(settings: Settings) -> Path:
    """The file that holds the token where the settings do not name the token itself."""
    return settings.token_file or settings.state_dir / "token"


def _make(path: Path) -> str:
    token = secrets.token_urlsafe(32)
    create_whole(path, token.encode())
    return token


def _checked(token: str, place: str) -> str:
    if not token or not token.isascii() or any(c.isspace() for c in token):
        raise UsageError(f"{place} must be a word of ASCII characters without blanks.")
    return token
