"""Settings: each from its environment variable, explicit ones first, bad values refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minutebook.model.errors import MinutebookError
from minutebook.policy.limits import Limits
from minutebook.settings import Settings, load, table

GIVEN: dict[str, tuple[str, Any]] = {
    "home": ("/srv/ledger", Path("/srv/ledger")),
    "database_url": ("postgresql:///team", "postgresql:///team"),
    "project": ("nostromo", "nostromo"),
    "agent": ("Ripley", "Ripley"),
    "run": ("run-1", "run-1"),
    "lock_wait": ("2.5", 2.5),
    "writes_per_minute": ("7", 7),
    "content_bytes": ("1000", 1000),
    "near_hold": ("0.5", 0.5),
    "near_skip": ("0.95", 0.95),
    "inbox_expiry_days": ("30", 30),
    "context_boundary_tokens": ("100", 100),
    "context_items": ("3", 3),
    "context_tokens": ("200", 200),
    "context_lessons": ("1", 1),
    "context_profile": ("1", 1),
    "context_episodes": ("2", 2),
    "context_session_tokens": ("50", 50),
    "context_points": ("9", 9),
    "context_linked_points": ("11", 11),
    "context_linked": ("2", 2),
    "model_url": ("https://model.example/v1", "https://model.example/v1"),
    "model_name": ("reader", "reader"),
    "model_key": ("k", "k"),
    "model_seconds": ("5", 5.0),
    "model_tokens": ("300", 300),
    "model_budget": ("1000", 1000),
    "consolidation_at": ("0 5 * * *", "0 5 * * *"),
    "consolidation_score": ("0.5", 0.5),
    "provider_seconds": ("12.5", 12.5),
    "provider_failures": ("2", 2),
    "provider_pause": ("60", 60.0),
    "consolidation_hours": ("1.5", 1.5),
    "consolidation_runs": ("2", 2),
    "consolidation_signals": ("3", 3),
    "consolidation_recalls": ("4", 4),
    "consolidation_suggestions": ("7", 7),
    "consolidation_unused_days": ("30", 30),
    "promotion_rules": ("learning: days>=3", "learning: days>=3"),
    "search_text": ("0.5", 0.5),
    "search_trigram": ("0.2", 0.2),
    "search_vector": ("0.4", 0.4),
    "search_scope": ("0.01", 0.01),
    "search_recency": ("0.01", 0.01),
    "search_confidence": ("0.01", 0.01),
    "search_importance": ("0.01", 0.01),
    "search_signal": ("0.01", 0.01),
    "search_half_life_days": ("30", 30.0),
    "search_neighbour": ("0.1", 0.1),
    "search_container": ("0.1", 0.1),
    "search_author": ("0.1", 0.1),
    "search_fresh_days": ("7", 7),
    "search_days": ("3", 3),
    "embedder": ("none", "none"),
    "embedder_url": ("https://models.example.org/v1", "https://models.example.org/v1"),
    "embedder_model": ("small", "small"),
    "embedder_key": ("k", "k"),
    "embedder_seconds": ("2.5", 2.5),
    "service": ("never", "never"),
    "service_url": ("https://minutes.example.org", "https://minutes.example.org"),
    "token": ("mbk_x", "mbk_x"),
    "host": ("::1", "::1"),
    "port": ("7000", 7000),
    "allowed_hosts": ("minutes.example.org", "minutes.example.org"),
    "body_bytes": ("1000", 1000),
    "body_seconds": ("3.5", 3.5),
    "connections": ("10", 10),
    "requests_per_minute": ("60", 60),
    "idle_exit": ("5", 5.0),
    "hook_seconds": ("0.5", 0.5),
    "job_workers": ("5", 5),
    "sweep_at": ("0 4 * * 0", "0 4 * * 0"),
    "keep_sources_days": ("365", 365),
    "keep_jobs_days": ("7", 7),
    "keep_daily_days": ("9", 9),
    "log_level": ("debug", "debug"),
}


def test_every_setting_is_tested_here_and_has_a_name_of_its_own_and_a_meaning() -> None:
    rows = table()
    assert {row.name for row in rows} == set(GIVEN)
    assert len({row.environment for row in rows}) == len(rows)
    for row in rows:
        assert row.environment == f"MINUTEBOOK_{row.name.upper()}"
        assert row.meaning


@pytest.mark.parametrize("name", GIVEN)
def test_each_setting_comes_from_its_environment_variable_and_explicit_ones_come_first(name: str) -> None:
    text, value = GIVEN[name]
    environ = {f"MINUTEBOOK_{name.upper()}": f" {text} "}
    assert getattr(load(environ), name) == value
    assert getattr(load(environ, **{name: None}), name) == value
    other = getattr(load({}), name)
    assert getattr(load(environ, **{name: other}), name) == other


@pytest.mark.parametrize("name", ["sweep_at", "consolidation_at", "promotion_rules"])
def test_what_is_to_be_nothing_is_spelt_with_a_dash(name: str) -> None:
    given = load({f"MINUTEBOOK_{name.upper()}": "-"})
    assert getattr(given.limits, name) == ""


@pytest.mark.parametrize("name", ["provider_seconds", "provider_failures", "provider_pause"])
def test_a_provider_has_some_time_and_some_patience(name: str) -> None:
    with pytest.raises(MinutebookError, match="limits of a provider"):
        load({f"MINUTEBOOK_{name.upper()}": "0"})


def test_blank_variables_count_as_not_set() -> None:
    assert load({row.environment: "  " for row in table()}) == load({})


def test_defaults_need_nothing() -> None:
    settings = load({})
    assert settings.home == Path("~/.minutebook").expanduser()
    assert settings.url == f"sqlite://{settings.home}/ledger.db"
    assert settings.limits == Limits()
    assert load({"MINUTEBOOK_DATABASE_URL": "postgresql:///team"}).url == "postgresql:///team"


def test_the_limits_follow_the_settings() -> None:
    names = ("writes_per_minute", "content_bytes", "near_hold", "near_skip", "inbox_expiry_days")
    limits = load({f"MINUTEBOOK_{name.upper()}": GIVEN[name][0] for name in names}).limits
    for name in names:
        assert getattr(limits, name) == GIVEN[name][1]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("MINUTEBOOK_LOCK_WAIT", "soon"),
        ("MINUTEBOOK_LOCK_WAIT", "-1"),
        ("MINUTEBOOK_LOCK_WAIT", "nan"),
        ("MINUTEBOOK_LOCK_WAIT", "inf"),
        ("MINUTEBOOK_WRITES_PER_MINUTE", "many"),
        ("MINUTEBOOK_WRITES_PER_MINUTE", "1.5"),
        ("MINUTEBOOK_WRITES_PER_MINUTE", "-1"),
        ("MINUTEBOOK_CONTENT_BYTES", "0"),
        ("MINUTEBOOK_CONTENT_BYTES", "64k"),
        ("MINUTEBOOK_NEAR_HOLD", "0"),
        ("MINUTEBOOK_NEAR_HOLD", "0.95"),  # above near_skip
        ("MINUTEBOOK_NEAR_HOLD", "nan"),
        ("MINUTEBOOK_NEAR_SKIP", "1.1"),
        ("MINUTEBOOK_INBOX_EXPIRY_DAYS", "-1"),
        ("MINUTEBOOK_INBOX_EXPIRY_DAYS", "a week"),
        ("MINUTEBOOK_HOME", "~no-such-user-here/ledger"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused(name: str, text: str) -> None:
    with pytest.raises(MinutebookError) as refused:
        load({name: text})
    assert refused.value.code == "bad_setting"


def test_the_home_is_absolute_wherever_one_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load({"MINUTEBOOK_HOME": "here"}).home == tmp_path / "here"
    assert isinstance(load({}, home=str(tmp_path)), Settings)
