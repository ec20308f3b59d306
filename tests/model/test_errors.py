"""The closed table of codes, and what follows from the kind."""

from __future__ import annotations

import pytest

from minutebook.model.errors import CODES, EXIT_CODES, HTTP_STATUS, Kind, MinutebookError, Refusal


def test_every_kind_has_an_exit_code_and_a_status_of_its_own() -> None:
    assert set(EXIT_CODES) == set(HTTP_STATUS) == set(Kind)
    assert len(set(HTTP_STATUS.values())) == len(Kind)
    # A shell has fewer questions than HTTP: kinds that leave a caller with the same choice share a code.
    assert set(EXIT_CODES.values()) == set(range(1, 9))


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_code_has_a_kind_and_a_sentence(code: str) -> None:
    error = MinutebookError(code)
    assert error.exit_code == EXIT_CODES[error.kind]
    assert error.http_status == HTTP_STATUS[error.kind]
    assert error.message[0].isupper()
    assert error.message.endswith(".")


def test_a_code_that_is_not_in_the_table_cannot_be_raised() -> None:
    with pytest.raises(KeyError):
        MinutebookError("no_such_code")


def test_an_error_leaves_the_house_in_one_shape() -> None:
    error = MinutebookError("not_found", "There is no such thing.", ref="x")
    assert error.as_dict() == {
        "code": "not_found",
        "message": "There is no such thing.",
        "details": {"ref": "x"},
    }
    assert str(error) == "There is no such thing."


def test_only_a_refusal_keeps_what_was_written_before_it() -> None:
    assert Refusal("secret").recorded
    assert not MinutebookError("secret").recorded
