"""Proposals: what waits in front of the ledger."""

from __future__ import annotations

import difflib
from dataclasses import replace
from typing import Annotated, Literal

from annotated_types import Ge, Le

from minutebook.call import Call, LongCall
from minutebook.controller import review
from minutebook.controller.write import write
from minutebook.ledger import bands
from minutebook.ledger import inbox as proposals
from minutebook.ledger import memories as kept
from minutebook.model.errors import MinutebookError
from minutebook.model.inbox import (
    Digest,
    Promotion,
    Proposal,
    ProposalLine,
    ProposalView,
    Rejection,
    Submission,
)
from minutebook.model.memories import BOUNDARIES
from minutebook.model.paging import Page
from minutebook.model.text import fold_name
from minutebook.model.times import age, seconds_before
from minutebook.model.verdicts import Op, Outcome
from minutebook.operations.given import (
    About,
    AfterId,
    Agent,
    Content,
    Limit,
    Place,
    Reason,
    Ref,
    Slug,
    Title,
    TypeName,
    candidate_from,
    filled,
    filled_line,
    filled_or_none,
    memory_named,
    page_of,
    proposal_named,
    reason_of,
)
from minutebook.operations.registry import Access, Help, operation
from minutebook.policy.similarity import similarity, sketch

#: Pending proposals looked at when near duplicates are grouped.
_BATCHED = 200
#: Proposals that one call of `expire` closes; the answer says when there are more.
_EXPIRED = 1_000


@operation(Access.PROPOSE)
def submit(
    call: Call,
    type: TypeName,
    title: Title,
    content: Content,
    slug: Slug | None = None,
    supersedes: Annotated[
        str | None, Help("the decision or memory it is meant to replace: id or slug")
    ] = None,
    contradicts: Annotated[list[str], Help("what it knowingly contradicts and shall stand beside")] = (),  # type: ignore[assignment]
    place: Place = Place(),  # noqa: B008
    about: About = About(),  # noqa: B008
) -> Submission:
    """Propose something for the ledger.

    Nothing governs or informs anybody until a reviewer accepts it, and everybody in the project can read
    what waits: write your own notes with memories write. The slug asked for is kept beside the
    one it gets: where another agent has it, yours becomes slug--agent, and sending the same again updates
    your own proposal.

    Example:
        minutebook inbox submit architectural "Use PostgreSQL" "One database for all." --slug use-postgres
        minutebook inbox submit learning "Proxy limit" @notes.md --tag infra --evidence file:proxy.conf#12
    """
    target = None if supersedes is None else memory_named(call, supersedes).id
    rivals = tuple(memory_named(call, ref).id for ref in contradicts)
    candidate = candidate_from(
        call, type, title, content, slug=slug, place=place, about=about, target=target, contradicts=rivals,
        propose=True,
    )  # fmt: skip
    done = write(call, candidate)
    return _submission(call, done, candidate.slug)


def _submission(call: Call, done: Outcome, requested: str) -> Submission:
    """The answer to a submission, whatever the verdict was."""
    if done.proposal is None:
        memory = kept.get(call.tx, done.memory) if done.memory is not None else None
        return Submission(
            slug=done.slug,
            requested_slug=requested,
            outcome="known",
            verdict=done.verdict,
            reason=done.reason,
            memory=None if memory is None else memory.id,
        )
    proposal = proposals.get(call.tx, done.proposal)
    assert proposal is not None
    if done.op is Op.SKIP:
        said = "unchanged"
    else:
        said = "created" if proposal.revision == 1 else "updated"
    return Submission(
        slug=proposal.slug,
        requested_slug=proposal.requested_slug,
        outcome=said,
        verdict=done.verdict,
        reason=done.reason,
        id=proposal.id,
        status=proposal.status,
        risk=proposal.risk,
        would=proposal.would,
    )


@operation(Access.READ)
def list_(
    call: Call,
    status: Annotated[Literal["pending", "merged", "rejected", "all"], Help("which ones")] = "pending",
    type: TypeName | None = None,
    agent: Agent | None = None,
    risk: Annotated[Literal["low", "medium", "high"] | None, Help("how dangerous to accept")] = None,
    after: AfterId | None = None,
    limit: Limit = 50,
) -> Page[ProposalLine]:
    """List proposals, newest first.

    Example:
        minutebook inbox list
        minutebook inbox list --status all --agent ripley -o json
    """
    rows = proposals.list_(
        call.tx,
        call.project.id,
        status=None if status == "all" else status,
        type=type,
        agent=None if agent is None else fold_name(agent),
        risk=risk,
        reader=call.reader,
        after=after,
        limit=limit + 1,
    )
    return page_of([_line(call, proposal) for proposal in rows], limit, "id")


