"""A house whose jobs are done when a test says so."""

from __future__ import annotations

import threading

from minutebook.engine.jobs import JobWorker, Times
from minutebook.engine.kinds import KINDS, schedules
from tests.conftest import Clock
from tests.houses import House


def work(house: House, name: str = "jobs") -> float | None:
    """Do every job that is due."""
    worker = JobWorker(name, house.service.database, house.service.world, KINDS, times=Times(attempts=3))
    return worker.step(threading.Event())


def night(house: House, clock: Clock) -> str:
    """Let a night pass, and say what was done in it."""
    world = house.service.world
    worker = JobWorker("night", house.service.database, world, KINDS, schedules=schedules(world.limits))
    worker.step(threading.Event())
    clock.advance(days=1)
    worker.step(threading.Event())
    (swept,) = house.rows(
        "SELECT outcome FROM jobs WHERE kind = 'sweep' AND state = 'done' ORDER BY finished_at DESC LIMIT 1"
    )
    return str(swept["outcome"])
