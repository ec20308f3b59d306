"""`minutebook-hook EVENT`: what hosts run when a session of theirs starts or ends.

Three promises. It never blocks a host: everything it does fits into one deadline, and its exit code is 0
whatever happens (2 would stop the host's own work). It says nothing unless there is something to say, and then
in the host's own form. And it never fails in silence: each call leaves a receipt that `minutebook doctor` reads.

Of the standard library alone, and little of it: it runs at the start of every session of every agent.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
import time

from minutebook.surfaces.light import hook_shapes, receipts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

    from minutebook.surfaces.light.places import Places

#: Seconds for the whole of it, unless MINUTEBOOK_HOOK_SECONDS says otherwise.
SECONDS = 1.5
#: The share of them for which the host's input is waited for.
_INPUT_SHARE = 0.5
#: Seconds of silence after which input that is complete counts as all of it: some hosts never close the pipe.
_QUIET = 0.05
#: A host's input may hold a whole prompt; beyond this it is read on, so that the host can write, and dropped.
_MOST_INPUT = 4 * 1024**2
#: The longest answer that is read.
_MOST_ANSWER = 1024**2
#: Seconds for the receipt, when everything else has ended.
_LAST_WORDS = 0.3

USAGE = """\
usage: minutebook-hook EVENT [--host NAME] [--agent NAME] [--project REF]

Run by a host at the start and end of its sessions, with the host's JSON on stdin. `minutebook connect --hooks`
writes the configuration; `minutebook doctor` says how the last calls went. Events: {events}.
"""


class Ended(Exception):
    """How a call ended, when it did not end well: `outcome` is one of a few words, `code` says more."""

    def __init__(self, outcome: str, code: str = "") -> None:
        super().__init__(outcome)
        self.outcome = outcome
        self.code = code


def main() -> int:
    """Run one hook; the exit code is 0 whatever happens."""
    words = sys.argv[1:]
    if "-h" in words or "--help" in words:
        _print(1, USAGE.format(events=", ".join(hook_shapes.EVENTS)))
        return 0
    began = time.monotonic()
    row: dict[str, object] = {"host": "other", "event": "unknown", "outcome": "ok"}
    try:
        seconds = _seconds()
        _watch(seconds)
        _hook(words, began + seconds, row)
    except Ended as ended:
        row["outcome"] = ended.outcome
        if ended.code:
            row["code"] = ended.code
    except TimeoutError:
        row["outcome"] = "timeout"
    except BaseException as error:  # noqa: BLE001 - the last door: the host is spared, the receipt tells
        row["outcome"] = "failed"
        row["code"] = getattr(error, "code", "") or type(error).__name__
    row["ms"] = round((time.monotonic() - began) * 1000)
    _leave(row)
    return 0


def _seconds() -> float:
    """The deadline that was set, if it is one."""
    text = os.environ.get("MINUTEBOOK_HOOK_SECONDS", "").strip()
    if not text:
        return SECONDS
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 60:
        raise Ended("bad_input", "bad_setting")
    return seconds


def _watch(seconds: float) -> None:
    """Be woken at the deadline wherever it hangs, and note that the host ended it."""

    def late(*_: object) -> None:
        raise Ended("timeout")

    def stopped(number: int, _: FrameType | None) -> None:
        raise Ended("stopped", signal.Signals(number).name)

    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds + 0.05)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stopped)


# --- one call ----------------------------------------------------------------------------------------


def _hook(words: list[str], deadline: float, row: dict[str, object]) -> None:
    word, options = _options(words)
    named = options.get("--host")
    row["host"] = named or "other"
    row["event"] = hook_shapes.event_of(word) or "unknown"
    given = _input(time.monotonic() + (deadline - time.monotonic()) * _INPUT_SHARE)
    event = hook_shapes.event_of(word if word is not None else hook_shapes.told_event(given))
    host = hook_shapes.host_of(given, dict(os.environ), named)
    row["host"] = host
    if event is None:
        raise Ended("bad_input", "unknown_event")
    row["event"] = event
    arguments = hook_shapes.arguments_of(given, host, os.getcwd())
    context = _ask(event, arguments, options, deadline)
    answer = hook_shapes.answer_for(named or host, event, context) if context else None
    if answer is not None:
        # Only ASCII: a host that reads another encoding than UTF-8 reads it all the same.
        _print(1, json.dumps(answer) + "\n")


def _print(descriptor: int, text: str) -> None:
    """Past Python's own streams: what they could not write they try again at the end, and exit with 120."""
    data = text.encode()
    while data:
        data = data[os.write(descriptor, data) :]


