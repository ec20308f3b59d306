"""The service: one process that owns the ledger and opens it to everybody, until it is told to end.

HTTP and the unix socket are one app on two sockets; the lines of the MCP relay come in on a third. The ledger
is closed last, when every request that was taken has its answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import uvicorn

import minutebook
from minutebook.model.errors import MinutebookError
from minutebook.operations.plain import to_plain
from minutebook.service import Service
from minutebook.settings import Settings
from minutebook.surfaces.asking import Doorkeeper
from minutebook.surfaces.http.app import build_app
from minutebook.surfaces.http.connection import connection_class
from minutebook.surfaces.http.exchange import CONNECTION
from minutebook.surfaces.light.places import Places
from minutebook.surfaces.mcp import mcp_app, serve_stdio
from minutebook.surfaces.observing.accounts import Accounts, open_accounts
from minutebook.surfaces.observing.logs import stderr_if_terminal
from minutebook.surfaces.reach import Reach
from minutebook.surfaces.running.backroom import Backroom
from minutebook.surfaces.running.listening import Doors, open_doors
from minutebook.surfaces.running.parts import Parts
from minutebook.surfaces.running.standing import Running

#: Seconds for requests that were taken to be answered, once the service is to end.
GRACE = 25.0
#: Seconds between two looks at whether it is still wanted.
WATCH = 1.0
#: Seconds that an HTTP connection may rest between two requests.
_KEEP_ALIVE = 30
_LINUX_PR_SET_PDEATHSIG = 1

log = logging.getLogger("minutebook.serve")


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How a service was asked to run."""

    settings: Settings
    places: Places
    environ: Mapping[str, str]
    background: bool = False
    #: end when this process ends, which started us
    parent: int | None = None
    #: called once, when everybody can connect
    ready: Callable[[Running], None]


