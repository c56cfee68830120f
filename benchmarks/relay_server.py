"""The least that a chat server can do: an endpoint's lines, each parsed and sent on as an event."""

import socket
import sys
import urllib.request
from collections.abc import Iterator

import orjson
from flask import Flask, Response
from waitress import create_server


def relay(base_url: str) -> Iterator[bytes]:
    body = orjson.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": "go"}]})
    headers = {"Content-Type": "application/json"}
    asked = urllib.request.Request(f"{base_url}/chat/completions", body, headers)
    number = 0
    with urllib.request.urlopen(asked) as answer:
        for line in answer:
            if not line.startswith(b"data: {"):
                continue
            choices = orjson.loads(line[6:])["choices"]
            text = choices[0]["delta"].get("content") if choices else None
            if text:
                number += 1
                yield b"id: %d\nevent: token\ndata: %b\n\n" % (number, orjson.dumps({"text": text}))
    yield b"event: done\ndata: {}\n\n"


def main(base_url: str) -> int:
    app = Flask(__name__)

    @app.get("/stream")
    def stream() -> Response:
        return Response(relay(base_url), mimetype="text/event-stream")

    listener = socket.create_server(("127.0.0.1", 0))
    print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}/#token=none", flush=True)
    create_server(app, sockets=[listener], threads=4).run()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
