"""What was last read of the files that people write, and what came of it. Local to one copy of the ledger.

A row is put in the transaction in which the file's words were judged: after a crash the same words are known, and
not judged again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from minutebook.ledger.database import Tx
from minutebook.ledger.plain import dump, load
from minutebook.model.files import FileKind, FileState

#: Thousands of rows are read at once.
_KINDS = {member.value: member for member in FileKind}
_STATES = {member.value: member for member in FileState}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A note or a letter as it was read last."""

    host: str
    root: str
    path: str
    project: str
    kind: FileKind
    #: of what was read; empty where the file was missing
    digest: str
    state: FileState
    at: str
    why: str = ""
    advice: str = ""
    line: int | None = None
    facts: str = ""
    #: the revision that the file says it shows
    claimed: int | None = None
    #: the proposals that were made of it
    proposals: tuple[str, ...] = ()


def get(tx: Tx, host: str, root: str, path: str) -> Reading | None:
    row = tx.one(
        "SELECT * FROM read_files WHERE host = :host AND root = :root AND path = :path",
        host=host,
        root=root,
        path=path,
    )
    return None if row is None else _reading(row)


def of_root(tx: Tx, host: str, root: str, kind: FileKind) -> dict[str, Reading]:
    """Every note, or every letter, that was read in a workspace, by path."""
    # Sorted here: SQLite, asked for an order by path, reads every file of the workspace by path.
    rows = tx.all(
        "SELECT * FROM read_files WHERE host = :host AND root = :root AND kind = :kind",
        host=host,
        root=root,
        kind=kind.value,
    )
    return {row["path"]: _reading(row) for row in sorted(rows, key=lambda row: row["path"])}


def unsettled(tx: Tx, host: str, root: str) -> dict[str, Reading]:
    """The notes of a workspace of which something was proposed, by path."""
    rows = tx.all(
        """SELECT * FROM read_files
            WHERE host = :host AND root = :root AND kind = 'note' AND proposals <> '[]' ORDER BY path""",
        host=host,
        root=root,
    )
    return {row["path"]: _reading(row) for row in rows}


def mark(tx: Tx, host: str, root: str) -> tuple[int, str]:
    """How many files of a workspace were read, and when the last was: another mark where one was since."""
    row = tx.one(
        "SELECT count(*) AS n, max(at) AS at FROM read_files WHERE host = :host AND root = :root",
        host=host,
        root=root,
    )
    assert row is not None
    return row["n"], row["at"] or ""


def put(tx: Tx, reading: Reading) -> None:
    tx.run(
        """INSERT INTO read_files (host, root, path, project_id, kind, digest, facts, state, why, advice, line,
                                   claimed, proposals, at)
           VALUES (:host, :root, :path, :project, :kind, :digest, :facts, :state, :why, :advice, :line, :claimed,
                   :proposals, :at)
           ON CONFLICT (host, root, path) DO UPDATE SET
               project_id = excluded.project_id, kind = excluded.kind, digest = excluded.digest,
               facts = excluded.facts, state = excluded.state, why = excluded.why, advice = excluded.advice,
               line = excluded.line, claimed = excluded.claimed, proposals = excluded.proposals,
               at = excluded.at""",
        host=reading.host,
        root=reading.root,
        path=reading.path,
        project=reading.project,
        kind=reading.kind.value,
        digest=reading.digest,
        facts=reading.facts,
        state=reading.state.value,
        why=reading.why,
        advice=reading.advice,
        line=reading.line,
        claimed=reading.claimed,
        proposals=dump(reading.proposals),
        at=reading.at,
    )


def see(tx: Tx, host: str, root: str, seen: dict[str, str]) -> None:
    """Note which files these are now, by path: they hold what they held, and need not be read again."""
    for path, facts in seen.items():
        tx.run(
            "UPDATE read_files SET facts = :facts WHERE host = :host AND root = :root AND path = :path",
            host=host,
            root=root,
            path=path,
            facts=facts,
        )


def drop(tx: Tx, host: str, root: str, path: str) -> None:
    tx.run(
        "DELETE FROM read_files WHERE host = :host AND root = :root AND path = :path",
        host=host,
        root=root,
        path=path,
    )


@dataclass(frozen=True, slots=True)
class Look:
    """The last look through the notes of a workspace: which directory it was, and where git stood in it."""

    made: str
    tree: str


def look(tx: Tx, host: str, root: str) -> Look | None:
    """The last look; None before the first."""
    row = tx.one("SELECT made, tree FROM looks WHERE host = :host AND root = :root", host=host, root=root)
    return None if row is None else Look(row["made"], row["tree"])


def put_look(tx: Tx, host: str, root: str, look: Look, at: str) -> None:
    tx.run(
        """INSERT INTO looks (host, root, made, tree, at) VALUES (:host, :root, :made, :tree, :at)
           ON CONFLICT (host, root) DO UPDATE SET made = excluded.made, tree = excluded.tree, at = excluded.at""",
        host=host,
        root=root,
        made=look.made,
        tree=look.tree,
        at=at,
    )


def forget(tx: Tx, host: str, root: str, kind: FileKind) -> None:
    """Forget what was read of a workspace: another directory stands in its place."""
    tx.run(
        "DELETE FROM read_files WHERE host = :host AND root = :root AND kind = :kind",
        host=host,
        root=root,
        kind=kind.value,
    )


def _reading(row: dict[str, Any]) -> Reading:
    return Reading(
        host=row["host"],
        root=row["root"],
        path=row["path"],
        project=row["project_id"],
        kind=_KINDS[row["kind"]],
        digest=row["digest"],
        state=_STATES[row["state"]],
        at=row["at"],
        why=row["why"],
        advice=row["advice"],
        line=row["line"],
        facts=row["facts"],
        claimed=row["claimed"],
        proposals=() if row["proposals"] == "[]" else tuple(load(row["proposals"])),
    )
