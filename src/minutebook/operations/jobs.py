"""Later work: what waits, what failed, and having it done again."""

from __future__ import annotations

from typing import Annotated

from annotated_types import MaxLen

from minutebook.call import Call
from minutebook.ledger import captures, events
from minutebook.ledger import jobs as kept
from minutebook.model.actors import may_decide
from minutebook.model.errors import MinutebookError
from minutebook.model.ids import is_ulid
from minutebook.model.jobs import Job, JobLine, JobState, Replayed
from minutebook.model.paging import Page
from minutebook.model.scopes import GLOBAL
from minutebook.model.times import age
from minutebook.operations.given import AfterId, Limit, page_of
from minutebook.operations.registry import Access, Help, operation

JobKind = Annotated[str, Help("only of this kind, such as extract"), MaxLen(60)]
#: Dead jobs that one call has done again.
_AT_ONCE = 1_000


@operation(Access.READ)
def list_(
    call: Call,
    state: Annotated[JobState | None, Help("only those that stand so")] = None,
    kind: JobKind | None = None,
    after: AfterId | None = None,
    limit: Limit = 50,
) -> Page[JobLine]:
    """List later work, newest first: what waits, is being done, was done, and what gave up.

    Without a project, whoever is trusted with the whole ledger sees all of it.

    Example:
        minutebook jobs list --state dead
    """
    found = kept.list_(call.tx, _only(call), state=state, kind=kind, after=after, limit=limit + 1)
    return page_of([_line(job, call.now) for job in found], limit, "id")


def _line(job: Job, now: str) -> JobLine:
    return JobLine(
        id=job.id,
        kind=job.kind,
        state=job.state,
        attempts=job.attempts,
        due_at=job.due_at,
        age=age(job.created_at, now),
        fault=job.fault,
        outcome=job.outcome,
    )


@operation(Access.READ)
def show(call: Call, ref: Annotated[str, Help("a job's id"), MaxLen(300)]) -> Job:
    """Show a job: what it is about, how often it was tried, and why it failed.

    Example:
        minutebook jobs show 01K9…
    """
    return _found(call, ref)


@operation(Access.REVIEW)
def retry(
    call: Call,
    ref: Annotated[str | None, Help("a job's id; every dead one if not given"), MaxLen(300)] = None,
    kind: JobKind | None = None,
) -> Replayed:
    """Have a job done again now, or every one that gave up.

    Nothing is doubled by it: what a job has done already it passes over.

    Example:
        minutebook jobs retry
        minutebook jobs retry --ref 01K9…
    """
    if ref is not None:
        job = _found(call, ref)
        if not _revive(call, job):
            raise MinutebookError(
                "bad_transition",
                f"The job is {job.state}; only what waits or gave up is done again.",
                job=job.id,
            )
        return Replayed((job.id,), 0, "It waits for the service again.")
    dead = kept.dead(call.tx, _only(call), kind=kind, limit=_AT_ONCE + 1)
    again = tuple(job.id for job in dead[:_AT_ONCE] if _revive(call, job))
    more = max(0, len(dead) - _AT_ONCE)
    said = f"{len(again)} jobs wait for the service again." if again else "No job had given up."
    return Replayed(again, more, said + (" There are more; ask again." if more else ""))


def _revive(call: Call, job: Job) -> bool:
    if not kept.revive(call.tx, job, at=call.now):
        return False
    if "capture" in job.payload and job.state is JobState.DEAD:
        captures.revive(call.tx, job.payload["capture"])
    events.append(
        call.tx,
        kind="job.retried",
        subject=job.id,
        project=job.project,
        actor=call.actor.id,
        role=call.actor.role,
        origin=call.caller.origin,
        at=call.now,
        detail={"kind": job.kind},
    )
    return True


def _only(call: Call) -> str | None:
    """The project that the caller is told of; None is the whole ledger."""
    if call.caller.project is None and call.actor.project is None and may_decide(call.actor.role):
        return None
    return call.project.id


def _found(call: Call, ref: str) -> Job:
    id = ref.strip().upper()
    job = kept.get(call.tx, id) if is_ulid(id) else None
    only = _only(call)
    if job is None or (
        only not in (None, job.project) and not (job.project == GLOBAL and may_decide(call.actor.role))
    ):
        raise MinutebookError("not_found", f"There is no job {ref[:80]!r} here.", hint="minutebook jobs list")
    return job
