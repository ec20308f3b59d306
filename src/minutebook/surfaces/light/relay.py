"""`minutebook mcp`: MCP over stdio, as a splice between a host's pipes and the service's socket.

A host starts one for every agent, so it is small and quick: the standard library alone, raw descriptors, one
loop. It knows just enough of the protocol never to leave a request without an answer: when the service ends
under it, it says so, finds the next one, and introduces its host there again.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping
    from typing import Any

#: The longest message that is passed on; what is longer is answered here and thrown away as it comes.
_LONGEST = 8 * 1024 * 1024
#: Bytes that may wait on one side before the other is read no further.
_ROOM = 1024 * 1024
_CHUNK = 64 * 1024
#: A pipe that has room at all has room for this much, so that a write never blocks.
_PIECE = select.PIPE_BUF
#: Seconds for what was asked to be answered, once the host has closed its end.
_DRAIN = 30.0
#: Seconds in which a service that ended is looked for again by itself, and between two looks.
_SEEK, _PAUSE = 5.0, 0.1
#: Seconds for which a service that could not be reached is not tried again.
_RESPITE = 1.0
_VERSION = 1
_PARSE_ERROR, _INVALID, _OUR_ERROR = -32700, -32600, -32000
#: A request that is answered only when all ends: nobody waits for it then.
_ENDLESS = "subscriptions/listen"
#: The ids of requests that the relay itself makes begin so.
_OURS = "minutebook-relay-"


def main(words: list[str], environ: Mapping[str, str]) -> int | None:
    """Run the relay of this process; None when the words are not ones that it understands by itself."""
    given = _options(words)
    if given is None:
        return None
    return run(given, environ)


def run(given: Mapping[str, str | None], environ: Mapping[str, str]) -> int:
    """Relay between this process's own pipes and the service, until the host closes them."""
    relay = Relay(lambda start: _join(given, environ, start), 0, 1)
    try:
        return relay.run()
    except KeyboardInterrupt:
        return 130


def _options(words: list[str]) -> dict[str, str | None] | None:
    """What the plain form of the command says; any other form is for the command line's own parser."""
    given: dict[str, str | None] = {}
    rest = list(words)
    while rest:
        name, equals, value = rest.pop(0).partition("=")
        if name not in ("--agent", "--as", "--project", "--home", "--database") or name[2:] in given:
            return None
        if not equals:
            if not rest:
                return None
            value = rest.pop(0)
        if not value or value.startswith("-"):
            return None
        given[name[2:]] = value
    return given


# --- the service ----------------------------------------------------------------------------------------


def _join(
    given: Mapping[str, str | None], environ: Mapping[str, str], start: bool
) -> tuple[socket.socket, bytes] | None:
    """A connection to the service and the line that introduces us; None where nobody is and none is started."""
    from minutebook.surfaces.light import daemon
    from minutebook.surfaces.light.places import places_of

    meant = dict(environ)
    for option, name in (("home", "MINUTEBOOK_HOME"), ("database", "MINUTEBOOK_DATABASE_URL")):
        meant[name] = given.get(option) or meant.get(name, "")
    if meant.get("MINUTEBOOK_SERVICE_URL", "").strip():
        raise _error(
            "bad_setting",
            "MINUTEBOOK_SERVICE_URL names a remote service, which a host reaches by itself, over HTTP.",
            hint="minutebook connect --transport http",
        )
    first = _introduction(given, meant)
    places = places_of(meant)
    service = meant.get("MINUTEBOOK_SERVICE", "").strip() or "auto"
    if not start or service != "auto":
        found = daemon.connect(places, places.mcp_socket)
        if found is None and start:
            raise _error(
                "no_service",
                f"No service runs for {places.home}, and MINUTEBOOK_SERVICE={service} says not to start one.",
                hint="minutebook serve",
            )
    else:
        found = daemon.join(places, places.mcp_socket, environ=meant)
    if found is None:
        return None
    found.setblocking(False)
    return found, first


