"""Relations between memories."""

from __future__ import annotations

from minutebook.ledger.database import Tx
from minutebook.model.memories import Link, Relation


def add(tx: Tx, *, from_id: str, relation: Relation, to_id: str, by: str, at: str, seq: int) -> bool:
    """Link two memories; False when they are linked that way already."""
    return bool(
        tx.run(
            """INSERT INTO memory_links (from_id, relation, to_id, created_by, created_at, seq)
               VALUES (:from_id, :relation, :to_id, :by, :at, :seq) ON CONFLICT DO NOTHING""",
            from_id=from_id,
            relation=relation.value,
            to_id=to_id,
            by=by,
            at=at,
            seq=seq,
        )
    )


def remove(tx: Tx, *, from_id: str, relation: Relation, to_id: str) -> bool:
    return bool(
        tx.run(
            "DELETE FROM memory_links WHERE from_id = :from_id AND relation = :relation AND to_id = :to_id",
            from_id=from_id,
            relation=relation.value,
            to_id=to_id,
        )
    )


def of(tx: Tx, id: str) -> list[Link]:
    """Links from and to a memory, also those that lead into another project."""
    rows = tx.all(
        """SELECT from_id, relation, to_id, created_by, created_at, seq FROM memory_links
            WHERE from_id = :id OR to_id = :id
           UNION ALL
           SELECT from_id, relation, memory_id, created_by, created_at, seq FROM reaches
            WHERE ended_seq IS NULL AND relation <> '' AND (from_id = :id OR memory_id = :id)""",
        id=id,
    )
    # Here, since there are few: a sorter of the database's costs more than all the rest of this read.
    rows.sort(key=lambda row: (row["seq"], row["relation"], row["from_id"], row["to_id"]))
    return [
        Link(row["from_id"], Relation(row["relation"]), row["to_id"], row["created_by"], row["created_at"])
        for row in rows
    ]
