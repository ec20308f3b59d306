"""Find what repeats, disagrees or is of no use any more."""

from __future__ import annotations

from typing import Annotated

from annotated_types import MaxLen

from minutebook.call import Call, LongCall
from minutebook.controller import tidy
from minutebook.controller.consolidate import Task, consolidate
from minutebook.ledger import consolidations, inbox, jobs, tidying
from minutebook.ledger import memories as kept
from minutebook.model.consolidation import (
    GATES_JOB,
    Act,
    Batch,
    Consolidation,
    ConsolidationStatus,
    State,
    Suggestion,
    SuggestionView,
    Taken,
)
from minutebook.model.errors import MinutebookError
from minutebook.model.paging import Page
from minutebook.operations.given import AfterId, Limit, Reason, page_of, reason_of
from minutebook.operations.registry import Access, Help, operation
from minutebook.policy import suggesting
from minutebook.policy.gates import all_open, gates_of

#: Suggestions that one answer shows.
_SHOWN = 200

RunRef = Annotated[str, Help("a consolidation's id"), MaxLen(40)]
SuggestionRef = Annotated[str, Help("a suggestion's id"), MaxLen(40)]


@operation(Access.REVIEW)
def run(call: LongCall) -> Batch:
    """Look through the project now, and leave one batch of suggestions.

    It finds duplicates, contradictions, what is past its time, what rests on nothing any more, what nobody uses and
    what repeats itself. Nothing is changed: each suggestion is taken or left by somebody who may decide. The gates
    do not matter to who asks; only one look at a time is had in a project.

    Example:
        minutebook consolidation run
    """
    done = consolidate(
        Task(
            database=call.database,
            world=call.world,
            project=call.project.id,
            actor=call.actor,
            origin=call.caller.origin,
            cause="asked",
            workspace=call.caller.workspace,
        )
    )
    with call.database.read() as tx:
        return _batch(call.inside(tx), done)


@operation(Access.READ)
def list_(call: Call, after: AfterId | None = None, limit: Limit = 50) -> Page[Consolidation]:
    """List consolidations of the project, newest first.

    Example:
        minutebook consolidation list
    """
    return page_of(consolidations.list_(call.tx, call.project.id, after=after, limit=limit + 1), limit, "id")


@operation(Access.READ)
def show(
    call: Call,
    id: Annotated[RunRef | None, Help("which one; the last if not given")] = None,
    every: Annotated[bool, Help("also what was taken, left or is gone")] = False,
) -> Batch:
    """Show a consolidation and what it suggests, each with what would change.

    Example:
        minutebook consolidation show
        minutebook consolidation show --every
    """
    return _batch(call, _run(call, id), every=every)


def _run(call: Call, id: str | None) -> Consolidation:
    if id is None:
        found = next(iter(consolidations.list_(call.tx, call.project.id, limit=1)), None)
    else:
        found = consolidations.get(call.tx, call.project.id, id.upper())
    if found is None:
        raise MinutebookError(
            "not_found",
            "There is no such consolidation in this project.",
            hint="minutebook consolidation run",
        )
    return found


def _batch(call: Call, run: Consolidation, *, every: bool = False) -> Batch:
    found = [
        suggestion
        for suggestion in consolidations.of_batch(call.tx, run.id)
        if every or suggestion.state is State.OPEN
    ]
    views = [view for view in (_view(call, suggestion) for suggestion in found[:_SHOWN]) if view is not None]
    return Batch(run, _said(run, len(found)), tuple(views), len(found) - len(views))


def _said(run: Consolidation, waiting: int) -> str:
    if run.state != "done":
        return f"It is {run.state}." if run.fault is None else f"It {run.state}: {run.fault}"
    said = f"{run.looked} memories were looked at; {waiting or 'no'} suggestion{'s' * (waiting != 1)} "
    said += "waits." if waiting == 1 else "wait."
    return f"{said} {run.beyond} more were noticed than a batch holds." if run.beyond else said


