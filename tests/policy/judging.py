"""Values for tests of the judge: a candidate, the memory it meets, and who asks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from minutebook.model.actors import Actor, Origin, Role
from minutebook.model.candidates import Candidate
from minutebook.model.inbox import Proposal, ProposalStatus, Risk, Would
from minutebook.model.memories import Memory, Status, Type
from minutebook.model.scopes import Scope
from minutebook.model.tombstones import Cause, Tombstone
from minutebook.policy.judge import Judgement, Neighbours, judge
from minutebook.policy.limits import Limits
from minutebook.policy.screening import Family, Finding, Tier

PROJECT = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
AT = "2026-01-01T00:00:00.000000Z"
LONG = "The staging proxy drops every request body over one megabyte, so large uploads need the direct route."

RIPLEY = Actor("ripley", "Ripley", Role.AGENT)
DALLAS = Actor("dallas", "Dallas", Role.COORDINATOR)
MOTHER = Actor("mother", "Mother", Role.OPERATOR)


def candidate(**changes: Any) -> Candidate:
    plain = Candidate(
        scope=Scope.of_project(PROJECT),
        type=Type.PROJECT,
        title="Proxy",
        content=LONG,
        slug="proxy",
        slug_given=True,
    )
    return replace(plain, **changes)


def memory(id: str = "M1", **changes: Any) -> Memory:
    plain = Memory(
        id=id,
        scope=Scope.of_project(PROJECT),
        type=Type.PROJECT,
        slug=f"known-{id.lower()}",
        title="Known",
        content="Something quite different that stands here since long ago.",
        status=Status.ACTIVE,
        author="ripley",
        author_role="agent",
        origin="python",
        decided_by="ripley",
        decided_role="agent",
        created_at=AT,
        updated_at=AT,
    )
    return replace(plain, **changes)


def proposal(id: str = "P1", **changes: Any) -> Proposal:
    plain = Proposal(
        id=id,
        project=PROJECT,
        slug="waiting",
        requested_slug="waiting",
        agent="ripley",
        author_role="agent",
        origin="python",
        type=Type.PROJECT,
        title="Proxy",
        content=LONG,
        scope=Scope.of_project(PROJECT),
        status=ProposalStatus.PENDING,
        risk=Risk.LOW,
        would=Would(),
        created_at=AT,
        updated_at=AT,
    )
    return replace(plain, **changes)


def tombstone(cause: Cause = Cause.REJECTED, reason: str = "we tried it") -> Tombstone:
    return Tombstone("T1", PROJECT, cause, "P0", "buried", "dallas", reason, AT, 1)


def finding(rule: str = "private_key", tier: Tier = Tier.REFUSE, family: Family = Family.SECRET) -> Finding:
    return Finding(rule=rule, tier=tier, field="content", family=family)


def judged(
    asked: Candidate,
    actor: Actor = RIPLEY,
    origin: Origin = Origin.PYTHON,
    findings: tuple[Finding, ...] = (),
    limits: Limits | None = None,
    **around: Any,
) -> Judgement:
    return judge(asked, actor, origin, Neighbours(**around), findings, limits or Limits())


def rules(judgement: Judgement) -> list[str]:
    return [hit.rule for hit in judgement.trace]
