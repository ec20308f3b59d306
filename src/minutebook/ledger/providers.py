"""Which providers are enabled."""

from __future__ import annotations

from minutebook.ledger.database import Tx
from minutebook.model.providers import Enabled, Kind


def enabled(tx: Tx) -> tuple[Enabled, ...]:
    rows = tx.all("SELECT * FROM providers ORDER BY kind, name")
    return tuple(
        Enabled(
            kind=Kind(row["kind"]),
            name=row["name"],
            package=row["package"],
            target=row["target"],
            by=row["enabled_by"],
            at=row["enabled_at"],
        )
        for row in rows
    )


def enable(tx: Tx, one: Enabled) -> bool:
    """Enable one; False when it is enabled, or another one of a kind of which there is one."""
    return bool(
        tx.run(
            """INSERT INTO providers (kind, name, package, target, enabled_by, enabled_at)
               VALUES (:kind, :name, :package, :target, :by, :at) ON CONFLICT DO NOTHING""",
            kind=one.kind.value,
            name=one.name,
            package=one.package,
            target=one.target,
            by=one.by,
            at=one.at,
        )
    )


def disable(tx: Tx, kind: Kind, name: str) -> bool:
    return bool(
        tx.run("DELETE FROM providers WHERE kind = :kind AND name = :name", kind=kind.value, name=name)
    )
