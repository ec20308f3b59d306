"""Which project a directory belongs to, for the processes that must be quick: the relay and the hook.

`files/workspace.py` is the reader of the workspace file. This one knows the plain form in which it is written
and nothing else; whatever looks otherwise is handed to that one, and so are its errors.
"""

from __future__ import annotations

import os

_ULID = frozenset("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
_MOST_BYTES = 16 * 1024


def project_of(directory: str) -> str | None:
    """The id of the project that a directory, or its nearest ancestor with a workspace file, belongs to."""
    root = root_of(directory)
    return None if root is None else _read(_file_in(root))


def root_of(directory: str) -> str | None:
    """The nearest directory with a workspace file: this one or one above it."""
    here = directory.rstrip("/") or "/"
    while True:
        # A symbolic link that leads nowhere is there too, and wrong.
        if os.path.lexists(_file_in(here)):
            return here
        above = os.path.dirname(here)
        if above == here:
            return None
        here = above


def workspace() -> str | None:
    """The root of the workspace that this process works in; None too where its directory is gone."""
    try:
        return root_of(os.getcwd())
    except OSError:
        return None


def _file_in(directory: str) -> str:
    return os.path.join(directory, ".minutebook", "workspace.toml")


def _read(path: str) -> str:
    found = None
    if os.path.isfile(path):
        with open(path, "rb") as file:
            found = _plain(file.read(_MOST_BYTES + 1))
    if found is not None:
        return found
    from pathlib import Path

    from minutebook.files import workspace

    return workspace.read(Path(path)).project


def _plain(data: bytes) -> str | None:
    """The project's id where each line is a remark or a plain `key = "value"`, each key once; else None."""
    values: dict[str, str] = {}
    if len(data) > _MOST_BYTES or not data.isascii():
        return None
    for line in data.decode().split("\n"):
        line = line.strip(" ")
        if not line or line.startswith("#"):
            continue
        key, equals, value = line.partition(" = ")
        inner = value[1:-1]
        quoted = len(value) >= 2 and value[0] == value[-1] == '"'
        if not equals or not quoted or '"' in inner or "\\" in inner or not inner.isprintable():
            return None
        if key not in ("project_id", "name", "created_at") or key in values:
            return None
        values[key] = inner
    found = values.get("project_id", "")
    return found if len(found) == 26 and found[0] < "8" and _ULID.issuperset(found) else None
