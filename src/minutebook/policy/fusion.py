"""One order out of several lists: each list weighed by its own span, then what is known of each memory beside.

Pure. Measured against reciprocal ranks, which throw away how sure a list is of its first.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum


class Part(StrEnum):
    """What a score is made of."""

    TEXT = "text"
    TRIGRAM = "trigram"
    VECTOR = "vector"
    SCOPE = "scope"
    RECENCY = "recency"
    CONFIDENCE = "confidence"
    IMPORTANCE = "importance"
    SIGNAL = "signal"
    CONTEXT = "context"
    AUTHOR = "author"


#: The parts that say how well a memory fits the question.
LISTS = (Part.TEXT, Part.TRIGRAM, Part.VECTOR)
#: Of each list so many count.
TOP = 100
#: Of a container so many of its best say how good it is.
_BEST = 3
_WORD = re.compile(r"\w+")
_IMPORTANCE = {"low": 0.0, "medium": 0.5, "high": 1.0}
#: What a memory counts for that says nothing of how sure it is.
_UNSURE = 0.5


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each part counts. Those of the lists are taken as shares of the lists that there are."""

    text: float = 0.45
    trigram: float = 0.05
    vector: float = 0.55
    scope: float = 0.03
    recency: float = 0.03
    confidence: float = 0.02
    importance: float = 0.03
    signal: float = 0.02
    half_life_days: float = 180.0
    #: of an episode, what its neighbours, its container and its author add
    neighbour: float = 0.2
    container: float = 0.6
    author: float = 0.2


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a memory beside the lists."""

    #: how near its scope lies to the asker, 0 to 1
    depth: float
    age_days: float
    confidence: float | None
    importance: str
    #: how often it was of use lately, 0 to 1
    signal: float = 0.0


@dataclass(frozen=True, slots=True)
class Fused:
    """A memory's score, and the parts that it is the sum of."""

    ref: str
    score: float
    parts: dict[Part, float]
    #: how well it fits the question, with what speaks for an episode from around it, whatever else is known of it
    strength: float = 0.0

    @property
    def relevance(self) -> float:
        """How well it fits the question by itself."""
        return sum(self.parts.get(part, 0.0) for part in LISTS)


@dataclass(frozen=True, slots=True)
class Place:
    """Where an episode stands: what it is part of, what comes before and after it there, and who said it."""

    container: str
    before: str | None
    after: str | None
    author: str


def fuse(
    lists: Mapping[Part, Sequence[tuple[str, float]]], facts: Mapping[str, Facts], weights: Weights
) -> list[Fused]:
    """The union of the lists in one order, the best first; what has no facts is left out.

    A memory that a list does not hold gets nothing of it. What is known beside the lists moves equals apart, and
    cannot lift what does not fit over what does.
    """
    shares = {part: getattr(weights, part.value) for part in LISTS if part in lists}
    total = sum(shares.values())
    parts: dict[str, dict[Part, float]] = defaultdict(dict)
    for part, share in shares.items():
        for ref, value in _spanned(part, lists[part]):
            if ref in facts and total > 0:
                parts[ref][part] = value * share / total
    found = []
    for ref, own in parts.items():
        relevance = sum(own.values())
        beside = _add_beside(own, facts[ref], weights)
        found.append(Fused(ref, relevance + beside, own, relevance))
    return _ordered(found)


def _spanned(part: Part, rows: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    """The values of a list's first, brought between 0 and 1.

    Words that do not match at all count 0, so that is where the text's span begins. All vectors are somewhat alike,
    so the span of theirs begins at the least alike of the first.
    """
    top = sorted(rows, key=lambda row: (-row[1], row[0]))[:TOP]
    if not top:
        return []
    most = top[0][1]
    least = top[-1][1] if part is Part.VECTOR and len(top) == TOP else _floor(part, top)
    if most <= least:
        return [(ref, 1.0) for ref, _ in top]
    return [(ref, (value - least) / (most - least)) for ref, value in top]


def _floor(part: Part, top: Sequence[tuple[str, float]]) -> float:
    """Where a span begins: a short list of vectors is not told apart to the last."""
    if part is not Part.VECTOR:
        return 0.0
    return min(top[-1][1], top[0][1] - 0.1)


def _add_beside(parts: dict[Part, float], facts: Facts, weights: Weights) -> float:
    """Add what is known of a memory beside the lists; how much that is."""
    confidence = _UNSURE if facts.confidence is None else facts.confidence
    parts[Part.SCOPE] = scope = weights.scope * facts.depth
    parts[Part.RECENCY] = late = weights.recency * 0.5 ** (max(0.0, facts.age_days) / weights.half_life_days)
    parts[Part.CONFIDENCE] = sure = weights.confidence * confidence
    parts[Part.IMPORTANCE] = heavy = weights.importance * _IMPORTANCE.get(facts.importance, 0.5)
    parts[Part.SIGNAL] = used = weights.signal * facts.signal
    return scope + late + sure + heavy + used


def _ordered(found: list[Fused]) -> list[Fused]:
    return sorted(found, key=lambda one: (-one.score, one.ref))


# --- episodes, in their context ------------------------------------------------------------------------


def in_context(
    fused: Sequence[Fused], places: Mapping[str, Place], words: frozenset[str], weights: Weights
) -> list[Fused]:
    """The same with episodes set in their context: what was said around them, and by whom.

    A turn of a talk says little alone. It counts for more beside turns that fit, in a talk that fits, and when it
    is of the one author whom the question names. That reorders the episodes; the best of them stands as high as
    before, so against everything else they gain nothing. Neighbours that no list held come in.
    """
    if not places:
        return list(fused)
    base = {one.ref: one.relevance for one in fused}
    known = {one.ref: one for one in fused}
    best: dict[str, list[float]] = defaultdict(list)
    for ref, place in places.items():
        best[place.container].append(base.get(ref, 0.0))
    prior = {name: sum(sorted(values)[-_BEST:]) / _BEST for name, values in best.items()}
    named = _named({place.author for place in places.values()}, words)
    raised: dict[str, tuple[float, float]] = {}
    for ref, place in places.items():
        around = base.get(place.before or "", 0.0) + base.get(place.after or "", 0.0)
        context = weights.neighbour * around + weights.container * prior[place.container]
        raised[ref] = context, weights.author if place.author == named else 0.0
    # The height of the best of them before, over that of the best of them now.
    before = max(base.get(ref, 0.0) for ref in raised)
    after = max(base.get(ref, 0.0) + context + author for ref, (context, author) in raised.items())
    scale = before / after if after > 0 else 0.0
    found = [one for one in fused if one.ref not in raised]
    for ref, (context, author) in raised.items():
        one = known.get(ref, Fused(ref, 0.0, {}))
        own = base.get(ref, 0.0)
        parts = dict(one.parts)
        parts[Part.CONTEXT] = context * scale - own * (1 - scale)
        if author:
            parts[Part.AUTHOR] = author * scale
        strength = (own + context + author) * scale
        found.append(replace(one, score=sum(parts.values()), parts=parts, strength=strength))
    return _ordered(found)


def _named(authors: set[str], words: frozenset[str]) -> str | None:
    """The one author whom the question names; nobody where it names several."""
    said = set(_WORD.findall(" ".join(words).casefold()))
    named = [author for author in authors if author and set(_WORD.findall(author.casefold())) <= said]
    return named[0] if len(named) == 1 else None
