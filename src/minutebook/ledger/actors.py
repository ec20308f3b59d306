"""Actors: who may ask, and with what role."""

from __future__ import annotations

from typing import Any

from minutebook.ledger.database import Tx
from minutebook.model.actors import Actor, Role
from minutebook.model.errors import MinutebookError


def insert(tx: Tx, actor: Actor) -> bool:
    """Register an actor; False when the name is taken."""
    tx.forget()
    return bool(
        tx.run(
            """INSERT INTO actors (id, name, role, project_id, created_at)
               VALUES (:id, :name, :role, :project, :at) ON CONFLICT DO NOTHING""",
            id=actor.id,
            name=actor.name,
            role=actor.role.value,
            project=actor.project,
            at=actor.created_at,
        )
    )


def update(tx: Tx, actor: Actor) -> None:
    tx.forget()
    tx.run(
        "UPDATE actors SET name = :name, role = :role, project_id = :project, retired_at = :retired WHERE id = :id",
        id=actor.id,
        name=actor.name,
        role=actor.role.value,
        project=actor.project,
        retired=actor.retired_at,
    )


def get(tx: Tx, id: str) -> Actor | None:
    row = tx.one("SELECT * FROM actors WHERE id = :id", id=id)
    return None if row is None else _actor(row)


def list_(
    tx: Tx, *, role: str | None, retired: bool, project: str | None, after: str | None, limit: int
) -> list[Actor]:
    clause, params = "1 = 1", {}
    if role is not None:
        clause += " AND role = :role"
        params["role"] = role
    if not retired:
        clause += " AND retired_at IS NULL"
    if project is not None:
        clause += " AND (project_id IS NULL OR project_id = :project)"
        params["project"] = project
    if after is not None:
        clause += " AND id > :after"
        params["after"] = after
    rows = tx.all(f"SELECT * FROM actors WHERE {clause} ORDER BY id LIMIT :limit", limit=limit, **params)
    return [_actor(row) for row in rows]


def check_free(tx: Tx, actor: Actor, *, bound: str | None) -> None:
    """Refuse a name that nobody registered where somebody works under it outside the project `bound`.

    The person who owns the house is not registered: who is bound to a project must not take their name.
    """
    if bound is None:
        return
    elsewhere = tx.one(
        """SELECT 1 AS yes FROM verdicts WHERE actor = :id AND project_id <> :bound
           UNION ALL SELECT 1 FROM projects WHERE created_by = :id
           UNION ALL SELECT 1 FROM tokens WHERE actor = :id AND (project_id IS NULL OR project_id <> :bound)
           LIMIT 1""",
        id=actor.id,
        bound=bound,
    )
    if elsewhere is not None:
        raise MinutebookError("other_project", f"{actor.name} is at work outside this project.")


def _actor(row: dict[str, Any]) -> Actor:
    return Actor(
        id=row["id"],
        name=row["name"],
        role=Role(row["role"]),
        project=row["project_id"],
        created_at=row["created_at"],
        retired_at=row["retired_at"],
    )