def _line(call: Call, proposal: Proposal) -> ProposalLine:
    return ProposalLine(
        slug=proposal.slug,
        type=proposal.type,
        title=proposal.title,
        agent=proposal.agent,
        status=proposal.status,
        risk=proposal.risk,
        would=proposal.would.op,
        age=age(proposal.created_at, call.now),
        flags=proposal.would.flags,
        id=proposal.id,
        created_at=proposal.created_at,
        confidence=proposal.confidence,
        evidence=_rests_on(proposal),
        similar=proposal.would.similar,
        contradicts=proposal.would.contradicts,
    )


def _rests_on(proposal: Proposal) -> str | None:
    if not proposal.evidence:
        return None
    first = proposal.evidence[0]
    return f"{first.kind}:{first.ref}" + (f"#{first.span}" if first.span else "")


@operation(Access.READ)
def show(call: Call, ref: Ref) -> ProposalView:
    """Show a proposal as its reviewer sees it: the words, what it would do, what changed under it.

    Example:
        minutebook inbox show use-postgres
    """
    proposal = proposal_named(call, ref)
    stale = review.stale_because(call, proposal)
    base = kept.seen_by(call.tx, proposal.base, call.reader) if proposal.base is not None else None
    diff = None
    if base is not None:
        lines = difflib.unified_diff(
            base.content.splitlines(),
            proposal.content.splitlines(),
            base.slug,
            proposal.slug,
            lineterm="",
            n=2,
        )
        diff = "\n".join(lines) or None
    return ProposalView(proposal=proposal, stale=stale is not None, stale_because=stale, diff=diff)


@operation(Access.REVIEW)
def promote(
    call: Call,
    ref: Ref,
    reason: Reason | None = None,
    title: Annotated[str | None, Help("accept it under this title")] = None,
    content: Annotated[Content | None, Help("accept these words instead; the diff is kept")] = None,
    rationale: Annotated[Content | None, Help("accept it for this reason")] = None,
    supersedes: Annotated[str | None, Help("let it replace this decision: id or slug")] = None,
    revision: Annotated[int | None, Help("only if it is still at this revision"), Ge(1)] = None,
    accept_stale: Annotated[bool, Help("accept although what it would change has changed")] = False,
) -> Promotion:
    """Accept a pending proposal as an active memory.

    The memory is created and the proposal marked merged together, or neither happens. A governing type
    becomes a decision; an informing one becomes memory of the agent that proposed it. Nobody accepts a
    proposal of their own.

    Example:
        minutebook inbox promote use-postgres --reason "measured twice"
        minutebook inbox promote use-postgres --content @better-words.md
    """
    proposal = proposal_named(call, ref)
    if revision is not None and revision != proposal.revision:
        raise MinutebookError(
            "stale_revision",
            f"{proposal.slug!r} is at revision {proposal.revision}, not {revision}: its author changed it since; "
            "read it again.",
            slug=proposal.slug,
            revision=proposal.revision,
            hint=f"minutebook inbox show {proposal.slug}",
        )
    edited = review.candidate_of(proposal)
    if title is not None:
        edited = replace(edited, title=filled_line(title, "title"))
    if content is not None:
        edited = replace(edited, content=filled(content, "content"))
    if rationale is not None:
        edited = replace(edited, rationale=filled_or_none(rationale))
    if supersedes is not None:
        target = memory_named(call, supersedes)
        proposal = replace(proposal, base=target.id, base_revision=target.revision)
        edited = replace(edited, target=target.id, amends=False)
    return review.promote(
        call,
        proposal,
        edited,
        reason=None if reason is None else reason_of(reason),
        accept_stale=accept_stale,
    )


@operation(Access.REVIEW)
def reject(
    call: Call,
    ref: Ref,
    reason: Reason,
    duplicate: Annotated[bool, Help("it only repeats something; lay no tombstone on the claim")] = False,
) -> Rejection:
    """Close a pending proposal with a reason.

    The proposal stays on record, and a tombstone keeps the same claim from coming back by any way but a
    reviewer's act.

    Example:
        minutebook inbox reject use-mongo "we have one database and it is enough"
    """
    return review.reject(call, proposal_named(call, ref), reason=reason_of(reason), bury=not duplicate)


@operation(Access.PROPOSE)
def withdraw(call: Call, ref: Ref, reason: Reason = "withdrawn by its author") -> Rejection:
    """Take back a pending proposal of your own.

    Example:
        minutebook inbox withdraw use-mongo
    """
    return review.withdraw(call, proposal_named(call, ref), reason=reason_of(reason))


