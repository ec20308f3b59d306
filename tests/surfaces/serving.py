"""A service that really listens: the app on a unix socket and a port, for tests that ask from outside."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import uvicorn
import uvloop

from minutebook.operations import tokens
from minutebook.settings import Settings
from minutebook.surfaces.asking import Doorkeeper
from minutebook.surfaces.http.app import build_app
from minutebook.surfaces.http.connection import connection_class
from minutebook.surfaces.http.exchange import App
from minutebook.surfaces.reach import Reach
from tests.houses import House


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The code of an error, in the one shape that errors have."""
        assert self.headers["content-type"] == "application/json", self
        said = self.json
        assert set(said) == {"code", "message", "details"}, said
        return said["code"]


class _Server(uvicorn.Server):
    """uvicorn's server, which begins and ends at once."""

    def __init__(self, config: uvicorn.Config, ready: threading.Event) -> None:
        super().__init__(config)
        self._ready = ready
        self._over = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def main_loop(self) -> None:
        self._loop = asyncio.get_running_loop()
        await self.on_tick(0)
        self._ready.set()
        await self._over.wait()

    def end(self) -> None:
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._over.set)


class Served:
    """`with Served(house, tmp_path) as served: served.ask("GET", "/api/inbox")` asks on the socket."""

    def __init__(
        self, house: House, place: Path, *, mounts: Mapping[str, App] | None = None, **settings: Any
    ) -> None:
        self.house = house
        self.settings = Settings(**{"home": house.home, "database_url": house.url, **settings})
        self.path = str(place / "s.sock")
        assert len(self.path) < 100
        self._mounts = mounts

    def __enter__(self) -> Self:
        self.reach = Reach(
            service=self.house.service,
            doorkeeper=Doorkeeper(self.house.service, uid=os.getuid()),
            settings=self.settings,
            since=self.house.clock(),
        )
        self.app = build_app(self.reach, mounts=self._mounts)
        self._sockets = [socket.socket(socket.AF_UNIX), socket.socket()]
        self._sockets[0].bind(self.path)
        self._sockets[1].bind(("127.0.0.1", 0))
        self.port: int = self._sockets[1].getsockname()[1]
        for listening in self._sockets:
            listening.listen(1024)
        config = uvicorn.Config(
            self.app,
            http=connection_class(self.reach),
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=60,
            timeout_graceful_shutdown=10,
        )
        ready = threading.Event()
        self._failed: BaseException | None = None
        self.server = _Server(config, ready)
        self._thread = threading.Thread(target=self._serve, args=(ready,))
        self._thread.start()
        assert ready.wait(20)
        assert self._failed is None, self._failed
        return self

    def _serve(self, ready: threading.Event) -> None:
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(self.server.serve(self._sockets))
        except BaseException as error:  # noqa: BLE001 - told to the test, which waits
            self._failed = error
        finally:
            ready.set()

    def end(self) -> None:
        """End as a service does: followers are told first, and what was taken is answered."""
        self.reach.waking.close()
        self.server.end()
        self._thread.join(30)
        assert not self._thread.is_alive()
        for crew in (self.reach.quick, self.reach.slow):
            crew.close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._thread.is_alive():
            self.end()
        for listening in self._sockets:
            listening.close()
        Path(self.path).unlink(missing_ok=True)

    # Asking.

    def token(self, role: str = "operator", agent: str | None = None, **more: Any) -> str:
        """The secret of a fresh token, made by the operator of the house."""
        return self.house.mother(tokens.create, role=role, agent=agent, **more).secret

    def connect(self, *, tcp: bool = False) -> http.client.HTTPConnection:
        """A connection that is kept for several requests."""
        return _Tcp("127.0.0.1", self.port, timeout=30) if tcp else _Unix(self.path)

    def ask(self, method: str, path: str, body: Any = None, **more: Any) -> Reply:
        """One request on a connection of its own.

        `body` is sent as JSON, or as it is when it is bytes; `token` goes over TCP as a bearer token; `tcp`
        without one goes there bare; `headers` are added, and `project` is the house's unless it is None.
        """
        token, tcp = more.get("token"), more.get("tcp", "token" in more)
        headers = dict(more.get("headers", {}))
        if more.get("project", "") is not None:
            headers.setdefault("Minutebook-Project", more.get("project") or self.house.project)
        if token is not None:
            headers.setdefault("Authorization", f"Bearer {token}")
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            headers.setdefault("Content-Type", "application/json")
        connection = self.connect(tcp=tcp)
        try:
            return exchange(connection, method, path, body, headers)
        finally:
            connection.close()

    def raw(self, *, tcp: bool = True) -> socket.socket:
        """A socket that nothing was said on yet."""
        made = socket.socket() if tcp else socket.socket(socket.AF_UNIX)
        made.settimeout(30)
        made.connect(("127.0.0.1", self.port) if tcp else self.path)
        return made


def exchange(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """One request and its answer, on a connection that stays open."""
    connection.request(method, path, body=body, headers=dict(headers or {}))
    answer = connection.getresponse()
    found = {name.lower(): value for name, value in answer.getheaders()}
    return Reply(answer.status, found, answer.read())


def read_reply(raw: socket.socket) -> Reply:
    """The answer to what was written to a raw socket."""
    answer = http.client.HTTPResponse(raw)
    answer.begin()
    found = {name.lower(): value for name, value in answer.getheaders()}
    return Reply(answer.status, found, answer.read())


class _Tcp(http.client.HTTPConnection):
    pass


class _Unix(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=30)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(30)
        self.sock.connect(self._path)
