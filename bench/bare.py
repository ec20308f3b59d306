"""The least that can be served: one Starlette handler that does nothing, with the settings of our own server."""

from __future__ import annotations

import asyncio
import os
import socket
import sys

import uvicorn
import uvloop
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route


def app(size: int) -> Starlette:
    body = b'{"a":"' + b"x" * max(0, size - 8) + b'"}'

    async def nothing(_: Request) -> Response:
        return Response(body, media_type="application/json")

    return Starlette(routes=[Route("/api/memories/{ref}", nothing)])


def main(path: str, size: int) -> None:
    unix = socket.socket(socket.AF_UNIX)
    unix.bind(path)
    port = socket.socket()
    port.bind(("127.0.0.1", 0))
    config = uvicorn.Config(
        app(size),
        http="httptools",
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
    )
    # Whoever started it reads where it listens; the sockets queue what comes before it is ready.
    for listener in (unix, port):
        listener.listen(2048)
    print(port.getsockname()[1], flush=True)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(uvicorn.Server(config).serve(sockets=[unix, port]))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
    os._exit(0)
