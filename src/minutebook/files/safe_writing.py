"""Writes and deletes in a folder that others write to, and destroys nothing that it has not seen.

A file is written under a name nobody can guess, brought to the disk, and given its name; the folder is
brought to the disk after that, because a rename that is lost with the power was never made. What is replaced
or deleted is first taken out of its place and looked at: if it is not what the caller said it would be, it
goes back and the caller is told.

A crash leaves at most one name of ours in the folder. `.part` holds our own words, finished or not. `.swap`
holds our words or what they replaced; its name tells the hash of both, so that `sweep` removes it only when it
is one of the two, and reports it otherwise.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
from collections.abc import Callable
from dataclasses import dataclass

from minutebook.files.lines import sha256_of
from minutebook.files.renames import exchange, rename_onto_nothing
from minutebook.files.safe import MOST_BYTES, Facts, Root, Sort, facts_of, look_at, read_at
from minutebook.model.errors import MinutebookError
from minutebook.model.text import visible

_SHORT = 16
_LEFT = re.compile(
    rf"\.minutebook-[0-9A-Z]{{26}}(?:\.part|-([0-9a-f]{{{_SHORT}}})-([0-9a-f]{{{_SHORT}}})\.swap)"
)
#: What is replaced or deleted is read whole first, up to this size: a generated ledger of a big team is large.
_MOST_REPLACED = 64 * 1024 * 1024
#: How often a name that a sweep took from under us is made anew.
_ATTEMPTS = 4

NewId = Callable[[], str]


@dataclass(frozen=True, slots=True)
class Written:
    """A file as we left it. `changed` is False where it held those bytes already."""

    sha256: str
    facts: Facts
    changed: bool


@dataclass(frozen=True, slots=True)
class Swept:
    """What a crash had left: names that were removed, and names that hold what we cannot account for."""

    removed: tuple[str, ...]
    kept: tuple[str, ...]


def is_ours(name: str) -> bool:
    """Whether a name is one that only a write in progress, or a crash, leaves behind."""
    return _LEFT.fullmatch(name) is not None


def write(
    root: Root, path: str, data: bytes, *, was: str | None, new_id: NewId, mode: int = 0o644
) -> Written:
    """Put a file in its place, whole and on the disk.

    `was` is the SHA-256 of what may be replaced, None when nothing may be there. Anything else that is found
    there stays, and is the error `file_changed`. A file that is replaced keeps its mode.
    """
    new = sha256_of(data)
    with root.folder_of(path, make=True) as (folder, leaf):
        assert folder is not None
        before = read_at(folder, leaf, path, most=max(_MOST_REPLACED, len(data)))
        if before is not None and before.sha256 == new:
            return Written(new, before.facts, changed=False)
        if (before.sha256 if before else None) != was:
            raise _changed(path)
        handle, part = _part(folder, new_id)
        try:
            _fill(handle, data, mode if before is None else before.facts.mode & 0o777)
            facts = facts_of(os.fstat(handle))
            if was is None:
                _place(folder, part, leaf, path)
            else:
                _replace(folder, (part, leaf), path, (new, was))
        except BaseException:
            # Ours to remove under either name; what came out in exchange has its own rules above.
            with contextlib.suppress(FileNotFoundError):
                os.unlink(part, dir_fd=folder)
            raise
        finally:
            os.close(handle)
        os.fsync(folder)
    return Written(new, facts, changed=True)


def delete(root: Root, path: str, *, was: str, new_id: NewId) -> bool:
    """Delete a file that holds what the caller says it does; False where there is none any more."""
    with root.folder_of(path) as (folder, leaf):
        if folder is None or (before := read_at(folder, leaf, path, most=_MOST_REPLACED)) is None:
            return False
        if before.sha256 != was:
            raise _changed(path)
        aside = _swap_name(new_id, (was, was))
        try:
            os.rename(leaf, aside, src_dir_fd=folder, dst_dir_fd=folder)
        except FileNotFoundError:
            return False
        if not _holds(folder, aside, was):
            _put_back(folder, aside, leaf, path)
            raise _changed(path)
        _drop(folder, aside)
        os.fsync(folder)
    return True


def sweep(root: Root, folder: str = "") -> Swept:
    """Remove what a crash left of our own writes in one folder. A write that is under way is left alone."""
    removed: list[str] = []
    kept: list[str] = []
    for named in root.names(folder) or ():
        match = _LEFT.fullmatch(named.name)
        if match is None:
            continue
        path = f"{folder}/{named.name}" if folder else named.name
        with root.folder_of(path) as (handle, leaf):
            if handle is None or named.sort is not Sort.FILE:
                kept.append(path)
            elif (gone := _sweep_one(handle, leaf, match)) is not None:
                (removed if gone else kept).append(path)
    return Swept(tuple(removed), tuple(kept))


def _sweep_one(folder: int, name: str, match: re.Match[str]) -> bool | None:
    """Whether it was removed; None where it is still in use, or left by itself."""
    try:
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        return None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        if match[1] is not None and not any(_holds(folder, name, match[i]) for i in (1, 2)):
            return False
        _drop(folder, name)
    finally:
        os.close(handle)
    return True


def _part(folder: int, new_id: NewId) -> tuple[int, str]:
    """A new file under a name of ours, locked for as long as we write it."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    for _ in range(_ATTEMPTS):
        name = f".minutebook-{new_id()}.part"
        handle = os.open(name, flags, 0o600, dir_fd=folder)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(handle).st_nlink == 1:
                return handle, name
        except BlockingIOError:
            pass  # a sweep holds it, and is about to remove it
        except BaseException:
            os.close(handle)
            os.unlink(name, dir_fd=folder)
            raise
        os.close(handle)
    raise MinutebookError("no_access", "The folder is being swept; nothing was written.", hint="try again")


