"""Bringing material in, and following its way."""

from __future__ import annotations

from typing import Annotated, Any

from annotated_types import MaxLen

from minutebook.call import Call
from minutebook.controller.capture import capture, capture_again, check_storable, screened
from minutebook.controller.write import check_no_secret
from minutebook.ledger import captures as kept
from minutebook.ledger import runs, sources
from minutebook.ledger.plain import load_evidence, load_would
from minutebook.model.actors import may_decide
from minutebook.model.captures import (
    CaptureLine,
    CaptureMode,
    CaptureState,
    CaptureView,
    Ingestion,
    Piece,
    Receipt,
    Source,
    Stage,
    Trigger,
)
from minutebook.model.errors import MinutebookError
from minutebook.model.ids import is_ulid
from minutebook.model.memories import Type
from minutebook.model.paging import Page
from minutebook.model.scopes import Scope
from minutebook.model.text import one_line, storable
from minutebook.model.times import age
from minutebook.operations.given import (
    AfterId,
    Limit,
    Place,
    Title,
    filled,
    filled_line,
    page_of,
    scope_for,
    title_from,
)
from minutebook.operations.registry import Access, Check, Help, LongText, operation
from minutebook.policy.extraction.naming import name_in

CaptureRef = Annotated[str, Help("the id of a capture, or of its source"), MaxLen(300)]
Words = Annotated[
    str,
    LongText(),
    Help("the words themselves"),
    MaxLen(8_388_608),
    Check(lambda text: screened(storable(text))),
]
Locator = Annotated[str, Help("where it is from: an address, a path"), MaxLen(2_000)]

#: Pieces that are shown of one capture.
_PIECES = 200


@operation(Access.PROPOSE)
def conversation(
    call: Call,
    content: Words,
    consent: Annotated[str, Help("who agreed that it is kept, and to what"), MaxLen(2_000)],
    title: Title | None = None,
    mode: Annotated[CaptureMode, Help("how it was written down")] = CaptureMode.TRANSCRIPT,
    locator: Locator | None = None,
    place: Place = Place(),  # noqa: B008
) -> Receipt:
    """Capture a conversation that somebody decided to keep, with their consent. Nothing listens by itself.

    It is kept whole, and returns at once. What it settles (decisions, preferences, corrections, what was learned)
    turns up in the inbox a moment later, each with the lines that say so. Transcripts of Claude Code and Codex,
    JSON messages, `Name: words`, and plain text are read.

    Example:
        minutebook captures conversation @call.txt "Ana and Sebas agreed to keep the notes" --mode notes
    """
    agreed = filled_line(consent, "consent")
    check_no_secret({"consent": agreed})
    details = {"capture_mode": mode.value, "consent": agreed}
    return _captured(
        call, "conversation", Trigger.CONVERSATION_CAPTURE, content, title, locator, place, details
    )


@operation(Access.PROPOSE)
def document(
    call: Call,
    content: Words,
    title: Title | None = None,
    locator: Locator | None = None,
    place: Place = Place(),  # noqa: B008
) -> Receipt:
    """Capture a document: minutes, a post-mortem, a design note.

    It is kept whole, and returns at once; what it says turns up in the inbox, each piece with its lines.

    Example:
        minutebook captures document @docs/postmortem.md --title "The outage of May"
    """
    return _captured(call, "document", Trigger.MANUAL_WRITE, content, title, locator, place, {})


@operation(Access.PROPOSE)
def note(
    call: Call,
    content: Words,
    title: Title | None = None,
    locator: Locator | None = None,
    place: Place = Place(),  # noqa: B008
) -> Receipt:
    """Capture a note as it comes, to be sorted out later.

    To have something remembered at once and word for word, write it: `minutebook memories write`.

    Example:
        minutebook captures note "Turns out the sandbox resets every night at 02:00 UTC."
    """
    return _captured(call, "manual", Trigger.MANUAL_WRITE, content, title, locator, place, {})


