"""The SQLite engine room: one owner, one write connection, a few read connections.

Promises: a write that was acknowledged is on the disk (WAL, synchronous=FULL); no second process writes;
nothing is acknowledged once the files were moved or replaced under us; a foreign file is never touched.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import apsw

from minutebook.ledger import guard, migrations, ownership, sqlite_files
from minutebook.ledger.database import Database, Facts, Limits, Tx
from minutebook.ledger.dialects import SQLITE
from minutebook.ledger.pool import Pool
from minutebook.ledger.pulse import Pulse
from minutebook.ledger.sqlite_tx import SqliteSession, SqliteTx
from minutebook.ledger.writer import Tell, Writer
from minutebook.model.errors import MinutebookError

T = TypeVar("T")


class _Reader:
    """One read connection with the column names that it has learnt."""

    __slots__ = ("columns", "connection")

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self.columns: dict[str, tuple[str, ...]] = {}


def _close_reader(reader: _Reader) -> None:
    reader.connection.close()


class SqliteDatabase(Database):
    """A ledger in one SQLite file, owned by this process."""

    dialect = SQLITE
    lanes = False

    def __init__(
        self, url: str, *, schema: Path, wait: float, clock: Callable[[], str], limits: Limits
    ) -> None:
        self.url = url
        self.path = sqlite_files.path_of(url)
        self._limits = limits
        self._pid = os.getpid()
        self._closed = False
        self._closing = threading.Lock()
        self.granted = {}
        sqlite_files.check_library(apsw.sqlite_lib_version())
        self._ownership = ownership.own(self.path, wait=wait, since=clock())
        try:
            self._main = sqlite_files.open_main(self.path, limits)
            try:
                bench = _Bench(self._main, self.path, clock)
                self._version = migrations.migrate(bench, migrations.load(schema, SQLITE), clock)
                self._follows = bench.has_events()
                # The files that SQLite holds open. From here on, these and no others are the ledger.
                self._files = sqlite_files.identities(self.path)
                guard.watch(self.path)
            except BaseException:
                self._main.close()
                raise
        except BaseException:
            self._ownership.release()
            raise
        self._gone: MinutebookError | None = None
        self._pool: Pool[_Reader] = Pool(
            self._open_reader, _close_reader, size=limits.readers, wait=limits.reader_wait
        )
        self._writer = Writer(lambda: SqliteSession(self._main, self._still_there), limits=limits)

    def write(self, lane: str, work: Callable[[Tx], T]) -> T:
        self._check_process()
        return self._writer.write(lane, work)

    def write_soon(self, lane: str, work: Callable[[Tx], Any], tell: Tell) -> None:
        self._check_process()
        self._writer.write_soon(lane, work, tell)

    def on_commit(self, tell: Callable[[], None]) -> None:
        self._writer.on_commit(tell)

    def read(self) -> AbstractContextManager[Tx]:
        if self._gone is not None:
            raise self._gone
        return self._read()

    def read_last(self) -> AbstractContextManager[Tx]:
        return self._read()

    def read_at_once(self) -> AbstractContextManager[Tx] | None:
        if self._gone is not None:
            raise self._gone
        if self._gone is not None:
            raise self._gone
        reader = self._pool.take_idle()
        return None if reader is None else self._read(reader)

    @property
    def commits(self) -> int:
        return self._writer.commits

    @contextmanager
    def _read(self, taken: _Reader | None = None) -> Iterator[Tx]:
        self._check_process()
        reader = taken or self._pool.take()
        tx: SqliteTx | None = None
        try:
            try:
                reader.connection.execute("BEGIN")
                settled = 0
                if self._follows:
                    # The first read fixes the snapshot, so this is of the same moment as all that follows.
                    settled = reader.connection.execute("SELECT max(seq) FROM events").get or 0
            except apsw.Error as error:
                raise SQLITE.fault(error).error from error
            tx = SqliteTx(reader.connection, reader.columns, settled=settled)
            yield tx
        finally:
            if tx is not None:
                tx.end()
            self._end_read(reader)

    def _end_read(self, reader: _Reader) -> None:
        try:
            if reader.connection.in_transaction:
                reader.connection.execute("ROLLBACK")
        except apsw.Error:
            self._pool.drop(reader)
            raise
        self._pool.give(reader)

    def close(self) -> None:
        with self._closing:
            if self._closed:
                return
            if os.getpid() != self._pid:
                self._closed = True  # a forked child: everything belongs to the parent
                return
            self._writer.close()
            self._closed = True
            self._pool.close()
            # Closing empties the log into the database, even a log that somebody deleted under us: what was
            # acknowledged is saved. If the database itself was moved or replaced, SQLite leaves both alone.
            self._main.close()
            guard.unwatch(self.path)
            self._ownership.release()

    def checkpoint(self, *tables: str) -> None:
        self._check_process()
        self._writer.between(self._truncate_log)

    def _truncate_log(self) -> None:
        try:
            self._main.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except apsw.BusyError as error:
            raise MinutebookError(
                "ledger_busy",
                f"A reader kept the log in use for {self._limits.busy:g} seconds; erased text may still be "
                "in it. Run the checkpoint again.",
            ) from error
        except apsw.Error as error:
            raise SQLITE.fault(error).error from error

    def backup(self, target: Path) -> None:
        self._check_process()
        reader = self._pool.take()
        try:
            sqlite_files.copy_to(reader.connection, target)
        finally:
            self._pool.give(reader)

    def damage(self) -> str:
        # By a connection of its own: one that has not searched since a full-text index was changed by another
        # checks it against what it remembers of it, and finds damage where there is none.
        fresh = self._open_reader()
        try:
            found = fresh.connection.execute("PRAGMA quick_check(1)").get
        except apsw.Error as error:
            raise SQLITE.fault(error).error from error
        finally:
            _close_reader(fresh)
        return "" if found == "ok" else str(found)

    def pulse(self) -> Pulse:
        found = self._writer.pulse()
        out, size = self._pool.use()
        return replace(found, halted=found.halted or self._still_there(), readers_out=out, readers=size)

    def facts(self) -> Facts:
        with self.read_last() as tx:
            version = migrations.version_of(tx)
        return Facts(
            engine=SQLITE.name,
            version=apsw.sqlite_lib_version(),
            where=str(self.path),
            schema_version=version,
            size_bytes=sqlite_files.size(self.path),
            wal_bytes=sqlite_files.size(sqlite_files.beside(self.path, "-wal")),
            owner_pid=ownership.owner_pid(self.path),
            writes_waiting=self._writer.waiting(),
        )

    def _open_reader(self) -> _Reader:
        gone = self._still_there()
        if gone is not None:
            raise gone  # the path names another file by now, or none
        try:
            connection = apsw.Connection(
                str(self.path), flags=apsw.SQLITE_OPEN_READWRITE, statementcachesize=self._limits.statements
            )
            sqlite_files.configure(connection, self._limits)
            connection.execute("PRAGMA query_only = ON")
        except apsw.Error as error:
            raise SQLITE.fault(error).error from error
        return _Reader(connection)

    def _still_there(self) -> MinutebookError | None:
        """Do the paths still name the files that we have open? Two stats: microseconds."""
        if self._gone is None and sqlite_files.identities(self.path) != self._files:
            self._gone = MinutebookError(
                "ledger_gone",
                f"{self.path} or its log was moved, replaced or deleted while it was open; nothing more is "
                "accepted. Put it back or restore a backup, then start again.",
                path=str(self.path),
            )
        return self._gone

    def _check_process(self) -> None:
        if self._closed:
            raise MinutebookError("ledger_closed")
        if os.getpid() != self._pid:
            raise MinutebookError("internal", "The ledger was opened before a fork; open it in the child.")


class _Bench:
    """The write connection before the writer has it, for migrations."""

    dialect = SQLITE

    def __init__(self, connection: apsw.Connection, path: Path, clock: Callable[[], str]) -> None:
        self._connection = connection
        self._path = path
        self._clock = clock

    @contextmanager
    def look(self) -> Iterator[Tx]:
        self.script("BEGIN")
        try:
            yield SqliteTx(self._connection, {})
        finally:
            self._rollback()

    @contextmanager
    def change(self) -> Iterator[Tx]:
        # The way SQLite prescribes for changing tables that others point to: off, change, check, on.
        self.script("PRAGMA foreign_keys = OFF")
        self.script("BEGIN IMMEDIATE")
        try:
            tx = SqliteTx(self._connection, {})
            yield tx
            if tx.one("PRAGMA foreign_key_check") is not None:
                raise MinutebookError("internal", "A migration left rows that point to nothing.")
            self.script("COMMIT")
        finally:
            self._rollback()
            self.script("PRAGMA foreign_keys = ON")

    def script(self, text: str) -> None:
        try:
            self._connection.execute(text).fetchall()
        except apsw.Error as error:
            raise SQLITE.fault(error).error from error

    def preserve(self, tx: Tx, old: int, new: int) -> None:
        stamp = self._clock().replace(":", "").replace("-", "")
        folder = self._path.parent / "backups"
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            for left in folder.glob(f"{self._path.stem}-v*.part*"):
                left.unlink()  # a whole copy each, of a migration that was killed
            # A connection of its own, because the migrating one is inside its transaction.
            source = apsw.Connection(str(self._path), flags=apsw.SQLITE_OPEN_READWRITE)
        except (OSError, apsw.Error) as error:
            raise MinutebookError(
                "backup_failed", f"The copy before the migration cannot be made in {folder}: {error}"
            ) from error
        try:
            sqlite_files.copy_to(source, folder / f"{self._path.stem}-v{old}-before-v{new}-{stamp}.db")
        finally:
            source.close()

    def has_events(self) -> bool:
        with self.look() as tx:
            return tx.one(SQLITE.table_exists, table="events") is not None

    def _rollback(self) -> None:
        if self._connection.in_transaction:
            self.script("ROLLBACK")
