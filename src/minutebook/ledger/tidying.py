"""What a consolidation and an audit read: all that stands in a project, some at a time, each in a moment of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from minutebook.ledger.database import Row, Tx
from minutebook.ledger.memories import from_row
from minutebook.model.memories import Memory

#: Ids that one statement names.
_NAMED = 400


@dataclass(frozen=True, slots=True)
class Page:
    """Some of what stands, each with its claim, and where the next page begins."""

    memories: list[tuple[Memory, str]]
    after: tuple[str, str] | None


def standing(tx: Tx, project: str, after: tuple[str, str], limit: int) -> Page:
    """Active memories of a project in the order of an index; `after` is the type and id of the last one."""
    rows = tx.all(
        """SELECT * FROM memories
            WHERE project_id = :project AND status = 'active' AND (type, id) > (:type, :id)
            ORDER BY type, id LIMIT :limit""",
        project=project,
        type=after[0],
        id=after[1],
        limit=limit,
    )
    found = [(from_row(row), row["claim"]) for row in rows]
    return Page(found, (rows[-1]["type"], rows[-1]["id"]) if len(rows) == limit else None)


def banded(tx: Tx, project: str, after: tuple[int, str] | None, limit: int) -> list[Row]:
    """Sketches of a project (band, ref) in the order of their key; those that share a band stand together."""
    clause, params = "", {}
    if after is not None:
        clause = " AND (band, ref) > (:band, :ref)"
        params = {"band": after[0], "ref": after[1]}
    return tx.all(
        f"SELECT band, ref FROM bands WHERE project_id = :project{clause} ORDER BY band, ref LIMIT :limit",
        project=project,
        limit=limit,
        **params,
    )


def by_ids(tx: Tx, ids: Sequence[str]) -> dict[str, Memory]:
    """Memories by their ids, as many as are there."""
    found: dict[str, Memory] = {}
    for start in range(0, len(ids), _NAMED):
        names = {f"i{index}": id for index, id in enumerate(ids[start : start + _NAMED])}
        rows = tx.all(
            f"SELECT * FROM memories WHERE id IN ({', '.join(':' + name for name in names)})", **names
        )
        found |= {row["id"]: from_row(row) for row in rows}
    return found


def slots(tx: Tx, project: str, limit: int) -> list[tuple[str, str]]:
    """Entities and attributes that more than one active memory of a project fills."""
    rows = tx.all(
        """SELECT entity, attribute FROM memories
            WHERE project_id = :project AND status = 'active' AND entity IS NOT NULL AND attribute IS NOT NULL
            GROUP BY entity, attribute HAVING count(*) > 1 ORDER BY entity, attribute LIMIT :limit""",
        project=project,
        limit=limit,
    )
    return [(row["entity"], row["attribute"]) for row in rows]


def filling(tx: Tx, project: str, entity: str, attribute: str, limit: int) -> list[Memory]:
    rows = tx.all(
        """SELECT * FROM memories
            WHERE entity = :entity AND attribute = :attribute AND project_id = :project AND status = 'active'
            ORDER BY id DESC LIMIT :limit""",
        entity=entity,
        attribute=attribute,
        project=project,
        limit=limit,
    )
    return [from_row(row) for row in rows]


def disagreeing(tx: Tx, project: str) -> frozenset[tuple[str, str]]:
    """Pairs of memories that are linked as contradicting each other already, the smaller id first."""
    rows = tx.all(
        """SELECT l.from_id, l.to_id FROM memory_links l JOIN memories m ON m.id = l.from_id
            WHERE l.relation = 'contradicts' AND m.project_id = :project""",
        project=project,
    )
    return frozenset((min(row["from_id"], row["to_id"]), max(row["from_id"], row["to_id"])) for row in rows)


#: A memory `m` that nobody was shown or found since :before.
_UNSEEN = """NOT EXISTS (SELECT 1 FROM signals g WHERE g.ref = m.id AND g.recalled_at >= :before)
    AND NOT EXISTS (SELECT 1 FROM sightings s JOIN runs r ON r.id = s.run_id
                     WHERE s.memory_id = m.id AND r.started_at >= :before)"""


def unused(tx: Tx, project: str, before: str, limit: int) -> list[Row]:
    """Active memories (id, revision) that are older than a time and that nobody was shown since, oldest first."""
    return tx.all(
        f"""SELECT m.id, m.revision, m.type, m.importance FROM memories m
             WHERE m.project_id = :project AND m.status = 'active' AND m.updated_at < :before
               AND m.type IN ('learning', 'pattern', 'update', 'feedback', 'project', 'artifact', 'episode')
               AND m.importance <> 'high' AND {_UNSEEN}
             ORDER BY m.updated_at, m.id LIMIT :limit""",
        project=project,
        before=before,
        limit=limit,
    )


def with_evidence(tx: Tx, project: str, limit: int) -> list[Memory]:
    """Active memories that rest on a file, the newest first."""
    rows = tx.all(
        """SELECT * FROM memories WHERE project_id = :project AND status = 'active' AND evidence <> '[]'
            ORDER BY id DESC LIMIT :limit""",
        project=project,
        limit=limit,
    )
    return [from_row(row) for row in rows]
