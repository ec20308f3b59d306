"""Putting a candidate into the inbox, where a reviewer finds it."""

from __future__ import annotations

from dataclasses import replace

from minutebook.call import Call
from minutebook.controller.record import Record, outcome
from minutebook.ledger import inbox, jobs
from minutebook.ledger.claims import ClaimKeys
from minutebook.model.candidates import Candidate
from minutebook.model.errors import MinutebookError
from minutebook.model.inbox import Proposal, ProposalStatus
from minutebook.model.jobs import Priority, Request
from minutebook.model.memories import Importance
from minutebook.model.verdicts import Effect, Op, Outcome, RuleHit
from minutebook.policy.judge import Judgement
from minutebook.policy.promotion import risk_of
from minutebook.policy.slugs import decollide, numbered

#: The kind of job that has a model say which of several memories is meant.
SETTLE = "settle"


def own_request(call: Call, candidate: Candidate) -> Proposal | None:
    """What this agent proposed before under the same requested slug, whatever slug it got."""
    if not candidate.slug_given or call.caller.project is None:
        return None
    project, agent = call.project.id, call.actor.id
    mine = inbox.by_request(call.tx, project, candidate.slug, agent)
    if mine is None:
        named = inbox.by_slug(call.tx, project, candidate.slug)
        mine = named if named is not None and named.agent == agent else None
    return mine


def check_undecided(call: Call, mine: Proposal) -> None:
    """A decided proposal is a conflict: history is not reopened by asking again."""
    if mine.status is ProposalStatus.PENDING:
        return
    raise MinutebookError(
        "slug_decided",
        f"{call.actor.name}'s proposal {mine.slug!r} was {mine.status}"
        + (f" by {mine.reviewer}." if mine.reviewer else ".")
        + " What is decided is not reopened; propose under another slug.",
        slug=mine.slug,
        status=mine.status,
        memory=mine.memory,
        reason=mine.reason,
    )


def hold(
    call: Call, candidate: Candidate, judgement: Judgement, keys: ClaimKeys, mine: Proposal | None
) -> Outcome:
    """Put the candidate into the inbox, or bring this agent's pending proposal up to date."""
    if mine is not None and candidate.amends and mine.status is not ProposalStatus.PENDING:
        mine = None  # to propose a change to what became of one's own proposal does not reopen that one
    if mine is not None:
        check_undecided(call, mine)
    tx, project = call.tx, call.project.id
    claim = keys.claim(candidate.title, candidate.content)
    base = judgement.target
    would = judgement.would
    slug = mine.slug if mine is not None else _free_slug(call, candidate)
    proposal = Proposal(
        id=mine.id if mine is not None else call.new_id(),
        project=project,
        slug=slug,
        requested_slug=mine.requested_slug if mine is not None else candidate.slug,
        agent=call.actor.id,
        author_role=call.actor.role,
        origin=call.caller.origin,
        type=candidate.type,
        title=candidate.title,
        content=candidate.content,
        scope=candidate.scope,
        status=ProposalStatus.PENDING,
        risk=risk_of(candidate.type, flags=would.flags, contradicts=bool(would.contradicts)),
        would=would,
        created_at=mine.created_at if mine is not None else call.now,
        updated_at=call.now,
        revision=mine.revision + 1 if mine is not None else 1,
        rationale=candidate.rationale,
        importance=candidate.importance or Importance.MEDIUM,
        confidence=candidate.confidence,
        entity=candidate.entity,
        attribute=candidate.attribute,
        tags=candidate.tags,
        evidence=candidate.evidence,
        observed_at=candidate.observed_at,
        source=candidate.source,
        run=call.caller.run,
        base=None if base is None else base.id,
        base_revision=None if base is None else base.revision,
    )
    if mine is not None and _unchanged(mine, proposal):
        return _wait_on(call, mine, judgement, claim)
    record = Record(
        call,
        Op.HOLD,
        "proposal.submitted" if mine is None else "proposal.updated",
        proposal.id,
        project,
        judgement.reason,
        judgement.trace,
        proposal=proposal.id,
        source=candidate.source,
        targets=judgement.targets,
        candidate=candidate.material(),
        digest=claim,
        detail={"slug": slug, "type": candidate.type, "risk": proposal.risk},
    ).open()
    proposal = replace(proposal, seq=record.seq)
    if mine is None:
        inbox.insert(tx, proposal, claim)
        record.effects.append(Effect("proposal", proposal.id, "", "pending"))
    else:
        inbox.replace(tx, mine, proposal, claim)
        record.effects.append(
            Effect("proposal", proposal.id, f"pending {mine.revision}", f"pending {proposal.revision}")
        )
    if judgement.targets and call.world.model() is not None:
        _ask_a_model(call, proposal)
    return outcome(record.close(), slug=slug, revision=proposal.revision)


def _ask_a_model(call: Call, proposal: Proposal) -> None:
    """Later, and never inside a write."""
    request = Request(
        kind=SETTLE,
        project=proposal.project,
        payload={"proposal": proposal.id},
        unique_key=proposal.id,
        priority=Priority.WHENEVER,
    )
    jobs.add(call.tx, call.new_id(), request, at=call.now)


def _free_slug(call: Call, candidate: Candidate) -> str:
    taken = inbox.slugs_like(call.tx, call.project.id, candidate.slug)
    if not candidate.slug_given:
        return numbered(candidate.slug, taken)
    if candidate.slug in taken:
        taken |= inbox.slugs_like(call.tx, call.project.id, decollide(candidate.slug, call.actor.name, taken))
    return decollide(candidate.slug, call.actor.name, taken)


def _unchanged(mine: Proposal, proposal: Proposal) -> bool:
    same = replace(proposal, updated_at=mine.updated_at, revision=mine.revision, seq=mine.seq, run=mine.run)
    return same == mine


def _wait_on(call: Call, mine: Proposal, judgement: Judgement, claim: str) -> Outcome:
    """A retry that changes nothing is told what the first one was."""
    record = Record(
        call,
        Op.SKIP,
        "memory.skipped",
        mine.id,
        mine.project,
        f"{mine.slug!r} waits in the inbox already, word for word.",
        (*judgement.trace, RuleHit("retry", "skip", "nothing changed", mine.id)),
        proposal=mine.id,
        digest=claim,
    ).open()
    return outcome(record.close(), slug=mine.slug, revision=mine.revision)