def _captured(
    call: Call,
    kind: str,
    trigger: Trigger,
    content: str,
    title: str | None,
    locator: str | None,
    place: Place,
    details: dict[str, Any],
) -> Receipt:
    filled(content[:10_000], "content")
    check_storable(content, kind if kind != "manual" else "note")
    said = {"title": filled_line(title, "title") if title is not None else _title(content)}
    if locator is not None:
        said["locator"] = filled_line(locator, "locator")
    check_no_secret(said)
    material = sources.Material(
        project=call.project.id, kind=kind, content=content, run=call.caller.run, **said, **details
    )
    return capture(call, material, trigger, scope=_asked(call, place))


def _title(content: str) -> str:
    return title_from(name_in(content)[:2_000]) or "Untitled"


def _asked(call: Call, place: Place) -> Scope | None:
    """Where what is found shall live, where that was said; a kind that every informing type can live in."""
    return None if place == Place() else scope_for(call, Type.LEARNING, place)


@operation(Access.REVIEW)
def extract(call: Call, ref: CaptureRef) -> Receipt:
    """Read a source once more, for instance after the rules have become better.

    What it gives is judged as anything new is: what is known is passed over, and what was rejected or retired
    stays away, with a verdict that says so.

    Example:
        minutebook captures extract 01K9…
    """
    ingestion, source = _found(call, ref)
    if source.content is None:
        raise MinutebookError(
            "erased" if source.erased_at else "bad_transition",
            "The words of this source are not here any more.",
            source=source.id,
        )
    return capture_again(call, ingestion, Trigger.SCHEDULED_MAINTENANCE, source.size)


# --- reading ------------------------------------------------------------------------------------------


@operation(Access.READ)
def list_(
    call: Call,
    state: Annotated[CaptureState | None, Help("only those that stand so")] = None,
    after: AfterId | None = None,
    limit: Limit = 50,
) -> Page[CaptureLine]:
    """List what was captured, newest first. An agent sees what it brought, and what its runs said.

    Example:
        minutebook captures list --state failed
    """
    found = kept.list_(
        call.tx, call.project.id, state=state, agent=call.reader.agent, after=after, limit=limit + 1
    )
    return page_of([_line(call, ingestion, title) for ingestion, title in found], limit, "id")


def _line(call: Call, ingestion: Ingestion, title: str) -> CaptureLine:
    return CaptureLine(
        id=ingestion.id,
        trigger=ingestion.trigger,
        title=one_line(title)[:200],
        state=ingestion.state,
        by=ingestion.by,
        age=age(ingestion.created_at, call.now),
        found=ingestion.outcome.get("found"),
        fault=ingestion.fault,
        source=ingestion.source,
    )


@operation(Access.READ)
def show(call: Call, ref: CaptureRef) -> CaptureView:
    """Show the whole way of a piece of material: captured, extracted, consolidated, promoted, indexed.

    Where it has not come that far it says where it stands, and why.

    Example:
        minutebook captures show 01K9…
    """
    ingestion, source = _found(call, ref)
    rows = kept.pieces(call.tx, source.id, limit=_PIECES + 1)
    pieces = tuple(_piece(row, source.id) for row in rows[:_PIECES])
    done = f"{ingestion.done} of {ingestion.total}" if ingestion.total is not None else "not begun"
    return CaptureView(
        id=ingestion.id,
        trigger=ingestion.trigger,
        source=source.id,
        title=source.title,
        state=ingestion.state,
        by=ingestion.by,
        origin=ingestion.origin,
        requested_scope=None if ingestion.scope is None else str(ingestion.scope),
        run=ingestion.run,
        job=ingestion.job,
        retries=ingestion.retries,
        fault=ingestion.fault,
        outcome=ingestion.outcome,
        progress=done,
        created_at=ingestion.created_at,
        started_at=ingestion.started_at,
        finished_at=ingestion.finished_at,
        stages=_stages(ingestion, rows),
        pieces=pieces,
        more=max(0, len(rows) - _PIECES),
    )


def _piece(row: dict[str, Any], source: str) -> Piece:
    spans = [e.span for e in load_evidence(row["evidence"]) if e.ref == source]
    would = load_would(row["would"])
    return Piece(
        slug=row["slug"],
        type=row["type"],
        status=row["status"],
        proposal=row["id"],
        memory=row["memory_id"],
        span=spans[0] if spans else None,
        confidence=row["confidence"],
        similar=len(would.similar),
        contradicts=len(would.contradicts),
    )


