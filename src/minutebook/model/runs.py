"""Runs: one agent's stretch of work, what it was told, and what was kept of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from minutebook.model.context import Bundle, EvidenceState, Item

#: Names the caller's own open run: the one that it is known to work in, else its newest.
CURRENT = "current"


class RunStatus(StrEnum):
    OPEN = "open"
    FINISHED = "finished"
    FAILED = "failed"
    ABANDONED = "abandoned"


class RunOutcome(StrEnum):
    """How a run ended, in the words of whoever ended it."""

    COMPLETED = "completed"
    NO_CHANGES = "no_changes"
    DECLINED = "declined"
    FAILED = "failed"
    CANCELLED = "cancelled"
    #: somebody closed it because nobody would
    ABANDONED = "abandoned"

    @property
    def status(self) -> RunStatus:
        if self is RunOutcome.FAILED:
            return RunStatus.FAILED
        return RunStatus.ABANDONED if self is RunOutcome.ABANDONED else RunStatus.FINISHED

    @property
    def went_well(self) -> bool:
        """Whether what the run set out to do was done, or did not need doing."""
        return self in (RunOutcome.COMPLETED, RunOutcome.NO_CHANGES)

    @property
    def said(self) -> str:
        """The end of the sentence that begins with the run."""
        return _SAID[self]


_SAID = {
    RunOutcome.COMPLETED: "completed",
    RunOutcome.NO_CHANGES: "ended without changes",
    RunOutcome.DECLINED: "was declined",
    RunOutcome.FAILED: "failed",
    RunOutcome.CANCELLED: "was cancelled",
    RunOutcome.ABANDONED: "was abandoned",
}


@dataclass(frozen=True, slots=True)
class Run:
    """One agent's stretch of work."""

    id: str
    project: str
    #: the folded name of the agent whose run it is
    agent: str
    task: str
    status: RunStatus
    started_by: str
    started_at: str
    #: the run that this one works for
    parent: str | None = None
    #: the session that was open when it started
    session: str | None = None
    outcome: RunOutcome | None = None
    summary: str | None = None
    finished_by: str | None = None
    finished_at: str | None = None
    #: how often its snapshot was taken: 1 until somebody reloads it
    generation: int = 0
    #: hash of the snapshot, and the place in the event log that it was compiled at
    snapshot: str | None = None
    snapshot_seq: int | None = None

    @property
    def open(self) -> bool:
        return self.status is RunStatus.OPEN


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run in a listing."""

    id: str
    agent: str
    task: str
    status: RunStatus
    outcome: RunOutcome | None
    #: how long ago it started
    age: str
    parent: str | None
    started_at: str
    finished_at: str | None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a run was told, frozen when it started or was reloaded."""

    run: str
    generation: int
    seq: int
    at: str
    #: None where there was nothing to say
    bundle: Bundle | None
    #: the run whose boundaries it repeats, and which generation of them
    inherited_from: str | None = None
    inherited: int | None = None


@dataclass(frozen=True, slots=True)
class Promoted:
    """A proposal that was promoted when the run ended."""

    slug: str
    type: str
    proposal: str
    memory: str
    op: str
    #: scribe, or backstop for a coordinator's own boundaries
    rule: str
    verdict: str


@dataclass(frozen=True, slots=True)
class Waits:
    """A proposal that waits for a reviewer, and why."""

    slug: str
    type: str
    risk: str
    proposal: str
    because: str


@dataclass(frozen=True, slots=True)
class TurnedDown:
    """A proposal that the scribe could not promote, and why. It is pending still: a reviewer decides."""

    slug: str
    type: str
    proposal: str
    code: str
    because: str


@dataclass(frozen=True, slots=True)
class RunReport:
    """What became of what a run proposed."""

    run: str
    agent: str
    outcome: RunOutcome
    sentence: str
    promoted: tuple[Promoted, ...] = ()
    waiting: tuple[Waits, ...] = ()
    refused: tuple[TurnedDown, ...] = ()
    #: proposals beyond the number that one report looks at
    more: int = 0
    #: what became of the line in the session's summary
    session: str = ""
    #: the source that keeps the transcript, or why it is not kept
    transcript: str | None = None
    transcript_note: str = ""
    #: the transcript's ingestion event, and the job that reads it
    capture: str | None = None
    job: str | None = None


@dataclass(frozen=True, slots=True)
class RunView:
    """A run with what it was told and what became of it."""

    run: Run
    snapshot: Snapshot | None
    report: RunReport | None = None
    children: tuple[str, ...] = ()
    #: True where the reader sees of the snapshot only what everybody is told
    partial: bool = False

    @property
    def id(self) -> str:
        return self.run.id

    @property
    def task(self) -> str:
        return self.run.task

    @property
    def saw(self) -> tuple[Item, ...]:
        """The memories that shaped the run."""
        bundle = None if self.snapshot is None else self.snapshot.bundle
        return () if bundle is None else bundle.items

    @property
    def text(self) -> str:
        bundle = None if self.snapshot is None else self.snapshot.bundle
        return "" if bundle is None else bundle.text


@dataclass(frozen=True, slots=True)
class Sighting:
    """One run that was shown a memory."""

    run: str
    agent: str
    status: RunStatus
    generation: int
    revision: int
    layer: str
    at: str


@dataclass(frozen=True, slots=True)
class Checked:
    """One piece of evidence, looked at."""

    memory: str
    slug: str
    #: as it was cited: file:src/app.py#10-20@commit
    evidence: str
    state: EvidenceState
    because: str


@dataclass(frozen=True, slots=True)
class RunEntry:
    """One line of a run's ledger: something that happened in it, or was said."""

    #: its place, counted from 1
    place: int
    at: str | None
    who: str
    #: an event such as memory.added, or `said`
    kind: str
    #: what was said, or the name of what it was about
    said: str
    #: the number of the event log; None for what was said
    seq: int | None = None
    verdict: str | None = None


@dataclass(frozen=True, slots=True)
class Pruned:
    """Transcripts that were let go, or would be."""

    applied: bool
    runs: tuple[str, ...]
    sources: tuple[str, ...]
    bytes: int
    #: whether there are more than one call lets go
    more: bool
    sentence: str


@dataclass(frozen=True, slots=True)
class Mended:
    """What was wrong with the ledgers of runs, and was mended, or would be."""

    applied: bool
    #: captures that no job was about: they are read now
    stranded: tuple[str, ...]
    #: transcripts that nobody had asked to be read
    unread: tuple[str, ...]
    #: runs that nobody will finish
    abandoned: tuple[str, ...]
    sentence: str
