"""What is done at night: letting go of what is old, as the settings say, and looking whether the index is sound.

Never a verdict, a tombstone, an event or a source nobody has read.
"""

from __future__ import annotations

from minutebook.engine import daily, mending
from minutebook.engine.jobs import Desk, Ending, Kind
from minutebook.ledger import jobs, sources
from minutebook.ledger.database import Tx
from minutebook.model.times import seconds_before

#: Rows that are let go in one transaction.
_AT_ONCE = 500
#: Sources are large.
_SOURCES = 20


def _work(desk: Desk) -> Ending:
    limits = desk.world.limits
    done = sources_let_go = 0
    if limits.keep_jobs_days:
        before = _days_ago(desk, limits.keep_jobs_days)
        while gone := desk.part(lambda tx: jobs.sweep(tx, before, limit=_AT_ONCE)):
            done += gone
    if limits.keep_sources_days:
        before = _days_ago(desk, limits.keep_sources_days)
        while gone := desk.part(lambda tx: _prune(tx, before, desk.world.clock())):
            sources_let_go += gone
    written, removed = daily.tend(desk)
    said = (
        f"{done} jobs forgotten, {sources_let_go} sources let go, "
        f"{written} daily logs written, {removed} of them removed."
    )
    said += mending.tend(desk)
    return lambda _tx: said


def _prune(tx: Tx, before: str, now: str) -> int:
    old = sources.prunable(tx, before, limit=_SOURCES)
    return sum(sources.prune(tx, source.id, at=now) for source in old)


def _days_ago(desk: Desk, days: int) -> str:
    return seconds_before(desk.world.clock(), days * 86_400)


SWEEPING = Kind("sweep", _work)
