"""Ingestion events: every arrival of material, and what became of it. Where a failed one is retried from."""

from __future__ import annotations

from typing import Any

from minutebook.ledger.database import Row, Tx
from minutebook.ledger.plain import dump, load
from minutebook.model.captures import CaptureState, Ingestion, Trigger
from minutebook.model.scopes import Scope, ScopeKind


def insert(tx: Tx, ingestion: Ingestion) -> None:
    tx.run(
        """INSERT INTO ingestion_events (id, project_id, trigger_type, source_id, requested_scope, state, outcome,
                  retry_count, error, created_at, started_at, finished_at, requested_by, requested_role, origin,
                  run_id, job_id, done, total)
           VALUES (:id, :project, :trigger, :source, :scope, :state, :outcome, 0, NULL, :at, NULL, :finished, :by,
                  :role, :origin, :run, :job, 0, NULL)""",
        id=ingestion.id,
        project=ingestion.project,
        trigger=ingestion.trigger.value,
        source=ingestion.source,
        scope=None if ingestion.scope is None else _dump_scope(ingestion.scope),
        state=ingestion.state.value,
        outcome=dump(ingestion.outcome) if ingestion.outcome else None,
        at=ingestion.created_at,
        finished=ingestion.finished_at,
        by=ingestion.by,
        role=ingestion.role,
        origin=ingestion.origin,
        run=ingestion.run,
        job=ingestion.job,
    )


def get(tx: Tx, id: str) -> Ingestion | None:
    row = tx.one("SELECT * FROM ingestion_events WHERE id = :id", id=id)
    return None if row is None else _ingestion(row)


def of_source(tx: Tx, source: str, *, limit: int = 100) -> list[Ingestion]:
    """Every arrival of a source, the newest first."""
    rows = tx.all(
        "SELECT * FROM ingestion_events WHERE source_id = :source ORDER BY id DESC LIMIT :limit",
        source=source,
        limit=limit,
    )
    return [_ingestion(row) for row in rows]


def list_(
    tx: Tx,
    project: str,
    *,
    state: str | None = None,
    agent: str | None = None,
    after: str | None = None,
    limit: int,
) -> list[tuple[Ingestion, str]]:
    """Newest first, each with the title of its source. With an agent, what it brought and what its runs said."""
    clauses, params = "i.project_id = :project", {"project": project}
    if state is not None:
        clauses += " AND i.state = :state"
        params["state"] = state
    if agent is not None:
        clauses += " AND (i.requested_by = :agent OR r.agent = :agent)"
        params["agent"] = agent
    if after is not None:
        clauses += " AND i.id < :after"
        params["after"] = after
    rows = tx.all(
        f"""SELECT i.*, s.title AS title FROM ingestion_events i
              LEFT JOIN sources s ON s.id = i.source_id LEFT JOIN runs r ON r.id = i.run_id
             WHERE {clauses} ORDER BY i.id DESC LIMIT :limit""",
        limit=limit,
        **params,
    )
    return [(_ingestion(row), row["title"] or "") for row in rows]


def begin(tx: Tx, ingestion: Ingestion, *, total: int, done: int, at: str) -> None:
    """Say that it is being dealt with, and how much there is."""
    tx.run(
        """UPDATE ingestion_events SET state = 'working', total = :total, done = :done, error = NULL,
                  started_at = COALESCE(started_at, :at), finished_at = NULL
            WHERE id = :id""",
        id=ingestion.id,
        total=total,
        done=done,
        at=at,
    )


def advance(tx: Tx, id: str, *, done: int, outcome: dict[str, Any]) -> None:
    tx.run(
        "UPDATE ingestion_events SET done = :done, outcome = :outcome WHERE id = :id",
        id=id,
        done=done,
        outcome=dump(outcome),
    )


def finish(tx: Tx, id: str, *, outcome: dict[str, Any], at: str) -> None:
    tx.run(
        """UPDATE ingestion_events SET state = 'done', outcome = :outcome, error = NULL, finished_at = :at,
                  started_at = COALESCE(started_at, :at)
            WHERE id = :id""",
        id=id,
        outcome=dump(outcome),
        at=at,
    )


