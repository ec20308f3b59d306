"""Adoption: what is found in the files of a repository, how it was read, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from minutebook.model.inbox import ProposalStatus
from minutebook.model.memories import Type


class Form(StrEnum):
    """Whose files they are."""

    SQUAD = "squad"
    AI_TEAM = "ai-team"
    AGH = "agh"
    INSTRUCTIONS = "instructions"
    ADR = "adr"
    BASIC_MEMORY = "basic-memory"
    KNOWLEDGE_GRAPH = "knowledge-graph"
    #: what an importer reads that was enabled
    IMPORTER = "importer"


# --- what was found -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ground:
    """Where to look, and where the caller may."""

    #: a folder or a file, as a whole path; None is the workspace itself
    place: Path | None
    #: directories that may be workspaces of the project; their own file says whether they are
    roots: tuple[Path, ...]
    project: str
    #: whether the caller may name any place, also outside of these
    anywhere: bool
    form: Form | None = None
    #: the importer that is to read them
    importer: str | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    """One line of a file, and what there is to say of it."""

    line: int
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One entry of a file: what somebody wrote down, and what is known about it."""

    first: int
    last: int
    #: SHA-256 of these lines
    digest: str
    title: str
    text: str
    type: Type
    #: said, likely or guessed: where the type comes from
    certainty: str
    authors: tuple[str, ...] = ()
    #: RFC 3339; None where the file does not say
    date: str | None = None
    rationale: str | None = None
    slug: str | None = None
    tags: tuple[str, ...] = ()
    #: whose memory it is, where its folder tells
    agent: str | None = None
    #: where else in the file the same stands: first and last lines
    repeated: tuple[tuple[int, int], ...] = ()
    #: taken as settled by whoever kept the file: a ledger, a history, an accepted record
    accepted: bool = False
    #: put away by whoever kept the file
    archived: bool = False
    #: why it is kept in its source alone; empty where it is to be proposed
    withheld: str = ""
    #: its own number, and what it says of others: as it is written
    number: str | None = None
    supersedes: str | None = None
    superseded_by: str | None = None
    #: the file and first line of the entry that it replaces, and whether another one replaces it
    replaces: tuple[str, int] | None = None
    outlived: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """One file, read."""

    #: below the root, with slashes
    path: str
    form: Form
    #: how it was read; `raw` where it was not
    dialect: str
    #: what is kept of it: all of it, but for lines that hold a credential
    data: bytes
    #: the SHA-256 of the file as it is
    digest: str
    pieces: tuple[Piece, ...] = ()
    #: lines that say something and belong to no entry
    loose: int = 0
    doubts: tuple[Mark, ...] = ()
    #: lines that look like credentials, and by which rule
    secrets: tuple[Mark, ...] = ()


@dataclass(frozen=True, slots=True)
class NotTaken:
    """A file or folder that was not taken, and why."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class Survey:
    """Everything that was found, in the order of the paths."""

    root: str
    #: whether the root is a workspace of the project, so that a path of it is evidence that can be looked at
    inside: bool
    sheets: tuple[Sheet, ...]
    left_out: tuple[NotTaken, ...] = ()


# --- what is told -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SheetGroup:
    """All files of an adoption that were read alike."""

    what: str
    files: int
    entries: int
    #: not known here yet
    new: int
    authors: int
    dates: int
    #: entries whose type is a guess
    guessed: int
    #: lines that say something and belong to no entry; kept with their files
    loose_lines: int
    first: str


@dataclass(frozen=True, slots=True)
class SheetLine:
    """One file of an adoption: how it was read, and what is in it."""

    path: str
    form: Form
    read_as: str
    entries: int
    #: not known here yet
    new: int
    authors: int
    dates: int
    #: entries whose type is a guess
    guessed: int
    loose_lines: int
    bytes: int


@dataclass(frozen=True, slots=True)
class PieceLine:
    """One entry, where it stands, and what becomes of it."""

    where: str
    type: Type
    certainty: str
    author: str | None
    date: str | None
    title: str
    #: proposed, active, archived, known, refused or kept (in its source alone)
    becomes: str
    why: str
    slug: str | None = None

    @property
    def path(self) -> str:
        """The file that it stands in."""
        return self.where.rpartition(":")[0]

    @property
    def lines(self) -> str:
        """The lines of the file."""
        return self.where.rpartition(":")[2]


@dataclass(frozen=True, slots=True)
class Remark:
    """Something that a person should look at."""

    where: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopted:
    """The answer to an adoption: what was found and what became of it, or would."""

    applied: bool
    sentence: str
    root: str
    #: the adoption's id; None where nothing was new
    id: str | None = None
    groups: tuple[SheetGroup, ...] = ()
    files: tuple[SheetLine, ...] = ()
    entries: int = 0
    #: entries by what becomes of them
    becomes: dict[str, int]
    #: entries that are accepted history, which an operator may activate
    history: int = 0
    uncertain: tuple[Remark, ...] = ()
    #: all of them, where only some are listed
    uncertain_count: int = 0
    secrets: tuple[Remark, ...] = ()
    left_out: tuple[NotTaken, ...] = ()
    left_out_count: int = 0
    #: every entry, where that was asked for
    pieces: tuple[PieceLine, ...] = ()
    #: commands that go on from here, one a line
    next_steps: str = ""


@dataclass(frozen=True, slots=True)
class AdoptionLine:
    """One adoption in a listing."""

    id: str
    root: str
    #: open where it was interrupted
    state: str
    actor: str
    started_at: str
    files: int
    pending: int
    merged: int
    rejected: int
    refused: int


@dataclass(frozen=True, slots=True)
class AdoptedFile:
    path: str
    read_as: str
    source: str
    sha256: str
    bytes: int
    #: false where lines were withheld
    whole: bool
    proposals: int


@dataclass(frozen=True, slots=True)
class AdoptedEntry:
    """One proposal of an adoption."""

    where: str
    type: Type
    certainty: str
    title: str
    slug: str
    status: ProposalStatus
    id: str

    @property
    def path(self) -> str:
        """The file that it stands in."""
        return self.where.rpartition(":")[0]

    @property
    def lines(self) -> str:
        """The lines of the file."""
        return self.where.rpartition(":")[2]


@dataclass(frozen=True, slots=True)
class AdoptionView:
    """One adoption: its files and its proposals."""

    adoption: AdoptionLine
    files: tuple[AdoptedFile, ...]
    entries: tuple[AdoptedEntry, ...]
    #: the cursor to go on with, where more entries follow
    more: str | None = None


@dataclass(frozen=True, slots=True)
class Stayed:
    """A proposal that was not settled with the others, and why."""

    slug: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """The answer to settling an adoption: how many proposals were accepted or rejected, or would be."""

    applied: bool
    sentence: str
    adoption: str
    settled: int
    stayed: tuple[Stayed, ...] = ()
    stayed_count: int = 0
