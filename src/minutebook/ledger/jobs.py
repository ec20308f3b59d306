"""Jobs: asked for in the transaction that causes them, taken under a lease, ended together with their effects.

Whoever holds a job changes it only while the lease is its own (`worker`): a worker that was slow, and whose job
somebody else has taken since, finds nothing to change, and its transaction with all effects is undone.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from minutebook.ledger.database import Row, Tx
from minutebook.ledger.plain import dump, load
from minutebook.model.jobs import Job, JobState, Request


def add(tx: Tx, id: str, request: Request, *, at: str) -> tuple[str, bool]:
    """Ask for a job, and return its id and whether it is new.

    One of the same kind and unique key that waits already is enough. One that is being done has perhaps not seen
    what was written just now: it is done once more.
    """
    new = tx.run(
        """INSERT INTO jobs (id, project_id, kind, payload, state, priority, unique_key, due_at, attempts, created_at)
           VALUES (:id, :project, :kind, :payload, 'todo', :priority, :unique, :due, 0, :at)
           ON CONFLICT (kind, unique_key) WHERE unique_key IS NOT NULL AND state IN ('todo', 'doing') DO NOTHING""",
        id=id,
        project=request.project,
        kind=request.kind,
        payload=dump(request.payload),
        priority=request.priority,
        unique=request.unique_key,
        due=request.due or at,
        at=at,
    )
    if new or request.unique_key is None:
        return id, True
    tx.run(
        """UPDATE jobs SET again_at = :at WHERE kind = :kind AND unique_key = :unique AND state = 'doing'""",
        kind=request.kind,
        unique=request.unique_key,
        at=at,
    )
    standing = pending(tx, request.kind, request.unique_key)
    assert standing is not None
    return standing.id, False


def get(tx: Tx, id: str) -> Job | None:
    row = tx.one("SELECT * FROM jobs WHERE id = :id", id=id)
    return None if row is None else _job(row)


def pending(tx: Tx, kind: str, unique_key: str) -> Job | None:
    """The job of that key that waits or is being done."""
    row = tx.one(
        "SELECT * FROM jobs WHERE kind = :kind AND unique_key = :unique AND state IN ('todo', 'doing')",
        kind=kind,
        unique=unique_key,
    )
    return None if row is None else _job(row)


def list_(
    tx: Tx,
    project: str | None,
    *,
    state: str | None = None,
    kind: str | None = None,
    after: str | None = None,
    limit: int,
) -> list[Job]:
    """Newest first, of one project or of all; `after` is the id of the last one seen."""
    clauses, params = "1 = 1", {}
    for name, value in {"project_id": project, "state": state, "kind": kind}.items():
        if value is not None:
            clauses += f" AND {name} = :{name}"
            params[name] = value
    if after is not None:
        clauses += " AND id < :after"
        params["after"] = after
    rows = tx.all(f"SELECT * FROM jobs WHERE {clauses} ORDER BY id DESC LIMIT :limit", limit=limit, **params)
    return [_job(row) for row in rows]


# --- taking ------------------------------------------------------------------------------------------------


def take(tx: Tx, worker: str, *, now: str, until: str, kinds: Collection[str], after: str = "") -> Job | None:
    """Lease the next job that is due; of the first priority, and of the project that comes after `after`."""
    among = _among(kinds)
    priority = -1
    while True:
        row = tx.one(
            f"""SELECT priority FROM jobs WHERE state = 'todo' AND due_at <= :now AND priority > :priority AND {among}
                 ORDER BY priority, project_id, due_at, id LIMIT 1""",
            now=now,
            priority=priority,
        )
        if row is None:
            return None
        priority = row["priority"]
        for place in ("project_id > :after", "project_id <= :after"):
            found = tx.one(
                f"""SELECT id FROM jobs
                     WHERE state = 'todo' AND due_at <= :now AND priority = :priority AND {place} AND {among}
                     ORDER BY project_id, due_at, id LIMIT 1 {tx.dialect.skip_locked}""",
                now=now,
                priority=priority,
                after=after,
            )
            if found is not None:
                return _lease(tx, found["id"], worker, now, until)


def _lease(tx: Tx, id: str, worker: str, now: str, until: str) -> Job:
    row = tx.one(
        """UPDATE jobs SET state = 'doing', worker = :worker, lease_until = :until, attempts = attempts + 1,
                  started_at = :now, again_at = NULL
            WHERE id = :id AND state = 'todo' RETURNING *""",
        id=id,
        worker=worker,
        until=until,
        now=now,
    )
    assert row is not None
    return _job(row)


def next_due(tx: Tx, kinds: Collection[str]) -> str | None:
    """When the next job is due, or the next lease is over."""
    among = _among(kinds)
    row = tx.one(
        f"""SELECT min(at) AS at FROM (
                SELECT min(due_at) AS at FROM jobs WHERE state = 'todo' AND {among}
                UNION ALL SELECT min(lease_until) FROM jobs WHERE state = 'doing' AND {among}) AS both_of_them"""
    )
    return None if row is None else row["at"]


def expired(tx: Tx, now: str, kinds: Collection[str], *, limit: int) -> list[Job]:
    """Jobs whose worker has not been heard of in time."""
    rows = tx.all(
        f"""SELECT * FROM jobs WHERE state = 'doing' AND lease_until < :now AND {_among(kinds)}
             ORDER BY lease_until, id LIMIT :limit""",
        now=now,
        limit=limit,
    )
    return [_job(row) for row in rows]


def expire_all(tx: Tx) -> int:
    """End every lease: for a process that owns the ledger alone and has just begun, so nobody else is at work."""
    return tx.run("UPDATE jobs SET lease_until = '' WHERE state = 'doing'")


def _among(kinds: Collection[str]) -> str:
    """Only what this program knows how to do: a newer one may share the database."""
    return "kind IN (" + ", ".join(f"'{kind}'" for kind in sorted(kinds) if kind.isidentifier()) + ")"


# --- the holder's side ---------------------------------------------------------------------------------------


def hold(tx: Tx, job: Job, until: str) -> bool:
    """Lengthen a lease; False when it is not the holder's any more."""
    return bool(
        tx.run(
            "UPDATE jobs SET lease_until = :until WHERE id = :id AND state = 'doing' AND worker = :worker",
            id=job.id,
            worker=job.worker,
            until=until,
        )
    )


