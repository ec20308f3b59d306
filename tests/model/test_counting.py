"""How a number of things is said."""

from __future__ import annotations

import pytest

from minutebook.model.counting import counted


@pytest.mark.parametrize(
    ("number", "one", "many", "said"),
    [
        (0, "file", "", "0 files"),
        (1, "file", "", "1 file"),
        (1234, "file", "", "1,234 files"),
        (1, "entry", "entries", "1 entry"),
        (2, "entry", "entries", "2 entries"),
    ],
)
def test_a_number_and_its_noun_agree(number: int, one: str, many: str, said: str) -> None:
    assert counted(number, one, many) == said
