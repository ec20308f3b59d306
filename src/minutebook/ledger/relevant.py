"""What of the memory may be about a task: in the reader's own project, and in those that it is linked to.

The two are looked for apart. So what a linked project holds never changes how much a word is worth at home, or
crowds out what is there; and a project without a link pays for one look into a table that is nearly empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from minutebook.ledger import reach, shelves
from minutebook.ledger.database import Row
from minutebook.ledger.moment import Found, Moment
from minutebook.model.context import Layer, LeftOut, Reason
from minutebook.model.memories import GOVERNING, Memory
from minutebook.policy.relevance import (
    REACH,
    Sought,
    checksums,
    enough_from_afar,
    is_titled,
    likeliest,
    score,
    task_words,
    weight_of,
    word_key,
)
from minutebook.policy.shelving import ABROAD, EVERYONE, Shelf, shelf_of

#: Read beyond what a layer takes, so that what it leaves out can be named.
BEYOND = 10
#: Memories that are read whole to be scored.
_SCORED = 40
#: Of the best score, one part in so many is still relevant; of what was decided, one in so many.
_SHARE = 3
_SHARE_OF_DECISIONS = 6
#: Of what is not relevant enough, the nearest so many are named: the list is read by agents too.
_WEAK = 8

Seen = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Likely:
    """Where memories are that may be about a task, and what each of its words is worth."""

    places: list[int] = field(default_factory=list)
    sought: list[Sought] = field(default_factory=list)
    #: how many hold each word
    counts: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Abroad:
    """The same in linked projects, and what each of these is called."""

    likely: Likely = field(default_factory=Likely)
    called: Mapping[str, str] = field(default_factory=dict)

    def has(self, memory: Memory) -> bool:
        return memory.scope.project in self.called


def likely_here(moment: Moment, seen: Seen) -> Likely:
    """For each word of the task the newest that hold it; of all these the likeliest.

    How many hold a word is known up to that reach, and so is what it is worth.
    """
    wanted = task_words(moment.request.task)
    if not wanted:
        return Likely()
    sums = _sums(wanted, seen)
    rows = shelves.holding(moment.tx, sums, seq=moment.request.seq, fresh=moment.fresh, limit=REACH)
    return _likeliest(sums, rows, _words_of(moment.shelved, seen))


def likely_abroad(moment: Moment, here: Likely) -> Abroad:
    """The same in the projects that this one was linked to: of a whole project, or of single memories.

    A word that many hold at home says as little here.
    """
    linked = reach.of(moment.tx, moment.request.project, None if moment.fresh else moment.request.seq)
    wanted = task_words(moment.request.task)
    if not linked or not wanted:
        return Abroad()
    known = _as_they_stood(moment, linked)
    whole = [(project, reader) for project in linked.projects for reader in (EVERYONE, ABROAD)]
    every = [(project, reader) for project in linked.called for reader in (EVERYONE, ABROAD)]
    sums = _sums(wanted, every)
    rows: list[Row] = []
    if whole:
        rows = shelves.holding(
            moment.tx,
            _sums(wanted, whole),
            seq=moment.request.seq,
            fresh=moment.fresh,
            limit=REACH,
            clause=shelves.OF_PROJECT,
        )
    held = _words_of(known, every)
    single = [id for id, project in linked.memories.items() if project not in linked.projects]
    for row in shelves.of_refs(moment.tx, single, seq=moment.request.seq, fresh=moment.fresh):
        held[row["doc"]] = set(row["words"].split())
    return Abroad(_likeliest(sums, rows, held, here.counts), linked.called)


def _as_they_stood(moment: Moment, linked: reach.Reach) -> list[tuple[Found, Shelf]]:
    """Memories of other projects that were within reach and changed since, with their shelves."""
    found: list[tuple[Found, Shelf]] = []
    for then in moment.elsewhere:
        if not linked.covers(then.memory):
            continue
        shelf = None if then.erased else shelf_of(then.memory)
        if shelf is None:
            moment.missing.append(_out(then.memory, Reason.ERASED))
            continue
        stood = Found(then.memory, shelves.place_of(then.created_seq), shelf.words)
        moment.then[stood.place] = stood
        found.append((stood, shelf))
    return found


def _out(memory: Memory, reason: Reason) -> LeftOut:
    return LeftOut(memory.id, Layer.RELEVANT, memory.type.value, memory.slug, reason)


def _sums(wanted: Iterable[str], seen: Seen) -> list[list[str]]:
    """For each word its checksum on each of the shelves."""
    words = list(wanted)
    keys = [word_key(project, reader) for project, reader in seen]
    return [list(each) for each in zip(*(checksums(key, words) for key in keys), strict=True)]


def _words_of(known: Iterable[tuple[Found, Shelf]], seen: Seen) -> dict[int, set[str]]:
    """The words of what changed since, by the place where it stood."""
    return {
        then.place: set(then.words.split()) for then, shelf in known if (shelf.project, shelf.reader) in seen
    }


def _likeliest(
    sums: list[list[str]], rows: Iterable[Row], held: Mapping[int, set[str]], besides: Sequence[int] = ()
) -> Likely:
    """The likeliest of the places that were found to hold a word, and of those whose words are known.

    `besides` is how many more hold each word elsewhere.
    """
    found: dict[int, list[int]] = {word: [] for word in range(len(sums))}
    for row in rows:
        found[row["word"]].append(row["doc"])
    if held:
        for word, wanted in enumerate(sums):
            more = [place for place, words in held.items() if not words.isdisjoint(wanted)]
            found[word] = sorted({*found[word], *more}, reverse=True)[:REACH]
    counts = [len(found[word]) + (besides[word] if besides else 0) for word in found]
    sought = [Sought(frozenset(sums[word]), weight_of(counts[word])) for word in found]
    return Likely(likeliest(found, [each.weight for each in sought], _SCORED), sought, counts)


def scored(moment: Moment, likely: Likely, abroad: Abroad, rows: dict[int, Row]) -> list[tuple[Memory, int]]:
    """Memories that share enough words with the task, most points first, then decisions, then the newest.

    What comes from a linked project must share more, comes after its equals, and is at most a few. What was
    decided here about a part of the task is told beside a memory that is about all of it.
    """
    here = _points(moment, likely, rows)
    there = [
        (points, place)
        for points, place, about in _points(moment, abroad.likely, rows)
        if enough_from_afar(about["words"], abroad.likely.sought)
    ]
    best = max(here[0][0] if here else 0, there[0][0] if there else 0)
    limits, share = moment.limits, best // _SHARE
    enough: list[tuple[int, int, int]] = []
    for points, place, about in here:
        governs = about["type"] in GOVERNING
        part = best // _SHARE_OF_DECISIONS if governs else share
        if points >= max(limits.context_points, part, 1):
            enough.append((points, 1 + governs, place))
        elif points and len(moment.weak) < _WEAK:
            moment.weak.append(
                LeftOut(about["id"], Layer.RELEVANT, about["type"], about["slug"], Reason.WEAK)
            )
    linked = [
        (points, 0, place)
        for points, place in there
        if points >= max(limits.context_linked_points, limits.context_points, share, 1)
    ]
    for _, _, place in linked[limits.context_linked : limits.context_linked + BEYOND]:
        moment.missing.append(_out(moment.at(rows, place).memory, Reason.OVER_COUNT))
    every = sorted([*enough, *linked[: limits.context_linked]], reverse=True)
    return [
        (moment.at(rows, place).memory, points)
        for points, _, place in every[: moment.limits.context_items + BEYOND]
    ]


def _points(moment: Moment, likely: Likely, rows: dict[int, Row]) -> list[tuple[int, int, Row]]:
    """The points of each place, and what was weighed: most first, then the newest."""
    points: list[tuple[int, int, Row]] = []
    for place in likely.places:
        then = moment.then.get(place)
        about = rows.get(place) if then is None else _as_row(then)
        if about is not None:
            titled = is_titled(about["title"], about["content"])
            points.append((score(about["words"], likely.sought, titled=titled), place, about))
    return sorted(points, key=lambda each: each[:2], reverse=True)


def _as_row(then: Found) -> Row:
    """What is weighed of a memory as it stood; of all others the row is there, and no memory is made of it."""
    memory = then.memory
    return {
        "id": memory.id,
        "type": memory.type.value,
        "slug": memory.slug,
        "title": memory.title,
        "content": memory.content,
        "words": then.words,
    }