def serve(terms: Terms, lock: int, parts: Parts) -> None:
    """Own the ledger and serve it. `lock` is a handle that holds the service's lock."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        # Until the doors are open there is nobody to finish with.
        signal.signal(number, _leave)
    if terms.parent is not None:
        _end_with_parent(terms.parent)
    since = parts.clock()
    accounts = open_accounts(
        terms.environ,
        version=minutebook.__version__,
        since=since,
        level=terms.settings.log_level,
        log_file=terms.places.log,
        terminal=None if terms.background else stderr_if_terminal(),
        stdio=terms.background,
    )
    try:
        service = parts.open_service(terms.settings, accounts.presence)
        backroom = Backroom(lambda: parts.open_engine(terms.settings, service), accounts.attendance)
        try:
            _open_house(replace(terms, ready=backroom.after(terms.ready)), lock, service, accounts, since)
        finally:
            backroom.close()
            service.close()
        log.info("ended")
    finally:
        accounts.close()


def _open_house(terms: Terms, lock: int, service: Service, accounts: Accounts, since: str) -> None:
    """Open the doors, and close them again when all is over."""
    places = terms.places
    doors = open_doors(terms.settings, places)
    try:
        running = Running(
            pid=os.getpid(),
            version=minutebook.__version__,
            since=since,
            ledger=service.database.facts().where,
            url=doors.url,
            socket=places.socket,
            mcp_socket=places.mcp_socket,
            log=places.log,
            background=terms.background,
        )
        accounts.attendance.addresses = (running.url, running.socket)
        reach = Reach(
            service=service,
            doorkeeper=Doorkeeper(service, uid=os.getuid()),
            settings=replace(terms.settings, port=doors.port.getsockname()[1]),
            since=since,
            observer=accounts.observer,
        )
        house = House(reach, doors, running, terms, lock)
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(house.live())
    finally:
        doors.close()
        if _still_there(places.lock, lock):
            places.clear()


def _leave(number: int, _: Any) -> None:
    sys.exit(0)


def write_facts(places: Places, running: Running) -> None:
    """Say where the service is, for those who do not want to ask it."""
    staged = places.facts + ".new"
    handle = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(handle, "w", encoding="utf-8") as file:
        json.dump(to_plain(running), file, indent=1)
    os.replace(staged, places.facts)


class House:
    """The running service: its doors, who is at them, and whether it is still wanted."""

    def __init__(self, reach: Reach, doors: Doors, running: Running, terms: Terms, lock: int) -> None:
        self.reach = reach
        self.running = running
        self._doors = doors
        self._terms = terms
        self._lock = lock
        app = build_app(reach, mounts={"/mcp": mcp_app(reach)})
        self._server = _Server(_config(Front(app, self), reach), self._started)
        #: the open connections of relays, each with what ends its input
        self._relays: dict[asyncio.Task[None], asyncio.StreamReader] = {}
        self._ending = asyncio.Event()

    async def live(self) -> None:
        """Serve until a signal, or until nobody wants it any more."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._signalled, signal.Signals(number).name)
        # A terminal that is closed ends what was started in it.
        loop.add_signal_handler(signal.SIGHUP, self._signalled, "SIGHUP")
        relays = await asyncio.start_unix_server(
            self._relay, sock=self._doors.lines, limit=self.reach.settings.body_bytes
        )
        watching = loop.create_task(self._watch())
        try:
            await self._server.serve(sockets=[self._doors.http, self._doors.port])
        finally:
            self._end("the server ended")
            relays.close()
            await self._let_relays_go()
            watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watching

    @property
    def clients(self) -> int:
        """How many are connected."""
        return len(self._server.server_state.connections) + len(self._relays)

    def standing(self) -> dict[str, Any]:
        """What can be said without the ledger, so that it is said also where the ledger hangs."""
        return {
            "state": "ending" if self._ending.is_set() else "running",
            "home": self._terms.places.home,
            "service": to_plain(self.running),
            "clients": max(0, self.clients - 1),
            "requests": self._server.server_state.total_requests,
            "waiting": self.reach.service.database.pulse().waiting,
        }

    # --- the end ---

    def _started(self) -> None:
        write_facts(self._terms.places, self.running)
        self._terms.ready(self.running)

    def _signalled(self, name: str) -> None:
        if self._ending.is_set():
            log.warning("a second signal: ended at once")
            # What was acknowledged is on the disk; what was not, its caller asks for again.
            os._exit(1)
        self._end(name)

    def _end(self, why: str) -> None:
        if self._ending.is_set():
            return
        log.info("ending: %s", why)
        self._ending.set()
        self._server.end()
        # Those who follow the log have no end of their own.
        self.reach.waking.close()

    async def _watch(self) -> None:
        """End when the home is gone, the parent has ended, or nobody came for long enough."""
        loop = asyncio.get_running_loop()
        longest = self._terms.settings.idle_exit if self._terms.background else 0.0
        pause = min(WATCH, longest / 4) if longest else WATCH
        state = self._server.server_state
        last, requests = loop.time(), 0
        while not self._ending.is_set():
            await asyncio.sleep(pause)
            if not _still_there(self._terms.places.lock, self._lock):
                self._end("the home was moved or deleted")
            elif self._terms.parent not in (None, os.getppid()):
                self._end("the parent process ended")
            elif self.clients or state.total_requests != requests:
                last, requests = loop.time(), state.total_requests
            elif longest and loop.time() - last >= longest:
                self._end(f"nobody asked for {longest:g} seconds")

    # --- the relays of MCP over stdio ---

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._relays[task] = reader
        try:
            await serve_stdio(self.reach, reader, writer)
        except* ConnectionError:  # from whichever of the conversation's tasks met it
            pass  # the relay went away; there is nobody to tell
        finally:
            del self._relays[task]
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _let_relays_go(self) -> None:
        """Each relay's input ends here; what it asked for is answered first."""
        for reader in self._relays.values():
            reader.feed_eof()
        tasks = list(self._relays)
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=GRACE)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)


class _Server(uvicorn.Server):
    """uvicorn's server, but that signals are ours and nothing is looked at ten times a second."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._told = started
        self._end = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:  # type: ignore[override]
        yield

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self._told()

    async def main_loop(self) -> None:
        # Each tenth tick brings the date header up to date.
        while not await self.on_tick(0):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._end.wait(), 1.0)

    def end(self) -> None:
        self.should_exit = True
        self._end.set()


class Front:
    """Before the app: what the service says of itself on the unix socket, also while the ledger hangs."""

    def __init__(self, app: Any, house: House) -> None:
        self._app = app
        self._house = house

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["path"] == "/service" and self._may_know(scope):
            body = json.dumps(self._house.standing()).encode()
            headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": body})
        else:
            await self._app(scope, receive, send)

    def _may_know(self, scope: Any) -> bool:
        peer = scope[CONNECTION].peer
        return peer is not None and peer.uid == os.getuid()


def _config(app: Any, reach: Reach) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=connection_class(reach),
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=int(GRACE),
    )


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    try:
        import uvloop
    except ImportError:  # there is none for this system
        return asyncio.new_event_loop
    return uvloop.new_event_loop


def _still_there(path: str, handle: int) -> bool:
    """Whether the path still names the file that the handle has open."""
    try:
        named = os.stat(path)
    except OSError:
        return False
    held = os.fstat(handle)
    return (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino)


def _end_with_parent(parent: int) -> None:
    """Have the kernel tell us when the parent ends; where it cannot, the watch sees it within a second."""
    if sys.platform != "linux":
        return
    import ctypes

    ctypes.CDLL(None, use_errno=True).prctl(_LINUX_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        raise MinutebookError("no_service", "The parent process ended before the service began.")
