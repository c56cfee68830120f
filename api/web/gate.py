"""Who may ask at all: host, origin, token and kind of body are checked before any view."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from flask import Response, request

from api.auth import Auth
from api.errors import (
    Forbidden,
    InvalidRequest,
    TooLarge,
    Unauthorized,
    UnknownHost,
    UnsupportedMediaType,
)
from api.sessions.blobs import UPLOAD_LIMIT
from api.settings import LOOPBACK_NAMES

JSON_LIMIT = 2 * 1024 * 1024
# What a form has beside its file: names, boundaries.
FORM_EXTRA = 64 * 1024
MULTIPART = frozenset({"blobs.upload"})
PUBLIC = frozenset({"page.shell", "page.asset", "auth.login", "auth.status", "system.health"})
_SAFE = ("GET", "HEAD")

_CSP = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "font-src 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types talaria",
    )
)
HEADERS = {
    "Content-Security-Policy": _CSP,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}


class Gate:
    """The checks of one server. `port` is known once the server is bound."""

    def __init__(self, auth: Auth, allowed_names: Sequence[str]) -> None:
        self._auth = auth
        self._names = frozenset(allowed_names)
        self.port = 0

    def check(self) -> None:
        """Raise the first refusal that fits: host, origin, token, address, method, then the body."""
        self._check_host()
        if request.method not in _SAFE:
            self._check_origin()
        if request.endpoint not in PUBLIC:
            self._check_token()
        if request.routing_exception is not None:
            raise request.routing_exception
        if request.method not in _SAFE and request.method != "OPTIONS":
            self._check_body()

    def add_headers(self, response: Response) -> Response:
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        response.headers.setdefault("Cache-Control", "no-store")
        return response

    def _check_host(self) -> None:
        # waitress joins doubled headers with a comma, which no allowed name has.
        if not self.knows(request.environ.get("HTTP_HOST", "")):
            raise UnknownHost()

    def knows(self, host: str) -> bool:
        """Whether `host`, as a Host header has it, names this server."""
        host = host.lower()
        name, _, port = host.rpartition(":")
        if host in self._names or (port.isdigit() and name in self._names):
            return True
        allowed = {f"{loopback}:{self.port}" for loopback in LOOPBACK_NAMES}
        return host in allowed or (self.port == 80 and host in LOOPBACK_NAMES)

    def _check_origin(self) -> None:
        if request.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none"):
            raise Forbidden()
        origin = request.headers.get("Origin")
        if origin is None:
            return
        try:
            parts = urlsplit(origin)
        except ValueError:
            raise Forbidden() from None
        if (
            parts.scheme not in ("http", "https")
            or parts.netloc.lower() != request.environ["HTTP_HOST"].lower()
        ):
            raise Forbidden()

    def has_token(self) -> bool:
        """Whether the request carries the access token."""
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        return scheme.lower() == "bearer" and self._auth.accepts(token.strip())

    def _check_token(self) -> None:
        if self.has_token():
            return
        ticket = request.args.get("ticket")
        if ticket and request.method in _SAFE and self._auth.admits(ticket, request.path):
            return
        raise Unauthorized()

    def _check_body(self) -> None:
        if request.endpoint in MULTIPART:
            self._check_form()
            return
        if request.mimetype != "application/json":
            raise UnsupportedMediaType()
        if (request.content_length or 0) > JSON_LIMIT:
            raise TooLarge(f"The request is larger than {JSON_LIMIT // 1024 // 1024} MB.")
        if not isinstance(request.get_json(), dict):
            raise InvalidRequest("Send a JSON object.")

    def _check_form(self) -> None:
        if request.mimetype != "multipart/form-data":
            raise UnsupportedMediaType("Send a form with the file, as multipart/form-data.")
        if (request.content_length or 0) > UPLOAD_LIMIT + FORM_EXTRA:
            raise TooLarge(f"The file is larger than {UPLOAD_LIMIT // 1024 // 1024} MB.")
