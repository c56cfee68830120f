"""waitress as this project runs it: a thread for each open stream, and an end that closes every socket."""

from typing import Any, cast

from flask import Flask
from waitress.server import create_server

THREADS = 96
CONNECTIONS = 512
BODY_LIMIT = 32 * 1024 * 1024
OUTPUT_HIGH_WATERMARK = 256 * 1024


class WebServer:
    """A bound port. Raises `OSError` where it cannot be had."""

    def __init__(self, app: Flask, host: str, port: int) -> None:
        server = create_server(
            app,
            host=host,
            port=port,
            threads=THREADS,
            connection_limit=CONNECTIONS,
            asyncore_use_poll=True,
            channel_request_lookahead=1,
            outbuf_high_watermark=OUTPUT_HIGH_WATERMARK,
            max_request_body_size=BODY_LIMIT,
            ident="Talaria",
            clear_untrusted_proxy_headers=True,
        )
        # The stubs know only what every kind of waitress server has.
        self._server = cast("Any", server)
        self.port = int(self._server.effective_port)

    def run(self) -> None:
        """Answer requests until `stop`."""
        self._server.run()

    def stop(self, wait_s: float) -> None:
        """Close the port and every connection; requests under way get `wait_s` to end."""
        self._server.task_dispatcher.shutdown(cancel_pending=True, timeout=wait_s)
        self._server.trigger.pull_trigger(lambda: self._server.asyncore.close_all(self._server._map))
