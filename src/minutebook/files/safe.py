"""Reads a folder that others write to, without ever being led out of it.

A path is walked component by component through directory handles that follow no link: whoever exchanges a
folder for a link between two steps gets an error out of us, never a file from elsewhere. Checking a path and
opening it afterwards loses that race; nothing here does so.

*Absent* is an answer (None). *Cannot be read* is an error. Whoever takes one for the other deletes memory.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from minutebook.files.lines import digest_of, lines_of, sha256_of
from minutebook.model.errors import MinutebookError
from minutebook.model.text import visible

#: What is read of one file at most, unless the caller says otherwise.
MOST_BYTES = 4 * 1024 * 1024
#: Names that are listed of one folder at most.
MOST_NAMES = 50_000
#: How often a file that is replaced or written to while we read it is read again.
_ATTEMPTS = 8

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


Answer = TypeVar("Answer")


class Sort(StrEnum):
    """What a name in a folder stands for."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    #: a file with a second name, which may lie anywhere
    SHARED = "shared"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Facts:
    """Which file it is, and when it was last changed: enough to know it again without reading it."""

    device: int
    inode: int
    size: int
    changed_ns: int
    mode: int


@dataclass(frozen=True, slots=True)
class Found:
    """A file as it was read, whole."""

    data: bytes
    sha256: str
    facts: Facts


@dataclass(frozen=True, slots=True)
class Named:
    """One name of a folder."""

    name: str
    sort: Sort
    facts: Facts


@dataclass(frozen=True, slots=True)
class Cited:
    """Lines of a file, and their hash. `whole` is False where the file ends before the last line asked for."""

    first: int
    last: int
    lines: tuple[bytes, ...]
    digest: str
    whole: bool


def parts_of(path: str) -> list[str]:
    """The components of a path that stays in its folder. Every file has one spelling, and others are errors."""
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts):
        raise unsafe(path, "is not a plain path below the folder")
    if "\0" in path or ".." in path.replace("\\", "/").split("/"):
        raise unsafe(path, "holds a character or a step that no file name has")
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise unsafe(path, "is not text that a file name can be") from None
    return parts


