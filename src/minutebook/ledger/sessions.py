"""Sessions."""

from __future__ import annotations

from typing import Any

from minutebook.ledger.database import Tx
from minutebook.ledger.plain import dump, load
from minutebook.model.errors import MinutebookError
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
    _keep(tx, session, seq)


def _keep(tx: Tx, session: Session, seq: int) -> None:
    """Keep the session as this change left it; a tool's own state is nobody's history."""
    tx.run(
        """INSERT INTO session_revisions (session_id, revision, seq, state)
           SELECT :id, COALESCE(max(r.revision), 0) + 1, :seq, :state
             FROM session_revisions r WHERE r.session_id = :id""",
        id=session.id,
        seq=seq,
        state=dump({name: getattr(session, name) for name in _KEPT}),
    )


#: What a revision keeps of a session.
_KEPT = (
    "project", "session", "focus", "issues", "summary", "started_by", "started_at", "updated_at", "ended_at",
    "ended_by",
)  # fmt: skip


def at(tx: Tx, project: str, seq: int) -> Session | None:
    """The session that was open when the log had reached `seq`.

    Raises when one was, and what it said then was not kept.
    """
    row = tx.one(
        "SELECT * FROM sessions WHERE project_id = :project AND ended_at IS NULL AND seq <= :seq",
        project=project,
        seq=seq,
    )
    if row is not None:
        return _session(row)
    # Whatever is not open now may have been then: those that changed since are looked up as they were.
    rows = tx.all(
        """SELECT s.id, r.state,
                  (SELECT min(e.seq) FROM events e WHERE e.subject = s.id) AS started
             FROM sessions s LEFT JOIN session_revisions r ON r.session_id = s.id AND r.revision =
                  (SELECT max(x.revision) FROM session_revisions x WHERE x.session_id = s.id AND x.seq <= :seq)
            WHERE s.project_id = :project AND s.seq > :seq""",
        project=project,
        seq=seq,
    )
    for row in rows:
        if row["state"] is None:
            if row["started"] is not None and row["started"] <= seq:
                raise MinutebookError(
                    "not_found", "What the session said then was not kept.", session=row["id"]
                )
            continue
        kept = load(row["state"])
        if kept["ended_at"] is None:
            return Session(id=row["id"], state=None, **{**kept, "issues": tuple(kept["issues"])})
    return None


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
    _keep(tx, session, seq)


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
