"""Find memories and proposals by their words and by what they mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import MaxLen

from minutebook.call import Call
from minutebook.ledger import listings, projects, reach
from minutebook.ledger.reach import Reach
from minutebook.ledger.searching import Sight
from minutebook.model.errors import MinutebookError
from minutebook.model.scopes import ScopeKind, parse_scope
from minutebook.model.search import Drop, Found, Kept, State, Trace
from minutebook.model.text import fold_name
from minutebook.operations import finding
from minutebook.operations.finding import Ask, Gathered
from minutebook.operations.given import Agent, Limit, Moment, Time, TypeName, run_of, seq_of, tags_of, time_of
from minutebook.operations.hits import hits_of, shares
from minutebook.operations.registry import Access, Help, Read, flags, operation
from minutebook.policy.explanations import quoted
from minutebook.policy.fusion import Fused, Part
from minutebook.policy.query import parse
from minutebook.policy.shadowing import Named, shadows

_PARTS = tuple(Part)
#: Of what was left out, so many are told, and so many kept in a trace.
_TOLD = 50
_TRACED = 20


@flags
@dataclass(frozen=True, slots=True)
class Narrowed:
    """What a search is narrowed to."""

    type: TypeName | None = None
    status: Annotated[
        Literal["active", "superseded", "contradicted", "archived", "retired", "all"],
        Help("how memories stand"),
    ] = "active"
    scope: Annotated[ScopeKind | None, Read(parse_scope), Help("only of this scope")] = None
    repo: Annotated[str | None, Help("only of this repository of the project"), MaxLen(300)] = None
    agent: Agent | None = None
    author: Annotated[str | None, Help("only what they wrote"), MaxLen(200)] = None
    tag: Annotated[list[str], Help("only with this tag")] = ()  # type: ignore[assignment]
    since: Annotated[Time | None, Help("changed since: a time, a date, or an age such as 7d")] = None
    until: Annotated[Time | None, Help("changed until")] = None


@flags
@dataclass(frozen=True, slots=True)
class Widened:
    """What is searched besides."""

    proposals_too: Annotated[bool, Help("also pending proposals")] = False
    shadowed: Annotated[bool, Help("also what a deeper scope hides")] = False
    everywhere: Annotated[bool, Help("all projects; for people who are bound to none")] = False
    as_of: Moment | None = None


@operation(Access.READ)
def search(
    call: Call,
    query: Annotated[
        str, Help('words; "a phrase" must be said if anything says it, -word must not'), MaxLen(4_000)
    ],
    narrowed: Narrowed = Narrowed(),  # noqa: B008
    widened: Widened = Widened(),  # noqa: B008
    explain: Annotated[bool, Help("each score by its parts, and what was left out and why")] = False,
    limit: Limit = 10,
) -> Found:
    """Find memories by their words and by what they mean, the best first.

    Any of the words may match; rarer ones count more, and one that nothing holds is looked for as it may have
    been meant. You find what you may see: what is global, the project's, your own, and what a link leads to. A
    write is found from its commit on.

    Example:
        minutebook search "why not redis"
        minutebook search "proxy limit" --proposals-too --explain
        minutebook search '"message broker" -kafka' --type architectural --since 90d
    """
    ask = ask_of(call, query, narrowed, widened)
    found = finding.gather(call, ask)
    chosen = chosen_of(call, ask, found, limit, shadowed=widened.shadowed)
    hits = hits_of(call, ask, found, chosen, explain=explain)
    state, sentence = _said(ask, found, len(hits))
    dropped = tuple(found.dropped.values())
    answer = Found(
        state, sentence, hits, missing=tuple(found.missing), dropped=dropped[:_TOLD] if explain else ()
    )
    return _traced(call, ask, narrowed, widened, found, answer)


def ask_of(call: Call, text: str, narrowed: Narrowed, widened: Widened) -> Ask:
    """A search as it is carried out, from what was given."""
    query = parse(text)
    if not query.terms and not query.phrases and not query.only_common:
        raise MinutebookError(
            "blank_field",
            "The query holds no word to look for.",
            field="query",
            **({"hint": "say what it should hold, beside what it should not"} if query.excluded else {}),
        )
    seq = None if widened.as_of is None else seq_of(call, widened.as_of)
    far = call.actor.project is None and call.reader.agent is None
    if widened.everywhere and not far:
        raise MinutebookError(
            "not_allowed", "All projects are searched only by people who are bound to none of them."
        )
    sight = Sight(
        reader=call.reader,
        reach=reach.of(call.tx, call.project.id) if seq is None else Reach(),
        everywhere=widened.everywhere and seq is None,
        wanted=listings.Filter(
            type=narrowed.type,
            status=narrowed.status,
            scope=narrowed.scope,
            agent=None if narrowed.agent is None else fold_name(narrowed.agent),
            author=None if narrowed.author is None else fold_name(narrowed.author),
            tags=tags_of(narrowed.tag),
            since=time_of(call, narrowed.since),
            until=time_of(call, narrowed.until),
        ),
        repo=_repo(call, narrowed.repo),
        until_seq=seq,
        words=query.reads_words,
    )
    return Ask(text, query, sight, widened.proposals_too, seq, far)


def _repo(call: Call, repo: str | None) -> str | None:
    if repo is None:
        return None
    found = projects.find_repo(call.tx, call.project.id, repo)
    if found is None:
        raise MinutebookError("not_found", f"The project has no repository {repo[:80]!r}.")
    return found.id


# --- choosing -------------------------------------------------------------------------------------------------


def chosen_of(
    call: Call, ask: Ask, found: Gathered, limit: int, *, shadowed: bool
) -> list[tuple[Fused, str | None]]:
    """The best, each with what hides it, if anything; what is hidden counts only where it is asked for."""
    chosen: list[tuple[Fused, str | None]] = []
    order = finding.strong_enough(found)
    at = 0
    while at < len(order) and len(chosen) < limit:
        some = order[at : at + limit + 4]
        hidden = _hidden(call, ask, found, [one.ref for one in some])
        for one in some:
            at += 1
            by = hidden.get(one.ref)
            if by is not None and not shadowed:
                found.drop(found.candidates[one.ref].row, Drop.SHADOW, f"{by} has its name in a deeper scope")
                continue
            chosen.append((one, by))
            if len(chosen) == limit:
                break
    for one in order[at : at + _TOLD]:
        found.drop(found.candidates[one.ref].row, Drop.BUDGET, f"{len(chosen)} others are better")
    return chosen


def _hidden(call: Call, ask: Ask, found: Gathered, refs: list[str]) -> dict[str, str]:
    """What a deeper scope hides, of all that the reader sees and not only of what was found."""
    memories = [ref for ref in refs if found.candidates[ref].kind == "memory"]
    same: list[tuple[int, Named]] = []
    reader = call.reader
    for depth, line in listings.namesakes(call.tx, reader, memories, until_seq=ask.seq):
        same.append((depth, line))
    same += [(reader.depth(memory.scope), memory) for memory in found.then if memory.status == "active"]
    return dict(shadows(same))


# --- telling --------------------------------------------------------------------------------------------------


def _said(ask: Ask, found: Gathered, hits: int) -> tuple[State, str]:
    """The state of the answer, and what to do about it."""
    beside = f" {' '.join(found.missing)}" if found.missing else ""
    if found.failed and not found.candidates and any("damaged" in why for why in found.missing):
        return State.FAILED, f"Nothing could be searched.{beside}"
    if hits:
        by = ""
        if found.respelled and not found.lists.get(Part.TEXT):
            by = ", by words that are spelled alike"
        elif found.missing and Part.VECTOR not in found.lists:
            by = ", by text only"
        if found.unsaid:
            by += f", by their words; none says {quoted(found.unsaid)}"
        return (State.DEGRADED if found.missing else State.HITS), f"{hits} found{by}.{beside}"
    if found.dropped:
        return State.FILTERED, _left_out(found)
    if ask.query.only_common:
        return State.EMPTY, f"These words are in every text; say what it is about.{beside}"
    return State.EMPTY, f"Nothing you may see holds any of these words.{beside}"


def _left_out(found: Gathered) -> str:
    reasons = [dropped.reason for dropped in found.dropped.values()]
    some = "Something holds" if len(reasons) == 1 else f"{len(reasons)} hold"
    it = "it" if len(reasons) == 1 else "them"
    if Drop.FILTER in reasons:
        return f"{some} these words, but the filters leave {it} out; try --status all, or --explain."
    if Drop.SHADOW in reasons:
        return f"{some} these words, but a deeper scope hides {it}; try --shadowed."
    return f"{some} these words, but not as you asked; try --explain."


# --- the trace ------------------------------------------------------------------------------------------------


def _traced(
    call: Call, ask: Ask, narrowed: Narrowed, widened: Widened, found: Gathered, answer: Found
) -> Found:
    """Leave a trace, if somebody keeps them: ids and numbers, and no words but the caller's own."""
    if not call.world.traces.keeping:
        return answer
    scores = {one.ref: one for one in found.order}
    trace = Trace(
        id=call.new_id(),
        project=call.project.id,
        actor=call.actor.id,
        run=run_of(call),
        query=ask.text,
        filters=_given(narrowed) | _given(widened),
        state=answer.state,
        sentence=answer.sentence,
        hits=tuple(
            Kept(hit.id, hit.kind, hit.score, shares(scores[hit.id]), hit.matched) for hit in answer.hits
        ),
        dropped=tuple(found.dropped.values())[:_TRACED],
        missing=answer.missing,
        seq=call.tx.settled if ask.seq is None else ask.seq,
        at=call.now,
        far=found.far,
    )
    call.world.traces.note(trace)
    return Found(answer.state, answer.sentence, answer.hits, trace.id, answer.missing, answer.dropped)


def _given(flags: Narrowed | Widened) -> dict[str, str]:
    """What was said otherwise than by default."""
    usual = type(flags)()
    said = {name: getattr(flags, name) for name in flags.__slots__}
    return {
        name: ", ".join(value) if isinstance(value, (list, tuple)) else str(value)
        for name, value in said.items()
        if value != getattr(usual, name)
    }
