"""A transaction on SQLite, and the write connection as the writer uses it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import apsw

from minutebook.ledger.database import Row, Tx
from minutebook.ledger.dialects import SQLITE, Fault, check_names, statement
from minutebook.ledger.writer import NotCommitted
from minutebook.model.errors import MinutebookError


class SqliteTx(Tx):
    """One transaction on one apsw connection."""

    __slots__ = ("_columns", "_connection", "_execute", "_later", "_settled", "lasting")
    dialect = SQLITE

    def __init__(
        self,
        connection: apsw.Connection,
        columns: dict[str, tuple[str, ...]],
        *,
        settled: int | None = None,
        later: Callable[[Callable[[], None]], None] | None = None,
        lasting: dict[str, Any] | None = None,
    ) -> None:
        self.lasting = {} if lasting is None else lasting
        self._connection = connection
        self._execute: Callable[..., apsw.Cursor] = connection.execute
        # Column names by statement, kept for the connection: asking apsw costs more than the row.
        self._columns = columns
        self._settled = settled
        self._later = later

    @property
    def settled(self) -> int:
        if self._settled is None:
            raise MinutebookError("internal", "Only a read transaction knows what is settled.")
        return self._settled

    def one(self, sql: str, /, **params: Any) -> Row | None:
        known = statement(sql)
        if params.keys() != known.names:
            check_names(sql, known.names, params)
        try:
            cursor = self._execute(sql, known.values(params))
            row = cursor.fetchone()
            if row is None:
                return None
            columns = self._columns.get(sql) or self._learn(sql, cursor)
            # A statement that is not run to its end keeps the transaction from being committed for as long
            # as anything (a traceback, a debugger) holds on to the cursor.
            cursor.close()
            return dict(zip(columns, row, strict=True))
        except Exception as error:
            raise SQLITE.fault(error).error from error

    def all(self, sql: str, /, **params: Any) -> list[Row]:
        known = statement(sql)
        if params.keys() != known.names:
            check_names(sql, known.names, params)
        try:
            cursor = self._execute(sql, known.values(params))
            columns = self._columns.get(sql)
            if columns is not None:
                return [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]
            first = cursor.fetchone()
            if first is None:
                return []
            columns = self._learn(sql, cursor)
            return [dict(zip(columns, row, strict=True)) for row in (first, *cursor.fetchall())]
        except Exception as error:
            raise SQLITE.fault(error).error from error

    def run(self, sql: str, /, **params: Any) -> int:
        known = statement(sql)
        if params.keys() != known.names:
            check_names(sql, known.names, params)
        try:
            self._execute(sql, known.values(params)).fetchall()
            return self._connection.changes() if known.changes else 0
        except Exception as error:
            raise SQLITE.fault(error).error from error

    def put(self, sql: str, /, **params: Any) -> None:
        known = statement(sql)
        if params.keys() != known.names:
            check_names(sql, known.names, params)
        try:
            self._execute(sql, known.values(params)).fetchall()
        except Exception as error:
            raise SQLITE.fault(error).error from error

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        self.run("SAVEPOINT inner_work")
        try:
            yield
        except BaseException:
            # After a full disk SQLite has rolled everything back by itself, and the savepoint is gone.
            if self._connection.in_transaction:
                self.run("ROLLBACK TO SAVEPOINT inner_work")
                self.run("RELEASE SAVEPOINT inner_work")
            self.forget()
            raise
        self.run("RELEASE SAVEPOINT inner_work")

    def lock(self, lane: str) -> None:
        """Nothing to do: the one writer has the whole database to itself."""

    def after_commit(self, work: Callable[[], None]) -> None:
        if self._later is None:
            raise MinutebookError("internal", "A read transaction commits nothing.")
        self._later(work)

    def end(self) -> None:
        """Make the value useless: a statement after the end would run outside any transaction."""
        self._execute = _over

    def _learn(self, sql: str, cursor: apsw.Cursor) -> tuple[str, ...]:
        columns = tuple(column[0] for column in cursor.get_description())
        self._columns[sql] = columns
        return columns


def _over(*_: Any) -> NoReturn:
    raise MinutebookError("internal", "The transaction is over; a Tx must not be kept.")


class SqliteSession:
    """The write connection, as the writer uses it."""

    def __init__(
        self, connection: apsw.Connection, still_there: Callable[[], MinutebookError | None]
    ) -> None:
        self._connection = connection
        self._still_there = still_there
        self._columns: dict[str, tuple[str, ...]] = {}
        self._lasting: dict[str, Any] = {}
        # What the last transaction remembered when it was committed: nobody but this connection writes.
        self._kept: dict[tuple[str, str], Any] | None = None
        self._tx: SqliteTx | None = None
        self.later: list[Callable[[], None]] = []

    def begin(self, lane: str) -> Tx:
        self.abandon()  # what a batch that broke off in an unforeseen way may have left
        self._do("BEGIN IMMEDIATE")
        self._tx = SqliteTx(
            self._connection,
            self._columns,
            later=lambda work: self.later.append(work),
            lasting=self._lasting,
        )
        self._tx.kept, self._kept = self._kept, None
        return self._tx

    def changes(self) -> int:
        return self._connection.total_changes()

    def finish(self) -> None:
        """Nothing: whatever was put is there."""

    def mark(self) -> None:
        self._do("SAVEPOINT one_write")

    def keep(self) -> None:
        self._do("RELEASE SAVEPOINT one_write")

    def undo(self) -> None:
        self._do("ROLLBACK TO SAVEPOINT one_write")
        self._do("RELEASE SAVEPOINT one_write")

    def fault(self) -> Fault | None:
        if self._connection.in_transaction:
            return None
        return Fault(MinutebookError("internal", "SQLite ended the transaction by itself."))

    def commit(self) -> None:
        kept = None if self._tx is None else self._tx.kept
        self._end_tx()
        gone = self._still_there()
        if gone is not None:
            raise NotCommitted(Fault(gone), halt=True)
        try:
            self._connection.execute("COMMIT")
        except apsw.Error as error:
            fault = SQLITE.fault(error)
            # A constraint that was deferred to the commit is the fault of one write; a full disk is nobody's.
            raise NotCommitted(fault, alone=isinstance(error, apsw.ConstraintError)) from error
        self._kept = kept

    def abandon(self) -> None:
        self._end_tx()
        if self._connection.in_transaction:
            self._do("ROLLBACK")

    def close(self) -> None:
        """Nothing: the database opened the connection, and closes it last."""

    def _end_tx(self) -> None:
        if self._tx is not None:
            self._tx.end()
            self._tx = None

    def _do(self, sql: str) -> None:
        try:
            self._connection.execute(sql)
        except apsw.Error as error:
            raise SQLITE.fault(error).error from error
