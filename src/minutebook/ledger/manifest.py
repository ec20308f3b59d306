"""The manifest: which files of which workspaces we wrote, and what we once wrote at each path.

Local to one copy of the ledger. A row and its rendering are put *before* the file is written: whatever a crash leaves
in the file's place, it is known to be ours, and may be replaced. Paths are relative to the root, with slashes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from minutebook.ledger.database import Tx
from minutebook.model.files import FileKind, WrittenFile

#: Renderings of one path that are remembered; of older ones a git checkout is taken for a hand's edit.
_RENDERINGS = 500
#: Values that one statement is given.
_AT_ONCE = 200


def part_of(host: str, root: str) -> str:
    """The name of a workspace in the table of positions: the same path is another place on another machine."""
    return f"{host}:{root}"


def get(tx: Tx, host: str, root: str, path: str) -> WrittenFile | None:
    """The file that we wrote at a path, if we did."""
    row = tx.one(
        "SELECT * FROM written_files WHERE host = :host AND root = :root AND path = :path",
        host=host,
        root=root,
        path=path,
    )
    return None if row is None else _file(row)


def of_root(tx: Tx, host: str, root: str, kinds: Sequence[FileKind] = tuple(FileKind)) -> list[WrittenFile]:
    """Every file of these kinds that we wrote in a workspace, by path."""
    names = {f"k{index}": kind.value for index, kind in enumerate(kinds)}
    # Sorted here: SQLite, asked for an order by path, reads every file of the workspace by path.
    rows = tx.all(
        f"""SELECT * FROM written_files
             WHERE host = :host AND root = :root AND kind IN ({", ".join(":" + name for name in names)})""",
        host=host,
        root=root,
        **names,
    )
    return sorted((_file(row) for row in rows), key=lambda file: file.path)


def of_refs(tx: Tx, host: str, root: str, refs: Sequence[str]) -> list[WrittenFile]:
    """The files of a workspace that show one of these memories or proposals."""
    found: list[WrittenFile] = []
    for start in range(0, len(refs), _AT_ONCE):
        names = {f"r{index}": ref for index, ref in enumerate(refs[start : start + _AT_ONCE])}
        rows = tx.all(
            f"""SELECT * FROM written_files
                 WHERE host = :host AND root = :root AND ref <> ''
                   AND ref IN ({", ".join(":" + name for name in names)}) ORDER BY path""",
            host=host,
            root=root,
            **names,
        )
        found += [_file(row) for row in rows]
    return found


def mark(tx: Tx, host: str, root: str) -> tuple[int, str]:
    """How many files we wrote in a workspace, and when the last was noted: another mark where one was since."""
    row = tx.one(
        "SELECT count(*) AS n, max(at) AS at FROM written_files WHERE host = :host AND root = :root",
        host=host,
        root=root,
    )
    assert row is not None
    return row["n"], row["at"] or ""


def put(tx: Tx, file: WrittenFile) -> None:
    """Say that we write this file, before we do; what it held before by our hand stays known."""
    tx.run(
        """INSERT INTO written_files (host, root, path, project_id, kind, ref, digest, stands, base_revision,
                                      seq, at)
           VALUES (:host, :root, :path, :project, :kind, :ref, :digest, :stands, :base, :seq, :at)
           ON CONFLICT (host, root, path) DO UPDATE SET
               project_id = excluded.project_id, kind = excluded.kind, ref = excluded.ref,
               digest = excluded.digest, stands = excluded.stands, base_revision = excluded.base_revision, seq = excluded.seq,
               at = excluded.at""",
        host=file.host,
        root=file.root,
        path=file.path,
        project=file.project,
        kind=file.kind.value,
        ref=file.ref,
        digest=file.digest,
        stands=int(file.stands),
        base=file.base_revision,
        seq=file.seq,
        at=file.at,
    )
    if file.digest:
        remember(tx, file.project, file.path, file.digest, file.seq)


def drop(tx: Tx, host: str, root: str, path: str) -> None:
    """Say that a file is none of ours any more. What we once wrote there stays known."""
    tx.run(
        "DELETE FROM written_files WHERE host = :host AND root = :root AND path = :path",
        host=host,
        root=root,
        path=path,
    )


def forget_names(tx: Tx, slugs: Iterable[str]) -> None:
    """Forget what was written under names that were made from erased words; what still stands is gone with its file."""
    for slug in slugs:
        for sign in ("/", "_"):
            tx.run("DELETE FROM renderings WHERE path LIKE :path", path=f"%{sign}{slug}.md")


def remember(tx: Tx, project: str, path: str, digest: str, seq: int) -> None:
    """Remember content as ours to replace at a path; of many, the last."""
    tx.run(
        """INSERT INTO renderings (project_id, path, digest, seq) VALUES (:project, :path, :digest, :seq)
           ON CONFLICT (project_id, path, digest) DO UPDATE SET seq = excluded.seq""",
        project=project,
        path=path,
        digest=digest,
        seq=seq,
    )
    tx.run(
        """DELETE FROM renderings WHERE project_id = :project AND path = :path AND seq <
               (SELECT r.seq FROM renderings r WHERE r.project_id = :project AND r.path = :path
                 ORDER BY r.seq DESC LIMIT 1 OFFSET :most)""",
        project=project,
        path=path,
        most=_RENDERINGS - 1,
    )


def knows(tx: Tx, project: str, path: str, digest: str) -> bool:
    """Whether content at a path is something that we once wrote there: then no hand changed it."""
    row = tx.one(
        """SELECT 1 AS known FROM renderings
            WHERE project_id = :project AND path = :path AND digest = :digest""",
        project=project,
        path=path,
        digest=digest,
    )
    return row is not None


def _file(row: dict[str, Any]) -> WrittenFile:
    return WrittenFile(
        host=row["host"],
        root=row["root"],
        path=row["path"],
        project=row["project_id"],
        kind=FileKind(row["kind"]),
        ref=row["ref"],
        digest=row["digest"],
        stands=bool(row["stands"]),
        base_revision=row["base_revision"],
        seq=row["seq"],
        at=row["at"],
    )
