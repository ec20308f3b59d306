"""Files in workspaces: views that are written from the ledger, and letters that are written to it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from minutebook.model.actors import Actor


class FileKind(StrEnum):
    """What a file of a workspace is to us."""

    #: one of the generated documents: decisions, boundaries, patterns, histories, now
    MIRROR = "mirror"
    #: a pending proposal, shown in the drop-box
    INBOX = "inbox"
    #: a curated note, which people edit
    NOTE = "note"
    #: the generated list of a folder of notes
    INDEX = "index"
    #: the lines between our marks in a file that is otherwise somebody else's
    BLOCK = "block"
    #: somebody's letter in the drop-box
    LETTER = "letter"


class FileState(StrEnum):
    """How a file stands to the ledger."""

    IN_STEP = "in step"
    #: the ledger has moved on, and the file is about to follow
    LATE = "late"
    #: changed by hand since we wrote it; left alone
    EDITED = "edited"
    #: stands where we would write, and we did not write it; left alone
    FOREIGN = "foreign"
    #: two versions that somebody has to choose between
    CONFLICT = "conflict"
    #: cannot be read, or not be read as what it should be
    UNREADABLE = "unreadable"
    #: read, and the controller refused or holds what it says
    REFUSED = "refused"
    #: seen, and not decided about yet: a deletion that nobody has confirmed
    WAITING = "waiting"


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenFile:
    """A file that we wrote, as the manifest has it."""

    host: str
    root: str
    path: str
    project: str
    kind: FileKind
    #: of what should stand there; empty where nothing should, and an edited file does
    digest: str
    seq: int
    at: str
    #: the memory or proposal that it shows; empty where it is about many
    ref: str = ""
    base_revision: int | None = None
    #: False where somebody else's file stands in the place, and we never wrote there
    stands: bool = True


@dataclass(frozen=True, slots=True)
class FileLine:
    """One file of a workspace, how it stands, and why."""

    path: str
    kind: FileKind
    state: FileState
    why: str = ""
    #: what to do about it
    advice: str = ""
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceFiles:
    """The files of one workspace."""

    root: str
    #: on, off, or why nothing can be done there: gone, not this project's, not writable
    state: str
    why: str = ""
    #: events of the project that the files do not show yet
    events_behind: int = 0
    #: files by state
    counts: dict[str, int]
    #: those that are not in step, and all of them where that was asked for
    files: tuple[FileLine, ...] = ()


@dataclass(frozen=True, slots=True)
class FilesStatus:
    """How the files of a project stand to the ledger, on the machine that answers."""

    sentence: str
    workspaces: tuple[WorkspaceFiles, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDone:
    """What became of one file in a pass: written, removed, taken over, read, or left with a reason."""

    path: str
    kind: FileKind
    done: str
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncedWorkspace:
    """What a pass did in one workspace."""

    root: str
    done: tuple[FileDone, ...] = ()
    #: what keeps the workspace from being served at all
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Synced:
    """What `files sync` did, and how the files stand now."""

    sentence: str
    workspaces: tuple[SyncedWorkspace, ...]
    status: FilesStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a pass is asked for beyond the usual."""

    #: take deletions of notes at their word, and at whose
    confirm_deletions: bool = False
    by: Actor | None = None
    #: write notes again whose files are missing
    bring_back: bool = False
