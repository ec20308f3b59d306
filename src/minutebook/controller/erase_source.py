"""Erasing a source: its words, and with them everything that came out of it."""

from __future__ import annotations

from minutebook.call import Call
from minutebook.controller.erase import erase_memory, erase_proposal
from minutebook.controller.record import Record, claim_keys, outcome
from minutebook.ledger import erasure, inbox, memories, source_erasure, sources
from minutebook.model.captures import Source
from minutebook.model.errors import MinutebookError
from minutebook.model.tombstones import Cause
from minutebook.model.verdicts import Op, Outcome, RuleHit


def erase_source(call: Call, source: Source, *, reason: str) -> Outcome:
    """Take a source's words away, and those of each memory and proposal that was made from it."""
    call.check_bounds(source.project)
    if source.erased_at is not None:
        raise MinutebookError("erased", "It was erased before.", source=source.id)
    for id in source_erasure.memories_of(call.tx, source.id):
        memory = memories.get(call.tx, id)
        if memory is not None and memory.status != "erased":
            erase_memory(call, memory, reason=reason)
    for id in source_erasure.proposals_of(call.tx, source.id):
        proposal = inbox.get(call.tx, id)
        if proposal is not None and proposal.slug != erasure.name_of(id):
            erase_proposal(call, proposal, reason=reason)
    keys = claim_keys(call)
    record = Record(
        call,
        Op.RETIRE,
        "source.erased",
        source.id,
        source.project,
        reason,
        (RuleHit("erase", "erased", "", source.id),),
        source=source.id,
    ).open()
    record.bury(
        Cause.ERASED,
        ref=source.id,
        slug=erasure.name_of(source.id),
        # Not of its words: nobody proposes a whole source, and a hash of so much text helps nobody.
        claim=keys.claim("source", source.id),
        key=keys.own_id,
        reason=reason,
    )
    record.effects.clear()
    # Its pieces may have reworded it on the way.
    sources.erase(call.tx, sources.get(call.tx, source.id) or source, keys=keys, at=call.now)
    return outcome(record.close(), slug=erasure.name_of(source.id), revision=None)
