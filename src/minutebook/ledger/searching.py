"""Finding what may answer a query: places in the index first, then the rows, each seen through the reader's eyes.

Who may see what is decided in SQL, by the clauses of `visibility` and `reach`, on every row that leaves this file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from minutebook.ledger import fulltext, listings, reach, spellings
from minutebook.ledger.database import Row, Tx
from minutebook.ledger.fulltext import Range
from minutebook.ledger.memories import from_row
from minutebook.ledger.reach import Reach
from minutebook.ledger.visibility import Reader, visible
from minutebook.model.memories import Memory
from minutebook.model.scopes import GLOBAL
from minutebook.policy.query import Query
from minutebook.policy.ranking import likeliest, rarity
from minutebook.policy.spelling import closest, comparable

#: Places of one term that are read; a term of more texts is common, and others lead to the candidates.
COMMON = 3_000
#: Rows that are read at once, and in all, until enough of them fit.
_AT_ONCE, _AT_MOST = 160, 2_400
#: The lists of one statement are as long as a multiple of this.
_STEP = 40
#: Candidates of one list.
ENOUGH = 100
#: Words of a query that nothing holds and for which others are tried; and how many for each.
_RESPELLED, _SPELLINGS = 4, 6


@dataclass(frozen=True, slots=True)
class Sight:
    """What is searched, through whose eyes."""

    reader: Reader
    reach: Reach
    #: all projects, for somebody who is bound to none
    everywhere: bool
    wanted: listings.Filter
    #: only this repository
    repo: str | None = None
    #: only what is unchanged since
    until_seq: int | None = None
    #: read the words too, and not only the terms
    words: bool = False

    def clause(self) -> tuple[str, dict[str, Any]]:
        """Over memories `m`: what the reader may see."""
        clause, params = visible(self.reader)
        clauses = [clause]
        if self.reach:
            more, given = reach.reached(self.reader)
            clauses.append(more)
            params |= given
        if self.everywhere:
            more, given = reach.elsewhere(self.reader)
            clauses.append(more)
            params |= given
        clause = " OR ".join(f"({one})" for one in clauses)
        if self.until_seq is not None:
            # What changed since did not stand like that then; it is read from its revisions.
            clause = f"({clause}) AND m.seq <= :until_seq"
            params["until_seq"] = self.until_seq
        return clause, params

    def fits(self, params: dict[str, Any]) -> str:
        """Over memories `m`: what the search is narrowed to."""
        clause = "1 = 1" + listings.narrow(self.wanted, params)
        if self.repo is not None:
            clause += " AND m.repo_id = :repo"
            params["repo"] = self.repo
        return clause

    def projects(self) -> list[str] | None:
        """Whose texts are looked through; None for all of them."""
        return (
            None
            if self.everywhere
            else list(dict.fromkeys((self.reader.project, GLOBAL, *self.reach.called)))
        )


@dataclass(frozen=True, slots=True)
class Places:
    """Where the terms of a query are held, within what is searched."""

    #: places worth reading, the likeliest first
    order: list[int]
    #: how many texts hold each term, and how many there are
    held: Mapping[str, int]
    texts: int
    #: words that nothing holds, with those that are spelled like them and how alike they are
    respelled: Mapping[str, list[tuple[str, float]]] = field(default_factory=dict)
    #: places of texts that hold one of those
    alike: list[int] = field(default_factory=list)


def places(tx: Tx, query: Query, sight: Sight) -> Places:
    """Look the query's terms up in the index."""
    ranges = ranges_of(tx, sight.projects())
    found = dict(zip(query.terms, _holding(tx, [[term] for term in query.terms], ranges), strict=True))
    texts = fulltext.count(tx, ranges)
    held = {term: _held(tx, term, docs, ranges, texts) for term, docs in found.items()}
    weights = {term: rarity(count, texts) for term, count in held.items()}
    order = _order(tx, query, ranges, found, weights)
    respelled = _respelled(tx, query, held)
    alike: list[int] = []
    if respelled:
        others = sorted({term for near in respelled.values() for term, _ in near})
        spelled = dict(zip(others, _holding(tx, [[term] for term in others], ranges), strict=True))
        respelled = {
            word: [(term, value) for term, value in near if spelled[term]] for word, near in respelled.items()
        }
        respelled = {word: near for word, near in respelled.items() if near}
        worth = {term: rarity(len(docs), texts) for term, docs in spelled.items()}
        alike = likeliest(spelled, worth)
        held |= {term: len(docs) for term, docs in spelled.items() if term not in held}
    return Places(order, held, texts, respelled, alike)


