"""What a memory is: its closed types and statuses, and the stored unit itself."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from minutebook.model.errors import MinutebookError
from minutebook.model.evidence import Evidence
from minutebook.model.scopes import Scope, ScopeKind


class Type(StrEnum):
    # governing: a memory of these types is a decision
    ARCHITECTURAL = "architectural"
    SCOPE = "scope"
    PROCESS = "process"
    TECHNICAL = "technical"
    # informing
    CORE_CONTEXT = "core_context"
    LEARNING = "learning"
    PATTERN = "pattern"
    UPDATE = "update"
    PROFILE = "profile"
    FEEDBACK = "feedback"
    PROJECT = "project"
    ARTIFACT = "artifact"
    EPISODE = "episode"


GOVERNING = frozenset({Type.ARCHITECTURAL, Type.SCOPE, Type.PROCESS, Type.TECHNICAL})
INFORMING = frozenset(Type) - GOVERNING
#: Types whose active decisions are boundaries: compiled first, for every agent.
BOUNDARIES = frozenset({Type.ARCHITECTURAL, Type.SCOPE})
#: What the five designs call the same things. The door is the only place that knows these spellings.
SPELLINGS = {
    "user": Type.PROFILE,
    "reference": Type.ARTIFACT,
    "task_hint": Type.PATTERN,
    "directive": Type.PROCESS,
    "decision": Type.TECHNICAL,
}


def parse_type(text: str) -> Type:
    folded = text.strip().casefold().replace("-", "_")
    if folded in SPELLINGS:
        return SPELLINGS[folded]
    try:
        return Type(folded)
    except ValueError:
        known = [member.value for member in Type]
        raise MinutebookError(
            "unknown_type", f"There is no type {folded[:40]!r}; use one of {', '.join(known)}.", known=known
        ) from None


class Status(StrEnum):
    ACTIVE = "active"
    SUPERSEDED = "superseded"
    ARCHIVED = "archived"
    RETIRED = "retired"
    ERASED = "erased"


#: How a status may change by an act. Nothing returns to active but by restore (retired) or revert.
TRANSITIONS: dict[Status, frozenset[Status]] = {
    Status.ACTIVE: frozenset({Status.SUPERSEDED, Status.ARCHIVED, Status.RETIRED}),
    Status.SUPERSEDED: frozenset({Status.ARCHIVED}),
    Status.ARCHIVED: frozenset(),
    Status.RETIRED: frozenset({Status.ACTIVE}),
    Status.ERASED: frozenset(),
}


class Importance(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Relation(StrEnum):
    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"
    SUPERSEDES = "supersedes"
    APPLIES_TO = "applies_to"
    DERIVED_FROM = "derived_from"
    RELATED_TO = "related_to"


#: The tag that carries an agent's memory to the other agents of its project.
CROSS_TEAM = "cross-team"

#: Where a memory of each type lives when the writer does not say.
DEFAULT_SCOPE: dict[Type, ScopeKind] = {
    **dict.fromkeys(GOVERNING, ScopeKind.PROJECT),
    Type.CORE_CONTEXT: ScopeKind.AGENT,
    Type.LEARNING: ScopeKind.AGENT,
    Type.PATTERN: ScopeKind.AGENT,
    Type.UPDATE: ScopeKind.AGENT,
    Type.EPISODE: ScopeKind.AGENT,
    Type.PROFILE: ScopeKind.GLOBAL,
    Type.FEEDBACK: ScopeKind.GLOBAL,
    Type.PROJECT: ScopeKind.PROJECT,
    Type.ARTIFACT: ScopeKind.PROJECT,
}


@dataclass(frozen=True, slots=True)
class Memory:
    """A stored, accepted unit, as it stands at one revision."""

    id: str
    scope: Scope
    type: Type
    slug: str
    title: str
    content: str
    status: Status
    #: who wrote the words, and with what role, through which door
    author: str
    author_role: str
    origin: str
    #: who let it in; for a promoted proposal the reviewer
    decided_by: str
    decided_role: str
    created_at: str
    updated_at: str
    revision: int = 1
    summary: str | None = None
    rationale: str | None = None
    importance: Importance = Importance.MEDIUM
    confidence: float | None = None
    entity: str | None = None
    attribute: str | None = None
    tags: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    proposal: str | None = None
    source: str | None = None
    run: str | None = None
    superseded_by: str | None = None
    observed_at: str | None = None
    verified_at: str | None = None
    #: position in the event log of the write that made this revision
    seq: int = 0

    @property
    def governs(self) -> bool:
        return self.type in GOVERNING


@dataclass(frozen=True, slots=True)
class MemoryLine:
    """A memory in a listing: all but its content."""

    id: str
    type: Type
    slug: str
    title: str
    scope: str
    status: str
    importance: Importance
    author: str
    tags: tuple[str, ...]
    revision: int
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True)
class Link:
    """One relation between two memories."""

    from_id: str
    relation: Relation
    to_id: str
    created_by: str
    created_at: str


@dataclass(frozen=True, slots=True)
class Revision:
    """A memory as one write left it."""

    memory: str
    revision: int
    seq: int
    verdict: str
    at: str
    actor: str
    op: str
    state: Memory


@dataclass(frozen=True, slots=True)
class MemoryView:
    """A memory with how it stands to others."""

    memory: Memory
    #: its status, or `contradicted` while another standing memory contradicts it
    standing: str
    links: tuple[Link, ...]
    supersedes: tuple[str, ...]
    #: the linked project that it was read from, by its slug; None for what is of this one or global
    project: str | None = None


@dataclass(frozen=True, slots=True)
class RevisionLine:
    """One revision in a history."""

    revision: int
    op: str
    actor: str
    at: str
    status: Status
    title: str
    verdict: str
    seq: int


@dataclass(frozen=True, slots=True)
class Difference:
    """What changed between two revisions, or two memories."""

    before: str
    after: str
    #: fields that differ, each with both values
    fields: dict[str, tuple[str, str]]
    diff: str
