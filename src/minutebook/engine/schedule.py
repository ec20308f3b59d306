"""Recurring work: a job like any other, which is asked for again in the transaction that ends it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from minutebook.ledger import jobs
from minutebook.ledger.database import Tx
from minutebook.model.errors import MinutebookError
from minutebook.model.jobs import Job, Priority, Request
from minutebook.model.scopes import GLOBAL
from minutebook.model.times import moment_of, text_of

#: Where the payload of a recurring job says when it recurs.
_CRON = "cron"
_KEY = "recurring"


@dataclass(frozen=True, slots=True)
class Schedule:
    """A kind of job that recurs, for the whole ledger."""

    kind: str
    #: five fields, in UTC: `0 3 * * *`; empty is never
    cron: str
    priority: int = Priority.WHENEVER


def next_time(cron: str, after: str) -> str:
    """The first time after `after` that an expression names."""
    from cronsim import CronSim, CronSimError

    try:
        return text_of(next(CronSim(cron, moment_of(after))))
    except (CronSimError, StopIteration) as error:
        raise MinutebookError(
            "bad_setting", f"{cron[:40]!r} is no time that recurs.", hint="five fields, such as 0 3 * * *"
        ) from error


def keep_up(tx: Tx, schedules: Sequence[Schedule], *, new_id: Callable[[], str], now: str) -> None:
    """Have one job wait for each schedule, at the time that it names now."""
    for schedule in schedules:
        if not schedule.cron:
            jobs.drop(tx, schedule.kind, _KEY)
            continue
        standing = jobs.pending(tx, schedule.kind, _KEY)
        payload = {_CRON: schedule.cron}
        due = next_time(schedule.cron, now)
        if standing is None:
            jobs.add(tx, new_id(), _request(schedule.kind, payload, due, schedule.priority), at=now)
        elif standing.payload != payload:
            jobs.redue(tx, standing, due=due, payload=payload)


def ask_again(tx: Tx, job: Job, *, new_id: Callable[[], str], now: str) -> None:
    """Ask for the next time of a recurring job that was ended or given up in this transaction."""
    if job.unique_key == _KEY and _CRON in job.payload:
        due = next_time(job.payload[_CRON], now)
        jobs.add(tx, new_id(), _request(job.kind, job.payload, due, job.priority), at=now)


def _request(kind: str, payload: dict[str, str], due: str, priority: int) -> Request:
    return Request(kind=kind, project=GLOBAL, payload=payload, unique_key=_KEY, due=due, priority=priority)
