"""How a slug is made unique without overwriting anybody."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.model.text import canonical_slug
from minutebook.policy.slugs import decollide, numbered


@pytest.mark.parametrize(
    ("slug", "agent", "taken", "expected"),
    [
        ("store", "Bishop", set(), "store"),
        ("store", "Bishop", {"store"}, "store--bishop"),
        ("store", "Bishop", {"store", "store--bishop"}, "store--bishop--2"),
        ("store", "Bishop", {"store", "store--bishop", "store--bishop--2"}, "store--bishop--3"),
        ("store", "Bishop", {"store", "store--bishop", "store--bishop--3"}, "store--bishop--2"),
        ("store--bishop", "Ash", {"store", "store--bishop"}, "store--bishop--ash"),
        ("store", "Éowyn of Rohan", {"store"}, "store--eowyn-of-rohan"),
    ],
)
def test_the_first_free_name_of_the_row_is_taken(
    slug: str, agent: str, taken: set[str], expected: str
) -> None:
    assert decollide(slug, agent, taken) == expected


@pytest.mark.parametrize(
    ("taken", "expected"), [(set(), "a"), ({"a"}, "a-2"), ({"a", "a-2", "a-3"}, "a-4"), ({"a-2"}, "a")]
)
def test_a_name_made_from_a_title_is_counted_up(taken: set[str], expected: str) -> None:
    assert numbered("a", taken) == expected


@pytest.mark.parametrize("agent", ["李小龍", "🤖", "con", "x" * 80])
def test_an_agent_of_any_name_gets_a_part_that_a_slug_can_hold(agent: str) -> None:
    slug = decollide("store", agent, {"store"})
    assert slug.startswith("store--")
    assert canonical_slug(slug) == slug


WORD = st.text("abz09", min_size=1, max_size=70)


@given(
    st.lists(WORD, min_size=1, max_size=3).map("-".join), st.text(min_size=1, max_size=80), st.integers(0, 12)
)
def test_whatever_collides_the_result_is_free_canonical_and_at_most_200_long(
    slug: str, agent: str, others: int
) -> None:
    slug, taken = slug[:200].strip("-"), set()
    for _ in range(others):
        made = decollide(slug, agent, taken)
        assert made not in taken
        assert len(made) <= 200
        assert canonical_slug(made) == made
        taken.add(made)