def _introduction(given: Mapping[str, str | None], environ: Mapping[str, str]) -> bytes:
    """The first line: who the host's agent is and where it works, as far as that is known here."""

    def setting(name: str) -> str | None:
        return environ.get(name, "").strip() or None

    bound = setting("MINUTEBOOK_AGENT")
    agent, actor = given.get("agent"), given.get("as")
    for named in (agent, actor):
        if bound is not None and named is not None and named.casefold() != bound.casefold():
            raise _error(
                "not_allowed", f"This environment acts as {bound!r} (MINUTEBOOK_AGENT) and as nobody else."
            )
    from minutebook.surfaces.light.here import project_of, workspace

    project = given.get("project") or setting("MINUTEBOOK_PROJECT") or project_of(os.getcwd())
    said = {
        "minutebook": _VERSION,
        "agent": bound or agent,
        "actor": None if bound else actor,
        "token": setting("MINUTEBOOK_TOKEN"),
        "project": project,
        "run": setting("MINUTEBOOK_RUN"),
        "workspace": workspace(),
    }
    return json.dumps(said).encode() + b"\n"


def _error(code: str, message: str, **details: Any) -> Exception:
    from minutebook.model.errors import MinutebookError

    return MinutebookError(code, message, **details)


# --- the splice -----------------------------------------------------------------------------------------


