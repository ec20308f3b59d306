"""Links across projects: they let one project read what stands in another.

Only somebody who may see and decide in both makes one. It goes one way: the project of the first memory, or the
project that one stands in, reads the other; the other learns nothing of it.
"""

from __future__ import annotations

from minutebook.call import Call
from minutebook.controller.record import Record, outcome
from minutebook.ledger import memories as kept
from minutebook.ledger import projects, reach
from minutebook.ledger.reach import Way
from minutebook.model.actors import may_decide
from minutebook.model.errors import MinutebookError
from minutebook.model.memories import Memory, Relation, Status
from minutebook.model.projects import Project
from minutebook.model.scopes import GLOBAL, ScopeKind
from minutebook.model.verdicts import Op, Outcome, RuleHit

#: What can be said of a memory of another project. What contradicts or replaces changes how the other stands, and
#: that is for the project that it is of.
RELATIONS = (Relation.APPLIES_TO, Relation.RELATED_TO, Relation.SUPPORTS, Relation.DERIVED_FROM)


def sees_all(call: Call) -> bool:
    """Whether the caller may see and decide in every project."""
    return call.actor.project is None and not call.caller.as_agent and may_decide(call.actor.role)


def check_sees_all(call: Call) -> None:
    """Refuse whoever may not see and decide in every project."""
    if call.actor.project is not None:
        raise MinutebookError(
            "other_project", f"{call.actor.name} is bound to one project, and a link leads into another."
        )
    if not sees_all(call):
        raise MinutebookError("not_allowed", "Only those who decide in both projects link them.")


def is_across(memory: Memory, other: Memory) -> bool:
    """Whether a link between the two would lead from one project into another."""
    ends = {memory.scope.project, other.scope.project}
    return len(ends) > 1 and GLOBAL not in ends


def link(call: Call, memory: Memory, relation: Relation, other: Memory) -> Outcome:
    """Link a memory to one of another project, which the project of the first may read from now on."""
    check_sees_all(call)
    if relation not in RELATIONS:
        raise MinutebookError(
            "bad_transition",
            f"Across projects a memory {relation} nothing: that would change how the other one stands.",
            hint=", ".join(RELATIONS),
        )
    if other.scope.kind is not ScopeKind.PROJECT or other.status is not Status.ACTIVE:
        raise MinutebookError(
            "bad_transition",
            f"{other.slug!r} is {other.status}, in scope {other.scope.kind}; only what stands for a whole "
            "project can be read from another.",
            memory=other.id,
        )
    home = projects.find(call.tx, other.scope.project)
    assert home is not None
    check_room(call, memory.scope.project)
    # By its id: a name is made of words, and these may have to be erased where they are.
    record = _act(call, "linked", memory, f"{relation} {other.id} of {home.slug!r}.", other.id)
    way = Way(memory.scope.project, home.id, other.id, memory.id, relation)
    if not record.reach(way, _open(home).slug):
        raise MinutebookError(
            "exists", f"{memory.slug!r} {relation} {other.slug!r} already.", memory=memory.id
        )
    return outcome(record.close(), slug=memory.slug, revision=memory.revision)


def unlink(call: Call, memory: Memory, way: Way) -> Outcome:
    """Take such a link away: what it led to is out of sight at once."""
    call.check_bounds(memory.scope.project)
    if not may_decide(call.actor.role):
        raise MinutebookError("not_allowed", "A link into another project is for those who decide.")
    record = _act(call, "unlinked", memory, f"No longer {way.relation} {way.memory}.", way.memory)
    if not record.unreach(way):
        raise MinutebookError("not_found", f"{memory.slug!r} has no such link.", memory=memory.id)
    return outcome(record.close(), slug=memory.slug, revision=memory.revision)


def reopen(call: Call, record: Record, from_id: str, relation: Relation, to_id: str) -> None:
    """Open a link again whose removal is undone, if there is still something that it can lead to."""
    other = kept.get(call.tx, to_id)
    home = None if other is None else projects.find(call.tx, other.scope.project)
    if home is None or home.archived_at is not None or home.id in (record.project, GLOBAL):
        raise MinutebookError("newer_stands", "What the link led to is not there any more.", memory=to_id)
    record.reach(Way(record.project, home.id, to_id, from_id, relation), home.slug)


def check_room(call: Call, project: str) -> None:
    """A project has at most so many links: each of them is looked at for every task."""
    if reach.count(call.tx, project) >= call.limits.reaches:
        raise MinutebookError(
            "too_many",
            f"The project has {call.limits.reaches} links already; take one away first.",
            hint="minutebook projects links",
        )


def _open(project: Project) -> Project:
    if project.archived_at is not None:
        raise MinutebookError("bad_transition", f"The project {project.slug!r} is archived.")
    return project


def _act(call: Call, verb: str, memory: Memory, reason: str, to: str) -> Record:
    return Record(
        call,
        Op.UPDATE,
        f"memory.{verb}",
        memory.id,
        memory.scope.project,
        reason,
        (RuleHit("act", f"{verb}_across", reason, memory.id),),
        memory=memory.id,
        source=memory.source,
        detail={"slug": memory.slug, "to": to},
    ).open()
