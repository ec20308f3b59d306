"""The client of a service in another process: over its unix socket, or over HTTP from afar.

The same calls, answers and errors as in process. A write is sent with a key of its own, so that it can be
repeated when the connection breaks before its answer: carried out once, whatever happened in between.
"""

from __future__ import annotations

import http.client
import json
import os
import secrets
import select
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import minutebook
from minutebook.client import Client
from minutebook.model.errors import CODES, MinutebookError, Refusal
from minutebook.operations.parameters import unwrap
from minutebook.operations.registry import Access, Operation, from_plain
from minutebook.surfaces import spelling
from minutebook.surfaces.light import daemon
from minutebook.surfaces.light.places import Places

#: Seconds in which a broken connection is made again, and what was asked is asked again.
RETRY_SECONDS = 30.0
#: Seconds without an answer after which the service is asked whether it lives.
PATIENCE = 5.0
#: Seconds for a far service to answer at all.
LONGEST_ANSWER = 900.0
#: Seconds for a far service to accept a connection.
_CONNECT_SECONDS = 10.0
#: Connections kept open for the next request.
_KEPT = 8
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.02, 1.0
#: Answers that say: not carried out, ask again.
_ASK_AGAIN = frozenset({"overloaded", "ledger_closed"})


class Lost(Exception):
    """The connection broke before the answer was complete."""


class Link(ABC):
    """The way to a service."""

    #: how it is called in messages
    name: str
    #: whether paths mean the same at the other end
    near: bool

    @abstractmethod
    def open(self) -> http.client.HTTPConnection:
        """A new connection; MinutebookError `no_service` when nobody is there."""

    @abstractmethod
    def wait(self, connection: http.client.HTTPConnection) -> None:
        """Wait until an answer begins. A service that hangs is an error that says so."""


class SocketLink(Link):
    """To the service of a home, which is started when it is absent (if it may be)."""

    near = True

    def __init__(
        self, places: Places, environ: Mapping[str, str], *, start: bool, tell: Callable[[str], None]
    ) -> None:
        """`tell` is told what the caller should know and is no error."""
        self.places = places
        self.name = places.socket
        self._start = start
        self._environ = environ
        self._tell = tell
        self._looked = False

    def open(self) -> http.client.HTTPConnection:
        if not self._looked:
            self._looked = True
            self._look_at_version()
        connection = http.client.HTTPConnection("localhost")
        connection.sock = daemon.join(
            self.places, self.places.socket, environ=self._environ, start=self._start
        )
        return connection

    def _look_at_version(self) -> None:
        """A service of an older program makes room for ours when nobody is at it; else it is said."""
        facts = daemon.facts_of(self.places)
        if facts is None or facts.get("version") == minutebook.__version__:
            return
        standing = daemon.ask(self.places)
        if standing is None:
            return  # what a killed one left behind
        theirs, ours = str(facts.get("version")), minutebook.__version__
        idle = not standing["clients"] and not standing["waiting"]
        if self._start and standing["service"]["background"] and idle and _newer(ours, theirs):
            daemon.stop(self.places)
        else:
            self._tell(f"the service is minutebook {theirs}, this is {ours}: minutebook restart")

    def wait(self, connection: http.client.HTTPConnection) -> None:
        while not _readable(connection, PATIENCE):
            # A long operation, or a service that hangs? One that lives says so at once.
            daemon.ask(self.places)


class UrlLink(Link):
    """To a service at an address of the network."""

    near = False

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise MinutebookError(
                "bad_setting", "The address of a service is http:// or https:// and a host.", url=url[:200]
            )
        self.name = url.rstrip("/")
        self._host, self._secure = parts.netloc.rpartition("@")[2], parts.scheme == "https"
        self.prefix = parts.path.rstrip("/")

    def open(self) -> http.client.HTTPConnection:
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = kind(self._host, timeout=_CONNECT_SECONDS)
        try:
            connection.connect()
        except OSError as error:
            connection.close()
            raise MinutebookError(
                "no_service",
                f"{self.name} cannot be reached ({error.strerror or error}).",
                hint="look at MINUTEBOOK_SERVICE_URL and whether the service runs there",
            ) from error
        connection.sock.settimeout(LONGEST_ANSWER)
        return connection

    def wait(self, connection: http.client.HTTPConnection) -> None:
        return  # the socket's own time limit does


def _newer(ours: str, theirs: str) -> bool:
    def numbers(version: str) -> list[int]:
        return [int(part) for part in version.split(".") if part.isdigit()]

    return numbers(ours) > numbers(theirs)


