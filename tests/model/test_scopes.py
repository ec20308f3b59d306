"""Five scopes, two tiers of agent scope, and which hides which."""

from __future__ import annotations

import pytest

from minutebook.model.errors import MinutebookError
from minutebook.model.scopes import Scope, ScopeKind, Tier, parse_scope, parse_tier

PROJECT = "01ARZ3NDEKTSV4RRFFQ69G5FAV"

IN_ORDER = [
    Scope.everywhere(),
    Scope.of_project(PROJECT),
    Scope.of_repo(PROJECT, "api"),
    Scope.of_agent(PROJECT, "ripley", Tier.GLOBAL),
    Scope.of_agent(PROJECT, "ripley", Tier.PROJECT),
    Scope.of_session(PROJECT, "s1"),
]


def test_depth_grows_from_global_to_session() -> None:
    assert [scope.depth for scope in IN_ORDER] == [0, 1, 2, 3, 4, 5]


def test_each_scope_says_what_it_is() -> None:
    assert [str(scope) for scope in IN_ORDER] == [
        "global", "project", "repo:api", "agent:ripley (everywhere)", "agent:ripley", "session:s1",
    ]  # fmt: skip


def test_an_agents_global_tier_lives_in_the_global_project() -> None:
    assert Scope.of_agent(PROJECT, "ripley", Tier.GLOBAL).project == "global"
    assert Scope.of_agent(PROJECT, "ripley").project == PROJECT


def test_the_project_scope_of_the_global_project_is_the_global_scope() -> None:
    assert Scope.of_project("global") == Scope.everywhere()


@pytest.mark.parametrize(
    "build",
    [
        lambda: Scope.of_agent(PROJECT, ""),
        lambda: Scope.of_repo(PROJECT, ""),
        lambda: Scope.of_session(PROJECT, ""),
        lambda: parse_scope("galaxy"),
        lambda: parse_tier("galaxy"),
    ],
)
def test_a_scope_that_lacks_what_it_needs_is_refused(build) -> None:
    with pytest.raises(MinutebookError) as refused:
        build()
    assert refused.value.code == "unknown_scope"


def test_an_agents_project_tier_needs_a_project() -> None:
    with pytest.raises(MinutebookError) as refused:
        Scope.of_agent("global", "ripley")
    assert refused.value.code == "no_project"


def test_scopes_and_tiers_are_read_whatever_their_case() -> None:
    assert parse_scope(" Agent ") is ScopeKind.AGENT
    assert parse_tier("GLOBAL") is Tier.GLOBAL
