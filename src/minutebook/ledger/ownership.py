"""Who owns a SQLite ledger: the process that holds the lock file beside it.

The lock is on a file of its own and never on the database: closing any handle of a database file would
cancel SQLite's locks in the whole process (POSIX), and acknowledged writes would be lost without a sign.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
import weakref
from pathlib import Path

from minutebook.model.errors import MinutebookError

#: Seconds between two looks at the lock: short at first, so that a queue of short commands moves fast.
SHORTEST_PAUSE = 0.002
LONGEST_PAUSE = 0.025


class Ownership:
    """The right to open one database, until released. The kernel releases it when the process dies."""

    def __init__(self, path: Path, handle: int) -> None:
        self.path = path
        self._handle: int | None = handle
        _held.add(self)

    def release(self) -> None:
        """Give the ledger up. Idempotent. The lock file stays: deleting it would give it two owners."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)


_held: weakref.WeakSet[Ownership] = weakref.WeakSet()


def _forget_in_child() -> None:
    # Drop the inherited handles, so that the lock ends with the parent and not with its last child.
    for ownership in list(_held):
        ownership.release()


os.register_at_fork(after_in_child=_forget_in_child)


def lock_path(database: Path) -> Path:
    """The lock file of a database."""
    return database.with_name(database.name + ".lock")


def own(database: Path, *, wait: float, since: str) -> Ownership:
    """Become the owner of a database, or say who is, after `wait` seconds."""
    path = lock_path(database)
    _make_directory(path.parent)
    if database.is_dir():
        raise MinutebookError(
            "cannot_open", f"{database} is a directory; name a file in it.", path=str(database)
        )
    deadline = time.monotonic() + wait
    pause = SHORTEST_PAUSE
    while True:
        handle = _lock(path)
        if handle is not None:
            note = f"{os.getpid()} {since}\n".encode()
            os.ftruncate(handle, 0)
            os.pwrite(handle, note, 0)
            return Ownership(path, handle)
        left = deadline - time.monotonic()
        if left <= 0:
            raise _busy(database)
        # The odd nanoseconds are the jitter: several processes that started together drift apart.
        jitter = 0.5 + (time.monotonic_ns() // 1000 % 1000) / 1000
        time.sleep(min(pause * jitter, left))
        pause = min(pause * 1.5, LONGEST_PAUSE)


def owner_pid(database: Path) -> int | None:
    """Which process last became the owner, as it noted itself; for messages only."""
    noted = _note(database)
    return int(noted[0]) if noted else None


def _lock(path: Path) -> int | None:
    """Try once. A handle that holds the lock of the file that the path names now, or None."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise _cannot_open(path, error) from error
    locked = False
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        except OSError as error:
            raise _cannot_open(path, error) from error
        # Somebody may have deleted or replaced the file between open and lock; such a lock guards nothing.
        try:
            named = path.stat()
        except FileNotFoundError:
            return None
        held = os.fstat(handle)
        locked = (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino)
        return handle if locked else None
    finally:
        if not locked:
            os.close(handle)


def _make_directory(directory: Path) -> None:
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise _cannot_open(directory, error) from error


def _note(database: Path) -> list[str] | None:
    try:
        words = lock_path(database).read_text("utf-8", errors="replace").split()
    except OSError:
        return None  # nothing noted, or not for us to read: the message does without
    return words if words and words[0].isdigit() else None


def _busy(database: Path) -> MinutebookError:
    noted = _note(database)
    if noted is None:
        return MinutebookError("ledger_busy", f"Another process owns {database}; wait for it to end.")
    since = f" since {noted[1]}" if len(noted) > 1 else ""
    return MinutebookError(
        "ledger_busy",
        f"Process {noted[0]} owns {database}{since}; wait for it to end, or ask it to do the work.",
        pid=int(noted[0]),
    )


def _cannot_open(path: Path, error: OSError) -> MinutebookError:
    advice = {
        errno.EACCES: "give your user write permission there, or name another place",
        errno.EPERM: "give your user write permission there, or name another place",
        errno.EROFS: "the file system is read-only; name another place",
        errno.ENOTDIR: "part of the path is a file and not a directory",
        errno.EEXIST: "part of the path is a file and not a directory",
        errno.EISDIR: "it is a directory; name a file",
        errno.ELOOP: "it is a symbolic link; name the place itself",
        errno.ENOSPC: "there is no room on the disk",
        errno.ENOLCK: "the file system has no locks; name a place on a local disk",
    }.get(error.errno or 0, "look at the path and its permissions")
    code = "disk_full" if error.errno == errno.ENOSPC else "cannot_open"
    return MinutebookError(code, f"Cannot open {path} ({error.strerror}): {advice}.", path=str(path))
