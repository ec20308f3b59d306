"""A house whose jobs are done when a test says so."""

from __future__ import annotations

import threading

from minutebook.engine.jobs import JobWorker, Times
from minutebook.engine.kinds import KINDS
from tests.houses import House


def work(house: House, name: str = "jobs") -> float | None:
    """Do every job that is due."""
    worker = JobWorker(name, house.service.database, house.service.world, KINDS, times=Times(attempts=3))
    return worker.step(threading.Event())
