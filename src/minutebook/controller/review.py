"""Settling proposals: promote, reject, withdraw."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace

from minutebook.call import Call
from minutebook.controller.accept import accept, open_acceptance
from minutebook.controller.record import Record, claim_keys, lock_reach
from minutebook.controller.write import (
    check_replaces,
    gather,
    refuse,
    screen_candidate,
)
from minutebook.ledger import memories
from minutebook.ledger.claims import ClaimKeys
from minutebook.model.candidates import Candidate
from minutebook.model.errors import MinutebookError
from minutebook.model.inbox import Promotion, Proposal, ProposalStatus, Rejection
from minutebook.model.memories import Memory, Status
from minutebook.model.tombstones import Cause
from minutebook.model.verdicts import Op, RuleHit
from minutebook.policy.judge import Judgement, judge
from minutebook.policy.promotion import check_may_settle, still_waits
from minutebook.policy.screening import Finding, Tier


def promote(
    call: Call,
    proposal: Proposal,
    edited: Candidate,
    *,
    reason: str | None,
    accept_stale: bool,
) -> Promotion:
    """Accept a pending proposal: memory, link, status and verdict in one transaction, or nothing."""
    _check_pending(proposal)
    check_may_settle(call.actor, proposal)
    call.check_bounds(edited.scope.project)
    # The reviewer has seen what was flagged; only what is refused outright is refused again.
    findings = tuple(finding for finding in screen_candidate(edited) if finding.tier is Tier.REFUSE)
    weighed = weigh(call, proposal, edited, findings, accept_stale=accept_stale)
    return carry_out(call, proposal, weighed, reason=reason)


@dataclass(frozen=True, slots=True)
class Weighed:
    """A proposal that may become a memory, and how."""

    candidate: Candidate
    judgement: Judgement
    keys: ClaimKeys
    target: Memory | None


def weigh(
    call: Call,
    proposal: Proposal,
    edited: Candidate,
    findings: tuple[Finding, ...],
    *,
    accept_stale: bool,
    author: Call | None = None,
) -> Weighed:
    """Judge a proposal once more as things stand now, and raise what stands against it.

    It is judged as the caller's own words, or as those of `author`: the call as the proposer would make it.
    """
    stale = stale_because(call, proposal)
    if stale is not None and not accept_stale:
        raise MinutebookError(
            "stale_base",
            f"{stale} Look at it (`minutebook inbox show {proposal.slug}`), then promote with --accept-stale.",
            slug=proposal.slug,
        )
    lock_reach(call, edited.scope.project)
    keys = claim_keys(call)
    target = _present_target(call, proposal)
    if target is not None:
        check_replaces(target, edited)
    candidate = replace(edited, target=None if target is None else target.id, propose=False)
    identity = memories.of_identity(call.tx, candidate.scope, candidate.type, candidate.slug)
    asking = author or call
    neighbours = replace(
        gather(asking, candidate, keys, target=target, identity=identity, mine=proposal),
        proposed=None,
        over_rate=False,
    )

    def judged(asked: Candidate) -> Judgement:
        return judge(asked, asking.actor, asking.caller.origin, neighbours, findings, call.limits)

    judgement = judged(candidate)
    if author is not None and judgement.op is not Op.REFUSE:
        # Handed in, it would be held; what holds it besides that, no rule passes over.
        why = still_waits(judged(replace(candidate, propose=True)))
        if why is not None:
            raise MinutebookError("not_allowed", f"Held for review: {why}.", slug=proposal.slug)
    if judgement.op is Op.REFUSE:
        refuse(call, candidate, judgement, keys, neighbours)
    if judgement.op is Op.SKIP and judgement.target is not None:
        raise MinutebookError(
            "exists",
            f"{judgement.target.slug!r} says this already; reject {proposal.slug!r}, or promote it with an edit.",
            memory=judgement.target.id,
        )
    if judgement.op is Op.HOLD:
        code = "ambiguous" if judgement.targets else "not_allowed"
        raise MinutebookError(code, judgement.reason, targets=list(judgement.targets), slug=proposal.slug)
    return Weighed(candidate, judgement, keys, target)


def carry_out(
    call: Call, proposal: Proposal, weighed: Weighed, *, reason: str | None, rule: RuleHit | None = None
) -> Promotion:
    """Make the memory, settle the proposal and record the verdict; `rule` is what stands for a reviewer."""
    candidate, judgement, keys, target = (
        weighed.candidate,
        weighed.judgement,
        weighed.keys,
        weighed.target,
    )
    if rule is not None:
        judgement = replace(judgement, trace=(*judgement.trace, rule))
    if reason:
        judgement = replace(judgement, reason=reason)
    superseded = target if target is not None and judgement.op is Op.SUPERSEDE else judgement.target
    memory_id = judgement.target.id if judgement.op is Op.UPDATE and judgement.target else call.new_id()
    record = open_acceptance(
        call, candidate, judgement, keys, memory_id, kind="proposal.promoted", proposal=proposal
    )
    diff = edits_of(proposal, candidate)
    # First of all: two reviewers cannot both go on from here.
    record.settle(proposal, ProposalStatus.MERGED, reason=reason, memory=memory_id, edits=diff)
    done = accept(
        call,
        candidate,
        judgement,
        keys,
        author=proposal.agent,
        author_role=proposal.author_role,
        proposal=proposal,
        record=record,
    )
    assert done.memory is not None
    return Promotion(
        slug=proposal.slug,
        proposal=proposal.id,
        memory=done.memory,
        type=candidate.type,
        op=done.op,
        superseded=superseded.id if judgement.op is Op.SUPERSEDE and superseded is not None else None,
        edited=diff is not None,
        reviewer=call.actor.name,
        verdict=done.verdict,
    )


def candidate_of(proposal: Proposal) -> Candidate:
    """What a proposal asks for."""
    return Candidate(
        scope=proposal.scope,
        type=proposal.type,
        title=proposal.title,
        content=proposal.content,
        slug=proposal.slug,
        slug_given=True,
        rationale=proposal.rationale,
        importance=proposal.importance,
        confidence=proposal.confidence,
        entity=proposal.entity,
        attribute=proposal.attribute,
        tags=proposal.tags,
        evidence=proposal.evidence,
        observed_at=proposal.observed_at,
        source=proposal.source,
        target=proposal.base,
        contradicts=proposal.would.contradicts,
        amends=proposal.would.op == Op.UPDATE,
    )


def _check_pending(proposal: Proposal) -> None:
    if proposal.status is not ProposalStatus.PENDING:
        raise MinutebookError(
            "already_decided",
            f"{proposal.slug!r} was {proposal.status} by {proposal.reviewer} already.",
            slug=proposal.slug,
            status=proposal.status,
            memory=proposal.memory,
        )


def stale_because(call: Call, proposal: Proposal) -> str | None:
    """What changed under a proposal since it was made, in a sentence; None if nothing did."""
    if proposal.status is not ProposalStatus.PENDING:
        return None
    if proposal.base is None:
        standing = memories.of_identity(call.tx, proposal.scope, proposal.type, proposal.slug)
        if standing is not None:
            return (
                f"Since it was proposed, {standing.decided_by} wrote {standing.slug!r} under the same name."
            )
        return None
    base = memories.get(call.tx, proposal.base)
    if base is None or base.status is Status.ERASED:
        return "What it would change was erased."
    if base.status is not Status.ACTIVE:
        return f"{base.slug!r}, which it would change, is {base.status} now."
    if base.revision != proposal.base_revision:
        return (
            f"{base.slug!r}, which it would change, is at revision {base.revision} now; "
            f"it was proposed against revision {proposal.base_revision}."
        )
    return None


def _present_target(call: Call, proposal: Proposal) -> Memory | None:
    """What the proposal replaces, as it stands; following supersession to what stands now."""
    target = memories.get(call.tx, proposal.base) if proposal.base is not None else None
    while target is not None and target.superseded_by is not None:
        target = memories.get(call.tx, target.superseded_by)
    return target if target is not None and target.status is Status.ACTIVE else None


def edits_of(proposal: Proposal, candidate: Candidate) -> str | None:
    """The reviewer's changes, as a unified diff of all the words; None when there are none."""
    before = _words(proposal.type, proposal.title, proposal.content, proposal.rationale, proposal.tags)
    after = _words(candidate.type, candidate.title, candidate.content, candidate.rationale, candidate.tags)
    if before == after:
        return None
    return "\n".join(difflib.unified_diff(before, after, "proposed", "accepted", lineterm="", n=2))


