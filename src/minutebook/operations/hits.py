"""Hits, as they are told: what is known of each, the words that matched, and why it came back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from minutebook.call import Call
from minutebook.ledger import inbox as proposals
from minutebook.ledger import projects, searching
from minutebook.model.context import WORST_FIRST
from minutebook.model.memories import GOVERNING, Memory
from minutebook.model.scopes import GLOBAL
from minutebook.model.search import Hit, Share
from minutebook.model.times import age, moment_of
from minutebook.operations import finding
from minutebook.operations.finding import Ask, Candidate, Gathered
from minutebook.policy.explanations import freshness, why
from minutebook.policy.fusion import Fused, Part
from minutebook.policy.snippets import snippet

_PARTS = tuple(Part)


#: Memories with all their words, and whether each is contradicted.
Whole = Mapping[str, tuple[Memory, bool]]


def hits_of(
    call: Call, ask: Ask, found: Gathered, chosen: Sequence[tuple[Fused, str | None]], *, explain: bool
) -> tuple[Hit, ...]:
    """What was chosen as hits, each with what hides it, if anything."""
    known = [one.ref for one, _ in chosen if _stands(found.candidates[one.ref])]
    whole = searching.whole(call.tx, known)
    return tuple([_hit(call, ask, found, one, whole, by, explain=explain) for one, by in chosen])


def _stands(candidate: Candidate) -> bool:
    return candidate.kind == "memory" and candidate.memory is None


def _hit(
    call: Call, ask: Ask, found: Gathered, one: Fused, whole: Whole, hidden_by: str | None, *, explain: bool
) -> Hit:
    candidate = found.candidates[one.ref]
    told, content = (
        _memory(call, ask, candidate, whole) if candidate.kind == "memory" else _proposal(call, candidate)
    )
    said = ask.query.said
    matched = tuple(dict.fromkeys([said.get(term, term) for term in candidate.match.held]))
    asked = len({said.get(term, term) for term in ask.query.terms})
    piece = snippet(content, {*candidate.match.held, *candidate.alike.held})
    origin = "" if told.project is None else f"; it is of the project {told.project}"
    return replace(
        told,
        score=round(one.score, 4),
        snippet=piece.text,
        marks=piece.marks,
        matched=matched,
        why=why(
            matched,
            asked,
            one.parts,
            alike=_alike(ask, found, candidate),
            nearness=found.nearness(one),
            origin=origin,
        ),
        parts=shares(one) if explain else (),
        shadowed_by=hidden_by,
    )


def shares(one: Fused) -> tuple[Share, ...]:
    """A score by its parts, always in the same order."""
    return tuple([Share(part.value, round(one.parts[part], 4)) for part in _PARTS if part in one.parts])


def _alike(ask: Ask, found: Gathered, candidate: Candidate) -> dict[str, str]:
    """Words of the query that are spelled otherwise here."""
    held = set(candidate.alike.held)
    return {
        ask.query.said.get(word, word): next(term for term, _ in near if term in held)
        for word, near in found.respelled.items()
        if not held.isdisjoint(term for term, _ in near)
    }


def _memory(call: Call, ask: Ask, candidate: Candidate, whole: Whole) -> tuple[Hit, str]:
    memory, contested = (candidate.memory, False) if candidate.memory else whole[candidate.row["id"]]
    told = Hit(
        kind="memory",
        id=memory.id,
        slug=memory.slug,
        type=memory.type,
        title=memory.title,
        scope=str(memory.scope),
        status="contradicted" if contested and ask.seq is None else memory.status,
        author=memory.author,
        score=0.0,
        snippet="",
        updated_at=memory.updated_at,
        project=_project(call, ask, memory),
        age=age(memory.updated_at, call.now),
        freshness=_freshness(call, memory),
        evidence=_evidence(call, memory),
    )
    return told, memory.content


def _proposal(call: Call, candidate: Candidate) -> tuple[Hit, str]:
    proposal = proposals.get(call.tx, candidate.row["id"])
    assert proposal is not None
    told = Hit(
        kind="proposal",
        id=proposal.id,
        slug=proposal.slug,
        type=proposal.type,
        title=proposal.title,
        scope=str(proposal.scope),
        status=proposal.status,
        author=proposal.agent,
        score=0.0,
        snippet="",
        updated_at=proposal.updated_at,
        age=age(proposal.updated_at, call.now),
    )
    return told, proposal.content


def _freshness(call: Call, memory: Memory) -> str:
    """A banner for what was last confirmed long ago. A decision holds until it is replaced, however old."""
    if memory.type in GOVERNING:
        return ""
    confirmed = max(memory.verified_at or "", memory.updated_at)
    days = finding.days_before(moment_of(call.now), confirmed)
    return freshness(days, call.limits.search_fresh_days, verified=memory.verified_at == confirmed)


def _evidence(call: Call, memory: Memory) -> str | None:
    if not memory.evidence:
        return None
    witness = call.witness
    states = {witness.state(piece) for piece in memory.evidence}
    return next(state for state in WORST_FIRST if state in states)


def _project(call: Call, ask: Ask, memory: Memory) -> str | None:
    home = memory.scope.project
    if home in (call.project.id, GLOBAL):
        return None
    if home in ask.sight.reach.called:
        return ask.sight.reach.called[home]
    found = projects.find(call.tx, home)
    return home if found is None else found.slug
