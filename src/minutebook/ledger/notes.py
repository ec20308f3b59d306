"""The memories that are shown as notes: what informs, of the scopes that have a folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from minutebook.ledger.database import Tx
from minutebook.ledger.memories import scope_of
from minutebook.model.memories import INFORMING, Type
from minutebook.model.scopes import Scope

_TYPES = ", ".join(f"'{member.value}'" for member in sorted(INFORMING))
_SHOWN = f"m.status = 'active' AND m.scope IN ('global', 'project', 'agent') AND m.type IN ({_TYPES})"
_COLUMNS = """m.id, m.project_id, m.scope, m.tier, m.agent, m.repo_id, m.session_id, m.type, m.slug, m.title,
              m.summary, m.revision, m.seq, m.updated_at"""
_BY_NAME = {member.value: member for member in Type}
#: Values that one statement is given.
_AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class Line:
    """A memory that is shown as a note: all but its text."""

    id: str
    scope: Scope
    type: Type
    slug: str
    title: str
    summary: str | None
    revision: int
    seq: int
    updated_at: str


def standing(tx: Tx, project: str) -> list[Line]:
    """Every memory of a project that is shown as a note, newest change first."""
    rows = tx.all(
        f"SELECT {_COLUMNS} FROM memories m WHERE m.project_id = :project AND {_SHOWN} ORDER BY m.seq DESC, m.id",
        project=project,
    )
    return _lines(rows)


def of_ids(tx: Tx, project: str, ids: Sequence[str]) -> list[Line]:
    """Those of the memories that are shown as notes of a project."""
    found: list[Line] = []
    for start in range(0, len(ids), _AT_ONCE):
        names = {f"i{index}": id for index, id in enumerate(ids[start : start + _AT_ONCE])}
        rows = tx.all(
            f"""SELECT {_COLUMNS} FROM memories m
                 WHERE m.id IN ({", ".join(":" + name for name in names)}) AND m.project_id = :project
                   AND {_SHOWN} ORDER BY m.seq DESC, m.id""",
            project=project,
            **names,
        )
        found += _lines(rows)
    return found


def newest(tx: Tx, scope: Scope, *, limit: int) -> tuple[list[Line], int]:
    """The notes of one scope that changed last, newest first, and how many there are in all."""
    place = {"project": scope.project, "scope": scope.kind.value, "tier": scope.tier, "agent": scope.agent}
    where = f"""m.project_id = :project AND m.scope = :scope AND m.tier = :tier AND m.agent = :agent
                AND {_SHOWN}"""
    rows = tx.all(
        f"SELECT {_COLUMNS} FROM memories m WHERE {where} ORDER BY m.seq DESC, m.id LIMIT :limit",
        limit=limit,
        **place,
    )
    count = tx.one(f"SELECT count(*) AS n FROM memories m WHERE {where}", **place)
    return _lines(rows), 0 if count is None else count["n"]


def changed(tx: Tx, since: int, until: int, *, most: int) -> list[str] | None:
    """The memories that were changed after one event and up to another; None where they are more than `most`."""
    rows = tx.all(
        """SELECT DISTINCT memory_id FROM revisions WHERE seq > :since AND seq <= :until
            ORDER BY memory_id LIMIT :limit""",
        since=since,
        until=until,
        limit=most + 1,
    )
    return None if len(rows) > most else [row["memory_id"] for row in rows]


def agents(tx: Tx, project: str) -> list[str]:
    """Whoever may have a folder of notes: every agent that is registered or has memory of its own here."""
    rows = tx.all(
        """SELECT id FROM actors UNION
           SELECT DISTINCT agent FROM memories WHERE project_id = :project AND scope = 'agent'
            ORDER BY 1""",
        project=project,
    )
    return [row["id"] for row in rows]


def _lines(rows: list[dict[str, Any]]) -> list[Line]:
    # Few scopes and many rows: each scope is made once.
    scopes: dict[tuple[str, str, str], Scope] = {}
    lines = []
    for row in rows:
        key = (row["scope"], row["tier"], row["agent"])
        scope = scopes.get(key)
        if scope is None:
            scope = scopes[key] = scope_of(row)
        lines.append(
            Line(
                id=row["id"],
                scope=scope,
                type=_BY_NAME[row["type"]],
                slug=row["slug"],
                title=row["title"],
                summary=row["summary"],
                revision=row["revision"],
                seq=row["seq"],
                updated_at=row["updated_at"],
            )
        )
    return lines
