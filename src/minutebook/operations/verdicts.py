"""The controller's recorded answers, and undoing them."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from minutebook.call import Call
from minutebook.controller import revert as undoing
from minutebook.ledger import inbox as proposals
from minutebook.ledger import memories as kept
from minutebook.ledger import verdicts as given
from minutebook.model.actors import may_decide
from minutebook.model.errors import MinutebookError
from minutebook.model.ids import is_ulid
from minutebook.model.paging import Page
from minutebook.model.scopes import GLOBAL
from minutebook.model.text import fold_name
from minutebook.model.verdicts import Blocked, Op, Reverted, Verdict, VerdictLine
from minutebook.operations.given import (
    After,
    Limit,
    Reason,
    Time,
    memory_named,
    number_of,
    page_of,
    proposal_named,
    reason_of,
    time_of,
)
from minutebook.operations.registry import Access, Help, operation

VerdictId = Annotated[str, Help("a verdict's id")]

#: Verdicts that one blast may undo.
_MOST = 10_000


@operation(Access.READ)
def list_(
    call: Call,
    op: Annotated[Op | None, Help("only of this op")] = None,
    actor: Annotated[str | None, Help("only on what this actor asked")] = None,
    run: Annotated[str | None, Help("only of this run")] = None,
    source: Annotated[str | None, Help("only from this source")] = None,
    about: Annotated[str | None, Help("only on this memory or proposal: id or slug")] = None,
    since: Time | None = None,
    until: Time | None = None,
    after: After | None = None,
    limit: Limit = 50,
) -> Page[VerdictLine]:
    """List verdicts, newest first. No content is shown, so the log can be shown to anybody.

    Example:
        minutebook verdicts list --op refuse --since 7d
        minutebook verdicts list --about use-postgres
    """
    found = given.list_(
        call.tx,
        call.project.id,
        op=op,
        actor=None if actor is None else fold_name(actor),
        run=run,
        source=source,
        subject=None if about is None else _subject(call, about),
        since=time_of(call, since),
        until=time_of(call, until),
        before=number_of(after),
        limit=limit + 1,
    )
    shown = _masked(call, found)
    return page_of([_line(call, verdict) for verdict in shown], limit, "seq")


def _subject(call: Call, ref: str) -> str:
    """The id of a memory or proposal that a reader names."""
    for find in (proposal_named, lambda call, ref: memory_named(call, ref, any_status=True)):
        try:
            return find(call, ref).id
        except MinutebookError as error:
            if error.code != "not_found":
                raise
    raise MinutebookError("not_found", f"There is no memory or proposal {ref[:80]!r} here.")


def _masked(call: Call, found: list[Verdict]) -> list[Verdict]:
    """Verdicts without the sentences that quote a memory which the reader may not see.

    A slug is made from a title: even the name of another agent's memory is a part of its words.
    """
    unseen = kept.unseen(call.tx, [id for verdict in found for id in _touched(verdict)], call.reader)
    return [
        replace(verdict, reason="", trace=tuple(replace(hit, detail="") for hit in verdict.trace))
        if unseen.intersection(_touched(verdict))
        else verdict
        for verdict in found
    ]


def _touched(verdict: Verdict) -> list[str]:
    named = [verdict.memory, *verdict.targets, *(hit.target for hit in verdict.trace)]
    return [id for id in named if id is not None]


def _name_of(call: Call, verdict: Verdict) -> str:
    """The slug of what a verdict is about; empty where there is none, or the reader may not know it."""
    if verdict.memory is not None:
        memory = kept.seen_by(call.tx, verdict.memory, call.reader)
        return "" if memory is None else memory.slug
    if verdict.proposal is None or proposals.unseen(call.tx, [verdict.proposal], call.reader):
        return ""
    proposal = proposals.get(call.tx, verdict.proposal)
    return "" if proposal is None else proposal.slug


def _line(call: Call, verdict: Verdict) -> VerdictLine:
    return VerdictLine(
        id=verdict.id,
        seq=verdict.seq,
        op=verdict.op,
        subject=_name_of(call, verdict),
        actor=verdict.actor,
        role=verdict.role,
        rules=tuple(hit.rule for hit in verdict.trace),
        reason=verdict.reason,
        at=verdict.at,
        reverted_by=verdict.reverted_by,
    )


@operation(Access.READ)
def show(
    call: Call,
    id: VerdictId,
    content: Annotated[bool, Help("with what was asked for; for its author and for reviewers")] = False,
) -> Verdict:
    """Show one verdict: the rules that fired, in their order, and what it changed.

    Example:
        minutebook verdicts show 01K9…
        minutebook verdicts show 01K9… --content -o json
    """
    verdict = _verdict(call, id)
    if not content:
        return replace(_masked(call, [verdict])[0], candidate=None)
    if verdict.actor != call.actor.id and not may_decide(call.actor.role):
        raise MinutebookError("not_allowed", "The words of a verdict are for their author and for reviewers.")
    return verdict


def _verdict(call: Call, id: str) -> Verdict:
    found = given.get(call.tx, id.upper()) if is_ulid(id.upper()) else None
    if found is None or found.project not in (call.project.id, GLOBAL):
        raise MinutebookError(
            "not_found", f"There is no verdict {id[:80]!r} here.", hint="minutebook verdicts list"
        )
    return found


@operation(Access.REVIEW)
def revert(
    call: Call,
    id: VerdictId,
    reason: Reason = "reverted",
    dry_run: Annotated[bool, Help("only say what would happen")] = False,
) -> Reverted:
    """Undo one verdict, wholly or not at all. The undoing is itself a verdict, and can be reverted.

    It is refused when something newer stands on it; the answer names that.

    Example:
        minutebook verdicts revert 01K9… --reason "wrong project"
    """
    verdict = _verdict(call, id)
    undone = undoing.revert(call, verdict, reason=reason_of(reason))
    answer = Reverted(
        applied=not dry_run,
        reverted=(verdict.id,),
        verdicts=(undone.id,),
        blocked=(),
        sentence=f"{'Would revert' if dry_run else 'Reverted'} {verdict.op} of {_line(call, verdict).subject!r}.",
    )
    if dry_run:
        call.preview(answer)
    return answer


@operation(Access.OPERATE)
def revert_all(
    call: Call,
    actor: Annotated[str | None, Help("all that this actor wrote")] = None,
    run: Annotated[str | None, Help("all that this run wrote")] = None,
    source: Annotated[str | None, Help("all that came from this source")] = None,
    since: Time | None = None,
    until: Time | None = None,
    reason: Reason = "blast-radius revert",
    confirm: Annotated[bool, Help("do it; without this, only say what would happen")] = False,
) -> Reverted:
    """Undo all that one actor, run, source or span of time wrote: the blast radius of a bad one.

    Without --confirm it is a preview: the same work is done and thrown away. What something newer stands
    on is left alone and listed. Pending proposals are closed.

    Example:
        minutebook verdicts revert-all --actor ripley --since 24h
        minutebook verdicts revert-all --run 01K9… --confirm --reason "poisoned document"
    """
    if not any((actor, run, source, since)):
        raise MinutebookError(
            "invalid_input", "Say whose or which writes: --actor, --run, --source or --since."
        )
    reason = reason_of(reason)
    found = given.list_(
        call.tx,
        call.project.id,
        actor=None if actor is None else fold_name(actor),
        run=run,
        source=source,
        since=time_of(call, since),
        until=time_of(call, until),
        limit=_MOST + 1,
    )
    if len(found) > _MOST:
        raise MinutebookError(
            "too_many", f"More than {_MOST:,} verdicts; narrow it down with --since and --until."
        )
    undone: list[str] = []
    made: list[str] = []
    blocked: list[Blocked] = []
    for verdict in found:
        # Newest first, so that what the same hand built on its own work comes apart in order.
        current = given.get(call.tx, verdict.id)
        if current is None or current.reverted_by is not None or current.reverts is not None:
            continue
        if not undoing.can_revert(current) or current.project not in (call.project.id, GLOBAL):
            continue
        if current.op is Op.REFUSE:
            continue  # a rejection is somebody's judgement on a proposal; undoing writes does not undo that
        why = undoing.why_not(call, current)
        if why is None and not undoing.in_bounds(call, current):
            why = Blocked(current.id, "It is seen in every project, and you are bound to one.", ())
        if why is not None:
            blocked.append(why)
            continue
        made.append(undoing.undo(call, current, reason=reason).id)
        undone.append(current.id)
    sentence = (
        f"{'Reverted' if confirm else 'Would revert'} {len(undone)} of {len(undone) + len(blocked)} verdicts"
    )
    sentence += (
        f"; {len(blocked)} {'has' if len(blocked) == 1 else 'have'} something newer on {'it' if len(blocked) == 1 else 'them'}."
        if blocked
        else "."
    )
    answer = Reverted(
        applied=confirm,
        reverted=tuple(undone),
        verdicts=tuple(made) if confirm else (),
        blocked=tuple(blocked),
        sentence=sentence,
    )
    if not confirm:
        call.preview(answer)
    return answer
