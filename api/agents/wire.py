"""An HTTP transport whose connections another thread can cut at any moment."""

import contextlib
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import httpcore2
import httpx2

from api.concurrency import new_lock

MAX_CONNECTIONS = 64
KEEPALIVE_S = 60.0


class Line:
    """What one call uses of the network: the connection it reads from, and how long it waits for a byte."""

    def __init__(self, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self._lock = new_lock()
        self._connection: _Connection | None = None
        self._is_cut = False

    def cut(self) -> None:
        """End the call now: a blocked read of it wakes up, and a connection made later is cut at once."""
        with self._lock:
            self._is_cut = True
            if self._connection is not None:
                self._connection.shut_down()

    def release(self) -> None:
        """The call is over; its connection may serve others and is no longer cut."""
        with self._lock:
            self._connection = None

    def take(self, connection: "_Connection") -> None:
        with self._lock:
            self._connection = connection
            if self._is_cut:
                connection.shut_down()


# Set only while a request is sent and its headers are awaited: a pool says nowhere else which of its
# connections it chose, and a server may send headers only with the first token.
_sending: ContextVar[Line | None] = ContextVar("sending", default=None)


@contextmanager
def sending_on(line: Line) -> Iterator[None]:
    """Requests that this thread sends inside run on `line`."""
    token = _sending.set(line)
    try:
        yield
    finally:
        _sending.reset(token)


class LineTransport(httpx2.BaseTransport):
    """HTTP/1.1 over a pool of connections that know the line they serve."""

    def __init__(self, proxy: str | None = None) -> None:
        options: dict[str, Any] = {
            "ssl_context": httpx2.create_ssl_context(),
            "max_connections": MAX_CONNECTIONS,
            "keepalive_expiry": KEEPALIVE_S,
            "network_backend": _Backend(),
        }
        self._pool = (
            httpcore2.HTTPProxy(**_proxy_options(proxy), **options)
            if proxy
            else httpcore2.ConnectionPool(**options)
        )

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        url = request.url
        assert isinstance(request.stream, httpx2.SyncByteStream)
        raw = httpcore2.Request(
            method=request.method,
            url=httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        with _httpx2_errors():
            response = self._pool.handle_request(raw)
        return httpx2.Response(
            status_code=response.status,
            headers=response.headers,
            stream=_Body(response),
            extensions=response.extensions,
        )

    def close(self) -> None:
        self._pool.close()


class _Body(httpx2.SyncByteStream):
    def __init__(self, response: httpcore2.Response) -> None:
        self._response = response

    def __iter__(self) -> Iterator[bytes]:
        with _httpx2_errors():
            yield from self._response.iter_stream()

    def close(self) -> None:
        self._response.close()


class _Backend(httpcore2.NetworkBackend):
    """Opens plain connections and wraps them."""

    def __init__(self) -> None:
        self._plain = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        stream = self._plain.connect_tcp(host, port, timeout, local_address, socket_options)
        return _Connection(stream, stream.get_extra_info("socket").dup())


class _Connection(httpcore2.NetworkStream):
    """A connection that tells the line it serves, and can be shut down from any thread.

    `handle` is a second descriptor of the socket: closing a socket does not wake a thread that reads
    from it, shutting down does, and the first descriptor moves when TLS takes the socket over.
    """

    def __init__(self, stream: httpcore2.NetworkStream, handle: socket.socket) -> None:
        self._stream = stream
        self._handle = handle
        self._line: Line | None = None

    def shut_down(self) -> None:
        # A connection that the other side has ended, or that is closed here, has nothing to wake.
        with contextlib.suppress(OSError):
            self._handle.shutdown(socket.SHUT_RDWR)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, timeout if self._line is None else self._line.timeout_s)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._join()
        self._stream.write(buffer, timeout)

    def close(self) -> None:
        self._stream.close()
        self._handle.close()

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        self._join()
        with contextlib.ExitStack() as undo:
            undo.callback(self._handle.close)
            self._stream = self._stream.start_tls(ssl_context, server_hostname, timeout)
            undo.pop_all()
        return self

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)

    def _join(self) -> None:
        """Serve the line of the request that this thread is sending; each request begins with a write."""
        line = _sending.get()
        if line is not None:
            self._line = line
            line.take(self)


@contextmanager
def _httpx2_errors() -> Iterator[None]:
    """Errors of the pool under the names of the client, which are the same."""
    try:
        yield
    except (
        httpcore2.TimeoutException,
        httpcore2.NetworkError,
        httpcore2.ProtocolError,
        httpcore2.ProxyError,
        httpcore2.UnsupportedProtocol,
    ) as exc:
        raise getattr(httpx2, type(exc).__name__)(str(exc)) from exc


def _proxy_options(address: str) -> dict[str, Any]:
    proxy = httpx2.Proxy(address)
    url = proxy.url
    return {
        "proxy_url": httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=b"/"),
        "proxy_auth": proxy.raw_auth,
    }