def _fill(handle: int, data: bytes, mode: int) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]
    os.fchmod(handle, mode)
    os.fsync(handle)


def _place(folder: int, part: str, leaf: str, path: str) -> None:
    try:
        rename_onto_nothing(part, leaf, folder)
    except FileExistsError:
        raise _changed(path) from None


def _replace(folder: int, names: tuple[str, str], path: str, hashes: tuple[str, str]) -> None:
    """Exchange ours with what is there; if that is not what it should be, exchange back."""
    (part, leaf), (new, was) = names, hashes
    swap = f"{part.removesuffix('.part')}-{new[:_SHORT]}-{was[:_SHORT]}.swap"
    os.rename(part, swap, src_dir_fd=folder, dst_dir_fd=folder)
    try:
        exchanged = exchange(swap, leaf, folder)
    except FileNotFoundError:
        _drop(folder, swap)
        raise _changed(path) from None
    except OSError:
        _drop(folder, swap)
        raise
    if not exchanged:
        # No such call here: a last look, then a plain rename. What is edited between the two is lost.
        if not _holds(folder, leaf, was):
            _drop(folder, swap)
            raise _changed(path)
        os.rename(swap, leaf, src_dir_fd=folder, dst_dir_fd=folder)
        return
    if _holds(folder, swap, was):
        _drop(folder, swap)
        return
    try:
        exchange(swap, leaf, folder)
    except FileNotFoundError:
        _put_back(folder, swap, leaf, path)
        raise _changed(path) from None
    if not _holds(folder, swap, new):
        # Somebody put a third one in the place of ours meanwhile. It is the newest: it gets the name, and what
        # it would have replaced is kept beside it.
        exchange(swap, leaf, folder)
        raise _changed(path, kept=swap)
    _drop(folder, swap)
    raise _changed(path)


def _put_back(folder: int, aside: str, leaf: str, path: str) -> None:
    try:
        rename_onto_nothing(aside, leaf, folder)
    except FileExistsError:
        raise _changed(path, kept=aside) from None


def _holds(folder: int, name: str, sha256: str) -> bool:
    """Whether a plain file with that hash (or its beginning) has the name. A link or a pipe has none."""
    found = look_at(folder, name, name)
    if found is None or found.sort is not Sort.FILE:
        return False
    try:
        read = read_at(folder, name, name, most=max(MOST_BYTES, found.facts.size))
    except MinutebookError:
        return False  # what cannot be read is not known to be what it should: it goes back to its place
    return read is not None and read.sha256.startswith(sha256)


def _drop(folder: int, name: str) -> None:
    with contextlib.suppress(FileNotFoundError):  # a sweep was faster
        os.unlink(name, dir_fd=folder)


def _swap_name(new_id: NewId, hashes: tuple[str, str]) -> str:
    return f".minutebook-{new_id()}-{hashes[0][:_SHORT]}-{hashes[1][:_SHORT]}.swap"


def _changed(path: str, *, kept: str | None = None) -> MinutebookError:
    beside = f" What was there in between is kept as {kept}." if kept else ""
    return MinutebookError(
        "file_changed",
        f"{visible(path)} is not as it was last seen; it was left alone.{beside}",
        path=path,
        **({"kept": kept} if kept else {}),
    )
