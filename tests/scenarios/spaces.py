"""A mount namespace of its own: a full or a read-only disk that is nobody else's."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_UNSHARE = ("unshare", "--user", "--map-root-user", "--mount")


@cache
def can_mount() -> bool:
    """Whether this machine lets us have one; containers often do not."""
    try:
        tried = subprocess.run(
            [*_UNSHARE, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return tried.returncode == 0


@dataclass(frozen=True)
class Space:
    """A living namespace: `prefix` runs a command in it, `inside` names its files from out here."""

    pid: int
    cwd: Path

    @property
    def prefix(self) -> tuple[str, ...]:
        # Entering a namespace leaves the working directory for the root of it: go back.
        enter = ("nsenter", "-t", str(self.pid), "--user", "--mount", "--preserve-credentials")
        return (*enter, "env", "-C", str(self.cwd))

    def inside(self, path: Path) -> Path:
        return Path(f"/proc/{self.pid}/root{path}")


@contextmanager
def space(cwd: Path, *mount: str) -> Iterator[Space]:
    """A namespace in which `mount` was carried out; it goes with the process that holds it."""
    holder = subprocess.Popen(
        [*_UNSHARE, "sh", "-c", '"$@" && echo ready && exec cat', "sh", *mount],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    try:
        assert holder.stdout.readline() == "ready\n"
        yield Space(holder.pid, cwd)
    finally:
        holder.stdin.close()
        holder.stdout.close()
        holder.wait(20)
