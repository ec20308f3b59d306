"""The doors of MCP: `/mcp` of the HTTP app, and the socket that the stdio relay speaks to.

Light to import. The SDK takes half a second and 40 MB, so it is imported by the first client that needs it,
away from the event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from minutebook.model.actors import Origin
from minutebook.model.errors import MinutebookError
from minutebook.model.runs import CURRENT
from minutebook.operations.plain import to_plain
from minutebook.surfaces.asking import Asker, Said
from minutebook.surfaces.http.credentials import asker_of
from minutebook.surfaces.http.exchange import REQUEST, App, Receive, Request, Scope, Send, failure
from minutebook.surfaces.http.peers import peer_of
from minutebook.surfaces.reach import Reach

if TYPE_CHECKING:
    from minutebook.surfaces.mcp import lines, server

#: Where the scope of a request to `/mcp` carries what says who asks: a stream of it may outlive the token.
IDENTIFY = "minutebook.identify"
#: Who comes over the relay's socket and names nobody: what a host starts is an agent, never its user.
UNNAMED = "agent"
#: The first line of a relay: its version, its length, and the seconds for it to come.
_VERSION = 1
_FIRST_BYTES = 64 * 1024
_FIRST_SECONDS = 10.0
#: JSON-RPC's code for an error of the server's own making.
_OUR_ERROR = -32000
#: Seconds for requests under way to be answered when the service ends.
_GRACE = 20.0


def mcp_app(reach: Reach, *, conversation: str = "minutebook.surfaces.mcp.server:Conversation") -> App:
    """`/mcp` as an ASGI application, for `build_app(reach, mounts={"/mcp": mcp_app(reach)})`.

    The conversation is named and not given, because to import it is to import the SDK.
    """
    return _HttpDoor(reach, conversation)


class _HttpDoor:
    """Says who asks, and hands the request to the SDK."""

    def __init__(self, reach: Reach, conversation: str) -> None:
        self._reach = reach
        self._named = conversation
        self._opening: asyncio.Task[Any] | None = None
        self._living: asyncio.Task[None] | None = None
        self._sdk: Any = None
        self._under_way = 0
        self._ending = asyncio.Event()
        self._quiet = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request: Request = scope[REQUEST]
        try:
            asker = await self._reach.quick.do(lambda: asker_of(self._reach.doorkeeper, request))
            manager = await self._manager()
        except MinutebookError as error:
            with self._reach.observer.request("mcp", "guard", None, request.id) as seen:
                seen.failed(error)
                await failure(error).send(send)
            return
        scope[IDENTIFY] = lambda: _in_its_run(asker_of(self._reach.doorkeeper, request))
        scope["user"] = self._sdk.owner(asker)
        # White space around a header's value is not part of it; the SDK compares them as they come.
        scope["headers"] = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        waits = request.method != "GET"  # a stream that is only listened to has no end of its own
        self._under_way += waits
        try:
            await manager.handle_request(scope, receive, send)
        finally:
            self._under_way -= waits
            if not self._under_way:
                self._quiet.set()

    async def _manager(self) -> Any:
        if self._opening is None:
            self._opening = asyncio.get_running_loop().create_task(self._open())
        manager = await asyncio.shield(self._opening)
        if self._ending.is_set():
            raise MinutebookError("no_service", "The service is ending; ask again in a moment.")
        return manager

    async def _open(self) -> Any:
        self._sdk = await asyncio.to_thread(importlib.import_module, "minutebook.surfaces.mcp.over_http")
        module, _, name = self._named.partition(":")
        named = await asyncio.to_thread(importlib.import_module, module)
        conversation = getattr(named, name)(self._reach, _visitor_of)
        manager = self._sdk.session_manager(self._reach, conversation.server())
        ready = asyncio.Event()
        loop = asyncio.get_running_loop()
        self._living = loop.create_task(self._live(manager, ready))
        self._reach.waking.at_close(lambda: loop.call_soon_threadsafe(self._ending.set))
        await ready.wait()
        return manager

    async def _live(self, manager: Any, ready: asyncio.Event) -> None:
        """Keep sessions until the service ends, and then until what was asked is answered."""
        async with manager.run():
            ready.set()
            await self._ending.wait()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_GRACE):
                    while self._under_way:
                        self._quiet.clear()
                        await self._quiet.wait()


def _in_its_run(asker: Asker) -> Asker:
    return replace(asker, run=asker.run or CURRENT)


def _visitor_of(ctx: Any) -> server.Visitor:
    from minutebook.surfaces.mcp.server import Visitor

    scope = ctx.request.scope
    return Visitor(identify=scope[IDENTIFY], local=scope[REQUEST].peer is not None)


# --- the relay's socket ---------------------------------------------------------------------------------


async def serve_stdio(reach: Reach, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Serve one relay of `minutebook mcp`, from its first line to its last answer.

    The first line says who is there, as far as the kernel leaves it open; then come the host's messages.
    """
    feed = _Feed(reader, reach.settings.body_bytes)

    async def send(line: bytes) -> None:
        writer.write(line)
        await writer.drain()

    try:
        said, secret = await _first_line(feed)
        visitor = _Relayed(reach, writer, said, secret)
        await reach.quick.do(visitor.identify)
        sdk: lines.Lines = await asyncio.to_thread(_conversation, reach, visitor, send)
    except MinutebookError as error:
        # Nothing was asked yet, so the error has no id to go with.
        fault = {"code": _OUR_ERROR, "message": error.message, "data": to_plain(error.as_dict())}
        await send(json.dumps({"jsonrpc": "2.0", "id": None, "error": fault}).encode() + b"\n")
        return
    except EOFError:
        return  # whoever it was left without a word
    await sdk.converse(feed.lines())


