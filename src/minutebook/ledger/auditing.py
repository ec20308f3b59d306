"""What an audit counts."""

from __future__ import annotations

from minutebook.ledger.database import Row, Tx
from minutebook.model.audit import Month
from minutebook.policy.auditing import months_of


def standing(tx: Tx, project: str) -> int:
    row = tx.one(
        "SELECT count(*) AS n FROM memories WHERE project_id = :project AND status = 'active'",
        project=project,
    )
    return row["n"] if row else 0


#: How many there are in all stands beside each of the few that are named.
_MANY = "count(*) OVER () AS many"


def unfounded_boundaries(tx: Tx, project: str, limit: int) -> list[Row]:
    """Active boundaries that cite nothing."""
    return tx.all(
        f"""SELECT id, slug, {_MANY} FROM memories
            WHERE project_id = :project AND status = 'active' AND type IN ('architectural', 'scope')
              AND evidence = '[]'
            ORDER BY id LIMIT :limit""",
        project=project,
        limit=limit,
    )


def never_shown(tx: Tx, project: str, limit: int) -> list[Row]:
    """Active memories that no run was ever shown and no search ever found, oldest first; boundaries are always shown."""
    return tx.all(
        f"""SELECT m.id, m.slug, {_MANY} FROM memories m
            WHERE m.project_id = :project AND m.status = 'active' AND m.type NOT IN ('architectural', 'scope')
              AND NOT EXISTS (SELECT 1 FROM signals g WHERE g.ref = m.id)
              AND NOT EXISTS (SELECT 1 FROM sightings s WHERE s.memory_id = m.id)
            ORDER BY m.id LIMIT :limit""",
        project=project,
        limit=limit,
    )


def never_verified(tx: Tx, project: str, limit: int) -> list[Row]:
    """Active memories that nothing vouches for: no evidence, and nobody who decides let them in."""
    return tx.all(
        f"""SELECT id, slug, {_MANY} FROM memories
            WHERE project_id = :project AND status = 'active' AND evidence = '[]' AND verified_at IS NULL
              AND decided_role NOT IN ('coordinator', 'operator')
            ORDER BY id LIMIT :limit""",
        project=project,
        limit=limit,
    )


def contested(tx: Tx, project: str, limit: int) -> list[Row]:
    """Active memories that are linked as contradicting another active one."""
    return tx.all(
        f"""SELECT c.id, c.slug, {_MANY} FROM (
               SELECT DISTINCT m.id, m.slug FROM memory_links l
                 JOIN memories m ON m.id = l.from_id JOIN memories o ON o.id = l.to_id
                WHERE l.relation = 'contradicts' AND m.project_id = :project AND m.status = 'active'
                  AND o.status = 'active') AS c
            ORDER BY c.id LIMIT :limit""",
        project=project,
        limit=limit,
    )


def lost_sources(tx: Tx, project: str, limit: int) -> list[Row]:
    """Active memories whose source is not here any more."""
    return tx.all(
        f"""SELECT m.id, m.slug, {_MANY} FROM memories m
            WHERE m.project_id = :project AND m.status = 'active' AND m.source_id IS NOT NULL
              AND NOT EXISTS (SELECT 1 FROM sources s WHERE s.id = m.source_id AND s.content IS NOT NULL)
            ORDER BY m.id LIMIT :limit""",
        project=project,
        limit=limit,
    )


def waiting(tx: Tx, project: str, before: str, limit: int) -> list[Row]:
    """Proposals that wait since before a time, oldest first."""
    return tx.all(
        f"""SELECT id, slug, {_MANY} FROM proposals
            WHERE project_id = :project AND status = 'pending' AND created_at < :before
            ORDER BY id LIMIT :limit""",
        project=project,
        before=before,
        limit=limit,
    )


def months(tx: Tx, project: str) -> tuple[Month, ...]:
    """What happened month by month, the oldest first."""
    added = _by_month(
        tx,
        "SELECT substr(created_at, 1, 7) AS month, count(*) AS n FROM memories WHERE project_id = :project "
        "GROUP BY substr(created_at, 1, 7)",
        project,
    )
    ended = _by_month(
        tx,
        "SELECT substr(updated_at, 1, 7) AS month, count(*) AS n FROM memories "
        "WHERE project_id = :project AND status <> 'active' GROUP BY substr(updated_at, 1, 7)",
        project,
    )
    shown = _by_month(
        tx,
        "SELECT substr(r.started_at, 1, 7) AS month, count(*) AS n FROM sightings s JOIN runs r ON r.id = s.run_id "
        "WHERE r.project_id = :project GROUP BY substr(r.started_at, 1, 7)",
        project,
    )
    return months_of(added, ended, shown)


def _by_month(tx: Tx, sql: str, project: str) -> dict[str, int]:
    return {row["month"]: row["n"] for row in tx.all(sql, project=project)}
