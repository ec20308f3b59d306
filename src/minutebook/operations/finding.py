"""How a search is carried out: what may be seen → what holds the words, or means them → one order → hits."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from minutebook.call import Call
from minutebook.ledger import past, searching, signals, vicinity
from minutebook.ledger.database import Row
from minutebook.ledger.memories import scope_of
from minutebook.ledger.plain import dump, load_tags
from minutebook.ledger.searching import Places, Sight
from minutebook.model.errors import MinutebookError
from minutebook.model.memories import Memory, Type
from minutebook.model.scopes import GLOBAL, Scope
from minutebook.model.search import Drop, Dropped
from minutebook.model.times import moment_of
from minutebook.policy.fusion import Facts, Fused, Part, fuse, in_context
from minutebook.policy.query import Query, folded_of, keeps_out
from minutebook.policy.ranking import Match, Weighed, match, weigh
from minutebook.policy.terms import memory_line

#: The least share of the words of a query that something of a linked project must hold.
_LINKED_SHARE = 0.5
#: What share of how well the best fits is too little.
_TOO_LITTLE = 0.04
#: The deepest scope there is.
_DEEPEST = 5
#: An answer must hold this many words for a project out of reach to be asked.
_FAR_WORDS = 2

_NOTHING = Match(0.0, 0.0, ())


@dataclass(frozen=True, slots=True)
class Ask:
    """A search, read and bounded."""

    text: str
    query: Query
    sight: Sight
    proposals: bool
    #: the place in the log, where the past is asked for
    seq: int | None
    #: whether projects out of reach may be asked
    far: bool

    @property
    def by_words(self) -> bool:
        """Whether words that were typed keep out what answers otherwise."""
        return bool(self.query.phrases or self.query.excluded)


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something that may answer."""

    row: Row
    kind: str
    match: Match
    #: the same for words that are spelled alike
    alike: Match = _NOTHING
    #: the memory itself, where it is one of the past
    memory: Memory | None = None


@dataclass(slots=True)
class Gathered:
    """All that may answer, and what became of the rest."""

    candidates: dict[str, Candidate] = field(default_factory=dict)
    dropped: dict[str, Dropped] = field(default_factory=dict)
    lists: dict[Part, list[tuple[str, float]]] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    failed: bool = False
    #: words of the query that nothing holds, with the terms that were taken for them
    respelled: dict[str, list[tuple[str, float]]] = field(default_factory=dict)
    #: what the query quotes and nothing says word for word
    unsaid: tuple[str, ...] = ()
    #: memories that changed since the moment that is asked for, as they stood
    then: list[Memory] = field(default_factory=list)
    order: list[Fused] = field(default_factory=list)
    #: the most that a meaning adds to a score
    nearest: float = 0.0
    #: something of it may be of a project that no link leads to
    far: bool = False

    def drop(self, row: Row, reason: Drop, because: str) -> None:
        if row["id"] not in self.dropped:
            self.dropped[row["id"]] = Dropped(row["id"], row["slug"], reason, because)

    def nearness(self, one: Fused) -> float:
        """How near the meaning of one comes to that of the nearest, 0 to 1."""
        return one.parts.get(Part.VECTOR, 0.0) / self.nearest if self.nearest > 0 else 0.0


def gather(call: Call, ask: Ask) -> Gathered:
    """Everything that may be seen and answers, in order; each with its score by parts.

    Where nothing says what the query quotes, a question that says more than that is answered by its words.
    """
    found = _gathered(call, ask)
    quotes = ask.query.phrases
    said = bool(found.order) or any(one.reason is not Drop.WORDS for one in found.dropped.values())
    if said or found.failed or not quotes or not ask.query.beside:
        return found
    found = _gathered(call, replace(ask, query=ask.query.loosened()))
    found.unsaid = tuple(phrase.said for phrase in quotes)
    return found


def _gathered(call: Call, ask: Ask) -> Gathered:
    found = Gathered(far=ask.sight.everywhere)
    by_text = _by_text(call, ask, found)
    by_meaning = _by_meaning(call, ask, found)
    found.failed = not by_text and not by_meaning
    facts = _facts(call, ask, found)
    fused = fuse(found.lists, facts, call.limits.search)
    found.nearest = max((one.parts.get(Part.VECTOR, 0.0) for one in fused), default=0.0)
    found.order = _beside(call, ask, found, fused)
    return found


# --- by text --------------------------------------------------------------------------------------------------


def _by_text(call: Call, ask: Ask, found: Gathered) -> bool:
    """Fill the lists of words; False when the index does not answer, which is said and not hidden."""
    try:
        # A savepoint: PostgreSQL answers nothing more in a transaction in which a statement failed.
        with call.tx.savepoint():
            _read_index(call, ask, found)
    except MinutebookError as error:
        if error.code != "ledger_damaged":
            raise
        found.missing.append("The index of words is damaged: minutebook reindex")
        found.candidates.clear()
        return False
    return True


