"""Revisions: a memory as each write left it."""

from __future__ import annotations

from minutebook.ledger.database import Tx
from minutebook.ledger.plain import dump_state, load_state
from minutebook.model.memories import Memory, Revision


def keep(tx: Tx, memory: Memory, verdict: str) -> None:
    tx.put(
        """INSERT INTO revisions (memory_id, revision, seq, verdict_id, state)
           VALUES (:id, :revision, :seq, :verdict, :state)""",
        id=memory.id,
        revision=memory.revision,
        seq=memory.seq,
        verdict=verdict,
        state=dump_state(memory),
    )


def of(tx: Tx, id: str) -> list[Revision]:
    rows = tx.all(
        """SELECT r.memory_id, r.revision, r.seq, r.verdict_id, r.state, v.at, v.actor, v.op
             FROM revisions r JOIN verdicts v ON v.id = r.verdict_id
            WHERE r.memory_id = :id ORDER BY r.revision""",
        id=id,
    )
    return [
        Revision(
            memory=row["memory_id"],
            revision=row["revision"],
            seq=row["seq"],
            verdict=row["verdict_id"],
            at=row["at"],
            actor=row["actor"],
            op=row["op"],
            state=load_state(row["state"], id=row["memory_id"], revision=row["revision"], seq=row["seq"]),
        )
        for row in rows
    ]


def at(tx: Tx, id: str, revision: int) -> Memory | None:
    row = tx.one(
        "SELECT revision, seq, state FROM revisions WHERE memory_id = :id AND revision = :revision",
        id=id,
        revision=revision,
    )
    return None if row is None else load_state(row["state"], id=id, revision=row["revision"], seq=row["seq"])


def verdict_of(tx: Tx, id: str, revision: int) -> str | None:
    """The verdict that made a revision."""
    row = tx.one(
        "SELECT verdict_id FROM revisions WHERE memory_id = :id AND revision = :revision",
        id=id,
        revision=revision,
    )
    return None if row is None else row["verdict_id"]
