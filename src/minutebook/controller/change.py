"""Acts on a memory that stands: retire, restore, archive, supersede, rescope, tag, link."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from minutebook.call import Call
from minutebook.controller.accept import supersede
from minutebook.controller.record import Record, claim_keys, lock_reach, outcome
from minutebook.controller.write import check_no_secret
from minutebook.ledger import memories, tombstones
from minutebook.model.actors import may_decide
from minutebook.model.errors import MinutebookError
from minutebook.model.memories import GOVERNING, TRANSITIONS, Memory, Relation, Status
from minutebook.model.scopes import Scope, ScopeKind, Tier
from minutebook.model.tombstones import Cause
from minutebook.model.verdicts import Op, Outcome, RuleHit


def check_may_change(call: Call, memory: Memory) -> None:
    """An agent changes what it wrote and does not govern; the rest is for those who decide.

    Who is bound to one project changes nothing of what the others see.
    """
    call.check_bounds(memory.scope.project)
    if memory.status is Status.ERASED:
        raise MinutebookError(
            "erased", "This memory was erased; nothing is left to change.", memory=memory.id
        )
    if may_decide(call.actor.role):
        return
    if memory.governs or memory.author != call.actor.id:
        raise MinutebookError(
            "not_allowed",
            f"{memory.slug!r} {'governs everyone' if memory.governs else f'was written by {memory.author}'}; "
            f"an actor of role {call.actor.role} can only propose a change.",
            hint="minutebook inbox submit",
        )


def _check_transition(memory: Memory, to: Status) -> None:
    if to not in TRANSITIONS[memory.status]:
        allowed = ", ".join(sorted(TRANSITIONS[memory.status])) or "nothing"
        raise MinutebookError(
            "bad_transition",
            f"{memory.slug!r} is {memory.status} and cannot become {to}; allowed: {allowed}.",
            memory=memory.id,
            status=memory.status,
        )


def _act(call: Call, op: Op, verb: str, memory: Memory, reason: str, **detail: Any) -> Record:
    return Record(
        call,
        op,
        f"memory.{verb}",
        memory.id,
        memory.scope.project,
        reason,
        (RuleHit("act", verb, reason, memory.id),),
        memory=memory.id,
        source=memory.source,
        detail={"slug": memory.slug, **detail},
    ).open()


def _next(call: Call, record: Record, memory: Memory, **changes: Any) -> Memory:
    """Store the memory's next revision with the changes given."""
    keys = claim_keys(call)
    changed = replace(memory, revision=memory.revision + 1, updated_at=call.now, seq=record.seq, **changes)
    record.replace(memory, changed, keys.claim(changed.title, changed.content))
    return changed


def _done(record: Record, memory: Memory) -> Outcome:
    return outcome(record.close(), slug=memory.slug, revision=memory.revision)


def retire(call: Call, memory: Memory, *, reason: str) -> Outcome:
    """Take a memory out of use; a tombstone keeps the claim away."""
    check_may_change(call, memory)
    _check_transition(memory, Status.RETIRED)
    lock_reach(call, memory.scope.project)
    keys = claim_keys(call)
    record = _act(call, Op.RETIRE, "retired", memory, reason)
    retired = _next(call, record, memory, status=Status.RETIRED)
    record.bury(
        Cause.RETIRED,
        ref=memory.id,
        slug=memory.slug,
        claim=keys.claim(memory.title, memory.content),
        key=keys.own_id,
        reason=reason,
        # What an agent takes back binds that agent: else it could bury a claim for everybody by writing it first.
        agent="" if may_decide(call.actor.role) else call.actor.id,
    )
    return _done(record, retired)


def restore(call: Call, memory: Memory, *, reason: str) -> Outcome:
    """Bring a retired memory back, and lift what keeps its claim away."""
    if memory.status is not Status.RETIRED:
        raise MinutebookError(
            "bad_transition",
            f"{memory.slug!r} is {memory.status}; only what is retired is restored. "
            "To undo something else, revert its verdict.",
            memory=memory.id,
            status=memory.status,
        )
    call.check_bounds(memory.scope.project)
    lock_reach(call, memory.scope.project)
    check_free(call, memory, memory.scope)
    keys = claim_keys(call)
    tombstone = tombstones.standing_on(
        call.tx, keys.all_claims(memory.title, memory.content), memory.scope.project, memory.author
    )
    if tombstone is not None and tombstone.cause is Cause.ERASED:
        raise MinutebookError(
            "tombstoned", "The claim was erased elsewhere; an operator must lift that first."
        )
    record = _act(call, Op.RESTORE, "restored", memory, reason)
    while tombstone is not None:
        record.lift(tombstone)
        tombstone = tombstones.standing_on(
            call.tx, keys.all_claims(memory.title, memory.content), memory.scope.project, memory.author
        )
    return _done(record, _next(call, record, memory, status=Status.ACTIVE))


def check_free(call: Call, memory: Memory, scope: Scope) -> None:
    """The identity that a memory is to take must be free there."""
    standing = memories.of_identity(call.tx, scope, memory.type, memory.slug)
    if standing is not None and standing.id != memory.id:
        raise MinutebookError(
            "exists",
            f"{memory.slug!r} stands there already (revision {standing.revision}, by {standing.author}).",
            memory=standing.id,
        )


def archive(call: Call, memory: Memory, *, reason: str) -> Outcome:
    """Put a memory away: it governs and informs no more, and nothing forbids to say it again."""
    check_may_change(call, memory)
    _check_transition(memory, Status.ARCHIVED)
    lock_reach(call, memory.scope.project)
    record = _act(call, Op.RETIRE, "archived", memory, reason)
    return _done(record, _next(call, record, memory, status=Status.ARCHIVED))


