"""Weights of a search, found on one half of the questions and judged by the other.

Halves are whole conversations, and every second query of the decisions. What the search gathers for a question (its
lists, and where episodes stand) is read once through the product; only the weighing is done again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bench.report import table
from minutebook.call import Call, Caller, Meaning
from minutebook.ledger import projects as kept
from minutebook.ledger import vicinity
from minutebook.model.actors import Origin
from minutebook.operations import finding
from minutebook.operations.search import Narrowed, Widened, ask_of
from minutebook.policy.fusion import Facts, Part, Place, Weights, fuse, in_context

if TYPE_CHECKING:
    from bench.search import Case, Library

#: What is tried, one after the other, until nothing gets better.
GRID = {
    "text": (0.2, 0.25, 0.3, 0.35, 0.4, 0.5),
    "trigram": (0.0, 0.02, 0.05, 0.1),
    "neighbour": (0.0, 0.1, 0.15, 0.2, 0.3, 0.4),
    "container": (0.0, 0.2, 0.4, 0.6, 0.8),
    "author": (0.0, 0.06, 0.12, 0.2, 0.3),
}
ROUNDS = 2


@dataclass(frozen=True, slots=True)
class Gathered:
    """Everything that weighing a question needs."""

    case: Case
    lists: dict[Part, list[tuple[str, float]]]
    facts: dict[str, Facts]
    places: dict[str, Place]
    words: frozenset[str]


def gathered(library: Library, meaning: Meaning, cases: Sequence[Case]) -> list[Gathered]:
    from bench.search import MOTHER

    world = replace(library.service.world, meaning=meaning)
    found = []
    for case in cases:
        with library.service.database.read() as tx:
            project = kept.find(tx, case.project)
            caller = Caller(actor=MOTHER, origin=Origin.PYTHON, project=project)
            call = Call(tx=tx, caller=caller, world=world, now=world.clock())
            ask = ask_of(call, case.question.text, Narrowed(), Widened())
            pool = finding.gather(call, ask)
            clause, params = ask.sight.clause()
            fits = ask.sight.fits(params)
            refs = [ref for ref in pool.candidates if ref in case.names]
            places = vicinity.places(tx, refs, f"({clause}) AND {fits}", params)
        plain = Facts(0.5, 0.0, None, "medium")
        lists = {part: [row for row in rows if row[0] in case.names] for part, rows in pool.lists.items()}
        words = frozenset(case.question.text.casefold().split())
        found.append(Gathered(case, lists, dict.fromkeys(refs, plain), places, words))
    return found


def score(cases: Sequence[Gathered], weights: Weights) -> tuple[float, float]:
    """Mean recall@10 and nDCG@10."""
    from bench.search import mean, scored

    found = []
    for one in cases:
        order = in_context(fuse(one.lists, one.facts, weights), one.places, one.words, weights)
        ranked = [one.case.names[it.ref] for it in order if it.ref in one.case.names]
        found.append(scored(ranked, one.case.question.gold, one.case.question.kind))
    return mean(found, "recall10"), mean(found, "ndcg10")


def best(talks: Sequence[Gathered], documents: Sequence[Gathered]) -> Weights:
    """The weights under which both corpora together are answered best, one weight after the other."""

    def worth(weights: Weights) -> float:
        return sum(score(talks, weights)) + sum(score(documents, weights))

    chosen = Weights()
    value = worth(chosen)
    for _ in range(ROUNDS):
        for name, steps in GRID.items():
            for step in steps:
                tried = replace(chosen, **{name: step})
                if name == "text":
                    tried = replace(tried, vector=1 - step)
                found = worth(tried)
                if found > value + 1e-9:
                    chosen, value = tried, found
    return chosen


def main(library: Library, meaning: Meaning) -> int:
    talks = gathered(library, meaning, library.turns)
    documents = gathered(library, meaning, library.documents)
    projects = list(dict.fromkeys(one.case.project for one in talks))
    halves = []
    for side in (0, 1):
        mine = set(projects[side::2])
        halves.append(([one for one in talks if one.case.project in mine], documents[side::2]))
    rows = []
    for side, (tuned_on, judged_on) in enumerate(((halves[0], halves[1]), (halves[1], halves[0]))):
        for name, weights in (("as they are", Weights()), ("tuned", best(*tuned_on))):
            shown = {key: getattr(weights, key) for key in (*GRID, "vector")}
            turns, decisions = score(judged_on[0], weights), score(judged_on[1], weights)
            rows.append(
                [f"half {side + 1}, {name}", *(f"{value:.3f}" for value in (*turns, *decisions)), str(shown)]
            )
    every = best(talks, documents)
    turns, decisions = score(talks, every), score(documents, every)
    shown = {key: getattr(every, key) for key in (*GRID, "vector")}
    rows.append(["all, tuned on all", *(f"{value:.3f}" for value in (*turns, *decisions)), str(shown)])
    table(["judged on the other half", "turns R@10", "nDCG@10", "decisions R@10", "nDCG@10", "weights"], rows)
    return 0
