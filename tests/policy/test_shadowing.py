"""Which memories a deeper scope hides."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from minutebook.policy.shadowing import shadows


@dataclass(frozen=True)
class Named:
    id: str
    type: str = "learning"
    slug: str = "proxy"


@pytest.mark.parametrize(
    ("visible", "hidden"),
    [
        ([], {}),
        ([(0, Named("a"))], {}),
        ([(0, Named("a")), (1, Named("b"))], {"a": "b"}),
        ([(1, Named("b")), (0, Named("a"))], {"a": "b"}),
        # the deepest hides every other, whatever stands between
        ([(0, Named("a")), (1, Named("b")), (5, Named("c"))], {"a": "c", "b": "c"}),
        # another type or another slug is another identity
        ([(0, Named("a")), (4, Named("b", type="pattern"))], {}),
        ([(0, Named("a")), (4, Named("b", slug="proxies"))], {}),
        # equals hide nothing of each other, and both what is below
        ([(4, Named("b")), (4, Named("c"))], {}),
        ([(1, Named("a")), (4, Named("b")), (4, Named("c"))], {"a": "b"}),
    ],
)
def test_a_deeper_scope_hides_the_same_type_and_slug_of_a_shallower_one(
    visible: list[tuple[int, Named]], hidden: dict[str, str]
) -> None:
    assert shadows(visible) == hidden
