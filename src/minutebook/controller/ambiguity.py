"""A proposal that may mean one of several memories: asking for one to be named, and what follows when it was.

Naming is not deciding. What was held for this alone is judged once more as its author's own words, as if they had
named it themselves; whatever else holds it then leaves it in the inbox, where the reviewer sees which is meant.
"""

from __future__ import annotations

from dataclasses import replace

from minutebook.call import Call
from minutebook.controller.record import Record, claim_keys
from minutebook.controller.review import candidate_of, carry_out, weigh
from minutebook.controller.write import screen_candidate
from minutebook.ledger import inbox, verdicts
from minutebook.model.actors import UNTRUSTED_ORIGINS, Actor, Origin, Role
from minutebook.model.errors import Kind, MinutebookError
from minutebook.model.inbox import Proposal
from minutebook.model.memories import GOVERNING, Memory
from minutebook.model.verdicts import Effect, Op, RuleHit

#: Rules of a hold that a name settles.
_AMBIGUOUS = frozenset({"entity_slot.ambiguous", "ambiguous"})
_RULE = "ambiguous.named"


def name_target(call: Call, proposal: Proposal, target: Memory, *, by: str, why: str) -> bool:
    """Say which memory a proposal means; True where it was accepted with that."""
    alone = _held_for_this_alone(call, proposal)
    proposal = _aim(call, proposal, target, by=by, why=why)
    if not alone or proposal.origin in UNTRUSTED_ORIGINS or proposal.type in GOVERNING or target.governs:
        return False
    try:
        with call.tx.savepoint():
            _accept(call, proposal, by)
    except MinutebookError as error:
        if error.kind in (Kind.UNAVAILABLE, Kind.INTERNAL):
            raise
        return False  # another rule holds it: it waits for a reviewer
    return True


def _held_for_this_alone(call: Call, proposal: Proposal) -> bool:
    last = verdicts.last_hold(call.tx, proposal.id)
    if last is None:
        return False
    return {hit.rule for hit in last.trace if hit.outcome == "hold"} <= _AMBIGUOUS


def _aim(call: Call, proposal: Proposal, target: Memory, *, by: str, why: str) -> Proposal:
    op = Op.SUPERSEDE if target.type in GOVERNING or proposal.type in GOVERNING else Op.UPDATE
    said = f"{by} takes it to mean {target.slug!r}" + (f": {why}" if why else "")
    aimed = replace(
        proposal,
        base=target.id,
        base_revision=target.revision,
        would=replace(proposal.would, op=op, target=target.id, held_because=said),
        revision=proposal.revision + 1,
        updated_at=call.now,
    )
    claim = claim_keys(call).claim(proposal.title, proposal.content)
    record = Record(
        call,
        Op.HOLD,
        "proposal.updated",
        proposal.id,
        proposal.project,
        f"{said}.",
        (RuleHit(_RULE, op, said, target.id),),
        proposal=proposal.id,
        source=proposal.source,
        targets=(target.id,),
        digest=claim,
        detail={"slug": proposal.slug, "type": proposal.type, "risk": proposal.risk},
    ).open()
    aimed = replace(aimed, seq=record.seq)
    if not inbox.replace(call.tx, proposal, aimed, claim):
        raise MinutebookError("already_decided", f"{proposal.slug!r} was decided by somebody else meanwhile.")
    record.effects.append(
        Effect("proposal", proposal.id, f"pending {proposal.revision}", f"pending {aimed.revision}")
    )
    record.close()
    return aimed


def _accept(call: Call, proposal: Proposal, by: str) -> None:
    author = Actor(
        id=proposal.agent, name=proposal.agent, role=Role(proposal.author_role), project=proposal.project
    )
    caller = replace(call.caller, actor=author, origin=Origin(proposal.origin), run=proposal.run)
    candidate = candidate_of(proposal)
    weighed = weigh(
        call,
        proposal,
        candidate,
        screen_candidate(candidate),
        accept_stale=False,
        author=replace(call, caller=caller),
    )
    hit = RuleHit(_RULE, "promote", f"{by} named what it means; nothing else held it", proposal.id)
    carry_out(call, proposal, weighed, reason="It is clear now what it means.", rule=hit)
