"""Secrets and what they give: the smaller role, the narrower project, and never more."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.model.actors import GRANTABLE, Actor, Role, rank
from minutebook.model.errors import MinutebookError
from minutebook.model.tokens import Grant, digest_of, parse_expiry, secret_from

NOW = "2026-01-01T00:00:00.000000Z"
RANDOM = st.binary(min_size=32, max_size=32).map(bytes.hex)


def grant(**changes: Any) -> Grant:
    plain: dict[str, Any] = {
        "id": "T1",
        "actor_id": "ripley",
        "name": "Ripley",
        "role": Role.AGENT,
        "project": "P1",
        "expires_at": None,
        "revoked_at": None,
        "known": None,
    }
    return Grant(**{**plain, **changes})


@given(RANDOM, RANDOM)
def test_a_secret_is_a_word_of_47_characters_and_each_has_its_own_hash(one: str, other: str) -> None:
    secret = secret_from(one)
    assert (secret[:4], len(secret), secret.isascii()) == ("mbk_", 47, True)
    assert len(digest_of(secret) or "") == 64
    assert (digest_of(secret) == digest_of(secret_from(other))) == (one == other)


@pytest.mark.parametrize(
    "text",
    ["", "mbk_", "mbk_" + "a" * 42, "mbk_" + "a" * 44, "mbk_" + "é" * 43, " mbk_" + "a" * 43, "mbk_" + "a" * 43 + "\n"],
)  # fmt: skip
def test_what_cannot_be_a_secret_has_no_hash(text: str) -> None:
    assert digest_of(text) is None


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("never", None),
        (" NEVER ", None),
        ("12h", "2026-01-01T12:00:00.000000Z"),
        ("30d", "2026-01-31T00:00:00.000000Z"),
        ("2w", "2026-01-15T00:00:00.000000Z"),
        ("2026-02-01", "2026-02-01T00:00:00.000000Z"),
        ("2026-01-01T01:00:00+00:30", "2026-01-01T00:30:00.000000Z"),
    ],
)
def test_an_end_is_a_span_a_date_or_never(text: str, ends: str | None) -> None:
    assert parse_expiry(text, NOW) == ends


@pytest.mark.parametrize(
    "text", ["", "0d", "-3d", "soon", "2025-12-31", "2026-01-01", "999999w", "30", "30 days", "9999-99-99"]
)
def test_an_end_that_is_past_or_no_time_is_refused(text: str) -> None:
    with pytest.raises(MinutebookError) as refused:
        parse_expiry(text, NOW)
    assert refused.value.code == "invalid_input"


@pytest.mark.parametrize("known", [*GRANTABLE, Role.SCRIBE])
@pytest.mark.parametrize("given_role", GRANTABLE)
def test_the_role_is_the_smaller_of_the_tokens_and_the_actors(given_role: Role, known: Role) -> None:
    found = grant(role=given_role, known=Actor("ripley", "Ripley", known)).actor()
    assert rank(found.role) == min(rank(given_role), rank(known))
    assert found.role in (given_role, known)
    if known is Role.SCRIBE:
        assert found.role is Role.SCRIBE  # and so may ask for nothing


def test_a_name_that_nobody_registered_has_what_the_token_gives() -> None:
    assert grant().actor() == Actor("ripley", "Ripley", Role.AGENT, "P1")
    assert grant(project=None).actor().project is None


@pytest.mark.parametrize(
    ("token", "actor", "bound"),
    [(None, None, None), ("P1", None, "P1"), (None, "P1", "P1"), ("P1", "P1", "P1")],
)
def test_either_may_bind_to_a_project(token: str | None, actor: str | None, bound: str | None) -> None:
    known = Actor("ripley", "Ripley", Role.AGENT, actor)
    assert grant(project=token, known=known).actor().project == bound


def test_a_token_and_an_actor_of_two_projects_give_nothing() -> None:
    with pytest.raises(MinutebookError) as refused:
        grant(known=Actor("ripley", "Ripley", Role.AGENT, "P2")).actor()
    assert refused.value.code == "other_project"


@pytest.mark.parametrize(
    ("token", "known", "as_agent"),
    [
        (Role.AGENT, None, True),
        (Role.VIEWER, None, False),
        (Role.VIEWER, Role.AGENT, True),
        (Role.AGENT, Role.VIEWER, True),
        (Role.VIEWER, Role.VIEWER, False),
        (Role.OPERATOR, Role.COORDINATOR, False),
    ],
)
def test_an_agent_sees_as_an_agent_also_where_it_may_only_read(
    token: Role, known: Role | None, as_agent: bool
) -> None:
    actor = None if known is None else Actor("ripley", "Ripley", known)
    assert grant(role=token, known=actor).as_agent is as_agent


def test_a_token_holds_until_it_is_revoked_or_its_moment_has_come() -> None:
    grant().check(NOW)
    grant(expires_at="2026-01-01T00:00:00.000001Z").check(NOW)
    for changes, said in (
        ({"expires_at": NOW}, "expired on 2026-01-01"),
        ({"revoked_at": NOW}, "revoked on 2026-01-01"),
        ({"revoked_at": NOW, "expires_at": NOW}, "revoked"),
    ):
        with pytest.raises(MinutebookError, match=said) as refused:
            grant(**changes).check(NOW)
        assert refused.value.code == "bad_token"
