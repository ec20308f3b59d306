"""What happens when a run ends: the scribe promotes what needs no reviewer, and reports what was kept and what waits.

It is a rule, not a judge: everything goes through the promotion that a reviewer uses, judged as the words of the agent
who proposed them, so that tombstones, stale bases, secrets and undoing hold as they do anywhere. Whatever the judge
would hold for another reason than having been handed in waits for a reviewer.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from minutebook.call import Call
from minutebook.controller import capture
from minutebook.controller.review import candidate_of, carry_out, weigh
from minutebook.controller.write import screen_candidate
from minutebook.ledger import actors, events, inbox, runs, sessions, sources
from minutebook.model.actors import Actor, Origin, Role
from minutebook.model.captures import Receipt, Trigger
from minutebook.model.errors import Kind, MinutebookError
from minutebook.model.inbox import Proposal
from minutebook.model.runs import Promoted, Run, RunOutcome, RunReport, TurnedDown, Waits
from minutebook.model.sessions import MOST_SUMMARY
from minutebook.model.text import one_line
from minutebook.model.verdicts import RuleHit
from minutebook.policy.promotion import EndRule, end_rule

#: The system's own actor. Nobody can ask as this one: the role cannot be given.
SCRIBE = Actor(id="scribe", name="scribe", role=Role.SCRIBE)

#: Of the task and of the summary, so many characters are in the session's line.
_TASK_CHARS = 120
_SUMMARY_CHARS = 2_000
#: Ids of each kind in the event; the report has all of them.
_IDS = 100
#: Refusals after which a reviewer is needed, and nothing is wrong with the proposal.
_NEEDS_REVIEW = frozenset({"not_allowed", "ambiguous"})

_WHY = {
    EndRule.SCRIBE: "Promoted by the scribe when the run ended.",
    EndRule.BACKSTOP: "Promoted by the coordinator backstop when the run ended: the coordinator's own boundary of this "
    "run, the one proposal that is promoted without anybody but its proposer.",
}


@dataclass(slots=True)
class _Findings:
    """What the scribe did, so far."""

    promoted: list[Promoted] = field(default_factory=list)
    waiting: list[Waits] = field(default_factory=list)
    refused: list[TurnedDown] = field(default_factory=list)
    more: int = 0


def finish(
    call: Call, run: Run, outcome: RunOutcome, *, summary: str | None, transcript: str | None = None
) -> RunReport:
    """End a run: its status, the scribe, the session's line and the events, in one transaction.

    Who comes second is told what the first was told.
    """
    if not runs.close(call.tx, run, outcome, summary=summary, by=call.actor.id, at=call.now):
        return _told_before(call, run)
    append_event(call, "run.finished", run, {"agent": run.agent, "outcome": outcome})
    own = _as(call, run, SCRIBE, Origin.SYSTEM)
    found = _promote_all(own, run, outcome, coordinates=_coordinates(call, run))
    receipt, note = _keep(call, run, transcript)
    report = RunReport(
        run=run.id,
        agent=run.agent,
        outcome=outcome,
        sentence=_sentence(run, outcome, found),
        promoted=tuple(found.promoted),
        waiting=tuple(found.waiting),
        refused=tuple(found.refused),
        more=found.more,
        session=_tell_session(own, run, outcome, summary),
        transcript=None if receipt is None else receipt.source,
        transcript_note=note,
        capture=None if receipt is None else receipt.capture,
        job=None if receipt is None else receipt.job,
    )
    append_event(
        own,
        "scribe.reported",
        run,
        {
            "outcome": outcome,
            "promoted": [one.memory for one in found.promoted[:_IDS]],
            "waiting": [one.proposal for one in found.waiting[:_IDS]],
            "refused": [one.proposal for one in found.refused[:_IDS]],
        },
    )
    runs.keep_report(call.tx, report)
    return report


def _told_before(call: Call, run: Run) -> RunReport:
    report = runs.report_of(call.tx, run.id)
    if report is not None:
        return report
    # It came in with an archive from a ledger that kept no report.
    ended = runs.get(call.tx, run.id) or run
    return RunReport(
        run=run.id,
        agent=run.agent,
        outcome=ended.outcome or RunOutcome.ABANDONED,
        sentence=f"The run of {run.agent} ended before; no report of it was kept.",
    )


def _as(call: Call, run: Run, actor: Actor, origin: Origin) -> Call:
    """The call as somebody else makes it, in the run."""
    caller = replace(
        call.caller, actor=actor, origin=origin, run=run.id, key=None, token=None, as_agent=False
    )
    return replace(call, caller=caller)


def append_event(call: Call, kind: str, run: Run, detail: dict[str, object]) -> int:
    """Write what happened to a run into the log; its place there comes back."""
    return events.append(
        call.tx,
        kind=kind,
        subject=run.id,
        project=run.project,
        actor=call.actor.id,
        role=call.actor.role,
        origin=call.caller.origin,
        at=call.now,
        run=run.id,
        detail=detail,
    )


# --- promoting ----------------------------------------------------------------------------------------


def _coordinates(call: Call, run: Run) -> bool:
    """Whether the run's agent is a coordinator now, whatever it was when the run began."""
    if call.actor.id == run.agent:
        return call.actor.role is Role.COORDINATOR
    known = actors.get(call.tx, run.agent)
    if known is None or known.retired_at is not None or known.project not in (None, run.project):
        return False
    return known.role is Role.COORDINATOR


