"""Sessions."""

from __future__ import annotations

from typing import Any

from minutebook.ledger.database import Tx
from minutebook.ledger.plain import dump, load
from minutebook.model.sessions import Session


def insert(tx: Tx, session: Session, seq: int) -> None:
    tx.run(
        """INSERT INTO sessions (id, project_id, session, focus, issues, summary, state, started_by, started_at,
                                 updated_at, ended_at, ended_by, seq)
           VALUES (:id, :project, :session, :focus, :issues, :summary, :state, :started_by, :started_at,
                   :updated_at, NULL, NULL, :seq)""",
        id=session.id,
        project=session.project,
        session=session.session,
        focus=session.focus,
        issues=dump(session.issues),
        summary=session.summary,
        state=session.state,
        started_by=session.started_by,
        started_at=session.started_at,
        updated_at=session.updated_at,
        seq=seq,
    )


def update(tx: Tx, session: Session, seq: int) -> None:
    tx.run(
        """UPDATE sessions SET focus = :focus, issues = :issues, summary = :summary, state = :state,
                  updated_at = :updated_at, ended_at = :ended_at, ended_by = :ended_by, seq = :seq
            WHERE id = :id""",
        id=session.id,
        focus=session.focus,
        issues=dump(session.issues),
        summary=session.summary,
        state=session.state,
        updated_at=session.updated_at,
        ended_at=session.ended_at,
        ended_by=session.ended_by,
        seq=seq,
    )


def current(tx: Tx, project: str) -> Session | None:
    row = tx.one("SELECT * FROM sessions WHERE project_id = :project AND ended_at IS NULL", project=project)
    return None if row is None else _session(row)


def get(tx: Tx, project: str, session: str) -> Session | None:
    """A session by the caller's own name for it, or by id."""
    row = tx.one(
        "SELECT * FROM sessions WHERE project_id = :project AND (session = :session OR id = :session)",
        project=project,
        session=session,
    )
    return None if row is None else _session(row)


def list_(tx: Tx, project: str, *, after: str | None, limit: int) -> list[Session]:
    clause, params = "", {}
    if after is not None:
        clause, params = " AND id < :after", {"after": after}
    rows = tx.all(
        f"SELECT * FROM sessions WHERE project_id = :project{clause} ORDER BY id DESC LIMIT :limit",
        project=project,
        limit=limit,
        **params,
    )
    return [_session(row) for row in rows]


def _session(row: dict[str, Any]) -> Session:
    return Session(
        id=row["id"],
        project=row["project_id"],
        session=row["session"],
        focus=row["focus"],
        issues=tuple(load(row["issues"])),
        summary=row["summary"],
        state=row["state"],
        started_by=row["started_by"],
        started_at=row["started_at"],
        updated_at=row["updated_at"],
        ended_at=row["ended_at"],
        ended_by=row["ended_by"],
    )
