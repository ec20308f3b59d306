"""Listings of memories: what a reader may see, narrowed and ordered, a line each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from minutebook.ledger.database import Tx
from minutebook.ledger.memories import from_row, governing_types, scope_of
from minutebook.ledger.plain import load_tags
from minutebook.ledger.visibility import Reader, visible
from minutebook.model.memories import Importance, Memory, MemoryLine, Type
from minutebook.model.scopes import Scope


@dataclass(frozen=True, slots=True)
class Filter:
    """What a listing is narrowed to."""

    governing: bool | None = None
    type: str | None = None
    status: str | None = "active"
    scope: str | None = None
    agent: str | None = None
    author: str | None = None
    tags: tuple[str, ...] = ()
    importance: str | None = None
    run: str | None = None
    since: str | None = None
    until: str | None = None


def list_(
    tx: Tx, reader: Reader, wanted: Filter, *, after: str | None, limit: int, until_seq: int | None = None
) -> list[MemoryLine]:
    """Newest first; `after` is the id of the last one seen. `until_seq` leaves out what changed after it."""
    clause, params = visible(reader)
    clause += narrow(wanted, params)
    if after is not None:
        clause += " AND m.id < :after"
        params["after"] = after
    if until_seq is not None:
        clause += " AND m.seq <= :until_seq"
        params["until_seq"] = until_seq
    rows = tx.all(
        f"""SELECT {_LINE}, CASE WHEN {CONTESTED} THEN 1 ELSE 0 END AS contested
              FROM memories m WHERE {clause} ORDER BY m.id DESC LIMIT :limit""",
        limit=limit,
        **params,
    )
    return [_line(row) for row in rows]


#: A standing memory that another standing memory contradicts. Asked of the links, so that it never goes stale.
#: What one project says against a global memory is that project's affair: the others must not hear of it.
CONTESTED = """m.status = 'active' AND EXISTS (
    SELECT 1 FROM memory_links l JOIN memories o
        ON o.id = CASE WHEN l.from_id = m.id THEN l.to_id ELSE l.from_id END
     WHERE l.relation = 'contradicts' AND (l.from_id = m.id OR l.to_id = m.id) AND o.status = 'active'
       AND o.project_id IN (m.project_id, 'global'))"""


def contested(tx: Tx, id: str) -> bool:
    row = tx.one(f"SELECT 1 AS yes FROM memories m WHERE m.id = :id AND {CONTESTED}", id=id)
    return row is not None


def narrow(wanted: Filter, params: dict[str, Any]) -> str:
    clause = ""
    if wanted.governing is not None:
        clause += f" AND m.type {'IN' if wanted.governing else 'NOT IN'} ({governing_types()})"
    if wanted.status == "contradicted":
        clause += f" AND {CONTESTED}"
    elif wanted.status is not None and wanted.status != "all":
        clause += " AND m.status = :status"
        params["status"] = wanted.status
    for column in ("type", "scope", "agent", "author", "importance"):
        value = getattr(wanted, column)
        if value is not None:
            clause += f" AND m.{column} = :{column}"
            params[column] = value
    if wanted.run is not None:
        clause += " AND m.run_id = :run"
        params["run"] = wanted.run
    if wanted.since is not None:
        clause += " AND m.updated_at >= :since"
        params["since"] = wanted.since
    if wanted.until is not None:
        clause += " AND m.updated_at <= :until"
        params["until"] = wanted.until
    for index, tag in enumerate(wanted.tags):
        clause += f" AND EXISTS (SELECT 1 FROM tags w WHERE w.ref = m.id AND w.tag = :tag{index})"
        params[f"tag{index}"] = tag
    return clause


_LINE = """m.id, m.project_id, m.scope, m.tier, m.agent, m.repo_id, m.session_id, m.type, m.slug, m.title,
    m.status, m.importance, m.author, m.tags, m.revision, m.created_at, m.updated_at"""


def standing_in(tx: Tx, reader: Reader) -> list[tuple[Scope, MemoryLine]]:
    """Every active memory that the reader may see with its scope, oldest first."""
    clause, params = visible(reader)
    rows = tx.all(
        f"""SELECT {_LINE}, 0 AS contested FROM memories m
             WHERE m.status = 'active' AND {clause} ORDER BY m.created_seq""",
        **params,
    )
    return [(scope_of(row), _line(row)) for row in rows]


@dataclass(frozen=True, slots=True)
class Namesake:
    """What tells which memory hides which."""

    id: str
    type: str
    slug: str


def namesakes(
    tx: Tx, reader: Reader, ids: Sequence[str], *, until_seq: int | None = None
) -> list[tuple[int, Namesake]]:
    """Active memories the reader may see that bear the type and slug of one of these, with their depth.

    `until_seq` leaves out what changed after it.
    """
    if not ids:
        return []
    names = {f"i{index}": id for index, id in enumerate(ids)}
    clause, params = visible(reader)
    if until_seq is not None:
        clause += " AND m.seq <= :until_seq"
        params["until_seq"] = until_seq
    # From the few that are named to those of the same name: the other way round walks through everything.
    rows = tx.all(
        f"""SELECT m.id, m.type, m.slug, m.project_id, m.scope, m.tier, m.agent, m.repo_id, m.session_id
              FROM memories f CROSS JOIN memories m {tx.dialect.by_name}
             WHERE f.id IN ({", ".join(":" + name for name in names)}) AND m.status = 'active'
               AND m.project_id IN (:reader_project, 'global') AND m.slug = f.slug AND m.type = f.type
               AND {clause}""",
        **names,
        **params,
    )
    return [(reader.depth(scope_of(row)), Namesake(row["id"], row["type"], row["slug"])) for row in rows]


def with_evidence(tx: Tx, reader: Reader, *, after: str | None, limit: int) -> list[Memory]:
    """Active memories that rest on something, the newest first; `after` is the id of the last one seen."""
    clause, params = visible(reader)
    if after is not None:
        clause += " AND m.id < :after"
        params["after"] = after
    rows = tx.all(
        f"""SELECT m.* FROM memories m WHERE {clause} AND m.status = 'active' AND m.evidence <> '[]'
             ORDER BY m.id DESC LIMIT :limit""",
        limit=limit,
        **params,
    )
    return [from_row(row) for row in rows]


def _line(row: dict[str, Any]) -> MemoryLine:
    return MemoryLine(
        id=row["id"],
        type=Type(row["type"]),
        slug=row["slug"],
        title=row["title"],
        scope=str(scope_of(row)),
        status="contradicted" if row["contested"] else row["status"],
        importance=Importance(row["importance"]),
        author=row["author"],
        tags=load_tags(row["tags"]),
        revision=row["revision"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )
