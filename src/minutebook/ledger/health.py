"""What the tables say about the ledger's health, of the whole of it or of one project."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import TypeVar

from minutebook.ledger import derived, maintenance
from minutebook.ledger.database import Database, Tx
from minutebook.model.system import Coverage, Jobs
from minutebook.model.times import moment_of

T = TypeVar("T")
#: A check of the whole ledger that took longer than this many seconds is not repeated at once ...
_QUICK = 0.1
#: ... but after so many times what it took: whoever asks every second must not keep the disk busy.
_PATIENCE = 50
_MOST_GRANTED = 200


@dataclass(frozen=True, slots=True)
class Look:
    """One look at the ledger; nothing is in it when the tables could not be read."""

    coverage: Coverage | None = None
    jobs: Jobs | None = None
    first_event_at: str | None = None
    last_event_at: str | None = None
    last_backup_at: str | None = None
    last_backup: str | None = None
    counts: dict[str, int] = field(default_factory=dict)


_PROJECTS = "SELECT count(*) AS n FROM projects WHERE archived_at IS NULL AND id <> 'global'"
_COUNTS = {
    "memories_active": "SELECT count(*) AS n FROM memories WHERE status = 'active'",
    "proposals_pending": "SELECT count(*) AS n FROM proposals WHERE status = 'pending'",
    "tombstones_standing": "SELECT count(*) AS n FROM tombstones WHERE lifted_at IS NULL",
}


_JOBS = "SELECT state, count(*) AS n FROM jobs WHERE 1 = 1 {only} GROUP BY state"
_DUE = "SELECT min(due_at) AS at FROM jobs WHERE state = 'todo' AND due_at <= :now {only}"


def damage(database: Database) -> str:
    """What the database finds wrong with itself; empty when nothing."""
    return _granted(database, "damage", database.damage, lambda found: not found)


def look(database: Database, tx: Tx, *, project: str | None, now: str) -> Look:
    """Look at the whole ledger, or at one project of it."""
    first = tx.one("SELECT at FROM events ORDER BY seq LIMIT 1")
    last = tx.one("SELECT at FROM events ORDER BY seq DESC LIMIT 1")
    backup = maintenance.last(tx, "backup")
    return Look(
        coverage=_granted(
            database,
            f"coverage of {project}",
            lambda: derived.coverage(tx, project),
            lambda found: found.share == 1,
        ),
        jobs=_jobs(tx, project, now),
        first_event_at=None if first is None else first["at"],
        last_event_at=None if last is None else last["at"],
        last_backup_at=None if backup is None else backup["at"],
        last_backup=None if backup is None else backup["file"],
        counts=_counts(tx, project),
    )


def _granted(database: Database, what: str, check: Callable[[], T], good: Callable[[T], bool]) -> T:
    """What a check finds. When it took long and found all well, that is taken for granted for a while."""
    known = database.granted.get(what)
    if known is not None and monotonic() < known[0]:
        return known[1]
    began = monotonic()
    found = check()
    took = monotonic() - began
    if good(found) and took > _QUICK:
        if len(database.granted) >= _MOST_GRANTED:
            database.granted.clear()
        database.granted[what] = (monotonic() + took * _PATIENCE, found)
    return found


def _only(project: str | None) -> tuple[str, dict[str, str]]:
    return ("", {}) if project is None else ("AND project_id = :project", {"project": project})


def _counts(tx: Tx, project: str | None) -> dict[str, int]:
    only, given = _only(project)
    found = {name: tx.one(f"{sql} {only}", **given) for name, sql in _COUNTS.items()}
    if project is None:  # how many there are besides is nobody's business in one of them
        found["projects"] = tx.one(_PROJECTS)
    return {name: row["n"] for name, row in found.items() if row is not None}


def _jobs(tx: Tx, project: str | None, now: str) -> Jobs:
    only, given = _only(project)
    states = {row["state"]: row["n"] for row in tx.all(_JOBS.format(only=only), **given)}
    due = tx.one(_DUE.format(only=only), now=now, **given)
    first = None if due is None else due["at"]
    return Jobs(
        todo=states.get("todo", 0),
        doing=states.get("doing", 0),
        done=states.get("done", 0),
        dead=states.get("dead", 0),
        late_seconds=0 if first is None else int((moment_of(now) - moment_of(first)).total_seconds()),
    )


def verdicts_by_op(tx: Tx, after: int) -> dict[str, int]:
    """How many verdicts of each op the log holds after `after`, up to where it is settled."""
    rows = tx.all(
        """SELECT v.op AS op, count(*) AS n FROM events e JOIN verdicts v ON v.id = e.verdict_id
            WHERE e.seq > :after AND e.seq <= :settled GROUP BY v.op""",
        after=after,
        settled=tx.settled,
    )
    return {row["op"]: row["n"] for row in rows}
