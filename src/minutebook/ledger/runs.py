"""Runs, and the scribe's reports on them."""

from __future__ import annotations

import dataclasses
from typing import Any

from minutebook.ledger.database import Row, Tx
from minutebook.ledger.plain import dump, load
from minutebook.model.runs import Promoted, Run, RunOutcome, RunReport, RunStatus, TurnedDown, Waits


def insert(tx: Tx, run: Run) -> None:
    tx.run(
        """INSERT INTO runs (id, project_id, agent, task, parent_run_id, session_id, status, started_at, started_by)
           VALUES (:id, :project, :agent, :task, :parent, :session, 'open', :at, :by)""",
        id=run.id,
        project=run.project,
        agent=run.agent,
        task=run.task,
        parent=run.parent,
        session=run.session,
        at=run.started_at,
        by=run.started_by,
    )


def get(tx: Tx, id: str) -> Run | None:
    row = tx.one("SELECT * FROM runs WHERE id = :id", id=id)
    return None if row is None else _run(row)


def close(tx: Tx, run: Run, outcome: RunOutcome, *, summary: str | None, by: str, at: str) -> bool:
    """Compare and set: a run is ended once; False when somebody was faster."""
    tx.forget()
    return bool(
        tx.run(
            """UPDATE runs SET status = :status, outcome = :outcome, summary = :summary, finished_by = :by,
                      finished_at = :at
                WHERE id = :id AND status = 'open'""",
            id=run.id,
            status=outcome.status.value,
            outcome=outcome.value,
            summary=summary,
            by=by,
            at=at,
        )
    )


def keep_report(tx: Tx, report: RunReport) -> None:
    tx.run(
        "UPDATE runs SET report = :report WHERE id = :id",
        id=report.run,
        report=dump(dataclasses.asdict(report)),
    )


def report_of(tx: Tx, id: str) -> RunReport | None:
    """What the scribe reported when the run ended; None for a run that is open, or came without one."""
    row = tx.one("SELECT report FROM runs WHERE id = :id", id=id)
    return None if row is None or row["report"] is None else load_report(row["report"])


def load_report(text: str) -> RunReport:
    kept = load(text)
    return RunReport(
        **{
            **kept,
            "outcome": RunOutcome(kept["outcome"]),
            "promoted": tuple(Promoted(**one) for one in kept["promoted"]),
            "waiting": tuple(Waits(**one) for one in kept["waiting"]),
            "refused": tuple(TurnedDown(**one) for one in kept["refused"]),
        }
    )


def list_(
    tx: Tx,
    project: str,
    *,
    agent: str | None = None,
    status: str | None = None,
    parent: str | None = None,
    after: str | None = None,
    limit: int,
) -> list[Run]:
    """Newest first; `after` is the id of the last one seen."""
    clause, params = "", {}
    wanted = {"agent": agent, "status": status, "parent_run_id": parent}
    for column, value in wanted.items():
        if value is not None:
            clause += f" AND {column} = :{column}"
            params[column] = value
    if after is not None:
        clause += " AND id < :after"
        params["after"] = after
    rows = tx.all(
        f"SELECT * FROM runs WHERE project_id = :project{clause} ORDER BY id DESC LIMIT :limit",
        project=project,
        limit=limit,
        **params,
    )
    return [_run(row) for row in rows]


def open_of(tx: Tx, project: str, agent: str, *, limit: int) -> list[Run]:
    """The open runs of an agent, the newest first."""
    rows = tx.all(
        """SELECT * FROM runs WHERE project_id = :project AND agent = :agent AND status = 'open'
            ORDER BY id DESC LIMIT :limit""",
        project=project,
        agent=agent,
        limit=limit,
    )
    return [_run(row) for row in rows]


def left_open(tx: Tx, project: str, before: str, *, limit: int) -> list[Run]:
    """Open runs that began before a time and in which nothing happened since, the deepest first."""
    rows = tx.all(
        """SELECT r.* FROM runs r
            WHERE r.project_id = :project AND r.status = 'open' AND r.started_at < :before
              AND NOT EXISTS (SELECT 1 FROM events e WHERE e.run_id = r.id AND e.at >= :before)
            ORDER BY r.id DESC LIMIT :limit""",
        project=project,
        before=before,
        limit=limit,
    )
    return [_run(row) for row in rows]


def children_of(tx: Tx, id: str, *, limit: int) -> list[str]:
    rows = tx.all(
        "SELECT id FROM runs WHERE parent_run_id = :id ORDER BY id LIMIT :limit", id=id, limit=limit
    )
    return [row["id"] for row in rows]


def depth_of(tx: Tx, run: Run, *, most: int) -> int:
    """How many runs stand above one; counted up to `most`, so that a ring from elsewhere has an end too."""
    depth, above = 0, run.parent
    while above is not None and depth < most:
        found = get(tx, above)
        depth, above = depth + 1, None if found is None else found.parent
    return depth


def proposals_in(tx: Tx, run: Run) -> list[str]:
    """Pending proposals of the run's agent that it handed in, changed or repeated in this run, oldest first."""
    rows = tx.all(
        """SELECT DISTINCT p.id FROM verdicts v JOIN proposals p ON p.id = v.proposal_id
            WHERE v.run_id = :run AND v.op IN ('hold', 'skip') AND v.reverted_by IS NULL AND v.reverts IS NULL
              AND p.project_id = :project AND p.agent = :agent AND p.status = 'pending'
            ORDER BY p.id""",
        run=run.id,
        project=run.project,
        agent=run.agent,
    )
    return [row["id"] for row in rows]


def _run(row: Row) -> Run:
    outcome: Any = row["outcome"]
    return Run(
        id=row["id"],
        project=row["project_id"],
        agent=row["agent"],
        task=row["task"],
        status=RunStatus(row["status"]),
        started_by=row["started_by"],
        started_at=row["started_at"],
        parent=row["parent_run_id"],
        session=row["session_id"],
        outcome=None if outcome is None else RunOutcome(outcome),
        summary=row["summary"],
        finished_by=row["finished_by"],
        finished_at=row["finished_at"],
        generation=row["generation"],
        snapshot=row["snapshot"],
        snapshot_seq=row["snapshot_seq"],
    )
