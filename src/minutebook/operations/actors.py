"""Who may ask for what."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from annotated_types import MaxLen

from minutebook.call import Call
from minutebook.ledger import actors as kept
from minutebook.ledger import events, projects
from minutebook.model.actors import Actor, Role, parse_role
from minutebook.model.errors import MinutebookError
from minutebook.model.paging import Page
from minutebook.model.text import check_name, fold_name
from minutebook.operations.given import After, Limit, page_of
from minutebook.operations.registry import Access, Help, Read, operation

Name = Annotated[str, Help("a name; case does not matter"), MaxLen(400)]
RoleName = Annotated[
    Role, Read(parse_role), Help("viewer reads, agent proposes, coordinator reviews, operator runs the house")
]


@operation(Access.OPERATE)
def add(
    call: Call,
    name: Name,
    role: RoleName = Role.AGENT,
    bound_to: Annotated[str | None, Help("the only project it may work in: id or slug"), MaxLen(300)] = None,
) -> Actor:
    """Register an actor.

    Example:
        minutebook actors add Ripley
        minutebook actors add Dallas --role coordinator
    """
    shown = check_name(name, "actor")
    actor = Actor(
        id=fold_name(shown),
        name=shown,
        role=role,
        # Whom a bound operator lets in is bound as well; else the bond could be shed by a new name.
        project=call.actor.project if bound_to is None else _project_id(call, bound_to),
        created_at=call.now,
    )
    if kept.get(call.tx, actor.id) is None:
        kept.check_free(call.tx, actor, bound=call.actor.project)
    if not kept.insert(call.tx, actor):
        raise MinutebookError(
            "exists", f"There is an actor {shown!r} already (case does not matter).", actor=actor.id
        )
    _event(call, "actor.added", actor)
    return actor


def _project_id(call: Call, ref: str) -> str:
    found = projects.find(call.tx, ref)
    if call.actor.project is not None and (found is None or found.id != call.actor.project):
        raise MinutebookError("other_project", f"{call.actor.name} is bound to another project.")
    if found is None:
        raise MinutebookError(
            "not_found", f"There is no project {ref[:80]!r}.", hint="minutebook projects list"
        )
    return found.id


def _event(call: Call, kind: str, actor: Actor) -> None:
    events.append(
        call.tx,
        kind=kind,
        subject=actor.id,
        project=actor.project or "global",
        actor=call.actor.id,
        role=call.actor.role,
        origin=call.caller.origin,
        at=call.now,
        detail={"role": actor.role},
    )


def _actor(call: Call, name: str) -> Actor:
    found = kept.get(call.tx, fold_name(name))
    if found is None:
        raise _no_actor(name)
    return found


def _no_actor(name: str) -> MinutebookError:
    return MinutebookError("not_found", f"There is no actor {name[:80]!r}.", hint="minutebook actors list")


def _own_actor(call: Call, name: str) -> Actor:
    """An actor that the caller may change: a bound operator changes those of its own project."""
    actor = _actor(call, name)
    if call.actor.project is not None and actor.project != call.actor.project:
        raise MinutebookError(
            "other_project", f"{actor.name} is not of the project that {call.actor.name} is bound to."
        )
    return actor


@operation(Access.READ)
def list_(
    call: Call,
    role: Annotated[Role | None, Help("only of this role")] = None,
    retired: Annotated[bool, Help("also retired ones")] = False,
    after: After | None = None,
    limit: Limit = 50,
) -> Page[Actor]:
    """List actors.

    Example:
        minutebook actors list --role agent
    """
    found = kept.list_(
        call.tx, role=role, retired=retired, project=call.actor.project, after=after, limit=limit + 1
    )
    return page_of(found, limit, "id")


@operation(Access.READ)
def show(call: Call, name: Name) -> Actor:
    """Show one actor.

    Example:
        minutebook actors show ripley
    """
    actor = _actor(call, name)
    if None not in (call.actor.project, actor.project) and actor.project != call.actor.project:
        raise _no_actor(name)  # who is bound elsewhere is no more shown than listed
    return actor


@operation(Access.OPERATE)
def edit(
    call: Call,
    name: Name,
    role: RoleName | None = None,
    shown_as: Annotated[
        str | None, Help("how the name is written; only its case may differ"), MaxLen(400)
    ] = None,
) -> Actor:
    """Change an actor's role, or how its name is written.

    Example:
        minutebook actors edit dallas --role coordinator
    """
    actor = _own_actor(call, name)
    if actor.role is Role.SCRIBE:
        raise MinutebookError("bad_transition", "The scribe is the system's own.")
    shown = actor.name if shown_as is None else check_name(shown_as, "actor")
    if fold_name(shown) != actor.id:
        raise MinutebookError(
            "invalid_input", f"{shown!r} is another name than {actor.name!r}, not another spelling."
        )
    changed = replace(actor, role=role or actor.role, name=shown)
    kept.update(call.tx, changed)
    _event(call, "actor.edited", changed)
    return changed


@operation(Access.OPERATE)
def retire(call: Call, name: Name) -> Actor:
    """Retire an actor: it can ask for nothing any more. What it wrote stays.

    Example:
        minutebook actors retire ripley
    """
    actor = _own_actor(call, name)
    if actor.retired_at is not None:
        raise MinutebookError("bad_transition", f"{actor.name} was retired before.", actor=actor.id)
    retired = replace(actor, retired_at=call.now)
    kept.update(call.tx, retired)
    _event(call, "actor.retired", retired)
    return retired


@operation(Access.OPERATE)
def restore(call: Call, name: Name) -> Actor:
    """Let a retired actor ask again.

    Example:
        minutebook actors restore ripley
    """
    restored = replace(_own_actor(call, name), retired_at=None)
    kept.update(call.tx, restored)
    _event(call, "actor.restored", restored)
    return restored