@operation(Access.READ)
def digest(call: Call) -> Digest:
    """Say what waits, in one sentence and by kind, with near duplicates side by side.

    Example:
        minutebook inbox digest
    """
    rows = proposals.waiting(call.tx, call.project.id)
    waiting = sum(row["n"] for row in rows)
    boundaries = sum(row["n"] for row in rows if row["type"] in BOUNDARIES)
    by_type: dict[str, int] = {}
    by_risk: dict[str, int] = {}
    for row in rows:
        by_type[row["type"]] = by_type.get(row["type"], 0) + row["n"]
        by_risk[row["risk"]] = by_risk.get(row["risk"], 0) + row["n"]
    oldest = min((row["oldest"] for row in rows), default=None)
    if not waiting:
        sentence = "Nothing waits."
    else:
        sentence = f"{waiting} wait{'s' if waiting == 1 else ''}"
        if boundaries:
            sentence += f", {boundaries} of them {'a boundary' if boundaries == 1 else 'boundaries'}"
        waited = age(oldest, call.now) if oldest else "now"
        sentence += "." if waited == "now" else f"; the oldest for {waited}."
    from minutebook.ledger import consolidations  # costs more to import than most of these commands need

    suggested = consolidations.waiting(call.tx, call.project.id)
    if suggested:
        them = (
            "One suggestion of a consolidation waits"
            if suggested == 1
            else f"{suggested} suggestions of a consolidation wait"
        )
        sentence += f" {them}: minutebook consolidation show."
    pending = proposals.list_(call.tx, call.project.id, status="pending", limit=_BATCHED)
    return Digest(
        sentence=sentence,
        waiting=waiting,
        boundaries=boundaries,
        by_type=by_type,
        by_risk=by_risk,
        oldest=oldest,
        batches=_batches(call, pending),
        suggestions=suggested,
    )


def _batches(call: Call, pending: list[Proposal]) -> tuple[tuple[str, ...], ...]:
    """Pending proposals that say nearly the same, in groups."""
    group_of: dict[str, set[str]] = {}
    slugs = {proposal.id: proposal.slug for proposal in pending}
    for proposal in pending:
        refs = bands.sharing(call.tx, call.project.id, sketch(proposal.content), call.limits.neighbours)
        for other in proposals.near(call.tx, refs):
            if other.id == proposal.id or other.id not in slugs:
                continue
            if similarity(proposal.content, other.content) >= call.limits.near_hold:
                joined = group_of.get(proposal.id, {proposal.id}) | group_of.get(other.id, {other.id})
                for member in joined:
                    group_of[member] = joined
    groups = {tuple(sorted(slugs[member] for member in group)) for group in group_of.values()}
    return tuple(sorted(groups))


@operation(Access.REVIEW)
def expire(
    call: Call,
    days: Annotated[
        int | None, Help("older than so many days; the setting if not given"), Ge(1), Le(3650)
    ] = None,
    confirm: Annotated[bool, Help("do it; without this, only say what would happen")] = False,
) -> Page[ProposalLine]:
    """Close pending proposals that nobody decided for a long time.

    Nothing expires by itself unless the setting inbox_expiry_days says so. Nobody judged the claims, so
    no tombstones are laid.

    Example:
        minutebook inbox expire --days 90
        minutebook inbox expire --days 90 --confirm
    """
    days = days or call.limits.inbox_expiry_days
    if not days:
        raise MinutebookError(
            "bad_setting",
            "Nothing expires unless you say after how many days.",
            hint="give --days, or set inbox_expiry_days",
        )
    bound = seconds_before(call.now, days * 86400)
    old = proposals.list_(
        call.tx, call.project.id, status="pending", updated_before=bound, limit=_EXPIRED + 1
    )
    for proposal in old[:_EXPIRED]:
        review.close(call, proposal, reason=f"expired after {days} days", bury=False)
    lines = [_line(call, proposals.get(call.tx, proposal.id) or proposal) for proposal in old]
    answer = page_of(lines, _EXPIRED, "id")
    if not confirm:
        call.preview(answer)
    return answer


@operation(Access.OPERATE)
def erase(call: LongCall, ref: Ref, reason: Reason) -> Outcome:
    """Take a proposal's words away for good, for privacy.

    Who proposed it and when stays, with a keyed hash that keeps the words from coming back. A proposal
    that became a memory is erased with it: see memories erase.

    Example:
        minutebook inbox erase customer-list "personal data"
    """
    from minutebook.controller import erase as erasing  # as above: few commands erase

    return erasing.erase_for_good(
        call,
        lambda inside: erasing.erase_proposal(inside, proposal_named(inside, ref), reason=reason_of(reason)),
    )