def _options(words: list[str]) -> tuple[str | None, dict[str, str]]:
    event: str | None = None
    options: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if name in ("--host", "--agent", "--project"):
            options[name] = value if equals else next(rest, "")
        elif event is None and not word.startswith("-"):
            event = word
        else:
            raise Ended("bad_input", "unknown_argument")
    return event, options


def _input(deadline: float) -> dict[str, object]:
    """The host's JSON; what never comes, or comes empty, counts as an empty object."""
    data = _read(deadline)
    if len(data) > _MOST_INPUT:
        raise Ended("bad_input", "too_large")
    if not data.strip():
        return {}
    try:
        given = json.loads(data)
    except (ValueError, RecursionError):
        raise Ended("bad_input", "not_json") from None
    if not isinstance(given, dict):
        raise Ended("bad_input", "not_json")
    return given


def _read(deadline: float) -> bytes:
    try:
        if os.isatty(0):
            return b""
        poll = select.poll()
        poll.register(0, select.POLLIN)
        parts: list[bytes] = []
        size = 0
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                return b"".join(parts)  # what is not complete is not JSON either
            ready = poll.poll((min(left, _QUIET) if parts else left) * 1000)
            if not ready:
                if parts and parts[-1].rstrip().endswith(b"}") and _complete(b"".join(parts)):
                    return b"".join(parts)
                continue
            part = os.read(0, 65536)
            if not part:
                return b"".join(parts)
            size += len(part)
            if size <= _MOST_INPUT + 65536:
                parts.append(part)
    except OSError:
        return b""  # a host that closed stdin has nothing to say


def _complete(data: bytes) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True


# --- the service -------------------------------------------------------------------------------------


def _ask(event: str, arguments: dict[str, str], options: dict[str, str], deadline: float) -> str | None:
    """Tell the service, and return what the agent should know."""
    from minutebook.surfaces.light.here import project_of

    environ = os.environ
    address = environ.get("MINUTEBOOK_SERVICE_URL", "").strip()
    project = options.get("--project") or environ.get("MINUTEBOOK_PROJECT", "").strip()
    agent = environ.get("MINUTEBOOK_AGENT", "").strip() or options.get("--agent", "")
    headers = {
        "User-Agent": f"minutebook-hook ({arguments['host']})",
        "Minutebook-Project": project or project_of(arguments.get("cwd", "/")) or "",
        "Minutebook-Run": environ.get("MINUTEBOOK_RUN", "").strip(),
    }
    token = environ.get("MINUTEBOOK_TOKEN", "").strip()
    if token:
        headers["Authorization"] = f"Bearer {token}"
    elif not address:
        headers["Minutebook-Agent"] = agent
    if address:
        # A file of this machine means nothing there.
        arguments = {name: value for name, value in arguments.items() if name != "transcript"}
        connection, headers["Host"] = _remote(address, deadline)
    else:
        connection, headers["Host"] = _local(deadline), "localhost"
    with connection:
        status, body = _exchange(connection, _request(event, headers, arguments), deadline)
    return _context(status, body)


def _local(deadline: float) -> socket.socket:
    """A connection to the service of the home; an absent one is started, and not waited for."""
    from minutebook.surfaces.light.places import places_of

    places = places_of(os.environ)
    places.check()
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(_left(deadline))
        connection.connect(places.socket)
    except (FileNotFoundError, ConnectionRefusedError):
        connection.close()
        raise _absent(places) from None
    except BlockingIOError:
        connection.close()
        raise Ended("refused", "overloaded") from None  # as many wait as the kernel keeps
    except BaseException:
        connection.close()
        raise
    return connection


