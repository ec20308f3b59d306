"""Judging a candidate and doing what the verdict says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from minutebook.call import Call
from minutebook.controller.accept import accept
from minutebook.controller.hold import check_undecided, hold, own_request
from minutebook.controller.record import Record, claim_keys, lock_reach, outcome
from minutebook.ledger import bands, inbox, memories, tombstones, verdicts
from minutebook.ledger.claims import ClaimKeys
from minutebook.model.actors import Role, may_decide
from minutebook.model.candidates import Candidate
from minutebook.model.errors import MinutebookError, Refusal
from minutebook.model.inbox import Proposal
from minutebook.model.memories import Memory, Status
from minutebook.model.times import seconds_before
from minutebook.model.tombstones import Cause
from minutebook.model.verdicts import Op, Outcome
from minutebook.policy.judge import Judgement, Neighbours, judge
from minutebook.policy.screening import Family, Finding, Tier, screen
from minutebook.policy.similarity import sketch
from minutebook.policy.slugs import numbered

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


def check_words(fields: Mapping[str, str]) -> None:
    """Refuse a secret, and characters that reorder or hide what a reader sees, in words kept beside memories."""
    check_no_secret(fields)
    for finding in screen(fields):
        if finding.tier is Tier.REFUSE and finding.family is Family.HIDDEN:
            raise MinutebookError(
                "unsafe_text",
                f"The {finding.field} holds characters that hide or reorder what a reader sees ({finding.rule}); "
                "take them out.",
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
            proposed = inbox.of_claim(tx, here, call.actor.id, candidate.type, claim, candidate.scope)
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