def ranges_of(tx: Tx, projects: Sequence[str] | None) -> list[Range] | None:
    if projects is None:
        return None
    found = [fulltext.range_of(tx, project) for project in projects]
    return [one for one in found if one is not None]


def _holding(tx: Tx, wanted: list[list[str]], ranges: list[Range] | None) -> list[list[int]]:
    return fulltext.holding(tx, wanted, ranges, COMMON + 1) if wanted else []


def _held(tx: Tx, term: str, docs: list[int], ranges: list[Range] | None, texts: int) -> int:
    """How many texts hold a term: counted, and for a common one in a part of the ledger estimated."""
    if len(docs) <= COMMON:
        return len(docs)
    if ranges is None:
        return fulltext.held_by(tx, term)
    # The newest were read; they lie in so much of the ranges.
    read = sum(_span(one, [doc for doc in docs if one.low <= doc <= one.high]) for one in ranges)
    return min(texts, max(len(docs), int(len(docs) * texts / max(read, 1))))


def _span(one: Range, docs: list[int]) -> int:
    if len(docs) > COMMON:
        return max(docs) - min(docs) + 1
    return max(docs) - one.low + 1 if docs else 0


def _order(
    tx: Tx,
    query: Query,
    ranges: list[Range] | None,
    found: Mapping[str, list[int]],
    weights: Mapping[str, float],
) -> list[int]:
    """The places worth reading. Who asks for a phrase gets only what holds all of it."""
    groups = [list(phrase.terms) for phrase in query.phrases if phrase.terms]
    if groups:
        every = list(dict.fromkeys(term for group in groups for term in group))
        (docs,) = _holding(tx, [every], ranges)
        must = set(docs)
        return [
            *[doc for doc in likeliest(found, weights) if doc in must],
            *sorted(must - _all(found), reverse=True),
        ]
    rare = {term: docs for term, docs in found.items() if 0 < len(docs) <= COMMON}
    common = sorted(
        (term for term, docs in found.items() if len(docs) > COMMON), key=lambda term: -weights[term]
    )
    worth = dict(weights)
    leading: dict[str, list[int]] = dict(rare)
    if len(common) > 1 or (common and rare):
        # What holds the common words together is as telling as what holds a rare one.
        tries = [common, common[:2]] if len(common) > 2 else [common] if len(common) > 1 else []
        for index, docs in enumerate(_holding(tx, tries, ranges)):
            leading[f"\0{index}"] = docs
            worth[f"\0{index}"] = sum(weights[term] for term in tries[index])
    if not rare and common:
        leading[common[0]] = found[common[0]]
    return likeliest(leading, worth)


def _all(found: Mapping[str, list[int]]) -> set[int]:
    return {doc for docs in found.values() for doc in docs}


def _respelled(tx: Tx, query: Query, held: Mapping[str, int]) -> dict[str, list[tuple[str, float]]]:
    unknown = [term for term in query.terms if not held[term] and comparable(term)][:_RESPELLED]
    near = {term: closest(term, spellings.near(tx, term), _SPELLINGS) for term in unknown}
    return {term: found for term, found in near.items() if found}


# --- rows -------------------------------------------------------------------------------------------------------

_MEMORY = """m.id, m.project_id, m.scope, m.tier, m.agent, m.repo_id, m.session_id, m.type, m.slug, m.title, m.status,
    m.importance, m.confidence, m.author, m.updated_at, m.observed_at"""


_WORDS = ", {m}.content, {m}.rationale"


