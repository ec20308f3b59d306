"""The ordered log of everything that happened."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from minutebook.call import Call
from minutebook.ledger import events as log
from minutebook.ledger import inbox as proposals
from minutebook.ledger import memories as kept
from minutebook.model.events import Event
from minutebook.model.paging import Page
from minutebook.model.text import fold_name
from minutebook.operations.given import After, Limit, number_of, page_of
from minutebook.operations.registry import Access, Help, operation


@operation(Access.READ)
def list_(
    call: Call,
    kind: Annotated[str | None, Help("only this kind, or its family: memory, proposal.promoted, …")] = None,
    subject: Annotated[str | None, Help("only on this id")] = None,
    actor: Annotated[str | None, Help("only by this actor")] = None,
    follow: Annotated[bool, Help("oldest first from the cursor on: for a program that keeps up")] = False,
    after: After | None = None,
    limit: Limit = 50,
) -> Page[Event]:
    """List events of the project, newest first; or, to keep up with them, oldest first from a cursor.

    A follower that goes on from the last seq it saw misses none, also when writes commit out of order.

    Example:
        minutebook events list
        minutebook events list --follow --after 120 -o jsonl
    """
    wanted = {"kind": kind, "subject": subject, "actor": None if actor is None else fold_name(actor)}
    if follow:
        found = log.after(call.tx, number_of(after) or 0, project=call.project.id, limit=limit, **wanted)
        return Page(tuple(_masked(call, found)), str(found[-1].seq) if found else after)
    found = log.before(call.tx, number_of(after), project=call.project.id, limit=limit + 1, **wanted)
    return page_of(_masked(call, found), limit, "seq")


def _masked(call: Call, found: list[Event]) -> list[Event]:
    """Events without the names of memories that the reader may not see: a slug is made from a title."""
    subjects = [event.subject for event in found]
    unseen = kept.unseen(call.tx, subjects, call.reader) | proposals.unseen(call.tx, subjects, call.reader)
    return [
        replace(event, detail={key: value for key, value in (event.detail or {}).items() if key != "slug"})
        if event.subject in unseen
        else event
        for event in found
    ]
