"""What was adopted from files, and settling it all at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

from annotated_types import MaxLen

from minutebook.call import Call, LongCall
from minutebook.controller.adoption import Verdicted
from minutebook.controller.adoption import accept as accept_one
from minutebook.controller.adoption import reject as reject_one
from minutebook.ledger import adoptions as kept
from minutebook.ledger.database import Row, Tx
from minutebook.model.adoption import (
    AdoptedEntry,
    AdoptedFile,
    AdoptionLine,
    AdoptionView,
    Settled,
    Stayed,
)
from minutebook.model.errors import MinutebookError
from minutebook.model.inbox import ProposalStatus
from minutebook.model.memories import Type
from minutebook.model.paging import Page
from minutebook.operations.given import AfterId, Limit, Reason, TypeName, page_of, reason_of
from minutebook.operations.registry import Access, Help, operation

AdoptionId = Annotated[str, Help("an adoption's id"), MaxLen(60)]
Paths = Annotated[list[str], Help("only what came from this file"), MaxLen(4_096)]

#: Proposals that are settled in one transaction.
_TOGETHER = 6
#: Proposals that stayed, as an answer lists them.
_LISTED = 50


@operation(Access.READ)
def list_(call: Call, after: AfterId | None = None, limit: Limit = 50) -> Page[AdoptionLine]:
    """List adoptions, newest first, with how many of their proposals wait.

    Example:
        minutebook adoptions list
    """
    rows = kept.list_(call.tx, call.project.id, after=after, limit=limit + 1)
    return page_of([_line(row) for row in rows], limit, "id")


def _line(row: Row) -> AdoptionLine:
    return AdoptionLine(
        id=row["id"],
        root=row["root"],
        state=row["state"],
        actor=row["actor"],
        started_at=row["started_at"],
        files=row["files"],
        pending=row["pending"],
        merged=row["merged"],
        rejected=row["rejected"],
        refused=row["refused"],
    )


@operation(Access.READ)
def show(
    call: Call,
    id: AdoptionId,
    path: Paths = (),  # type: ignore[assignment]
    after: AfterId | None = None,
    limit: Limit = 100,
) -> AdoptionView:
    """Show one adoption: its files, the source that holds each, and its proposals.

    Example:
        minutebook adoptions show 01K9…
        minutebook adoptions show 01K9… --path .squad/decisions.md
    """
    adoption = _adoption(call.tx, call.project.id, id)
    rows = kept.proposals(
        call.tx, adoption.id, status=None, paths=tuple(path), after=after or "", limit=limit + 1
    )
    files = [
        AdoptedFile(
            path=row["path"],
            read_as=row["dialect"],
            source=row["source_id"],
            sha256=row["digest"],
            bytes=row["size"],
            whole=row["digest"] == row["kept"],
            proposals=row["proposals"],
        )
        for row in kept.files(call.tx, adoption.id)
    ]
    shown = rows[:limit]
    return AdoptionView(
        adoption=adoption,
        files=tuple(files),
        entries=tuple(_entry(row) for row in shown),
        more=shown[-1]["id"] if len(rows) > limit else None,
    )


def _entry(row: Row) -> AdoptedEntry:
    first, last = row["first_line"], row["last_line"]
    return AdoptedEntry(
        where=f"{row['path']}:{first}" + ("" if first == last else f"-{last}"),
        type=Type(row["type"]),
        certainty=row["certainty"],
        title=row["title"],
        slug=row["slug"],
        status=ProposalStatus(row["status"]),
        id=row["id"],
    )


def _adoption(tx: Tx, project: str, id: str) -> AdoptionLine:
    row = kept.get(tx, project, id.strip().upper())
    if row is None:
        raise MinutebookError(
            "not_found", f"There is no adoption {id[:60]!r} here.", hint="minutebook adoptions list"
        )
    return _line(row)


@operation(Access.REVIEW)
def accept(
    call: LongCall,
    id: AdoptionId,
    path: Paths = (),  # type: ignore[assignment]
    type: TypeName | None = None,
    reason: Reason = "accepted together with its adoption",
    confirm: Annotated[bool, Help("do it; without this, only say how many")] = False,
) -> Settled:
    """Promote all proposals of an adoption that wait, each by its own verdict.

    What was flagged, or contradicts what stands, stays in the inbox and is listed: look at those one by one.

    Example:
        minutebook adoptions accept 01K9… --path .squad/decisions.md
        minutebook adoptions accept 01K9… --confirm
    """
    why = reason_of(reason)
    return _settle(
        call, id, tuple(path), type, confirm=confirm, word="accepted",
        one=lambda inside, row: accept_one(inside, row["id"], reason=why),
    )  # fmt: skip


@operation(Access.REVIEW)
def reject(
    call: LongCall,
    id: AdoptionId,
    reason: Reason,
    path: Paths = (),  # type: ignore[assignment]
    type: TypeName | None = None,
    bury: Annotated[bool, Help("lay a tombstone on each claim, as rejecting it by itself does")] = False,
    confirm: Annotated[bool, Help("do it; without this, only say how many")] = False,
) -> Settled:
    """Close all proposals of an adoption that wait.

    Nobody judged each claim, so no tombstones are laid unless you say so. The files stay kept as sources, and adopting
    them again brings nothing back.

    Example:
        minutebook adoptions reject 01K9… "an old experiment" --confirm
    """
    why = reason_of(reason)
    return _settle(
        call, id, tuple(path), type, confirm=confirm, word="rejected",
        one=lambda inside, row: reject_one(inside, row["id"], reason=why, bury=bury),
    )  # fmt: skip


def _settle(
    call: LongCall,
    id: str,
    paths: Sequence[str],
    type: Type | None,
    *,
    confirm: bool,
    word: str,
    one: Callable[[Call, Row], Verdicted],
) -> Settled:
    """Settle what waits, some at a time, so that nobody waits long for the writer; again settles the rest."""
    with call.database.read() as tx:
        adoption = _adoption(tx, call.project.id, id)

    def waiting(tx: Tx, after: str, limit: int) -> list[Row]:
        return kept.proposals(
            tx, adoption.id, status="pending", paths=paths, type=type, after=after, limit=limit
        )

    if not confirm:
        with call.database.read() as tx:
            count = len(waiting(tx, "", 1_000_000))
        return Settled(
            applied=False,
            sentence=f"{count:,} would be {word}, but for those that something stands against.",
            adoption=adoption.id,
            settled=count,
        )
    settled, stayed, after = 0, list[Stayed](), ""

    def some(tx: Tx, after: str) -> tuple[list[Verdicted], str]:
        inside = call.inside(tx)
        rows = waiting(tx, after, _TOGETHER)
        return [one(inside, row) for row in rows], rows[-1]["id"] if rows else ""

    while True:
        done, after = call.database.write(call.project.id, lambda tx, after=after: some(tx, after))
        if not done:
            break
        for verdict in done:
            if verdict.becomes == "proposed":
                stayed.append(Stayed(verdict.slug or "", verdict.why))
            else:
                settled += 1
    sentence = f"{settled:,} {word}" + (f"; {len(stayed):,} stay in the inbox." if stayed else ".")
    return Settled(
        applied=True,
        sentence=sentence[:1].upper() + sentence[1:],
        adoption=adoption.id,
        settled=settled,
        stayed=tuple(stayed[:_LISTED]),
        stayed_count=len(stayed),
    )
