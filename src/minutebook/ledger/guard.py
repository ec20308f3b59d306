"""Keeps our own process from opening the database files by any way but SQLite's.

On POSIX, closing *any* handle of a file drops all the locks that the process has on it, SQLite's among
them: a daemon that merely hashes or copies its own database loses acknowledged writes, silently. So every
open, rename, removal, truncation or link of a guarded file from Python raises. SQLite's own opens do not
pass through Python and are not seen here.

What slips by: code that is not Python's, and other processes. The second is what the ownership lock and the
check before each commit are for.
"""

from __future__ import annotations

import os
import stat
import sys
import threading
from pathlib import Path
from typing import Any

from minutebook.model.errors import MinutebookError

SUFFIXES = ("", "-wal", "-shm", "-journal")

Identity = tuple[int, int]

_lock = threading.Lock()
_installed = False
# Replaced whole and never changed in place, so that the hook can read them without a lock.
_identities: frozenset[Identity] = frozenset()
_paths: frozenset[str] = frozenset()
_names: frozenset[str] = frozenset()
_watched: dict[str, frozenset[Identity]] = {}


def watch(database: Path) -> None:
    """Guard the files of an open database, from now on. Call it when SQLite has created all of them."""
    real = os.path.realpath(database)
    found = {identity for suffix in SUFFIXES if (identity := identity_of(real + suffix)) is not None}
    with _lock:
        _watched[real] = frozenset(found)
        _publish()
        _install()


def unwatch(database: Path) -> None:
    """Stop guarding them: the database is closed."""
    with _lock:
        _watched.pop(os.path.realpath(database), None)
        _publish()


def identity_of(path: str) -> Identity | None:
    """Which file a path names now, links followed; None if there is none. Opens nothing."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def _publish() -> None:
    global _identities, _paths, _names
    _identities = frozenset().union(*_watched.values())
    _paths = frozenset(real + suffix for real in _watched for suffix in SUFFIXES)
    _names = frozenset(os.path.basename(path) for path in _paths)


def _install() -> None:
    global _installed
    if not _installed:
        # An audit hook cannot be taken out again; with nothing to guard it returns at once.
        sys.addaudithook(_hook)
        _installed = True


def _hook(event: str, args: tuple[Any, ...]) -> None:
    # Called for every audited event of the process: whatever is not ours must leave in one look-up.
    check = _CHECKS.get(event)
    if check is not None and _paths:
        check(args)


def _open(args: tuple[Any, ...]) -> None:
    path, _mode, flags = args
    if isinstance(path, int) or path is None:
        return  # a handle: it was opened before, and seen then
    name = os.fspath(path)
    text = os.fsdecode(name) if isinstance(name, bytes) else name
    _check(text)
    # The event does not tell a dir_fd. A bare name of ours that is not in the working directory, and is not
    # to be created there, is most likely relative to one: refuse rather than lose writes.
    if (
        text in _names
        and not (isinstance(flags, int) and flags & os.O_CREAT)
        and identity_of(text) is None
        and not os.path.isabs(text)
    ):
        _refuse(text)


def _one_path(args: tuple[Any, ...]) -> None:
    """remove(path, dir_fd)"""
    path, dir_fd = args
    _check_at(path, dir_fd)


def _two_paths(args: tuple[Any, ...]) -> None:
    """rename or link(source, target, source_dir_fd, target_dir_fd)"""
    source, target, source_fd, target_fd = args
    _check_at(source, source_fd)
    _check_at(target, target_fd)


def _truncate(args: tuple[Any, ...]) -> None:
    if not isinstance(args[0], int):
        _check_at(args[0], -1)


def _stdlib_sqlite(args: tuple[Any, ...]) -> None:
    name = os.fspath(args[0]) if not isinstance(args[0], (str, bytes)) else args[0]
    text = os.fsdecode(name)
    if text.startswith("file:"):
        from urllib.parse import unquote, urlsplit

        text = unquote(urlsplit(text).path)
    _check(text)


_CHECKS = {
    "open": _open,
    "os.remove": _one_path,
    "os.rename": _two_paths,
    "os.link": _two_paths,
    "os.truncate": _truncate,
    "sqlite3.connect": _stdlib_sqlite,
}


def _check_at(path: Any, dir_fd: Any) -> None:
    text = os.fsdecode(os.fspath(path))
    if isinstance(dir_fd, int) and dir_fd >= 0 and not os.path.isabs(text):
        try:
            found = os.stat(text, dir_fd=dir_fd)
        except (OSError, ValueError):
            return
        if (found.st_dev, found.st_ino) in _identities:
            _refuse(text)
        return
    _check(text)


def _check(text: str) -> None:
    # By name for what does not exist yet (a journal), by identity for links of both kinds and odd spellings.
    if os.path.basename(text) in _names:
        directory, name = os.path.split(os.path.abspath(text))
        if os.path.join(os.path.realpath(directory), name) in _paths:
            _refuse(text)
    try:
        found = os.stat(text)
    except (OSError, ValueError):
        return
    if stat.S_ISREG(found.st_mode) and (found.st_dev, found.st_ino) in _identities:
        _refuse(text)


def _refuse(text: str) -> None:
    raise MinutebookError(
        "forbidden_open",
        f"{text} is a file of the open ledger; opening it would cancel SQLite's locks and lose writes. "
        "Use the ledger's own operations (backup, export).",
        path=text,
    )
