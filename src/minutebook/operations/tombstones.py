"""Claims that may not come back by themselves."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from minutebook.call import Call
from minutebook.ledger import events, memories
from minutebook.ledger import tombstones as laid
from minutebook.model.actors import Role
from minutebook.model.errors import MinutebookError
from minutebook.model.paging import Page
from minutebook.model.scopes import GLOBAL
from minutebook.model.tombstones import Cause, Tombstone
from minutebook.operations.given import AfterId, Limit, Reason, page_of, reason_of
from minutebook.operations.registry import Access, Help, operation


@operation(Access.READ)
def list_(
    call: Call,
    cause: Annotated[Literal["rejected", "retired", "erased"] | None, Help("only of this cause")] = None,
    lifted: Annotated[bool, Help("also those that were lifted")] = False,
    after: AfterId | None = None,
    limit: Limit = 50,
) -> Page[Tombstone]:
    """List tombstones, newest first.

    Example:
        minutebook tombstones list
    """
    found = laid.list_(call.tx, call.project.id, cause=cause, lifted=lifted, after=after, limit=limit + 1)
    unseen = memories.unseen(call.tx, [tombstone.ref for tombstone in found], call.reader)
    shown = [replace(stone, slug="") if stone.ref in unseen else stone for stone in found]
    return page_of(shown, limit, "id")


@operation(Access.REVIEW)
def lift(call: Call, id: Annotated[str, Help("the tombstone's id")], reason: Reason) -> Tombstone:
    """Let a claim be made again. What was erased takes an operator.

    Example:
        minutebook tombstones lift 01K9… "the objection was answered"
    """
    tombstone = laid.get(call.tx, id.upper())
    if tombstone is None or tombstone.project not in (call.project.id, GLOBAL):
        raise MinutebookError(
            "not_found", f"There is no tombstone {id[:80]!r} here.", hint="minutebook tombstones list"
        )
    call.check_bounds(tombstone.project)
    if tombstone.cause is Cause.ERASED and call.actor.role is not Role.OPERATOR:
        raise MinutebookError("not_allowed", "What was erased comes back only by an operator's act.")
    if not laid.lift(call.tx, tombstone.id, by=call.actor.id, at=call.now):
        raise MinutebookError("bad_transition", "It was lifted before.", tombstone=tombstone.id)
    events.append(
        call.tx,
        kind="tombstone.lifted",
        subject=tombstone.id,
        project=tombstone.project,
        actor=call.actor.id,
        role=call.actor.role,
        origin=call.caller.origin,
        at=call.now,
        run=call.caller.run,
        detail={"reason": reason_of(reason)},
    )
    lifted = laid.get(call.tx, tombstone.id)
    assert lifted is not None
    return lifted
