"""Daily logs: what happened in each scope, day by day."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from typing import Annotated

from annotated_types import Ge, MaxLen

from minutebook.call import Call
from minutebook.ledger import daily as kept
from minutebook.ledger.database import Tx
from minutebook.model.daily import DailyLine, DailyLog
from minutebook.model.errors import MinutebookError
from minutebook.model.paging import Page
from minutebook.operations.given import Limit
from minutebook.operations.registry import Access, Help, operation
from minutebook.policy.daily import line_of, parts_of

Day = Annotated[str, Help("a day, 2026-11-16, or today or yesterday (UTC)"), MaxLen(20)]
ScopeName = Annotated[str, Help("project, global, or agent:NAME"), MaxLen(210)]
#: Lines that are read at once.
_AT_ONCE = 2_000


@operation(Access.READ)
def list_(
    call: Call,
    since: Annotated[Day | None, Help("the first day; thirty days ago if not given")] = None,
    limit: Limit = 100,
) -> Page[DailyLine]:
    """List the days on which something happened, newest first, by scope, with how much of what.

    An agent is told of the project, of what is global, and of its own.

    Example:
        minutebook daily list --since 2026-11-01
    """
    first = day_of(since, call.now) if since is not None else _shifted(call.now[:10], -30)
    rows = kept.days(call.tx, call.project.id, since=first, until=_shifted(call.now[:10], 2), limit=1_000)
    lines = [
        DailyLine(
            day=row["day"],
            scope=row["place"],
            events=row["events"],
            added=row["added"],
            changed=row["changed"],
            proposed=row["proposed"],
            refused=row["refused"],
        )
        for row in rows
        if _sees(call, row["place"])
    ]
    return Page(tuple(lines[:limit]), None)


@operation(Access.READ)
def show(
    call: Call,
    day: Day,
    scope: ScopeName = "project",
    part: Annotated[int, Help("which part of a long day"), Ge(1)] = 1,
) -> DailyLog:
    """Show a day of one scope, line by line. A long day has several parts; nothing of it is left out.

    Example:
        minutebook daily show today
        minutebook daily show 2026-11-16 --scope agent:ripley
    """
    wanted, place = day_of(day, call.now), scope.strip().casefold()
    if not _sees(call, place):
        raise MinutebookError("other_agent", f"{call.actor.name} is told of its own days alone.")
    parts = list(log_of(call.tx, call.project.id, place, wanted))
    if not parts:
        raise MinutebookError(
            "not_found", f"Nothing happened in {place} on {wanted}.", hint="minutebook daily list"
        )
    if part > len(parts):
        raise MinutebookError("not_found", f"The log of {wanted} has {len(parts)} parts.", parts=len(parts))
    return DailyLog(wanted, place, part, len(parts), parts[part - 1])


def _sees(call: Call, place: str) -> bool:
    agent = call.reader.agent
    return agent is None or not place.startswith("agent:") or place == f"agent:{agent}"


def log_of(tx: Tx, project: str, place: str, day: str, *, names: bool = True) -> Iterator[str]:
    """The parts of a day's log; what it is about by its name, or by its id, which tells nothing."""
    return parts_of(day, place, _lines(tx, project, place, day, "slug" if names else "ref"))


def _lines(tx: Tx, project: str, place: str, day: str, told: str) -> Iterator[str]:
    after = 0
    while True:
        rows = kept.lines(tx, project, place, since=day, until=_shifted(day, 1), after=after, limit=_AT_ONCE)
        for row in rows:
            yield line_of(row["at"], row["kind"], row["actor"], row["op"], row["type"], row[told])
        if len(rows) < _AT_ONCE:
            return
        after = rows[-1]["seq"]


def day_of(text: str, now: str) -> str:
    """The day that a word names."""
    given = text.strip().casefold()
    if given in ("today", "yesterday"):
        return _shifted(now[:10], 0 if given == "today" else -1)
    try:
        return date.fromisoformat(given).isoformat()
    except ValueError:
        raise MinutebookError(
            "invalid_input", f"{given[:40]!r} is no day.", hint="2026-11-16, today or yesterday"
        ) from None


def _shifted(day: str, days: int) -> str:
    return (date.fromisoformat(day) + timedelta(days=days)).isoformat()
