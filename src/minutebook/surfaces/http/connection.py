"""One HTTP connection: who is there, how many there may be, how long a request may take to be said.

uvicorn parses HTTP and runs the application. What it leaves open is closed here, before any application
sees the request: heads without end, heads that never end, and more connections than there is room for.
"""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar, cast

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from minutebook.model.errors import MinutebookError
from minutebook.surfaces.http.exchange import CONNECTION, MOST_HEAD, Answer, failure
from minutebook.surfaces.http.peers import Peer, peer_of
from minutebook.surfaces.reach import Reach

#: What the parser takes; a text of a few thousand signs of Chinese in a query is longer.
_MOST_ADDRESS = 65_535


class Connection(HttpToolsProtocol):
    """uvicorn's connection, with limits, and with the peer's credentials where the kernel knows them.

    The application finds it in the scope. Nothing that a client sends gets there, so a caller over TCP is
    never taken for one on the socket.
    """

    #: connections open at once, of each family: a crowd on TCP does not lock out the socket
    most: ClassVar[int] = 1000
    #: seconds for the head of a request to be complete
    head_seconds: ClassVar[float] = 20.0
    crowd: ClassVar[dict[bool, int]]

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.peer: Peer | None = None
        self.url = b""
        #: set when the service is about to end: whoever sends without end stops
        self.ending = asyncio.Event()
        self._counted = False
        self._in_head = False
        self._head = 0  # bytes of a head that came in pieces, but for the first
        self._late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(cast(asyncio.Transport, _Whole(transport)))
        self.peer = peer_of(transport.get_extra_info("socket"))
        if self.crowd[self._local] >= self.most:
            self._refuse(MinutebookError("overloaded", "The service has as many connections as it takes."))
            return
        self._counted = True
        self.crowd[self._local] += 1
        self._watch()

    @property
    def _local(self) -> bool:
        return self.peer is not None

    def connection_lost(self, exc: Exception | None) -> None:
        if self._counted:
            self._counted = False
            self.crowd[self._local] -= 1
        self._unwatch()
        self.ending.set()
        super().connection_lost(exc)

    def hold_head(self) -> None:
        """Send the head of the coming answer together with its body, which follows at once."""
        self.transport.hold()  # type: ignore[attr-defined]

    def shutdown(self) -> None:
        self.ending.set()
        super().shutdown()

    # The head of a request: its size and its time.

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return  # what still comes from somebody who was turned away
        if self._in_head:
            self._head += len(data)
        super().data_received(data)
        if not self._in_head:
            return
        if self._head > MOST_HEAD:
            self._refuse(
                MinutebookError("too_large", f"The head of the request is over {MOST_HEAD:,} bytes.")
            )
        elif self._late is None:
            self._watch()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope[CONNECTION] = self  # type: ignore[typeddict-unknown-key]
        self._in_head = True
        self._head = 0

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._unwatch()
        super().on_headers_complete()

    def _watch(self) -> None:
        self._late = self.loop.call_later(self.head_seconds, self._too_late)

    def _unwatch(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _too_late(self) -> None:
        self._late = None
        if self.transport.is_closing():
            return
        if self._in_head:
            self._refuse(MinutebookError("too_slow", "The request was not complete in time."))
        else:
            self.transport.close()  # nothing was ever said

    # Answers without an application.

    def send_400_response(self, msg: str) -> None:
        if len(self.url) > _MOST_ADDRESS:
            self._refuse(
                MinutebookError("too_large", f"The address of the request is over {_MOST_ADDRESS:,} bytes.")
            )
        else:
            self._refuse(MinutebookError("invalid_input", "This is not a request in HTTP/1.1."))

    def _refuse(self, error: MinutebookError) -> None:
        """Say no and hang up. A request that is being answered is not interrupted by a word in between."""
        answering = (
            self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete
        )
        if not self.transport.is_closing() and not answering:
            self.transport.write(_raw(failure(error)))
        self.transport.close()


class _Whole:
    """A transport that can send the head of an answer together with its body.

    uvicorn writes them one after the other, and each wakes whoever waits for the answer: the first time for
    nothing.
    """

    __slots__ = ("_head", "_holds", "_transport")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._head = b""
        self._holds = False

    def hold(self) -> None:
        """Keep the next write until the one after it."""
        self._holds = True

    def write(self, data: bytes) -> None:
        if self._holds:
            self._holds = False
            self._head = data
            return
        if self._head:
            data, self._head = self._head + data, b""
        self._transport.write(data)

    def close(self) -> None:
        if self._head:
            self.write(b"")
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


def _raw(answer: Answer) -> bytes:
    headers = [
        *answer.headers,
        (b"content-length", b"%d" % len(answer.body)),
        (b"cache-control", b"no-store"),
        (b"connection", b"close"),
    ]
    lines = b"".join(b"%s: %s\r\n" % header for header in headers)
    return STATUS_LINE[answer.status] + lines + b"\r\n" + answer.body


def connection_class(reach: Reach) -> type[Connection]:
    """The connections of one running service, for `uvicorn.Config(http=…)`."""

    class Limited(Connection):
        most = reach.settings.connections
        head_seconds = reach.settings.body_seconds
        crowd: ClassVar[dict[bool, int]] = {True: 0, False: 0}

    reach.observer.gauges["connections"] = lambda: sum(Limited.crowd.values())
    return Limited
