"""Seed 002 (Shared Agent Memory RFC), acceptance scenarios 1 to 3: what a context holds of which project."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from minutebook.operations import context, decisions, memories
from tests.houses import House
from tests.scenarios.over_http import OverHttp, over_http
from tests.scenarios.program import Program

TASK = "write the deployment script"


@pytest.fixture
def house(house: House) -> Iterator[OverHttp]:
    """Every statement is shown from outside: each call in this file is a request over HTTP."""
    with over_http(house) as asked:
        yield asked


def slugs(found: object) -> set[str]:
    return {item.slug for item in found.items} if found is not None else set()  # type: ignore[attr-defined]


def test_an_agent_gets_preferences_and_its_projects_conventions_and_nothing_of_another(
    house: OverHttp,
) -> None:
    """Scenario 1: global preferences and project A's conventions, without the noise of project B."""
    other = house.as_("Mother", project=house.new_project("Sulaco"))
    house.mother(memories.write, type="profile", content="Kim wants short answers.", slug="short")
    house.mother(memories.write, type="project", content="Deployment scripts live in ops.", slug="ours")
    house.mother(decisions.write, type="scope", title="Ours", content="Linux only.", slug="linux")
    other(memories.write, type="project", content="Deployment scripts are written in Perl.", slug="theirs")
    other(decisions.write, type="scope", title="Theirs", content="Windows only.", slug="windows")
    other(memories.write, type="core_context", content="You deploy Sulaco.", agent="ripley", slug="core")
    found = house.mother(context.context, agent="ripley", task=TASK)
    assert slugs(found) == {"linux", "short", "ours"}
    elsewhere = other(context.context, agent="ripley", task=TASK)
    assert slugs(elsewhere) == {"windows", "core", "short", "theirs"}


def test_a_decision_of_one_project_reaches_another_only_when_it_was_made_everyones(house: OverHttp) -> None:
    """Scenario 2. Relevance alone lets nothing through: what is one project's is seen there alone, so that no task
    can fish in another. Made global by somebody who may, a boundary binds everywhere, and any other decision
    arrives where the task is about it."""
    other = house.as_("Mother", project=house.new_project("Sulaco"))
    house.mother(decisions.write, type="technical", title="Deployment", content="The deployment script is idempotent.",
                 slug="idempotent")  # fmt: skip
    house.mother(
        decisions.write, type="scope", title="Secrets", content="No secrets in scripts.", slug="secrets"
    )
    assert other(context.context, agent="ripley", task=TASK) is None
    for slug in ("idempotent", "secrets"):
        house.mother(memories.rescope, ref=slug, scope="global", reason="true everywhere")
    assert slugs(other(context.context, agent="ripley", task=TASK)) == {"secrets", "idempotent"}
    assert slugs(other(context.context, agent="ripley", task="draw a logo")) == {"secrets"}
    assert slugs(house.mother(context.context, agent="ripley", task=TASK)) == {"secrets", "idempotent"}


def test_a_saved_preference_is_in_the_next_context(tmp_path: Path, database_url: str) -> None:
    """Scenario 3, from outside: saved by one command, there in the next, though nothing was embedded."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    one = Program(tmp_path / "home", tmp_path / "one", database_url)
    two = Program(tmp_path / "home", tmp_path / "two", database_url)
    one.ok("init", "--name", "One")
    two.ok("init", "--name", "Two")
    one.ok("memories", "write", "user", "Kim prefers British spelling.")
    for program in (one, two):
        assert "| Kim prefers British spelling." in program("context", "--agent", "ripley").out
