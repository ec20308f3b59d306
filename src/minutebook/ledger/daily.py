"""Days of the event log, by scope: derived whenever they are asked for, so that they are never wrong."""

from __future__ import annotations

from minutebook.ledger.database import Row, Tx

# The scope that an event is about: that of the memory or proposal it names, else the project's.
_SCOPED = """
    SELECT e.seq, e.kind, e.subject, e.actor, e.at, e.project_id,
           CASE WHEN COALESCE(m.scope, p.scope) = 'agent'
                THEN 'agent:' || COALESCE(NULLIF(m.agent, ''), p.scope_agent)
                WHEN e.project_id = 'global' OR COALESCE(m.scope, p.scope) = 'global' THEN 'global'
                ELSE 'project' END AS place,
           COALESCE(m.slug, p.slug) AS slug, COALESCE(m.type, p.type) AS type, v.op AS op,
           COALESCE(v.memory_id, v.proposal_id) AS ref
      FROM events e LEFT JOIN verdicts v ON v.id = e.verdict_id
           LEFT JOIN memories m ON m.id = v.memory_id LEFT JOIN proposals p ON p.id = v.proposal_id
     WHERE e.project_id IN (:project, 'global') AND e.at >= :since AND e.at < :until AND e.seq <= :settled"""


def days(tx: Tx, project: str, *, since: str, until: str, limit: int) -> list[Row]:
    """Days that something happened on, newest first, by scope, with what."""
    return tx.all(
        f"""SELECT substr(s.at, 1, 10) AS day, s.place, count(*) AS events,
                   sum(CASE WHEN s.op IN ('add', 'restore') THEN 1 ELSE 0 END) AS added,
                   sum(CASE WHEN s.op IN ('update', 'supersede', 'retire') THEN 1 ELSE 0 END) AS changed,
                   sum(CASE WHEN s.op = 'hold' THEN 1 ELSE 0 END) AS proposed,
                   sum(CASE WHEN s.op = 'refuse' THEN 1 ELSE 0 END) AS refused
              FROM ({_SCOPED}) AS s GROUP BY substr(s.at, 1, 10), s.place
             ORDER BY day DESC, place LIMIT :limit""",
        project=project,
        since=since,
        until=until,
        settled=tx.settled,
        limit=limit,
    )


def lines(tx: Tx, project: str, place: str, *, since: str, until: str, after: int, limit: int) -> list[Row]:
    """What happened in a scope, in the order of the log."""
    return tx.all(
        f"SELECT * FROM ({_SCOPED}) AS s WHERE s.place = :place AND s.seq > :after ORDER BY s.seq LIMIT :limit",
        project=project,
        since=since,
        until=until,
        settled=tx.settled,
        place=place,
        after=after,
        limit=limit,
    )


def first_day(tx: Tx, project: str) -> str | None:
    row = tx.one("SELECT min(at) AS at FROM events WHERE project_id = :project", project=project)
    return None if row is None or row["at"] is None else row["at"][:10]
