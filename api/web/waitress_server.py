"""waitress as this project runs it: a thread for each open stream, and an end that closes every socket."""

from typing import Any, cast

from flask import Flask
from waitress.server import create_server

from api.concurrency import new_flag

THREADS = 96
CONNECTIONS = 512
BODY_LIMIT = 32 * 1024 * 1024
LOOP_S = 1.0
OUTPUT_HIGH_WATERMARK = 256 * 1024


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
