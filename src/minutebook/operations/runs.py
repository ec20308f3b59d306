"""Runs: an agent's stretch of work, what it is told, and what is kept of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from annotated_types import MaxLen

from minutebook.call import Call
from minutebook.controller import scribe
from minutebook.controller.capture import without_credentials
from minutebook.controller.write import check_no_secret
from minutebook.ledger import actors, sessions
from minutebook.ledger import runs as kept
from minutebook.ledger import snapshots as frozen
from minutebook.model.actors import Role, may_decide
from minutebook.model.context import Bundle, ContextRequest
from minutebook.model.errors import MinutebookError
from minutebook.model.ids import is_ulid
from minutebook.model.paging import Page
from minutebook.model.runs import (
    CURRENT,
    Mended,
    Pruned,
    Run,
    RunEntry,
    RunLine,
    RunOutcome,
    RunReport,
    RunStatus,
    RunView,
    Snapshot,
)
from minutebook.model.text import check_name, clean, fold_name, one_line, storable
from minutebook.model.times import age, parse_time
from minutebook.operations import run_ledgers
from minutebook.operations.context import Task, compile_bundle
from minutebook.operations.given import (
    After,
    AfterId,
    Agent,
    Limit,
    Reason,
    Time,
    filled_or_none,
    number_of,
    page_of,
    reason_of,
)
from minutebook.operations.registry import Access, Check, Help, LongText, operation
from minutebook.policy.snapshots import boundaries_of

RunRef = Annotated[str, Help("a run's id, or `current` for your open one"), MaxLen(300)]
Ending = Literal["completed", "no_changes", "declined", "failed", "cancelled"]
Summary = Annotated[str, LongText(), Help("what was done, for those who come after"), MaxLen(16_384)]
Transcript = Annotated[
    str,
    LongText(),
    Help("what was said in the run; kept as a source and read for what is worth keeping"),
    MaxLen(8_388_608),
    Check(lambda text: without_credentials(storable(text))),
]

#: Children that are named when a run is shown.
_CHILDREN = 100


@operation(Access.PROPOSE)
def start(
    call: Call,
    task: Task = "",
    agent: Annotated[Agent | None, Help("whose run it is; your own if not given")] = None,
    parent: Annotated[RunRef | None, Help("the open run that this one works for")] = None,
) -> RunView:
    """Start a run, and freeze what its agent is told.

    The block that is returned is the run's snapshot: nothing written later changes it, not even by the run
    itself; the next run sees that. A child run inherits the boundaries of its parent's snapshot, byte for
    byte, and nothing else. Give the run's id with every write (MINUTEBOOK_RUN, Minutebook-Run), and finish it.

    Example:
        minutebook runs start --task "fix the login page"
        minutebook runs start --task "write the tests" --agent bishop --parent current
    """
    above = None if parent is None else _parent(call, parent)
    run = Run(
        id=call.new_id(),
        project=call.project.id,
        agent=_whose(call, agent, above),
        task=clean(task).strip(),
        status=RunStatus.OPEN,
        started_by=call.actor.id,
        started_at=call.now,
        parent=None if above is None else above.id,
        session=_session_of(call),
    )
    check_no_secret({"task": run.task})
    standing = kept.open_of(call.tx, run.project, run.agent, limit=call.limits.open_runs)
    if len(standing) >= call.limits.open_runs:
        raise MinutebookError(
            "too_many",
            f"{run.agent} has {len(standing)} open runs; finish or abandon some first.",
            hint="minutebook runs list --status open",
            limit=call.limits.open_runs,
        )
    kept.insert(call.tx, run)
    seq = scribe.append_event(call, "run.started", run, {"agent": run.agent, "parent": run.parent})
    return _frozen(call, run, above, seq)


def _whose(call: Call, agent: str | None, above: Run | None) -> str:
    """Whose run it is. An agent starts its own; who coordinates starts one for others beneath a run."""
    who = call.actor.id if agent is None else fold_name(check_name(agent, "agent"))
    if who == call.actor.id:
        return who
    role = call.actor.role
    if role is not Role.OPERATOR and (role is not Role.COORDINATOR or above is None):
        raise MinutebookError(
            "other_agent",
            f"{call.actor.name} starts runs of its own."
            if role is not Role.COORDINATOR
            else f"{call.actor.name} starts runs of others only beneath an open run: give --parent.",
        )
    known = actors.get(call.tx, who)
    if known is not None and known.retired_at is not None:
        raise MinutebookError("not_allowed", f"{known.name} was retired; it starts nothing any more.")
    return who


def _parent(call: Call, ref: str) -> Run:
    above = run_named(call, ref)
    _check_open(above, "A child run needs a parent that is open")
    if kept.depth_of(call.tx, above, most=call.limits.run_depth) + 1 >= call.limits.run_depth:
        raise MinutebookError(
            "too_many",
            f"Runs stand at most {call.limits.run_depth} deep.",
            limit=call.limits.run_depth,
            run=above.id,
        )
    return above


def _session_of(call: Call) -> str | None:
    found = sessions.current(call.tx, call.project.id)
    return None if found is None else found.id


# --- snapshots ----------------------------------------------------------------------------------------


def _frozen(call: Call, run: Run, above: Run | None, seq: int) -> RunView:
    """Take the next generation of a run's snapshot, as of its event."""
    inherited = None if above is None else frozen.of_run(call.tx, above.id)
    if inherited is not None:
        bundle = boundaries_of(inherited.bundle, agent=run.agent, task=run.task)
    else:
        bundle = _compiled(call, run, seq)
    snapshot = Snapshot(
        run=run.id,
        generation=run.generation + 1,
        seq=seq if inherited is None else inherited.seq,
        at=call.now,
        bundle=bundle,
        inherited_from=None if inherited is None else inherited.run,
        inherited=None if inherited is None else inherited.generation,
    )
    frozen.insert(call.tx, snapshot)
    return RunView(kept.get(call.tx, run.id) or run, snapshot)


