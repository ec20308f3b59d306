"""Letting go of what is old, as the settings say, and of nothing else; and the daily logs as files."""

from __future__ import annotations

import dataclasses
import threading
from pathlib import Path

import pytest

from minutebook.engine.jobs import JobWorker
from minutebook.engine.kinds import KINDS, job_workers, schedules
from minutebook.operations import captures, inbox, jobs, memories, sources
from minutebook.policy import daily
from minutebook.policy.limits import Limits
from tests.conftest import Clock
from tests.engine.extracting import work
from tests.houses import House

TALK = "Ana: hello there\nSebas: We decided to use PostgreSQL instead of MySQL for the billing service."


def sweep(house: House, clock: Clock, **limits: int) -> None:
    """A night's work, under limits of its own."""
    world = dataclasses.replace(house.service.world, limits=Limits(**limits))
    worker = JobWorker("jobs", house.service.database, world, KINDS, schedules=schedules(world.limits))
    worker.step(threading.Event())
    clock.advance(days=1)
    worker.step(threading.Event())


def test_what_was_done_is_forgotten_after_a_while_and_what_gave_up_is_not(
    house: House, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.mother(captures.conversation, content=TALK, consent="yes")
    work(house)
    lost = house.mother(captures.note, content="Turns out nobody is going to read this note any more.")
    house.service.database.write(
        "global", lambda tx: tx.run("UPDATE jobs SET state = 'dead', error = 'x' WHERE state = 'todo'")
    )
    clock.advance(days=40)
    sweep(house, clock, keep_jobs_days=30)
    assert [line.id for line in house.mother(jobs.list_, kind="extract").items] == [lost.job]


def test_words_of_sources_go_when_they_are_old_and_read_and_never_before(house: House, clock: Clock) -> None:
    read = house.mother(captures.conversation, content=TALK, consent="yes").source
    work(house)
    clock.advance(days=400)
    sweep(house, clock)
    assert house.mother(sources.show, ref=read).state == "kept"  # for ever, if nobody says otherwise
    unread = house.mother(captures.note, content="We decided to use Redis rather than Memcached here.").source
    house.service.database.write(
        "global", lambda tx: tx.run("UPDATE ingestion_events SET state = 'failed' WHERE state = 'queued'")
    )
    house.service.database.write("global", lambda tx: tx.run("DELETE FROM jobs WHERE kind = 'extract'"))
    clock.advance(days=400)
    sweep(house, clock, keep_sources_days=365)
    assert house.mother(sources.show, ref=read).state == "pruned"
    assert house.mother(sources.show, ref=unread).state == "kept"
    assert len(house.mother(inbox.list_).items) == 1


def test_a_day_that_is_over_becomes_a_file_once_and_old_files_go(house: House, clock: Clock) -> None:
    house.ripley(memories.write, type="learning", content="The proxy drops bodies.", slug="proxy")
    house.mother(memories.write, type="technical", title="T", content="We use tabs.", slug="tabs")
    sweep(house, clock)
    folder = house.home / "archive" / "2026-01" / "daily" / "nostromo"
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["2026-01-01.1.agent-ripley.md", "2026-01-01.1.global.md", "2026-01-01.1.project.md"]
    text = (folder / "2026-01-01.1.agent-ripley.md").read_text()
    assert text.startswith("# 2026-01-01, agent:ripley\n")
    assert "memory.added: add learning" in text
    assert "proxy" not in text  # a name is made from words, and words may be erased
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    sweep(house, clock)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    clock.advance(days=60)
    sweep(house, clock, keep_daily_days=30)
    assert not any(path.exists() for path in before)


def test_a_long_day_has_parts_and_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daily, "MOST_LINES", 10)
    lines = [f"- line {number}" for number in range(25)]
    parts = list(daily.parts_of("2026-01-01", "project", lines))
    assert len(parts) == 3
    assert [line for part in parts for line in part.split("\n")[2:] if line] == lines
    monkeypatch.setattr(daily, "MOST_LINES", 1000)
    monkeypatch.setattr(daily, "MOST_BYTES", 100)
    assert all(len(part.encode()) <= 100 for part in daily.parts_of("2026-01-01", "project", lines))


def test_the_service_has_as_many_workers_as_the_settings_say(house: House, tmp_path: Path) -> None:
    for count in (0, 1, 3):
        world = dataclasses.replace(house.service.world, limits=Limits(job_workers=count))
        names = [worker.name for worker in job_workers(house.service.database, world)]
        assert names == ["jobs", "jobs-2", "jobs-3"][:count]
