"""What stands before every HTTP route: who may speak to us, how much, how fast, how often.

A browser can be made to send requests to the loopback by any page that it shows. So a request must name a
host that is ours, must not come from a foreign page, and gets no header that would let one read the answer.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from itertools import count

from minutebook.model.errors import MinutebookError
from minutebook.surfaces.http.exchange import (
    CONNECTION,
    MOST_HEAD,
    REQUEST,
    App,
    Header,
    Message,
    Receive,
    Request,
    Scope,
    Send,
    failure,
)
from minutebook.surfaces.reach import Reach

#: Bodies held in memory at once, in units of the largest one.
_BODIES = 16
#: What is read and thrown away of a body that is too large, so that its sender hears why: bytes and seconds.
_DISCARDED = (16 * 1024**2, 2.0)
#: Tokens whose rate is kept; the one that asked longest ago is forgotten first.
_RATES = 4096
#: Headers that mean something to us, and so must not be said twice.
_ONCE = frozenset(
    b"authorization content-encoding content-length content-type host idempotency-key if-match if-none-match "
    b"last-event-id minutebook-actor minutebook-agent minutebook-origin minutebook-project minutebook-run "
    b"origin transfer-encoding x-request-id".split()
)
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_LOOPBACK = ("127.0.0.1", "[::1]", "localhost")

#: On every answer. No header of ours ever lets a page of another origin in.
_NO_SNIFF: Header = (b"x-content-type-options", b"nosniff")
_NO_STORE: Header = (b"cache-control", b"no-store")


class Guard:
    """An ASGI application around another one. What it lets in has its body with it, and stands in the scope."""

    def __init__(self, app: App, reach: Reach, *, now: Callable[[], float] = time.monotonic) -> None:
        settings = reach.settings
        self._app = app
        self._observer = reach.observer
        self._most = settings.body_bytes
        self._seconds = settings.body_seconds
        self._rates = Rates(settings.requests_per_minute, now)
        self._named = frozenset(
            name.strip().casefold() for name in settings.allowed_hosts.split(",") if name.strip()
        )
        self._held = 0
        self._numbers = count(1)
        self._prefix = secrets.token_hex(4)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise RuntimeError(f"The service speaks HTTP alone, not {scope['type']}.")
        request = self._read_head(scope)

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = _with_ours(message.get("headers", ()), request.id)
            await send(message)

        try:
            self._check(scope, request)
            request.body = await self._body(request, receive)
        except _Gone:
            return
        except MinutebookError as error:
            with self._observer.request(request.surface, "guard", None, request.id) as seen:
                seen.failed(error)
                answer = failure(error)
                if _has_body(request):
                    answer.headers.append((b"connection", b"close"))  # the rest of it is not a request
                await answer.send(sent)
            return
        scope[REQUEST] = request
        try:
            await self._app(scope, _again(request.body, receive), sent)
        finally:
            self._held -= len(request.body)

    def _read_head(self, scope: Scope) -> Request:
        headers = dict(scope["headers"])
        connection = scope.get(CONNECTION)
        given = headers.get(b"x-request-id", b"").decode("latin-1")
        return Request(
            id=given if _ID.fullmatch(given) else f"{self._prefix}-{next(self._numbers):x}",
            method=scope["method"],
            path=scope.get("raw_path") or scope["path"].encode(),
            query=scope["query_string"],
            headers=headers,
            peer=None if connection is None else connection.peer,
        )

    # Who may speak to us.

    def _check(self, scope: Scope, request: Request) -> None:
        headers = request.headers
        if len(headers) != len(scope["headers"]):
            names = [name for name, _ in scope["headers"]]
            for name in _ONCE.intersection(headers):
                if names.count(name) > 1:
                    raise MinutebookError("invalid_input", f"The header {name.decode()} was sent twice.")
        if sum(map(len, headers.values())) > MOST_HEAD:
            raise MinutebookError("too_large", f"The headers are over {MOST_HEAD:,} bytes.")
        port = scope["server"][1] if scope.get("server") else None
        if request.peer is None and not self._ours(headers.get(b"host", b""), port):
            raise MinutebookError(
                "foreign_host", hint="set MINUTEBOOK_ALLOWED_HOSTS to answer for other names"
            )
        origin = headers.get(b"origin")
        if origin is not None:
            scheme, _, host = origin.partition(b"://")
            if scheme not in (b"http", b"https") or not self._ours(host, port):
                raise MinutebookError("foreign_origin")
        token = headers.get(b"authorization")
        if token is not None:
            self._rates.take(token)

    def _ours(self, host: bytes, port: int | None) -> bool:
        """Whether a host with its port is one that we answer for. A loopback name needs the port we listen on."""
        said = host.decode("latin-1").casefold()
        if said in self._named:
            return True
        name, colon, number = said.rpartition(":")
        if not colon or said.endswith("]"):
            name, number = said, "80"
        if name in self._named:
            return True
        return name in _LOOPBACK and number == str(port)

    # How much, and how fast.

    async def _body(self, request: Request, receive: Receive) -> bytes:
        if not _has_body(request):
            return b""
        length = request.headers.get(b"content-length", b"")
        if len(length) > 18 or (length.isdigit() and int(length) > self._most):
            await self._discard(request, receive)
            raise self._too_large()
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self._seconds):
                async for part in _parts(receive):
                    size += len(part)
                    self._held += len(part)
                    parts.append(part)
                    if size > self._most:
                        raise self._too_large()
                    if self._held > _BODIES * self._most:
                        raise MinutebookError(
                            "overloaded", "Too many large requests arrive at once; try again."
                        )
        except TimeoutError:
            self._held -= size
            raise MinutebookError(
                "too_slow", f"The body did not arrive within {self._seconds:g} seconds."
            ) from None
        except BaseException:
            self._held -= size
            raise
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def _discard(self, request: Request, receive: Receive) -> None:
        """Read on for a moment: who is still sending when we hang up never reads the answer."""
        if b"expect" in request.headers:
            return  # they wait for our word before they send
        most, seconds = _DISCARDED
        try:
            async with asyncio.timeout(seconds):
                async for part in _parts(receive):
                    most -= len(part)
                    if most < 0:
                        return
        except TimeoutError:
            return

    def _too_large(self) -> MinutebookError:
        return MinutebookError("too_large", f"The body is over {self._most:,} bytes.", limit=self._most)


class _Gone(Exception):
    """The caller hung up before the request was complete."""


def _has_body(request: Request) -> bool:
    length = request.headers.get(b"content-length")
    return (length is not None and length != b"0") or b"transfer-encoding" in request.headers


async def _parts(receive: Receive) -> AsyncIterator[bytes]:
    """The body as it comes, without empty parts."""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise _Gone
        if message.get("body"):
            yield message["body"]
        if not message.get("more_body"):
            return


def _again(body: bytes, receive: Receive) -> Receive:
    """The body, for an application that reads it for itself; then what the connection says."""
    given = False

    async def read() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return read


def _with_ours(headers: list[Header] | tuple[Header, ...], request: str) -> list[Header]:
    kept = [*headers, _NO_SNIFF, (b"x-request-id", request.encode("ascii"))]
    if not any(name == b"cache-control" for name, _ in headers):
        kept.append(_NO_STORE)
    return kept


class Rates:
    """How often each token asks. A minute's share may come at once; then it fills up again, evenly."""

    def __init__(self, per_minute: int, now: Callable[[], float]) -> None:
        self._share = per_minute
        self._now = now
        self._left: OrderedDict[bytes, tuple[float, float]] = OrderedDict()

    def take(self, credential: bytes) -> None:
        """Take one of the token's requests, or say when there is one again."""
        if not self._share:
            return
        # Known by a digest: no token is kept in memory for longer than its request.
        key = hashlib.sha256(credential).digest()
        now = self._now()
        left, then = self._left.pop(key, (float(self._share), now))
        left = min(self._share, left + (now - then) * self._share / 60)
        if left < 1:
            self._left[key] = (left, now)
            raise MinutebookError(
                "rate_limited",
                f"This token asked more than {self._share:,} times in the last minute.",
                retry_after=round((1 - left) * 60 / self._share, 3),
            )
        self._left[key] = (left - 1, now)
        if len(self._left) > _RATES:
            self._left.popitem(last=False)
