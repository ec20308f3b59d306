"""Captures: raw material on its way into the ledger."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from minutebook.model.scopes import Scope


class Trigger(StrEnum):
    """What brings material in. There are no others: nothing listens, and nothing is read that nobody handed over."""

    MANUAL_WRITE = "manual_write"
    SESSION_CLOSE = "session_close"
    CONVERSATION_CAPTURE = "conversation_capture"
    SCHEDULED_MAINTENANCE = "scheduled_maintenance"


class CaptureState(StrEnum):
    QUEUED = "queued"
    WORKING = "working"
    DONE = "done"
    #: given up for now; its job waits among the dead, and the source is whole
    FAILED = "failed"
    #: the same words were captured before: nothing was to be done
    KNOWN = "known"


class CaptureMode(StrEnum):
    """How a conversation was written down."""

    TRANSCRIPT = "transcript"
    NOTES = "notes"
    SUMMARY = "summary"
    IMPORT = "import"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingestion:
    """One arrival of material, and what became of it."""

    id: str
    project: str
    trigger: Trigger
    source: str
    state: CaptureState
    by: str
    role: str
    origin: str
    created_at: str
    #: where what is found shall live; None where that follows from what it is
    scope: Scope | None = None
    run: str | None = None
    job: str | None = None
    retries: int = 0
    fault: str | None = None
    #: counts, by what became of the findings
    outcome: dict[str, Any] = field(default_factory=dict)
    done: int = 0
    total: int | None = None
    started_at: str | None = None
    finished_at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Raw captured material."""

    id: str
    project: str
    kind: str
    title: str
    size: int
    digest: str
    created_by: str
    created_at: str
    #: None where the words were erased, or let go because they were old
    content: str | None
    locator: str | None = None
    capture_mode: str | None = None
    consent: str | None = None
    run: str | None = None
    erased_at: str | None = None
    pruned_at: str | None = None


@dataclass(frozen=True, slots=True)
class Receipt:
    """What whoever captures something is told at once."""

    #: the ingestion event
    capture: str
    source: str
    #: what will be done with it; None where nothing is left to do
    job: str | None
    state: CaptureState
    bytes: int
    sentence: str


@dataclass(frozen=True, slots=True)
class CaptureLine:
    """A capture in a listing."""

    id: str
    trigger: Trigger
    title: str
    state: CaptureState
    by: str
    #: how long ago
    age: str
    found: int | None
    fault: str | None
    source: str


@dataclass(frozen=True, slots=True)
class Stage:
    """One step on the way of a piece."""

    #: captured, extracted, consolidated, promoted, indexed
    name: str
    #: done, waiting, working, failed, or nothing where there is nothing to do
    state: str
    at: str | None
    #: where it stands, and why
    said: str


@dataclass(frozen=True, slots=True)
class Piece:
    """Something that came out of a source."""

    slug: str
    type: str
    #: pending, merged, rejected
    status: str
    proposal: str
    memory: str | None
    #: the lines of the source
    span: str | None
    confidence: float | None
    #: likely duplicates, and what it says otherwise
    similar: int
    contradicts: int


@dataclass(frozen=True, slots=True)
class CaptureView:
    """A capture whole: every stage, and every piece that came out."""

    id: str
    trigger: Trigger
    source: str
    title: str
    state: CaptureState
    by: str
    origin: str
    requested_scope: str | None
    run: str | None
    job: str | None
    retries: int
    fault: str | None
    outcome: dict[str, Any]
    #: findings dealt with, of how many
    progress: str
    created_at: str
    started_at: str | None
    finished_at: str | None
    stages: tuple[Stage, ...]
    pieces: tuple[Piece, ...]
    #: pieces beyond those shown
    more: int = 0


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A source in a listing."""

    id: str
    kind: str
    title: str
    bytes: int
    by: str
    age: str
    #: kept, pruned or erased
    state: str
    run: str | None


@dataclass(frozen=True, slots=True)
class SourceView:
    """A source, and the lines that were asked for."""

    id: str
    kind: str
    title: str
    locator: str | None
    capture_mode: str | None
    consent: str | None
    run: str | None
    bytes: int
    digest: str
    by: str
    created_at: str
    state: str
    #: lines `first` to `last`, counted from 1, of `lines`
    first: int
    last: int
    lines: int
    text: str
