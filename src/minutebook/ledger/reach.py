"""What a project may read of other projects: by a link to one memory, or by a link to a whole project.

Only what stands there for the whole project is ever within reach: never an agent's own memory, a session's or a
repository's, and nothing that was retired, replaced or moved. What governs there is information here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from minutebook.ledger.database import Row, Tx
from minutebook.ledger.visibility import Reader
from minutebook.model.memories import Memory, Status
from minutebook.model.projects import Reaching
from minutebook.model.scopes import ScopeKind

#: What every memory must be to be seen from another project.
_SHOWABLE = "{m}.scope = 'project' AND {m}.status = 'active'"


@dataclass(frozen=True, slots=True)
class Reach:
    """The links of one project at one place in the log."""

    #: projects that are linked whole: their ids, and what each is called
    projects: Mapping[str, str] = field(default_factory=dict)
    #: single memories that a link leads to: their ids, and the project that each must be in
    memories: Mapping[str, str] = field(default_factory=dict)
    #: what each of these projects is called
    called: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.projects or self.memories)

    def covers(self, memory: Memory) -> bool:
        """Whether a memory is within reach, as it stands or stood."""
        if memory.scope.kind is not ScopeKind.PROJECT or memory.status is not Status.ACTIVE:
            return False
        home = memory.scope.project
        return home in self.projects or self.memories.get(memory.id) == home


def of(tx: Tx, project: str, seq: int | None = None) -> Reach:
    """What a project may read of others: now, or when the log had reached `seq`."""
    clause, params = "ended_seq IS NULL", {}
    if seq is not None:
        clause = "seq <= :seq AND (ended_seq IS NULL OR ended_seq > :seq)"
        params["seq"] = seq
    rows = tx.all(
        f"SELECT other_id, other_slug, memory_id FROM reaches WHERE project_id = :project AND {clause}",
        project=project,
        **params,
    )
    if not rows:
        return Reach()
    rows.sort(key=lambda row: (row["other_slug"], row["other_id"], row["memory_id"]))
    return Reach(
        projects={row["other_id"]: row["other_slug"] for row in rows if not row["memory_id"]},
        memories={row["memory_id"]: row["other_id"] for row in rows if row["memory_id"]},
        called={row["other_id"]: row["other_slug"] for row in rows},
    )


def reached(reader: Reader, alias: str = "m") -> tuple[str, dict[str, Any]]:
    """A clause over memories of other projects that the reader's project is linked to, and its parameters.

    Beside `visible`, never instead of it: the two never speak of the same row. Ask `of` first; where that is
    empty there is nothing to look for.
    """
    return (
        f"""{_SHOWABLE.format(m=alias)} AND EXISTS (
            SELECT 1 FROM reaches r
             WHERE r.project_id = :reader_project AND r.ended_seq IS NULL AND r.other_id = {alias}.project_id
               AND r.memory_id IN ('', {alias}.id))""",
        {"reader_project": reader.project},
    )


def elsewhere(reader: Reader, alias: str = "m") -> tuple[str, dict[str, Any]]:
    """A clause over what stands in any other project for all of it; only for callers who are bound to none."""
    return (
        f"""{_SHOWABLE.format(m=alias)} AND {alias}.project_id NOT IN (:reader_project, 'global')
            AND EXISTS (SELECT 1 FROM projects o WHERE o.id = {alias}.project_id AND o.archived_at IS NULL)""",
        {"reader_project": reader.project},
    )


def seen(tx: Tx, id: str, reader: Reader) -> Row | None:
    """The row of a memory of another project, if the reader's project is linked to it."""
    clause, params = reached(reader)
    return tx.one(f"SELECT m.* FROM memories m WHERE m.id = :id AND {clause}", id=id, **params)


def seen_of(tx: Tx, ids: Collection[str], reader: Reader) -> set[str]:
    """Those of the ids that are memories of other projects within the reader's reach."""
    if not ids:
        return set()
    names = {f"i{index}": id for index, id in enumerate(sorted(ids))}
    clause, params = reached(reader)
    rows = tx.all(
        f"SELECT m.id FROM memories m WHERE m.id IN ({', '.join(':' + name for name in names)}) AND {clause}",
        **names,
        **params,
    )
    return {row["id"] for row in rows}


def named(tx: Tx, slug: str, project: str, reader: Reader) -> list[Row]:
    """Rows of a slug in another project, as far as the reader's project is linked to them."""
    clause, params = reached(reader)
    return tx.all(
        f"""SELECT m.* FROM memories m
             WHERE m.slug = :slug AND m.project_id = :other AND {clause} ORDER BY m.id""",
        slug=slug,
        other=project,
        **params,
    )


# --- opening and closing ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Act:
    """Who opens or closes a link, when, and at which place in the log."""

    by: str
    at: str
    seq: int


@dataclass(frozen=True, slots=True)
class Way:
    """From a project to another one, or to one memory of it."""

    project: str
    other: str
    memory: str = ""
    from_id: str = ""
    relation: str = ""

    def params(self) -> dict[str, str]:
        return {
            "project": self.project,
            "other": self.other,
            "memory": self.memory,
            "from_id": self.from_id,
            "relation": self.relation,
        }


_THIS_WAY = """project_id = :project AND other_id = :other AND memory_id = :memory AND from_id = :from_id
               AND relation = :relation"""


