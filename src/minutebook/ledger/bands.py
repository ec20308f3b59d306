"""Sketches of standing texts, by which a write finds near duplicates without a full-text query."""

from __future__ import annotations

from collections.abc import Sequence

from minutebook.ledger.database import Tx


def add(tx: Tx, project: str, ref: str, sketch: Sequence[int]) -> None:
    for band in sketch:
        tx.run(
            "INSERT INTO bands (project_id, band, ref) VALUES (:project, :band, :ref) ON CONFLICT DO NOTHING",
            project=project,
            band=band,
            ref=ref,
        )


def remove(tx: Tx, project: str, ref: str, sketch: Sequence[int]) -> None:
    for band in sketch:
        tx.run(
            "DELETE FROM bands WHERE project_id = :project AND band = :band AND ref = :ref",
            project=project,
            band=band,
            ref=ref,
        )


def sharing(tx: Tx, project: str, sketch: Sequence[int], limit: int) -> list[str]:
    """Refs that share a band, those that share the most first."""
    if not sketch:
        return []
    names = [f"b{index}" for index in range(len(sketch))]
    rows = tx.all(
        f"""SELECT ref, count(*) AS shared FROM bands
             WHERE project_id = :project AND band IN ({", ".join(":" + name for name in names)})
             GROUP BY ref ORDER BY shared DESC, ref LIMIT :limit""",
        project=project,
        limit=limit,
        **dict(zip(names, sketch, strict=True)),
    )
    return [row["ref"] for row in rows]


def clear(tx: Tx) -> None:
    tx.run("DELETE FROM bands")
