"""Jobs: asked for with their cause, done once, tried again, given up alone, and had done again."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from minutebook.engine.jobs import Desk, Ending, JobWorker, Kind, Lost, Stopped, Times, Trouble, end_leases
from minutebook.engine.schedule import Schedule
from minutebook.ledger import events, jobs
from minutebook.ledger.database import Tx
from minutebook.model.errors import MinutebookError
from minutebook.model.jobs import Job, JobState, Priority, Request
from tests.conftest import Clock
from tests.houses import House

TIMES = Times(lease=60, first_pause=2, last_pause=100, attempts=3, interruptions=3)


def ask(house: House, kind: str = "count", **given: object) -> str:
    request = Request(**{"kind": kind, "project": house.project, **given})  # type: ignore[arg-type]
    database, world = house.service.database, house.service.world
    return database.write(
        request.project, lambda tx: jobs.add(tx, world.ids.new(), request, at=world.clock())
    )[0]


def job_of(house: House, id: str) -> Job:
    with house.service.database.read() as tx:
        found = jobs.get(tx, id)
    assert found is not None
    return found


def note(tx: Tx, what: str, project: str = "global") -> None:
    """An effect that can be counted: one event."""
    events.append(
        tx,
        kind="test.effect",
        subject=what,
        project=project,
        actor="x",
        role="scribe",
        origin="system",
        at="now",
    )


def effects(house: House) -> Counter[str]:
    return Counter(
        row["subject"] for row in house.rows("SELECT subject FROM events WHERE kind = 'test.effect'")
    )


def counting(desk: Desk) -> Ending:
    def end(tx: Tx) -> str:
        note(tx, desk.job.id)
        return "counted"

    return end


def worker(house: House, *kinds: Kind, name: str = "jobs", **given: object) -> JobWorker:
    kinds = kinds or (Kind("count", counting),)
    return JobWorker(
        name,
        house.service.database,
        house.service.world,
        kinds,
        **{"times": TIMES, **given},  # type: ignore[arg-type]
    )


def step(at_work: JobWorker) -> float | None:
    return at_work.step(threading.Event())


def failing(message: str = "no") -> Callable[[Desk], Ending]:
    def work(_desk: Desk) -> Ending:
        raise MinutebookError("io_error", message)

    return work


def test_a_job_is_done_once_and_says_what_came_of_it(house: House) -> None:
    ids = [ask(house) for _ in range(5)]
    at_work = worker(house)
    assert step(at_work) is None
    assert effects(house) == Counter(ids)
    assert {(job_of(house, id).state, job_of(house, id).outcome) for id in ids} == {("done", "counted")}
    step(at_work)
    step(worker(house))
    assert effects(house) == Counter(ids)


def test_a_job_is_asked_for_in_the_transaction_that_causes_it(house: House) -> None:
    def cause(tx: Tx) -> None:
        jobs.add(tx, "01J", Request(kind="count", project=house.project), at="now")
        raise MinutebookError("internal", "the cause fell")

    with pytest.raises(MinutebookError, match="the cause fell"):
        house.service.database.write(house.project, cause)
    assert house.rows("SELECT id FROM jobs") == []


def test_one_of_a_key_is_enough_while_it_waits_and_done_again_if_asked_for_meanwhile(house: House) -> None:
    first = ask(house, unique_key="a")
    assert ask(house, unique_key="a") == first
    assert ask(house, unique_key="b") != first
    asked: list[str] = []

    def work(desk: Desk) -> Ending:
        if desk.job.id == first and not asked:
            asked.append(ask(house, unique_key="a"))
        return counting(desk)

    at_work = worker(house, Kind("count", work))
    step(at_work)
    assert asked == [first]
    assert effects(house)[first] == 2
    assert ask(house, unique_key="a") != first  # done is done: the next one is a new one


def test_what_fails_waits_longer_each_time_and_is_given_up_with_its_reason(
    house: House, clock: Clock
) -> None:
    told: list[Trouble] = []
    id = ask(house)
    at_work = worker(
        house,
        Kind("count", failing("the disk"), troubled=lambda _tx, _job, trouble, _now: told.append(trouble)),
    )
    pauses = []
    while job_of(house, id).state is not JobState.DEAD:
        pause = step(at_work)
        if pause is not None:
            pauses.append(pause)
            clock.advance(seconds=pause)
    assert 1 <= pauses[0] <= 2.1
    assert 2 <= pauses[1] <= 4.1
    assert told == [Trouble("the disk", False), Trouble("the disk", False), Trouble("the disk", True)]
    assert (job_of(house, id).fault, job_of(house, id).attempts) == ("the disk", 3)
    clock.advance(days=1)
    assert step(at_work) is None


def test_an_error_that_is_none_of_ours_is_kept_by_its_kind_alone(house: House) -> None:
    def work(_desk: Desk) -> Ending:
        raise ValueError("what somebody wrote")

    id = ask(house)
    step(worker(house, Kind("count", work)))
    assert job_of(house, id).fault == "ValueError"


def test_a_poison_job_dies_alone(house: House, clock: Clock) -> None:
    poison = ask(house, "poison")
    good = [ask(house) for _ in range(3)]
    at_work = worker(house, Kind("count", counting), Kind("poison", failing()))
    for _ in range(5):
        step(at_work)
        clock.advance(seconds=100)
    assert job_of(house, poison).state is JobState.DEAD
    assert {job_of(house, id).state for id in good} == {JobState.DONE}


def test_one_whose_failure_cannot_even_be_told_dies_alone_too(house: House, clock: Clock) -> None:
    def troubled(tx: Tx, job: Job, _trouble: Trouble, now: str) -> None:
        tx.run("UPDATE jobs SET finished_at = :now WHERE id = :id", now=now, id=job.id)
        raise KeyError("capture")

    poison, good = ask(house, "poison"), ask(house)
    at_work = worker(house, Kind("count", counting), Kind("poison", failing(), troubled=troubled))
    for _ in range(4):
        step(at_work)
        clock.advance(seconds=100)
    assert (job_of(house, poison).state, job_of(house, poison).fault) == (JobState.DEAD, "no")
    assert job_of(house, good).state is JobState.DONE


def test_one_that_ends_its_worker_each_time_is_given_up_and_lets_the_others_pass(
    house: House, clock: Clock
) -> None:
    class Killed(BaseException):
        """What nobody catches, as nobody catches a kill."""

    def work(_desk: Desk) -> Ending:
        raise Killed

    poison = ask(house, "poison", priority=Priority.NOW)
    good = [ask(house) for _ in range(3)]
    kinds = (Kind("count", counting), Kind("poison", work))
    for _ in range(4):
        # Each time a new process: the leases of the old one end by themselves, or because nobody else can be there.
        at_work = worker(house, *kinds)
        end_leases(house.service.database)
        try:
            step(at_work)
        except Killed:
            clock.advance(seconds=61)
        clock.advance(seconds=10)
    at_work = worker(house, *kinds)
    clock.advance(seconds=100)
    step(at_work)
    assert job_of(house, poison).state is JobState.DEAD
    assert job_of(house, poison).fault == "Its worker ended in the middle of it 3 times."
    assert {job_of(house, id).state for id in good} == {JobState.DONE}
    assert effects(house) == Counter(good)


def test_a_worker_whose_lease_is_over_changes_nothing(house: House, clock: Clock) -> None:
    id = ask(house)
    slow = worker(house, name="slow")
    quick = worker(house, name="quick")

    def dawdle(desk: Desk) -> Ending:
        clock.advance(seconds=61)
        step(quick)
        with pytest.raises(Lost):
            desk.part(lambda tx: note(tx, "part of the slow one"))
        return counting(desk)

    slow._kinds = {"count": Kind("count", dawdle)}
    step(slow)
    assert effects(house) == Counter([id])
    assert job_of(house, id).state is JobState.DONE


def test_a_beating_heart_keeps_the_lease_for_as_long_as_its_kind_allows(house: House, clock: Clock) -> None:
    id = ask(house)
    beaten = threading.Event()
    beats: list[str] = []

    def work(desk: Desk) -> Ending:
        inner = desk.beat

        def beat() -> None:
            inner()
            beats.append(job_of(house, id).lease_until or "")
            if len(beats) == 3:
                beaten.set()

        desk.beat = beat  # type: ignore[method-assign]
        assert beaten.wait(20)
        return counting(desk)

    at_work = worker(house, Kind("count", work, most_seconds=0.05), times=replace(TIMES, lease=0.03))
    step(at_work)
    assert sorted(set(beats)) == beats
    assert job_of(house, id).state is JobState.DONE


def test_parts_that_are_done_stay_done_and_set_the_count_of_failures_back(house: House, clock: Clock) -> None:
    id = ask(house)
    tried: list[int] = []

    def work(desk: Desk) -> Ending:
        tried.append(desk.job.attempts)
        done = len(effects(house))
        if done < 4:
            desk.part(lambda tx: note(tx, f"part {done}"))
            raise MinutebookError("io_error", "and then the light went out")
        return counting(desk)

    at_work = worker(house, Kind("count", work))
    for _ in range(6):
        step(at_work)
        clock.advance(seconds=100)
    assert effects(house) == Counter(["part 0", "part 1", "part 2", "part 3", id])
    assert job_of(house, id).state is JobState.DONE
    assert len(tried) == 5  # more than the three attempts that a job has that does not come along


def test_a_service_that_ends_gives_back_what_it_has_not_done(house: House) -> None:
    ids = [ask(house) for _ in range(2)]
    ending = threading.Event()

    def work(desk: Desk) -> Ending:
        ending.set()
        desk.check()
        raise AssertionError("it was asked to stop")

    at_work = worker(house, Kind("count", work))
    at_work.step(ending)
    for id in ids:
        job = job_of(house, id)
        assert (job.state, job.attempts, job.interruptions, job.worker) == ("todo", 0, 0, None)
    step(worker(house))
    assert effects(house) == Counter(ids)


def test_projects_take_turns_and_priority_comes_first(house: House) -> None:
    other = house.new_project("Sulaco")
    busy = [ask(house) for _ in range(6)]
    quiet = [ask(house, project=other) for _ in range(2)]
    late = ask(house, priority=Priority.WHENEVER)
    urgent = ask(house, project=other, priority=Priority.NOW)
    order: list[str] = []

    def work(desk: Desk) -> Ending:
        order.append(desk.job.id)
        return counting(desk)

    step(worker(house, Kind("count", work)))
    assert order[0] == urgent
    assert order[-1] == late
    assert set(order[1:5]) == {*busy[:2], *quiet}
    assert order == [urgent, *order[1:5], *busy[2:], late]


def test_several_workers_share_the_work_and_none_is_done_twice(house: House) -> None:
    ids = [ask(house) for _ in range(40)]
    workers = [worker(house, name=f"jobs-{number}") for number in range(4)]
    threads = [threading.Thread(target=step, args=(one,)) for one in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert effects(house) == Counter(ids)


def test_a_kind_that_this_program_does_not_know_is_left_for_one_that_does(house: House) -> None:
    id = ask(house, "newer")
    assert step(worker(house)) is None
    assert job_of(house, id).state is JobState.WAITING


def test_what_recurs_waits_for_its_time_once_and_is_asked_for_again_when_it_ends(
    house: House, clock: Clock
) -> None:
    kinds = (Kind("count", counting), Kind("poison", failing()))
    nightly = [Schedule("count", "0 3 * * *"), Schedule("poison", "30 3 * * *")]
    for _ in range(2):
        at_work = worker(house, *kinds, schedules=nightly)
        pause = step(at_work)
    assert [row["due_at"] for row in house.rows("SELECT due_at FROM jobs ORDER BY due_at")] == [
        "2026-01-01T03:00:00.000000Z",
        "2026-01-01T03:30:00.000000Z",
    ]
    assert pause is not None
    assert 3 * 3600 - 1 < pause <= 3 * 3600 + 1
    clock.set("2026-01-03T12:00:00.000000Z")  # it was away for two nights: that is made up for once
    step(at_work)
    assert sum(effects(house).values()) == 1
    waiting = "SELECT kind, due_at FROM jobs WHERE state = 'todo' ORDER BY due_at DESC"
    assert house.rows(waiting)[0] == {"kind": "count", "due_at": "2026-01-04T03:00:00.000000Z"}
    for _ in range(4):  # and what recurs outlives its own failures
        clock.advance(seconds=100)
        step(at_work)
    assert house.rows(waiting)[0] == {"kind": "poison", "due_at": "2026-01-04T03:30:00.000000Z"}


def test_a_schedule_that_changed_moves_its_job_and_one_that_is_off_takes_it_away(house: House) -> None:
    step(worker(house, schedules=[Schedule("count", "0 3 * * *")]))
    step(worker(house, schedules=[Schedule("count", "0 5 * * *")]))
    due = "SELECT due_at FROM jobs"
    assert house.rows(due) == [{"due_at": "2026-01-01T05:00:00.000000Z"}]
    step(worker(house, schedules=[Schedule("count", "")]))
    assert house.rows(due) == []


def test_a_time_that_is_none_is_refused_by_name(house: House) -> None:
    with pytest.raises(MinutebookError) as refused:
        step(worker(house, schedules=[Schedule("count", "every night")]))
    assert refused.value.code == "bad_setting"


def test_a_worker_that_is_asked_to_stop_raises_nothing_from_its_desk(house: House) -> None:
    ending = threading.Event()
    ending.set()
    desk = Desk(job_of(house, ask(house)), house.service.database, house.service.world, TIMES, ending)
    with pytest.raises(Stopped):
        desk.check()
