"""The service from outside: find it, start it when it is absent, stop it, see whether it answers.

The relay and the hook come through here too, so only the standard library is imported, and only what an
ordinary join needs; errors of ours are imported when there is one.
"""

from __future__ import annotations

import fcntl
import os
import socket
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from minutebook.surfaces.light.places import Places

#: Seconds for a service to start, beyond those it may wait for the ledger's present owner.
START_SECONDS = 20.0
#: Seconds for a service to finish what it has and end.
STOP_SECONDS = 30.0
#: Seconds for it to accept a connection, or to answer a question that needs no ledger.
ANSWER_SECONDS = 5.0
#: Seconds between two looks.
_SHORTEST_PAUSE = 0.003
_LONGEST_PAUSE = 0.05
#: The most that is read of what it says about itself.
_MOST_BYTES = 256 * 1024
#: What belongs to the command that starts the service and not to the service.
_OF_THE_CALLER = (
    "MINUTEBOOK_AGENT", "MINUTEBOOK_PROJECT", "MINUTEBOOK_RUN", "MINUTEBOOK_TOKEN", "MINUTEBOOK_SERVICE_URL",
    "MINUTEBOOK_SERVICE",
)  # fmt: skip

#: What `start_soon` started, until it left its own child behind as the service.
_left: list[int] = []


# --- joining -----------------------------------------------------------------------------------------


def connect(places: Places, path: str) -> socket.socket | None:
    """A connection to the running service's socket at `path`, or None where nobody listens."""
    places.check()
    deadline = time.monotonic() + ANSWER_SECONDS
    while True:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(ANSWER_SECONDS)
            connection.connect(path)
        except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError):
            connection.close()
            return None
        except (BlockingIOError, TimeoutError):
            # As many wait to be accepted as the kernel keeps.
            connection.close()
            if time.monotonic() > deadline:
                raise silent(places) from None
            time.sleep(_LONGEST_PAUSE)
        except OSError as error:
            connection.close()
            raise _error("no_service", f"Cannot connect to {path} ({error.strerror}).", path=path) from error
        else:
            connection.settimeout(None)
            return connection


def join(places: Places, path: str, *, environ: Mapping[str, str], start: bool = True) -> socket.socket:
    """A connection to the service's socket at `path`, which is started when it is absent.

    However many do this at once, one of them starts it and all are connected. What keeps it from starting is
    raised here as it was raised there.
    """
    found = connect(places, path)
    if found is not None:
        return found
    if not start:
        raise _error(
            "no_service", f"No service runs for {places.home}.", hint="start it with `minutebook serve`"
        )
    places.make()
    deadline = time.monotonic() + START_SECONDS + _lock_wait(environ)
    pause = _SHORTEST_PAUSE
    while True:
        lock = try_lock(places.start_lock)
        try:
            found = connect(places, path)
            if found is not None:
                return found
            if lock is not None:
                _start(places, environ, deadline)
                found = connect(places, path)
                if found is not None:
                    return found
        finally:
            if lock is not None:
                os.close(lock)
        if time.monotonic() > deadline:
            raise silent(places)
        time.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE)


def start_soon(places: Places, environ: Mapping[str, str]) -> None:
    """Start the service and do not wait for it; one that is starting already wins over ours."""
    places.make()
    while _left and os.waitpid(_left[0], os.WNOHANG)[0]:
        del _left[0]
    process = _spawn(places, environ, None)
    _left.append(process.pid)
    # Nobody waits for it now, and nobody is to be warned of that: it ends as soon as the service is on its way.
    process.returncode = 0


def _start(places: Places, environ: Mapping[str, str], deadline: float) -> None:
    """Start the service and wait until it is ready, or raise what kept it from it."""
    ours, theirs = os.pipe()
    try:
        try:
            process = _spawn(places, environ, theirs)
        finally:
            os.close(theirs)
        said = _read_until_closed(ours, deadline)
        if said is None:
            raise _error(
                "no_service",
                f"The service was started and is not ready after {START_SECONDS:.0f} seconds.",
                log=places.log,
                hint=f"look into {places.log}",
            )
        # It left its own child behind as the service, and ends at once.
        process.wait()
    finally:
        os.close(ours)
    if said.startswith(b"{"):
        import json

        told = json.loads(said)
        raise _error(told["code"], told["message"], **told["details"])
    if said != b"ready\n":
        raise _error(
            "no_service",
            "The service ended before it was ready.",
            log=places.log,
            hint=f"look into {places.log}",
        )


def _spawn(places: Places, environ: Mapping[str, str], ready: int | None) -> Any:
    import subprocess
    import sys

    clean = {name: value for name, value in environ.items() if name not in _OF_THE_CALLER}
    clean["MINUTEBOOK_HOME"] = places.home
    clean.pop("MINUTEBOOK_DATABASE_URL", None)
    if places.database_url:
        clean["MINUTEBOOK_DATABASE_URL"] = places.database_url
    if "PYTHONPATH" in clean:
        # It runs in another directory.
        parts = clean["PYTHONPATH"].split(os.pathsep)
        clean["PYTHONPATH"] = os.pathsep.join(os.path.abspath(part) for part in parts if part)
    # -P: a directory with a json.py in it must not become part of the program.
    words = [sys.executable, "-P", "-m", "minutebook", "serve", "--background"]
    words += ["--ready-fd", "-1" if ready is None else str(ready)]
    log = os.open(places.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        return subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=clean,
            cwd="/",
            pass_fds=() if ready is None else (ready,),
            start_new_session=True,
        )
    finally:
        os.close(log)


