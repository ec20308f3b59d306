"""Past searches: what was asked, what came back, and why; and why a memory is an answer or is none."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from annotated_types import Ge, MaxLen

from minutebook.call import Call
from minutebook.ledger import fulltext, inbox, searches, signals
from minutebook.ledger import memories as kept
from minutebook.ledger.searches import Wanted
from minutebook.ledger.visibility import Reader
from minutebook.model.errors import MinutebookError
from minutebook.model.ids import is_ulid
from minutebook.model.memories import Memory
from minutebook.model.paging import Page
from minutebook.model.scopes import GLOBAL
from minutebook.model.search import (
    Drop,
    Explanation,
    Ground,
    Recalled,
    SearchLine,
    SearchView,
    Share,
    State,
    Trace,
)
from minutebook.model.text import fold_name
from minutebook.model.times import age
from minutebook.operations import finding
from minutebook.operations.finding import Ask, Gathered
from minutebook.operations.given import AfterId, Agent, Limit, Time, memory_named, page_of, time_of
from minutebook.operations.registry import Access, Help, operation
from minutebook.operations.search import Narrowed, Widened, ask_of, chosen_of
from minutebook.policy.explanations import quoted, rested, strongest
from minutebook.policy.fusion import Fused

#: Words that a memory is found by, as they are told.
_WORDS_TOLD = 24
#: What is told of something left out that the reader does not see now.
_UNSEEN = "you may not see it now"

Search = Annotated[str, Help("the id of a search"), MaxLen(40)]
Run = Annotated[str, Help("only of this run"), MaxLen(80)]


@operation(Access.READ)
def list_(
    call: Call,
    agent: Agent | None = None,
    run: Run | None = None,
    state: Annotated[
        Literal["hits", "empty", "filtered", "degraded", "failed"] | None, Help("how it was answered")
    ] = None,
    since: Time | None = None,
    after: AfterId | None = None,
    limit: Limit = 20,
) -> Page[SearchLine]:
    """List past searches of this project, newest first. An agent sees its own.

    Example:
        minutebook searches list --state empty --since 7d
    """
    wanted = _wanted(call, None if agent is None else fold_name(agent), run, state, time_of(call, since))
    waiting = [trace for trace in call.world.traces.pending() if _is_of(trace, wanted)]
    found = {trace.id: trace for trace in searches.list_(call.tx, wanted, after=after, limit=limit + 1)}
    found |= {trace.id: trace for trace in waiting if after is None or trace.id < after}
    newest = sorted(found.values(), key=lambda trace: trace.id, reverse=True)[: limit + 1]
    return page_of([_line(call, trace) for trace in newest], limit, "id")


@operation(Access.READ)
def show(
    call: Call,
    search: Search,
    turn: Annotated[int | None, Help("the search of this number in the run that is named"), Ge(1)] = None,
) -> SearchView:
    """Show a past search as it was answered: the hits with their scores by parts, and what was left out and why.

    With --turn, the first word is a run. What you may not see any more is there by its id alone.

    Example:
        minutebook searches show 01JD8ZK3V0000000000000000A
        minutebook searches show 01JD8ZK3V0000000000000000A --turn 3
    """
    return _view(call, _trace(call, search, turn))


@operation(Access.READ)
def explain(
    call: Call,
    ref: Annotated[str, Help("id or slug of a memory, or the id of a past search"), MaxLen(300)],
    query: Annotated[
        str | None, Help("the words that it was, or should have been, found by"), MaxLen(4_000)
    ] = None,
    search: Annotated[str | None, Help("the query of this past search"), MaxLen(40)] = None,
) -> Explanation:
    """Say why a memory is an answer to a query, or why it is none: its words, how it stands, what hides it.

    Without a query it says what the memory is found by, and how often it was. Given the id of a past search, it
    says of each hit what brought it up, and of the rest why it was left out.

    Example:
        minutebook searches explain staging-proxy --query "upload limit"
        minutebook searches explain staging-proxy --search 01JD8ZK3V0000000000000000A
        minutebook searches explain 01JD8ZK3V0000000000000000A
    """
    asked = None if query or search else _of_id(call, _wanted(call, None), ref)
    if asked is not None:
        return _of_search(call, asked)
    memory = memory_named(call, ref, any_status=True)
    if search is not None:
        query = _trace(call, search, None).query
    if query is None:
        return _by_itself(call, memory)
    ask = ask_of(call, query, Narrowed(), Widened())
    found = finding.gather(call, ask)
    order = [one for one, _ in chosen_of(call, ask, found, len(found.order) or 1, shadowed=False)]
    place = next((index for index, one in enumerate(order, start=1) if one.ref == memory.id), None)
    return _judged(call, ask, found, memory, place, order)


# --- past searches --------------------------------------------------------------------------------------------


def _wanted(
    call: Call, actor: str | None, run: str | None = None, state: str | None = None, since: str | None = None
) -> Wanted:
    """Those of the project; for an agent, its own."""
    own = call.reader.agent
    if own is not None and actor not in (None, own):
        raise MinutebookError("other_agent", f"{call.actor.name} cannot look at the searches of others.")
    return Wanted(call.project.id, own or actor, run, state, since, far=call.actor.project is None)


def _is_of(trace: Trace, wanted: Wanted) -> bool:
    return (
        trace.project == wanted.project
        and wanted.actor in (None, trace.actor)
        and wanted.run in (None, trace.run)
        and wanted.state in (None, trace.state)
        and (wanted.since is None or trace.at >= wanted.since)
        and (wanted.far or not trace.far)
    )


def _trace(call: Call, id: str, turn: int | None) -> Trace:
    given = id.strip().upper()
    wanted = _wanted(call, None, run=None if turn is None else given)
    found: Trace | None = None
    if turn is not None:
        found = searches.of_turn(call.tx, wanted, turn)
    else:
        found = _of_id(call, wanted, given)
    if found is None:
        raise MinutebookError(
            "not_found",
            f"There is no search {id[:80]!r} here, or its time is over.",
            hint="minutebook searches list",
        )
    return found


def _of_id(call: Call, wanted: Wanted, id: str) -> Trace | None:
    """A past search by its id, also one that is not written yet; None for what is no id of one."""
    given = id.strip().upper()
    if not is_ulid(given):
        return None
    waiting = [one for one in call.world.traces.pending() if one.id == given and _is_of(one, wanted)]
    return waiting[0] if waiting else searches.get(call.tx, wanted, given)


def _line(call: Call, trace: Trace) -> SearchLine:
    return SearchLine(
        id=trace.id,
        query=trace.query,
        state=State(trace.state),
        hits=len(trace.hits),
        actor=trace.actor,
        at=trace.at,
        age=age(trace.at, call.now),
        run=trace.run,
        turn=trace.turn,
    )


def _told(call: Call, id: str, seen: dict[str, Memory]) -> bool:
    """Whether the reader may see what was left out: a memory, or a proposal of the project."""
    if id in seen:
        return True
    proposal = inbox.get(call.tx, id)
    return proposal is not None and proposal.project == call.project.id


def _seen(call: Call, ids: list[str]) -> dict[str, Memory]:
    found = ((id, kept.seen_by(call.tx, id, call.reader)) for id in ids)
    return {id: memory for id, memory in found if memory is not None}


def _view(call: Call, trace: Trace) -> SearchView:
    """A past search for whoever looks now."""
    seen = _seen(call, [hit.id for hit in trace.hits])
    left_out = _seen(call, [dropped.id for dropped in trace.dropped])
    return SearchView(
        search=_line(call, trace),
        sentence=trace.sentence,
        filters=trace.filters,
        hits=tuple(
            Recalled(
                hit.id,
                hit.score,
                hit.parts,
                hit.matched,
                *((memory.slug, memory.title, memory.status.value) if memory else (None, None, None)),
            )
            for hit, memory in ((hit, seen.get(hit.id)) for hit in trace.hits)
        ),
        dropped=tuple(
            dropped if _told(call, dropped.id, left_out) else replace(dropped, slug="", because=_UNSEEN)
            for dropped in trace.dropped
        ),
        missing=trace.missing,
        seq=trace.seq,
    )


# --- explanations ---------------------------------------------------------------------------------------------


def _by_itself(call: Call, memory: Memory) -> Explanation:
    line = fulltext.line_of(call.tx, memory.id)
    words = [] if line is None else [term for term in dict.fromkeys(line.split()) if term != "|"]
    used = signals.get(call.tx, memory.id)
    grounds = [
        Ground("standing", memory.status, _standing(memory)),
        Ground("scope", "seen", f"{memory.scope}: {_who(memory, call.reader)}"),
        Ground(
            "words", "indexed" if words else "missing", quoted(words, _WORDS_TOLD) or "minutebook reindex"
        ),
        Ground("use", "counted", f"it came back {used.recalls} times and was in {used.bundled} bundles"),
    ]
    sentence = f"{memory.slug} is found by {len(words)} words." if words else f"{memory.slug} is in no index."
    return Explanation(bool(words), None, sentence, tuple(grounds), ())


def _of_search(call: Call, trace: Trace) -> Explanation:
    """What brought each hit up, what was left out and why, and what could not be asked."""
    view = _view(call, trace)
    grounds = [
        Ground(
            "hit",
            hit.slug or hit.id,
            rested(hit.score, {one.part: one.points for one in hit.parts}, hit.matched),
        )
        for hit in view.hits
    ]
    grounds += [Ground(one.reason, one.slug or one.id, one.because) for one in view.dropped]
    grounds += [Ground("search", "missing", why) for why in view.missing]
    return Explanation(bool(view.hits), None, f"{view.search.query!r}: {view.sentence}", tuple(grounds), ())


def _standing(memory: Memory) -> str:
    if memory.superseded_by:
        return f"superseded by {memory.superseded_by}: found with --status superseded"
    return "found by default" if memory.status == "active" else f"found with --status {memory.status}"


def _who(memory: Memory, reader: Reader) -> str:
    if memory.scope.project == GLOBAL:
        return (
            "everyone, in every project"
            if not memory.scope.agent
            else f"{memory.scope.agent}, in every project"
        )
    return f"{memory.scope.agent} and people" if memory.scope.agent else "everyone in the project"


def _judged(
    call: Call, ask: Ask, found: Gathered, memory: Memory, place: int | None, order: list[Fused]
) -> Explanation:
    """What speaks for and against one memory."""
    line = fulltext.line_of(call.tx, memory.id) or ""
    held = [term for term in ask.query.terms if f" {term} " in line]
    said = ask.query.said
    lacking = [said.get(term, term) for term in ask.query.terms if term not in held]
    grounds = [
        Ground(
            "words",
            f"{len(held)} of {len(ask.query.terms)}",
            _words(quoted([said.get(term, term) for term in held]), quoted(lacking)),
        ),
        Ground("standing", memory.status, _standing(memory)),
    ]
    dropped = found.dropped.get(memory.id)
    if dropped is not None:
        grounds.append(Ground(dropped.reason, "left out", dropped.because))
    parts: tuple[Share, ...] = ()
    one = next((one for one in found.order if one.ref == memory.id), None)
    if one is not None:
        parts = tuple(Share(part.value, round(points, 4)) for part, points in one.parts.items())
    grounds += [Ground("search", "missing", why) for why in found.missing]
    return Explanation(
        place is not None,
        place,
        _verdict(memory, place, len(order), dropped, held, one),
        tuple(grounds),
        parts,
    )


def _words(held: str, lacking: str) -> str:
    if not held:
        return f"it holds none of them: {lacking}"
    return f"it holds {held}, and not {lacking}" if lacking else f"it holds {held}"


def _verdict(
    memory: Memory, place: int | None, among: int, dropped: object, held: list[str], one: Fused | None
) -> str:
    if place is not None and one is not None:
        return f"{memory.slug} is answer {place} of {among}, most of all by {strongest(one.parts)}."
    if getattr(dropped, "reason", None) is Drop.SHADOW:
        return f"{memory.slug} is hidden by one of the same name in a deeper scope."
    if dropped is not None:
        return f"{memory.slug} would answer, and was left out."
    if not held:
        return f"{memory.slug} is no answer: it holds none of the words."
    return f"{memory.slug} holds words of it, and others are so much better that it was not weighed."
