"""Who is at the other end of a unix socket: the kernel says so, and nobody else is asked."""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass
from typing import Any

#: macOS has the same by another name: level, option, and the two numbers that its answer begins with.
_LOCAL = (0, 1)


@dataclass(frozen=True, slots=True)
class Peer:
    """The process that connected, as it was when it did; without a pid where the system tells none."""

    uid: int
    pid: int | None = None


def peer_of(connected: Any) -> Peer | None:
    """The peer of a connected unix socket; None for a socket of any other family."""
    if connected is None or connected.family != socket.AF_UNIX:
        return None
    if hasattr(socket, "SO_PEERCRED"):
        told = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        pid, uid, _ = struct.unpack("3i", told)
        return Peer(uid=uid, pid=pid)
    _, uid = struct.unpack_from("2I", connected.getsockopt(*_LOCAL, 128))
    return Peer(uid=uid)
