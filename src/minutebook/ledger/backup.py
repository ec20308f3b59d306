"""Copies of the ledger that were proved by restoring them, and putting one in the ledger's place."""

from __future__ import annotations

import re
import shutil
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from minutebook.ledger import archive, archive_reading, arrival, migrations
from minutebook.ledger.arrival import Terms
from minutebook.ledger.database import Database, Tx, open_database
from minutebook.model.errors import MinutebookError
from minutebook.model.system import Backup

#: The files that `backup` names by itself, and so may prune.
_OURS = re.compile(r"ledger-\d{8}T\d{6}\.\d{6}Z\.(db|zip)")
_SCHEMA = Path(__file__).with_name("schema")
_SQLITE, _ZIP = b"SQLite format 3\0", b"PK\x03\x04"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What opening a ledger for a while takes."""

    clock: Callable[[], str]
    terms: Terms
    schema: Path = _SCHEMA
    wait: float = 10.0

    def open(self, url: str) -> Database:
        return open_database(url, schema=self.schema, wait=self.wait, clock=self.clock)


def stamp(now: str) -> str:
    return now.replace("-", "").replace(":", "")


def default_target(database: Database, home: Path, now: str) -> Path:
    """Where a backup goes if nobody says."""
    suffix = "db" if database.dialect.one_file else "zip"
    return home / "backups" / f"ledger-{stamp(now)}.{suffix}"


def make(database: Database, target: Path, ground: Ground) -> Backup:
    """Copy the ledger while it is in use; what does not pass its proof is removed again."""
    if target.exists():
        raise MinutebookError("exists", f"{target} exists; a backup never overwrites a file.")
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise MinutebookError("backup_failed", f"{target.parent}: {error.strerror}.") from error
    try:
        if database.dialect.one_file:
            return _copy(database, target, ground)
        return _archive(database, target, ground)
    except MinutebookError as error:
        if error.code in ("backup_failed", "exists", "disk_full"):
            raise
        target.unlink(missing_ok=True)
        raise MinutebookError(
            "backup_failed", f"The backup did not pass its proof and was removed: {error.message}"
        ) from error
    except BaseException:
        target.unlink(missing_ok=True)
        raise


def _copy(database: Database, target: Path, ground: Ground) -> Backup:
    with database.read() as tx:
        before = row_counts(tx)
    database.backup(target)
    with database.read() as tx:
        after = row_counts(tx)
    with TemporaryDirectory(prefix=".proof-", dir=target.parent) as folder:
        place = Path(folder) / "ledger.db"
        shutil.copyfile(target, place)
        with ground.open(f"sqlite://{place}") as copy:
            check_whole(copy)
            with copy.read() as tx:
                found = row_counts(tx)
                version = migrations.version_of(tx)
    for table, count in found.items():
        # Others may have written meanwhile: the copy is of one moment between the two looks.
        if not min(before[table], after[table]) <= count <= max(before[table], after[table]):
            target.unlink()
            raise MinutebookError(
                "backup_failed", f"The copy has {count} rows of {table}; the ledger has {before[table]}."
            )
    return Backup(
        file=str(target),
        bytes=target.stat().st_size,
        rows=sum(found.values()),
        schema_version=version,
        proof="opened as a ledger: integrity, schema and row counts are right",
    )


def _archive(database: Database, target: Path, ground: Ground) -> Backup:
    manifest = archive.export(database, target, backup=True)
    with TemporaryDirectory(prefix=".proof-", dir=target.parent) as folder:
        again = Path(folder) / "again.zip"
        with ground.open(f"sqlite://{folder}/ledger.db") as copy:
            take_archive(copy, target, ground.terms)
            archive.export(copy, again, backup=True)
        if archive.sha256_of(again) != archive.sha256_of(target):
            target.unlink()
            raise MinutebookError("backup_failed", "Restored and written again, the backup is another one.")
    return Backup(
        file=str(target),
        bytes=target.stat().st_size,
        rows=sum(manifest.rows.values()),
        schema_version=manifest.schema,
        proof="restored into a ledger and written again, byte for byte the same",
    )


def take_archive(database: Database, source: Path, terms: Terms) -> arrival.Arrival:
    """Read an archive into an empty ledger, with all that it holds."""
    check_empty(database)
    with database.read() as tx:
        known, schema = columns_here(tx), migrations.version_of(tx)
    with archive_reading.opened(source, known, schema=schema) as read:
        return database.write("global", lambda tx: arrival.receive(tx, read, terms))


def check_empty(database: Database) -> None:
    with database.read() as tx:
        if not arrival.is_empty(tx):
            raise MinutebookError(
                "exists",
                "The ledger is not empty; an archive is restored into an empty one.",
                hint="minutebook import adds what an archive holds to what is here",
            )


def columns_here(tx: Tx) -> dict[str, tuple[str, ...]]:
    return {table.name: archive.columns_of(tx, table) for table in archive.TABLES}


def row_counts(tx: Tx) -> dict[str, int]:
    found = {}
    for table in archive.TABLES:
        row = tx.one(f"SELECT count(*) AS n FROM {table.name}")
        found[table.name] = row["n"] if row else 0
    return found


def check_whole(database: Database) -> None:
    """Raise unless every page of a SQLite ledger is right and every row finds what it refers to."""
    with database.read() as tx:
        found = [*tx.all("PRAGMA integrity_check(1)"), *tx.all("PRAGMA foreign_key_check")]
    if found != [{"integrity_check": "ok"}]:
        raise MinutebookError("ledger_damaged", f"The file is damaged: {found[0]}")


def prune(folder: Path, keep: int) -> tuple[str, ...]:
    """Remove all but the newest backups that we named ourselves."""
    ours = sorted(path for path in folder.iterdir() if _OURS.fullmatch(path.name) and path.is_file())
    old = ours[: max(len(ours) - keep, 0)]
    for path in old:
        path.unlink()
    if old:
        archive.sync_directory(folder)
    return tuple(str(path) for path in old)


# --- restoring ---------------------------------------------------------------------------------------


def is_archive(source: Path) -> bool:
    """Whether a file is an archive and not a copied ledger, by its first bytes; refused when it is neither."""
    try:
        with source.open("rb") as file:
            head = file.read(16)
    except OSError as error:
        raise archive.file_error(source, error) from error
    if head == _SQLITE:
        return False
    if head.startswith(_ZIP):
        return True
    raise MinutebookError(
        "bad_archive", f"{source} is neither a backup of a ledger nor an archive.", path=str(source)
    )


def stage(source: Path, folder: Path, ground: Ground) -> Database:
    """Open what a backup holds as a ledger of its own, in a folder, checked from end to end."""
    place = folder / "ledger.db"
    if is_archive(source):
        database = ground.open(f"sqlite://{place}")
        try:
            take_archive(database, source, ground.terms)
        except BaseException:
            database.close()
            raise
        return database
    log = source.with_name(source.name + "-wal")
    if log.exists() and log.stat().st_size:
        raise MinutebookError(
            "bad_archive",
            f"{source} is a database in use, with a log beside it, and no backup.",
            hint="make one with minutebook backup",
        )
    try:
        shutil.copyfile(source, place)
    except OSError as error:
        raise archive.file_error(place, error) from error
    database = ground.open(f"sqlite://{place}")
    try:
        check_whole(database)
    except BaseException:
        database.close()
        raise
    return database


def put_in_place(staged: Path, path: Path, kept: Path, *, wait: float, since: str) -> Path | None:
    """Put a closed, staged database in the place of the ledger, and keep the one that was there.

    The rename is the moment: killed before it, the old ledger stands; after it, the new one.
    """
    from minutebook.ledger import ownership, sqlite_files

    owned = ownership.own(path, wait=wait, since=since)
    try:
        saved = _keep(path, kept) if sqlite_files.size(path) else None
        for suffix in ("-wal", "-shm", "-journal"):
            # A log of the old database would be played into the new one.
            left = sqlite_files.beside(path, suffix)
            if left.exists():
                left.rename(sqlite_files.beside(saved or kept, suffix))
        staged.replace(path)
        archive.sync_directory(path.parent)
        return saved
    except OSError as error:
        raise archive.file_error(path, error) from error
    finally:
        owned.release()


def _keep(path: Path, kept: Path) -> Path:
    """Keep the present ledger: a sound copy, or what there is of it."""
    from minutebook.ledger import sqlite_files
    from minutebook.ledger.database import Limits

    with path.open("rb") as file:
        head = file.read(100)
    if head.startswith(_SQLITE) and struct.unpack(">I", head[68:72])[0] != sqlite_files.APPLICATION_ID:
        raise MinutebookError("exists", f"{path} is a database of another program; it was left as it is.")
    kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        connection = sqlite_files.open_main(path, Limits())
        try:
            sqlite_files.copy_to(connection, kept)
        finally:
            connection.close()
    except MinutebookError as error:
        if error.code not in ("ledger_damaged", "backup_failed"):
            raise
        # It cannot be copied as a database any more: moved as it is, it can still be looked at.
        kept = kept.with_suffix(".damaged")
        path.rename(kept)
    return kept
