"""A transaction on PostgreSQL, the write connection as the writer uses it, and the locks of both.

How `settled` is known. A number of `events.seq` is taken early and committed late, so a small one may appear
after a larger one. Before it takes its first number, a writing transaction reads the last one given out, L,
and takes a shared lock whose key *is* L; the lock ends when the commit is visible. A reader asks for the last
number given out, H, then for the smallest L that is locked, and only then opens its snapshot. Whoever took a
number up to H held its lock before the reader looked: either it is seen, and settled stays at its L, or it
has ended, and the snapshot shows what it wrote.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Protocol

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import DictRow

from minutebook.ledger.database import Row, Tx
from minutebook.ledger.dialects import POSTGRES, Fault, check_names, statement
from minutebook.ledger.writer import NotCommitted
from minutebook.model.errors import MinutebookError

Connection = psycopg.Connection[DictRow]

#: Whether the client's library can send several statements in one round trip.
_PIPELINES = psycopg.Pipeline.is_supported()

# The highest byte of an advisory lock's key says what the lock is for, so that none is mistaken for another.
LANE, MIGRATION, SETTLING = 0x4C, 0x4D, 0x53
_SEQ_BITS = 40  # a thousand thousand million events


class Fell(Protocol):
    """Is told that the transaction is over, and whether the connection is of no more use."""

    def __call__(self, fault: Fault, *, spoiled: bool = False) -> None: ...


class PostgresTx(Tx):
    """One transaction on one psycopg connection."""

    __slots__ = (
        "_connection", "_fell", "_later", "_place", "_savepoints", "_settled", "_unsent", "changes", "lasting",
    )  # fmt: skip
    dialect = POSTGRES

    def __init__(
        self,
        connection: Connection,
        place: Place,
        *,
        settled: int | None = None,
        later: Callable[[Callable[[], None]], None] | None = None,
        fell: Fell | None = None,
        lasting: dict[str, Any] | None = None,
    ) -> None:
        self.lasting = {} if lasting is None else lasting
        #: statements that may have changed something
        self.changes = 0
        # Statements of which nobody asked what came of them, in order: they go with the next one.
        self._unsent: list[tuple[bytes, dict[str, Any]]] = []
        self._savepoints = 0
        self._connection: Connection | None = connection
        self._place = place
        self._settled = settled
        self._later = later
        self._fell = fell

    @property
    def settled(self) -> int:
        if self._settled is None:
            raise MinutebookError("internal", "Only a read transaction knows what is settled.")
        return self._settled

    def one(self, sql: str, /, **params: Any) -> Row | None:
        cursor = self._run(sql, params)
        return cursor.fetchone() if cursor.description else None

    def all(self, sql: str, /, **params: Any) -> list[Row]:
        cursor = self._run(sql, params)
        return cursor.fetchall() if cursor.description else []

    def run(self, sql: str, /, **params: Any) -> int:
        cursor = self._run(sql, params)
        return max(cursor.rowcount, 0) if statement(sql).changes else 0

    def put(self, sql: str, /, **params: Any) -> None:
        if self._savepoints or not params:
            self._run(sql, params)  # what fails inside a savepoint must fail there
            return
        known = statement(sql)
        if params.keys() != known.names:
            check_names(sql, known.names, params)
        self.changes += 1
        self._unsent.append((known.psycopg, params))

    def drop(self) -> None:
        """Let go of what waits: the write that put it is undone."""
        self._unsent = []

    def send(self) -> None:
        """Send what waits, in one round trip, and see that all of it went well."""
        if self._unsent:
            self._trip(None, {})

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        self.run("SAVEPOINT inner_work")
        self._savepoints += 1
        try:
            yield
        except BaseException:
            self._savepoints -= 1
            if self._connection is not None and not self._connection.closed:
                self.run("ROLLBACK TO SAVEPOINT inner_work")
                self.run("RELEASE SAVEPOINT inner_work")
            self.forget()
            raise
        self._savepoints -= 1
        self.run("RELEASE SAVEPOINT inner_work")

    def lock(self, lane: str) -> None:
        self.run("SELECT pg_advisory_xact_lock(:key)", key=self._place.key(LANE, lane))

    def after_commit(self, work: Callable[[], None]) -> None:
        if self._later is None:
            raise MinutebookError("internal", "A read transaction commits nothing.")
        self._later(work)

    def end(self) -> None:
        """Make the value useless: a statement after the end would run outside any transaction."""
        self._connection = None
        self._unsent = []

    def _run(self, sql: str, params: dict[str, Any]) -> psycopg.Cursor[DictRow]:
        known = statement(sql)
        if params.keys() != known.names:
            check_names(sql, known.names, params)
        self.changes += known.changes
        # Without parameters psycopg looks for no % and takes the text as it is.
        cursor = self._trip(known.psycopg if params else sql.encode(), params)
        assert cursor is not None
        return cursor

    def _trip(self, text: bytes | None, params: dict[str, Any]) -> psycopg.Cursor[DictRow] | None:
        """One round trip: what waits, and a statement of which somebody wants to know what came of it."""
        connection, unsent = self._connection, self._unsent
        if connection is None:
            raise MinutebookError("internal", "The transaction is over; a Tx must not be kept.")
        self._unsent = []
        try:
            if not unsent:
                return None if text is None else connection.execute(text, params or None)
            with connection.pipeline() if _PIPELINES else nullcontext():
                for waiting, given in unsent:
                    connection.execute(waiting, given)
                return None if text is None else connection.execute(text, params or None)
        except Exception as error:
            self.changes += 1  # nothing, but until that is undone the server takes no further statement
            fault = POSTGRES.fault(error)
            # Of several statements it may not have been the write's own, and psycopg is wrong about which of
            # them are prepared now: the transaction is given up, and the connection with it.
            if self._fell is not None and (fault.again or fault.lost or unsent):
                self._fell(fault, spoiled=bool(unsent))
            raise fault.error from error


class PostgresSession:
    """One write connection, opened when first needed and again when it was lost."""

    def __init__(self, place: Place, connect: Callable[[], Connection]) -> None:
        self._place = place
        self._connect = connect
        self._connection: Connection | None = None
        self._tx: PostgresTx | None = None
        self._lasting: dict[str, Any] = {}
        self._fault: Fault | None = None
        self._spoiled = False
        self.later: list[Callable[[], None]] = []

    def begin(self, lane: str) -> Tx:
        self._fault = None
        if self._connection is None:
            self._connection = self._connect()
        # One round trip. The lane first: who waits for it must not hold back what is settled.
        place = self._place
        found = self._do(f"BEGIN; SELECT pg_advisory_xact_lock({place.key(LANE, lane)}); {place.enter}")
        place.check_version(found)
        self._tx = PostgresTx(
            self._connection,
            place,
            later=lambda work: self.later.append(work),
            fell=self._fell,
            lasting=self._lasting,
        )
        return self._tx

    def changes(self) -> int:
        return 0 if self._tx is None else self._tx.changes

    def finish(self) -> None:
        if self._tx is not None:
            self._tx.send()

    def mark(self) -> None:
        self._do("SAVEPOINT one_write")

    def keep(self) -> None:
        self._do("RELEASE SAVEPOINT one_write")

    def undo(self) -> None:
        if self._tx is not None:
            self._tx.drop()
        self._do("ROLLBACK TO SAVEPOINT one_write; RELEASE SAVEPOINT one_write")

    def fault(self) -> Fault | None:
        if self._fault is None and self._connection is not None and self._connection.closed:
            self._fell(
                Fault(MinutebookError("io_error", "The connection to the server was lost."), lost=True)
            )
        return self._fault

    def commit(self) -> None:
        assert self._connection is not None
        if self._tx is not None:
            try:
                self._tx.send()
            except MinutebookError as error:
                raise NotCommitted(self._fault or Fault(error), alone=True) from error
        self._end_tx()
        if self._connection.info.transaction_status == TransactionStatus.INERROR:
            error = MinutebookError(
                "internal",
                "A write went on after a failed statement; catch errors inside tx.savepoint() only.",
            )
            raise NotCommitted(Fault(error))
        try:
            answer = self._connection.execute(b"COMMIT").statusmessage
        except psycopg.Error as error:
            fault = POSTGRES.fault(error)
            if fault.lost or self._connection.closed:
                unknown = MinutebookError(
                    "io_error",
                    "The connection was lost during the commit: the write is durable or it is not. "
                    "Send it again with the same idempotency key.",
                    outcome="unknown",
                )
                raise NotCommitted(Fault(unknown)) from error
            raise NotCommitted(fault, alone=True) from error
        if answer != "COMMIT":
            raise NotCommitted(Fault(MinutebookError("internal", f"The server answered {answer} to COMMIT.")))

    def abandon(self) -> None:
        self._end_tx()
        connection = self._connection
        if connection is None:
            return
        try:
            if not connection.closed and not self._spoiled:
                connection.execute(b"ROLLBACK")
                return
        except psycopg.Error as error:
            self._fell(POSTGRES.fault(error))  # nothing is left to roll back; the next begin connects anew
        connection.close()
        self._connection, self._spoiled = None, False

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _fell(self, fault: Fault, *, spoiled: bool = False) -> None:
        self._fault = self._fault or fault
        self._spoiled = self._spoiled or spoiled

    def _end_tx(self) -> None:
        if self._tx is not None:
            self._tx.end()
            self._tx = None

    def _do(self, text: str) -> list[DictRow]:
        assert self._connection is not None
        try:
            return last_rows(self._connection.execute(text.encode()))
        except psycopg.Error as error:
            fault = POSTGRES.fault(error)
            if fault.again or fault.lost:
                self._fell(fault)
            raise fault.error from error


class Place:
    """Where in a server a ledger lives, and the statements that depend on it."""

    def __init__(self, schema: str) -> None:
        self.schema = schema
        self.version = 0
        #: What a writing transaction does after it has its lane, and a reader before and for its snapshot.
        self.enter = self.settle = self.snapshot = ""

    def key(self, purpose: int, name: str) -> int:
        """The advisory lock of a name: 8 bits for the purpose, 56 of a hash. A collision only serialises."""
        digest = hashlib.blake2b(f"{self.schema}\0{name}".encode(), digest_size=7).digest()
        return purpose << 56 | int.from_bytes(digest)

    def prepare(self, connection: Connection, version: int) -> None:
        """Once the schema is there: word the statements that look at it."""
        self.version = version
        newest = "SELECT max(version) AS version FROM migrations"
        self.enter = newest
        # The first statement fixes the snapshot, which BEGIN alone does not.
        self.snapshot = f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {newest}"
        with connection.cursor() as cursor:
            row = cursor.execute("SELECT to_regclass('events') IS NOT NULL AS there").fetchone()
            if not (row and row["there"]):
                return
            found = cursor.execute("""
                SELECT pg_get_serial_sequence('events', 'seq') AS sequence,
                       (SELECT CAST(oid AS BIGINT) FROM pg_database
                         WHERE datname = current_database()) AS database
                """).fetchone()
        assert found is not None
        if found["sequence"] is None:
            raise MinutebookError("internal", "The column events.seq has no sequence.")
        family = int.from_bytes(hashlib.blake2b(self.schema.encode(), digest_size=2).digest())
        family |= SETTLING << 16
        last = "CASE WHEN is_called THEN last_value ELSE last_value - 1 END"
        sequence = found["sequence"]  # quoted by the server where it needs to be
        self.enter = f"""
            SELECT pg_advisory_xact_lock_shared({family << _SEQ_BITS} + {last}) FROM {sequence}; {newest}"""
        # The order matters: H first, the locks after. Neither looks at a snapshot.
        self.settle = f"""
            SELECT {last} AS high FROM {sequence};
            SELECT min((CAST(classid AS BIGINT) << 32 | CAST(objid AS BIGINT))
                       & {(1 << _SEQ_BITS) - 1}) AS low
              FROM pg_locks
             WHERE locktype = 'advisory' AND objsubid = 1 AND database = {found["database"]}
               AND CAST(classid AS BIGINT) >> {_SEQ_BITS - 32} = {family}"""

    def check_version(self, found: list[DictRow]) -> None:
        """Stop when another process has migrated the ledger since we opened it."""
        if found and found[0]["version"] != self.version:
            raise MinutebookError(
                "ledger_newer",
                f"The ledger was brought to schema version {found[0]['version']} while this process ran with "
                f"{self.version}: restart it with the newer minutebook.",
                ledger=found[0]["version"],
                program=self.version,
            )


def last_rows(cursor: psycopg.Cursor[DictRow]) -> list[DictRow]:
    """The rows of the last of several statements."""
    while cursor.nextset():
        pass
    return cursor.fetchall() if cursor.description else []
