"""The PostgreSQL engine room: many owners, one lane of writes for each project.

Promises: writes of one lane run one after the other, whichever process sends them; other lanes run beside
them; and a reader knows how far the event log is final, although its numbers are given out before the commit.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import psycopg
from psycopg import sql as quoting
from psycopg.pq import TransactionStatus
from psycopg.rows import DictRow, dict_row

from minutebook.ledger import migrations
from minutebook.ledger.database import Database, Facts, Limits, Tx
from minutebook.ledger.dialects import POSTGRES
from minutebook.ledger.pool import Pool
from minutebook.ledger.postgres_tx import MIGRATION, Connection, Place, PostgresSession, PostgresTx, last_rows
from minutebook.ledger.pulse import Pulse
from minutebook.ledger.writer import Tell, Writer
from minutebook.model.errors import MinutebookError

T = TypeVar("T")

#: The oldest server that we test against is newer; older ones lack nothing that we know of but support.
OLDEST_SERVER = 140000


class PostgresDatabase(Database):
    """A ledger in a PostgreSQL schema, shared with other processes."""

    dialect = POSTGRES
    lanes = True

    def __init__(
        self,
        url: str,
        *,
        schema: Path,
        wait: float,
        clock: Callable[[], str],
        limits: Limits,
        before_migration: Callable[[Tx, int], None] | None,
    ) -> None:
        self.url = url
        self._conninfo, name = split_url(url)
        self._place = Place(name)
        self._limits = limits
        self._pid = os.getpid()
        self._closed = False
        self._closing = threading.Lock()
        self.granted = {}
        connection = self._connect()
        try:
            _check_server(connection)
            bench = _Bench(connection, self._place, wait, before_migration)
            bench.make_schema()
            version = migrations.migrate(bench, migrations.load(schema, POSTGRES), clock)
            self._place.prepare(connection, version)
        except psycopg.Error as error:
            connection.close()
            raise POSTGRES.fault(error).error from error
        except BaseException:
            connection.close()
            raise
        self._pool: Pool[Connection] = Pool(
            self._connect, _close, size=limits.readers, wait=limits.reader_wait
        )
        self._pool.adopt(connection)
        self._writer = Writer(
            lambda: PostgresSession(self._place, self._connect),
            limits=limits,
            threads=limits.writers,
            lanes=True,
        )

    def write(self, lane: str, work: Callable[[Tx], T]) -> T:
        self._check_process()
        return self._writer.write(lane, work)

    def write_soon(self, lane: str, work: Callable[[Tx], Any], tell: Tell) -> None:
        self._check_process()
        self._writer.write_soon(lane, work, tell)

    def on_commit(self, tell: Callable[[], None]) -> None:
        self._writer.on_commit(tell)

    def read(self) -> AbstractContextManager[Tx]:
        return self._read()

    @contextmanager
    def _read(self) -> Iterator[Tx]:
        self._check_process()
        connection, settled = self._snapshot()
        tx = PostgresTx(connection, self._place, settled=settled)
        try:
            yield tx
        finally:
            tx.end()
            self._end_read(connection)

    def _snapshot(self) -> tuple[Connection, int]:
        """A connection inside a fresh snapshot, and how far the log was settled just before it."""
        try:
            return self._try_snapshot()
        except _Stale:
            # The server was restarted while our connections were idle: none of them is worth keeping.
            self._pool.empty()
        try:
            return self._try_snapshot()
        except _Stale as stale:
            raise stale.error from stale

    def _try_snapshot(self) -> tuple[Connection, int]:
        connection = self._pool.take()
        try:
            settled = self._settled(connection)
            self._place.check_version(last_rows(connection.execute(self._place.snapshot.encode())))
            return connection, settled
        except psycopg.Error as error:
            self._pool.drop(connection)
            fault = POSTGRES.fault(error)
            if fault.lost:
                raise _Stale(fault.error) from error
            raise fault.error from error
        except BaseException:
            self._pool.drop(connection)
            raise

    def _settled(self, connection: Connection) -> int:
        """How far the event log is final now. Asked before the snapshot, which then holds all of that."""
        if not self._place.settle:
            return 0
        cursor = connection.execute(self._place.settle.encode())
        high = (cursor.fetchone() or {})["high"]
        cursor.nextset()
        low = (cursor.fetchone() or {})["low"]
        return high if low is None else min(high, low)

    def _end_read(self, connection: Connection) -> None:
        try:
            if connection.closed or connection.info.transaction_status == TransactionStatus.ACTIVE:
                self._pool.drop(connection)  # lost, or interrupted in the middle of a statement
                return
            connection.execute(b"ROLLBACK")
        except psycopg.Error as error:
            self._pool.drop(connection)
            raise POSTGRES.fault(error).error from error
        self._pool.give(connection)

    def close(self) -> None:
        with self._closing:
            if self._closed:
                return
            if os.getpid() == self._pid:  # else a forked child: everything belongs to the parent
                self._writer.close()
                self._pool.close()
            self._closed = True

    def checkpoint(self, *tables: str) -> None:
        """Rewrite the tables named. A plain VACUUM is not enough: it leaves the deleted bytes in the page.

        The server's own log keeps them until it is recycled; that is its administrator's affair.
        """
        self._check_process()
        connection = self._connect()
        try:
            # A big table takes its time; but a reader that stays is not waited for without end.
            wait = int(self._limits.statement_timeout * 1000)
            connection.execute(f"SET statement_timeout = 0; SET lock_timeout = {wait}".encode())
            for table in tables:
                connection.execute(quoting.SQL("VACUUM (FULL) {}").format(quoting.Identifier(table)))
        except psycopg.Error as error:
            raise POSTGRES.fault(error).error from error
        finally:
            connection.close()

    def backup(self, target: Path) -> None:
        raise MinutebookError(
            "backup_failed",
            "A PostgreSQL ledger is not one file: export an archive, or use the server's own pg_dump.",
        )

    def damage(self) -> str:
        return ""  # the server looks after its own pages

    def pulse(self) -> Pulse:
        out, size = self._pool.use()
        return replace(self._writer.pulse(), readers_out=out, readers=size)

    def facts(self) -> Facts:
        with self.read() as tx:
            row = tx.one("""
                SELECT current_setting('server_version') AS version,
                       CAST(COALESCE((SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c
                                       WHERE c.relnamespace = current_schema()::regnamespace
                                         AND c.relkind IN ('r', 'm')), 0) AS BIGINT) AS size""")
            version = migrations.version_of(tx)
        assert row is not None
        return Facts(
            engine=POSTGRES.name,
            version=row["version"],
            where=without_password(self.url),
            schema_version=version,
            size_bytes=row["size"],
            wal_bytes=None,
            owner_pid=None,
            writes_waiting=self._writer.waiting(),
        )

    def _connect(self) -> Connection:
        limits = self._limits
        try:
            connection = psycopg.Connection[DictRow].connect(
                self._conninfo,
                autocommit=True,
                row_factory=dict_row,
                application_name="minutebook",
                connect_timeout=max(2, int(limits.connect_timeout)),
            )
        except psycopg.Error as error:
            fault = POSTGRES.fault(error)
            if isinstance(error, psycopg.ProgrammingError):
                # libpq's message may repeat the part that it could not read, and that may be the password.
                raise MinutebookError(
                    "bad_setting",
                    "The PostgreSQL URL cannot be read; write special characters of the password as %XX.",
                ) from None
            if fault.error.code == "io_error" and error.sqlstate is None:
                raise MinutebookError(
                    "cannot_open",
                    f"Cannot reach the PostgreSQL server of {without_password(self.url)}: {error}",
                ) from error
            raise fault.error from error
        try:
            connection.execute(
                f"""SET TIME ZONE 'UTC'; SET client_min_messages = warning;
                    SET statement_timeout = {int(limits.statement_timeout * 1000)};
                    SET idle_in_transaction_session_timeout = {int(limits.idle_timeout * 1000)};
                    SET search_path TO "{self._place.schema}", public;
                    SELECT set_config('synchronous_commit', 'on', false)
                     WHERE current_setting('synchronous_commit') = 'off'""".encode()
            )
        except psycopg.Error as error:
            connection.close()
            raise POSTGRES.fault(error).error from error
        return connection

    def _check_process(self) -> None:
        if self._closed:
            raise MinutebookError("ledger_closed")
        if os.getpid() != self._pid:
            raise MinutebookError("internal", "The ledger was opened before a fork; open it in the child.")


class _Stale(Exception):
    """An idle connection turned out to be dead."""

    def __init__(self, error: MinutebookError) -> None:
        super().__init__(error.message)
        self.error = error


class _Bench:
    """A connection on which the schema is changed, one process at a time."""

    dialect = POSTGRES

    def __init__(
        self,
        connection: Connection,
        place: Place,
        wait: float,
        before_migration: Callable[[Tx, int], None] | None,
    ) -> None:
        self._connection = connection
        self._place = place
        self._wait = wait
        self._before = before_migration

    def make_schema(self) -> None:
        """Create the schema that the URL names, if it is absent."""
        there = self._connection.execute(
            "SELECT 1 AS there FROM information_schema.schemata WHERE schema_name = %s", (self._place.schema,)
        ).fetchone()
        if there is None:
            # Two at once would collide even with IF NOT EXISTS; the lock makes one wait.
            with self.change():
                name = quoting.Identifier(self._place.schema)
                self._connection.execute(quoting.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(name))

    @contextmanager
    def look(self) -> Iterator[Tx]:
        self.script("BEGIN READ ONLY")
        try:
            yield PostgresTx(self._connection, self._place)
        finally:
            self._rollback()

    @contextmanager
    def change(self) -> Iterator[Tx]:
        key = self._place.key(MIGRATION, "")
        self.script(f"""
            BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0;
            SET LOCAL lock_timeout = {max(1, int(self._wait * 1000))};
            SELECT pg_advisory_xact_lock({key})""")
        try:
            tx = PostgresTx(self._connection, self._place)
            yield tx
            tx.send()
            self.script("COMMIT")
        finally:
            self._rollback()

    def script(self, text: str) -> None:
        try:
            self._connection.execute(text.encode())
        except psycopg.Error as error:
            raise POSTGRES.fault(error).error from error

    def preserve(self, tx: Tx, old: int, new: int) -> None:
        if self._before is not None:
            self._before(tx, old)

    def _rollback(self) -> None:
        if not self._connection.closed and self._connection.info.transaction_status != TransactionStatus.IDLE:
            self.script("ROLLBACK")


def split_url(url: str) -> tuple[str, str]:
    """What libpq is given, and the schema that our own `schema=` parameter names."""
    base, _, query = url.partition("?")
    pairs = [pair for pair in query.split("&") if pair]
    schema = next((pair.removeprefix("schema=") for pair in pairs if pair.startswith("schema=")), "public")
    if re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", schema) is None:
        raise MinutebookError(
            "bad_setting",
            "The schema of a PostgreSQL URL is lower-case letters, digits and _.",
            schema=schema,
        )
    rest = "&".join(pair for pair in pairs if not pair.startswith("schema="))
    return f"{base}?{rest}" if rest else base, schema


def without_password(url: str) -> str:
    """The URL as it may be shown."""
    return re.sub(r"(?<=://)([^:@/]*):[^@/]*@", r"\1:…@", re.sub(r"(password=)[^&]*", r"\1…", url))


def _check_server(connection: Connection) -> None:
    if connection.info.server_version < OLDEST_SERVER:
        raise MinutebookError(
            "cannot_open", f"The PostgreSQL server is too old: {OLDEST_SERVER // 10000} or newer is needed."
        )
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise MinutebookError("cannot_open", f"The database's encoding is {encoding}; create it with UTF8.")


def _close(connection: Connection) -> None:
    connection.close()
