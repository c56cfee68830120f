"""One HTTP request that is over in its time, whatever the server does, and that another thread can cut.

Redirects are not followed, proxies of the environment are not used. Importing this module loads the HTTP
library, which takes a fiftieth of a second.
"""

import contextlib
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpcore2
import httpx2

from api.concurrency import new_lock

LONGEST_BODY = 8_000_000


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server has answered."""

    status: int
    body: bytes


class BoundedHttp:
    """Sends requests, each over a connection of its own."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._lock = new_lock()
        self._open: set[_Line] = set()
        self._is_closed = False

    def send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None, timeout_s: float
    ) -> Answer:
        """The answer to a request. Raises `TimeoutError`, and `ConnectionError` for every other failure."""
        line = _Line(self._monotonic, self._monotonic() + timeout_s)
        context = httpx2.create_ssl_context() if url.startswith("https:") else None
        with self._listed(line), _plain_errors():
            pool = httpcore2.ConnectionPool(ssl_context=context, network_backend=line)
            with pool, pool.stream(method, url, headers=[*headers.items()], content=body) as response:
                return Answer(response.status, _whole(response.iter_stream()))

    def close(self) -> None:
        """Cut every request that is under way, and each later one."""
        with self._lock:
            self._is_closed = True
            lines = list(self._open)
        for line in lines:
            line.cut()

    @contextmanager
    def _listed(self, line: "_Line") -> Iterator[None]:
        with self._lock:
            if self._is_closed:
                raise ConnectionError("closed")
            self._open.add(line)
        try:
            yield
        finally:
            with self._lock:
                self._open.discard(line)


def _whole(pieces: Iterable[bytes]) -> bytes:
    body = b""
    for piece in pieces:
        body += piece
        if len(body) > LONGEST_BODY:
            raise ConnectionError("the answer is too long")
    return body


@contextmanager
def _plain_errors() -> Iterator[None]:
    try:
        yield
    except httpcore2.TimeoutException as exc:
        raise TimeoutError(str(exc)) from exc
    except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.UnsupportedProtocol) as exc:
        raise ConnectionError(str(exc)) from exc


class _Line(httpcore2.NetworkBackend):
    """Opens the connection of one request; nothing on it waits beyond `deadline`."""

    def __init__(self, monotonic: Callable[[], float], deadline: float) -> None:
        self._monotonic = monotonic
        self._deadline = deadline
        self._plain = httpcore2.SyncBackend()
        self._lock = new_lock()
        # A second descriptor: closing a socket does not wake a thread that reads from it, shutting down
        # does, and the first descriptor moves when TLS takes the socket over.
        self._handle: socket.socket | None = None
        self._is_cut = False

    def left(self) -> float:
        """Seconds until the deadline. Raises the time-out when none are left."""
        left = self._deadline - self._monotonic()
        if left <= 0:
            raise httpcore2.ReadTimeout("the deadline has passed")
        return left

    def cut(self) -> None:
        """End the request now."""
        with self._lock:
            self._is_cut = True
            if self._handle is not None:
                # The other side may have ended it.
                with contextlib.suppress(OSError):
                    self._handle.shutdown(socket.SHUT_RDWR)

    def release(self) -> None:
        with self._lock:
            handle, self._handle = self._handle, None
        if handle is not None:
            handle.close()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        # A name may have two addresses, and each gets its time.
        stream = self._plain.connect_tcp(host, port, self.left() / 2, local_address, socket_options)
        with self._lock:
            self._handle = stream.get_extra_info("socket").dup()
        if self._is_cut:
            self.cut()
        return _Stream(stream, self)


class _Stream(httpcore2.NetworkStream):
    """A connection that belongs to one request."""

    def __init__(self, stream: httpcore2.NetworkStream, line: _Line) -> None:
        self._stream = stream
        self._line = line

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._line.left())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._line.left())

    def close(self) -> None:
        self._stream.close()
        self._line.release()

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        with contextlib.ExitStack() as undo:
            undo.callback(self._line.release)
            self._stream = self._stream.start_tls(ssl_context, server_hostname, self._line.left())
            undo.pop_all()
        return self

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