def _view(call: Call, suggestion: Suggestion) -> SuggestionView | None:
    """A suggestion with all that it is about; None for who may not see one of these."""
    ids = [id for id, _ in suggestion.refs]
    proposal = None
    if suggestion.act is Act.PROMOTE:
        if inbox.unseen(call.tx, ids, call.reader):
            return None
        proposal = inbox.get(call.tx, ids[0])
        memories = []
    else:
        if kept.unseen(call.tx, ids, call.reader):
            return None
        known = tidying.by_ids(call.tx, ids)
        memories = [known[id] for id in ids if id in known]
    return SuggestionView(
        id=suggestion.id,
        kind=suggestion.kind,
        act=suggestion.act,
        state=suggestion.state,
        sentence=suggesting.sentence(suggestion, memories, proposal),
        about=tuple(memory.slug for memory in memories) or ((proposal.slug,) if proposal else ()),
        memories=tuple(ids),
        score=suggestion.score,
        diff=suggesting.diff(suggestion, memories, proposal),
        verdict=suggestion.verdict,
        decided_by=suggestion.decided_by,
    )


@operation(Access.REVIEW)
def take(
    call: Call,
    id: SuggestionRef,
    keep: Annotated[str | None, Help("the memory of it that stays: id or slug"), MaxLen(300)] = None,
    reason: Reason = "suggested by a consolidation",
) -> Taken:
    """Do what a suggestion says, under a verdict that can be reverted.

    Of two that contradict each other both stay, linked; with --keep the other one is superseded.

    Example:
        minutebook consolidation take 01K9…
        minutebook consolidation take 01K9… --keep port-8080
    """
    suggestion = _suggestion(call, id)
    verdict = tidy.take(call, suggestion, keep=keep, reason=reason_of(reason))
    return Taken(
        suggestion.id, State.TAKEN, f"Done; revert it with: minutebook verdicts revert {verdict}", verdict
    )


@operation(Access.REVIEW)
def leave(call: Call, id: SuggestionRef) -> Taken:
    """Leave things as they are; the same is not suggested again while nothing changes.

    Example:
        minutebook consolidation leave 01K9…
    """
    suggestion = _suggestion(call, id)
    tidy.leave(call, suggestion)
    return Taken(suggestion.id, State.LEFT, "It stays as it is.", None)


def _suggestion(call: Call, id: str) -> Suggestion:
    found = consolidations.suggestion(call.tx, call.project.id, id.upper())
    if found is None:
        raise MinutebookError(
            "not_found", f"There is no suggestion {id[:40]!r} here.", hint="minutebook consolidation show"
        )
    return found


@operation(Access.REVIEW)
def retry(call: LongCall, id: RunRef) -> Batch:
    """Do a consolidation again that failed, or whose process ended in the middle of it.

    Example:
        minutebook consolidation retry 01K9…
    """
    with call.database.read() as tx:
        found = consolidations.get(tx, call.project.id, id.upper())
    if found is None:
        raise MinutebookError("not_found", "There is no such consolidation in this project.")
    if found.state == "done":
        raise MinutebookError("bad_transition", "It came to its end; run another one.")
    return run(call)


@operation(Access.READ)
def status(call: Call) -> ConsolidationStatus:
    """Say how it stands with consolidation: the gates, each with what it has and needs, and the last one.

    Example:
        minutebook consolidation status
    """
    limits = call.limits
    last = consolidations.last_done(call.tx, call.project.id)
    running = consolidations.running(call.tx, call.project.id)
    gates = gates_of(consolidations.seen(call.tx, call.project.id, limits, call.now), limits)
    serving = any(duty.name.startswith("jobs") for duty in call.world.presence().duties)
    waits = jobs.pending(call.tx, GATES_JOB, "recurring")
    enabled = bool(limits.consolidation_at)
    if not enabled:
        said = "It does not begin on its own: MINUTEBOOK_CONSOLIDATION_AT turns it off."
    elif not serving:
        said = "It does not begin on its own: no service runs here."
    elif running is not None:
        said = f"It is being done, by {running.started_by}."
    elif all_open(gates):
        said = "The gates are open: it begins when they are looked at next."
    else:
        said = "It waits: " + "; ".join(gate.sentence for gate in gates if not gate.open) + "."
    return ConsolidationStatus(
        enabled=enabled and serving,
        sentence=said,
        gates=gates,
        running=running,
        last=last,
        waiting=consolidations.waiting(call.tx, call.project.id),
        next_look=waits.due_at if waits is not None and serving else None,
    )
