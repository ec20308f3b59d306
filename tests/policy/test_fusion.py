"""One order out of several lists: each weighed by its span, and nothing beside them lifts what does not fit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.policy.fusion import LISTS, TOP, Facts, Fused, Part, Place, Weights, fuse, in_context

PLAIN = Facts(depth=0.5, age_days=0, confidence=None, importance="medium")
BARE = Weights(scope=0, recency=0, confidence=0, importance=0, signal=0)


def order(lists: dict[Part, list[tuple[str, float]]], weights: Weights = BARE, **facts: Facts) -> list[str]:
    refs = {ref for rows in lists.values() for ref, _ in rows}
    return [one.ref for one in fuse(lists, {ref: facts.get(ref, PLAIN) for ref in refs}, weights)]


@pytest.mark.parametrize(
    ("lists", "expect"),
    [
        ({}, []),
        ({Part.TEXT: []}, []),
        ({Part.TEXT: [("a", 9.0), ("b", 3.0)]}, ["a", "b"]),
        # Scores of a list mean nothing beside those of another: only where they lie in its own span.
        ({Part.TEXT: [("a", 9.0), ("b", 8.9)], Part.VECTOR: [("b", 0.91), ("a", 0.70)]}, ["b", "a"]),
        # Found by one list only: still found.
        ({Part.TEXT: [("a", 1.0)], Part.VECTOR: [("b", 0.8)]}, ["b", "a"]),
        # Equals by their names, so that the order is always the same.
        ({Part.TEXT: [("b", 1.0), ("a", 1.0)]}, ["a", "b"]),
    ],
)
def test_the_lists_become_one_order(lists: dict[Part, list[tuple[str, float]]], expect: list[str]) -> None:
    assert order(lists) == expect


def test_the_weights_are_shares_of_the_lists_that_there_are() -> None:
    alone = fuse({Part.TEXT: [("a", 5.0)]}, {"a": PLAIN}, BARE)[0]
    assert alone.parts[Part.TEXT] == pytest.approx(1.0)
    both = fuse({Part.TEXT: [("a", 5.0)], Part.VECTOR: [("a", 0.8)]}, {"a": PLAIN}, BARE)[0]
    assert both.parts[Part.TEXT] == pytest.approx(BARE.text / (BARE.text + BARE.vector))
    assert both.score == pytest.approx(1.0)


def test_what_has_no_facts_was_not_to_be_seen_and_is_left_out() -> None:
    assert fuse({Part.TEXT: [("a", 2.0), ("hidden", 9.0)]}, {"a": PLAIN}, BARE)[0].ref == "a"


def test_of_each_list_only_the_first_count() -> None:
    rows = [(f"m{number:04}", 1000.0 - number) for number in range(TOP + 50)]
    assert len(order({Part.TEXT: rows})) == TOP


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ({"depth": 1.0}, {"depth": 0.0}),
        ({"age_days": 1.0}, {"age_days": 900.0}),
        ({"confidence": 0.9}, {"confidence": 0.1}),
        ({"confidence": None}, {"confidence": 0.1}),
        ({"importance": "high"}, {"importance": "low"}),
        ({"signal": 1.0}, {"signal": 0.0}),
    ],
)
def test_what_is_known_beside_the_lists_moves_equals_apart(
    better: dict[str, object], worse: dict[str, object]
) -> None:
    plain = {"depth": 0.5, "age_days": 0.0, "confidence": None, "importance": "medium", "signal": 0.0}
    rows = {Part.TEXT: [("a", 1.0), ("z", 1.0)]}
    found = order(rows, Weights(), z=Facts(**plain | better), a=Facts(**plain | worse))  # type: ignore[arg-type]
    assert found == ["z", "a"]


facts = st.builds(
    Facts,
    depth=st.floats(0, 1),
    age_days=st.floats(0, 5000),
    confidence=st.none() | st.floats(0, 1),
    importance=st.sampled_from(["low", "medium", "high"]),
    signal=st.floats(0, 1),
)
rows = st.lists(
    st.tuples(st.sampled_from([f"m{number}" for number in range(30)]), st.floats(0.001, 100)),
    max_size=30,
    unique_by=lambda row: row[0],
)


@given(st.dictionaries(st.sampled_from(LISTS), rows), st.lists(facts, min_size=30, max_size=30))
def test_a_score_is_the_sum_of_its_parts_and_what_lies_beside_stays_small(
    lists: dict[Part, list[tuple[str, float]]], known: list[Facts]
) -> None:
    given_facts = {f"m{number}": one for number, one in enumerate(known)}
    found = fuse(lists, given_facts, Weights())
    assert found == sorted(found, key=lambda one: (-one.score, one.ref))
    for one in found:
        assert one.score == pytest.approx(sum(one.parts.values()), abs=1e-9)
        assert 0 <= one.relevance <= 1 + 1e-9
        assert one.score - one.relevance <= 0.25 + 1e-9


# --- episodes in their context ------------------------------------------------------------------------------


def fused(**scores: float) -> list[Fused]:
    return [
        Fused(ref, score, {Part.TEXT: score})
        for ref, score in sorted(scores.items(), key=lambda one: -one[1])
    ]


TALK = {
    "a": Place("talk", None, "b", "ripley"),
    "b": Place("talk", "a", "c", "bishop"),
    "c": Place("talk", "b", None, "ripley"),
    "x": Place("other", None, "y", "ripley"),
    "y": Place("other", "x", None, "bishop"),
}


def test_without_episodes_nothing_changes() -> None:
    found = fused(m=0.9, n=0.2)
    assert in_context(found, {}, frozenset(), Weights()) == found


def test_an_episode_among_others_that_fit_stands_above_one_that_stands_alone() -> None:
    found = in_context(fused(a=0.6, b=0.5, c=0.6, x=0.62), TALK, frozenset(), Weights())
    assert next(one.ref for one in found if one.ref in "bx") == "b"


def test_a_neighbour_that_no_list_held_comes_in() -> None:
    found = in_context(fused(a=0.9, c=0.8), TALK, frozenset(), Weights())
    assert "b" in {one.ref for one in found}
    assert all(one.score == pytest.approx(sum(one.parts.values())) for one in found)


def test_the_one_author_whom_the_question_names_counts_for_more() -> None:
    places = {"a": TALK["a"], "b": TALK["b"]}
    alike = fused(a=0.5, b=0.5)
    assert in_context(alike, places, frozenset({"what", "did", "bishop's", "knife"}), Weights())[0].ref == "b"
    assert in_context(alike, places, frozenset({"ripley?"}), Weights())[0].ref == "a"
    both = in_context(alike, places, frozenset({"ripley", "and", "bishop"}), Weights())
    assert all(Part.AUTHOR not in one.parts for one in both)


def test_against_everything_else_episodes_gain_nothing_from_each_other() -> None:
    found = in_context(fused(m=0.8, a=0.7, b=0.7, c=0.7), TALK, frozenset({"ripley"}), Weights())
    assert found[0].ref == "m"
    assert max(one.score for one in found if one.ref in TALK) == pytest.approx(0.7)
