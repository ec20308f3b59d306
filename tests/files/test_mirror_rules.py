"""What may be done with what stands at a path: the whole table."""

from __future__ import annotations

import pytest

from minutebook.files.mirror_documents import Document, Sort, documents_of
from minutebook.files.mirror_rules import Act, act, has_conflict_marks, standing
from minutebook.ledger.mirror import State
from minutebook.model.files import FileState


@pytest.mark.parametrize(
    ("found", "wanted", "known", "expected"),
    [
        (None, "a", False, Act.WRITE),  # nothing stands there
        (None, "", False, Act.NOTHING),
        ("a", "a", False, Act.NOTHING),  # as it should be, whoever wrote it
        ("a", "a", True, Act.NOTHING),
        ("b", "a", True, Act.WRITE),  # what we once wrote
        ("b", "", True, Act.REMOVE),
        ("b", "a", False, Act.LEAVE),  # what we never wrote
        ("b", "", False, Act.LEAVE),
    ],
)
def test_nothing_unknown_is_replaced_or_removed(
    found: str | None, wanted: str, known: bool, expected: Act
) -> None:
    assert act(found, wanted, known=known) is expected


@pytest.mark.parametrize(
    ("data", "stands", "expected"),
    [
        (b"words", True, FileState.EDITED),
        (b"words", False, FileState.FOREIGN),
        (b"x\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> b\n", True, FileState.CONFLICT),
        (b"<<<<<<< only one side\n", True, FileState.EDITED),
    ],
)
def test_what_is_left_has_a_reason_and_an_advice(data: bytes, stands: bool, expected: FileState) -> None:
    state, why, advice = standing(data, stands=stands)
    assert state is expected
    assert why
    assert advice


def test_a_long_file_is_searched_for_marks_in_no_time() -> None:
    assert not has_conflict_marks(b"<<<<<<< \n" * 200_000)


@pytest.mark.parametrize(
    ("type", "scope", "agent", "expected"),
    [
        ("scope", "project", "", [Document(Sort.DECISIONS), Document(Sort.BOUNDARIES)]),
        ("architectural", "repo", "", [Document(Sort.DECISIONS), Document(Sort.BOUNDARIES)]),
        ("technical", "project", "", [Document(Sort.DECISIONS)]),
        ("technical", "agent", "ripley", []),
        ("pattern", "agent", "ripley", [Document(Sort.PATTERNS)]),
        ("pattern", "project", "", [Document(Sort.PATTERNS)]),
        ("learning", "agent", "ripley", [Document(Sort.HISTORY, "ripley")]),
        ("core_context", "agent", "ripley", [Document(Sort.HISTORY, "ripley")]),
        ("learning", "project", "", []),
        ("episode", "agent", "ripley", []),
        ("scope", "session", "", []),
    ],
)
def test_a_memory_is_shown_where_it_belongs(
    type: str, scope: str, agent: str, expected: list[Document]
) -> None:
    assert documents_of(State("p", type, scope, "", agent)) == expected
