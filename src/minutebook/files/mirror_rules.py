"""What may be done with what stands at a path: pure, and the whole safety of the mirror.

Nothing is replaced or removed that is not known to be ours, byte by byte.
"""

from __future__ import annotations

from enum import StrEnum

from minutebook.model.files import FileState


class Act(StrEnum):
    """What a pass does at a path."""

    #: it stands as it should, or nothing stands where nothing should
    NOTHING = "nothing"
    WRITE = "write"
    REMOVE = "remove"
    #: it is somebody else's now, or always was
    LEAVE = "leave"


def act(found: str | None, wanted: str, *, known: bool) -> Act:
    """`found` and `wanted` are hashes: None is no file, '' is none wanted. `known`: we once wrote what is found."""
    if found is None:
        return Act.WRITE if wanted else Act.NOTHING
    if found == wanted:
        return Act.NOTHING
    if not known:
        return Act.LEAVE
    return Act.WRITE if wanted else Act.REMOVE


def standing(found: bytes, *, stands: bool) -> tuple[FileState, str, str]:
    """How a file that is left alone stands to us, why, and what to do: `stands` says that we once wrote it."""
    if has_conflict_marks(found):
        return (
            FileState.CONFLICT,
            "git left both sides of a merge in it",
            "choose a side, or: minutebook files replace PATH",
        )
    if stands:
        return (
            FileState.EDITED,
            "changed by hand since it was written; left alone",
            "minutebook files replace PATH",
        )
    return (
        FileState.FOREIGN,
        "not written by minutebook, which would write here",
        "minutebook adopt takes it in; then minutebook files replace PATH",
    )


def has_conflict_marks(data: bytes) -> bool:
    """Whether git left a merge unfinished in a file."""
    lines = data.split(b"\n")
    return any(line.startswith(b"<<<<<<< ") for line in lines) and any(
        line.startswith(b">>>>>>> ") for line in lines
    )
