"""Verdicts: the controller's recorded answer to every write, with all that revert and replay need."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Op(StrEnum):
    ADD = "add"
    UPDATE = "update"
    SUPERSEDE = "supersede"
    RETIRE = "retire"
    RESTORE = "restore"
    HOLD = "hold"
    SKIP = "skip"
    REFUSE = "refuse"


#: Ops that change what is remembered, and so can be reverted.
CHANGING = frozenset({Op.ADD, Op.UPDATE, Op.SUPERSEDE, Op.RETIRE, Op.RESTORE})


@dataclass(frozen=True, slots=True)
class RuleHit:
    """One rule that fired, and what it found."""

    rule: str
    outcome: str
    detail: str = ""
    target: str | None = None


@dataclass(frozen=True, slots=True)
class Effect:
    """What a verdict changed: a memory's revision, a proposal's status, a link, a tombstone."""

    kind: str
    ref: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Verdict:
    id: str
    seq: int
    project: str
    op: Op
    actor: str
    role: str
    origin: str
    reason: str
    trace: tuple[RuleHit, ...]
    at: str
    memory: str | None = None
    proposal: str | None = None
    run: str | None = None
    source: str | None = None
    effects: tuple[Effect, ...] = ()
    #: rivals that made it ambiguous, or what it stands against
    targets: tuple[str, ...] = ()
    key: str | None = None
    reverts: str | None = None
    reverted_by: str | None = None
    #: what was asked for; given only on request, and never where it held a secret
    candidate: dict[str, Any] | None = None
    #: keyed hash of the content, kept also where the content is not
    digest: str | None = None


@dataclass(frozen=True, slots=True)
class VerdictLine:
    """A verdict in a listing: no content, so that a log can be shown to anybody."""

    id: str
    seq: int
    op: Op
    subject: str
    actor: str
    role: str
    rules: tuple[str, ...]
    reason: str
    at: str
    reverted_by: str | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer to a write: the verdict, and what now stands."""

    op: Op
    verdict: str
    memory: str | None
    slug: str
    revision: int | None
    #: the proposal, where it was held
    proposal: str | None
    reason: str
    rules: tuple[str, ...]
    seq: int
    #: true where this is the first answer to the same request, given again
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class Blocked:
    """A verdict that cannot be reverted, and what stands on it."""

    verdict: str
    because: str
    standing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reverted:
    """The answer to a revert: what was undone, or would be."""

    applied: bool
    reverted: tuple[str, ...]
    verdicts: tuple[str, ...]
    blocked: tuple[Blocked, ...]
    sentence: str
