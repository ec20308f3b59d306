"""How well a text answers words: rarer ones count more, repeated ones less and less, neighbours of the query more.

BM25 over the line of terms that the index holds, so that both databases, and a memory as it once stood, are ranked
by the same numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log

from minutebook.policy.terms import BAR

#: How fast a repeated term stops counting, and how much a long text is held against it.
_K, _B = 1.2, 0.4
#: What a term of the title counts in terms of the text.
_TITLE = 2.0
#: What two terms that stand together, as in the query, count of the rarer of them.
_TOGETHER = 0.35


@dataclass(frozen=True, slots=True)
class Match:
    """How a text answers a query."""

    score: float
    #: the share of the query's terms that the text holds, 0 to 1
    share: float
    #: the terms that it holds
    held: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Weighed:
    """A query's terms with what each is worth, and how long a text usually is."""

    weights: Mapping[str, float]
    usual: float
    #: pairs of terms that stand together in the query
    pairs: tuple[tuple[str, str], ...] = ()


def rarity(held: int, texts: int) -> float:
    """What a term is worth that so many of so many texts hold."""
    texts = max(texts, held)
    return log(1 + (texts - held + 0.5) / (held + 0.5))


def weigh(terms: Sequence[str], held: Mapping[str, int], texts: int, usual: float) -> Weighed:
    """What each term is worth."""
    weights = {term: rarity(held.get(term, 0), texts) for term in terms}
    present = [term for term in terms if held.get(term, 0)]
    return Weighed(weights, max(usual, 1.0), tuple(pairwise(present)))


def match(line: str, weighed: Weighed) -> Match:
    """Compare a line of terms with a query."""
    title, _, _ = line.partition(BAR)
    # Spaces part the terms: their number is the length, without taking the line apart.
    length = _K * (1 - _B + _B * line.count(" ") / weighed.usual)
    score, found = 0.0, []
    for term, weight in weighed.weights.items():
        spelled = f" {term} "
        times = line.count(spelled)
        if times:
            times += (_TITLE - 1) * title.count(spelled)
            score += weight * times * (_K + 1) / (times + length)
            found.append(term)
    if len(found) > 1:
        held = set(found)
        for first, second in weighed.pairs:
            if first in held and second in held and f" {first} {second} " in line:
                score += _TOGETHER * min(weighed.weights[first], weighed.weights[second])
    return Match(score, len(found) / len(weighed.weights) if found else 0.0, tuple(found))


def likeliest(places: Mapping[str, Sequence[int]], weights: Mapping[str, float]) -> list[int]:
    """Places worth reading, of all that hold a term: most weight first, then the newest."""
    points: dict[int, float] = {}
    for term, found in places.items():
        weight = weights[term]
        for place in found:
            points[place] = points.get(place, 0.0) + weight
    # Twice, each time by plain numbers: a key of both costs more than finding them did.
    order = sorted(points, reverse=True)
    order.sort(key=points.__getitem__, reverse=True)
    return order
