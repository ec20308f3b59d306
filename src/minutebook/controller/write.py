"""Judging a candidate and doing what the verdict says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from minutebook.call import Call
from minutebook.controller.record import Record, claim_keys, lock_reach, outcome
from minutebook.ledger import bands, inbox, memories, tombstones, verdicts
from minutebook.ledger.claims import ClaimKeys
from minutebook.model.actors import Role, may_decide
from minutebook.model.candidates import Candidate
from minutebook.model.errors import MinutebookError, Refusal
from minutebook.model.inbox import Proposal, ProposalStatus
from minutebook.model.memories import Importance, Memory, Relation, Status
from minutebook.model.times import seconds_before
from minutebook.model.tombstones import Cause
from minutebook.model.verdicts import Effect, Op, Outcome, RuleHit
from minutebook.policy.judge import Judgement, Neighbours, judge
from minutebook.policy.promotion import risk_of
from minutebook.policy.screening import Family, Finding, Tier, screen
from minutebook.policy.similarity import sketch
from minutebook.policy.slugs import decollide, numbered

#: Refusals whose words are not kept, because keeping them is what was refused.
_WITHHELD = frozenset({"secret", "too_large", "unsafe_text", "rate_limited"})


def write(call: Call, candidate: Candidate) -> Outcome:
    """Judge a candidate, record the verdict, and do what it says."""
    lock_reach(call, candidate.scope.project)
    mine = own_request(call, candidate)
    if mine is not None and candidate.propose:
        check_undecided(call, mine)
    keys = claim_keys(call)
    target = _target(call, candidate)
    identity = memories.of_identity(call.tx, candidate.scope, candidate.type, candidate.slug)
    known = target or (identity if candidate.slug_given else None)
    if known is not None and not candidate.amends:
        candidate = candidate.over(known)
    neighbours = gather(call, candidate, keys, target=target, identity=identity, mine=mine)
    judgement = judge(
        candidate, call.actor, call.caller.origin, neighbours, screen_candidate(candidate), call.limits
    )
    if judgement.op is Op.REFUSE:
        refuse(call, candidate, judgement, keys, neighbours)
    if judgement.op is Op.SKIP:
        return _skip(call, candidate, judgement, keys)
    if judgement.op is Op.HOLD:
        return hold(call, candidate, judgement, keys, mine)
    if judgement.op is Op.SUPERSEDE and identity is not None and identity != judgement.target:
        raise MinutebookError(
            "exists",
            f"{candidate.slug!r} stands already and is not what would be superseded; give another slug.",
            memory=identity.id,
        )
    if judgement.op is Op.ADD and identity is not None and not candidate.slug_given:
        # A slug made from the title never means the memory that bears it already: it steps aside.
        taken = memories.slugs_like(call.tx, candidate.scope, candidate.type, candidate.slug)
        candidate = replace(candidate, slug=numbered(candidate.slug, taken))
    return accept(call, candidate, judgement, keys, author=call.actor.id, author_role=call.actor.role)


def _target(call: Call, candidate: Candidate) -> Memory | None:
    if candidate.target is None:
        return None
    target = memories.seen_by(call.tx, candidate.target, call.reader)
    if target is None:
        raise MinutebookError("not_found", "There is no memory to update or supersede of that id here.")
    if target.status is not Status.ACTIVE:
        raise MinutebookError(
            "bad_transition",
            f"{target.slug!r} is {target.status}; only what is active can be updated or superseded.",
            memory=target.id,
            status=target.status,
        )
    check_replaces(target, candidate)
    return target


def check_replaces(target: Memory, candidate: Candidate) -> None:
    """A successor stands in the same project, and only a decision replaces a decision."""
    if target.scope.project != candidate.scope.project:
        raise MinutebookError(
            "other_project",
            f"A successor must stand in the same project as {target.slug!r}.",
            memory=target.id,
        )
    if target.governs != candidate.governs:
        raise MinutebookError(
            "bad_transition",
            f"A {target.type} memory cannot be replaced by a {candidate.type} one: "
            "only a decision replaces a decision.",
            memory=target.id,
        )


def screen_candidate(candidate: Candidate) -> tuple[Finding, ...]:
    """Screen every text of a candidate that anybody will ever read."""
    fields = {
        "content": candidate.content,
        # A title that was made from the content says nothing that the content does not.
        "title": "" if candidate.title.rstrip("…") in candidate.content else candidate.title,
        "rationale": candidate.rationale,
        "summary": candidate.summary,
        "entity": candidate.entity,
        "attribute": candidate.attribute,
        "tags": " ".join(candidate.tags),
        "evidence": "\n".join(evidence.ref for evidence in candidate.evidence),
    }
    return screen({name: text for name, text in fields.items() if text})


def check_no_secret(fields: Mapping[str, str]) -> None:
    """Refuse a secret in words that are kept beside memories, such as tags or a session's summary."""
    for finding in screen(fields):
        if finding.tier is Tier.REFUSE and finding.family is Family.SECRET:
            raise MinutebookError(
                "secret",
                f"The {finding.field} holds what looks like a credential ({finding.rule}). "
                "Nothing of it was kept; take it out and send the rest.",
            )