def _promote_all(own: Call, run: Run, outcome: RunOutcome, *, coordinates: bool) -> _Findings:
    found = _Findings()
    ids = runs.proposals_in(own.tx, run)
    found.more = max(len(ids) - own.limits.run_proposals, 0)
    for id in ids[: own.limits.run_proposals]:
        proposal = inbox.get(own.tx, id)
        assert proposal is not None
        rule, why = end_rule(proposal, run, outcome, coordinates=coordinates)
        if rule is None:
            found.waiting.append(_waits(proposal, why))
        else:
            _try(own, run, proposal, rule, found)
    return found


def _try(own: Call, run: Run, proposal: Proposal, rule: EndRule, found: _Findings) -> None:
    """Promote one proposal; what stands against that is a line of the report, and costs the others nothing."""
    role = Role.COORDINATOR if rule is EndRule.BACKSTOP else Role.AGENT
    # Bound to the run's project: no rule lets in what every other project would see.
    proposer = Actor(id=proposal.agent, name=proposal.agent, role=role, project=run.project)
    candidate = candidate_of(proposal)
    try:
        weighed = weigh(
            own,
            proposal,
            candidate,
            screen_candidate(candidate),
            accept_stale=False,
            author=_as(own, run, proposer, Origin(proposal.origin)),
        )
        hit = RuleHit(rule, "promote", f"{proposal.agent}'s proposal of the run {run.id}", proposal.id)
        with own.tx.savepoint():
            done = carry_out(own, proposal, weighed, reason=_WHY[rule], rule=hit)
    except MinutebookError as error:
        if error.kind in (Kind.UNAVAILABLE, Kind.INTERNAL):
            raise  # nothing is wrong with the proposal: the run is ended another time
        # Nothing of it was written but, where it was refused, the verdict on that.
        if error.code in _NEEDS_REVIEW:
            found.waiting.append(
                _waits(proposal, error.message.removeprefix("Held for review: ").rstrip("."))
            )
        else:
            found.refused.append(
                TurnedDown(proposal.slug, proposal.type, proposal.id, error.code, error.message)
            )
        return
    found.promoted.append(
        Promoted(proposal.slug, proposal.type, proposal.id, done.memory, done.op, rule, done.verdict)
    )


def _waits(proposal: Proposal, why: str) -> Waits:
    return Waits(proposal.slug, proposal.type, proposal.risk, proposal.id, why)


def _sentence(run: Run, outcome: RunOutcome, found: _Findings) -> str:
    counted = [f"{len(found.promoted)} promoted", f"{len(found.waiting)} waiting for review"]
    if found.refused:
        counted.append(f"{len(found.refused)} refused")
    if found.more:
        counted.append(f"{found.more} not looked at")
    return f"The run of {run.agent} {outcome.said}: {', '.join(counted)}."


# --- what else is kept --------------------------------------------------------------------------------


def _tell_session(own: Call, run: Run, outcome: RunOutcome, summary: str | None) -> str:
    """Add a line to the open session's summary, and say what became of it."""
    session = sessions.current(own.tx, run.project)
    if session is None:
        return "No session is open."
    line = f"{'Child run' if run.parent else 'Run'} of {run.agent} {outcome.said}"
    if run.task:
        line += f" ({_short(run.task, _TASK_CHARS)})"
    if summary:
        line += f": {_short(summary, _SUMMARY_CHARS)}"
    text = f"{session.summary}\n{line}" if session.summary else line
    if len(text) > MOST_SUMMARY:
        return "The session's summary is full; nothing was added. Put a shorter one in its place."
    seq = events.append(
        own.tx,
        kind="session.updated",
        subject=session.id,
        project=run.project,
        actor=own.actor.id,
        role=own.actor.role,
        origin=own.caller.origin,
        at=own.now,
        run=run.id,
    )
    sessions.update(own.tx, replace(session, summary=text, updated_at=own.now), seq)
    return f"A line was added to the summary of {session.session}."


def _short(text: str, most: int) -> str:
    line = one_line(text)
    return line if len(line) <= most else line[: most - 1] + "…"


def _keep(call: Call, run: Run, transcript: str | None) -> tuple[Receipt | None, str]:
    """Capture the transcript, without lines that hold a secret: nothing of one is kept anywhere."""
    if transcript is None:
        return None, ""
    if not transcript.strip():
        return None, "There was nothing in the transcript."
    rule = capture.refused_by(transcript)
    if rule is not None:
        return None, f"The transcript was not kept: it holds what looks like a credential ({rule})."
    withheld = transcript.withheld if isinstance(transcript, capture.Screened) else 0
    material = sources.Material(
        project=run.project,
        kind="run",
        title=_short(run.task, _TASK_CHARS) or f"Run of {run.agent}",
        content=transcript,
        capture_mode="transcript",
        run=run.id,
    )
    try:
        receipt = capture.capture(call, material, Trigger.SESSION_CLOSE)
    except MinutebookError as error:
        if error.code != "erased":
            raise
        return None, f"The transcript was not kept: {error.message}"
    if withheld:
        return receipt, f"{withheld} lines of it hold what looks like a credential; these were not kept."
    return receipt, ""
