"""What the tables say about the ledger's health."""

from __future__ import annotations

from dataclasses import dataclass

from minutebook.ledger import derived, fulltext, maintenance
from minutebook.ledger.database import Tx


@dataclass(frozen=True, slots=True)
class Look:
    """One look at the ledger."""

    #: what the database finds wrong with itself; empty when nothing
    damage: str
    texts_missing: int
    first_event_at: str | None
    last_backup_at: str | None
    last_backup: str | None
    counts: dict[str, int]


_COUNTS = {
    "projects": "SELECT count(*) AS n FROM projects WHERE archived_at IS NULL AND id <> 'global'",
    "memories_active": "SELECT count(*) AS n FROM memories WHERE status = 'active'",
    "proposals_pending": "SELECT count(*) AS n FROM proposals WHERE status = 'pending'",
    "tombstones_standing": "SELECT count(*) AS n FROM tombstones WHERE lifted_at IS NULL",
}


def look(tx: Tx) -> Look:
    # A connection that has not searched since the index was changed by another would check it against what it
    # remembers of it, and find damage where there is none.
    fulltext.match(tx, ["word"], kind="memory", clause="1 = 1", params={}, limit=1)
    found = [row["found"] for row in tx.all(tx.dialect.quick_check) if row["found"] != "ok"]
    first = tx.one("SELECT at FROM events ORDER BY seq LIMIT 1")
    backup = maintenance.last(tx, "backup")
    return Look(
        damage=found[0] if found else "",
        texts_missing=derived.texts_missing(tx),
        first_event_at=None if first is None else first["at"],
        last_backup_at=None if backup is None else backup["at"],
        last_backup=None if backup is None else backup["file"],
        counts={name: _count(tx, sql) for name, sql in _COUNTS.items()},
    )


def _count(tx: Tx, sql: str) -> int:
    row = tx.one(sql)
    return row["n"] if row else 0
