"""The team: agents, and the charters that they start with."""

from __future__ import annotations

from typing import Annotated

from minutebook.call import Call
from minutebook.controller.write import write
from minutebook.ledger import actors as known
from minutebook.ledger import memories, runs
from minutebook.model.actors import Actor, Role
from minutebook.model.agents import AgentView, Seeded
from minutebook.model.candidates import Candidate
from minutebook.model.errors import MinutebookError
from minutebook.model.memories import Type
from minutebook.model.scopes import Scope
from minutebook.model.text import check_name, fold_name
from minutebook.model.verdicts import Outcome
from minutebook.operations import actors
from minutebook.operations.actors import Name, RoleName
from minutebook.operations.given import Content, filled
from minutebook.operations.registry import Access, Help, operation

#: The name of the memory that holds an agent's charter.
CHARTER = "charter"
#: Open runs that are named when an agent is shown.
_OPEN = 20


@operation(Access.OPERATE)
def add(
    call: Call,
    name: Name,
    charter: Annotated[Content | None, Help("what it is for and how it works")] = None,
    role: Annotated[RoleName | None, Help("what it may do; agent if it is new and none is given")] = None,
) -> Seeded:
    """Make an agent part of the team, with the charter that it starts every run with.

    Names are the same whatever their case; the first spelling is the one that is shown. Asking again changes
    nothing, and another charter takes the place of the one before, with its history.

    Example:
        minutebook agents add Ripley --charter @ripley.md
        minutebook agents add Dallas --charter "You coordinate." --role coordinator
    """
    shown = check_name(name, "agent")
    found = known.get(call.tx, fold_name(shown))
    if found is None:
        actor = actors.add(call, shown, role or Role.AGENT)
    else:
        _check_same(found, role)
        actor = found
    outcome = None if charter is None else _charter(call, actor, charter)
    return Seeded(actor=actor, added=found is None, charter=outcome)


def _check_same(found: Actor, role: Role | None) -> None:
    if found.retired_at is not None:
        raise MinutebookError(
            "bad_transition", f"{found.name} was retired.", hint=f"minutebook actors restore {found.name}"
        )
    if role is not None and role is not found.role:
        raise MinutebookError(
            "exists",
            f"{found.name} is there already, with the role {found.role}.",
            hint=f"minutebook actors edit {found.name} --role {role}",
            actor=found.id,
        )


def _charter(call: Call, actor: Actor, text: str) -> Outcome:
    """The charter as the agent's own core context, through the controller like every other write."""
    candidate = Candidate(
        scope=Scope.of_agent(call.project.id, actor.id),
        type=Type.CORE_CONTEXT,
        title=f"Charter of {actor.name}",
        content=filled(text, "charter"),
        slug=CHARTER,
        slug_given=True,
    )
    return write(call, candidate)


@operation(Access.READ)
def show(call: Call, name: Name) -> AgentView:
    """Show an agent: its role, its charter, and the runs that it has open.

    Example:
        minutebook agents show ripley
    """
    actor = actors.show(call, name)
    scope = Scope.of_agent(call.project.id, actor.id)
    charter = memories.of_identity(call.tx, scope, Type.CORE_CONTEXT, CHARTER)
    if charter is not None and memories.seen_by(call.tx, charter.id, call.reader) is None:
        charter = None
    open_runs = runs.open_of(call.tx, call.project.id, actor.id, limit=_OPEN)
    return AgentView(actor, charter, tuple(run.id for run in open_runs))
