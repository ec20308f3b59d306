"""Proposals: what waits in front of the ledger."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from minutebook.model.evidence import Evidence
from minutebook.model.memories import Importance, Type
from minutebook.model.scopes import Scope


class ProposalStatus(StrEnum):
    PENDING = "pending"
    MERGED = "merged"
    REJECTED = "rejected"


class Risk(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


@dataclass(frozen=True, slots=True)
class Would:
    """What the rules say a proposal would do, told to its reviewer."""

    op: str = "add"
    #: the memory it would update or supersede
    target: str | None = None
    contradicts: tuple[str, ...] = ()
    #: pending proposals and active memories that say nearly the same
    similar: tuple[str, ...] = ()
    #: names of screening rules that fired
    flags: tuple[str, ...] = ()
    #: why it is held and not written
    held_because: str = ""


@dataclass(frozen=True, slots=True)
class Proposal:
    """One entry of the inbox. It is kept for ever, whatever becomes of it."""

    id: str
    project: str
    slug: str
    #: the slug asked for; another one stands in `slug` where it was taken by another agent
    requested_slug: str
    agent: str
    author_role: str
    origin: str
    type: Type
    title: str
    content: str
    scope: Scope
    status: ProposalStatus
    risk: Risk
    would: Would
    created_at: str
    updated_at: str
    revision: int = 1
    rationale: str | None = None
    importance: Importance = Importance.MEDIUM
    confidence: float | None = None
    entity: str | None = None
    attribute: str | None = None
    tags: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    observed_at: str | None = None
    source: str | None = None
    run: str | None = None
    #: what it would change, as it stood when it was proposed
    base: str | None = None
    base_revision: int | None = None
    #: when and by whom it was settled, and why
    decided_at: str | None = None
    reviewer: str | None = None
    reviewer_role: str | None = None
    reason: str | None = None
    #: the memory it became
    memory: str | None = None
    #: the reviewer's changes, as a unified diff
    edits: str | None = None
    seq: int = 0


@dataclass(frozen=True, slots=True)
class ProposalLine:
    """A proposal in a listing: all but its content."""

    slug: str
    type: Type
    title: str
    agent: str
    status: ProposalStatus
    risk: Risk
    would: str
    age: str
    flags: tuple[str, ...]
    id: str
    created_at: str
    confidence: float | None = None
    #: what it rests on, first of all: `source:ID#12-14`
    evidence: str | None = None
    #: likely duplicates, and what says otherwise: ids of memories and proposals
    similar: tuple[str, ...] = ()
    contradicts: tuple[str, ...] = ()

    @property
    def beside(self) -> str:
        """What stands beside it, in a few words."""
        counted = ((len(self.contradicts), "against"), (len(self.similar), "alike"))
        return ", ".join(f"{count} {how}" for count, how in counted if count)


@dataclass(frozen=True, slots=True)
class ProposalView:
    """A proposal as its reviewer sees it, with what changed under it."""

    proposal: Proposal
    #: true when what it would change has changed since
    stale: bool
    stale_because: str | None
    #: difference to what it would replace, as a unified diff
    diff: str | None


@dataclass(frozen=True, slots=True)
class Digest:
    """What waits, in one sentence and by kind."""

    sentence: str
    waiting: int
    boundaries: int
    by_type: dict[str, int]
    by_risk: dict[str, int]
    oldest: str | None
    #: groups of slugs that say nearly the same
    batches: tuple[tuple[str, ...], ...] = ()
    #: what a consolidation suggests and nobody has taken or left yet
    suggestions: int = 0


@dataclass(frozen=True, slots=True)
class Submission:
    """The answer to a submission: the slug that counts, and what was done."""

    slug: str
    requested_slug: str
    #: created, updated, unchanged, or known (a memory says it already)
    outcome: str
    verdict: str
    reason: str
    id: str | None = None
    status: ProposalStatus | None = None
    risk: Risk | None = None
    would: Would | None = None
    #: the memory that says it already
    memory: str | None = None


@dataclass(frozen=True, slots=True)
class Promotion:
    """The answer to a promotion: proposal, memory and verdict, made together."""

    slug: str
    proposal: str
    memory: str
    type: Type
    op: str
    superseded: str | None
    edited: bool
    reviewer: str
    verdict: str


@dataclass(frozen=True, slots=True)
class Rejection:
    slug: str
    proposal: str
    reviewer: str
    reason: str
    tombstone: str
    verdict: str