class Root:
    """A folder, held open. Every path is relative to it; the folder itself is trusted as it was named."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        with errors_of(str(path)):
            try:
                self._handle = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            except FileNotFoundError:
                raise MinutebookError(
                    "not_found", f"There is no folder {visible(str(path))}.", path=str(path)
                ) from None
            except NotADirectoryError:
                raise unsafe(str(path), "is not a folder") from None

    def close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def __enter__(self) -> Root:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def read(self, path: str, *, most: int = MOST_BYTES) -> Found | None:
        """A plain file, whole and as of one moment; None where there is none."""
        with self.folder_of(path) as (folder, leaf):
            found = None if folder is None else read_at(folder, leaf, path, most=most)
        return self._or_absent(found)

    def look(self, path: str) -> Named | None:
        """What stands at a path, without opening it; None where there is nothing."""
        with self.folder_of(path) as (folder, leaf):
            found = None if folder is None else look_at(folder, leaf, path)
        return self._or_absent(found)

    def cite(
        self, path: str, first: int = 1, last: int | None = None, *, most: int = MOST_BYTES
    ) -> Cited | None:
        """Lines of a file, counted from 1, the last one included; None where there is no such file."""
        found = self.read(path, most=most)
        if found is None:
            return None
        lines = lines_of(found.data)
        end = len(lines) if last is None else last
        cut = tuple(lines[max(first, 1) - 1 : max(end, 0)])
        return Cited(first, end, cut, digest_of(cut), first >= 1 and end <= len(lines))

    def names(self, folder: str = "", *, most: int = MOST_NAMES) -> tuple[Named, ...] | None:
        """What a folder holds, sorted by name; None where there is no such folder."""
        with self.folder_of(f"{folder}/x" if folder else "x") as (handle, _):
            found = None if handle is None else _names_in(handle, folder, most)
        return self._or_absent(found)

    def imprint(self, folder: str, *, most: int = MOST_NAMES) -> str | None:
        """A hash of which files a folder holds: while it is the same, none of them changed. None without a folder."""
        with self.folder_of(f"{folder}/x" if folder else "x") as (handle, _):
            found = None if handle is None else _imprint_of(handle, folder, most)
        return self._or_absent(found)

    @contextlib.contextmanager
    def folder_of(self, path: str, *, make: bool = False) -> Iterator[tuple[int | None, str]]:
        """The handle of the folder in which a path lies (None where it is absent), and the last component."""
        *folders, leaf = parts_of(path)
        with errors_of(path):
            handle = os.dup(self._handle)
        try:
            for depth, name in enumerate(folders):
                with errors_of("/".join(folders[: depth + 1])):
                    inner = _enter(handle, name, "/".join(folders[: depth + 1]), make=make)
                os.close(handle)
                handle = -1
                if inner is None:
                    break
                handle = inner
            with errors_of(path):
                yield (None if handle < 0 else handle), leaf
        finally:
            if handle >= 0:
                os.close(handle)

    def _or_absent(self, found: Answer | None) -> Answer | None:
        """What was found; nothing is only said to be absent while the folder itself is where it was."""
        if found is None:
            with errors_of(str(self.path)):
                held = os.fstat(self._handle)
                try:
                    here = os.stat(self.path)
                except FileNotFoundError:
                    here = None
            if here is None or (here.st_dev, here.st_ino) != (held.st_dev, held.st_ino):
                raise MinutebookError(
                    "no_access",
                    f"The folder {visible(str(self.path))} was moved or removed while it was read.",
                    path=str(self.path),
                )
        return found


def _enter(handle: int, name: str, path: str, *, make: bool) -> int | None:
    """Open a folder in a folder; where it may be made, make it, and have its name on the disk."""
    try:
        return os.open(name, _FOLDER, dir_fd=handle)
    except FileNotFoundError:
        if not make:
            return None
    except OSError as error:
        # A link answers with either, by the kind of system.
        if error.errno in (errno.ENOTDIR, errno.ELOOP, errno.EMLINK):
            raise unsafe(path, "is a link or a file where a folder should be") from None
        raise
    with contextlib.suppress(FileExistsError):  # another one made it; the next look says what it is
        os.mkdir(name, 0o755, dir_fd=handle)
    os.fsync(handle)
    return _enter(handle, name, path, make=False)


def look_at(folder: int, leaf: str, path: str) -> Named | None:
    """What a name in an open folder stands for."""
    with errors_of(path):
        try:
            found = os.stat(leaf, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None
    return Named(leaf, _sort_of(found), facts_of(found))


def read_at(folder: int, leaf: str, path: str, *, most: int = MOST_BYTES) -> Found | None:
    """Read a plain file of an open folder. Asked again where it is replaced or written to meanwhile."""
    for _ in range(_ATTEMPTS):
        # Looked at before it is opened: to open a pipe or a device is to do something to it.
        seen = look_at(folder, leaf, path)
        if seen is None:
            return None
        if seen.sort is not Sort.FILE:
            raise unsafe(path, _WHY[seen.sort])
        with errors_of(path):
            found = _read_once(folder, leaf, path, most)
        if found is not None:
            return found
    raise MinutebookError(
        "no_access", f"{visible(path)} is being written to; it was not read.", path=path, hint="try again"
    )


def _read_once(folder: int, leaf: str, path: str, most: int) -> Found | None:
    """The file, or None when it did not hold still."""
    try:
        handle = os.open(leaf, _FILE, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENXIO):
            raise unsafe(path, _WHY[Sort.LINK]) from None
        raise
    try:
        before = os.fstat(handle)
        if before.st_nlink == 0:
            return None  # another was renamed into its place
        if (sort := _sort_of(before)) is not Sort.FILE:
            raise unsafe(path, _WHY[sort])
        if before.st_size > most:
            raise _too_large(path, most)
        pieces: list[bytes] = []
        left = most + 1
        while left and (piece := os.read(handle, min(left, 1 << 20))):
            pieces.append(piece)
            left -= len(piece)
        data = b"".join(pieces)
        if len(data) > most:
            raise _too_large(path, most)
        after = os.fstat(handle)
    finally:
        os.close(handle)
    if facts_of(before) != facts_of(after) or len(data) != after.st_size:
        return None
    return Found(data, sha256_of(data), facts_of(after))


def _names_in(handle: int, folder: str, most: int) -> tuple[Named, ...]:
    found: list[Named] = []
    with os.scandir(handle) as entries:
        for entry in entries:
            if len(found) == most:
                raise MinutebookError(
                    "too_many", f"{visible(folder) or 'The folder'} holds over {most} names.", limit=most
                )
            try:
                facts = os.stat(entry.name, dir_fd=handle, follow_symlinks=False)
            except FileNotFoundError:
                continue  # it left between the two looks
            found.append(Named(entry.name, _sort_of(facts), facts_of(facts)))
    return tuple(sorted(found, key=lambda named: named.name))


def _imprint_of(handle: int, folder: str, most: int) -> str:
    names = os.listdir(handle)
    if len(names) > most:
        raise MinutebookError(
            "too_many", f"{visible(folder) or 'The folder'} holds over {most} names.", limit=most
        )
    seen = hashlib.sha256()
    for name in sorted(names):
        try:
            at = os.stat(name, dir_fd=handle, follow_symlinks=False)
        except FileNotFoundError:
            continue  # it left between the two looks
        seen.update(
            b"%s\0%d %d %d %d %d %d\0"
            % (os.fsencode(name), at.st_mode, at.st_nlink, at.st_dev, at.st_ino, at.st_size, at.st_mtime_ns)
        )
    return seen.hexdigest()


def _sort_of(found: os.stat_result) -> Sort:
    if stat.S_ISREG(found.st_mode):
        return Sort.FILE if found.st_nlink <= 1 else Sort.SHARED
    if stat.S_ISDIR(found.st_mode):
        return Sort.FOLDER
    return Sort.LINK if stat.S_ISLNK(found.st_mode) else Sort.OTHER


def facts_of(found: os.stat_result) -> Facts:
    return Facts(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, stat.S_IMODE(found.st_mode))


_WHY = {
    Sort.FOLDER: "is a folder, not a file",
    Sort.LINK: "is a link; links are not followed",
    Sort.SHARED: "has a second name (a hard link), which may lie elsewhere",
    Sort.OTHER: "is a pipe, a socket or a device, not a plain file",
}


def unsafe(path: str, why: str) -> MinutebookError:
    return MinutebookError("unsafe_file", f"{visible(path[:300], lines=False)} {why}.", path=path[:300])


def _too_large(path: str, most: int) -> MinutebookError:
    return MinutebookError(
        "too_large", f"{visible(path)} is larger than {most} bytes.", path=path, limit=most
    )


_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_NO_LEAVE = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ESTALE, errno.ENOTCONN, errno.EBUSY, errno.ETXTBSY}


@contextlib.contextmanager
def errors_of(path: str) -> Iterator[None]:
    """The system's errors in the house's words: what cannot be read is never taken for what is not there."""
    try:
        yield
    except OSError as error:
        what = visible(path, lines=False)
        reason = error.strerror or str(error)
        if error.errno in _NO_ROOM:
            raise MinutebookError("disk_full", f"There is no room to write {what}.", path=path) from error
        if error.errno == errno.ENAMETOOLONG:
            raise unsafe(path, "has a longer name than a file can have") from None
        if error.errno in _NO_LEAVE:
            raise MinutebookError(
                "no_access", f"{what} cannot be read or written: {reason}.", path=path, reason=reason
            ) from error
        raise MinutebookError("io_error", f"{what}: {reason}.", path=path, reason=reason) from error
