"""Tombstones, asked on every way in."""

from __future__ import annotations

from typing import Any

from minutebook.ledger.database import Tx
from minutebook.model.tombstones import Cause, Tombstone


def insert(tx: Tx, tombstone: Tombstone, *, key: str, claim: str) -> None:
    tx.run(
        """INSERT INTO tombstones (id, project_id, cause, key_id, claim, agent, ref, slug, actor, reason, at, seq)
           VALUES (:id, :project, :cause, :key, :claim, :agent, :ref, :slug, :actor, :reason, :at, :seq)""",
        id=tombstone.id,
        project=tombstone.project,
        cause=tombstone.cause.value,
        key=key,
        claim=claim,
        agent=tombstone.agent,
        ref=tombstone.ref,
        slug=tombstone.slug,
        actor=tombstone.actor,
        reason=tombstone.reason,
        at=tombstone.at,
        seq=tombstone.seq,
    )


def standing_on(tx: Tx, claims: list[str], project: str, agent: str) -> Tombstone | None:
    """The tombstone that stands on a claim of this agent in this project.

    What was erased stays away everywhere; what was rejected or retired stays away where that was decided.
    """
    names = {f"c{index}": claim for index, claim in enumerate(claims)}
    row = tx.one(
        f"""SELECT * FROM tombstones
             WHERE claim IN ({", ".join(":" + name for name in names)}) AND lifted_at IS NULL
               AND (project_id IN (:project, 'global') OR cause = 'erased') AND agent IN ('', :agent)
             ORDER BY CASE cause WHEN 'erased' THEN 0 ELSE 1 END, seq DESC LIMIT 1""",
        project=project,
        agent=agent,
        **names,
    )
    return None if row is None else _tombstone(row)


def get(tx: Tx, id: str) -> Tombstone | None:
    row = tx.one("SELECT * FROM tombstones WHERE id = :id", id=id)
    return None if row is None else _tombstone(row)


def lift(tx: Tx, id: str, *, by: str, at: str) -> bool:
    return bool(
        tx.run(
            "UPDATE tombstones SET lifted_at = :at, lifted_by = :by WHERE id = :id AND lifted_at IS NULL",
            id=id,
            by=by,
            at=at,
        )
    )


def lay_again(tx: Tx, id: str) -> None:
    """Undo a lift: only ever by the revert of the verdict that lifted it."""
    tx.run("UPDATE tombstones SET lifted_at = NULL, lifted_by = NULL WHERE id = :id", id=id)


def list_(
    tx: Tx, project: str, *, cause: str | None, lifted: bool, after: str | None, limit: int
) -> list[Tombstone]:
    clause, params = "", {}
    if cause is not None:
        clause += " AND cause = :cause"
        params["cause"] = cause
    if not lifted:
        clause += " AND lifted_at IS NULL"
    if after is not None:
        clause += " AND id < :after"
        params["after"] = after
    rows = tx.all(
        f"""SELECT * FROM tombstones WHERE project_id IN (:project, 'global'){clause}
             ORDER BY id DESC LIMIT :limit""",
        project=project,
        limit=limit,
        **params,
    )
    return [_tombstone(row) for row in rows]


def _tombstone(row: dict[str, Any]) -> Tombstone:
    return Tombstone(
        id=row["id"],
        project=row["project_id"],
        cause=Cause(row["cause"]),
        ref=row["ref"],
        slug=row["slug"],
        actor=row["actor"],
        reason=row["reason"],
        at=row["at"],
        seq=row["seq"],
        agent=row["agent"],
        lifted_at=row["lifted_at"],
        lifted_by=row["lifted_by"],
    )
