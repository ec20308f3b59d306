"""What was asked and how it went, told once to whoever keeps account: counts, traces, the log, who was seen.

Every door opens an observation for each request and closes it when the answer is on its way. It costs a
microsecond when nobody listens. Nothing of what was asked or answered is in it, only names of ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter, time_ns
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from minutebook.model.errors import MinutebookError
from minutebook.surfaces.asking import Asker

L = TypeVar("L")
#: The status of a request whose caller went away before its answer.
GONE = 499


class Observation:
    """One request, from the moment it was understood to its answer. Use it in a `with`."""

    __slots__ = (
        "asked",
        "asker",
        "began",
        "began_ns",
        "carrier",
        "client",
        "code",
        "ended",
        "left_queue",
        "listeners",
        "operation",
        "request",
        "status_code",
        "surface",
        "trace",
        "worked",
    )

    def __init__(
        self,
        listeners: Sequence[Listener],
        surface: str,
        operation: str,
        carrier: Mapping[str, Any] | None,
        request: str,
    ) -> None:
        self.listeners = listeners
        self.surface = surface
        self.operation = operation
        #: what came with the request that may name a trace: its headers, or the `_meta` of MCP
        self.carrier = carrier
        #: the request's id, as its caller was told it
        self.request = request
        self.status_code = 200
        #: the code of the error it ended with, of our closed table
        self.code = ""
        self.asker: Asker | None = None
        #: what the caller calls itself: a program's name and version, never trusted
        self.client = ""
        #: the ids of the trace it belongs to, once a listener knows them
        self.trace = ""
        self.began_ns = time_ns() if listeners else 0
        self.began = perf_counter()
        # When the caller had proved who they are, and what they ask for began.
        self.asked = 0.0
        # A write: when the writer took it up, and when its work was done and only the commit was left.
        self.left_queue = 0.0
        self.worked = 0.0
        self.ended = 0.0

    # What a door tells

    def status(self, code: int) -> None:
        """The answer's HTTP status; an MCP tool's error has that of its kind."""
        self.status_code = code

    def failed(self, error: MinutebookError) -> None:
        """The error that the request was answered with."""
        self.status_code = error.http_status
        self.code = error.code

    def asked_by(self, asker: Asker, client: str = "") -> None:
        """Who asked, once they have proved it; `client` is what their program calls itself."""
        self.asker = asker
        self.client = client
        self.asked = perf_counter()

    # What the service tells (minutebook.call.Watch)

    def taken_up(self) -> None:
        self.left_queue = perf_counter()

    def done(self) -> None:
        self.worked = perf_counter()

    @property
    def seconds(self) -> float:
        return self.ended - self.began

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Tell everybody who listens. What the block raised is noted, and goes on."""
        self.ended = perf_counter()
        if error is not None and not self.code:
            if isinstance(error, MinutebookError):
                self.failed(error)
            elif isinstance(error, Exception):
                self.failed(MinutebookError("internal"))
            else:
                self.status_code = GONE  # cancelled: there is nobody left to answer
        for listener in self.listeners:
            listener.ended(self)


class Listener(Protocol):
    """Somebody who keeps account of requests. `ended` is called on the door's thread and returns at once."""

    def ended(self, seen: Observation) -> None: ...


class Observer:
    """Where the doors tell what they see; without listeners it hears nothing and costs nothing."""

    def __init__(self, *listeners: Listener, gauges: dict[str, Callable[[], int]] | None = None) -> None:
        self.listeners: tuple[Listener, ...] = listeners
        #: What can be counted at any moment, by the door that knows: `connections`, `followers`.
        self.gauges: dict[str, Callable[[], int]] = {} if gauges is None else gauges

    def listener(self, kind: type[L]) -> L | None:
        """The listener of a kind, if there is one."""
        return next((found for found in self.listeners if isinstance(found, kind)), None)

    def request(
        self, surface: str, operation: str, carrier: Mapping[str, Any] | None = None, request: str = ""
    ) -> Observation:
        """Open the account of one request: `with observer.request("http", "inbox.list", headers) as seen`.

        `surface` is an origin's value; `operation` the name of an operation or of a fixed route, never text
        of the caller's; `carrier` gives the request's headers by their lower-case names (or `_meta` of MCP).
        """
        return Observation(self.listeners, surface, operation, carrier, request)

    def gauge(self, name: str) -> int:
        """What a door counts at this moment; 0 when there is no such door."""
        found = self.gauges.get(name)
        return 0 if found is None else found()
