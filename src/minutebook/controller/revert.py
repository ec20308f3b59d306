"""Undoing verdicts: one, or all that a run, an actor, a source or a span of time wrote.

A revert is itself a verdict. It is refused when something newer stands on what it would undo, and names it.
"""

from __future__ import annotations

from dataclasses import replace

from minutebook.call import Call
from minutebook.controller import across
from minutebook.controller.record import Record, claim_keys, lock_reach
from minutebook.controller.review import candidate_of, edits_of
from minutebook.ledger import inbox, memories, reach, revisions, tombstones, verdicts
from minutebook.model.candidates import Candidate
from minutebook.model.errors import MinutebookError
from minutebook.model.inbox import Proposal, ProposalStatus
from minutebook.model.memories import Importance, Relation, Status
from minutebook.model.scopes import GLOBAL
from minutebook.model.tombstones import Cause
from minutebook.model.verdicts import CHANGING, Blocked, Effect, Op, RuleHit, Verdict

#: What the undoing of each op is called.
_UNDOES = {
    Op.ADD: Op.RETIRE,
    Op.UPDATE: Op.UPDATE,
    Op.SUPERSEDE: Op.RESTORE,
    Op.RETIRE: Op.RESTORE,
    Op.RESTORE: Op.RETIRE,
    Op.HOLD: Op.REFUSE,
    Op.REFUSE: Op.HOLD,
}


def revert(call: Call, verdict: Verdict, *, reason: str) -> Verdict:
    """Undo one verdict, wholly or not at all."""
    if not in_bounds(call, verdict):
        call.check_bounds(GLOBAL)
    blocked = why_not(call, verdict)
    if blocked is not None:
        code = "already_reverted" if verdict.reverted_by is not None else "newer_stands"
        if not can_revert(verdict):
            code = "bad_transition"
        raise MinutebookError(code, blocked.because, verdict=verdict.id, standing=list(blocked.standing))
    return undo(call, verdict, reason=reason)


def in_bounds(call: Call, verdict: Verdict) -> bool:
    """Whether the caller may change all that the undoing would change: a memory may have moved since."""
    if call.actor.project is None:
        return True
    touched = {verdict.project}
    for effect in verdict.effects:
        if effect.kind == "memory":
            now = memories.get(call.tx, effect.ref)
            then = revisions.at(call.tx, effect.ref, int(effect.before))
            touched |= {state.scope.project for state in (now, then) if state is not None}
    return all(call.in_bounds(project) for project in touched)


def can_revert(verdict: Verdict) -> bool:
    """Whether a verdict changed anything that can be put back."""
    return bool(verdict.effects) and (verdict.op in CHANGING or verdict.op in (Op.HOLD, Op.REFUSE))


def why_not(call: Call, verdict: Verdict) -> Blocked | None:
    """What keeps a verdict from being reverted; None when nothing does."""
    if verdict.reverted_by is not None:
        return Blocked(verdict.id, "It was reverted before.", (verdict.reverted_by,))
    if not can_revert(verdict):
        return Blocked(
            verdict.id, f"A verdict of op {verdict.op} changed nothing; there is nothing to revert.", ()
        )
    refs = [effect.ref for effect in verdict.effects if effect.kind in ("memory", "proposal")]
    for effect in verdict.effects:
        moved = _moved_on(call, effect, refs)
        if moved is not None:
            newer = [
                v.id
                for v in verdicts.touching(call.tx, refs, after=verdict.seq)
                if v.reverts is None and v.reverted_by is None
            ]
            return Blocked(verdict.id, moved, tuple(newer))
    return None


def _moved_on(call: Call, effect: Effect, together: list[str]) -> str | None:
    """Whether what an effect left is not what stands now; `together` is all that is put back with it."""
    tx = call.tx
    if effect.kind == "memory":
        memory = memories.get(tx, effect.ref)
        if memory is None or memory.status is Status.ERASED:
            return "The memory was erased since."
        left = _memory_stands(call, memory.id, int(effect.after))
        if _memory_stands(call, memory.id, memory.revision) != left:
            return f"{memory.slug!r} is at revision {memory.revision} now; this verdict left revision {effect.after}."
        if effect.before != "0":
            return _cannot_return(call, effect, together)
    elif effect.kind == "proposal":
        proposal = inbox.get(tx, effect.ref)
        if proposal is None:
            return "The proposal is gone."
        status, _, revision = effect.after.partition(" ")
        if proposal.status != status:
            return f"{proposal.slug!r} is {proposal.status} now."
        if status == "pending" and _proposal_stands(call, proposal, proposal.revision) != _proposal_stands(
            call, proposal, int(revision or 1)
        ):
            return f"{proposal.slug!r} was changed since, to revision {proposal.revision}."
    return None


