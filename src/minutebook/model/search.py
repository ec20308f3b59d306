"""Searches and their answers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """How to take an answer."""

    HITS = "hits"
    #: nothing that the caller may see answers the query
    EMPTY = "empty"
    #: something does, and the filters leave it out
    FILTERED = "filtered"
    #: there are hits, and a part of the search could not be made: `missing` says which, and what to do
    DEGRADED = "degraded"
    #: the search could not be made at all
    FAILED = "failed"


class Drop(StrEnum):
    """Why something that holds the words is not among the hits."""

    #: a filter of the search leaves it out: its status, type, scope, author, time …
    FILTER = "filter"
    #: a deeper scope has something of the same type and name
    SHADOW = "shadow"
    #: it holds too little of the query
    THRESHOLD = "threshold"
    #: others were better, and no more were asked for
    BUDGET = "budget"
    #: it holds a word that was to be left out, or not the phrase that was asked for
    WORDS = "words"


@dataclass(frozen=True, slots=True)
class Share:
    """One part of a score: what it is, and what it added."""

    part: str
    points: float


@dataclass(frozen=True, slots=True)
class Hit:
    """One answer."""

    kind: str
    id: str
    slug: str
    type: str
    title: str
    scope: str
    status: str
    author: str
    score: float
    snippet: str
    updated_at: str
    #: the hit that hides this one, where a deeper scope has the same name
    shadowed_by: str | None = None
    #: the other project that it comes from, by its slug; None for what is of this one or global
    project: str | None = None
    #: how long ago it was last written
    age: str = ""
    #: what to bear in mind about its age; empty when it is fresh
    freshness: str = ""
    #: how its evidence stands, the worst of it; None where it cites none
    evidence: str | None = None
    #: places in the snippet, as from and to, of the words that matched
    marks: tuple[tuple[int, int], ...] = ()
    #: the words of the query that it holds, as they were said
    matched: tuple[str, ...] = ()
    #: in a sentence, why it came back
    why: str = ""
    #: the score by its parts, where it was asked for
    parts: tuple[Share, ...] = ()


@dataclass(frozen=True, slots=True)
class Dropped:
    """Something that holds the words, may be seen, and is not among the hits."""

    id: str
    slug: str
    reason: Drop
    because: str


@dataclass(frozen=True, slots=True)
class Found:
    """The answer to a search."""

    state: State
    sentence: str
    hits: tuple[Hit, ...]
    #: the id under which the search can be looked at again; None where no trace is kept
    search: str | None = None
    #: what of the search could not be made, and what to do
    missing: tuple[str, ...] = ()
    #: what was left out, where it was asked for
    dropped: tuple[Dropped, ...] = ()


@dataclass(frozen=True, slots=True)
class Kept:
    """One memory or proposal in the trace of a search: its id and its score, and nothing of its words."""

    id: str
    kind: str
    score: float
    parts: tuple[Share, ...]
    matched: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Trace:
    """What is kept of a search: what was asked, what came back, and why. No content."""

    id: str
    project: str
    actor: str
    run: str | None
    query: str
    filters: dict[str, str]
    state: State
    sentence: str
    hits: tuple[Kept, ...]
    dropped: tuple[Dropped, ...]
    missing: tuple[str, ...]
    #: the place in the event log that was looked at
    seq: int
    at: str
    #: which search of its run it was
    turn: int | None = None
    #: it looked into projects that no link leads to, and may tell of them: not for who is bound to one
    far: bool = False


@dataclass(frozen=True, slots=True)
class SearchLine:
    """One past search in a listing."""

    id: str
    query: str
    state: State
    hits: int
    actor: str
    at: str
    age: str
    run: str | None
    turn: int | None


@dataclass(frozen=True, slots=True)
class Recalled:
    """A hit of a past search, as it stands today for whoever looks."""

    id: str
    score: float
    parts: tuple[Share, ...]
    matched: tuple[str, ...]
    #: what it is called now; None for what the reader may not see, or what is gone
    slug: str | None
    title: str | None
    status: str | None


@dataclass(frozen=True, slots=True)
class SearchView:
    """A past search as it was answered."""

    search: SearchLine
    sentence: str
    filters: dict[str, str]
    hits: tuple[Recalled, ...]
    dropped: tuple[Dropped, ...]
    missing: tuple[str, ...]
    #: the place in the event log that was looked at
    seq: int


@dataclass(frozen=True, slots=True)
class Ground:
    """One thing that speaks for or against a memory as an answer."""

    what: str
    verdict: str
    detail: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a memory is, or is not, an answer to a query."""

    found: bool
    #: its place among the hits, from 1; None where it is none of them
    place: int | None
    sentence: str
    reasons: tuple[Ground, ...]
    parts: tuple[Share, ...]


@dataclass(frozen=True, slots=True)
class Layer:
    """One scope, as an agent sees it."""

    scope: str
    depth: int
    count: int
    types: dict[str, int]


@dataclass(frozen=True, slots=True)
class Shadow:
    """A memory that a deeper scope hides."""

    hidden: str
    hidden_scope: str
    by: str
    by_scope: str
    type: str
    slug: str


@dataclass(frozen=True, slots=True)
class ScopeView:
    """What an agent would see, from the most general to the most particular."""

    agent: str
    project: str
    layers: tuple[Layer, ...]
    shadows: tuple[Shadow, ...]
    visible: int
