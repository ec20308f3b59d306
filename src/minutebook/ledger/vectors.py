"""Vectors of memories: derived rows, each of one space, which follow the words and never lead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from minutebook.ledger import memories
from minutebook.ledger.database import Tx
from minutebook.model.meaning import Space
from minutebook.model.memories import Memory, Status


@dataclass(frozen=True, slots=True)
class Vector:
    """The numbers of one memory, of the revision that they were made of."""

    ref: str
    project: str
    revision: int
    #: of the passages that were put into numbers
    digest: str
    numbers: bytes


@dataclass(frozen=True, slots=True)
class Wanting:
    """A memory whose numbers are missing or may be old; of what, and in which project, those that it has are."""

    memory: Memory
    digest: str | None
    project: str | None


# --- spaces ------------------------------------------------------------------------------------------


def enter(tx: Tx, space: Space, at: str) -> None:
    """Say that a space is in use."""
    tx.run(
        """INSERT INTO spaces (id, name, digest, dimensions, created_at, used_at)
           VALUES (:id, :name, :digest, :dimensions, :at, :at)
           ON CONFLICT (id) DO UPDATE SET used_at = excluded.used_at""",
        id=space.id,
        name=space.name,
        digest=space.digest,
        dimensions=space.dimensions,
        at=at,
    )


def unused(tx: Tx, since: str) -> list[str]:
    """Spaces that nobody has used since."""
    return [row["id"] for row in tx.all("SELECT id FROM spaces WHERE used_at < :since", since=since)]


def shrink(tx: Tx, space: str, most: int) -> int:
    """Remove some vectors of a space, and the space with its last; how many were removed."""
    removed = tx.run(
        """DELETE FROM vectors WHERE doc IN (SELECT doc FROM vectors WHERE space = :space LIMIT :most)""",
        space=space,
        most=most,
    )
    if removed < most:
        tx.run("DELETE FROM spaces WHERE id = :space", space=space)
    return removed


# --- what is to be done --------------------------------------------------------------------------------


def behind(tx: Tx, space: str, *, before: str | None, limit: int) -> list[str]:
    """Memories, the newest first, whose vector is missing or of another revision; `before` is the last one seen."""
    rows = tx.all(
        f"""SELECT m.id FROM memories m LEFT JOIN vectors v ON v.ref = m.id AND v.space = :space
             WHERE m.status <> 'erased' AND (v.ref IS NULL OR v.revision <> m.revision)
                   {"" if before is None else "AND m.id < :before"}
             ORDER BY m.id DESC LIMIT :limit""",
        space=space,
        limit=limit,
        **({} if before is None else {"before": before}),
    )
    return [row["id"] for row in rows]


def touched(tx: Tx, after: int, limit: int) -> tuple[list[str], list[str], int]:
    """Memories that settled events after one tell of, those of them that were erased, and the last event read."""
    rows = tx.all(
        """SELECT seq, kind, subject FROM events WHERE seq > :after AND seq <= :settled
            ORDER BY seq LIMIT :limit""",
        after=after,
        settled=tx.settled,
        limit=limit,
    )
    subjects = list(dict.fromkeys(row["subject"] for row in rows))
    erased = [row["subject"] for row in rows if row["kind"] == "memory.erased"]
    return subjects, erased, rows[-1]["seq"] if rows else after


def wanting(tx: Tx, space: str, refs: Sequence[str]) -> list[Wanting]:
    """Those of the refs that are memories with words and have no vector of their present revision."""
    if not refs:
        return []
    names = {f"r{index}": ref for index, ref in enumerate(refs)}
    rows = tx.all(
        f"""SELECT m.*, v.digest AS vector_digest, v.project_id AS vector_project
              FROM memories m LEFT JOIN vectors v ON v.ref = m.id AND v.space = :space
             WHERE m.id IN ({", ".join(":" + name for name in names)})
               AND m.status <> 'erased' AND (v.ref IS NULL OR v.revision <> m.revision)""",
        space=space,
        **names,
    )
    return [Wanting(memories.from_row(row), row["vector_digest"], row["vector_project"]) for row in rows]


def count(tx: Tx, space: str | None, project: str | None = None) -> tuple[int, int]:
    """How many memories have words, and how many of those have no vector in the space; of a project or of all."""
    only = "" if project is None else "AND m.project_id = :project"
    given = {} if project is None else {"project": project}
    row = tx.one(
        f"""SELECT count(*) AS n, count(v.ref) AS held
              FROM memories m LEFT JOIN vectors v ON v.ref = m.id AND v.space = :space
             WHERE m.status <> 'erased' {only}""",
        space=space or "",
        **given,
    )
    assert row is not None
    return row["n"], row["n"] - row["held"]


# --- writing -------------------------------------------------------------------------------------------


def put(tx: Tx, space: str, vector: Vector) -> bool:
    """Store a memory's numbers, unless it has moved on or its words are gone since they were read."""
    if not _stands(tx, vector.ref, vector.revision):
        return False
    tx.run("DELETE FROM vectors WHERE ref = :ref AND space = :space", ref=vector.ref, space=space)
    tx.run(
        """INSERT INTO vectors (ref, space, project_id, revision, digest, numbers)
           VALUES (:ref, :space, :project, :revision, :digest, :numbers)""",
        ref=vector.ref,
        space=space,
        project=vector.project,
        revision=vector.revision,
        digest=vector.digest,
        numbers=vector.numbers,
    )
    return True