class Relay:
    """One host on one side, the service on the other; the service may come and go."""

    def __init__(
        self, join: Callable[[bool], tuple[socket.socket, bytes] | None], host_in: int, host_out: int
    ) -> None:
        """`join(start)` connects; without `start` it gives None where no service runs."""
        self._join = join
        self._in, self._out = host_in, host_out
        self._service: socket.socket | None = None
        self._from_host, self._from_service = _Lines(_LONGEST), _Lines(None)
        self._to_host, self._to_service = bytearray(), bytearray()
        #: what the host asked and was not told yet: the id as JSON -> the method
        self._asked: dict[str, str] = {}
        #: how the host introduced itself in the older era, and what it subscribed to: said again to the next
        self._opening: dict[str, Any] | None = None
        self._opened = b""
        self._watched: dict[str, dict[str, Any]] = {}
        self._number = 0
        #: what the host is told once a request of ours is answered
        self._missed: dict[str, dict[str, Any]] = {}
        self._heard = False
        self._refusal: dict[str, Any] | None = None
        self._fault: tuple[float, dict[str, Any]] | None = None
        #: when to stop looking for a service that ended
        self._seek_until = 0.0
        self._ended = False

    def run(self) -> int:
        """Pass messages on until the host is gone and everything it asked is answered."""
        self._connect(True)
        deadline = 0.0
        while True:
            if self._ended:
                deadline = deadline or time.monotonic() + _DRAIN
                waiting = self._service is not None and self._waited_for()
                if not (waiting or self._to_host) or time.monotonic() > deadline:
                    return 0
            try:
                self._turn()
            except BrokenPipeError:
                return 0  # the host is gone, and with it whoever would read an answer

    def _waited_for(self) -> bool:
        return bool(self._to_service) or any(method != _ENDLESS for method in self._asked.values())

    def _turn(self) -> None:
        """Wait until something can be read or written, and do that."""
        poll = select.poll()
        if not self._ended and len(self._to_service) < _ROOM:
            poll.register(self._in, select.POLLIN)
        # Also with nothing to write: so we hear when nobody reads any more.
        poll.register(self._out, select.POLLOUT if self._to_host else 0)
        service = self._service
        if service is not None:
            events = select.POLLIN if len(self._to_host) < _ROOM else 0
            poll.register(service, events | (select.POLLOUT if self._to_service else 0))
        for descriptor, event in poll.poll(self._patience()):
            if descriptor == self._in:
                self._read_host()
            elif descriptor == self._out:
                if event & (select.POLLERR | select.POLLNVAL):
                    raise BrokenPipeError
                if event & select.POLLOUT:
                    sent = os.write(self._out, self._to_host[:_PIECE])
                    del self._to_host[:sent]
            elif service is self._service:
                self._exchange(event)
        if self._service is None and self._seek_until:
            self._seek()

    def _patience(self) -> int | None:
        if self._service is None and self._seek_until:
            return int(_PAUSE * 1000)
        return 1000 if self._ended else None

    # What the host says.

    def _read_host(self) -> None:
        data = os.read(self._in, _CHUNK)
        if not data:
            self._ended = True
            return
        for line in self._from_host.split(data):
            self._host_said(line)

    def _host_said(self, line: bytes | None) -> None:
        if line is None:
            self._answer("null", _INVALID, "The message is longer than the relay passes on.")
            return
        if not line.strip():
            return
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            self._answer("null", _PARSE_ERROR, "The line is not JSON.")
            return
        if not isinstance(message, dict):
            self._answer("null", _INVALID, "The line is not a JSON-RPC message.")
            return
        method = message.get("method")
        asks = isinstance(method, str) and "id" in message
        identity = json.dumps(message.get("id"))
        if method == "initialize":
            self._opening = None  # the host introduces itself anew
        if self._service is None and not self._connect(True):
            if asks:
                self._answer_fault(identity)
            return
        if asks:
            self._asked[identity] = str(method)
        self._remember(method, message, line)
        self._to_service += line + b"\n"

    def _remember(self, method: Any, message: dict[str, Any], line: bytes) -> None:
        """What the next service would have to be told."""
        if method == "initialize":
            self._opening, self._opened = message, b""
            self._watched.clear()
        elif method == "notifications/initialized":
            self._opened = line
        elif method in ("resources/subscribe", "resources/unsubscribe"):
            uri = _param(message, "uri")
            if method == "resources/unsubscribe":
                self._watched.pop(str(uri), None)
            elif isinstance(uri, str):
                self._watched[uri] = message
        elif method == "notifications/cancelled":
            # What was taken back need not be answered.
            self._asked.pop(json.dumps(_param(message, "requestId")), None)

    # What the service says.

    def _exchange(self, event: int) -> None:
        service = self._service
        assert service is not None
        try:
            if event & select.POLLOUT:
                sent = service.send(self._to_service[:_CHUNK])
                del self._to_service[:sent]
            if event & (select.POLLIN | select.POLLHUP | select.POLLERR):
                data = service.recv(_CHUNK)
                if not data:
                    self._lost()
                    return
                for line in self._from_service.split(data):
                    self._service_said(line or b"")
        except BlockingIOError:
            return
        except OSError:
            self._lost()

    def _service_said(self, line: bytes) -> None:
        first, self._heard = not self._heard, True
        message = json.loads(line)
        if "method" not in message and "id" in message:
            identity = message["id"]
            if isinstance(identity, str) and identity.startswith(_OURS):
                self._resumed(identity)
                return
            if identity is None and first:
                # We were turned away at the door: that is the answer to everything asked.
                self._refusal = message.get("error")
                return
            self._asked.pop(json.dumps(identity), None)
        self._to_host += line + b"\n"

    # The service comes and goes.

    def _connect(self, start: bool) -> bool:
        """Have a service to speak to; without one, keep the reason for whoever asks."""
        if self._fault is not None and time.monotonic() < self._fault[0]:
            return False
        try:
            joined = self._join(start)
        except Exception as error:
            if not hasattr(error, "as_dict"):
                raise
            told = error.as_dict()  # type: ignore[attr-defined]
            self._fault = (time.monotonic() + _RESPITE, _fault(told))
            self._say(told["message"])
            return False
        if joined is None:
            return False
        self._service, first = joined
        self._fault = self._refusal = None
        self._seek_until = 0.0
        self._heard = False
        self._from_service = _Lines(None)
        self._to_service = bytearray(first)
        if self._opening is not None:
            self._introduce(self._opening)
        return True

    def _introduce(self, opening: dict[str, Any]) -> None:
        """Say to a new service what the host said to the one before; the host hears no answer twice."""
        self._missed.clear()
        self._repeat(opening, {"method": "notifications/resources/list_changed"})
        if not self._opened:
            return
        self._to_service += self._opened + b"\n"
        for message in self._watched.values():
            uri = message["params"]["uri"]
            self._repeat(message, {"method": "notifications/resources/updated", "params": {"uri": uri}})

    def _repeat(self, message: dict[str, Any], missed: dict[str, Any]) -> None:
        self._number += 1
        identity = f"{_OURS}{self._number}"
        self._to_service += json.dumps({**message, "id": identity}).encode() + b"\n"
        self._missed[identity] = missed

    def _resumed(self, identity: str) -> None:
        """What changed while nobody watched is not known, so the host is told to look again."""
        missed = self._missed.pop(identity, None)
        if missed is not None and self._opened:
            self._to_host += json.dumps({"jsonrpc": "2.0", **missed}).encode() + b"\n"

    def _seek(self) -> None:
        """Look whether the service is back. It is not started: whoever stopped it meant it."""
        if self._connect(False) or time.monotonic() > self._seek_until:
            self._seek_until = 0.0

    def _lost(self) -> None:
        """The service ended, or turned us away: whoever waits is told so."""
        assert self._service is not None
        self._service.close()
        self._service = None
        self._to_service.clear()
        if self._refusal is not None:
            self._fault = (time.monotonic() + _RESPITE, self._refusal)
            self._say(str(self._refusal.get("message")))
        else:
            self._fault = None
            if self._opening is not None and not self._ended:
                self._seek_until = time.monotonic() + _SEEK
        for identity in list(self._asked):
            self._answer_fault(identity)
        self._asked.clear()

    def _answer_fault(self, identity: str) -> None:
        if self._fault is not None:
            fault = self._fault[1]
        else:
            message = "The service ended before it answered; ask again."
            fault = _fault({"code": "no_service", "message": message, "details": {"again": True}})
        self._to_host += b'{"jsonrpc":"2.0","id":%s,"error":%s}\n' % (
            identity.encode(),
            json.dumps(fault).encode(),
        )

    def _answer(self, identity: str, code: int, message: str) -> None:
        error = json.dumps({"code": code, "message": message})
        self._to_host += b'{"jsonrpc":"2.0","id":%s,"error":%s}\n' % (identity.encode(), error.encode())

    def _say(self, message: str) -> None:
        """One line for whoever looks at the host's log."""
        print(f"minutebook mcp: {message}", file=sys.stderr, flush=True)


def _param(message: dict[str, Any], name: str) -> Any:
    params = message.get("params")
    return params.get(name) if isinstance(params, dict) else None


def _fault(error: dict[str, Any]) -> dict[str, Any]:
    """An error of ours as JSON-RPC has it, whole in its data."""
    return {"code": _OUR_ERROR, "message": error["message"], "data": error}


class _Lines:
    """Lines out of what comes in pieces, none of them longer than a limit."""

    def __init__(self, longest: int | None) -> None:
        self._longest = longest
        self._rest = bytearray()
        self._skipping = False

    def split(self, data: bytes) -> list[bytes | None]:
        """The lines that are complete now; None for one that was too long, once it has ended."""
        lines: list[bytes | None] = []
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._keep(data[start:end])
            lines.append(None if self._skipping else bytes(self._rest))
            self._rest, self._skipping = bytearray(), False
            start = end + 1
        self._keep(data[start:])
        return lines

    def _keep(self, part: bytes) -> None:
        if self._longest is not None and len(self._rest) + len(part) > self._longest:
            self._rest, self._skipping = bytearray(), True
        elif not self._skipping:
            self._rest += part
