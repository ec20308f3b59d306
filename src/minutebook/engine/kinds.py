"""The table of kinds: everything that can be done later, when what recurs does, and who does it."""

from __future__ import annotations

from minutebook.call import World
from minutebook.engine.ambiguity import SETTLING
from minutebook.engine.consolidation import CONSOLIDATION, GATING
from minutebook.engine.extraction import EXTRACTION
from minutebook.engine.extraction_model import READING
from minutebook.engine.jobs import JobWorker, Kind, end_leases
from minutebook.engine.schedule import Schedule
from minutebook.engine.sweeping import SWEEPING
from minutebook.ledger.database import Database
from minutebook.policy.limits import Limits

KINDS: tuple[Kind, ...] = (EXTRACTION, SWEEPING, GATING, CONSOLIDATION, READING, SETTLING)


def schedules(limits: Limits) -> tuple[Schedule, ...]:
    """What recurs, as the limits say."""
    return (Schedule(SWEEPING.name, limits.sweep_at), Schedule(GATING.name, limits.consolidation_at))


def job_workers(database: Database, world: World) -> list[JobWorker]:
    """As many workers as the limits say, for a process that has just begun."""
    end_leases(database)
    return [
        JobWorker(
            "jobs" if number == 0 else f"jobs-{number + 1}",
            database,
            world,
            KINDS,
            schedules=schedules(world.limits) if number == 0 else (),
        )
        for number in range(world.limits.job_workers)
    ]