def _stages(ingestion: Ingestion, rows: list[dict[str, Any]]) -> tuple[Stage, ...]:
    """How far it has come. What nobody has looked at is said to wait, with for whom."""
    counts = {name: sum(row["status"] == name for row in rows) for name in ("pending", "merged", "rejected")}
    settled = max((row["decided_at"] for row in rows if row["decided_at"]), default=None)
    standing = [row for row in rows if row["memory_status"] is not None and row["memory_status"] != "erased"]
    indexed = sum(row["indexed"] is not None for row in standing)
    return (
        Stage("captured", "done", ingestion.created_at, f"kept as {ingestion.source}"),
        _extracted(ingestion),
        Stage(
            "consolidated",
            "done" if rows else "nothing",
            None,
            _compared(rows) if rows else "nothing was proposed",
        ),
        Stage(
            "promoted",
            "waiting" if counts["pending"] else "done" if rows else "nothing",
            settled,
            f"{counts['merged']} accepted, {counts['rejected']} rejected, {counts['pending']} wait for a reviewer"
            if rows
            else "nothing was proposed",
        ),
        Stage(
            "indexed",
            "nothing" if not standing else "done" if indexed == len(standing) else "waiting",
            None,
            f"{indexed} of {len(standing)} can be found by their text"
            if standing
            else "nothing was accepted yet",
        ),
    )


def _compared(rows: list[dict[str, Any]]) -> str:
    """Every proposal is compared with what stands when it is made; a later pass may find more."""
    woulds = [load_would(row["would"]) for row in rows]
    alike = sum(bool(would.similar) for would in woulds)
    against = sum(bool(would.contradicts) for would in woulds)
    return f"compared with what stands: {alike} nearly the same, {against} say otherwise"


def _extracted(ingestion: Ingestion) -> Stage:
    state = {
        CaptureState.QUEUED: "waiting",
        CaptureState.WORKING: "working",
        CaptureState.DONE: "done",
        CaptureState.FAILED: "failed",
        CaptureState.KNOWN: "done",
    }[ingestion.state]
    if ingestion.state is CaptureState.KNOWN:
        said = f"the same words came before, with {ingestion.outcome.get('known')}"
    elif ingestion.state is CaptureState.FAILED:
        said = f"given up after {ingestion.retries} attempts: {ingestion.fault}; minutebook jobs retry {ingestion.job}"
    elif ingestion.fault is not None:
        said = f"failed {ingestion.retries} times, is tried again: {ingestion.fault}"
    elif ingestion.state is CaptureState.DONE:
        counted = [
            f"{n:,} {name.replace('_', ' ')}"
            for name, n in ingestion.outcome.items()
            if isinstance(n, int) and name != "turns"
        ]
        said = ", ".join(counted) or "nothing was found"
    elif ingestion.state is CaptureState.WORKING:
        said = f"{ingestion.done} of {ingestion.total} are dealt with"
    else:
        said = "its job waits for the service"
    return Stage("extracted", state, ingestion.finished_at, said)


def _found(call: Call, ref: str) -> tuple[Ingestion, Source]:
    """A capture by its id or by its source's, with the source, if the caller may see it."""
    id = ref.strip().upper()
    ingestion = kept.get(call.tx, id) if is_ulid(id) else None
    if ingestion is None and is_ulid(id):
        ingestion = next(iter(kept.of_source(call.tx, id, limit=1)), None)
    source = None if ingestion is None else sources.get(call.tx, ingestion.source)
    if (
        ingestion is None
        or source is None
        or ingestion.project != call.project.id
        or not sees(call, source, ingestion.by)
    ):
        raise MinutebookError(
            "not_found", f"The project has no capture {ref[:80]!r}.", hint="minutebook captures list"
        )
    return ingestion, source


def sees(call: Call, source: Source, by: str) -> bool:
    """Whether the caller may know of a source: an agent of its own, and of what its runs said."""
    agent = call.reader.agent
    if agent is None or may_decide(call.actor.role) or agent in (by, source.created_by):
        return True
    run = None if source.run is None else runs.get(call.tx, source.run)
    return run is not None and run.agent == agent