def _compiled(call: Call, run: Run, seq: int) -> Bundle | None:
    request = ContextRequest(
        project=run.project,
        agent=run.agent,
        seq=seq,
        task=run.task,
        child=run.parent is not None,
        inbox=_reviews(call, run),
    )
    return compile_bundle(call.tx, request, call.limits, call.witness.state)


def _reviews(call: Call, run: Run) -> bool:
    """Whether the run's agent may review, and so is told what waits."""
    if call.actor.id == run.agent:
        return may_decide(call.actor.role)
    known = actors.get(call.tx, run.agent)
    return known is not None and known.retired_at is None and may_decide(known.role)


@operation(Access.PROPOSE)
def reload(call: Call, ref: RunRef) -> RunView:
    """Give an open run a new snapshot, of what stands now. The earlier ones are kept.

    A child run takes over the boundaries of its parent's present snapshot: reload the parent first.

    Example:
        minutebook runs reload current
    """
    run = run_named(call, ref)
    _check_own(call, run, "reload")
    _check_open(run, "Only an open run is reloaded")
    above = None if run.parent is None else kept.get(call.tx, run.parent)
    seq = scribe.append_event(
        call, "run.reloaded", run, {"agent": run.agent, "generation": run.generation + 1}
    )
    return _frozen(call, run, above, seq)


# --- ending -------------------------------------------------------------------------------------------


@operation(Access.PROPOSE)
def finish(
    call: Call,
    ref: RunRef,
    outcome: Annotated[Ending, Help("how it ended")] = "completed",
    summary: Summary | None = None,
    transcript: Transcript | None = None,
) -> RunReport:
    """End a run, and hear what became of what it proposed.

    The scribe promotes the run's learnings, patterns and updates that stand against nothing; for a
    coordinator that completed its run also the boundaries that it wrote itself in it. Everything else waits
    for a reviewer. The answer says what was promoted, what waits and what was refused, and why. Asking again
    gives the same answer. A transcript is read later, by the service: what it says turns up in the inbox.

    Example:
        minutebook runs finish current --summary "The login works." --transcript @session.jsonl
        minutebook runs finish 01K9… --outcome failed --summary "The sandbox has no network."
    """
    run = run_named(call, ref)
    _check_own(call, run, "finish")
    said = filled_or_none(summary)
    check_no_secret({"summary": said or ""})
    return scribe.finish(call, run, RunOutcome(outcome), summary=said, transcript=transcript)


@operation(Access.PROPOSE)
def abandon(call: Call, ref: RunRef, reason: Reason = "nobody will finish it") -> RunReport:
    """Close a run that nobody will finish: its agent was stopped, or its machine is gone.

    What it learned is not lost: the scribe acts as it does for a run that failed.

    Example:
        minutebook runs abandon 01K9… --reason "the machine was restarted"
    """
    run = run_named(call, ref)
    _check_own(call, run, "abandon")
    return scribe.finish(call, run, RunOutcome.ABANDONED, summary=reason_of(reason))


def _check_own(call: Call, run: Run, verb: str) -> None:
    if run.agent != call.actor.id and not may_decide(call.actor.role):
        raise MinutebookError(
            "other_agent", f"{run.id} is a run of {run.agent}; {call.actor.name} cannot {verb} it."
        )


def _check_open(run: Run, rule: str) -> None:
    if not run.open:
        raise MinutebookError(
            "bad_transition", f"{rule}; {run.id} is {run.status}.", run=run.id, status=run.status
        )


# --- reading ------------------------------------------------------------------------------------------


@operation(Access.READ)
def list_(
    call: Call,
    status: Annotated[RunStatus | None, Help("only those that stand so")] = None,
    agent: Agent | None = None,
    parent: Annotated[RunRef | None, Help("only the children of this run")] = None,
    after: AfterId | None = None,
    limit: Limit = 50,
) -> Page[RunLine]:
    """List runs, newest first. Those that were left open are known by their age.

    Example:
        minutebook runs list --status open
        minutebook runs list --agent ripley -o json
    """
    found = kept.list_(
        call.tx,
        call.project.id,
        agent=None if agent is None else fold_name(agent),
        status=status,
        parent=None if parent is None else run_named(call, parent).id,
        after=after,
        limit=limit + 1,
    )
    return page_of([_line(call, run) for run in found], limit, "id")