def came_along(tx: Tx, job: Job, until: str) -> bool:
    """Lengthen a lease because a part of the work is done: what failed before counts no more."""
    return bool(
        tx.run(
            """UPDATE jobs SET lease_until = :until, attempts = 1, interruptions = 0, error = NULL
                WHERE id = :id AND state = 'doing' AND worker = :worker""",
            id=job.id,
            worker=job.worker,
            until=until,
        )
    )


def finish(tx: Tx, job: Job, outcome: str | None, *, at: str) -> bool:
    """End a job; one that was asked for again meanwhile waits again. False when the lease was lost."""
    row = tx.one(
        """UPDATE jobs SET state = CASE WHEN again_at IS NULL THEN 'done' ELSE 'todo' END,
                  due_at = COALESCE(again_at, due_at), finished_at = :at, outcome = :outcome, error = NULL,
                  attempts = CASE WHEN again_at IS NULL THEN attempts ELSE 0 END, interruptions = 0,
                  worker = NULL, lease_until = NULL, again_at = NULL
            WHERE id = :id AND state = 'doing' AND worker = :worker RETURNING id""",
        id=job.id,
        worker=job.worker,
        outcome=outcome,
        at=at,
    )
    return row is not None


def note_outcome(tx: Tx, job: Job, outcome: str) -> None:
    """Keep what came of a job that was ended in this transaction."""
    tx.run("UPDATE jobs SET outcome = :outcome WHERE id = :id", id=job.id, outcome=outcome)


