"""The file that binds a directory to a project, so that memory follows the repository and not its path."""

from __future__ import annotations

import errno
import os
import stat
import tomllib
from dataclasses import dataclass
from pathlib import Path

from minutebook.model.errors import MinutebookError
from minutebook.model.ids import is_ulid
from minutebook.model.text import visible

FOLDER = ".minutebook"
NAME = "workspace.toml"
#: A valid file is a few lines.
_MOST_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True)
class Binding:
    """A directory and the project it belongs to."""

    root: Path
    project: str
    name: str
    created_at: str
    #: whether the generated files are kept here; `mirror = false` in the file turns them off, for every clone
    mirror: bool = True

    @property
    def file(self) -> Path:
        return self.root / FOLDER / NAME


def find(start: Path) -> Binding | None:
    """The binding of a directory or of the nearest ancestor that has one."""
    here = start.absolute()
    for directory in (here, *here.parents):
        path = directory / FOLDER / NAME
        try:
            os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise _bad(path, f"cannot be read: {error.strerror}") from error
        return read(path)
    return None


def read(path: Path) -> Binding:
    """Read a workspace file. What is not valid is an error, and never regenerated: the id is the memory."""
    try:
        data = _bytes_of(path)
    except OSError as error:
        raise _bad(path, f"cannot be read: {error.strerror}") from error
    if len(data) > _MOST_BYTES:
        raise _bad(path, "is too large to be one")
    try:
        table = tomllib.loads(data.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise _bad(path, f"is not valid TOML: {error}") from error
    project = table.get("project_id")
    if not isinstance(project, str) or not is_ulid(project):
        raise _bad(path, "has no valid project_id (a ULID of 26 characters)")
    name = table.get("name", "")
    created = table.get("created_at", "")
    if not isinstance(name, str) or not isinstance(created, str):
        raise _bad(path, "has a name or created_at that is not text")
    mirror = table.get("mirror", True)
    if not isinstance(mirror, bool):
        raise _bad(path, "has a mirror that is neither true nor false")
    return Binding(path.parent.parent, project, name, created, mirror)


def _bytes_of(path: Path) -> bytes:
    """What a plain file holds, as far as it could be valid. A pipe or a device would never end."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is not a plain file")
        return os.read(descriptor, _MOST_BYTES + 1)
    finally:
        os.close(descriptor)


def create(root: Path, *, project: str, name: str, created_at: str, mirror: bool = True) -> Binding:
    """Write the workspace file, whole or not at all; an existing one is never overwritten."""
    folder = root / FOLDER
    path = folder / NAME
    text = (
        "# Binds this directory to a minutebook project. Commit it: clones, moves and worktrees keep their memory.\n"
        f'project_id = "{project}"\n'
        f'name = "{_quoted(name)}"\n'
        f'created_at = "{created_at}"\n' + ("" if mirror else "mirror = false\n")
    )
    try:
        folder.mkdir(exist_ok=True)
        # Everything through one handle that follows no link: a linked folder would take us out of here.
        inside = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            _place(text.encode(), f".{NAME}.{os.getpid()}", inside)
        finally:
            os.close(inside)
    except FileExistsError:
        raise MinutebookError(
            "exists", f"{visible(str(path))} exists already; it is not overwritten."
        ) from None
    except OSError as error:
        if folder.is_symlink():
            raise _bad(folder, "is a link; the file must lie in the directory itself") from error
        raise MinutebookError(
            "cannot_open",
            f"Cannot write {visible(str(path))}: {error.strerror}.",
            hint="run init where you may write",
        ) from error
    return Binding(root, project, name, created_at, mirror)


def _place(data: bytes, staged: str, folder: int) -> None:
    """Write the workspace file into the open folder under another name, then give it its own."""
    descriptor = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644, dir_fd=folder)
    try:
        try:
            os.write(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        # Fails where one exists, unlike a rename.
        os.link(staged, NAME, src_dir_fd=folder, dst_dir_fd=folder)
    finally:
        os.unlink(staged, dir_fd=folder)
    os.fsync(folder)


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _bad(path: Path, problem: str) -> MinutebookError:
    return MinutebookError(
        "bad_workspace",
        f"{visible(str(path))} {problem}.",
        hint="restore it from version control, or remove it by hand and run `minutebook init`",
        path=str(path),
    )