def gather(
    call: Call,
    candidate: Candidate,
    keys: ClaimKeys,
    *,
    target: Memory | None,
    identity: Memory | None,
    mine: Proposal | None,
) -> Neighbours:
    """Read what stands around a candidate."""
    tx, limits = call.tx, call.limits
    if len(candidate.content.encode()) > limits.content_bytes:
        # The first rule refuses it; nothing else is asked.
        return Neighbours(target=target, identity=identity)
    claim = keys.claim(candidate.title, candidate.content)
    slot: list[Memory] = []
    if candidate.entity and candidate.attribute:
        slot = memories.of_slot(tx, candidate.scope, candidate.entity, candidate.attribute)
    home, sketched = candidate.scope.project, sketch(candidate.content)
    touching = bands.sharing(tx, home, sketched, limits.neighbours)
    near = [] if target else memories.near(tx, candidate.scope, touching)
    proposed, near_proposals = None, []
    if call.caller.project is not None:
        here = call.project.id
        if candidate.propose or not may_decide(call.actor.role):
            proposed = inbox.of_claim(tx, here, call.actor.id, candidate.type, claim)
        near_proposals = inbox.near(
            tx, touching if here == home else bands.sharing(tx, here, sketched, limits.neighbours)
        )
    return Neighbours(
        target=target,
        identity=identity,
        exact=tuple(memories.of_claim(tx, candidate.scope, claim)),
        proposed=proposed,
        slot=tuple(known for known in slot if target is None or known.id != target.id),
        near=tuple(near),
        near_proposals=tuple(p for p in near_proposals if mine is None or p.id != mine.id),
        tombstone=tombstones.standing_on(
            tx, keys.all_claims(candidate.title, candidate.content), candidate.scope.project, call.actor.id
        ),
        over_rate=_over_rate(call),
    )


def _over_rate(call: Call) -> bool:
    """Whether an agent has made its share of writes within the last minute.

    Rows from the future (the clock went back) do not count: else a wrong clock would lock an agent out.
    """
    most = call.limits.writes_per_minute
    if not most or call.actor.role is not Role.AGENT:
        return False
    then = verdicts.nth_last_at(call.tx, call.actor.id, most)
    return then is not None and seconds_before(call.now, 60) <= then <= call.now


# --- refused, skipped -----------------------------------------------------------------------------------


def refuse(
    call: Call, candidate: Candidate, judgement: Judgement, keys: ClaimKeys, neighbours: Neighbours
) -> None:
    """Record the refusal and raise it; the writer commits before the caller hears of it."""
    code = judgement.code or "unsafe_text"
    details: dict[str, object] = {"rules": [hit.rule for hit in judgement.trace]}
    if neighbours.tombstone is not None and code == "tombstoned":
        details["tombstone"] = neighbours.tombstone.id
    if code == "rate_limited" and _refused_for_rate(call):
        # One row a window says it; a looping agent must not fill the ledger with refusals.
        raise MinutebookError(code, judgement.reason, **details)
    erased = neighbours.tombstone is not None and neighbours.tombstone.cause is Cause.ERASED
    withheld = code in _WITHHELD or (code == "tombstoned" and erased)
    record = Record(
        call,
        Op.REFUSE,
        "memory.refused",
        # Not the slug: it is made from words that may be one agent's own.
        neighbours.tombstone.id if neighbours.tombstone is not None and code == "tombstoned" else "",
        candidate.scope.project,
        judgement.reason,
        judgement.trace,
        source=candidate.source,
        candidate=candidate.outline() if withheld else candidate.material(),
        # Not even a hash of a secret: its key lies in the same ledger, and a password can be guessed.
        digest=None if withheld else keys.claim(candidate.title, candidate.content),
        detail={"code": code, "rules": [hit.rule for hit in judgement.trace]},
    ).open()
    verdict = record.close()
    raise Refusal(code, judgement.reason, verdict=verdict.id, **details)


def _refused_for_rate(call: Call) -> bool:
    last = verdicts.last_of(call.tx, call.actor.id)
    return last is not None and any(hit.rule == "shape.rate" for hit in last.trace)