def _readable(connection: http.client.HTTPConnection, seconds: float) -> bool:
    poll = select.poll()
    poll.register(connection.sock, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


class RemoteClient(Client):
    """A client of a service elsewhere, for one actor and one project. Threads may share it."""

    def __init__(
        self,
        link: Link,
        said: Mapping[str, str | None],
        *,
        project: str | None = None,
        token: str | None = None,
    ) -> None:
        """`said` are the headers that go with every request; those of None are left out."""
        self.project = project
        self._link = link
        self._headers = {"User-Agent": f"minutebook/{minutebook.__version__}"}
        self._headers |= {name: _spelled(value) for name, value in said.items() if value is not None}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {_checked(token)}"
        self._prefix = getattr(link, "prefix", "")
        self._lock = threading.Lock()
        self._idle: list[http.client.HTTPConnection] = []
        self._process = os.getpid()
        self._met = False
        self._closed = False

    def invoke(self, operation: Operation, arguments: Mapping[str, Any], key: str | None = None) -> Any:
        given = operation.given(self._absolute(operation, arguments))
        method, path, rest = spelling.request(operation, given)
        headers, body = dict(self._headers), None
        if self.project is not None:
            headers["Minutebook-Project"] = _spelled(self.project)
        reading = operation.access is Access.READ
        if method == "GET":
            path += _query(rest)
        elif rest:
            body = json.dumps(rest).encode()
            headers["Content-Type"] = "application/json"
        if not reading and not operation.outside and key is None:
            key = secrets.token_hex(16)
        if key is not None and not reading:
            headers["Idempotency-Key"] = _spelled(key)
        # What runs outside a transaction knows no keys: a second time would be a second export.
        repeatable = reading or not operation.outside
        status, data = self._ask(method, self._prefix + path, body, headers, repeatable)
        if status >= 400:
            raise _error(data)
        try:
            return from_plain(operation.returns, data)
        except (ValueError, TypeError) as error:
            raise MinutebookError(
                "internal",
                f"The answer to {operation.name} does not have the form that this version knows: {error}",
                hint="is the service of another version? minutebook status, minutebook restart",
            ) from error

    def close(self) -> None:
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _absolute(self, operation: Operation, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments, with paths that mean the same in the service's directory as in ours."""
        found = dict(arguments)
        if self._link.near:
            for parameter in operation.parameters:
                value = found.get(parameter.name)
                if isinstance(value, str | os.PathLike) and unwrap(parameter.type)[0] is Path:
                    found[parameter.name] = os.path.abspath(os.path.expanduser(os.fspath(value)))
        return found

    # --- asking, and asking again ---

    def _ask(
        self, method: str, target: str, body: bytes | None, headers: Mapping[str, str], repeatable: bool
    ) -> tuple[int, Any]:
        """The answer to one request, asked again for a while when it does not come."""
        deadline = time.monotonic() + RETRY_SECONDS
        pause = _SHORTEST_PAUSE
        while True:
            fresh = False
            try:
                connection, fresh = self._take(fresh=not repeatable)
                status, data = self._exchange(connection, method, target, body, headers)
                self._met = True
                again = status == 503 and data.get("code") in _ASK_AGAIN
                if not again or not repeatable or time.monotonic() > deadline:
                    return status, data
            except Lost as lost:
                if not repeatable:
                    raise MinutebookError(
                        "no_service",
                        "The connection broke before the answer; whether it was carried out is not known.",
                        hint="look before you ask again",
                    ) from lost
                if time.monotonic() > deadline:
                    raise MinutebookError(
                        "no_service", f"{self._link.name} breaks off each time: {lost}."
                    ) from lost
            except MinutebookError as error:
                # Nobody there: worth waiting for only where somebody was, and will be again.
                if error.code != "no_service" or not self._met or "pid" in error.details:
                    raise
                if time.monotonic() > deadline:
                    raise
            if fresh:
                time.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)

    def _exchange(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        target: str,
        body: bytes | None,
        headers: Mapping[str, str],
    ) -> tuple[int, Any]:
        """One request and its answer on one connection, which is kept if it can be."""
        try:
            try:
                connection.request(method, target, body=body, headers=dict(headers))
            except (BrokenPipeError, ConnectionResetError):
                # It may have said why before it hung up.
                if connection.sock is None:
                    raise
            self._link.wait(connection)
            response = connection.getresponse()
            data = response.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise Lost(str(error) or type(error).__name__) from error
        except BaseException:
            connection.close()
            raise
        if response.will_close:
            connection.close()
        else:
            self._give(connection)
        return response.status, self._read(response, data)

    def _read(self, response: http.client.HTTPResponse, data: bytes) -> Any:
        try:
            found = json.loads(data)
        except ValueError:
            found = None
        if response.status < 300 and (found is not None or data == b"null"):
            return found
        if response.status >= 400 and isinstance(found, dict) and found.get("code") in CODES:
            return found
        raise MinutebookError(
            "no_service",
            f"{self._link.name} answered {response.status} {response.reason}, and not as minutebook does.",
            status=response.status,
            hint="is something else listening there?",
        )

    def _take(self, *, fresh: bool) -> tuple[http.client.HTTPConnection, bool]:
        """A connection, and whether it is a new one; an old one may have been closed at its other end."""
        with self._lock:
            if self._closed:
                raise MinutebookError("ledger_closed", "The client was closed.")
            if self._process != os.getpid():
                # A fork: those connections are the parent's.
                self._process, self._idle = os.getpid(), []
            if self._idle and not fresh:
                return self._idle.pop(), False
        return self._link.open(), True

    def _give(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if not self._closed and len(self._idle) < _KEPT:
                self._idle.append(connection)
                return
        connection.close()


def _query(arguments: Mapping[str, Any]) -> str:
    """The query that says the same as these arguments; what is None is left out."""
    pairs: list[tuple[str, str]] = []
    for name, value in arguments.items():
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, str):
                pairs.append((name, part))
            elif part is not None:
                pairs.append((name, json.dumps(part)))
    return "?" + urlencode(pairs) if pairs else ""


def _spelled(value: str) -> str:
    """A header's value: what is not plain travels as percent-encoded UTF-8, and so does the percent sign."""
    return quote(value, safe="/:@!$&'()*+,;=?#[]")


def _checked(token: str) -> str:
    """A token as it can stand in a header; one that cannot is none of ours."""
    if not token.isascii() or not token.isprintable() or " " in token:
        raise MinutebookError("bad_token", "MINUTEBOOK_TOKEN does not have the form of a token.")
    return token


def _error(told: Mapping[str, Any]) -> MinutebookError:
    details = told.get("details")
    details = details if isinstance(details, dict) else {}
    # Only the controller's no has a verdict.
    made = Refusal if "verdict" in details else MinutebookError
    return made(told["code"], told.get("message"), **details)