def _read_until_closed(descriptor: int, deadline: float) -> bytes | None:
    """All that comes through a pipe until its other end is closed; None if that is not in time."""
    import select

    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    said = b""
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not poll.poll(left * 1000):
            return None
        part = os.read(descriptor, 65536)
        if not part:
            return said
        said += part


def _lock_wait(environ: Mapping[str, str]) -> float:
    """How long a service may wait for the ledger's present owner; it judges the setting itself."""
    try:
        return max(0.0, float(environ.get("MINUTEBOOK_LOCK_WAIT") or 30.0))
    except ValueError:
        return 0.0


# --- who runs ----------------------------------------------------------------------------------------


def owner(places: Places) -> int | None:
    """The process that is the service, which holds its lock; None when there is none, 0 for an unnamed one."""
    places.check()
    try:
        handle = os.open(places.lock, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _error("no_service", f"Cannot read {places.lock} ({error.strerror}).") from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            noted = os.pread(handle, 32, 0).split()
            return int(noted[0]) if noted and noted[0].isdigit() else 0
        return None
    finally:
        os.close(handle)


def take_lock(places: Places) -> int | None:
    """A handle that makes this process the service until it ends; None when another one is."""
    places.make()
    handle = try_lock(places.lock)
    if handle is not None:
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
    return handle


def facts_of(places: Places) -> dict[str, Any] | None:
    """What the running service wrote about itself; None when there is nothing."""
    import json

    try:
        with open(places.facts, "rb") as file:
            found = json.loads(file.read(_MOST_BYTES))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def ask(places: Places, path: str = "/service", *, wait: float = ANSWER_SECONDS) -> dict[str, Any] | None:
    """What the service says about itself now, from its memory; None when there is none.

    One that takes the connection and does not answer is an error that names its process.
    """
    import json

    connection = connect(places, places.socket)
    if connection is None:
        return None
    deadline = time.monotonic() + wait
    said = b""
    try:
        connection.settimeout(wait)
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        while len(said) < _MOST_BYTES:
            connection.settimeout(max(0.001, deadline - time.monotonic()))
            part = connection.recv(65536)
            if not part:
                break
            said += part
    except TimeoutError:
        raise silent(places) from None
    except (BrokenPipeError, ConnectionResetError):
        said = b""
    finally:
        connection.close()
    head, _, body = said.partition(b"\r\n\r\n")
    if not head:
        return None  # it was ending while we asked
    told = json.loads(body)
    if b" 200 " not in head[:20]:
        raise _error(told["code"], told["message"], **told["details"])
    return told


def stop(places: Places, *, force: bool = False, wait: float = STOP_SECONDS) -> int | None:
    """End the service and wait until it has ended: its process id, or None when there was none."""
    import signal

    pid = owner(places)
    deadline = time.monotonic() + wait
    while pid == 0 and time.monotonic() < deadline:
        # It took its lock in this very moment and did not write its name yet.
        time.sleep(_SHORTEST_PAUSE)
        pid = owner(places)
    if not pid:
        return None
    try:
        os.kill(pid, signal.SIGKILL if force else signal.SIGTERM)
    except ProcessLookupError:
        pass  # it has just ended, or lives in another container; the lock tells
    except PermissionError as error:
        raise _error("not_allowed", f"The service is process {pid} of another user.", pid=pid) from error
    while owner(places) == pid:
        if time.monotonic() > deadline:
            raise _error(
                "no_service",
                f"The service (process {pid}) has not ended after {wait:.0f} seconds.",
                pid=pid,
                hint="it may be finishing a long operation; --force ends it at once",
            )
        time.sleep(_LONGEST_PAUSE / 5)
    if force and (lock := try_lock(places.lock)) is not None:
        # It had no time to do this itself.
        places.clear()
        os.close(lock)
    return pid


def silent(places: Places) -> Exception:
    """The error for a service that is there and does not answer."""
    pid = owner(places)
    if pid is None:
        return _error("no_service", "The service ended while it was asked; ask again.")
    return _error(
        "no_service",
        f"The service (process {pid}) takes connections and does not answer.",
        pid=pid,
        log=places.log,
        hint=f"look into {places.log}, then: minutebook stop --force",
    )


def try_lock(path: str) -> int | None:
    """A handle that holds the lock of the file at `path`, or None if somebody else does."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise _error("no_service", f"Cannot open {path} ({error.strerror}).", path=path) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    return handle


def _error(code: str, message: str, **details: Any) -> Exception:
    from minutebook.model.errors import MinutebookError

    return MinutebookError(code, message, **details)