def supersede_with(call: Call, old: Memory, successor: Memory, *, reason: str) -> Outcome:
    """Replace one standing memory by another that stands in the same project."""
    check_may_change(call, old)
    if old.id == successor.id:
        raise MinutebookError("cycle", f"{old.slug!r} cannot supersede itself.", memory=old.id)
    if old.id in memories.supersession_chain(call.tx, successor.id):
        raise MinutebookError(
            "cycle", f"{successor.slug!r} was itself superseded, in turn, by {old.slug!r}.", memory=old.id
        )
    _check_transition(old, Status.SUPERSEDED)
    if successor.status is not Status.ACTIVE:
        raise MinutebookError(
            "bad_transition", f"The successor {successor.slug!r} is {successor.status}, not active.",
            memory=successor.id,
        )  # fmt: skip
    if successor.scope.project != old.scope.project:
        raise MinutebookError(
            "other_project", "A successor must stand in the same project.", memory=successor.id
        )
    if (old.type in GOVERNING) != (successor.type in GOVERNING):
        raise MinutebookError(
            "bad_transition",
            f"A {old.type} memory cannot be superseded by a {successor.type} one: only a decision replaces a decision.",
            memory=successor.id,
        )
    lock_reach(call, old.scope.project)
    record = _act(call, Op.SUPERSEDE, "superseded", old, reason, by=successor.id)
    supersede(call, record, old, successor.id, claim_keys(call))
    record.link(successor.id, Relation.SUPERSEDES, old.id)
    return outcome(record.close(), slug=old.slug, revision=old.revision + 1)


def rescope(call: Call, memory: Memory, scope: Scope, *, reason: str) -> Outcome:
    """Move a memory to another scope of the project, or between the project and everywhere."""
    check_may_change(call, memory)
    call.check_bounds(scope.project)
    if memory.status is not Status.ACTIVE:
        raise MinutebookError(
            "bad_transition", f"{memory.slug!r} is {memory.status}; only what is active moves."
        )
    if memory.governs and scope.kind in (ScopeKind.AGENT, ScopeKind.SESSION):
        raise MinutebookError(
            "unknown_scope", "A decision governs everyone; it cannot live in one agent's scope."
        )
    if scope == memory.scope:
        raise MinutebookError("exists", f"{memory.slug!r} is there already.", memory=memory.id)
    wider = scope.kind is ScopeKind.GLOBAL or scope.tier == Tier.GLOBAL
    if wider and not may_decide(call.actor.role):
        raise MinutebookError("not_allowed", "Only those who decide let a memory be seen in every project.")
    lock_reach(call, memory.scope.project)
    lock_reach(call, scope.project)
    check_free(call, memory, scope)
    if scope.project != memory.scope.project:
        _check_not_buried(call, memory, scope)
    record = _act(call, Op.UPDATE, "rescoped", memory, reason, to=str(scope))
    return _done(record, _next(call, record, memory, scope=scope))


def _check_not_buried(call: Call, memory: Memory, scope: Scope) -> None:
    """A claim that was buried where a memory is to go does not come back by moving it there."""
    claims = claim_keys(call).all_claims(memory.title, memory.content)
    tombstone = tombstones.standing_on(call.tx, claims, scope.project, memory.author)
    if tombstone is not None and (tombstone.cause is Cause.ERASED or not may_decide(call.actor.role)):
        raise MinutebookError(
            "tombstoned",
            f"This was {tombstone.cause} there by {tombstone.actor} on {tombstone.at[:10]}.",
            hint="minutebook tombstones lift",
            tombstone=tombstone.id,
        )


def retag(call: Call, memory: Memory, tags: tuple[str, ...]) -> Outcome:
    """Give a memory another set of tags."""
    check_may_change(call, memory)
    if len(tags) > call.limits.tags:
        raise MinutebookError("too_many", f"At most {call.limits.tags} tags are taken.", given=len(tags))
    check_no_secret({"tags": " ".join(tags)})
    lock_reach(call, memory.scope.project)
    record = _act(call, Op.UPDATE, "tagged", memory, f"Tags: {', '.join(tags) or 'none'}.")
    return _done(record, _next(call, record, memory, tags=tags))


def link(call: Call, memory: Memory, relation: Relation, other: Memory) -> Outcome:
    """Say how two memories stand to each other."""
    _check_linkable(memory, relation, other)
    call.check_bounds(memory.scope.project)
    record = _act(call, Op.UPDATE, "linked", memory, f"{relation} {other.slug!r}.", to=other.id)
    if not record.link(memory.id, relation, other.id):
        raise MinutebookError(
            "exists", f"{memory.slug!r} {relation} {other.slug!r} already.", memory=memory.id
        )
    return outcome(record.close(), slug=memory.slug, revision=memory.revision)


def unlink(call: Call, memory: Memory, relation: Relation, other: Memory) -> Outcome:
    """Take a relation away."""
    _check_linkable(memory, relation, other)
    check_may_change(call, memory)
    record = _act(call, Op.UPDATE, "unlinked", memory, f"No longer {relation} {other.slug!r}.", to=other.id)
    if not record.unlink(memory.id, relation, other.id):
        raise MinutebookError("not_found", f"{memory.slug!r} has no such link.", memory=memory.id)
    return outcome(record.close(), slug=memory.slug, revision=memory.revision)


def _check_linkable(memory: Memory, relation: Relation, other: Memory) -> None:
    if relation is Relation.SUPERSEDES:
        raise MinutebookError(
            "bad_transition",
            "Supersession changes what is in force, so it is not a mere link.",
            hint="minutebook decisions supersede OLD --by NEW",
        )
    if memory.id == other.id:
        raise MinutebookError("cycle", "A memory cannot be linked to itself.", memory=memory.id)