def put_back(tx: Tx, job: Job, *, due: str, error: str | None = None, how: str = "failed") -> bool:
    """Have a job wait again: because it `failed`, was `interrupted`, or was `released` before it failed."""
    row = tx.one(
        """UPDATE jobs SET state = 'todo', due_at = :due, error = COALESCE(CAST(:error AS TEXT), error),
                  attempts = attempts - :back, interruptions = interruptions + :cut,
                  worker = NULL, lease_until = NULL, again_at = NULL
            WHERE id = :id AND state = 'doing' AND worker = :worker RETURNING id""",
        id=job.id,
        worker=job.worker,
        due=due,
        error=error,
        back=int(how != "failed"),
        cut=int(how == "interrupted"),
    )
    return row is not None


def bury(tx: Tx, job: Job, error: str, *, at: str) -> bool:
    """Give a job up. It stays, with why, until somebody has it done again."""
    row = tx.one(
        """UPDATE jobs SET state = 'dead', error = :error, finished_at = :at, worker = NULL, lease_until = NULL,
                  again_at = NULL
            WHERE id = :id AND state = 'doing' AND worker = :worker RETURNING id""",
        id=job.id,
        worker=job.worker,
        error=error,
        at=at,
    )
    return row is not None


# --- looking after them ----------------------------------------------------------------------------------------


def revive(tx: Tx, job: Job, *, at: str) -> bool:
    """Have a dead job, or one that waits for its next attempt, done now. False when it is being done or is done.

    Where another one of its key waits by now, that one does the work, and the dead one is done with.
    """
    if job.state is JobState.DEAD and job.unique_key is not None:
        other = pending(tx, job.kind, job.unique_key)
        if other is not None:
            return bool(
                tx.run(
                    "UPDATE jobs SET state = 'done', finished_at = :at, outcome = :why WHERE id = :id AND state = 'dead'",
                    id=job.id,
                    why=f"Left to {other.id}, which does the same.",
                    at=at,
                )
            )
    return bool(
        tx.run(
            """UPDATE jobs SET state = 'todo', due_at = :at, attempts = 0, interruptions = 0, finished_at = NULL
                WHERE id = :id AND state IN ('dead', 'todo')""",
            id=job.id,
            at=at,
        )
    )


def dead(tx: Tx, project: str | None, *, kind: str | None = None, limit: int) -> list[Job]:
    """The dead, oldest first."""
    clauses, params = "state = 'dead'", {}
    for name, value in {"project_id": project, "kind": kind}.items():
        if value is not None:
            clauses += f" AND {name} = :{name}"
            params[name] = value
    rows = tx.all(f"SELECT * FROM jobs WHERE {clauses} ORDER BY id LIMIT :limit", limit=limit, **params)
    return [_job(row) for row in rows]


def redue(tx: Tx, job: Job, *, due: str, payload: dict[str, Any]) -> None:
    """Give a waiting job another time: its schedule was changed."""
    tx.run(
        "UPDATE jobs SET due_at = :due, payload = :payload WHERE id = :id AND state = 'todo'",
        id=job.id,
        due=due,
        payload=dump(payload),
    )


def drop(tx: Tx, kind: str, unique_key: str) -> int:
    """Take away a job that waits and is not wanted any more."""
    return tx.run(
        "DELETE FROM jobs WHERE kind = :kind AND unique_key = :unique AND state = 'todo'",
        kind=kind,
        unique=unique_key,
    )


def sweep(tx: Tx, before: str, *, limit: int) -> int:
    """Forget jobs that were done before a time, some at once. The dead stay: somebody is to look at them."""
    return tx.run(
        """DELETE FROM jobs WHERE id IN (
               SELECT id FROM jobs WHERE state = 'done' AND finished_at < :before ORDER BY id LIMIT :limit)""",
        before=before,
        limit=limit,
    )


def _job(row: Row) -> Job:
    return Job(
        id=row["id"],
        kind=row["kind"],
        project=row["project_id"],
        state=JobState(row["state"]),
        payload=load(row["payload"]),
        priority=row["priority"],
        due_at=row["due_at"],
        created_at=row["created_at"],
        attempts=row["attempts"],
        interruptions=row["interruptions"],
        unique_key=row["unique_key"],
        worker=row["worker"],
        lease_until=row["lease_until"],
        fault=row["error"],
        outcome=row["outcome"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
    )