def keep(tx: Tx, space: str, ref: str, revision: int) -> None:
    """Say that the numbers of a memory hold for a newer revision too: its words are the same."""
    if _stands(tx, ref, revision):
        tx.run(
            "UPDATE vectors SET revision = :revision WHERE ref = :ref AND space = :space",
            revision=revision,
            ref=ref,
            space=space,
        )


def _stands(tx: Tx, ref: str, revision: int) -> bool:
    row = tx.one("SELECT status, revision FROM memories WHERE id = :ref", ref=ref)
    return row is not None and row["status"] != Status.ERASED and row["revision"] == revision


def remove(tx: Tx, ref: str) -> None:
    """Take the numbers of a memory away, of every space."""
    tx.run("DELETE FROM vectors WHERE ref = :ref", ref=ref)


# --- reading -------------------------------------------------------------------------------------------


def heads(tx: Tx, space: str, projects: Sequence[str] | None) -> dict[str, int]:
    """The newest vector of each project that has one; of those named, or of all."""
    if not projects and projects is not None:
        return {}
    clause, given = "", {}
    if projects is not None:
        given = {f"p{index}": project for index, project in enumerate(projects)}
        clause = f"WHERE p.id IN ({', '.join(':' + name for name in given)})"
    # Project by project: a grouping would walk through the whole index.
    rows = tx.all(
        f"""SELECT p.id, (SELECT max(v.doc) FROM vectors v WHERE v.space = :space AND v.project_id = p.id) AS doc
              FROM projects p {clause}""",
        space=space,
        **given,
    )
    return {row["id"]: row["doc"] for row in rows if row["doc"] is not None}


def after(tx: Tx, space: str, project: str, doc: int, limit: int) -> list[tuple[int, str, bytes]]:
    """Vectors of a project that are newer than one, in order."""
    rows = tx.all(
        """SELECT doc, ref, numbers FROM vectors
            WHERE space = :space AND project_id = :project AND doc > :doc ORDER BY doc LIMIT :limit""",
        space=space,
        project=project,
        doc=doc,
        limit=limit,
    )
    return [(row["doc"], row["ref"], row["numbers"]) for row in rows]


def numbers_of(tx: Tx, docs: Sequence[int]) -> dict[int, bytes]:
    """The numbers of some vectors."""
    if not docs:
        return {}
    listed = ", ".join(str(int(doc)) for doc in docs)
    rows = tx.all(f"SELECT doc, numbers FROM vectors WHERE doc IN ({listed})")
    return {row["doc"]: row["numbers"] for row in rows}
