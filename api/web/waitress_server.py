"""waitress as this project runs it: a thread for each open stream, and an end that closes every socket."""

from typing import Any, cast

import orjson
from flask import Flask
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.server import create_server
from waitress.task import ErrorTask

from api.concurrency import new_flag
from api.errors import InvalidRequest, TalariaError, TooLarge
from api.web.gate import HEADERS

THREADS = 96
CONNECTIONS = 512
BODY_LIMIT = 32 * 1024 * 1024
LOOP_S = 1.0
OUTPUT_HIGH_WATERMARK = 256 * 1024
_KINDS: dict[int, type[TalariaError]] = {413: TooLarge, 431: TooLarge, 500: TalariaError}


class Parser(HTTPRequestParser):
    """Takes every head that cannot be read for a bad request; the library stumbles over some."""

    # Named in the log where a client leaves before its answer, also where no path could be read.
    path = ""

    def parse_header(self, header_plus: bytes) -> None:
        try:
            super().parse_header(header_plus)
        except ValueError as exc:
            raise ParsingError("The address of the request cannot be read.") from exc


class _Refusal(ErrorTask):
    """The answer to what never reached the application, in the form of all others."""

    def execute(self) -> None:
        error = cast("Any", self.request).error
        kind = _KINDS.get(error.code, InvalidRequest)
        reason = f" ({error.body})" if kind is InvalidRequest else ""
        body = orjson.dumps({"error": f"{kind.sentence.rstrip('.')}{reason}.", "code": kind.code})
        self.status = f"{error.code} {error.reason}"
        self.response_headers = [("Content-Type", "application/json"), *HEADERS.items()]
        self.set_close_on_finish()
        self.content_length = len(body)
        self.write(body)


class _Channel(HTTPChannel):
    parser_class = Parser
    error_task_class = _Refusal


class WebServer:
    """A bound port. Raises `OSError` where it cannot be had."""

    def __init__(
        self, app: Flask, host: str, port: int, base_path: str = "/", *, is_proxied: bool = False
    ) -> None:
        server = create_server(
            app,
            host=host,
            port=port,
            threads=THREADS,
            connection_limit=CONNECTIONS,
            channel_request_lookahead=1,
            outbuf_high_watermark=OUTPUT_HIGH_WATERMARK,
            max_request_body_size=BODY_LIMIT,
            ident="Talaria",
            url_prefix=base_path.rstrip("/"),
            # The gate reads the one that counts, and only where a proxy is configured.
            clear_untrusted_proxy_headers=not is_proxied,
        )
        # The stubs know only what every kind of waitress server has.
        self._server = cast("Any", server)
        for part in self._server._map.values():
            # A name such as localhost may stand for several addresses, each with a listener of its own.
            if hasattr(part, "channel_class"):
                part.channel_class = _Channel
        self.port = int(self._server.effective_port)
        self._stopping = new_flag()
        self._has_ended = new_flag()

    def run(self) -> None:
        """Answer requests until `stop`."""
        loop, sockets = self._server.asyncore.loop, self._server._map
        try:
            while not self._stopping.is_set():
                loop(timeout=LOOP_S, map=sockets, use_poll=True, count=1)
        finally:
            self._has_ended.set()

    def stop(self, wait_s: float) -> None:
        """Close the port and every connection; requests under way get `wait_s` to end."""
        self._server.task_dispatcher.shutdown(cancel_pending=True, timeout=wait_s)
        self._stopping.set()
        self._server.pull_trigger()
        self._has_ended.wait(wait_s)
        # Closed here and not by the loop: a pull of a trigger that is closed would hit a stranger's file.
        self._server.asyncore.close_all(self._server._map)