def _memory_stands(call: Call, id: str, revision: int) -> int:
    """The revision whose state a revision has: a revert brings an earlier one back, 0 where nothing was.

    So a pile of writes comes apart one by one, newest first, though every revert makes a revision.
    """
    while revision:
        made_by = revisions.verdict_of(call.tx, id, revision)
        effect = _undone_by(call, None if made_by is None else verdicts.get(call.tx, made_by), id)
        if effect is None:
            break
        revision = int(effect.before)
    return revision


def _proposal_stands(call: Call, proposal: Proposal, revision: int) -> int:
    """The same for a proposal, whose revisions are in the verdicts that made them."""
    made_by: dict[int, Verdict] = {}
    for verdict in verdicts.list_(call.tx, proposal.project, subject=proposal.id, limit=1000):
        for effect in verdict.effects:
            if effect.ref == proposal.id and effect.before.startswith("pending ") and " " in effect.after:
                made_by[int(effect.after.partition(" ")[2])] = verdict
    while revision in made_by:
        effect = _undone_by(call, made_by[revision], proposal.id)
        if effect is None:
            break
        revision = int(effect.before.partition(" ")[2])
    return revision


def _undone_by(call: Call, verdict: Verdict | None, ref: str) -> Effect | None:
    """The effect on `ref` that a verdict undid, if it is a revert."""
    if verdict is None or verdict.reverts is None:
        return None
    undone = verdicts.get(call.tx, verdict.reverts)
    assert undone is not None
    return next((effect for effect in undone.effects if effect.ref == ref), None)


def _cannot_return(call: Call, effect: Effect, together: list[str]) -> str | None:
    """Whether the earlier state would bring back erased words, or stand on a name that is taken now."""
    earlier = revisions.at(call.tx, effect.ref, int(effect.before))
    if earlier is None or earlier.status is not Status.ACTIVE:
        return None
    claims = claim_keys(call).all_claims(earlier.title, earlier.content)
    tombstone = tombstones.standing_on(call.tx, claims, earlier.scope.project, earlier.author)
    if tombstone is not None and tombstone.cause is Cause.ERASED:
        return "The words before were erased elsewhere; they come back only when that tombstone is lifted."
    standing = memories.of_identity(call.tx, earlier.scope, earlier.type, earlier.slug)
    # What has the name now may be what makes room for it again: a successor, whose own step is undone too.
    if standing is None or standing.id in together:
        return None
    return f"{earlier.slug!r} is the name of a newer memory now."


def undo(call: Call, verdict: Verdict, *, reason: str) -> Verdict:
    """Put back, newest effect first, what a verdict changed."""
    lock_reach(call, verdict.project)
    words_only = verdict.op is Op.HOLD and verdict.effects[0].before.startswith("pending ")
    record = Record(
        call,
        Op.HOLD if words_only else _UNDOES[verdict.op],
        "verdict.reverted",
        verdict.id,
        verdict.project,
        reason,
        (RuleHit("revert", verdict.op, reason, verdict.id),),
        memory=verdict.memory,
        proposal=verdict.proposal,
        source=verdict.source,
        reverts=verdict.id,
        detail={"reverts": verdict.id},
    ).open()
    if not verdicts.mark_reverted(call.tx, verdict.id, record.id):
        raise MinutebookError("already_reverted", verdict=verdict.id)
    reopens = any(effect.kind == "proposal" and effect.after == "merged" for effect in verdict.effects)
    for effect in reversed(verdict.effects):
        _put_back(call, record, verdict, effect, bury=not reopens, reason=reason)
    if verdict.reverts is not None:
        verdicts.unmark_reverted(call.tx, verdict.reverts)
    return record.close()


def _put_back(
    call: Call, record: Record, verdict: Verdict, effect: Effect, *, bury: bool, reason: str
) -> None:
    if effect.kind == "memory":
        _put_back_memory(call, record, effect, bury=bury, reason=reason)
    elif effect.kind == "proposal":
        _put_back_proposal(call, record, verdict, effect, reason=reason)
    elif effect.kind == "link":
        from_id, relation, to_id = effect.ref.split(" ")
        if effect.after == "linked":
            record.unlink(from_id, Relation(relation), to_id)
        else:
            record.link(from_id, Relation(relation), to_id)
    elif effect.kind == "reach":
        _put_back_reach(call, record, effect)
    elif effect.kind == "tombstone":
        tombstone = tombstones.get(call.tx, effect.ref)
        if tombstone is not None and effect.after == "laid":
            record.lift(tombstone)
        elif tombstone is not None:
            tombstones.lay_again(call.tx, tombstone.id)
            record.effects.append(Effect("tombstone", tombstone.id, "lifted", "laid"))