def memories_at(tx: Tx, docs: Sequence[int], sight: Sight) -> Iterator[Row]:
    """Memories at these places that the reader may see; `fits` tells whether the filters let them through.

    Stops when enough of them fit.
    """
    clause, params = sight.clause()
    fits = sight.fits(params)
    enough = 0
    for start in range(0, min(len(docs), _AT_MOST), _AT_ONCE):
        names = _named(docs[start : start + _AT_ONCE])
        # A cross join, so that SQLite goes from the few places to their rows, and not from all rows of the project.
        for row in tx.all(
            f"""SELECT t.terms, {_selected(sight, fits)}
                  FROM texts t CROSS JOIN memories m LEFT JOIN signals s ON s.ref = m.id
                 WHERE t.doc IN ({_listed(names)}) AND t.kind = 'memory' AND m.id = t.ref AND m.status <> 'erased'
                   AND ({clause})""",
            **names,
            **params,
        ):
            enough += row["fits"]
            yield row
        if enough >= ENOUGH:
            return


def memories_of(tx: Tx, ids: Collection[str], sight: Sight, *, terms: bool) -> list[Row]:
    """Memories by their ids, if the reader may see them; with their terms only where somebody reads these."""
    clause, params = sight.clause()
    fits = sight.fits(params)
    listed, found = list(ids), list[Row]()
    for start in range(0, len(listed), _AT_ONCE):
        names = _named(listed[start : start + _AT_ONCE])
        found += tx.all(
            f"""SELECT {"t.terms, " if terms else ""}{_selected(sight, fits)}
                  FROM memories m LEFT JOIN signals s ON s.ref = m.id
                       {"JOIN texts t ON t.ref = m.id" if terms else ""}
                 WHERE m.id IN ({_listed(names)}) AND m.status <> 'erased' AND ({clause})""",
            **names,
            **params,
        )
    return found


def _selected(sight: Sight, fits: str) -> str:
    """What is read of a memory `m`, beside how often it came back, `s`."""
    words = f"{_WORDS.format(m='m')}, m.summary, m.tags" if sight.words else ""
    return f"CASE WHEN {fits} THEN 1 ELSE 0 END AS fits, {_MEMORY}, s.recalls, s.recalled_at{words}"


def whole(tx: Tx, ids: Sequence[str]) -> dict[str, tuple[Memory, bool]]:
    """Memories that were found, with all their words, and whether another one contradicts them."""
    if not ids:
        return {}
    names = {f"h{index}": id for index, id in enumerate(ids)}
    rows = tx.all(
        f"""SELECT m.*, CASE WHEN {listings.CONTESTED} THEN 1 ELSE 0 END AS contested
              FROM memories m WHERE m.id IN ({_listed(names)})""",
        **names,
    )
    return {row["id"]: (from_row(row), bool(row["contested"])) for row in rows}


def proposals_at(tx: Tx, docs: Sequence[int], sight: Sight) -> Iterator[Row]:
    """Pending proposals of the reader's project at these places."""
    words = _WORDS.format(m="p") if sight.words else ""
    for start in range(0, min(len(docs), _AT_MOST), _AT_ONCE):
        names = {f"d{index}": doc for index, doc in enumerate(docs[start : start + _AT_ONCE])}
        yield from tx.all(
            f"""SELECT t.terms, p.id, p.slug, p.type, p.title, p.importance, p.confidence, p.updated_at{words}
                  FROM texts t CROSS JOIN proposals p
                 WHERE t.doc IN ({_listed(names)}) AND t.kind = 'proposal' AND p.id = t.ref AND p.project_id = :project
                   AND p.status = 'pending'""",
            project=sight.reader.project,
            **names,
        )


def elsewhere(tx: Tx, query: Query, sight: Sight) -> list[Row]:
    """Memories of projects out of reach that hold every word of the query."""
    (docs,) = _holding(tx, [list(query.terms)], None)
    far = replace(sight, reach=Reach(), everywhere=True)
    rows = memories_at(tx, docs[:_AT_ONCE], far)
    near = (sight.reader.project, GLOBAL, *sight.reach.called)
    return [row for row in rows if row["project_id"] not in near]


def _named(some: Sequence[Any]) -> dict[str, Any]:
    """Names for these, the last one several times: so there are few lengths of the list, and each is parsed once."""
    names = [*some, *([some[-1]] * (-len(some) % _STEP))]
    return {f"d{index}": one for index, one in enumerate(names)}


def _listed(names: Mapping[str, Any]) -> str:
    return ", ".join(f":{name}" for name in names)
