"""The log of events as it grows: server-sent events, for whoever wants to hear of what happens.

A follower is shown what `events list` shows to the same caller, read anew at each step. So who may see less by
now sees less, and a token that was revoked ends the stream.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from minutebook.model.errors import MinutebookError
from minutebook.model.events import Event
from minutebook.model.paging import Page
from minutebook.operations.registry import REGISTRY
from minutebook.surfaces.asking import Asker
from minutebook.surfaces.http import reading
from minutebook.surfaces.http.exchange import CONNECTION, Receive, Request, Scope, Send, json_bytes
from minutebook.surfaces.reach import Reach

PATH = "/api/events/follow"
#: Followers at once.
_FOLLOWERS = 64
#: Events that are read, and sent, at a time.
_BATCH = 200
#: Seconds of silence after which a follower hears that we are still here.
_HEARTBEAT = 15.0
#: Seconds for a follower to take what it is sent.
_PATIENCE = 30.0
#: Milliseconds after which a client that lost us should come back.
_RETRY = 2_000
#: What the query may say; all of it means what it means in `events list`.
PARAMETERS = ("after", "kind", "subject", "actor")

_HEAD = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"x-accel-buffering", b"no")]


@dataclass(slots=True)
class Follower:
    """Somebody who proved who they are, what they want to hear of, and what they are sent first."""

    asker: Asker
    wanted: dict[str, Any]
    page: Page[Event]


class Following:
    """Everybody who follows the log over HTTP."""

    def __init__(self, reach: Reach, *, heartbeat: float = _HEARTBEAT) -> None:
        self._reach = reach
        self._waking = reach.waking
        self._heartbeat = heartbeat
        self._now = 0
        self._list = REGISTRY.get("events.list")
        reach.observer.gauges["followers"] = lambda: self._now

    async def begin(self, request: Request, asker: Asker) -> Follower:
        """A place for one more. Whoever gets one is sent to with `send`."""
        wanted = _wanted(request)
        if self._now >= _FOLLOWERS:
            said = f"The service has {_FOLLOWERS} followers, as many as it takes."
            raise MinutebookError("overloaded", said, retry_after=10)
        self._now += 1
        try:
            if wanted.get("after") is None:
                # Who does not say from where follows from here on.
                newest = await self._read(asker, {"limit": 1})
                wanted["after"] = str(newest.items[0].seq) if newest.items else "0"
            return Follower(asker, wanted, await self._read(asker, _following(wanted)))
        except BaseException:
            self._now -= 1
            raise

    async def send(self, follower: Follower, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the caller goes, may see no more, or the service ends."""
        connection = scope.get(CONNECTION)
        over = asyncio.ensure_future(_over(receive, connection))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": [*_HEAD]})
            if scope["method"] != "HEAD":
                await self._send_all(follower, over, send)
            await send({"type": "http.response.body", "body": b""})
        except TimeoutError:
            if connection is not None:
                connection.transport.abort()  # it takes nothing any more, not even the end
        finally:
            over.cancel()
            self._now -= 1

    async def _send_all(self, follower: Follower, over: asyncio.Future[None], send: Send) -> None:
        await _say(send, b"retry: %d\n\n" % _RETRY)
        while not over.done() and not self._waking.closed:
            count = self._waking.count
            try:
                page = await self._next(follower)
            except MinutebookError as error:
                await _say(send, b"event: error\ndata: " + json_bytes(error.as_dict()) + b"\n\n")
                return
            if page.items:
                await _say(send, _told(page.items))
            elif not await self._sleep(count, over):
                await _say(send, b": still here\n\n")

    async def _next(self, follower: Follower) -> Page[Event]:
        page, follower.page = follower.page, Page(())
        if not page.items:
            page = await self._read(follower.asker, _following(follower.wanted))
        if page.items:
            follower.wanted["after"] = page.next
        return page

    async def _read(self, asker: Asker, arguments: dict[str, Any]) -> Page[Event]:
        return await self._reach.quick.do(
            lambda: self._reach.service.invoke(self._list, arguments, **asker.terms())
        )

    async def _sleep(self, count: int, over: asyncio.Future[None]) -> bool:
        """Wait for a commit after `count`; False when there was none for the time of a heartbeat."""
        waking = asyncio.ensure_future(self._waking.after(count, self._heartbeat))
        try:
            await asyncio.wait((waking, over), return_when=asyncio.FIRST_COMPLETED)
            return over.done() or waking.result() or self._waking.closed
        finally:
            waking.cancel()


def _wanted(request: Request) -> dict[str, Any]:
    given = reading.query_of(request.query)
    for name, values in given.items():
        if name not in PARAMETERS or len(values) > 1:
            known = ", ".join(PARAMETERS)
            raise MinutebookError(
                "invalid_input", f"{name[:40]}: give each of {known} once, and nothing else."
            )
    wanted: dict[str, Any] = {name: values[0] for name, values in given.items()}
    # A client that was cut off goes on from what it saw, whatever address it began with.
    last = reading.header_text(request, b"last-event-id")
    return wanted if last is None else wanted | {"after": last}


def _following(wanted: dict[str, Any]) -> dict[str, Any]:
    return {**wanted, "follow": True, "limit": _BATCH}


async def _over(receive: Receive, connection: Any) -> None:
    """Until the caller hangs up, or the connection is told that all is ending."""
    waits = [asyncio.ensure_future(_hung_up(receive))]
    if connection is not None:
        waits.append(asyncio.ensure_future(connection.ending.wait()))
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()


async def _hung_up(receive: Receive) -> bool:
    while (await receive())["type"] != "http.disconnect":
        pass
    return True


async def _say(send: Send, body: bytes) -> None:
    async with asyncio.timeout(_PATIENCE):
        await send({"type": "http.response.body", "body": body, "more_body": True})


def _told(events: Iterable[Event]) -> bytes:
    """Events in the form of server-sent events; their JSON has no line breaks."""
    return b"".join(
        b"id: %d\nevent: %s\ndata: %s\n\n" % (event.seq, event.kind.encode(), json_bytes(event))
        for event in events
    )