def _read_index(call: Call, ask: Ask, found: Gathered) -> None:
    if not ask.query.terms and not ask.query.phrases:
        return
    places = searching.places(call.tx, ask.query, ask.sight)
    rows: list[tuple[str, Row, Memory | None]] = [
        ("memory", row, None) for row in searching.memories_at(call.tx, places.order, ask.sight)
    ]
    if ask.proposals:
        rows += [("proposal", row, None) for row in searching.proposals_at(call.tx, places.order, ask.sight)]
    if ask.seq is not None:
        found.then = list(_as_they_stood(call, ask, ask.seq))
        rows += [("memory", _row_of(ask, memory), memory) for memory in found.then]
    weighed = _weighed(ask.query, places, rows)
    held = [(kind, row, memory, match(row["terms"], weighed)) for kind, row, memory in rows]
    full = any(len(one.held) == len(ask.query.terms) and row.get("fits", 1) for _, row, _, one in held)
    if ask.far and not full and len(ask.query.terms) >= _FAR_WORDS and ask.seq is None:
        far = searching.elsewhere(call.tx, ask.query, ask.sight)
        held += [("memory", row, None, match(row["terms"], weighed)) for row in far]
        found.far = found.far or bool(far)
    for kind, row, memory, one in held:
        if one.held or ask.query.phrases:
            _consider(ask, found, Candidate(row, kind, one, memory=memory))
    found.respelled = dict(places.respelled)
    if places.alike:
        _spelled_alike(call, ask, found, places, weighed)
    found.lists[Part.TEXT] = [
        (ref, one.match.score) for ref, one in found.candidates.items() if one.match.score > 0
    ]
    alike = [(ref, one.alike.score) for ref, one in found.candidates.items() if one.alike.score > 0]
    if alike:
        found.lists[Part.TRIGRAM] = alike


def _weighed(query: Query, places: Places, rows: Sequence[tuple[str, Row, Memory | None]]) -> Weighed:
    lengths = [row["terms"].count(" ") for _, row, _ in rows]
    return weigh(query.terms, places.held, places.texts, sum(lengths) / len(lengths) if lengths else 1.0)


def _consider(ask: Ask, found: Gathered, one: Candidate) -> None:
    """Take up a candidate, or say why not."""
    row = one.row
    if one.kind == "memory" and not row["fits"]:
        found.drop(row, Drop.FILTER, f"it is {row['status']}, of type {row['type']}, by {row['author']}")
    elif because := _kept_out(ask, row):
        found.drop(row, Drop.WORDS, because)
    elif one.kind == "memory" and _linked(ask, row) and one.match.share < _LINKED_SHARE:
        found.drop(row, Drop.THRESHOLD, "it is of a linked project and holds less than half of the words")
    else:
        found.candidates.setdefault(row["id"], one)


def _kept_out(ask: Ask, row: Row) -> str:
    """Why words that were typed keep something out; empty if they do not."""
    query = ask.query
    if not ask.by_words:
        return ""
    told = (row["title"], row["content"], row["rationale"]) if query.reads_words else ()
    more = (row.get("summary"), " ".join(load_tags(row.get("tags") or "[]"))) if told else ()
    return keeps_out(query, row["terms"], folded_of(*told, *more))


def _linked(ask: Ask, row: Row) -> bool:
    return row["project_id"] in ask.sight.reach.called and not ask.sight.everywhere


def _spelled_alike(call: Call, ask: Ask, found: Gathered, places: Places, weighed: Weighed) -> None:
    """The list of words that are spelled like those that nothing holds."""
    weights: dict[str, float] = {}
    for near in places.respelled.values():
        for term, value in near:
            worth = weigh([term], places.held, places.texts, 1.0).weights[term] * value
            weights[term] = max(weights.get(term, 0.0), worth)
    alike = Weighed(weights, weighed.usual)
    rows = searching.memories_at(call.tx, places.alike, ask.sight)
    for row in rows:
        near = match(row["terms"], alike)
        if not near.held:
            continue
        known = found.candidates.get(row["id"])
        if known is not None:
            found.candidates[row["id"]] = Candidate(known.row, known.kind, known.match, near, known.memory)
        elif row["id"] not in found.dropped:
            _consider(ask, found, Candidate(row, "memory", match(row["terms"], weighed), near))


def _as_they_stood(call: Call, ask: Ask, seq: int) -> Iterable[Memory]:
    """What changed since and may be seen as it stood."""
    for then in past.changed_since(call.tx, seq):
        if not then.erased and past.sees(ask.sight.reader, then.memory):
            yield then.memory


