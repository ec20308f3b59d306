"""Projects, the workspaces seen with their id, and their repositories."""

from __future__ import annotations

from typing import Any

from minutebook.ledger.database import Tx
from minutebook.model.projects import Project, Repo, Workspace


def insert(tx: Tx, project: Project) -> None:
    tx.forget()
    tx.run(
        """INSERT INTO projects (id, slug, name, created_by, created_at)
           VALUES (:id, :slug, :name, :created_by, :created_at)""",
        id=project.id,
        slug=project.slug,
        name=project.name,
        created_by=project.created_by,
        created_at=project.created_at,
    )


def update(tx: Tx, project: Project) -> None:
    tx.forget()
    tx.run(
        "UPDATE projects SET slug = :slug, name = :name, archived_at = :archived_at WHERE id = :id",
        id=project.id,
        slug=project.slug,
        name=project.name,
        archived_at=project.archived_at,
    )


def find(tx: Tx, ref: str) -> Project | None:
    """A project by id or slug."""
    row = tx.one("SELECT * FROM projects WHERE id = :ref OR slug = :ref", ref=ref)
    return None if row is None else _project(row)


def slugs_like(tx: Tx, slug: str) -> set[str]:
    rows = tx.all("SELECT slug FROM projects WHERE slug >= :slug AND slug < :end", slug=slug, end=slug + "~")
    return {row["slug"] for row in rows}


def list_(tx: Tx, *, archived: bool, only: str | None, after: str | None, limit: int) -> list[Project]:
    clause, params = "1 = 1", {}
    if not archived:
        clause += " AND archived_at IS NULL"
    if only is not None:
        clause += " AND id IN (:only, 'global')"
        params["only"] = only
    if after is not None:
        clause += " AND id > :after"
        params["after"] = after
    rows = tx.all(f"SELECT * FROM projects WHERE {clause} ORDER BY id LIMIT :limit", limit=limit, **params)
    return [_project(row) for row in rows]


def see_workspace(tx: Tx, *, project: str, host: str, path: str, at: str) -> None:
    tx.run(
        """INSERT INTO workspaces (project_id, host, path, first_seen_at, last_seen_at)
           VALUES (:project, :host, :path, :at, :at)
           ON CONFLICT (project_id, host, path) DO UPDATE SET last_seen_at = excluded.last_seen_at""",
        project=project,
        host=host,
        path=path,
        at=at,
    )


def forget_workspace(tx: Tx, *, project: str, host: str, path: str) -> bool:
    return bool(
        tx.run(
            "DELETE FROM workspaces WHERE project_id = :project AND host = :host AND path = :path",
            project=project,
            host=host,
            path=path,
        )
    )


def workspaces(tx: Tx, project: str | None = None) -> list[Workspace]:
    clause, params = ("WHERE project_id = :project", {"project": project}) if project else ("", {})
    rows = tx.all(f"SELECT * FROM workspaces {clause} ORDER BY project_id, host, path", **params)
    return [
        Workspace(row["project_id"], row["host"], row["path"], row["first_seen_at"], row["last_seen_at"])
        for row in rows
    ]


def add_repo(tx: Tx, repo: Repo) -> None:
    tx.run(
        """INSERT INTO repos (id, project_id, slug, remote, created_at)
           VALUES (:id, :project, :slug, :remote, :at)""",
        id=repo.id,
        project=repo.project,
        slug=repo.slug,
        remote=repo.remote,
        at=repo.created_at,
    )


def find_repo(tx: Tx, project: str, ref: str) -> Repo | None:
    row = tx.one(
        "SELECT * FROM repos WHERE project_id = :project AND (id = :ref OR slug = :ref)",
        project=project,
        ref=ref,
    )
    return None if row is None else _repo(row)


def repos(tx: Tx, project: str) -> list[Repo]:
    rows = tx.all("SELECT * FROM repos WHERE project_id = :project ORDER BY slug", project=project)
    return [_repo(row) for row in rows]


def _project(row: dict[str, Any]) -> Project:
    return Project(
        id=row["id"],
        slug=row["slug"],
        name=row["name"],
        created_by=row["created_by"],
        created_at=row["created_at"],
        archived_at=row["archived_at"],
    )


def _repo(row: dict[str, Any]) -> Repo:
    return Repo(row["id"], row["project_id"], row["slug"], row["remote"], row["created_at"])
