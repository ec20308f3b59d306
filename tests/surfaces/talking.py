"""MCP as its clients have it: the SDK's own client in this process, and a service on real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx2
import uvicorn
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from minutebook.model.actors import Origin
from minutebook.operations import tokens
from minutebook.settings import load
from minutebook.surfaces.asking import Asker, Doorkeeper
from minutebook.surfaces.http.app import build_app
from minutebook.surfaces.http.connection import connection_class
from minutebook.surfaces.http.exchange import App
from minutebook.surfaces.mcp import mcp_app, serve_stdio
from minutebook.surfaces.mcp.server import Conversation, Visitor
from minutebook.surfaces.reach import Reach
from tests.houses import House

T = TypeVar("T")
#: How the SDK's client names the two eras: by the handshake of the older, or by asking as the newer does.
ERAS = ("legacy", "auto")
#: Seconds within which an answer must have come.
SOON = 20.0


def reach_of(house: House, **settings: Any) -> Reach:
    return Reach(
        service=house.service,
        doorkeeper=Doorkeeper(house.service, uid=os.getuid()),
        settings=load({}, home=house.home, database_url=house.url, **settings),
        since=house.clock(),
    )


def visitor(house: House, name: str, project: str | None = None) -> Visitor:
    """Somebody of the house, in its project."""

    def identify() -> Asker:
        client = house.as_(name)
        return Asker(actor=client.actor, origin=Origin.MCP, project=project or house.project)

    return Visitor(identify=identify, local=True)


def in_process(house: House, reach: Reach, name: str, era: str, **given: Any) -> Client:
    """The SDK's client, speaking to our server without any transport."""
    who = visitor(house, name)
    return Client(Conversation(reach, lambda ctx: who).server(), mode=era, **given)


def talk(work: Callable[[], Awaitable[T]], seconds: float = SOON) -> T:
    """Run a conversation to its end."""

    async def bounded() -> T:
        async with asyncio.timeout(seconds):
            return await work()

    try:
        return asyncio.run(bounded())
    except BaseExceptionGroup as group:
        # The SDK's task groups wrap what was raised inside them.
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        raise error from None


@dataclass
class Service:
    """A service of this process, on a port of the loopback and on two unix sockets."""

    house: House
    reach: Reach
    url: str
    http_socket: Path
    lines: Path
    #: ends it, and returns when it has ended
    end: Callable[[], None]

    def secret(self, name: str, role: str = "agent", **given: Any) -> tuple[str, str]:
        """A new token of somebody, and its id."""
        made = self.house.mother(tokens.create, role=role, agent=name, **given)
        return made.secret, made.token.id

    @contextlib.asynccontextmanager
    async def client(self, secret: str | None, era: str, **headers: str) -> AsyncIterator[Client]:
        """The SDK's client over HTTP, with a token."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if secret is not None:
            given["Authorization"] = f"Bearer {secret}"
        async with httpx2.AsyncClient(headers=given, timeout=SOON) as http:
            transport = streamable_http_client(f"{self.url}/mcp", http_client=http)
            async with Client(transport, mode=era) as made:
                yield made

    def connect(self) -> socket.socket:
        made = socket.socket(socket.AF_UNIX)
        made.settimeout(SOON)
        made.connect(str(self.lines))
        return made


OURS = "minutebook.surfaces.mcp.server:Conversation"


@contextlib.contextmanager
def serving(
    house: House,
    folder: Path,
    *,
    conversation: str = OURS,
    around: Callable[[App], App] = lambda app: app,
    **settings: Any,
) -> Iterator[Service]:
    """Serve until the block ends, whatever happens in it; `around` is put before the whole app."""
    folder.mkdir(exist_ok=True)
    # With its protocol named, asyncio sends without delay; else each answer in two parts takes 40 ms.
    port = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    port.bind(("127.0.0.1", 0))
    port.listen(256)
    number = port.getsockname()[1]
    reach = reach_of(house, port=number, **settings)
    http, lines = folder / "http.sock", folder / "mcp.sock"
    sockets = {path: _listening(path) for path in (http, lines)}
    ready = threading.Event()
    loops: list[tuple[asyncio.AbstractEventLoop, uvicorn.Server]] = []

    async def live() -> None:
        app = around(build_app(reach, mounts={"/mcp": mcp_app(reach, conversation=conversation)}))
        config = uvicorn.Config(
            app, http=connection_class(reach), ws="none", lifespan="off", log_config=None, access_log=False,
            timeout_graceful_shutdown=5,
        )  # fmt: skip
        server = uvicorn.Server(config)
        server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign, assignment]
        loops.append((asyncio.get_running_loop(), server))
        relayed: dict[asyncio.Task[Any], asyncio.StreamReader] = {}

        async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            relayed[task] = reader
            try:
                await serve_stdio(reach, reader, writer)
            except ConnectionError:
                pass
            finally:
                del relayed[task]
                writer.close()

        listener = await asyncio.start_unix_server(relay, sock=sockets[lines])
        ready.set()
        await server.serve(sockets=[port, sockets[http]])
        listener.close()
        for reader in relayed.values():
            reader.feed_eof()
        if relayed:
            await asyncio.wait(list(relayed), timeout=5)

    thread = threading.Thread(target=lambda: asyncio.run(live()), name="serving")
    thread.start()
    assert ready.wait(SOON)

    def end() -> None:
        loop, server = loops[0]
        server.should_exit = True
        if thread.is_alive():
            loop.call_soon_threadsafe(reach.waking.close)
        thread.join(SOON)
        assert not thread.is_alive(), "the service did not end"

    try:
        yield Service(house, reach, f"http://127.0.0.1:{number}", http, lines, end)
    finally:
        end()


def _listening(path: Path) -> socket.socket:
    made = socket.socket(socket.AF_UNIX)
    made.bind(str(path))
    made.listen(64)
    return made
