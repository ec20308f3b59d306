"""One request and its answer, as the HTTP doors pass them on: bytes, read once and sent once."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from functools import cache
from operator import attrgetter
from typing import Any

from minutebook.model.errors import Kind, MinutebookError
from minutebook.operations.plain import field_names, to_plain
from minutebook.surfaces.http.peers import Peer

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Header = tuple[bytes, bytes]

#: Where the scope of a request carries it, once the guard has let it in.
REQUEST = "minutebook.request"
#: Where it carries the connection, when that is one of ours: who is there, and whether all is ending.
CONNECTION = "minutebook.connection"

#: The longest request line with all its headers, in bytes.
MOST_HEAD = 64 * 1024

JSON: Header = (b"content-type", b"application/json")


@dataclass(slots=True)
class Request:
    """What was asked, with the body whole."""

    id: str
    method: str
    #: as it was sent: a slash that was written %2F is no border between segments
    path: bytes
    query: bytes
    headers: dict[bytes, bytes]
    #: who is at the other end, when that is a unix socket
    peer: Peer | None
    body: bytes = b""

    @property
    def surface(self) -> str:
        """The door it came through, by the name of its origin."""
        return "http" if self.peer is None else "socket"

    def header(self, name: bytes) -> str | None:
        """A header's text; None when it was not sent."""
        value = self.headers.get(name)
        return None if value is None else value.decode("latin-1").strip()


@dataclass(frozen=True, slots=True)
class Answer:
    """What is sent back."""

    status: int
    body: bytes = b""
    headers: list[Header] = field(default_factory=list)

    async def send(self, send: Send) -> None:
        length = (b"content-length", b"%d" % len(self.body))
        headers = [*self.headers] if self.status in (204, 304) else [*self.headers, length]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


def _plainer(value: Any) -> Any:
    """One step towards plain data. The encoder itself goes on from there, which halves the time."""
    taken = _fields_of(type(value))
    return to_plain(value) if taken is None else dict(zip(taken[0], taken[1](value), strict=True))


@cache
def _fields_of(kind: type) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]] | None:
    """The names of a record's fields, and what takes them all at once; None for a type that is no record."""
    names = field_names(kind)
    if names is None:
        return None
    if len(names) < 2:  # attrgetter gives one field alone, and takes none
        return names, lambda value: tuple(getattr(value, name) for name in names)
    return names, attrgetter(*names)


_ENCODER = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), check_circular=False, allow_nan=False, default=_plainer
)


def json_bytes(value: Any) -> bytes:
    """The JSON of an answer, as `to_plain` has it. Half a character could not be sent, so none is let out."""
    return _ENCODER.encode(value).encode("utf-8", "replace")


def failure(error: MinutebookError) -> Answer:
    """An error in the one shape in which it leaves the house, with the status of its kind."""
    headers = [JSON]
    if error.kind is Kind.UNPROVEN:
        known = b"" if error.code == "no_token" else b', error="invalid_token"'
        headers.append((b"www-authenticate", b'Bearer realm="minutebook"' + known))
    elif error.kind is Kind.LIMIT or error.code == "overloaded":
        headers.append((b"retry-after", b"%d" % max(1, round(error.details.get("retry_after", 1)))))
    if error.kind is Kind.METHOD:
        headers.append((b"allow", ", ".join(error.details.get("allowed", ())).encode("ascii")))
    return Answer(error.http_status, json_bytes(error.as_dict()), headers)
