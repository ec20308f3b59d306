"""Adoptions: which files came in, which source holds each, and what became of their entries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from minutebook.ledger.database import Row, Tx
from minutebook.ledger.plain import load_would

#: Values in one list of a statement.
_AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class Done:
    """What became of an entry when it was adopted."""

    outcome: str
    proposal: str | None
    memory: str | None
    #: whether its proposal waits, and nothing of it was flagged
    waits: bool


def begin(tx: Tx, id: str, *, project: str, root: str, actor: str, at: str) -> str:
    """The id of this adoption: a new one, or that of one from the same place that was interrupted."""
    row = tx.one(
        """SELECT id FROM adoptions
            WHERE project_id = :project AND root = :root AND actor = :actor AND state = 'open'
            ORDER BY id LIMIT 1""",
        project=project,
        root=root,
        actor=actor,
    )
    if row is not None:
        return row["id"]
    tx.run(
        """INSERT INTO adoptions (id, project_id, root, actor, state, started_at)
           VALUES (:id, :project, :root, :actor, 'open', :at)""",
        id=id,
        project=project,
        root=root,
        actor=actor,
        at=at,
    )
    return id


def finish(tx: Tx, id: str, at: str) -> None:
    tx.run(
        "UPDATE adoptions SET state = 'done', finished_at = :at WHERE id = :id AND state = 'open'",
        id=id,
        at=at,
    )


def open_from(tx: Tx, project: str, root: str, actor: str) -> bool:
    """Whether an adoption from that place was interrupted."""
    return (
        tx.one(
            """SELECT 1 AS yes FROM adoptions
                WHERE project_id = :project AND root = :root AND actor = :actor AND state = 'open' LIMIT 1""",
            project=project,
            root=root,
            actor=actor,
        )
        is not None
    )


def source_of(tx: Tx, project: str, digest: str) -> str | None:
    """The source that holds bytes of that hash."""
    row = tx.one(
        "SELECT id FROM sources WHERE project_id = :project AND digest = :digest",
        project=project,
        digest=digest,
    )
    return None if row is None else row["id"]


def has_file(tx: Tx, project: str, path: str, source: str) -> bool:
    """Whether a file of that path and content came in before."""
    row = tx.one(
        """SELECT 1 AS yes FROM adopted_files f JOIN adoptions a ON a.id = f.adoption_id
            WHERE f.source_id = :source AND f.path = :path AND a.project_id = :project LIMIT 1""",
        source=source,
        path=path,
        project=project,
    )
    return row is not None


def add_file(tx: Tx, adoption: str, *, path: str, source: str, dialect: str, digest: str) -> None:
    # An adoption that goes on finds a file changed: what it held before is in a source of its own.
    tx.run(
        """INSERT INTO adopted_files (adoption_id, path, source_id, dialect, digest)
           VALUES (:adoption, :path, :source, :dialect, :digest)
           ON CONFLICT (adoption_id, path) DO UPDATE
              SET source_id = excluded.source_id, dialect = excluded.dialect, digest = excluded.digest""",
        adoption=adoption,
        path=path,
        source=source,
        dialect=dialect,
        digest=digest,
    )


_ENTRIES = """SELECT e.first_line, e.outcome, e.proposal_id, p.memory_id, p.status, p.would
                FROM adopted_entries e LEFT JOIN proposals p ON p.id = e.proposal_id"""


def entries_of(tx: Tx, source: str) -> dict[int, Done]:
    """What became of the entries of a source, by their first line."""
    rows = tx.all(f"{_ENTRIES} WHERE e.source_id = :source", source=source)
    return {row["first_line"]: _done(row) for row in rows}


def entry(tx: Tx, source: str, line: int) -> Done | None:
    row = tx.one(f"{_ENTRIES} WHERE e.source_id = :source AND e.first_line = :line", source=source, line=line)
    return None if row is None else _done(row)


def _done(row: Row) -> Done:
    waits = row["status"] == "pending" and not load_would(row["would"]).flags
    return Done(row["outcome"], row["proposal_id"], row["memory_id"], waits)


def add_entry(
    tx: Tx, adoption: str, *, source: str, lines: tuple[int, int], certainty: str, proposal: str | None
) -> None:
    """Note an entry that was proposed; without a proposal, one that was refused."""
    tx.run(
        """INSERT INTO adopted_entries (source_id, first_line, last_line, adoption_id, certainty, outcome, proposal_id)
           VALUES (:source, :first, :last, :adoption, :certainty, :outcome, :proposal)""",
        source=source,
        first=lines[0],
        last=lines[1],
        adoption=adoption,
        certainty=certainty,
        outcome="refused" if proposal is None else "proposed",
        proposal=proposal,
    )


def ever_proposed(tx: Tx, project: str, claims: Iterable[str]) -> set[tuple[str, str]]:
    """Which of the claims were proposed in the project before, whatever became of them, and for which agent."""
    found: set[tuple[str, str]] = set()
    wanted = sorted(set(claims))
    for start in range(0, len(wanted), _AT_ONCE):
        names = {f"c{index}": claim for index, claim in enumerate(wanted[start : start + _AT_ONCE])}
        rows = tx.all(
            f"""SELECT DISTINCT claim, scope_agent FROM proposals
                 WHERE claim IN ({", ".join(":" + name for name in names)}) AND project_id = :project""",
            project=project,
            **names,
        )
        found |= {(row["claim"], row["scope_agent"]) for row in rows}
    return found


def get(tx: Tx, project: str, id: str) -> Row | None:
    """One adoption, with its counts."""
    return next(iter(_counted(tx, project, "AND a.id = :id", {"id": id}, limit=1)), None)


def list_(tx: Tx, project: str, *, after: str | None, limit: int) -> list[Row]:
    """Newest first, each with its counts."""
    clause, params = ("AND a.id < :after", {"after": after}) if after is not None else ("", {})
    return _counted(tx, project, clause, params, limit=limit)


def _counted(tx: Tx, project: str, clause: str, params: dict[str, str], *, limit: int) -> list[Row]:
    return tx.all(
        f"""SELECT a.id, a.root, a.state, a.actor, a.started_at,
                   (SELECT count(*) FROM adopted_files f WHERE f.adoption_id = a.id) AS files,
                   (SELECT count(*) FROM adopted_entries e
                     WHERE e.adoption_id = a.id AND e.outcome = 'refused') AS refused,
                   (SELECT count(*) FROM adopted_entries e JOIN proposals p ON p.id = e.proposal_id
                     WHERE e.adoption_id = a.id AND p.status = 'pending') AS pending,
                   (SELECT count(*) FROM adopted_entries e JOIN proposals p ON p.id = e.proposal_id
                     WHERE e.adoption_id = a.id AND p.status = 'merged') AS merged,
                   (SELECT count(*) FROM adopted_entries e JOIN proposals p ON p.id = e.proposal_id
                     WHERE e.adoption_id = a.id AND p.status = 'rejected') AS rejected
              FROM adoptions a WHERE a.project_id = :project {clause} ORDER BY a.id DESC LIMIT :limit""",
        project=project,
        limit=limit,
        **params,
    )


def files(tx: Tx, adoption: str) -> list[Row]:
    """The files of an adoption by path, each with its source and how many proposals came of it."""
    return tx.all(
        """SELECT f.path, f.dialect, f.source_id, f.digest, s.size, s.digest AS kept,
                  (SELECT count(*) FROM adopted_entries e
                    WHERE e.source_id = f.source_id AND e.adoption_id = f.adoption_id
                      AND e.proposal_id IS NOT NULL) AS proposals
             FROM adopted_files f JOIN sources s ON s.id = f.source_id
            WHERE f.adoption_id = :adoption ORDER BY f.path""",
        adoption=adoption,
    )


def proposals(
    tx: Tx, adoption: str, *, status: str | None, paths: Sequence[str] = (), type: str | None = None,
    after: str = "", limit: int,
) -> list[Row]:  # fmt: skip
    """Proposals of an adoption in the order in which they were made, which is that of the files."""
    clause, params = "", dict[str, str]()
    if status is not None:
        clause += " AND p.status = :status"
        params["status"] = status
    if type is not None:
        clause += " AND p.type = :type"
        params["type"] = type
    if paths:
        named = {f"p{index}": path for index, path in enumerate(paths)}
        clause += f" AND f.path IN ({', '.join(':' + name for name in named)})"
        params |= named
    return tx.all(
        f"""SELECT p.id, p.slug, p.title, p.type, p.status, p.memory_id, p.agent, e.first_line, e.last_line,
                   e.certainty, min(f.path) AS path
              FROM adopted_entries e
              JOIN proposals p ON p.id = e.proposal_id
              JOIN adopted_files f ON f.adoption_id = e.adoption_id AND f.source_id = e.source_id
             WHERE e.adoption_id = :adoption AND p.id > :after{clause}
             GROUP BY p.id, p.slug, p.title, p.type, p.status, p.memory_id, p.agent, e.first_line, e.last_line,
                      e.certainty
             ORDER BY p.id LIMIT :limit""",
        adoption=adoption,
        after=after,
        limit=limit,
        **params,
    )
