"""MCP as lines of JSON over a stream: one conversation, from its first message to its last answer.

A line that is too long or no message is answered
and skipped; what a client may have under way at once is bounded; nothing that was asked is left unanswered
when the stream ends.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.runner import serve_dual_era_loop
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

#: Requests of one connection that may be under way at once; more are read when an answer is out.
_UNDER_WAY = 64
#: Seconds for what is under way to be answered once the stream has ended.
_DRAIN = 20.0
#: Requests that are answered only when all ends; nobody waits for them then.
_ENDLESS = "subscriptions/listen"

#: Sends one line to the client, and returns when there is room for more.
Send = Callable[[bytes], Awaitable[None]]


class Lines:
    """One client's stream."""

    def __init__(self, server: Server[Any], send: Send) -> None:
        self._server = server
        self._send = send
        #: ids under way, each with its method; as text, because 1 and "1" are two ids
        self._under_way: dict[str, str] = {}
        self._changed = anyio.Event()

    async def converse(self, lines: AsyncIterator[bytes | None]) -> None:
        """Serve until the lines end; None stands for a line that was too long."""
        to_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, from_server = anyio.create_memory_object_stream[SessionMessage](0)

        async def listen() -> None:
            async with to_server:
                async for line in lines:
                    await self._take(line, to_server.send)
                await self._drained()

        async def speak() -> None:
            async with from_server:
                async for message in from_server:
                    self._answered(message.message)
                    text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await self._send(text.encode() + b"\n")

        async with anyio.create_task_group() as both:
            both.start_soon(listen)
            both.start_soon(speak)
            await serve_dual_era_loop(
                self._server,
                incoming,
                outgoing,
                lifespan_state={},
                init_options=self._server.create_initialization_options(),
            )
            both.cancel_scope.cancel()

    async def _take(self, line: bytes | None, pass_on: Callable[[SessionMessage], Awaitable[None]]) -> None:
        if line is None:
            await self._complain(types.INVALID_REQUEST, "The message is longer than the service takes.")
            return
        if not line.strip():
            return
        try:
            message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValidationError as error:
            broken = any(problem["type"] == "json_invalid" for problem in error.errors(include_input=False))
            if broken:
                await self._complain(types.PARSE_ERROR, "The line is not JSON.")
            else:
                await self._complain(types.INVALID_REQUEST, "The line is not a JSON-RPC message.")
            return
        if isinstance(message, types.JSONRPCRequest):
            while len(self._under_way) >= _UNDER_WAY:
                await self._wait()
            self._under_way[json.dumps(message.id)] = message.method
        elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            # What was taken back is never answered.
            self._forget((message.params or {}).get("requestId"))
        await pass_on(SessionMessage(message))

    def _answered(self, message: types.JSONRPCMessage) -> None:
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
            self._forget(message.id)

    def _forget(self, identity: Any) -> None:
        if self._under_way.pop(json.dumps(identity), None) is not None:
            before, self._changed = self._changed, anyio.Event()
            before.set()

    async def _wait(self) -> None:
        await self._changed.wait()

    async def _drained(self) -> None:
        with anyio.move_on_after(_DRAIN):
            while any(method != _ENDLESS for method in self._under_way.values()):
                await self._wait()

    async def _complain(self, code: int, message: str) -> None:
        error = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}
        await self._send(json.dumps(error).encode() + b"\n")
