"""The sockets that a service listens on: two for this user alone, and a port of the loopback."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
from dataclasses import dataclass

from minutebook.model.errors import MinutebookError
from minutebook.settings import Settings
from minutebook.surfaces.light.places import Places

#: The port of a service that was given none.
USUAL_PORT = 8646
#: Connections that wait to be accepted.
_BACKLOG = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Doors:
    """Open sockets, and the address of the port."""

    http: socket.socket
    lines: socket.socket
    port: socket.socket
    url: str

    def close(self) -> None:
        for door in (self.http, self.lines, self.port):
            door.close()


def open_doors(settings: Settings, places: Places) -> Doors:
    """Listen. Only whoever holds the service's lock calls this: it removes the sockets of one that died."""
    places.clear()
    places.make()
    port, url = _open_port(settings, places)
    try:
        http = _open_socket(places.socket)
        try:
            return Doors(http=http, lines=_open_socket(places.mcp_socket), port=port, url=url)
        except BaseException:
            http.close()
            raise
    except BaseException:
        port.close()
        raise


def _open_socket(path: str) -> socket.socket:
    door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        door.bind(path)
        door.listen(_BACKLOG)
    except OSError as error:
        door.close()
        raise MinutebookError("cannot_open", f"Cannot listen at {path} ({error.strerror}).") from error
    finally:
        os.umask(before)
    door.setblocking(False)
    return door


# --- the port ----------------------------------------------------------------------------------------


def _open_port(settings: Settings, places: Places) -> tuple[socket.socket, str]:
    host = checked_host(settings)
    if settings.port:
        wanted = [settings.port]
    else:
        # The port it had before comes first: what was configured elsewhere stays true.
        wanted = [*_port_before(places), USUAL_PORT, 0]
    failed: OSError | None = None
    for number in dict.fromkeys(wanted):
        try:
            door = _bind(host, number)
        except OSError as error:
            failed = error
            if error.errno != errno.EADDRINUSE:
                break
        else:
            taken = door.getsockname()[1]
            _note_port(places, taken)
            return door, f"http://[{host}]:{taken}" if ":" in host else f"http://{host}:{taken}"
    assert failed is not None
    advice = "name another with --port" if failed.errno == errno.EADDRINUSE else "look at --host and --port"
    raise MinutebookError(
        "bad_setting",
        f"Cannot listen at port {settings.port or USUAL_PORT} of {host} ({failed.strerror}).",
        hint=advice,
    ) from failed


def checked_host(settings: Settings) -> str:
    """The address to listen at. One that others can reach must be meant: it takes the names it answers for."""
    host = "127.0.0.1" if settings.host.lower() == "localhost" else settings.host.strip("[]")
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        raise MinutebookError(
            "bad_setting", f"The host must be an address such as 127.0.0.1, not {host[:80]!r}."
        ) from None
    if not address.is_loopback and not settings.allowed_hosts.strip():
        raise MinutebookError(
            "bad_setting",
            f"{host} can be reached from other machines, where the service answers for no name yet.",
            hint="set MINUTEBOOK_ALLOWED_HOSTS to the names by which they reach it",
        )
    return host


def _bind(host: str, number: int) -> socket.socket:
    # Named, because asyncio turns Nagle's delay off only for a socket whose protocol it is told.
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    door = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        # Without it a service that was just ended keeps its own port from the next one for a minute.
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        door.bind((host, number))
        door.listen(_BACKLOG)
    except OSError:
        door.close()
        raise
    door.setblocking(False)
    return door


def _port_before(places: Places) -> list[int]:
    try:
        with open(places.port, "rb") as file:
            noted = file.read(16).strip()
    except FileNotFoundError:
        return []
    return [int(noted)] if noted.isdigit() and 0 < int(noted) < 65536 else []


def _note_port(places: Places, number: int) -> None:
    with open(
        os.open(places.port, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "w"
    ) as file:
        file.write(f"{number}\n")
