"""Archives: the ledger as one portable file that keeps ids, times, links, statuses and history.

A ZIP of one `<table>.jsonl` per table that is canonical, rows by primary key, and a manifest with the hash of
each. The same content gives the same bytes, whichever database it came from: no clock, no host, no order of
chance. What is derived stays out. A number of the event log is a ledger's own affair, so in an archive it is
the event's place in the archive.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import zipfile
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from minutebook.ledger import migrations
from minutebook.ledger.database import Database, Row, Tx
from minutebook.model.errors import MinutebookError

FORMAT = "minutebook-archive"
VERSION = 1
MANIFEST = "manifest.json"
_ROWS_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class Table:
    """A table as an archive holds it."""

    name: str
    key: tuple[str, ...]
    #: the rows that belong to the project :project
    of_project: str = "project_id = :project"
    #: columns that hold a number of the event log
    seqs: tuple[str, ...] = ()
    #: columns that a ledger makes for itself
    left_out: tuple[str, ...] = ()
    #: of this copy of the ledger alone: in a backup, and in no archive for others
    local: bool = False
    #: the order of the rows, where it is not that of the key
    order: tuple[str, ...] = ()

    @property
    def member(self) -> str:
        return f"{self.name}.jsonl"


# Memories of a project, and those elsewhere that its rows cannot stand without.
_WANTED = """(
    WITH RECURSIVE wanted (id) AS (
        SELECT m.id FROM memories m WHERE m.project_id = :project
            OR m.id IN (SELECT p.memory_id FROM proposals p WHERE p.project_id = :project)
        UNION SELECT m.superseded_by FROM memories m JOIN wanted w ON m.id = w.id
               WHERE m.superseded_by IS NOT NULL)
    SELECT id FROM wanted)"""
_VERDICTS = f"project_id = :project OR memory_id IN {_WANTED}"
_TOMBSTONES = f"project_id = :project OR ref IN {_WANTED}"

#: In an order in which each row finds what it refers to. Left out because derived: tags, texts, bands, shelves;
#: because only of this copy: maintenance, migrations, and tokens, so that no archive lets anybody in.
TABLES = (
    Table("projects", ("id",), "id IN (:project, 'global')"),
    Table("workspaces", ("project_id", "host", "path")),
    Table("repos", ("id",)),
    Table(
        "actors",
        ("id",),
        """project_id = :project
           OR (project_id IS NULL AND id IN (SELECT e.actor FROM events e WHERE e.project_id = :project))""",
    ),
    Table(
        "events",
        ("seq",),
        f"project_id = :project OR verdict_id IN (SELECT v.id FROM verdicts v WHERE {_VERDICTS})",
        seqs=("seq",),
    ),
    Table("memories", ("id",), f"id IN {_WANTED}", seqs=("created_seq", "seq"), left_out=("claim",)),
    Table("revisions", ("memory_id", "revision"), f"memory_id IN {_WANTED}", seqs=("seq",)),
    Table(
        "memory_links",
        ("from_id", "relation", "to_id"),
        f"from_id IN {_WANTED} AND to_id IN {_WANTED}",
        seqs=("seq",),
    ),
    Table("reaches", ("id",), seqs=("seq", "ended_seq")),
    Table("proposals", ("id",), seqs=("seq",), left_out=("claim",)),
    Table("verdicts", ("id",), _VERDICTS, seqs=("seq",)),
    Table(
        "claim_keys",
        ("id",),
        f"id IN (SELECT t.key_id FROM tombstones t WHERE {_TOMBSTONES})",
        left_out=("position",),
        order=("position",),
    ),
    Table("tombstones", ("id",), _TOMBSTONES, seqs=("seq",)),
    Table("sessions", ("id",), seqs=("seq",)),
    Table(
        "session_revisions",
        ("session_id", "revision"),
        "session_id IN (SELECT s.id FROM sessions s WHERE s.project_id = :project)",
        seqs=("seq",),
    ),
    Table("runs", ("id",), seqs=("snapshot_seq",)),
    Table(
        "snapshots",
        ("run_id", "generation"),
        "run_id IN (SELECT r.id FROM runs r WHERE r.project_id = :project)",
        seqs=("seq",),
    ),
    Table(
        "sightings",
        ("memory_id", "run_id", "generation"),
        "run_id IN (SELECT r.id FROM runs r WHERE r.project_id = :project)",
    ),
    Table("sources", ("id",)),
    Table("ingestion_events", ("id",)),
    Table("adoptions", ("id",)),
    Table(
        "adopted_files",
        ("adoption_id", "path"),
        "adoption_id IN (SELECT a.id FROM adoptions a WHERE a.project_id = :project)",
    ),
    Table(
        "adopted_entries",
        ("source_id", "first_line"),
        "adoption_id IN (SELECT a.id FROM adoptions a WHERE a.project_id = :project)",
    ),
    Table("saved_views", ("id",)),
    Table("requests", ("actor", "key"), local=True),
    Table("consolidations", ("id",), seqs=("seq",), local=True),
    Table("suggestions", ("id",), local=True),
    Table("providers", ("kind", "name"), local=True),
    Table("jobs", ("id",), local=True),
    Table("searches", ("id",), seqs=("seq",), local=True),
)
#: Without a project, only those keys travel on which a tombstone rests: another ledger needs no others.
_KEYS_IN_USE = "id IN (SELECT t.key_id FROM tombstones t)"


@dataclass(frozen=True, slots=True)
class Member:
    """One table of an archive, as the manifest tells it."""

    rows: int
    bytes: int
    sha256: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an archive says about itself."""

    schema: int
    #: the id of the only project in it, or None
    project: str | None
    #: whether it is a backup, with what is of that copy alone
    backup: bool
    tables: dict[str, Member]

    @property
    def rows(self) -> dict[str, int]:
        return {name: member.rows for name, member in self.tables.items() if member.rows}

    def text(self) -> str:
        tables = {
            name: {"bytes": m.bytes, "columns": m.columns, "rows": m.rows, "sha256": m.sha256}
            for name, m in self.tables.items()
        }
        whole = {
            "backup": self.backup,
            "format": FORMAT,
            "project": self.project,
            "schema": self.schema,
            "tables": tables,
            "version": VERSION,
        }
        return json.dumps(whole, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def tables(*, backup: bool) -> tuple[Table, ...]:
    return TABLES if backup else tuple(table for table in TABLES if not table.local)


def columns_of(tx: Tx, table: Table) -> tuple[str, ...]:
    """The columns of a table that an archive holds."""
    found = [row["name"] for row in tx.all(tx.dialect.columns, table=table.name)]
    return tuple(sorted(set(found) - set(table.left_out)))


# --- writing -----------------------------------------------------------------------------------------


def write(tx: Tx, target: IO[bytes], *, project: str | None = None, backup: bool = False) -> Manifest:
    """Write an archive of what `tx` sees: everything, or what belongs to one project."""
    places = _places(tx, project)
    members: dict[str, Member] = {}
    with zipfile.ZipFile(target, "w") as archive:
        for table in tables(backup=backup):
            columns = columns_of(tx, table)
            digest = hashlib.sha256()
            rows = size = 0
            with archive.open(_entry(table.member), "w") as member:
                for row in _rows(tx, table, project, backup=backup):
                    kept = {name: row[name] for name in columns}
                    for name in table.seqs:
                        if kept[name] is not None:
                            kept[name] = bisect_right(places, kept[name])
                    line = (json.dumps(kept, ensure_ascii=False, separators=(",", ":")) + "\n").encode()
                    member.write(line)
                    digest.update(line)
                    rows += 1
                    size += len(line)
            members[table.name] = Member(rows, size, digest.hexdigest(), columns)
        manifest = Manifest(migrations.version_of(tx), project, backup, members)
        archive.writestr(_entry(MANIFEST), manifest.text())
    return manifest


def _places(tx: Tx, project: str | None) -> list[int]:
    """The numbers of the events that are written, ascending: an archive holds a number's place among them."""
    events = next(table for table in TABLES if table.name == "events")
    if project is None:
        return [row["seq"] for row in tx.all("SELECT seq FROM events ORDER BY seq")]
    rows = tx.all(f"SELECT seq FROM events WHERE {events.of_project} ORDER BY seq", project=project)
    return [row["seq"] for row in rows]


def _rows(tx: Tx, table: Table, project: str | None, *, backup: bool) -> Iterator[Row]:
    """The rows in order, some at a time: a ledger may be larger than memory."""
    clause, params = "1 = 1", {}
    if project is not None:
        clause, params = f"({table.of_project})", {"project": project}
    elif table.name == "claim_keys" and not backup:
        clause = _KEYS_IN_USE
    order = table.order or table.key
    names = ", ".join(order)
    after = ""
    while True:
        rows = tx.all(
            f"SELECT * FROM {table.name} WHERE {clause}{after} ORDER BY {names} LIMIT {_ROWS_AT_ONCE}",
            **params,
        )
        yield from rows
        if len(rows) < _ROWS_AT_ONCE:
            return
        after = f" AND ({names}) > ({', '.join(':after_' + name for name in order)})"
        params |= {f"after_{name}": rows[-1][name] for name in order}


def _entry(name: str) -> zipfile.ZipInfo:
    """A member of which nothing depends on the day or the machine."""
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = 3
    entry.external_attr = 0o600 << 16
    return entry


def export(
    database: Database, target: Path, *, project: str | None = None, backup: bool = False, force: bool = False
) -> Manifest:
    """Write an archive to a file, of one moment of the ledger: whole and on the disk, or not there."""
    if not force and os.path.lexists(target):
        raise MinutebookError(
            "exists", f"{target} exists; it is not overwritten.", hint="give --force, or another name"
        )
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        handle = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            with os.fdopen(handle, "w+b") as file:
                with database.read() as tx:
                    manifest = write(tx, file, project=project, backup=backup)
                file.flush()
                os.fsync(file.fileno())
            if force:
                part.replace(target)
            else:
                _name(part, target)
            sync_directory(target.parent)
        finally:
            part.unlink(missing_ok=True)
    except FileExistsError as error:
        raise MinutebookError("exists", f"{target} or its part exists; nothing was written.") from error
    except OSError as error:
        raise file_error(target, error) from error
    return manifest


def _name(part: Path, target: Path) -> None:
    """Give a finished file its name, but not that of another file."""
    try:
        os.link(part, target)  # fails where one exists by now, unlike a rename
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS) or os.path.lexists(target):
            raise
        part.rename(target)  # a file system without links


def sync_directory(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def file_error(path: Path, error: OSError) -> MinutebookError:
    """Why a file outside the ledger could not be read or written."""
    code = {errno.ENOSPC: "disk_full", errno.ENOENT: "not_found"}.get(error.errno or 0, "io_error")
    details: dict[str, Any] = {"path": str(path)}
    return MinutebookError(code, f"{path}: {error.strerror or error}.", **details)


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
