"""A credential that somebody tries to write: refused, on record, and kept nowhere."""

from __future__ import annotations

import pytest

from minutebook.model.errors import MinutebookError
from minutebook.operations import inbox, memories, verdicts
from tests.houses import House

#: Put together here, so that no scanner of this repository takes it for a real one.
KEY = "AKIA" + "Q3EGRTLZN7VWKXOP"


def test_a_refused_secret_is_on_record_without_its_value_and_without_a_hash_of_it(house: House) -> None:
    with pytest.raises(MinutebookError) as refused:
        house.ash(memories.write, type="learning", content=f"Deploys work with the key {KEY}.")
    assert refused.value.code == "secret"
    assert KEY not in str(refused.value.as_dict())
    verdict = house.ash(verdicts.show, id=refused.value.details["verdict"], content=True)
    assert [hit.rule for hit in verdict.trace] == ["screening.aws_access_key"]
    # A keyed hash would not do: the key lies in the same ledger, and a password can be guessed.
    assert verdict.digest is None
    assert KEY not in str(verdict)


def test_a_secret_in_a_content_without_a_title_is_said_to_be_in_the_content(house: House) -> None:
    with pytest.raises(MinutebookError, match="The content holds what looks like a credential"):
        house.ash(memories.write, type="learning", content=f"Deploys work with the key {KEY}.")


def test_a_reason_holds_no_secret_either(house: House) -> None:
    house.ripley(inbox.submit, type="process", title="Deploys", content="Deploy by hand.", slug="deploys")
    with pytest.raises(MinutebookError) as refused:
        house.dallas(inbox.reject, ref="deploys", reason=f"the key {KEY} was in it")
    assert refused.value.code == "secret"
    assert house.dallas(inbox.show, ref="deploys").proposal.status == "pending"
    assert not any(KEY in str(row) for row in house.rows("SELECT * FROM verdicts"))
