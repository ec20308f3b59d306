"""The ledger of a run: what happened in it and what was said, in order; letting go of it, and mending it."""

from __future__ import annotations

from collections.abc import Iterator

from minutebook.call import Call
from minutebook.controller import scribe
from minutebook.controller.capture import EXTRACT, capture_again
from minutebook.ledger import captures, events, jobs, runs, sources
from minutebook.model.captures import CaptureState, Ingestion, Trigger
from minutebook.model.jobs import Request
from minutebook.model.runs import Mended, Pruned, Run, RunEntry, RunOutcome
from minutebook.policy.extraction.transcripts import read
from minutebook.policy.extraction.turns import Speaker

#: Events of one run that are read, and runs or sources that one call deals with.
_EVENTS = 10_000
_AT_ONCE = 200
#: Characters of a turn that are shown.
_SAID = 4_000


def entries_of(call: Call, run: Run, *, tools: bool) -> Iterator[RunEntry]:
    """Everything in its order: what was said stands before the end of the run, for that is when it was handed in."""
    place = 0
    told = False
    for event in events.of_run(call.tx, run.id, limit=_EVENTS):
        if not told and event.kind in ("run.finished", "capture.received"):
            told = True
            for at, who, said in _said(call, run, tools=tools):
                place += 1
                yield RunEntry(place, at, who, "said", said)
        place += 1
        detail = event.detail or {}
        about = str(detail.get("slug") or detail.get("outcome") or event.subject)
        yield RunEntry(place, event.at, event.actor, event.kind, about, event.seq, event.verdict)


def _said(call: Call, run: Run, *, tools: bool) -> Iterator[tuple[str | None, str, str]]:
    for id in sources.of_run(call.tx, run.id):
        source = sources.get(call.tx, id)
        if source is None or source.content is None or source.kind != "run":
            continue
        for turn in read(source.content)[1]:
            if tools or turn.speaker is not Speaker.TOOL:
                words = turn.text if len(turn.text) <= _SAID else turn.text[: _SAID - 1] + "…"
                yield turn.at, turn.name or turn.speaker.value, words


# --- letting go ------------------------------------------------------------------------------------------------


def prune(call: Call, before: str, *, confirm: bool) -> Pruned:
    """Let go of the transcripts of runs that ended before a time."""
    old = sources.prunable(call.tx, before, project=call.project.id, kind="run", limit=_AT_ONCE + 1)
    taken = old[:_AT_ONCE]
    if confirm:
        for source in taken:
            sources.prune(call.tx, source.id, at=call.now)
    size = sum(source.size for source in taken)
    return Pruned(
        applied=confirm,
        runs=tuple(dict.fromkeys(source.run for source in taken if source.run is not None)),
        sources=tuple(source.id for source in taken),
        bytes=size,
        more=len(old) > _AT_ONCE,
        sentence=f"{len(taken)} transcripts, {size:,} bytes, "
        + ("were let go." if confirm else "would be let go; give --confirm to do it."),
    )


# --- mending ------------------------------------------------------------------------------------------------------


def repair(call: Call, before: str, *, confirm: bool) -> Mended:
    """Find what hangs in the air, and put it right."""
    stranded = captures.stranded(call.tx, call.project.id, limit=_AT_ONCE)
    unread = captures.unread_runs(call.tx, call.project.id, limit=_AT_ONCE)
    left = runs.left_open(call.tx, call.project.id, before, limit=_AT_ONCE)
    if confirm:
        for ingestion in stranded:
            _requeue(call, ingestion)
        for id in unread:
            _read_later(call, id)
        for run in left:
            scribe.finish(call, run, RunOutcome.ABANDONED, summary="Nobody finished it; found by a repair.")
    found = len(stranded) + len(unread) + len(left)
    return Mended(
        applied=confirm,
        stranded=tuple(ingestion.id for ingestion in stranded),
        unread=tuple(unread),
        abandoned=tuple(run.id for run in left),
        sentence="Nothing hangs in the air."
        if not found
        else f"{len(stranded)} captures without a job, {len(unread)} transcripts that nobody read, "
        f"{len(left)} runs left open: " + ("mended." if confirm else "give --confirm to mend them."),
    )


def _requeue(call: Call, ingestion: Ingestion) -> None:
    request = Request(
        kind=EXTRACT,
        project=ingestion.project,
        payload={"capture": ingestion.id, "source": ingestion.source},
        unique_key=ingestion.id,
    )
    job, _ = jobs.add(call.tx, call.new_id(), request, at=call.now)
    captures.queue(call.tx, ingestion.id, job)


def _read_later(call: Call, id: str) -> None:
    source = sources.get(call.tx, id)
    assert source is not None
    missing = Ingestion(
        id="",
        project=source.project,
        trigger=Trigger.SCHEDULED_MAINTENANCE,
        source=source.id,
        state=CaptureState.QUEUED,
        by=source.created_by,
        role="",
        origin="",
        created_at=source.created_at,
        run=source.run,
    )
    capture_again(call, missing, Trigger.SCHEDULED_MAINTENANCE, source.size)
