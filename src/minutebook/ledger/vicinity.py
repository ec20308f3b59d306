"""Where episodes stand: what they are part of, and what comes before and after them there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minutebook.ledger.database import Tx
from minutebook.policy.fusion import Place

#: What an episode is part of: the material it was taken from, the run it was written in, the session it is bound to.
_OF = (
    ("source_id", "e.source_id IS NOT NULL"),
    ("run_id", "e.source_id IS NULL AND e.run_id IS NOT NULL"),
    ("session_id", "e.source_id IS NULL AND e.run_id IS NULL AND e.session_id <> ''"),
)


def places(tx: Tx, refs: Sequence[str], clause: str, params: dict[str, Any]) -> dict[str, Place]:
    """The places of those refs that are episodes with others around them, and of their neighbours.

    `clause` speaks about the memory `m`, and lets neighbours through as it does hits.
    """
    found = _placed(tx, refs, clause, params)
    around = {ref for place in found.values() for ref in (place.before, place.after) if ref is not None}
    return found | _placed(tx, sorted(around - found.keys()), clause, params)


def _placed(tx: Tx, refs: Sequence[str], clause: str, params: dict[str, Any]) -> dict[str, Place]:
    if not refs:
        return {}
    names = {f"e{index}": ref for index, ref in enumerate(refs)}
    found: dict[str, Place] = {}
    for column, fits in _OF:
        beside = f"""SELECT {{end}}(m.id) FROM memories m
                      WHERE m.{column} = e.{column} AND m.id {{side}} e.id AND m.type = 'episode' AND {clause}"""
        rows = tx.all(
            f"""SELECT e.id, e.{column} AS container, e.author,
                       ({beside.format(end="max", side="<")}) AS before_id,
                       ({beside.format(end="min", side=">")}) AS after_id
                  FROM memories e
                 WHERE e.id IN ({", ".join(":" + name for name in names)})
                   AND e.type = 'episode' AND {fits}""",
            **names,
            **params,
        )
        for row in rows:
            place = Place(row["container"], row["before_id"], row["after_id"], row["author"])
            if place.before is not None or place.after is not None:
                found[row["id"]] = place
    return found
