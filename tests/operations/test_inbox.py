"""Proposals, from submission to promotion."""

from __future__ import annotations

import pytest

from minutebook.model.errors import MinutebookError
from minutebook.operations import decisions, inbox
from tests.houses import House


def test_a_second_agent_with_the_same_slug_gets_its_own_proposal(house: House) -> None:
    first = house.ripley(inbox.submit, type="architectural", title="One store", content="Use PostgreSQL.", slug="store")
    second = house.bishop(inbox.submit, type="architectural", title="Another", content="Use files.", slug="store")
    assert (first.slug, second.slug, second.requested_slug) == ("store", "store--bishop", "store")


def test_an_agent_cannot_promote(house: House) -> None:
    house.ripley(inbox.submit, type="architectural", title="One store", content="Use PostgreSQL.", slug="store")
    with pytest.raises(MinutebookError) as refused:
        house.bishop(inbox.promote, ref="store")
    assert refused.value.code == "not_allowed"
    promoted = house.dallas(inbox.promote, ref="store")
    assert house.ripley(decisions.show, ref="store").memory.id == promoted.memory