def _skip(call: Call, candidate: Candidate, judgement: Judgement, keys: ClaimKeys) -> Outcome:
    known, proposal = judgement.target, judgement.proposal
    subject = known.id if known is not None else proposal.id if proposal is not None else ""
    record = Record(
        call,
        Op.SKIP,
        "memory.skipped",
        subject,
        candidate.scope.project,
        judgement.reason,
        judgement.trace,
        memory=None if known is None else known.id,
        proposal=None if proposal is None else proposal.id,
        source=candidate.source,
        digest=keys.claim(candidate.title, candidate.content),
    ).open()
    slug = known.slug if known is not None else proposal.slug if proposal is not None else candidate.slug
    return outcome(record.close(), slug=slug, revision=None if known is None else known.revision)


# --- held ------------------------------------------------------------------------------------------------


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
    return outcome(record.close(), slug=slug, revision=proposal.revision)


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


# --- accepted ----------------------------------------------------------------------------------------------


def accept(
    call: Call,
    candidate: Candidate,
    judgement: Judgement,
    keys: ClaimKeys,
    *,
    author: str,
    author_role: str,
    proposal: Proposal | None = None,
    record: Record | None = None,
) -> Outcome:
    """Add, update or supersede, with everything that hangs on it, under one verdict."""
    known = judgement.target
    updates = judgement.op is Op.UPDATE and known is not None
    if record is None:
        memory_id = known.id if known is not None and updates else call.new_id()
        record = open_acceptance(call, candidate, judgement, keys, memory_id)
    assert record.memory is not None
    memory_id = record.memory
    claim = keys.claim(candidate.title, candidate.content)
    if known is not None and updates and known.content == candidate.content:
        # Who only changes what is said about the words has not written them.
        author, author_role = known.author, known.author_role
    memory = Memory(
        id=memory_id,
        scope=candidate.scope,
        type=candidate.type,
        slug=known.slug if known is not None and updates else candidate.slug,
        title=candidate.title,
        content=candidate.content,
        status=Status.ACTIVE,
        author=author,
        author_role=author_role,
        origin=proposal.origin if proposal is not None else call.caller.origin,
        decided_by=call.actor.id,
        decided_role=call.actor.role,
        created_at=known.created_at if known is not None and updates else call.now,
        updated_at=call.now,
        revision=known.revision + 1 if known is not None and updates else 1,
        summary=candidate.summary,
        rationale=candidate.rationale,
        importance=candidate.importance or Importance.MEDIUM,
        confidence=candidate.confidence,
        entity=candidate.entity,
        attribute=candidate.attribute,
        tags=candidate.tags,
        evidence=candidate.evidence,
        proposal=proposal.id
        if proposal is not None
        else known.proposal
        if known is not None and updates
        else None,
        source=candidate.source,
        run=proposal.run if proposal is not None else call.caller.run,
        observed_at=candidate.observed_at,
        seq=record.seq,
    )
    if known is not None and updates:
        record.replace(known, memory, claim)
    elif known is not None:
        supersede(call, record, known, memory.id, keys)
        record.add(memory, claim)
        record.link(memory.id, Relation.SUPERSEDES, known.id)
    else:
        record.add(memory, claim)
    for other in judgement.contradicts:
        record.link(memory.id, Relation.CONTRADICTS, other)
    for other in judgement.related:
        if other != memory.id and other not in judgement.contradicts:
            record.link(memory.id, Relation.RELATED_TO, other)
    if judgement.lifts is not None:
        record.lift(judgement.lifts)
    return outcome(record.close(), slug=memory.slug, revision=memory.revision)


def open_acceptance(
    call: Call,
    candidate: Candidate,
    judgement: Judgement,
    keys: ClaimKeys,
    memory_id: str,
    *,
    kind: str | None = None,
    proposal: Proposal | None = None,
) -> Record:
    past = {Op.ADD: "added", Op.UPDATE: "updated", Op.SUPERSEDE: "superseded"}[judgement.op]
    superseded = judgement.target.id if judgement.op is Op.SUPERSEDE and judgement.target else None
    return Record(
        call,
        judgement.op,
        kind or f"memory.{past}",
        memory_id if proposal is None else proposal.id,
        candidate.scope.project,
        judgement.reason,
        judgement.trace,
        memory=memory_id,
        proposal=None if proposal is None else proposal.id,
        source=candidate.source,
        targets=judgement.targets,
        candidate=candidate.material(),
        digest=keys.claim(candidate.title, candidate.content),
        detail={
            "memory": memory_id,
            "slug": candidate.slug,
            "type": candidate.type,
            "superseded": superseded,
        },
    ).open()


def supersede(call: Call, record: Record, old: Memory, by: str, keys: ClaimKeys) -> None:
    """Take a memory out of force in favour of another."""
    record.replace(
        old,
        replace(
            old,
            status=Status.SUPERSEDED,
            superseded_by=by,
            revision=old.revision + 1,
            updated_at=call.now,
            seq=record.seq,
        ),
        keys.claim(old.title, old.content),
    )
