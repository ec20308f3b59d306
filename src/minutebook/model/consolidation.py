"""Consolidation: looking through what stands for what repeats, disagrees or is of no use any more."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

#: The job that looks at the gates, and the one that consolidates.
GATES_JOB = "consolidation_gates"
JOB = "consolidate"


class Kind(StrEnum):
    """What was noticed."""

    #: the same words, in scopes of which one holds the other
    DUPLICATE = "duplicate"
    #: nearly the same words, and nothing that tells them apart
    NEAR_DUPLICATE = "near_duplicate"
    #: several agents keep the same for themselves
    SHARED = "shared"
    #: two that stand and disagree
    CONTRADICTION = "contradiction"
    #: it says itself that its time is over
    OUTDATED = "outdated"
    #: what it rests on has changed or is gone
    STALE_EVIDENCE = "stale_evidence"
    #: nobody was shown it for a long time
    UNUSED = "unused"
    #: it is long, and repeats itself
    OVERLONG = "overlong"
    #: a proposal that a promotion rule finds well founded
    GROUNDED = "grounded"


class Act(StrEnum):
    """What taking a suggestion does: always under a verdict, so that it can be reverted."""

    #: the first stays, with tags and evidence of all; the others are superseded by it
    MERGE = "merge"
    #: the same, and the first is the whole project's from then on
    SHARE = "share"
    #: the two are linked as contradicting each other, and both stand
    LINK = "link"
    ARCHIVE = "archive"
    SHORTEN = "shorten"
    PROMOTE = "promote"


ACTS: dict[Kind, Act] = {
    Kind.DUPLICATE: Act.MERGE,
    Kind.NEAR_DUPLICATE: Act.MERGE,
    Kind.SHARED: Act.SHARE,
    Kind.CONTRADICTION: Act.LINK,
    Kind.OUTDATED: Act.ARCHIVE,
    Kind.STALE_EVIDENCE: Act.ARCHIVE,
    Kind.UNUSED: Act.ARCHIVE,
    Kind.OVERLONG: Act.SHORTEN,
    Kind.GROUNDED: Act.PROMOTE,
}


class State(StrEnum):
    OPEN = "open"
    TAKEN = "taken"
    LEFT = "left"
    #: what it was about has changed, or a later consolidation did not find it any more
    GONE = "gone"


class RunState(StrEnum):
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    #: its process ended in the middle of it
    ABANDONED = "abandoned"


@dataclass(frozen=True, slots=True)
class Noticed:
    """One thing that a consolidation noticed."""

    kind: Kind
    #: ids and revisions; the first is what stays
    refs: tuple[tuple[str, int], ...]
    #: what gave it away, in a word or two; never anybody's words
    rule: str
    score: float | None = None

    @property
    def act(self) -> Act:
        return ACTS[self.kind]


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """What a consolidation suggests, to be taken or left."""

    id: str
    consolidation: str
    kind: Kind
    act: Act
    refs: tuple[tuple[str, int], ...]
    rule: str
    score: float | None
    state: State
    created_at: str
    decided_by: str | None = None
    decided_at: str | None = None
    verdict: str | None = None


@dataclass(frozen=True, slots=True)
class SuggestionView:
    """A suggestion as a reviewer sees it."""

    id: str
    kind: Kind
    act: Act
    state: State
    #: what is suggested and why, in a sentence
    sentence: str
    #: slugs of what it is about; the first is what stays
    about: tuple[str, ...]
    memories: tuple[str, ...]
    score: float | None
    #: what would change, as a unified diff
    diff: str
    verdict: str | None
    decided_by: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidation:
    """One look through a project."""

    id: str
    state: RunState
    #: asked, or the gates
    cause: str
    started_by: str
    started_at: str
    finished_at: str | None
    looked: int
    #: suggestions that it left, and the same by their kind
    suggested: int
    counts: dict[str, int]
    #: what more it noticed than a batch holds
    beyond: int
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """A consolidation with what it suggests."""

    run: Consolidation
    sentence: str
    suggestions: tuple[SuggestionView, ...]
    #: open ones that are not shown here: beyond the limit, or about what you may not see
    more: int


@dataclass(frozen=True, slots=True)
class Gate:
    """One condition under which a consolidation begins on its own."""

    name: str
    open: bool
    have: float
    need: float
    sentence: str


@dataclass(frozen=True, slots=True)
class ConsolidationStatus:
    """How it stands with consolidation, as it is."""

    #: whether it begins on its own at all
    enabled: bool
    sentence: str
    gates: tuple[Gate, ...]
    running: Consolidation | None
    last: Consolidation | None
    #: suggestions that wait
    waiting: int
    #: when the gates are looked at next; None where no service does
    next_look: str | None


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of one suggestion."""

    id: str
    state: State
    sentence: str
    verdict: str | None
