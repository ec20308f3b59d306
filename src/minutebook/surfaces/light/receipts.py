"""What every call of a hook leaves behind: when, for whom, how it went, how long it took, and no content.

A hook may neither hold up its host nor complain to it. So that it does not fail in silence either, it writes
one line here, which `minutebook doctor` reads.
"""

from __future__ import annotations

import fcntl
import json
import os
import time

#: A full file becomes the previous one; two of these are the most that is ever kept.
_MOST_BYTES = 256 * 1024
#: One line is written in one step, so that two hooks at once cannot tear each other's.
_MOST_LINE = 1024


def file_of(home: str) -> str:
    return f"{home}/run/hooks.jsonl"


def leave(path: str, row: dict[str, object]) -> None:
    """Append one receipt. Raises OSError where it cannot."""
    line = json.dumps({"at": _now(), **row}, separators=(",", ":")).encode()
    if len(line) > _MOST_LINE:
        line = json.dumps({"at": _now(), "outcome": row.get("outcome"), "code": "too_large"}).encode()
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o600)
    try:
        os.write(descriptor, line + b"\n")
        if os.fstat(descriptor).st_size > _MOST_BYTES:
            _turn_over(path, descriptor)
    finally:
        os.close(descriptor)


def _turn_over(path: str, descriptor: int) -> None:
    """Let the full file be the previous one. Of several that see it full, one does; a second would lose it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    if os.fstat(descriptor).st_ino == os.stat(path).st_ino:
        os.replace(path, path + ".1")


def _now() -> str:
    now = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1e6):06d}Z"


def read(path: str) -> tuple[list[dict[str, object]], int]:
    """All receipts that are kept, oldest first, and how many lines could not be read as one."""
    rows: list[dict[str, object]] = []
    unreadable = 0
    for name in (path + ".1", path):
        try:
            descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError:
            continue
        with open(descriptor, "rb") as file:
            # A line more than the limit may stand in it: it is turned over after the line that fills it.
            for line in file.read(_MOST_BYTES + 2 * _MOST_LINE).splitlines():
                try:
                    row = json.loads(line)
                except ValueError:
                    row = None
                if isinstance(row, dict):
                    rows.append(row)
                else:
                    unreadable += 1
    return rows, unreadable
