"""Sketches of standing texts, by which a write finds near duplicates without a full-text query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from minutebook.ledger.database import Tx

#: Rows looked at per question: a phrase that thousands share must not make a write slow.
_MOST_ROWS = 1_000


def add(tx: Tx, project: str, ref: str, sketch: Sequence[int]) -> None:
    if not sketch:
        return
    names = _names(sketch)
    tx.put(
        f"""INSERT INTO bands (project_id, band, ref)
            VALUES {", ".join(f"(:project, :{name}, :ref)" for name in names)} ON CONFLICT DO NOTHING""",
        project=project,
        ref=ref,
        **names,
    )


def remove(tx: Tx, project: str, ref: str, sketch: Sequence[int]) -> None:
    if not sketch:
        return
    names = _names(sketch)
    tx.put(
        f"""DELETE FROM bands
             WHERE project_id = :project AND ref = :ref AND band IN ({", ".join(":" + name for name in names)})""",
        project=project,
        ref=ref,
        **names,
    )


def _names(sketch: Sequence[int]) -> dict[str, int]:
    return {f"b{index}": band for index, band in enumerate(sketch)}


def sharing(tx: Tx, project: str, sketch: Sequence[int], limit: int) -> list[str]:
    """Refs that share a band, those that share the most first."""
    if not sketch:
        return []
    names = _names(sketch)
    # Counted here and not in SQL: sorting and grouping a handful of rows costs the database more than us.
    rows = tx.all(
        f"""SELECT ref FROM bands
             WHERE project_id = :project AND band IN ({", ".join(":" + name for name in names)}) LIMIT :most""",
        project=project,
        most=_MOST_ROWS,
        **names,
    )
    shared = Counter(row["ref"] for row in rows)
    return sorted(shared, key=lambda ref: (-shared[ref], ref))[:limit]


def clear(tx: Tx) -> None:
    tx.run("DELETE FROM bands")
