"""Consolidations and what they suggest. Of this copy of the ledger alone; no words of anybody are in them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from minutebook.ledger.database import Row, Tx
from minutebook.ledger.plain import dump, load
from minutebook.model.consolidation import (
    Act,
    Consolidation,
    Kind,
    Noticed,
    RunState,
    State,
    Suggestion,
)
from minutebook.policy.gates import Seen, recall_score
from minutebook.policy.limits import Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """Who begins a consolidation, and where."""

    id: str
    project: str
    cause: str
    by: str
    at: str
    worker: str
    until: str
    seq: int


def begin(tx: Tx, beginning: Beginning) -> bool:
    """Take the lock of a project, and begin; False when another one is being done."""
    return bool(
        tx.run(
            """INSERT INTO consolidations (id, project_id, state, cause, started_by, started_at, worker,
                                           lease_until, seq, looked, counts, beyond)
               VALUES (:id, :project, 'running', :cause, :by, :at, :worker, :until, :seq, 0, '{}', 0)
               ON CONFLICT DO NOTHING""",
            id=beginning.id,
            project=beginning.project,
            cause=beginning.cause,
            by=beginning.by,
            at=beginning.at,
            worker=beginning.worker,
            until=beginning.until,
            seq=beginning.seq,
        )
    )


def lengthen(tx: Tx, id: str, until: str, looked: int) -> bool:
    """Say that one is still being done; False when it was given up meanwhile."""
    return bool(
        tx.run(
            "UPDATE consolidations SET lease_until = :until, looked = :looked WHERE id = :id AND state = 'running'",
            id=id,
            until=until,
            looked=looked,
        )
    )


def give_up(tx: Tx, project: str, *, now: str, alone: str | None) -> int:
    """End one whose process is not there any more: its lease is over, or it is not `alone`, who owns the ledger."""
    clause, params = "lease_until < :now", {}
    if alone is not None:
        clause = "(lease_until < :now OR worker <> :alone)"
        params["alone"] = alone
    return tx.run(
        f"""UPDATE consolidations SET state = 'abandoned', finished_at = :now,
                   error = 'Its process ended in the middle of it.'
             WHERE project_id = :project AND state = 'running' AND {clause}""",
        project=project,
        now=now,
        **params,
    )


def fail(tx: Tx, id: str, error: str, at: str) -> None:
    tx.run(
        """UPDATE consolidations SET state = 'failed', finished_at = :at, error = :error
            WHERE id = :id AND state = 'running'""",
        id=id,
        error=error,
        at=at,
    )


def finish(tx: Tx, id: str, *, looked: int, counts: dict[str, int], beyond: int, at: str) -> bool:
    """End one that came to its end; False when it was given up meanwhile."""
    return bool(
        tx.run(
            """UPDATE consolidations SET state = 'done', finished_at = :at, looked = :looked, counts = :counts,
                      beyond = :beyond
                WHERE id = :id AND state = 'running'""",
            id=id,
            at=at,
            looked=looked,
            counts=dump(counts),
            beyond=beyond,
        )
    )


def get(tx: Tx, project: str, id: str) -> Consolidation | None:
    row = tx.one(
        "SELECT * FROM consolidations WHERE id = :id AND project_id = :project", id=id, project=project
    )
    return None if row is None else _run(row)


def list_(tx: Tx, project: str, *, after: str | None = None, limit: int) -> list[Consolidation]:
    """Newest first."""
    clause, params = "", {}
    if after is not None:
        clause, params = " AND id < :after", {"after": after}
    rows = tx.all(
        f"SELECT * FROM consolidations WHERE project_id = :project{clause} ORDER BY id DESC LIMIT :limit",
        project=project,
        limit=limit,
        **params,
    )
    return [_run(row) for row in rows]


def running(tx: Tx, project: str) -> Consolidation | None:
    row = tx.one(
        "SELECT * FROM consolidations WHERE project_id = :project AND state = 'running'", project=project
    )
    return None if row is None else _run(row)


def last_done(tx: Tx, project: str) -> Consolidation | None:
    row = tx.one(
        "SELECT * FROM consolidations WHERE project_id = :project AND state = 'done' ORDER BY id DESC LIMIT 1",
        project=project,
    )
    return None if row is None else _run(row)


def _run(row: Row) -> Consolidation:
    counts: dict[str, int] = load(row["counts"])
    return Consolidation(
        id=row["id"],
        state=RunState(row["state"]),
        cause=row["cause"],
        started_by=row["started_by"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        looked=row["looked"],
        suggested=sum(counts.values()),
        counts=counts,
        beyond=row["beyond"],
        fault=row["error"],
    )


# --- what the gates ask ------------------------------------------------------------------------------------------


def seen(tx: Tx, project: str, limits: Limits, now: str) -> Seen:
    """What the gates of a project are asked about."""
    last = last_done(tx, project)
    since = "" if last is None else last.started_at
    held = tx.one(
        """SELECT id FROM consolidations
            WHERE project_id = :project AND state = 'running' AND lease_until >= :now""",
        project=project,
        now=now,
    )
    return Seen(
        now=now,
        last=None if last is None else last.started_at,
        runs=runs_ended(tx, project, since),
        signals=signals(tx, project, since, now, limits),
        running=None if held is None else held["id"],
    )


def runs_ended(tx: Tx, project: str, since: str) -> int:
    row = tx.one(
        "SELECT count(*) AS n FROM runs WHERE project_id = :project AND finished_at > :since",
        project=project,
        since=since,
    )
    return row["n"] if row else 0


def signals(tx: Tx, project: str, since: str, now: str, limits: Limits) -> int:
    """Memories of a project that were written since, or recalled so often and lately that it says something.

    Counted no further than matters: far more than are needed are enough.
    """
    most = max(limits.consolidation_signals, 1) * 10
    written = tx.all(
        """SELECT id FROM memories WHERE project_id = :project AND status = 'active' AND updated_at > :since
            LIMIT :most""",
        project=project,
        since=since,
        most=most,
    )
    recalled = tx.all(
        """SELECT s.recalls, s.recalled_at, m.updated_at FROM signals s JOIN memories m ON m.id = s.ref
            WHERE m.project_id = :project AND m.status = 'active' AND m.updated_at <= :since
              AND s.recalls >= :recalls AND s.recalled_at > :since
            ORDER BY s.recalled_at DESC LIMIT :most""",
        project=project,
        since=since,
        recalls=limits.consolidation_recalls,
        most=most,
    )
    worth = sum(
        recall_score(row["recalls"], row["recalled_at"], row["updated_at"], now, limits)
        >= limits.consolidation_score
        for row in recalled
    )
    return len(written) + worth


# --- suggestions -------------------------------------------------------------------------------------------------


def key_of(noticed: Noticed) -> str:
    """What makes two suggestions the same: what was noticed, of which memories, at which revisions."""
    said = [noticed.kind.value, *(f"{id} {revision}" for id, revision in sorted(noticed.refs))]
    return hashlib.sha256("\n".join(said).encode()).hexdigest()[:32]


def renew(
    tx: Tx, consolidation: str, project: str, found: Iterable[Noticed], *, at: str, new_id: Callable[[], str]
) -> dict[str, int]:
    """Make this the batch: what waits still waits in it, what is not found any more is gone, what was left stays left.

    Returns how many wait, by kind.
    """
    rows = tx.all("SELECT id, key, state FROM suggestions WHERE project_id = :project", project=project)
    known = {row["key"]: row for row in rows}
    counts: dict[str, int] = {}
    kept: set[str] = set()
    for noticed in found:
        key = key_of(noticed)
        row = known.get(key)
        if row is not None and row["state"] in (State.TAKEN, State.LEFT):
            continue
        if row is not None:
            tx.run(
                "UPDATE suggestions SET consolidation_id = :batch, state = 'open' WHERE id = :id",
                batch=consolidation,
                id=row["id"],
            )
        else:
            _insert(tx, new_id(), consolidation, project, noticed, key, at)
        kept.add(key)
        counts[noticed.kind.value] = counts.get(noticed.kind.value, 0) + 1
    for row in rows:
        if row["state"] == State.OPEN and row["key"] not in kept:
            settle(tx, row["id"], State.GONE, by=None, at=at)
    return counts


def _insert(tx: Tx, id: str, consolidation: str, project: str, noticed: Noticed, key: str, at: str) -> None:
    tx.run(
        """INSERT INTO suggestions (id, project_id, consolidation_id, kind, act, refs, rule, score, key, state,
                                    created_at)
           VALUES (:id, :project, :batch, :kind, :act, :refs, :rule, :score, :key, 'open', :at)""",
        id=id,
        project=project,
        batch=consolidation,
        kind=noticed.kind.value,
        act=noticed.act.value,
        refs=dump(noticed.refs),
        rule=noticed.rule,
        score=noticed.score,
        key=key,
        at=at,
    )


def settle(tx: Tx, id: str, state: State, *, by: str | None, at: str, verdict: str | None = None) -> bool:
    """Compare and set an open suggestion; whoever is second finds it decided."""
    return bool(
        tx.run(
            """UPDATE suggestions SET state = :state, decided_by = :by, decided_at = :at, verdict_id = :verdict
                WHERE id = :id AND state = 'open'""",
            id=id,
            state=state.value,
            by=by,
            at=at,
            verdict=verdict,
        )
    )


def suggestion(tx: Tx, project: str, id: str) -> Suggestion | None:
    row = tx.one("SELECT * FROM suggestions WHERE id = :id AND project_id = :project", id=id, project=project)
    return None if row is None else _suggestion(row)


def of_batch(tx: Tx, consolidation: str) -> list[Suggestion]:
    rows = tx.all(
        "SELECT * FROM suggestions WHERE consolidation_id = :batch ORDER BY id", batch=consolidation
    )
    return [_suggestion(row) for row in rows]


def left(tx: Tx, project: str) -> frozenset[str]:
    """The keys of what reviewers left as it is."""
    rows = tx.all(
        "SELECT key FROM suggestions WHERE project_id = :project AND state = 'left'", project=project
    )
    return frozenset(row["key"] for row in rows)


def waiting(tx: Tx, project: str) -> int:
    """How many suggestions wait in a project."""
    row = tx.one(
        "SELECT count(*) AS n FROM suggestions WHERE project_id = :project AND state = 'open'",
        project=project,
    )
    return row["n"] if row else 0


def _suggestion(row: Row) -> Suggestion:
    return Suggestion(
        id=row["id"],
        consolidation=row["consolidation_id"],
        kind=Kind(row["kind"]),
        act=Act(row["act"]),
        refs=tuple((id, revision) for id, revision in load(row["refs"])),
        rule=row["rule"],
        score=row["score"],
        state=State(row["state"]),
        created_at=row["created_at"],
        decided_by=row["decided_by"],
        decided_at=row["decided_at"],
        verdict=row["verdict_id"],
    )