def _line(call: Call, run: Run) -> RunLine:
    return RunLine(
        id=run.id,
        agent=run.agent,
        task=one_line(run.task)[:200],
        status=run.status,
        outcome=run.outcome,
        age=age(run.started_at, call.now),
        parent=run.parent,
        started_at=run.started_at,
        finished_at=run.finished_at,
    )


@operation(Access.READ)
def show(
    call: Call,
    ref: RunRef,
    generation: Annotated[int | None, Help("an earlier snapshot; the present one if not given")] = None,
) -> RunView:
    """Show a run: what it was told, memory by memory, and what became of what it proposed.

    Of another agent's run an agent sees the boundaries, which everybody is told, and no report.

    Example:
        minutebook runs show current
        minutebook runs show 01K9… --generation 1 -o json
    """
    run = run_named(call, ref)
    snapshot = frozen.of_run(call.tx, run.id, generation)
    if snapshot is None and generation is not None:
        raise MinutebookError(
            "not_found", f"{run.id} has no generation {generation}; it has {run.generation}.", run=run.id
        )
    own = sees_all_of(call, run)
    if snapshot is not None and not own:
        shown = boundaries_of(snapshot.bundle, agent=run.agent, task=run.task)
        snapshot = replace(snapshot, bundle=shown)
    return RunView(
        run=run,
        snapshot=snapshot,
        report=kept.report_of(call.tx, run.id) if own else None,
        children=tuple(kept.children_of(call.tx, run.id, limit=_CHILDREN)),
        partial=not own,
    )


def sees_all_of(call: Call, run: Run) -> bool:
    """Whether a reader may see a run's whole snapshot, with what its agent alone is told."""
    return call.reader.agent in (None, run.agent)


@operation(Access.READ)
def replay(
    call: Call,
    ref: RunRef,
    tools: Annotated[bool, Help("also what programs printed")] = False,
    after: After | None = None,
    limit: Limit = 200,
) -> Page[RunEntry]:
    """Go through a run again: everything that happened in it and was said, in order.

    It reads the event log, to which things are only ever added, and the transcript, as long as that is kept.

    Example:
        minutebook runs replay current
        minutebook runs replay 01K9… --tools -o json
    """
    run = run_named(call, ref)
    if not sees_all_of(call, run):
        raise MinutebookError("other_agent", f"{run.id} is a run of {run.agent}.", run=run.id)
    begin = number_of(after) or 0
    found = [entry for entry in run_ledgers.entries_of(call, run, tools=tools) if entry.place > begin]
    return page_of(found[: limit + 1], limit, "place")


@operation(Access.OPERATE)
def prune(
    call: Call,
    older_than: Annotated[Time, Help("runs whose transcripts are older: 90d, or a date")],
    confirm: Annotated[bool, Help("do it; without, only say what would go")] = False,
) -> Pruned:
    """Let go of the transcripts of old runs. What happened in them, and what was learned, stays.

    A transcript that was not read yet is never let go. To have it done by itself: MINUTEBOOK_KEEP_SOURCES_DAYS.

    Example:
        minutebook runs prune 90d
        minutebook runs prune 90d --confirm
    """
    return run_ledgers.prune(call, parse_time(older_than, call.now), confirm=confirm)


@operation(Access.OPERATE)
def repair(
    call: Call,
    open_since: Annotated[Time, Help("open runs in which nothing happened since then are closed")] = "7d",
    confirm: Annotated[bool, Help("do it; without, only say what is wrong")] = False,
) -> Mended:
    """Find what hangs in the air in the ledgers of runs, and put it right.

    Captures that no job is about (they came with an archive) are read, and so are transcripts that nobody asked to
    be read; runs that nobody will finish are abandoned, and the scribe acts as it does then.

    Example:
        minutebook runs repair
        minutebook runs repair --confirm
    """
    return run_ledgers.repair(call, parse_time(open_since, call.now), confirm=confirm)


@operation(Access.READ)
def current(call: Call) -> RunView:
    """Show your open run: the one that you name with every call, else your newest.

    Example:
        minutebook runs current
    """
    return show(call, CURRENT)


def run_named(call: Call, ref: str) -> Run:
    """The run of the project that an id names, or the caller's own open one."""
    given = ref.strip()
    if given.casefold() == CURRENT:
        return _current(call)
    found = kept.get(call.tx, given.upper()) if is_ulid(given.upper()) else None
    if found is None or found.project != call.project.id:
        raise MinutebookError(
            "not_found", f"The project has no run {ref[:80]!r}.", hint="minutebook runs list"
        )
    return found


def _current(call: Call) -> Run:
    if call.caller.run is not None and call.caller.run.strip().casefold() != CURRENT:
        return run_named(call, call.caller.run)
    found = kept.open_of(call.tx, call.project.id, call.actor.id, limit=1)
    if not found:
        raise MinutebookError(
            "not_found", f"{call.actor.name} has no open run here.", hint="minutebook runs start"
        )
    return found[0]