def _absent(places: Places) -> Ended:
    if os.environ.get("MINUTEBOOK_SERVICE", "").strip() not in ("", "auto"):
        return Ended("no_service")
    from minutebook.surfaces.light.daemon import start_soon

    start_soon(places, os.environ)
    return Ended("starting")


def _remote(address: str, deadline: float) -> tuple[socket.socket, str]:
    """A connection to a service elsewhere, and the host to name there."""
    from urllib.parse import urlsplit

    parts = urlsplit(address)
    secure = parts.scheme == "https"
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Ended("bad_input", "bad_setting")
    try:
        connection = socket.create_connection(
            (parts.hostname, parts.port or (443 if secure else 80)), timeout=_left(deadline)
        )
    except TimeoutError:
        raise
    except OSError:
        raise Ended("no_service") from None
    if not secure:
        return connection, parts.netloc
    import ssl

    return ssl.create_default_context().wrap_socket(connection, server_hostname=parts.hostname), parts.netloc


def _request(event: str, headers: dict[str, str], arguments: dict[str, str]) -> bytes:
    body = json.dumps(arguments).encode()
    lines = [f"POST /api/hooks/{event}/receive HTTP/1.1"]
    lines += [f"{name}: {_header(value)}" for name, value in headers.items() if value]
    lines += ["Content-Type: application/json", f"Content-Length: {len(body)}", "Connection: close", "", ""]
    return "\r\n".join(lines).encode() + body


def _header(value: str) -> str:
    """A header is printable ASCII; anything else travels as percent-encoded UTF-8."""
    if value.isascii() and value.isprintable():
        return value
    return "".join(
        chr(byte) if 32 < byte < 127 and byte != 37 else f"%{byte:02X}"
        for byte in value.encode("utf-8", "surrogateescape")
    )


def _exchange(connection: socket.socket, request: bytes, deadline: float) -> tuple[int, bytes]:
    """Send one request and read its answer to the end."""
    parts: list[bytes] = []
    size = 0
    try:
        connection.settimeout(_left(deadline))
        connection.sendall(request)
        while size <= _MOST_ANSWER:
            connection.settimeout(_left(deadline))
            part = connection.recv(65536)
            if not part:
                break
            parts.append(part)
            size += len(part)
    except TimeoutError:
        raise
    except OSError:
        if not parts:
            raise Ended("no_service", "connection_lost") from None
    if size > _MOST_ANSWER:
        raise Ended("refused", "answer_too_large")
    head, _, body = b"".join(parts).partition(b"\r\n\r\n")
    words = head.split(b" ", 2)
    if len(words) < 2 or not words[0].startswith(b"HTTP/1.") or not words[1].isdigit():
        raise Ended("no_service", "connection_lost")
    return int(words[1]), body


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _context(status: int, body: bytes) -> str | None:
    try:
        said = json.loads(body)
    except ValueError:
        raise Ended("refused", f"http_{status}") from None
    if status >= 400:
        code = said.get("code") if isinstance(said, dict) else None
        raise Ended("refused", code if isinstance(code, str) else f"http_{status}")
    context = said.get("context") if isinstance(said, dict) else None
    return context if isinstance(context, str) and context else None


# --- the receipt -------------------------------------------------------------------------------------


def _leave(row: dict[str, object]) -> None:
    """Write the receipt; where even that fails, one line to stderr is all that is left to do."""
    # Hung storage may not hold up the host either: from here on the alarm ends the process, quietly.
    signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
    signal.setitimer(signal.ITIMER_REAL, _LAST_WORDS)
    try:
        from minutebook.surfaces.light.places import places_of

        places = places_of(os.environ)
        places.make()
        receipts.leave(receipts.file_of(places.home), row)
    except Exception as error:  # noqa: BLE001 - there is no further door
        outcome, why = row.get("outcome"), getattr(error, "code", "") or type(error).__name__
        try:
            _print(2, f"minutebook-hook: {outcome}; no receipt could be left ({why})\n")
        except OSError:
            return  # a host that closed stderr wants to hear nothing


if __name__ == "__main__":
    sys.exit(main())
