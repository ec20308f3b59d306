"""The closed types of memory, their spellings, where they live, and how a status may change."""

from __future__ import annotations

import pytest

from minutebook.model.errors import MinutebookError
from minutebook.model.memories import (
    BOUNDARIES,
    DEFAULT_SCOPE,
    GOVERNING,
    INFORMING,
    TRANSITIONS,
    Status,
    Type,
    parse_type,
)
from minutebook.model.scopes import ScopeKind


def test_four_types_govern_and_the_nine_others_inform() -> None:
    assert sorted(GOVERNING) == ["architectural", "process", "scope", "technical"]
    assert sorted(INFORMING) == [
        "artifact", "core_context", "episode", "feedback", "learning", "pattern", "profile", "project",
        "update",
    ]  # fmt: skip
    assert sorted(BOUNDARIES) == ["architectural", "scope"]


@pytest.mark.parametrize(
    ("spelled", "meant"),
    [
        ("user", Type.PROFILE),
        ("reference", Type.ARTIFACT),
        ("task_hint", Type.PATTERN),
        ("task-hint", Type.PATTERN),
        ("directive", Type.PROCESS),
        ("decision", Type.TECHNICAL),
        (" Core-Context ", Type.CORE_CONTEXT),
        ("LEARNING", Type.LEARNING),
        *[(member.value, member) for member in Type],
    ],
)
def test_every_type_has_its_own_spelling_and_those_of_the_seeds(spelled: str, meant: Type) -> None:
    assert parse_type(spelled) is meant


@pytest.mark.parametrize("text", ["", "idea", "архитектура", "architectural\n\nscope", "a" * 10_000])
def test_an_unknown_type_is_refused_with_the_known_ones(text: str) -> None:
    with pytest.raises(MinutebookError) as refused:
        parse_type(text)
    assert refused.value.code == "unknown_type"
    assert refused.value.details["known"] == [member.value for member in Type]
    assert len(refused.value.message) < 400


def test_every_type_has_a_default_scope_and_no_decision_lives_in_an_agents() -> None:
    assert set(DEFAULT_SCOPE) == set(Type)
    assert {DEFAULT_SCOPE[type] for type in GOVERNING} == {ScopeKind.PROJECT}
    assert [type for type in Type if DEFAULT_SCOPE[type] is ScopeKind.GLOBAL] == [Type.PROFILE, Type.FEEDBACK]


def test_nothing_returns_to_active_but_what_was_retired() -> None:
    assert [status for status in Status if Status.ACTIVE in TRANSITIONS[status]] == [Status.RETIRED]
    assert TRANSITIONS[Status.ACTIVE] == {Status.SUPERSEDED, Status.ARCHIVED, Status.RETIRED}
    assert TRANSITIONS[Status.SUPERSEDED] == {Status.ARCHIVED}
    assert TRANSITIONS[Status.ARCHIVED] == TRANSITIONS[Status.ERASED] == frozenset()
