"""Runs, on both databases: what each is told and when that changes, whose they are, and which writes are theirs."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from minutebook.model.runs import RunView
from minutebook.operations import (
    actors,
    context,
    decisions,
    events,
    inbox,
    memories,
    runs,
    sessions,
    verdicts,
)
from minutebook.operations.plain import from_plain, to_plain
from minutebook.operations.registry import REGISTRY
from tests.houses import House
from tests.operations.asking import code, refusal

TASK = "fix the login page"


def decide(house: House, slug: str, **more: Any) -> str:
    done = house.dallas(
        decisions.write,
        **{"type": "scope", "title": slug, "content": f"What {slug} says.", "slug": slug, **more},
    )
    return str(done.memory)


def learn(house: House, slug: str, who: str = "ripley", **more: Any) -> str:
    made = getattr(house, who)(
        memories.write,
        **{"type": "learning", "content": f"{who} knows {slug}.", "slug": slug, "importance": "high", **more},
    )
    return str(made.memory)


def saw(view: RunView) -> list[str]:
    return [item.slug for item in view.saw]


# --- snapshots ------------------------------------------------------------------------------------------


def test_a_run_is_told_what_a_context_would_tell_it_and_keeps_that(house: House) -> None:
    decide(house, "border")
    learn(house, "proxy")
    compiled = house.ripley(context.context, task=TASK)
    started = house.ripley(runs.start, task=TASK)
    assert compiled is not None
    assert started.snapshot is not None
    assert started.snapshot.bundle == replace(compiled, seq=started.snapshot.seq)
    assert (started.run.agent, started.run.task, started.run.status) == ("ripley", TASK, "open")
    assert (started.run.generation, started.run.snapshot) == (1, compiled.hash)
    assert (
        house.ripley(context.context, task=TASK, as_of=str(started.snapshot.seq)) == started.snapshot.bundle
    )


def test_nothing_that_is_written_later_changes_what_a_run_was_told(house: House) -> None:
    border, proxy = decide(house, "border"), learn(house, "proxy")
    house.dallas(sessions.start, focus="The importer")
    first = house.ripley(runs.start, task=TASK)
    house.as_("Ripley", run=first.id)(
        memories.write, type="learning", content="Found in the run.", slug="found", importance="high"
    )
    decide(house, "fence")
    house.dallas(decisions.edit, ref=border, content="Something else.")
    house.ripley(memories.retire, ref=proxy, reason="gone")
    house.dallas(sessions.update, summary="Other words.")
    house.restart()
    again = house.ripley(runs.show, ref=first.id)
    assert again.snapshot == first.snapshot
    assert (again.text, saw(again)) == (first.text, ["border", "proxy"])
    second = house.ripley(runs.start, task=TASK)
    assert saw(second) == ["border", "fence", "found"]
    assert "Something else." in second.text


def test_only_a_reload_gives_a_run_another_snapshot_and_the_first_is_kept(house: House) -> None:
    decide(house, "border")
    first = house.ripley(runs.start)
    decide(house, "fence")
    second = house.ripley(runs.reload, ref=first.id)
    assert (second.run.generation, saw(second)) == (2, ["border", "fence"])
    assert house.ripley(runs.show, ref=first.id).snapshot == second.snapshot
    assert house.ripley(runs.show, ref=first.id, generation=1).snapshot == first.snapshot
    assert code(house.ripley, runs.show, ref=first.id, generation=3) == "not_found"
    assert code(house.bishop, runs.reload, ref=first.id) == "other_agent"
    house.ripley(runs.finish, ref=first.id)
    assert code(house.ripley, runs.reload, ref=first.id) == "bad_transition"


def test_a_run_of_which_there_is_nothing_to_say_is_told_nothing(house: House) -> None:
    started = house.ripley(runs.start)
    assert started.snapshot is not None
    assert started.snapshot.bundle is None
    assert (started.text, started.saw) == ("", ())
    child = house.ripley(runs.start, parent=started.id)
    assert child.snapshot is not None
    assert child.snapshot.bundle is None


def test_who_may_review_is_told_at_the_start_what_waits(house: House) -> None:
    house.ripley(inbox.submit, type="scope", title="Gate", content="The gate stays open.")
    assert "1 proposal waits for a review, 1 of them a boundary" in house.dallas(runs.start).text
    assert house.ripley(runs.start).text == ""
    house.dallas(runs.start, task="lead")
    told = house.mother(runs.start, agent="dallas", task="led by another")
    assert "1 proposal waits" in told.text


def test_a_snapshot_can_be_sent_and_read_back(house: House) -> None:
    decide(house, "border", rationale="Because.")
    learn(house, "proxy", evidence=["file:a.py#1"])
    started = house.ripley(runs.start, task=TASK)
    plain = json.loads(json.dumps(to_plain(started)))
    assert from_plain(RunView, plain) == started


# --- child runs -----------------------------------------------------------------------------------------


def test_a_child_is_told_the_boundaries_of_its_parent_byte_for_byte_and_nothing_else(house: House) -> None:
    decide(house, "border", rationale="Reasons.")
    learn(house, "proxy")
    house.dallas(sessions.start, focus="The importer")
    parent = house.ripley(runs.start, task=TASK)
    decide(house, "fence")
    child = house.ripley(runs.start, task="a part of it", parent=parent.id)
    assert child.run.parent == parent.id
    assert child.snapshot is not None
    assert parent.snapshot is not None
    assert (child.snapshot.inherited_from, child.snapshot.inherited) == (parent.id, 1)
    assert saw(child) == ["border"]
    assert parent.text.startswith(child.text.removesuffix("\n"))
    only = house.ripley(context.context, child=True, as_of=str(parent.snapshot.seq))
    assert only is not None
    assert child.text == only.text
    grandchild = house.ripley(runs.start, parent=child.id)
    assert grandchild.text == child.text


def test_a_child_sees_a_new_boundary_when_its_parent_was_reloaded_and_then_itself(house: House) -> None:
    decide(house, "border")
    parent = house.ripley(runs.start)
    child = house.ripley(runs.start, parent=parent.id)
    decide(house, "fence")
    assert house.ripley(runs.reload, ref=child.id).text == child.text
    house.ripley(runs.reload, ref=parent.id)
    again = house.ripley(runs.reload, ref=child.id)
    assert (again.run.generation, saw(again)) == (3, ["border", "fence"])
    assert again.snapshot is not None
    assert again.snapshot.inherited == 2


def test_a_parent_is_an_open_run_of_the_same_project(house: House) -> None:
    parent = house.ripley(runs.start)
    elsewhere = house.as_("Ripley", project=house.new_project("Sulaco"))
    assert code(elsewhere, runs.start, parent=parent.id) == "not_found"
    assert code(house.ripley, runs.start, parent="nonsense") == "not_found"
    assert house.bishop(runs.start, parent=parent.id).run.agent == "bishop"
    house.ripley(runs.finish, ref=parent.id)
    assert code(house.ripley, runs.start, parent=parent.id) == "bad_transition"


def test_runs_stand_only_so_deep(house: House) -> None:
    above = house.ripley(runs.start).id
    for _ in range(house.limits.run_depth - 1):
        above = house.ripley(runs.start, parent=above).id
    assert code(house.ripley, runs.start, parent=above) == "too_many"


def test_a_ring_of_runs_from_elsewhere_ends_the_climb(house: House) -> None:
    one, two = house.ripley(runs.start).id, house.ripley(runs.start).id

    def tie(tx: Any) -> None:
        for id, parent in ((one, two), (two, one)):
            tx.run("UPDATE runs SET parent_run_id = :parent WHERE id = :id", id=id, parent=parent)

    house.service.database.write(house.project, tie)
    assert code(house.ripley, runs.start, parent=one) == "too_many"


# --- whose run it is ------------------------------------------------------------------------------------


def test_an_agent_starts_runs_of_its_own_and_of_nobody_else(house: House) -> None:
    assert house.ripley(runs.start, agent="RIPLEY").run.agent == "ripley"
    assert code(house.ripley, runs.start, agent="bishop") == "other_agent"
    parent = house.dallas(runs.start).id
    assert code(house.ripley, runs.start, agent="bishop", parent=parent) == "other_agent"
    assert code(house.jones, runs.start) == "not_allowed"


def test_a_coordinator_starts_runs_of_others_beneath_a_run(house: House) -> None:
    assert code(house.dallas, runs.start, agent="bishop") == "other_agent"
    parent = house.dallas(runs.start).id
    child = house.dallas(runs.start, agent="Bishop", parent=parent)
    assert (child.run.agent, child.run.started_by) == ("bishop", "dallas")
    assert house.as_("Bishop", run=child.id)(
        memories.write, type="learning", content="From the child."
    ).memory
    assert house.mother(runs.start, agent="ash").run.agent == "ash"
    house.mother(actors.retire, name="bishop")
    assert code(house.dallas, runs.start, agent="bishop", parent=parent) == "not_allowed"


def test_an_agent_has_only_so_many_runs_open(ledger_url: str, tmp_path: Any, clock: Any) -> None:
    house = House(ledger_url, tmp_path / "home", clock)
    try:
        house.service.world = replace(house.service.world, limits=replace(house.limits, open_runs=2))
        first = house.ripley(runs.start).id
        house.ripley(runs.start)
        assert code(house.ripley, runs.start) == "too_many"
        assert house.bishop(runs.start).run.open
        house.ripley(runs.abandon, ref=first)
        assert house.ripley(runs.start).run.open
    finally:
        house.close()


def test_only_its_agent_or_who_decides_ends_a_run(house: House) -> None:
    started = house.ripley(runs.start).id
    for ask in (runs.finish, runs.abandon, runs.reload):
        assert code(house.bishop, ask, ref=started) == "other_agent"
    assert house.dallas(runs.finish, ref=started, outcome="declined").outcome == "declined"
    other = house.ripley(runs.start).id
    assert house.mother(runs.abandon, ref=other, reason="it hangs").outcome == "abandoned"


# --- writes of a run ------------------------------------------------------------------------------------


def test_a_write_belongs_to_the_run_that_it_names(house: House) -> None:
    started = house.ripley(runs.start).id
    inside = house.as_("Ripley", run=started.lower())
    done = inside(memories.write, type="learning", content="Found in the run.")
    inside(inbox.submit, type="scope", title="Gate", content="The gate stays open.", slug="gate")
    inside(sessions.start, focus="The gate")
    assert house.ripley(verdicts.show, id=done.verdict).run == started
    assert house.ripley(memories.show, ref=str(done.memory)).memory.run == started
    assert house.ripley(inbox.show, ref="gate").proposal.run == started
    found = house.mother(events.list_, limit=100).items
    kinds = [event.kind for event in found if event.run == started]
    assert sorted(kinds) == ["memory.added", "proposal.submitted", "run.started", "session.started"]


@pytest.mark.parametrize("given", ["run-1", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "' OR 1=1 --"])
def test_a_write_in_an_unknown_run_is_refused_and_says_so(house: House, given: str) -> None:
    error = refusal(house.as_("Ripley", run=given), memories.write, type="learning", content="Lost.")
    assert error.code == "not_found"
    assert given in error.message
    assert house.ripley(memories.list_).items == ()


def test_a_write_in_a_run_of_somebody_else_of_elsewhere_or_of_the_past_is_refused(house: House) -> None:
    started = house.ripley(runs.start).id
    write: dict[str, Any] = {"type": "learning", "content": "Lost."}
    assert code(house.as_("Bishop", run=started), memories.write, **write) == "other_agent"
    assert code(house.as_("Mother", run=started), memories.write, **write) == "other_agent"
    sulaco = house.new_project("Sulaco")
    assert code(house.as_("Ripley", run=started, project=sulaco), memories.write, **write) == "not_found"
    house.ripley(runs.finish, ref=started)
    error = refusal(house.as_("Ripley", run=started), memories.write, **write)
    assert (error.code, error.details["status"]) == ("bad_transition", "finished")
    assert "takes no more writes" in error.message
    abandoned = house.ripley(runs.start).id
    house.ripley(runs.abandon, ref=abandoned)
    assert code(house.as_("Ripley", run=abandoned), inbox.submit, title="x", **write) == "bad_transition"


def test_who_says_current_writes_in_their_newest_open_run_if_they_have_one(house: House) -> None:
    inside = house.as_("Ripley", run="Current")
    house.bishop(runs.start)
    outside = inside(memories.write, type="learning", content="Found outside of a run.")
    assert house.ripley(verdicts.show, id=outside.verdict).run is None
    house.ripley(runs.start)
    newest = inside(runs.start).id
    done = inside(memories.write, type="learning", content="Doors close from the inside.")
    assert house.ripley(verdicts.show, id=done.verdict).run == newest
    inside(
        inbox.submit, type="pattern", title="Doors", content="Knock before a door is opened.", slug="doors"
    )
    assert [one.slug for one in inside(runs.finish, ref="current").promoted] == ["doors"]


def test_an_ended_run_keeps_nobody_from_reading_or_from_hearing_its_report_again(house: House) -> None:
    started = house.ripley(runs.start).id
    inside = house.as_("Ripley", run=started)
    report = inside(runs.finish, ref="current")
    assert inside(memories.list_).items == ()
    assert inside(runs.finish, ref="current") == report
    assert inside(runs.current).run.status == "finished"
    assert inside(runs.start).run.open


# --- reading --------------------------------------------------------------------------------------------


def test_the_current_run_is_the_one_that_is_named_else_the_newest_open_one(house: House) -> None:
    assert code(house.ripley, runs.current) == "not_found"
    first, second = house.ripley(runs.start).id, house.ripley(runs.start).id
    assert house.ripley(runs.current).id == second
    assert house.as_("Ripley", run=first)(runs.current).id == first
    house.ripley(runs.finish, ref="current")
    assert house.ripley(runs.current).id == first
    assert code(house.bishop, runs.current) == "not_found"


def test_runs_are_listed_with_their_age_and_narrowed(house: House) -> None:
    old = house.ripley(runs.start, task="left open").id
    house.clock.advance(days=3)  # type: ignore[attr-defined]
    ended = house.bishop(runs.start, task="two\nlines").id
    house.bishop(runs.finish, ref=ended, outcome="failed")
    child = house.ripley(runs.start, parent=old).id
    listed = house.jones(runs.list_).items
    assert [(line.id, line.status, line.age) for line in listed] == [
        (child, "open", "now"), (ended, "failed", "now"), (old, "open", "3d"),
    ]  # fmt: skip
    assert listed[1].task == "two lines"
    assert [line.id for line in house.jones(runs.list_, status="open").items] == [child, old]
    assert [line.id for line in house.jones(runs.list_, agent="BISHOP").items] == [ended]
    assert [line.id for line in house.jones(runs.list_, parent=old).items] == [child]
    page = house.jones(runs.list_, limit=2)
    assert [line.id for line in house.jones(runs.list_, limit=2, after=page.next).items] == [old]
    assert house.mother(runs.show, ref=old).children == (child,)
    sulaco = house.as_("Jones", project=house.new_project("Sulaco"))
    assert sulaco(runs.list_).items == ()
    assert code(sulaco, runs.show, ref=old) == "not_found"


def test_another_agent_sees_of_a_run_what_everybody_is_told(house: House) -> None:
    decide(house, "border")
    learn(house, "private")
    started = house.ripley(runs.start).id
    house.as_("Ripley", run=started)(inbox.submit, type="learning", title="Quiet", content="Quietly learned.")
    house.ripley(runs.finish, ref=started)
    mine, theirs = house.ripley(runs.show, ref=started), house.bishop(runs.show, ref=started)
    assert (saw(mine), mine.partial) == (["border", "private"], False)
    assert mine.report is not None
    assert (saw(theirs), theirs.partial, theirs.report) == (["border"], True, None)
    assert "private" not in theirs.text
    assert house.dallas(runs.show, ref=started).text == mine.text


def test_from_a_memory_to_the_runs_that_saw_it_and_at_which_revision(house: House) -> None:
    border = decide(house, "border")
    first = house.ripley(runs.start).id
    house.dallas(decisions.edit, ref="border", content="More of it.")
    second = house.bishop(runs.start).id
    found = house.jones(memories.seen, ref="border").items
    assert [(one.run, one.agent, one.revision, one.layer) for one in found] == [
        (second, "bishop", 2, "boundary"), (first, "ripley", 1, "boundary"),
    ]  # fmt: skip
    house.ripley(runs.reload, ref=first)
    seen = {one.run: (one.generation, one.revision) for one in house.jones(memories.seen, ref=border).items}
    assert seen == {second: (1, 2), first: (2, 2)}
    page = house.jones(memories.seen, ref=border, limit=1)
    assert [one.run for one in house.jones(memories.seen, ref=border, after=page.next).items] == [first]
    learn(house, "private")
    house.ripley(runs.start)
    assert code(house.bishop, memories.seen, ref="private") == "not_found"


def test_two_runs_or_a_run_and_now_can_be_compared(house: House) -> None:
    decide(house, "border")
    first = house.ripley(runs.start).id
    decide(house, "fence")
    second = house.ripley(runs.start).id
    changed = house.ripley(context.diff, before=f"run:{first}", after=f"run:{second}")
    assert [item.slug for item in changed.only_after] == ["fence"]
    assert house.ripley(context.diff, before=f"run:{second}", after="agent:ripley").same
    assert code(house.ripley, context.diff, before="run:nonsense", after="agent:ripley") == "not_found"


def test_a_run_is_compared_with_what_would_be_told_for_its_task(house: House) -> None:
    house.ripley(memories.write, type="update", content="The login page moved.", slug="moved")
    run = f"run:{house.ripley(runs.start, task='fix the login page').run.id}"
    assert house.ripley(context.diff, before=run, after="agent:ripley").same
    other = house.ripley(context.diff, before="agent:ripley", after=run, task="draw a logo")
    assert [item.slug for item in other.only_after] == ["moved"]


# --- erasing, retrying, exporting -----------------------------------------------------------------------


def test_erased_words_leave_the_snapshots_reports_and_first_answers_of_runs(house: House) -> None:
    decide(house, "border")
    learn(house, "phone", content="Lambert's number is 555 0137 0420.")
    operation = REGISTRY.get("runs.start")
    first = house.ripley.invoke(operation, {"task": "call Lambert"}, key="once")
    inside = house.as_("Ripley", run=first.id)
    inside(inbox.submit, type="learning", title="Lambert's sister", content="Her sister has 555 0137 0421.",
           slug="sister", importance="high")  # fmt: skip
    done = house.ripley.invoke(REGISTRY.get("runs.finish"), {"ref": first.id}, key="twice")
    second = house.ripley(runs.start)
    for ref in ("phone", "sister"):
        house.mother(memories.erase, ref=ref, reason="personal data")
    everything = json.dumps(
        [
            house.rows(f"SELECT * FROM {table}")
            for table in ("runs", "snapshots", "requests", "events", "sightings")
        ]
    )
    for word in ("555 0137", "phone", "sister"):
        assert word not in everything, word
    shown = house.ripley(runs.show, ref=second.id)
    assert "What border says." in shown.text
    assert shown.text.count("| [erased]") == 2
    assert [item.revision for item in shown.saw] == [item.revision for item in second.saw]
    again = house.ripley.invoke(operation, {"task": "call Lambert"}, key="once")
    assert (again.id, again.text.count("| [erased]")) == (first.id, 1)
    report = house.ripley(runs.finish, ref=first.id)
    assert [one.memory for one in report.promoted] == [one.memory for one in done.promoted]
    assert report.promoted[0].slug.startswith("erased-")


def test_a_retried_start_with_a_key_gives_the_same_run(house: House) -> None:
    decide(house, "border")
    operation = REGISTRY.get("runs.start")
    one, two = (house.ripley.invoke(operation, {"task": TASK}, key="k") for _ in range(2))
    assert one == two
    assert len(house.jones(runs.list_).items) == 1


def test_a_secret_is_kept_in_no_task_and_no_summary(house: House) -> None:
    secret = "AKIA" + "QYLPMN5HHHFPZAM2"
    assert code(house.ripley, runs.start, task=f"use {secret}") == "secret"
    started = house.ripley(runs.start).id
    assert code(house.ripley, runs.finish, ref=started, summary=f"used {secret}") == "secret"
    assert house.ripley(runs.show, ref=started).run.open