def open_(tx: Tx, id: str, way: Way, slug: str, act: Act) -> bool:
    """Let a project read; False when it may already. `slug` is what the other project is called."""
    tx.forget()
    return bool(
        tx.run(
            """INSERT INTO reaches (id, project_id, other_id, other_slug, memory_id, from_id, relation,
                                    created_by, created_at, seq)
               VALUES (:id, :project, :other, :slug, :memory, :from_id, :relation, :by, :at, :seq)
               ON CONFLICT DO NOTHING""",
            id=id,
            slug=slug,
            by=act.by,
            at=act.at,
            seq=act.seq,
            **way.params(),
        )
    )


def close(tx: Tx, way: Way, act: Act) -> bool:
    """Let it read no more, also when the other project comes back; False when it may not anyway."""
    tx.forget()
    ended = tx.run(
        f"""UPDATE reaches SET ended_by = :by, ended_at = :at, ended_seq = :seq
             WHERE {_THIS_WAY} AND ended_seq IS NULL""",
        by=act.by,
        at=act.at,
        seq=act.seq,
        **way.params(),
    )
    given_up = tx.run(
        f"UPDATE reaches SET paused_at = NULL WHERE {_THIS_WAY} AND paused_at IS NOT NULL", **way.params()
    )
    return bool(ended or given_up)


def way_of(tx: Tx, from_id: str, relation: str, memory: str) -> Way | None:
    """The link from a memory to one of another project, also one that waits for that project to come back."""
    row = tx.one(
        """SELECT project_id, other_id FROM reaches
            WHERE memory_id = :memory AND memory_id <> '' AND from_id = :from_id AND relation = :relation
              AND (ended_seq IS NULL OR paused_at IS NOT NULL)
            ORDER BY seq DESC LIMIT 1""",
        memory=memory,
        from_id=from_id,
        relation=relation,
    )
    return None if row is None else Way(row["project_id"], row["other_id"], memory, from_id, relation)


def way_to(tx: Tx, project: str, other: str) -> Way | None:
    """The link to a whole project, by its id or what it is called, also one that waits for it to come back."""
    row = tx.one(
        """SELECT other_id FROM reaches
            WHERE project_id = :project AND memory_id = '' AND (other_id = :other OR other_slug = :other)
              AND (ended_seq IS NULL OR paused_at IS NOT NULL)
            ORDER BY seq DESC LIMIT 1""",
        project=project,
        other=other,
    )
    return None if row is None else Way(project, row["other_id"])


def count(tx: Tx, project: str) -> int:
    """How many links a project has."""
    row = tx.one(
        "SELECT count(*) AS n FROM reaches WHERE project_id = :project AND ended_seq IS NULL", project=project
    )
    return row["n"] if row else 0


def pause(tx: Tx, other: str, act: Act) -> None:
    """End every link to a project that is put away, to be taken up again when it comes back."""
    tx.forget()
    tx.run(
        """UPDATE reaches SET ended_by = :by, ended_at = :at, ended_seq = :seq, paused_at = :at
            WHERE other_id = :other AND ended_seq IS NULL""",
        other=other,
        by=act.by,
        at=act.at,
        seq=act.seq,
    )


def resume(tx: Tx, other: str, slug: str, act: Act, new_id: Callable[[], str]) -> None:
    """Take up the links to a project that came back."""
    tx.forget()
    rows = tx.all("SELECT * FROM reaches WHERE other_id = :other AND paused_at IS NOT NULL", other=other)
    _begin_anew(tx, rows, slug, act, new_id)
    tx.run("UPDATE reaches SET paused_at = NULL WHERE other_id = :other", other=other)


def rename(tx: Tx, other: str, slug: str, act: Act, new_id: Callable[[], str]) -> None:
    """Have every link to a project bear its new name, from this place in the log on."""
    rows = tx.all("SELECT * FROM reaches WHERE other_id = :other AND ended_seq IS NULL", other=other)
    if not rows:
        return
    tx.forget()
    tx.run(
        """UPDATE reaches SET ended_by = :by, ended_at = :at, ended_seq = :seq
            WHERE other_id = :other AND ended_seq IS NULL""",
        other=other,
        by=act.by,
        at=act.at,
        seq=act.seq,
    )
    _begin_anew(tx, rows, slug, act, new_id)


def _begin_anew(tx: Tx, rows: list[Row], slug: str, act: Act, new_id: Callable[[], str]) -> None:
    for row in sorted(rows, key=lambda row: row["id"]):
        way = Way(row["project_id"], row["other_id"], row["memory_id"], row["from_id"], row["relation"])
        open_(tx, new_id(), way, slug, Act(row["created_by"], row["created_at"], act.seq))


# --- telling ------------------------------------------------------------------------------------------------


def list_(tx: Tx, project: str, *, after: str | None, limit: int) -> list[Reaching]:
    """The links of a project, oldest first."""
    clause, params = "", {}
    if after is not None:
        clause, params = " AND id > :after", {"after": after}
    rows = tx.all(
        f"""SELECT * FROM reaches WHERE project_id = :project AND ended_seq IS NULL{clause}
             ORDER BY id LIMIT :limit""",
        project=project,
        limit=limit,
        **params,
    )
    return [
        Reaching(
            id=row["id"],
            project=row["other_slug"],
            memory=row["memory_id"] or None,
            link=row["from_id"] or None,
            relation=row["relation"] or None,
            created_by=row["created_by"],
            created_at=row["created_at"],
        )
        for row in rows
    ]