def _put_back_reach(call: Call, record: Record, effect: Effect) -> None:
    """Close a link to another project, or open it again to where its memory is now."""
    from_id, relation, to_id = effect.ref.split(" ")
    if effect.after == "linked":
        standing = reach.way_of(call.tx, from_id, relation, to_id)
        if standing is not None:
            record.unreach(standing)
        return
    across.reopen(call, record, from_id, Relation(relation), to_id)


def _put_back_memory(call: Call, record: Record, effect: Effect, *, bury: bool, reason: str) -> None:
    keys = claim_keys(call)
    current = memories.get(call.tx, effect.ref)
    assert current is not None
    if effect.before == "0":
        # A proposal that waits again has no memory: restored by hand, this one stands for itself.
        earlier = replace(current, status=Status.RETIRED, proposal=current.proposal if bury else None)
    else:
        found = revisions.at(call.tx, effect.ref, int(effect.before))
        assert found is not None
        earlier = found
    restored = replace(earlier, revision=current.revision + 1, updated_at=call.now, seq=record.seq)
    claim = keys.claim(restored.title, restored.content)
    record.replace(current, restored, claim)
    if effect.before == "0" and bury:
        record.bury(
            Cause.RETIRED, ref=current.id, slug=current.slug, claim=claim, key=keys.own_id, reason=reason
        )


def _put_back_proposal(call: Call, record: Record, verdict: Verdict, effect: Effect, *, reason: str) -> None:
    proposal = inbox.get(call.tx, effect.ref)
    assert proposal is not None
    if effect.after in ("merged", "rejected"):
        inbox.reopen(call.tx, proposal, at=call.now, seq=record.seq)
        record.effects.append(Effect("proposal", proposal.id, effect.after, f"pending {proposal.revision}"))
        return
    if effect.before in ("", "merged", "rejected"):
        _settle_again(call, record, verdict, proposal, effect, reason=reason)
        return
    # An update in place: its words before are in the verdict that left them.
    earlier = _earlier_words(call, verdict, proposal.id)
    keys = claim_keys(call)
    put = replace(
        proposal,
        type=earlier.type,
        title=earlier.title,
        content=earlier.content,
        rationale=earlier.rationale,
        importance=earlier.importance or Importance.MEDIUM,
        confidence=earlier.confidence,
        entity=earlier.entity,
        attribute=earlier.attribute,
        tags=earlier.tags,
        evidence=earlier.evidence,
        scope=earlier.scope,
        revision=proposal.revision + 1,
        updated_at=call.now,
        seq=record.seq,
    )
    inbox.replace(call.tx, proposal, put, keys.claim(put.title, put.content))
    record.candidate = candidate_of(put).material()
    record.effects.append(
        Effect("proposal", put.id, f"pending {proposal.revision}", f"pending {put.revision}")
    )


def _settle_again(
    call: Call, record: Record, verdict: Verdict, proposal: Proposal, effect: Effect, *, reason: str
) -> None:
    """Close a proposal that the reverted verdict opened, as it was settled before if it was."""
    status = ProposalStatus(effect.before or "rejected")
    first = verdicts.get(call.tx, verdict.reverts) if verdict.reverts is not None else None
    edits = None
    if status is ProposalStatus.MERGED and first is not None and first.candidate is not None:
        edits = edits_of(proposal, Candidate.from_material(first.candidate))
    settled = first is not None and effect.before != ""
    record.settle(
        proposal,
        status,
        reason=first.reason if first is not None and settled else f"reverted: {reason}",
        memory=verdict.memory if status is ProposalStatus.MERGED else None,
        edits=edits,
        by=(first.actor, first.role) if first is not None and settled else None,
    )


def _earlier_words(call: Call, verdict: Verdict, proposal: str) -> Candidate:
    for older in verdicts.list_(call.tx, verdict.project, subject=proposal, before=verdict.seq, limit=100):
        if older.candidate is not None and any(e.kind == "proposal" for e in older.effects):
            return Candidate.from_material(older.candidate)
    raise MinutebookError("newer_stands", "The words before are not kept any more.", verdict=verdict.id)
