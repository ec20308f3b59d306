"""Consolidation on its own: the gates are looked at, a job does it, and it costs nobody else anything."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from minutebook.engine import consolidation as engine
from minutebook.engine.jobs import Desk, JobWorker, Stopped, Times
from minutebook.engine.kinds import KINDS, schedules
from minutebook.ledger import jobs
from minutebook.model.jobs import Job, JobState, Request
from minutebook.operations import consolidation, memories, projects, runs
from tests.conftest import Clock
from tests.houses import House

PORT = "The beacon of the lower deck listens on port {} when the ship is docked."


def worker(house: House) -> JobWorker:
    return JobWorker(
        "jobs",
        house.service.database,
        house.service.world,
        KINDS,
        schedules=schedules(house.limits),
        times=Times(),
    )


def step(at_work: JobWorker) -> None:
    at_work.step(threading.Event())


def live(house: House, project: str | None = None, since: int = 0) -> None:
    """As much as it takes to open the gates."""
    ripley = house.as_("Ripley", project=project)
    for number in range(since, since + 5):
        ripley(memories.write, type="learning", slug=f"m{number}", content=f"Something of number {number}.")
    for port in (8080, 9090):
        house.as_("Dallas", project=project)(
            memories.write, type="project", slug=f"port-{port}", content=PORT.format(port)
        )
    for _ in range(3):
        ripley(runs.finish, ref=ripley(runs.start).run.id)


def outcomes(house: House, kind: str) -> list[str | None]:
    with house.service.database.read() as tx:
        return [job.outcome for job in jobs.list_(tx, None, kind=kind, state="done", limit=50)]


def test_a_project_whose_gates_are_open_is_consolidated_and_another_is_not(
    house: House, clock: Clock
) -> None:
    quiet = house.new_project("Sulaco")
    live(house)
    at_work = worker(house)
    step(at_work)
    assert house.jones(consolidation.list_).items == (), "it is not the time to look"
    clock.advance(minutes=31)
    step(at_work)
    assert outcomes(house, "consolidation_gates") == ["1 of 3 projects are ready."]
    [done] = house.jones(consolidation.list_).items
    assert (done.state, done.cause, done.started_by) == ("done", "gates", "consolidation")
    assert done.counts == {"contradiction": 1}
    assert outcomes(house, "consolidate") == ["7 memories looked at; suggestions that wait: 1."]
    assert house.as_("Jones", project=quiet)(consolidation.list_).items == ()
    clock.advance(hours=2)
    step(at_work)
    assert len(house.jones(consolidation.list_).items) == 1, "the gates shut behind it"
    clock.advance(hours=25)
    live(house, since=5)
    clock.advance(minutes=31)
    step(at_work)
    assert len(house.jones(consolidation.list_).items) == 2


def test_nothing_begins_on_its_own_where_it_is_turned_off(house: House, clock: Clock) -> None:
    house.limits = replace(house.limits, consolidation_at="")
    house.restart()
    live(house)
    at_work = worker(house)
    step(at_work)
    clock.advance(days=2)
    step(at_work)
    assert house.jones(consolidation.list_).items == ()
    status = house.jones(consolidation.status)
    assert (status.enabled, status.sentence) == (
        False,
        "It does not begin on its own: MINUTEBOOK_CONSOLIDATION_AT turns it off.",
    )


def test_an_archived_project_is_left_alone(house: House, clock: Clock) -> None:
    other = house.new_project("Sulaco")
    live(house, other)
    house.mother(projects.archive, ref="sulaco")
    at_work = worker(house)
    step(at_work)
    clock.advance(hours=1)
    step(at_work)
    assert outcomes(house, "consolidation_gates") == ["0 of 2 projects are ready."]


def _job(house: House) -> Job:
    request = Request(kind="consolidate", project=house.project, unique_key=house.project)
    database, world = house.service.database, house.service.world
    id, _ = database.write(house.project, lambda tx: jobs.add(tx, world.ids.new(), request, at=world.clock()))
    with database.read() as tx:
        found = jobs.get(tx, id)
    assert found is not None
    return found


def test_one_that_is_stopped_in_the_middle_says_so_and_is_done_by_the_next_start(house: House) -> None:
    live(house)
    job = _job(house)
    ending = threading.Event()
    ending.set()
    desk = Desk(job, house.service.database, house.service.world, Times(), ending)
    with pytest.raises(Stopped):
        engine.CONSOLIDATION.work(desk)
    [stopped] = house.jones(consolidation.list_).items
    assert (stopped.state, stopped.fault) == ("failed", "Stopped")
    step(worker(house))
    with house.service.database.read() as tx:
        done = jobs.get(tx, job.id)
    assert done is not None
    assert done.state is JobState.DONE
    assert [each.state for each in house.jones(consolidation.list_).items] == ["done", "failed"]


def test_one_that_fails_is_tried_again_and_holds_no_lock(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    live(house)
    house.service.world = replace(
        house.service.world, limits=replace(house.limits, promotion_rules="nonsense")
    )
    _job(house)
    step(worker(house))
    [failed] = house.jones(consolidation.list_).items
    assert failed.state == "failed"
    assert "promotion rule" in (failed.fault or "")
    house.service.world = replace(house.service.world, limits=house.limits)
    assert len(house.dallas(consolidation.run).suggestions) == 1
