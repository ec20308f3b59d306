"""The ordered audit log."""

from __future__ import annotations

from typing import Any

from minutebook.ledger.database import Tx
from minutebook.ledger.plain import dump, load
from minutebook.model.events import Event


def append(
    tx: Tx,
    *,
    kind: str,
    subject: str,
    project: str,
    actor: str,
    role: str,
    origin: str,
    at: str,
    verdict: str | None = None,
    run: str | None = None,
    detail: dict[str, Any] | None = None,
) -> int:
    """Write one event and return its place in the order of everything."""
    row = tx.one(
        """INSERT INTO events (kind, subject, project_id, verdict_id, actor, role, origin, run_id, detail, at)
           VALUES (:kind, :subject, :project, :verdict, :actor, :role, :origin, :run, :detail, :at)
           RETURNING seq""",
        kind=kind,
        subject=subject,
        project=project,
        verdict=verdict,
        actor=actor,
        role=role,
        origin=origin,
        run=run,
        detail=None if detail is None else dump(detail),
        at=at,
    )
    assert row is not None
    return row["seq"]


def last_seq(tx: Tx) -> int:
    """The highest number of the log that this transaction sees; 0 when it is empty."""
    row = tx.one("SELECT COALESCE(max(seq), 0) AS seq FROM events")
    return row["seq"] if row else 0


def last_until(tx: Tx, at: str, bound: int) -> int:
    """The last event up to `bound` that had happened at a time; 0 when none had.

    From the end: clocks order nothing, so the last one whose clock said so is meant.
    """
    row = tx.one(
        "SELECT seq FROM events WHERE seq <= :bound AND at <= :at ORDER BY seq DESC LIMIT 1",
        bound=bound,
        at=at,
    )
    return row["seq"] if row else 0


def after(
    tx: Tx,
    seq: int,
    *,
    project: str | None,
    kind: str | None = None,
    subject: str | None = None,
    actor: str | None = None,
    limit: int,
) -> list[Event]:
    """Events that follow `seq` and are settled: a follower that goes on from the last one misses none."""
    clauses, params = _filters(project, kind, subject, actor)
    rows = tx.all(
        f"SELECT * FROM events WHERE seq > :after AND seq <= :settled{clauses} ORDER BY seq LIMIT :limit",
        after=seq,
        settled=tx.settled,
        limit=limit,
        **params,
    )
    return [_event(row) for row in rows]


def before(
    tx: Tx,
    seq: int | None,
    *,
    project: str | None,
    kind: str | None = None,
    subject: str | None = None,
    actor: str | None = None,
    limit: int,
) -> list[Event]:
    """The newest settled events below `seq`, newest first."""
    clauses, params = _filters(project, kind, subject, actor)
    bound = tx.settled if seq is None else min(seq - 1, tx.settled)
    rows = tx.all(
        f"SELECT * FROM events WHERE seq <= :bound{clauses} ORDER BY seq DESC LIMIT :limit",
        bound=bound,
        limit=limit,
        **params,
    )
    return [_event(row) for row in rows]


def of_run(tx: Tx, run: str, *, limit: int) -> list[Event]:
    """What happened in a run, in order."""
    rows = tx.all(
        "SELECT * FROM events WHERE run_id = :run AND seq <= :settled ORDER BY seq LIMIT :limit",
        run=run,
        settled=tx.settled,
        limit=limit,
    )
    return [_event(row) for row in rows]


def _filters(
    project: str | None, kind: str | None, subject: str | None, actor: str | None
) -> tuple[str, dict[str, Any]]:
    clauses, params = "", {}
    if project is not None:
        clauses += " AND project_id IN (:project, 'global')"
        params["project"] = project
    if kind is not None:
        clauses += " AND (kind = :kind OR kind LIKE :kinds)"
        params |= {"kind": kind, "kinds": kind + ".%"}
    if subject is not None:
        clauses += " AND subject = :subject"
        params["subject"] = subject
    if actor is not None:
        clauses += " AND actor = :actor"
        params["actor"] = actor
    return clauses, params


def _event(row: dict[str, Any]) -> Event:
    return Event(
        seq=row["seq"],
        kind=row["kind"],
        subject=row["subject"],
        project=row["project_id"],
        actor=row["actor"],
        role=row["role"],
        origin=row["origin"],
        at=row["at"],
        verdict=row["verdict_id"],
        run=row["run_id"],
        detail=None if row["detail"] is None else load(row["detail"]),
    )
