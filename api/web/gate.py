"""Who may ask at all: host, origin, token and kind of body are checked before any view."""

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from flask import Response, redirect, request
from werkzeug.wrappers import Response as BaseResponse

from api.auth.access import Admission, Auth
from api.errors import (
    Forbidden,
    InvalidRequest,
    TooLarge,
    Unauthorized,
    UnknownHost,
    UnsupportedMediaType,
)
from api.sessions.blobs import UPLOAD_LIMIT
from api.settings import LOOPBACK_HOSTS, LOOPBACK_NAMES, Settings

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


@dataclass(frozen=True, slots=True)
class Reach:
    """Who reaches this server: other machines by its addresses, a reverse proxy in front."""

    takes_addresses: bool = False
    is_proxied: bool = False


LOOPBACK = Reach()


def reach_of(settings: Settings) -> Reach:
    return Reach(settings.host not in LOOPBACK_HOSTS, settings.behind_tls)


class Gate:
    """The checks of one server. `port` is known once the server is bound."""

    def __init__(self, auth: Auth, allowed_names: Sequence[str], reach: Reach = LOOPBACK) -> None:
        self._auth = auth
        self._names = frozenset(allowed_names)
        self._reach = reach
        self.port = 0

    def check(self) -> BaseResponse | None:
        """Raise the first refusal that fits: host, origin, token, address, method, then the body."""
        self._check_host()
        if request.method in _SAFE and not request.environ.get("PATH_INFO"):
            # A base path without its last slash: the page would look for its parts one level too high.
            return redirect(f"{request.script_root}/")
        if request.method not in _SAFE:
            self._check_origin()
        if request.endpoint not in PUBLIC:
            self._check_token()
        if request.routing_exception is not None:
            raise request.routing_exception
        if request.method not in _SAFE and request.method != "OPTIONS":
            self._check_body()
        return None

    def add_headers(self, response: Response) -> Response:
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        response.headers.setdefault("Cache-Control", "no-store")
        return response

    def _check_host(self) -> None:
        # waitress joins doubled headers with a comma, which no allowed name has. What a proxy forwards
        # does not replace the Host: a page of another site can forge the one, never the other.
        if not (self.knows(request.environ.get("HTTP_HOST", "")) and self.knows(self._shown_host())):
            raise UnknownHost()

    def _shown_host(self) -> str:
        """The host that the browser shows: what the proxy in front says, where there is one."""
        host = str(request.environ.get("HTTP_HOST", ""))
        return request.headers.get("X-Forwarded-Host", host) if self._reach.is_proxied else host

    def knows(self, host: str) -> bool:
        """Whether `host`, as a Host header has it, names this server."""
        host = host.lower()
        name, _, port = host.rpartition(":")
        if host in self._names or (port.isdigit() and name in self._names):
            return True
        if not name or not port.isdigit():
            name, port = host, "80"
        if port != str(self.port):
            return False
        return name in LOOPBACK_NAMES or (self._reach.takes_addresses and _is_address(name))

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
        if parts.scheme not in ("http", "https") or parts.netloc.lower() != self._shown_host().lower():
            raise Forbidden()

    def has_token(self) -> bool:
        """Whether the request carries the access token, or that of a login."""
        return self._auth.accepts(bearer())

    def admission(self) -> Admission:
        """Whether what this request opens may stay open."""
        return self._auth.admission(self._token())

    def _check_token(self) -> None:
        if not self._auth.accepts(self._token()):
            raise Unauthorized()

    def _token(self) -> str:
        """The token of the request: its own, else the one that its ticket stands for."""
        ticket = request.args.get("ticket") if request.method in _SAFE else None
        if bearer() or not ticket:
            return bearer()
        # Behind a prefix an address has two paths: that of the API, and the one that a browser asks for.
        paths = (request.path, f"{request.script_root}{request.path}")
        return next(filter(None, (self._auth.token_of(ticket, path) for path in paths)), "")

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
        try:
            _ = request.form
        except UnicodeDecodeError as exc:
            raise InvalidRequest("The name of the file is not in UTF-8. Send it under another name.") from exc
        except ValueError as exc:
            raise InvalidRequest("The form cannot be read. Send the file as multipart/form-data.") from exc


def bearer() -> str:
    """The token that the request carries; empty without one."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _is_address(name: str) -> bool:
    """Whether a host is an IP address: nobody else's name can be made to lead to one."""
    try:
        address = ip_address(name[1:-1] if name.startswith("[") and name.endswith("]") else name)
    except ValueError:
        return False
    return not address.is_unspecified and (address.version == 4) != name.startswith("[")
