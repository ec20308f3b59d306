"""Letting entries of adopted files in: proposed by nobody who could approve them, accepted by a reviewer's act.

The words are the file's. Who asked for the adoption stands in the proposer's name, which nobody can ask as; so a
person alone with their agents can review what they had adopted, and an agent that adopts proposes as itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from minutebook.call import Call
from minutebook.controller import change
from minutebook.controller.review import candidate_of, carry_out, close, weigh
from minutebook.controller.write import screen_candidate, write
from minutebook.ledger import inbox, memories
from minutebook.model.actors import Actor, Origin, Role, may_decide
from minutebook.model.candidates import Candidate
from minutebook.model.errors import Kind, MinutebookError, Refusal
from minutebook.model.inbox import Proposal
from minutebook.model.memories import BOUNDARIES, Memory, Status, Type
from minutebook.model.verdicts import Op, Outcome
from minutebook.policy.promotion import check_may_settle
from minutebook.policy.screening import Tier

#: A colon is in no name that anybody can be given.
_ADOPTER = "adoption:"


@dataclass(frozen=True, slots=True)
class Verdicted:
    """What became of one entry: proposed, active, archived, known, refused or kept."""

    becomes: str
    why: str
    slug: str | None = None
    proposal: str | None = None
    memory: str | None = None
    #: an agent has made its share of writes: the rest comes another time
    stop: bool = False


def as_adopter(call: Call) -> Call:
    """The call as an adoption makes it: through the door of imports, where nobody stands for the words."""
    actor = call.actor
    if may_decide(actor.role):
        name = f"{_ADOPTER}{actor.id}"
        actor = Actor(id=name, name=name, role=Role.SCRIBE, project=call.project.id)
    caller = replace(call.caller, actor=actor, origin=Origin.IMPORT, key=None)
    return replace(call, caller=caller)


def adopter_id(actor: Actor) -> str:
    """Under which name an actor's adoptions propose."""
    return f"{_ADOPTER}{actor.id}" if may_decide(actor.role) else actor.id


def propose(call: Call, candidate: Candidate) -> Verdicted:
    """Put an entry before the reviewers; a refusal is recorded and costs the others nothing."""
    try:
        done = write(as_adopter(call), candidate)
    except Refusal as refusal:
        return Verdicted("refused", refusal.message, stop=refusal.code == "rate_limited")
    except MinutebookError as error:
        if error.kind in (Kind.UNAVAILABLE, Kind.INTERNAL):
            raise  # nothing is wrong with the entry: the adoption goes on another time
        # Nothing was written: what cannot be proposed stays what it is, lines of its source.
        return Verdicted("kept", error.message, stop=error.code == "rate_limited")
    return _proposed(done)


def _proposed(done: Outcome) -> Verdicted:
    if done.op is Op.HOLD:
        return Verdicted("proposed", "", done.slug, done.proposal)
    return Verdicted("known", done.reason, done.slug, None, done.memory)


def accept(
    call: Call,
    id: str,
    *,
    reason: str,
    archived: bool = False,
    target: str | None = None,
    guessed: bool = False,
) -> Verdicted:
    """Promote one adopted proposal by the caller's act; what stands against that leaves it waiting.

    `target` is the memory that its file says it replaces. A type that was only guessed makes no boundary.
    """
    proposal = inbox.get(call.tx, id)
    assert proposal is not None
    waits = Verdicted("proposed", "", proposal.slug, proposal.id)
    if proposal.would.flags:
        return replace(waits, why=f"it looks like: {', '.join(proposal.would.flags)}")
    candidate = candidate_of(proposal)
    if guessed and candidate.type in BOUNDARIES:
        candidate = replace(candidate, type=Type.TECHNICAL)
    older = None if target is None else memories.get(call.tx, target)
    if older is not None and older.status is Status.ACTIVE and older.governs == candidate.governs:
        proposal = replace(proposal, base=older.id, base_revision=older.revision)
        candidate = replace(candidate, target=older.id, amends=False)
    try:
        memory = _promote(call, proposal, candidate, reason)
    except MinutebookError as error:
        if error.kind in (Kind.UNAVAILABLE, Kind.INTERNAL):
            raise
        return replace(waits, why=error.message)
    if archived:
        change.archive(call, memory, reason="It was put away in the files that it came from.")
        return Verdicted("archived", "", proposal.slug, proposal.id, memory.id)
    return Verdicted("active", "", proposal.slug, proposal.id, memory.id)


def _promote(call: Call, proposal: Proposal, candidate: Candidate, reason: str) -> Memory:
    check_may_settle(call.actor, proposal)
    call.check_bounds(candidate.scope.project)
    findings = tuple(finding for finding in screen_candidate(candidate) if finding.tier is Tier.REFUSE)
    weighed = weigh(call, proposal, candidate, findings, accept_stale=False)
    with call.tx.savepoint():
        done = carry_out(call, proposal, weighed, reason=reason)
    memory = memories.get(call.tx, done.memory)
    assert memory is not None
    return memory


def reject(call: Call, id: str, *, reason: str, bury: bool) -> Verdicted:
    """Close one adopted proposal."""
    proposal = inbox.get(call.tx, id)
    assert proposal is not None
    try:
        check_may_settle(call.actor, proposal)
        close(call, proposal, reason=reason, bury=bury)
    except MinutebookError as error:
        if error.kind in (Kind.UNAVAILABLE, Kind.INTERNAL):
            raise
        return Verdicted("proposed", error.message, proposal.slug, proposal.id)
    return Verdicted("rejected", "", proposal.slug, proposal.id)
