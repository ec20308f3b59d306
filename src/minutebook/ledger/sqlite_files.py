"""The files of a SQLite ledger: opened, configured, recognised as ours, copied."""

from __future__ import annotations

import os
from pathlib import Path

import apsw

from minutebook.ledger import guard
from minutebook.ledger.database import Limits
from minutebook.ledger.dialects import SQLITE
from minutebook.model.errors import MinutebookError

#: "MBK1" in the file's header: this database is a ledger of ours.
APPLICATION_ID = 0x4D424B31
_MAGIC = b"SQLite format 3\0"
#: Below it, SQLite may lose or damage a database when two connections reset the log at once.
OLDEST_LIBRARY = (3, 51, 3)


def path_of(url: str) -> Path:
    """The file that a sqlite URL names."""
    path = Path(url.removeprefix("sqlite://"))
    if not path.is_absolute() or url.endswith("/") or "\0" in url:
        raise MinutebookError(
            "bad_setting", "A SQLite URL is sqlite:/// and the absolute path of a file.", url=url
        )
    return path


def check_library(version: str) -> None:
    """Refuse a SQLite library that may damage a ledger."""
    if tuple(int(part) for part in version.split(".")[:3]) < OLDEST_LIBRARY:
        oldest = ".".join(str(part) for part in OLDEST_LIBRARY)
        raise MinutebookError(
            "cannot_open",
            f"SQLite {version} has a defect that can damage a ledger; at least {oldest} is needed: "
            "pip install --upgrade apsw.",
        )


def open_main(path: Path, limits: Limits) -> apsw.Connection:
    """Open, or create, the database file and make sure that it is ours."""
    try:
        if size(path) == 0:
            _check_no_orphan(path)
            _create(path)
        else:
            _inspect(path)
        if path.stat().st_mode & 0o077:
            path.chmod(0o600)
        connection = apsw.Connection(
            str(path), flags=apsw.SQLITE_OPEN_READWRITE, statementcachesize=limits.statements
        )
    except OSError as error:
        raise MinutebookError(
            "cannot_open", f"Cannot open {path} ({error.strerror}); look at its permissions.", path=str(path)
        ) from error
    except apsw.Error as error:
        raise SQLITE.fault(error).error from error
    try:
        configure(connection, limits)
        if connection.execute("PRAGMA journal_mode = WAL").get != "wal":
            raise MinutebookError(
                "cannot_open", f"SQLite cannot keep a log beside {path}; name a place on a local disk."
            )
        # Take the write lock once: it creates the log and its index, and finds a foreign writer now.
        connection.execute("BEGIN IMMEDIATE; COMMIT").fetchall()
    except apsw.Error as error:
        connection.close()
        raise SQLITE.fault(error).error from error
    except BaseException:
        connection.close()
        raise
    return connection


def _check_no_orphan(path: Path) -> None:
    """A log without its database holds acknowledged writes; a new database beside it would destroy them."""
    if size(beside(path, "-wal")) > 0:
        raise MinutebookError(
            "ledger_gone",
            f"{path} is missing, and its log is still there with writes that are nowhere else: put it back, or "
            f"move {path.name}-wal away to begin a new ledger.",
            path=str(path),
        )


def _create(path: Path) -> None:
    # Created by us and not by SQLite, for its mode; SQLite gives the log the same one.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.execute(f"PRAGMA synchronous = FULL; PRAGMA application_id = {APPLICATION_ID}").fetchall()
    finally:
        connection.close()


def _inspect(path: Path) -> None:
    """Look at a file that exists without changing a byte of it; refuse it if it is not ours."""
    # A journal beside it means that a crash interrupted its creation: let SQLite undo that first.
    if size(beside(path, "-journal")) > 0 and _undone_to_nothing(path):
        _create(path)
    # The header alone, and not by SQLite: a crash may have left the pages half moved out of the log, which
    # only an open with the log repairs, and that is not for us to do to a file that is not ours.
    header = _first_bytes(path, 100)
    if len(header) < 100 or not header.startswith(_MAGIC):
        raise MinutebookError(
            "ledger_damaged",
            f"{path} is damaged or not a database; it was left as it is. Restore a backup, or name another.",
            path=str(path),
        )
    if int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        raise MinutebookError(
            "ledger_damaged",
            f"{path} is a SQLite database of another program; it was left as it is.",
            path=str(path),
        )


def _undone_to_nothing(path: Path) -> bool:
    """Let SQLite roll an interrupted creation back; was nothing there before it?"""
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            tables = connection.execute("SELECT count(*) FROM sqlite_schema").get
            return tables == 0 and connection.execute("PRAGMA application_id").get == 0
        finally:
            connection.close()
    except apsw.Error as error:
        raise SQLITE.fault(error).error from error


def _first_bytes(path: Path, count: int) -> bytes:
    # Safe only here: this process has no connection to the file yet, whose locks the close would cancel.
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.pread(handle, count, 0)
    finally:
        os.close(handle)


def configure(connection: apsw.Connection, limits: Limits) -> None:
    connection.set_busy_timeout(int(limits.busy * 1000))
    for option, value in (
        (apsw.SQLITE_DBCONFIG_DEFENSIVE, 1),
        (apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
        (apsw.SQLITE_DBCONFIG_DQS_DDL, 0),
        (apsw.SQLITE_DBCONFIG_DQS_DML, 0),
        # Else a statement with ORDER BY is planned anew for each value that is bound: 30 µs, for nothing.
        (apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1),
    ):
        connection.config(option, value)
    connection.execute(f"""
        PRAGMA synchronous = FULL;
        PRAGMA foreign_keys = ON;
        PRAGMA secure_delete = ON;
        PRAGMA temp_store = MEMORY;
        PRAGMA mmap_size = 0;
        PRAGMA cache_size = -{limits.cache_kib};
        PRAGMA wal_autocheckpoint = {limits.checkpoint_pages}""").fetchall()


# ── files ──────────────────────────────────────────────────────────────────────────────────────────


def copy_to(source: apsw.Connection, target: Path) -> None:
    """Copy a database into a new file of its own, checked and on the disk before it has its name."""
    if target.exists():
        raise MinutebookError(
            "exists", f"{target} exists; a backup never overwrites a file.", path=str(target)
        )
    part = target.with_name(target.name + ".part")
    try:
        part.unlink(missing_ok=True)  # what an interrupted backup left
        os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        try:
            _copy_pages(source, part)
            _sync(part)
            part.rename(target)
            _sync(target.parent)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise MinutebookError(
            "backup_failed", f"Cannot write the backup {target} ({error.strerror}).", path=str(target)
        ) from error
    except apsw.Error as error:
        raise MinutebookError(
            "backup_failed", f"The backup failed: {SQLITE.fault(error).error.message}", path=str(target)
        ) from error


def _copy_pages(source: apsw.Connection, part: Path) -> None:
    copy = apsw.Connection(str(part), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        with copy.backup("main", source, "main") as work:
            # All pages in one step: one snapshot, and a writer never makes it start again.
            work.step(-1)
        # One file that stands for itself, without a log beside it.
        copy.execute("PRAGMA journal_mode = DELETE").fetchall()
        found = copy.execute("PRAGMA integrity_check(1)").get
        if found != "ok":
            raise MinutebookError("backup_failed", f"The copy is damaged: {found}")
    finally:
        copy.close()


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def identities(path: Path) -> tuple[guard.Identity | None, guard.Identity | None]:
    return guard.identity_of(str(path)), guard.identity_of(f"{path}-wal")
