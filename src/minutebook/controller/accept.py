"""Taking a candidate in: add, update or supersede, with everything that hangs on it."""

from __future__ import annotations

from dataclasses import replace

from minutebook.call import Call
from minutebook.controller.record import Record, outcome
from minutebook.ledger.claims import ClaimKeys
from minutebook.model.candidates import Candidate
from minutebook.model.inbox import Proposal
from minutebook.model.memories import Importance, Memory, Relation, Status
from minutebook.model.verdicts import Op, Outcome
from minutebook.policy.judge import Judgement


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
