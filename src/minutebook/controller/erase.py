"""Erasing: the words go for good from every row that holds them; who, when and a keyed hash stay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from minutebook.call import Call, LongCall
from minutebook.controller.record import Record, claim_keys, lock_reach, outcome
from minutebook.ledger import erasure, inbox, memories, verdicts
from minutebook.model.errors import MinutebookError
from minutebook.model.inbox import Proposal
from minutebook.model.memories import Memory, Status
from minutebook.model.tombstones import Cause
from minutebook.model.verdicts import Op, Outcome, RuleHit

#: What stands where words were.
ERASED = "[erased]"


def erase_for_good(call: LongCall, erase: Callable[[Call], Outcome]) -> Outcome:
    """Erase in one transaction, then make the bytes leave the disk, and note it for later restores."""
    project = call.project
    done = call.database.write(project.id, lambda tx: erase(call.inside(tx)))
    call.database.checkpoint(*erasure.TABLES)
    erasure.note(call.world.home, ref=done.memory or done.proposal or "", at=call.now(), by=call.actor.id)
    return done


def erase_memory(call: Call, memory: Memory, *, reason: str) -> Outcome:
    """Take a memory's words out of its row, revisions, proposal, verdicts and full text."""
    if memory.status is Status.ERASED:
        raise MinutebookError("erased", "It was erased before.", memory=memory.id)
    lock_reach(call, memory.scope.project)
    keys = claim_keys(call)
    record = Record(
        call,
        Op.RETIRE,
        "memory.erased",
        memory.id,
        memory.scope.project,
        reason,
        (RuleHit("erase", "erased", "", memory.id),),
        memory=memory.id,
    ).open()
    # Every wording that ever stood is buried, or an old one would come back by an import.
    before = memories.revisions(call.tx, memory.id)
    wordings = {(r.state.title, r.state.content) for r in before}
    wordings.add((memory.title, memory.content))
    proposal = inbox.get(call.tx, memory.proposal) if memory.proposal is not None else None
    if proposal is not None:
        wordings.add((proposal.title, proposal.content))
    for title, content in sorted(wordings):
        record.bury(
            Cause.ERASED,
            ref=memory.id,
            slug=f"erased-{memory.id.lower()}",
            claim=keys.claim(title, content),
            key=keys.own_id,
            reason=reason,
        )
    gone = replace(
        memories.blanked(memory, ERASED),
        status=Status.ERASED,
        revision=memory.revision + 1,
        updated_at=call.now,
        seq=record.seq,
    )
    record.replace(memory, gone, "")
    memories.blank(call.tx, memory.id, placeholder=ERASED)
    if proposal is not None:
        inbox.blank(call.tx, proposal, placeholder=ERASED)
    # Its effects are of no use to a revert, which must not bring anything back.
    record.effects.clear()
    verdict = record.close()
    verdicts.blank(call.tx, memory=memory.id, proposal=None if proposal is None else proposal.id)
    slugs = {r.state.slug for r in before} | {memory.slug}
    if proposal is not None:
        slugs |= {proposal.slug, proposal.requested_slug}
    erasure.scrub(call.tx, slugs)
    return outcome(verdict, slug=gone.slug, revision=gone.revision)


def erase_proposal(call: Call, proposal: Proposal, *, reason: str) -> Outcome:
    """Take a proposal's words away. A merged one is erased through its memory."""
    if proposal.memory is not None:
        raise MinutebookError(
            "bad_transition",
            f"{proposal.slug!r} became a memory; erase that, and the proposal goes with it.",
            memory=proposal.memory,
        )
    keys = claim_keys(call)
    record = Record(
        call,
        Op.RETIRE,
        "proposal.erased",
        proposal.id,
        proposal.project,
        reason,
        (RuleHit("erase", "erased", "", proposal.id),),
        proposal=proposal.id,
    ).open()
    wordings = {(proposal.title, proposal.content)}
    for verdict in verdicts.list_(call.tx, proposal.project, subject=proposal.id, limit=1000):
        material = verdict.candidate or {}
        if "content" in material:
            wordings.add((material["title"], material["content"]))
    for title, content in sorted(wordings):
        record.bury(
            Cause.ERASED,
            ref=proposal.id,
            slug=f"erased-{proposal.id.lower()}",
            claim=keys.claim(title, content),
            key=keys.own_id,
            reason=reason,
        )
    inbox.blank(call.tx, proposal, placeholder=ERASED)
    record.effects.clear()
    closed = record.close()
    verdicts.blank(call.tx, memory=None, proposal=proposal.id)
    erasure.scrub(call.tx, {proposal.slug, proposal.requested_slug})
    return outcome(closed, slug=f"erased-{proposal.id.lower()}", revision=None)
