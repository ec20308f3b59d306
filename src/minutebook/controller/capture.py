"""Bringing material in: a source, an ingestion event and a job, in one transaction; and what comes out of it.

Nothing is extracted here. Whoever captures is answered at once, and what was found turns up in the inbox later.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from minutebook.call import Call
from minutebook.controller.record import Record, claim_keys, lock_reach
from minutebook.controller.write import write
from minutebook.ledger import captures, events, inbox, jobs, memories, sources
from minutebook.model.candidates import Candidate
from minutebook.model.captures import CaptureState, Ingestion, Receipt, Trigger
from minutebook.model.errors import Kind, MinutebookError, Refusal
from minutebook.model.jobs import Request
from minutebook.model.memories import Memory, Status
from minutebook.model.scopes import Scope
from minutebook.model.text import plain
from minutebook.model.verdicts import Op, RuleHit
from minutebook.policy import secrets
from minutebook.policy.withholding import WITHHELD, credential_lines, without_lines

#: The kind of job that turns a source into proposals.
EXTRACT = "extract"
#: How it stands with what the same words became.
_TOLD = {
    Status.ACTIVE: "in other words",
    Status.SUPERSEDED: "and something newer stands in its place",
    Status.RETIRED: "and retired since; it comes back only by a reviewer's act",
}


class Screened(str):
    """A text that was looked through for credentials before any transaction began: that takes its time."""

    __slots__ = ("refused", "withheld")
    #: the name of the rule that it is refused by; None where nothing was found
    refused: str | None
    #: lines in whose place a mark stands, because each held a credential
    withheld: int


def screened(text: str) -> Screened:
    """A text with what screening says of it."""
    found = Screened(text)
    refusing, _ = secrets.look(plain(text))
    found.refused = refusing[0] if refusing else None
    found.withheld = 0
    return found


def without_credentials(text: str) -> Screened:
    """A text with a mark in the place of each line that holds a credential.

    For what nobody can be asked to clean: a transcript in which some program printed a key. Where a credential cannot
    be told from the rest, it is refused as it is.
    """
    found = screened(text)
    lines = credential_lines(text) if found.refused is not None else {}
    kept = Screened(without_lines(text, lines or ()))
    if not lines or not kept.replace(WITHHELD, "").strip():
        return found
    kept.refused, kept.withheld = None, len(lines)
    return kept


def refused_by(text: str) -> str | None:
    """The rule by which a text holds a credential, looked up now if nobody has yet."""
    return (text if isinstance(text, Screened) else screened(text)).refused


def check_storable(text: str, what: str) -> None:
    """Refuse material that holds a credential: nothing of one is kept anywhere, so nothing of it is."""
    rule = refused_by(text)
    if rule is not None:
        raise MinutebookError(
            "secret",
            f"The {what} holds what looks like a credential ({rule}). Nothing of it was kept; "
            "take it out and send the rest.",
        )


def capture(
    call: Call,
    material: sources.Material,
    trigger: Trigger,
    *,
    scope: Scope | None = None,
    again: bool = False,
) -> Receipt:
    """Keep a source and have it extracted. Words that were captured before are not extracted again."""
    source, new = sources.keep(call.tx, call.new_id(), material, by=call.actor.id, at=call.now)
    before = None if new else _before(call, source)
    return _enqueue(
        call,
        source,
        trigger,
        scope=scope,
        run=material.run,
        size=len(material.data),
        before=None if again else before,
    )


def capture_again(call: Call, ingestion: Ingestion, trigger: Trigger, size: int) -> Receipt:
    """Have a source extracted once more: what it gives is judged anew, and what is known or buried stays so."""
    return _enqueue(
        call, ingestion.source, trigger, scope=ingestion.scope, run=ingestion.run, size=size, before=None
    )


def _before(call: Call, source: str) -> Ingestion | None:
    """The arrival that stands for a source: one that was dealt with or still will be."""
    return next(
        (one for one in captures.of_source(call.tx, source) if one.state is not CaptureState.KNOWN), None
    )


def _enqueue(
    call: Call,
    source: str,
    trigger: Trigger,
    *,
    scope: Scope | None,
    run: str | None,
    size: int,
    before: Ingestion | None,
) -> Receipt:
    id, job = call.new_id(), None
    if before is None or before.state is CaptureState.FAILED:
        request = Request(
            kind=EXTRACT, project=call.project.id, payload={"capture": id, "source": source}, unique_key=id
        )
        job, _ = jobs.add(call.tx, call.new_id(), request, at=call.now)
    state = CaptureState.KNOWN if job is None else CaptureState.QUEUED
    captures.insert(
        call.tx,
        Ingestion(
            id=id,
            project=call.project.id,
            trigger=trigger,
            source=source,
            state=state,
            by=call.actor.id,
            role=call.actor.role,
            origin=call.caller.origin,
            created_at=call.now,
            scope=scope,
            run=run,
            job=job,
            finished_at=call.now if job is None else None,
            outcome={"known": before.id} if job is None and before is not None else {},
        ),
    )
    append_event(
        call, "capture.received", id, {"source": source, "trigger": trigger, "known": job is None}, run
    )
    return Receipt(
        capture=id,
        source=source,
        job=job,
        state=state,
        bytes=size,
        sentence="It was captured before; nothing is left to do."
        if job is None
        else "Kept. A job of the service reads it; what it says comes into the inbox.",
    )


def append_event(call: Call, kind: str, capture: str, detail: dict[str, object], run: str | None) -> None:
    """Write what happened to a capture into the log; no word of it."""
    events.append(
        call.tx,
        kind=kind,
        subject=capture,
        project=call.project.id,
        actor=call.actor.id,
        role=call.actor.role,
        origin=call.caller.origin,
        at=call.now,
        run=run,
        detail=detail,
    )


# --- what comes out --------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Tally:
    """What became of the candidates of a source."""

    counts: dict[str, int] = field(default_factory=dict)

    def add(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1


def propose_all(call: Call, candidates: Iterable[Candidate], tally: Tally) -> None:
    """Put candidates before the judge, each for itself: a bad one costs the others nothing."""
    for candidate in candidates:
        try:
            with call.tx.savepoint():
                tally.add(_propose(call, candidate))
        except MinutebookError as error:
            if error.kind in (Kind.UNAVAILABLE, Kind.INTERNAL):
                raise
            tally.add("failed")


def _propose(call: Call, candidate: Candidate) -> str:
    """Hand a candidate in. The verdict on a refusal stays, so it is caught before the savepoint is undone."""
    came_back = _settled_before(call, candidate)
    if came_back is not None:
        return came_back
    try:
        done = write(call, candidate)
    except Refusal:
        return "refused"
    return {Op.HOLD: "proposed", Op.SKIP: "known"}.get(done.op, done.op.value)


def _settled_before(call: Call, candidate: Candidate) -> str | None:
    """What the same words are known as already, where the judge would not say so.

    They stand, and only their evidence is another one. Or a reviewer changed them on the way, or something newer has
    replaced them: then the tombstone, or the active memory, is of other words than those that are said here again.
    """
    claim = claim_keys(call).claim(candidate.title, candidate.content)
    for known in memories.of_claim(call.tx, candidate.scope, claim):
        if known.type is candidate.type:
            return _record(call, candidate, claim, known, f"This is known already as {known.slug!r}.", None)
    found = inbox.merged_of_claim(call.tx, call.project.id, candidate.type, claim)
    memory = None if found is None or found.memory is None else memories.get(call.tx, found.memory)
    if found is None or memory is None or memory.status not in _TOLD:
        return None
    same = (memory.title, memory.content) == (candidate.title, candidate.content)
    if same and memory.status is Status.RETIRED:
        return None  # its tombstone stands on these very words
    reason = f"This was accepted as {memory.slug!r}, {_TOLD[memory.status]}."
    return _record(call, candidate, claim, memory, reason, found.id)


def _record(
    call: Call, candidate: Candidate, claim: str, memory: Memory, reason: str, proposal: str | None
) -> str:
    """The verdict that passes over a candidate, or refuses it where what it became was retired."""
    lock_reach(call, candidate.scope.project)
    gone = memory.status is Status.RETIRED
    op, kind = (Op.REFUSE, "memory.refused") if gone else (Op.SKIP, "memory.skipped")
    hit = RuleHit("exact_duplicate" if proposal is None else "proposed_before", op, reason, memory.id)
    record = Record(
        call,
        op,
        kind,
        memory.id,
        candidate.scope.project,
        reason,
        (hit,),
        memory=memory.id,
        proposal=proposal,
        source=candidate.source,
        digest=claim,
        detail={"rules": [hit.rule]},
    )
    record.open().close()
    return "refused" if gone else "known"