def _words(type: str, title: str, content: str, rationale: str | None, tags: tuple[str, ...]) -> list[str]:
    head = [f"type: {type}", f"title: {title}", f"tags: {', '.join(tags)}"]
    return [*head, *content.splitlines(), "rationale:", *(rationale or "").splitlines()]


def reject(call: Call, proposal: Proposal, *, reason: str, bury: bool = True) -> Rejection:
    """Close a proposal with a reason; the row stays, and a tombstone keeps the claim from coming back."""
    _check_pending(proposal)
    check_may_settle(call.actor, proposal)
    return close(call, proposal, reason=reason, bury=bury)


def withdraw(call: Call, proposal: Proposal, *, reason: str) -> Rejection:
    """Close a proposal at its own author's wish; nobody judged the claim, so there is no tombstone."""
    _check_pending(proposal)
    if proposal.agent != call.actor.id:
        raise MinutebookError(
            "other_agent", f"{proposal.slug!r} was proposed by {proposal.agent}; only they withdraw it."
        )
    return close(call, proposal, reason=reason, bury=False)


def close(call: Call, proposal: Proposal, *, reason: str, bury: bool) -> Rejection:
    keys = claim_keys(call)
    claim = keys.claim(proposal.title, proposal.content)
    record = Record(
        call,
        Op.REFUSE,
        "proposal.rejected",
        proposal.id,
        proposal.project,
        reason,
        (RuleHit("review", "reject", reason),),
        proposal=proposal.id,
        digest=claim,
        detail={"slug": proposal.slug},
    ).open()
    record.settle(proposal, ProposalStatus.REJECTED, reason=reason)
    tombstone = ""
    # A claim that stands is not dead: rejecting the second copy of it buries nothing.
    if bury and not memories.of_claim(call.tx, proposal.scope, claim):
        tombstone = record.bury(
            Cause.REJECTED, ref=proposal.id, slug=proposal.slug, claim=claim, key=keys.own_id, reason=reason
        ).id
    verdict = record.close()
    return Rejection(
        slug=proposal.slug,
        proposal=proposal.id,
        reviewer=call.actor.name,
        reason=reason,
        tombstone=tombstone,
        verdict=verdict.id,
    )