def _conversation(reach: Reach, visitor: _Relayed, send: Any) -> lines.Lines:
    from minutebook.surfaces.mcp.lines import Lines
    from minutebook.surfaces.mcp.server import Conversation, Visitor

    known = Visitor(identify=visitor.identify, local=True)
    return Lines(Conversation(reach, lambda ctx: known).server(), send)


class _Relayed:
    """Whoever is behind a relay. Looked at anew for each request: a token may be revoked, a role taken away."""

    def __init__(self, reach: Reach, writer: asyncio.StreamWriter, said: Said, secret: str | None) -> None:
        peer = peer_of(writer.get_extra_info("socket"))
        if peer is None:
            raise MinutebookError("foreign_user")
        self._uid = peer.uid
        self._doorkeeper = reach.doorkeeper
        self._secret = secret
        named = said.agent is not None or said.actor is not None or secret is not None
        said = said if named else replace(said, agent=UNNAMED)
        # A host names its run once if ever; an agent that starts one by a tool works in it from then on.
        self._said = replace(said, run=said.run or CURRENT)

    def identify(self) -> Asker:
        if self._secret is None:
            return self._doorkeeper.by_peer(self._uid, self._said, Origin.MCP)
        return self._doorkeeper.by_token(self._secret, self._said, Origin.MCP)


async def _first_line(feed: _Feed) -> tuple[Said, str | None]:
    try:
        async with asyncio.timeout(_FIRST_SECONDS):
            line = await feed.next_line(_FIRST_BYTES)
    except TimeoutError:
        raise MinutebookError("too_slow", "The relay did not say who it is.") from None
    try:
        said = json.loads(line or b"")
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict) or said.get("minutebook") != _VERSION:
        raise MinutebookError(
            "invalid_input",
            "The first line is not that of a relay of this version.",
            hint="restart the host, so that it starts the installed version",
        )
    values = {name: said.get(name) for name in ("agent", "actor", "project", "run", "workspace", "token")}
    for name, value in values.items():
        if value is not None and not isinstance(value, str):
            raise MinutebookError("invalid_input", f"{name} must be a text.")
    secret = values.pop("token")
    return Said(**values), secret


class _Feed:
    """Lines out of a stream, none of them longer than a limit."""

    def __init__(self, reader: asyncio.StreamReader, most: int) -> None:
        self._reader = reader
        self._most = most
        self._rest = bytearray()

    async def next_line(self, most: int | None = None) -> bytes | None:
        """The next line; None for one that was too long and is skipped. EOFError when there is none."""
        longest = self._most if most is None else most
        skipping = False
        searched = 0
        while True:
            end = self._rest.find(b"\n", searched)
            if end >= 0:
                line = bytes(self._rest[:end])
                del self._rest[: end + 1]
                return None if skipping or len(line) > longest else line
            if len(self._rest) > longest:
                skipping = True
                self._rest.clear()
            searched = len(self._rest)
            chunk = await self._reader.read(64 * 1024)
            if not chunk:
                if self._rest or skipping:
                    self._rest.clear()
                raise EOFError
            self._rest += chunk

    async def lines(self) -> AsyncIterator[bytes | None]:
        while True:
            try:
                yield await self.next_line()
            except EOFError:
                return
