"""What was done to this copy of the ledger: backups, imports, restores, rebuilt indexes."""

from __future__ import annotations

from typing import Any

from minutebook.ledger.database import Tx
from minutebook.ledger.plain import dump, load


def record(tx: Tx, *, id: str, kind: str, actor: str, detail: dict[str, Any], at: str) -> None:
    tx.run(
        "INSERT INTO maintenance (id, kind, actor, detail, at) VALUES (:id, :kind, :actor, :detail, :at)",
        id=id,
        kind=kind,
        actor=actor,
        detail=dump(detail),
        at=at,
    )


def last(tx: Tx, kind: str) -> dict[str, Any] | None:
    """When something was last done, and its detail."""
    row = tx.one("SELECT at, detail FROM maintenance WHERE kind = :kind ORDER BY id DESC LIMIT 1", kind=kind)
    return None if row is None else {"at": row["at"], **load(row["detail"])}