def _row_of(ask: Ask, memory: Memory) -> Row:
    """A memory of the past as a row of today would be."""
    scope = memory.scope
    return {
        "terms": memory_line(memory),
        "fits": int(past.fits(memory, ask.sight.wanted) and ask.sight.repo in (None, memory.scope.repo)),
        "id": memory.id,
        "project_id": scope.project,
        "scope": scope.kind,
        "tier": scope.tier,
        "agent": scope.agent,
        "repo_id": scope.repo,
        "session_id": scope.session,
        "type": memory.type.value,
        "slug": memory.slug,
        "title": memory.title,
        "status": memory.status.value,
        "importance": memory.importance.value,
        "confidence": memory.confidence,
        "author": memory.author,
        "updated_at": memory.updated_at,
        "observed_at": memory.observed_at,
        "content": memory.content,
        "rationale": memory.rationale,
        "summary": memory.summary,
        "tags": dump(memory.tags),
    }


# --- by meaning -----------------------------------------------------------------------------------------------


def _by_meaning(call: Call, ask: Ask, found: Gathered) -> bool:
    """Fill the list of vectors; False when there is none, and `missing` says why."""
    if ask.seq is not None:
        found.missing.append("The past is searched by text only.")
        return False
    known: dict[str, Row] = {}

    def allowed(refs: Sequence[str]) -> Collection[str]:
        # What its words have brought up has passed already.
        passed = [ref for ref in refs if ref in found.candidates]
        unread = [ref for ref in refs if ref not in found.candidates and ref not in found.dropped]
        for row in searching.memories_of(call.tx, unread, ask.sight, terms=ask.by_words):
            # Nothing comes from a linked project by its meaning alone.
            if row["fits"] and not _kept_out(ask, row) and not _linked(ask, row):
                known[row["id"]] = row
                passed.append(row["id"])
        return passed

    near = call.world.meaning.nearest(
        call.tx, ask.text, reach=ask.sight.projects(), allowed=allowed, limit=searching.ENOUGH
    )
    if near.missing is not None:
        found.missing.append(near.missing)
    if near.space is None and not near.found:
        return False
    for ref, _ in near.found:
        if ref not in found.candidates and ref in known:
            found.candidates[ref] = Candidate(known[ref], "memory", _NOTHING)
    found.lists[Part.VECTOR] = [(ref, value) for ref, value in near.found if ref in found.candidates]
    return True


# --- one order ------------------------------------------------------------------------------------------------


def _facts(call: Call, ask: Ask, found: Gathered) -> dict[str, Facts]:
    now = moment_of(call.now)
    reader = ask.sight.reader
    depths: dict[tuple[str, str, str, str], float] = {}
    facts = {}
    for ref, one in found.candidates.items():
        row = one.row
        if one.kind == "memory":
            place = (row["project_id"], row["scope"], row["tier"], row["agent"])
            depth = depths.get(place, -1.0)
            if depth < 0:
                # What is of another project is farther away than what is everyone's.
                near = row["project_id"] in (reader.project, GLOBAL)
                depth = depths[place] = min(reader.depth(scope_of(row)) / _DEEPEST, 1.0) if near else 0.0
            then, recalls = row["observed_at"] or row["updated_at"], row.get("recalls")
        else:
            depth, then, recalls = Scope.of_project(reader.project).depth / _DEEPEST, row["updated_at"], None
        use = signals.strength(recalls, row["recalled_at"], now) if recalls else 0.0
        facts[ref] = Facts(depth, days_before(now, then), row["confidence"], row["importance"], use)
    return facts


def days_before(now: datetime, then: str) -> float:
    return max(0.0, (now - moment_of(then)).total_seconds() / 86_400)


def _beside(call: Call, ask: Ask, found: Gathered, fused: list[Fused]) -> list[Fused]:
    """The same order with episodes in their context; neighbours that no list held are read now."""
    episodes = [one.ref for one in fused if found.candidates[one.ref].row.get("type") == Type.EPISODE]
    if not episodes or ask.seq is not None:
        return fused
    clause, params = ask.sight.clause()
    fits = ask.sight.fits(params)
    placed = vicinity.places(call.tx, episodes, f"({clause}) AND {fits}", params)
    if not placed:
        return fused
    ordered = in_context(fused, placed, frozenset(ask.text.casefold().split()), call.limits.search)
    unknown = [one.ref for one in ordered if one.ref not in found.candidates]
    for row in searching.memories_of(call.tx, unknown, ask.sight, terms=ask.by_words):
        if row["fits"] and not _kept_out(ask, row):
            found.candidates[row["id"]] = Candidate(row, "memory", _NOTHING)
    return [one for one in ordered if one.ref in found.candidates]


def strong_enough(found: Gathered) -> list[Fused]:
    """The order without what is too weak beside the best."""
    if not found.order:
        return []
    # How well it fits alone: what is new and important fits no better for that.
    least = max(one.strength for one in found.order) * _TOO_LITTLE
    kept = []
    for one in found.order:
        if one.strength > least:
            kept.append(one)
        else:
            because = f"it fits by {max(one.strength, 0.0):.3f}, and the best by {least / _TOO_LITTLE:.3f}"
            found.drop(found.candidates[one.ref].row, Drop.THRESHOLD, because)
    return kept