def fail(tx: Tx, id: str, *, error: str, dead: bool, at: str) -> None:
    """Say that it went wrong; it is tried again, or waits for somebody."""
    tx.run(
        """UPDATE ingestion_events SET state = :state, error = :error, retry_count = retry_count + 1,
                  finished_at = CAST(:finished AS TEXT)
            WHERE id = :id""",
        id=id,
        state=(CaptureState.FAILED if dead else CaptureState.QUEUED).value,
        error=error,
        finished=at if dead else None,
    )


def revive(tx: Tx, id: str) -> None:
    """Say that one that was given up is tried again."""
    tx.run(
        "UPDATE ingestion_events SET state = 'queued', finished_at = NULL WHERE id = :id AND state = 'failed'",
        id=id,
    )


def queue(tx: Tx, id: str, job: str) -> None:
    """Say which job deals with it from now on."""
    tx.run(
        """UPDATE ingestion_events SET state = 'queued', job_id = :job, finished_at = NULL, done = 0, total = NULL
            WHERE id = :id""",
        id=id,
        job=job,
    )


def stranded(tx: Tx, project: str | None, *, limit: int) -> list[Ingestion]:
    """Arrivals that are to be dealt with and that no job is about: they came with an archive, or lost theirs."""
    only, params = ("", {}) if project is None else ("AND i.project_id = :project", {"project": project})
    rows = tx.all(
        f"""SELECT i.* FROM ingestion_events i
             WHERE i.state IN ('queued', 'working') {only}
               AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = i.job_id AND j.state IN ('todo', 'doing'))
             ORDER BY i.id LIMIT :limit""",
        limit=limit,
        **params,
    )
    return [_ingestion(row) for row in rows]


def unread_runs(tx: Tx, project: str, *, limit: int) -> list[str]:
    """Transcripts of runs that are here and that nobody ever asked to be read: they are from before there was this."""
    rows = tx.all(
        """SELECT s.id FROM sources s
            WHERE s.project_id = :project AND s.kind = 'run' AND s.content IS NOT NULL
              AND NOT EXISTS (SELECT 1 FROM ingestion_events i WHERE i.source_id = s.id)
            ORDER BY s.id LIMIT :limit""",
        project=project,
        limit=limit,
    )
    return [row["id"] for row in rows]


def pieces(tx: Tx, source: str, *, limit: int) -> list[Row]:
    """What was proposed out of a source, in its order."""
    return tx.all(
        """SELECT p.id, p.slug, p.type, p.status, p.memory_id, p.evidence, p.confidence, p.would, p.decided_at,
                  m.status AS memory_status, t.ref AS indexed
             FROM proposals p LEFT JOIN memories m ON m.id = p.memory_id LEFT JOIN texts t ON t.ref = p.memory_id
            WHERE p.source_id = :source ORDER BY p.id LIMIT :limit""",
        source=source,
        limit=limit,
    )


def said_in_run(tx: Tx, run: str, *, limit: int) -> list[str]:
    """The words that a run wrote by itself: what is found in its transcript need not be proposed again."""
    rows = tx.all(
        """SELECT content FROM (
               SELECT id, content FROM memories WHERE run_id = :run AND origin <> 'extraction'
               UNION ALL SELECT id, content FROM proposals WHERE run_id = :run AND origin <> 'extraction') AS said
            ORDER BY id LIMIT :limit""",
        run=run,
        limit=limit,
    )
    return [row["content"] for row in rows]


def _dump_scope(scope: Scope) -> str:
    return dump([scope.kind, scope.project, scope.tier, scope.agent, scope.repo, scope.session])


def _load_scope(text: str) -> Scope | None:
    parts = load(text)
    return Scope(ScopeKind(parts[0]), *parts[1:]) if isinstance(parts, list) else None


def _ingestion(row: Row) -> Ingestion:
    return Ingestion(
        id=row["id"],
        project=row["project_id"],
        trigger=Trigger(row["trigger_type"]),
        source=row["source_id"],
        state=CaptureState(row["state"]),
        by=row["requested_by"],
        role=row["requested_role"],
        origin=row["origin"],
        created_at=row["created_at"],
        scope=None if row["requested_scope"] is None else _load_scope(row["requested_scope"]),
        run=row["run_id"],
        job=row["job_id"],
        retries=row["retry_count"],
        fault=row["error"],
        outcome={} if row["outcome"] is None else load(row["outcome"]),
        done=row["done"],
        total=row["total"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
    )
