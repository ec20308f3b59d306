"""Seed 001 (Agentweaver, memory and context builder): what it says of layers, order, filters and child runs.

One test for each statement. Where our design decided otherwise, the test says so and why.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from minutebook.model.context import Bundle
from minutebook.operations import context, decisions, inbox, memories, runs, sessions, verdicts
from tests.houses import House
from tests.scenarios.over_http import OverHttp, over_http
from tests.scenarios.program import Program

TASK = "fix the login page"
BOUNDARIES, MEMORY, SESSION = "## Boundaries and Decisions", "## Memory", "## Current Session"


@pytest.fixture
def house(house: House) -> Iterator[OverHttp]:
    """Every statement is shown from outside: each call in this file is a request over HTTP."""
    with over_http(house) as asked:
        yield asked


def told(house: OverHttp, agent: str = "ripley", **more: Any) -> Bundle:
    found = house.mother(context.context, agent=agent, **more)
    assert found is not None
    return found


def slugs(bundle: Bundle, layer: str) -> list[str]:
    return [item.slug for item in bundle.items if item.layer == layer]


def decide(house: OverHttp, slug: str, type: str = "scope", **more: Any) -> str:
    more = {"content": f"What {slug} says.", **more}
    done = house.dallas(decisions.write, type=type, title=slug.title(), slug=slug, **more)
    return done.verdict


def learn(house: OverHttp, slug: str, who: str = "ripley", **more: Any) -> None:
    more = {"type": "learning", "content": f"{who} found out about {slug}.", "importance": "high", **more}
    getattr(house, who)(memories.write, slug=slug, **more)


def test_four_layers_in_strict_order_under_three_headings(house: OverHttp) -> None:
    """Decisions, then core context, then learnings and patterns, then the session, whatever came first."""
    house.ripley(sessions.start, focus="The importer")
    learn(house, "lesson")
    house.mother(
        memories.write, type="core_context", content="You own the importer.", agent="ripley", slug="core"
    )
    decide(house, "border")
    text = told(house).text
    places = [text.index(part) for part in
              (BOUNDARIES, "What border says.", MEMORY, "You own the importer.", "about lesson.", SESSION, "The importer\n")]  # fmt: skip
    assert places == sorted(places)
    assert [line for line in text.splitlines() if line.startswith("#")] == [BOUNDARIES, MEMORY, SESSION]


def test_all_layers_empty_gives_no_block_at_all(house: OverHttp) -> None:
    assert house.mother(context.context, agent="ripley") is None
    assert house.mother(context.context, agent="ripley", task=TASK, child=True) is None


# --- layer 1: decisions ---------------------------------------------------------------------------------------


def test_boundaries_are_active_architectural_and_scope_decisions_oldest_first(house: OverHttp) -> None:
    decide(house, "third", "scope")
    decide(house, "first", "architectural")
    decide(house, "how", "process")
    decide(house, "what", "technical")
    decide(house, "second", "scope")
    bundle = told(house)
    assert slugs(bundle, "boundary") == ["third", "first", "second"]
    assert len(bundle.items) == 3


def test_process_and_technical_decisions_are_no_boundaries(house: OverHttp) -> None:
    """The seed keeps them out of the context altogether. Ours (DESIGN, the path of a read) shows them as memory
    where the task is about them, because what was decided about the task at hand is what an agent must know."""
    decide(house, "login-page", "technical", content="The login page is rendered by the server.")
    decide(house, "releases", "process", content="We release on Fridays.")
    assert house.mother(context.context, agent="ripley") is None
    bundle = told(house, task=TASK)
    assert (slugs(bundle, "boundary"), slugs(bundle, "relevant")) == ([], ["login-page"])
    assert BOUNDARIES not in bundle.text


def test_superseded_archived_retired_and_reverted_decisions_are_gone_from_the_next_context(
    house: OverHttp,
) -> None:
    made = {
        slug: decide(house, slug, content=f"The rule called {slug} reads like no other: {slug * 3}.")
        for slug in ("old", "away", "wrong", "undone", "stays")
    }
    decide(house, "new", content="In place of the old one.", supersedes="old")
    house.mother(memories.archive, ref="away", reason="over")
    house.mother(memories.retire, ref="wrong", reason="wrong")
    house.mother(verdicts.revert, id=made["undone"], reason="not this")
    assert slugs(told(house), "boundary") == ["stays", "new"]


def test_the_block_says_that_boundaries_outrank_all_other_context(house: OverHttp) -> None:
    decide(house, "border")
    head = told(house).text.partition("**scope**")[0]
    assert head.startswith(BOUNDARIES)
    assert "binds everyone" in head
    assert "outranks all that follows" in head


def test_a_pending_boundary_does_not_arrive_before_a_reviewer_acts(house: OverHttp) -> None:
    """The seed has agents write decisions themselves; ours propose (DESIGN, where the seeds disagree)."""
    for kind in ("architectural", "scope"):
        house.ripley(inbox.submit, type=kind, title=kind, content=f"A {kind} rule of mine.", slug=kind)
    house.ripley(memories.write, type="scope", title="Mine", content="I decide.", slug="mine")
    assert house.mother(context.context, agent="ripley") is None
    house.dallas(inbox.promote, ref="scope")
    bundle = told(house)
    assert slugs(bundle, "boundary") == ["scope"]
    assert "**scope** decided by dallas (coordinator)" in bundle.text


# --- layer 2: core context --------------------------------------------------------------------------------------


def test_core_context_is_of_this_agent_oldest_first_whatever_its_importance(house: OverHttp) -> None:
    for agent, slug, importance in (("ripley", "one", "low"), ("bishop", "other", "high"), ("ripley", "two", "high"),
                                    ("ripley", "three", "medium")):  # fmt: skip
        house.mother(memories.write, type="core_context", content=f"You are told {slug}.", agent=agent, slug=slug,
                     importance=importance)  # fmt: skip
    assert slugs(told(house), "core") == ["one", "two", "three"]
    assert slugs(told(house, "Bishop"), "core") == ["other"]


def test_another_agents_core_context_stays_its_own_even_if_tagged_cross_team(house: OverHttp) -> None:
    house.mother(
        memories.write, type="core_context", content="You are the pilot.", agent="bishop", tag=["cross-team"]
    )
    assert house.mother(context.context, agent="ripley", task="the pilot") is None


def test_core_context_goes_before_every_learning_within_the_one_budget(house: OverHttp) -> None:
    """The seed always includes all of it; ours has a budget (DESIGN, where the seeds disagree): core first, and
    what has no room is listed, never silently gone."""
    learn(house, "lesson")
    for number in range(22):
        house.mother(memories.write, type="core_context", content=f"Fact {number} about {number * 7}.", agent="ripley",
                     slug=f"core-{number}", importance="low")  # fmt: skip
    bundle = told(house)
    assert slugs(bundle, "core") == [f"core-{number}" for number in range(20)]
    assert {(out.slug, out.reason.value) for out in bundle.left_out} == {
        ("core-20", "over_items"), ("core-21", "over_items"), ("lesson", "over_items"),
    }  # fmt: skip
    assert "3 more were left out" in bundle.text


# --- layer 3: learnings and patterns --------------------------------------------------------------------------


def test_the_five_newest_high_learnings_and_patterns_newest_first(house: OverHttp) -> None:
    for number in range(7):
        learn(house, f"l{number}", type="pattern" if number % 2 else "learning")
    bundle = told(house)
    assert slugs(bundle, "lesson") == ["l6", "l5", "l4", "l3", "l2"]
    assert {(out.slug, out.reason.value) for out in bundle.left_out} == {
        ("l1", "over_count"),
        ("l0", "over_count"),
    }


@pytest.mark.parametrize("importance", ["medium", "low"])
def test_less_than_high_importance_is_not_taken_by_this_layer(house: OverHttp, importance: str) -> None:
    learn(house, "lesson", importance=importance)
    assert house.mother(context.context, agent="ripley") is None


@pytest.mark.parametrize("type", ["update", "feedback", "artifact", "project"])
def test_other_types_are_not_taken_by_this_layer(house: OverHttp, type: str) -> None:
    learn(house, "lesson", type=type)
    assert house.mother(context.context, agent="ripley") is None


def test_another_agents_learning_arrives_only_with_the_whole_tag_cross_team(house: OverHttp) -> None:
    learn(house, "private", "bishop")
    learn(house, "nearly", "bishop", tag=["cross-team-ish", "cross"])
    learn(house, "shared", "bishop", tag=["Cross-Team"])
    learn(house, "own")
    bundle = told(house)
    assert slugs(bundle, "lesson") == ["own", "shared"]
    assert "**learning** by bishop, unreviewed\n| bishop found out about shared." in bundle.text
    assert slugs(told(house, "bishop"), "lesson") == ["shared", "nearly", "private"]


def test_the_cross_team_tag_does_not_reach_another_project(house: OverHttp) -> None:
    learn(house, "shared", "bishop", tag=["cross-team"])
    elsewhere = house.as_("Mother", project=house.new_project("Sulaco"))
    assert elsewhere(context.context, agent="ripley", task="shared") is None


def test_agents_are_the_same_whatever_the_case_of_their_name(house: OverHttp) -> None:
    learn(house, "own")
    assert told(house, "RIPLEY").text == told(house, "Ripley").text == told(house).text


# --- layer 4: the session ---------------------------------------------------------------------------------------


def test_the_open_session_gives_focus_issues_and_summary_and_a_closed_one_nothing(house: OverHttp) -> None:
    house.ripley(sessions.start, focus="The first thing")
    house.bishop(sessions.start, focus="The importer", issue=["#12", "#14"], summary="Parser done.")
    text = told(house).text
    assert (
        text
        == f"{SESSION}\n\n**focus**\n| The importer\n\n**issues**\n| #12\n| #14\n\n**summary**\n| Parser done.\n"
    )
    house.bishop(sessions.close)
    assert house.mother(context.context, agent="ripley") is None


# --- child runs ---------------------------------------------------------------------------------------------------


def test_a_child_run_gets_the_boundaries_alone_in_the_same_words(house: OverHttp) -> None:
    decide(house, "border", rationale="It was agreed.")
    learn(house, "lesson")
    house.mother(memories.write, type="core_context", content="You own the importer.", agent="ripley")
    house.ripley(sessions.start, focus="The importer")
    child, whole = told(house, child=True, task=TASK), told(house, task=TASK)
    assert [item.layer for item in child.items] == ["boundary"]
    assert MEMORY not in child.text
    assert SESSION not in child.text
    assert whole.text.startswith(child.text)


def test_a_run_with_a_parent_is_told_the_boundaries_of_that_alone(house: OverHttp) -> None:
    """The same of real runs. The seed compiles anew for a child; ours hands on what its parent was told."""
    decide(house, "border")
    learn(house, "lesson", tag=["cross-team"])
    house.ripley(sessions.start, focus="The importer")
    parent = house.dallas(runs.start, task=TASK)
    assert parent.snapshot.bundle.text == told(house, "dallas", task=TASK, inbox=True).text
    assert MEMORY in parent.snapshot.bundle.text
    decide(house, "later", content="Only the next run is told that.")
    child = house.dallas(runs.start, task=TASK, agent="Ripley", parent=parent.run.id)
    assert parent.snapshot.bundle.text.startswith(child.snapshot.bundle.text)
    assert [(item.slug, item.layer) for item in child.snapshot.bundle.items] == [("border", "boundary")]
    assert (MEMORY in child.snapshot.bundle.text, SESSION in child.snapshot.bundle.text) == (False, False)


def test_a_child_run_without_boundaries_gets_nothing(house: OverHttp) -> None:
    learn(house, "lesson")
    house.ripley(sessions.start, focus="The importer")
    assert house.mother(context.context, agent="ripley", child=True) is None
    parent = house.dallas(runs.start, task=TASK)
    assert house.dallas(runs.start, agent="ripley", parent=parent.run.id).snapshot.bundle is None


# --- from outside -------------------------------------------------------------------------------------------------


def test_the_installed_program_prints_the_block_and_its_json(tmp_path: Path, database_url: str) -> None:
    """The same layers by the command line, on either database: Markdown for an agent, JSON for a tool."""
    (tmp_path / "project").mkdir()
    program = Program(tmp_path / "home", tmp_path / "project", database_url)
    program.ok("init", "--name", "Nostromo")
    for name, role in (("dallas", "coordinator"), ("ripley", "agent")):
        program.ok("actors", "add", name, "--role", role)
    assert program("context").out == ""
    assert program("context", "-o", "json").json() is None
    program.ok("--as", "dallas", "decisions", "write", "scope", "No mobile", "Nothing for phones.")
    program.ok("memories", "write", "core_context", "You own the importer.", "--agent", "ripley")
    program.ok(
        "--as", "ripley", "memories", "write", "learning", "The proxy drops bodies.", "--importance", "high"
    )
    program.ok("--as", "ripley", "memories", "write", "update", "The login page has a form.")
    program.ok("sessions", "start", "Harden the importer")
    printed = program("context", "--agent", "ripley", "--task", TASK).out
    answer = program.ok("context", "--agent", "ripley", "--task", TASK)
    assert printed == answer["text"]
    assert [line for line in printed.splitlines() if line.startswith("#")] == [BOUNDARIES, MEMORY, SESSION]
    assert [(item["layer"], item["type"]) for item in answer["items"]] == [
        ("boundary", "scope"), ("core", "core_context"), ("lesson", "learning"), ("relevant", "update"),
    ]  # fmt: skip
    assert program("context", "--agent", "ripley", "--child").out == printed.partition(f"\n{MEMORY}")[0]
    assert program("context", MINUTEBOOK_AGENT="ripley").out == program("context", "--agent", "ripley").out
    denied = program("context", "--agent", "dallas", "-o", "json", MINUTEBOOK_AGENT="ripley")
    assert (denied.code, denied.error()["code"]) == (4, "other_agent")
    then = answer["seq"]
    program.ok("decisions", "write", "scope", "No tablets", "Nothing for tablets.")
    assert program("context", "--agent", "ripley", "--task", TASK, "--as-of", str(then)).out == printed
    compared = program("context", "diff", f"@{then}", "@0s", "--agent", "ripley", "--task", TASK)
    assert "+| Nothing for tablets." in compared.out
    assert program.ok("context", "diff", "agent:ripley", "agent:ripley")["same"] is True
