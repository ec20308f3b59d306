"""The ledger's database, as the rest of the house sees it: snapshots to read, one way to write.

Nobody else opens a connection. A write is handed over as a function and comes back when it is durable;
a read is a snapshot that nothing changes under the reader.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from minutebook.ledger.dialects import Dialect
from minutebook.ledger.pulse import Pulse
from minutebook.model.errors import MinutebookError, missing_extra

T = TypeVar("T")
Row = dict[str, Any]

#: Answers that a transaction remembers.
_KEPT = 1_000


@dataclass(frozen=True, slots=True)
class Limits:
    """Every limit of the database layer, by name."""

    batch: int = 64  # waiting writes that share one transaction
    company: float = 0.0003  # seconds that the writer waits for one more of those whom it answered together
    writers: int = 4  # PostgreSQL: lanes written at the same time by this process
    attempts: int = 5  # runs of one write that keeps falling victim to others
    readers: int = 8  # snapshots open at once in this process
    reader_wait: float = 30.0  # seconds for one of them to come free
    busy: float = 5.0  # seconds that SQLite waits for a reader or a foreign process
    cache_kib: int = 16 * 1024  # SQLite's page cache, for each connection
    statements: int = 400  # prepared statements kept, for each connection
    checkpoint_pages: int = 1000  # SQLite moves the log into the database after so many pages
    statement_timeout: float = 30.0  # seconds for one PostgreSQL statement
    idle_timeout: float = 60.0  # seconds before PostgreSQL ends a transaction whose process has stopped
    connect_timeout: float = 10.0  # seconds to reach the PostgreSQL server


@dataclass(frozen=True, slots=True)
class Facts:
    """What can be said of the open database without looking at its content."""

    engine: str
    version: str
    where: str
    schema_version: int
    size_bytes: int
    wal_bytes: int | None
    owner_pid: int | None
    writes_waiting: int


class Tx(ABC):
    """One open transaction, of either database. It is handed in; no caller opens one.

    A value of a column is None, int, float, str or bytes. Name computed columns (`count(*) AS n`): the two
    databases name them differently. A statement must be given exactly the parameters that it names.
    """

    dialect: Dialect
    #: What the connection that writes knows from one transaction to the next: only what was committed belongs here.
    lasting: dict[str, Any]
    #: What was looked up by `remember`, and nothing that changed since.
    kept: dict[tuple[str, str], Any] | None = None

    @property
    @abstractmethod
    def settled(self) -> int:
        """The event up to which the log is final: every `seq <= settled` is visible here, and none will join.

        Only a read transaction knows it. A follower reads `seq > cursor AND seq <= settled`.
        """

    def remember(self, key: tuple[str, str], look_up: Callable[[], T]) -> T:
        """What was looked up before in this transaction: writes that share it ask for the same few rows.

        On SQLite, where nobody else writes, also what was looked up in the committed ones before it. Whoever
        changes such a row says `forget`, and so does the writer when it undoes a write.
        """
        if self.kept is None:
            self.kept = {}
        if key not in self.kept:
            found = look_up()
            # The look-up itself may have made us forget.
            self.kept = self.kept or {}
            if len(self.kept) >= _KEPT:
                self.kept.clear()
            self.kept[key] = found
        return self.kept[key]

    def forget(self) -> None:
        """Look everything up anew."""
        self.kept = None

    @abstractmethod
    def one(self, sql: str, /, **params: Any) -> Row | None:
        """Run the statement and return its first row, or None."""

    @abstractmethod
    def all(self, sql: str, /, **params: Any) -> list[Row]:
        """Run the statement and return every row."""

    @abstractmethod
    def run(self, sql: str, /, **params: Any) -> int:
        """Run the statement and return how many rows it changed."""

    @abstractmethod
    def put(self, sql: str, /, **params: Any) -> None:
        """Run the statement, of which nobody asks what came of it; PostgreSQL is sent it with the next one.

        Should it fail, the write fails. An error that is to be caught needs `run`, or a savepoint around.
        """

    @abstractmethod
    def savepoint(self) -> AbstractContextManager[None]:
        """Undo what was done inside if it raises; the transaction goes on.

        The only place in which an error of the database may be caught.
        """

    @abstractmethod
    def lock(self, lane: str) -> None:
        """Wait until no other transaction writes in that lane, and keep them out until this one ends.

        The lane named `global` is always taken last, so that no two wait for each other.
        """

    @abstractmethod
    def after_commit(self, work: Callable[[], None]) -> None:
        """Run `work` on the writer's thread once the commit is durable, before the write returns.

        Dropped if this write fails. What it raises reaches the caller, with a note that the write stands.
        """


class Database(ABC):
    """An open ledger database. Thread-safe. Close it, or use it as a context manager."""

    dialect: Dialect
    url: str
    #: What was found good lately, and up to when that need not be looked at again (see ledger/health.py).
    granted: dict[str, tuple[float, Any]]
    #: Whether writes of different lanes run side by side; if not, nobody needs to find out the lane.
    lanes: bool

    @abstractmethod
    def read(self) -> AbstractContextManager[Tx]:
        """Open a consistent snapshot, from any thread, several at once."""

    def read_last(self) -> AbstractContextManager[Tx]:
        """Like `read`, and also when the files were taken away: for who asks, and for health, which says so."""
        return self.read()

    def read_at_once(self) -> AbstractContextManager[Tx] | None:
        """A snapshot for an event loop, which must not wait; None where that cannot be had. Enter it at once.

        It shows what stands for as long as `commits` stays what it was before: whoever has one has only this
        process to look at.
        """
        return None

    @property
    def commits(self) -> int:
        """How often this process committed; it grows before any of that is acknowledged."""
        return 0

    @abstractmethod
    def write(self, lane: str, work: Callable[[Tx], T]) -> T:
        """Run `work` in a transaction, wait until that is durable, and return what it returned.

        Writes of one lane are serialised. `work` may be run again from the start if the transaction fell
        victim to another one, so it must change nothing but the database. If it raises, what it wrote is
        undone, unless the error has `recorded = True`: then that is kept, and the error raised after the
        commit. An interrupted caller leaves the write to finish.
        """

    @abstractmethod
    def write_soon(
        self, lane: str, work: Callable[[Tx], Any], tell: Callable[[Any, BaseException | None], None]
    ) -> None:
        """Queue a write like `write` and return; `tell(value, error)` is called once it is durable.

        For an event loop, which must not sleep. `tell` runs on the writer's thread, returns at once and
        never raises.
        """

    @abstractmethod
    def on_commit(self, tell: Callable[[], None]) -> None:
        """Call `tell` on the writer's thread after every commit of this process, for whoever follows the log.

        It returns at once and never raises.
        """

    @abstractmethod
    def close(self) -> None:
        """Finish the writes that wait, then let go of the database. Idempotent."""

    @abstractmethod
    def checkpoint(self, *tables: str) -> None:
        """Make deleted bytes leave the disk: SQLite empties its log, PostgreSQL rewrites the tables named."""

    @abstractmethod
    def backup(self, target: Path) -> None:
        """Write a verified copy of the whole database to a new file, while others read and write."""

    @abstractmethod
    def damage(self) -> str:
        """What the database finds wrong with itself when it looks through all of it; empty when nothing."""

    @abstractmethod
    def pulse(self) -> Pulse:
        """Say how the writer and the readers are doing; nothing is read, so it can be told at any time."""

    @abstractmethod
    def facts(self) -> Facts:
        """Say what is known of the database, its size, its owner and its queue."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_database(
    url: str,
    *,
    schema: Path,
    wait: float,
    clock: Callable[[], str],
    limits: Limits | None = None,
    before_migration: Callable[[Tx, int], None] | None = None,
) -> Database:
    """Open the ledger at `url`, create it if it is absent, and bring it to the newest schema.

    `wait` is how many seconds to wait for another owner (SQLite) or for another process that is migrating
    (PostgreSQL). `before_migration(tx, old_version)` is called on PostgreSQL before a database that has
    content is migrated; SQLite is copied to a file instead. The two engine rooms are imported on demand:
    a command that needs one does not pay for the other.
    """
    chosen = limits or Limits()
    scheme = url.partition("://")[0]
    if scheme == "sqlite":
        from minutebook.ledger.sqlite import SqliteDatabase

        return SqliteDatabase(url, schema=schema, wait=wait, clock=clock, limits=chosen)
    if scheme in ("postgresql", "postgres"):
        try:
            import psycopg  # noqa: F401  (is it there?)
        except ImportError as error:
            raise missing_extra("A PostgreSQL ledger needs psycopg", "postgres") from error
        from minutebook.ledger.postgres import PostgresDatabase

        return PostgresDatabase(
            url, schema=schema, wait=wait, clock=clock, limits=chosen, before_migration=before_migration
        )
    raise MinutebookError(
        "bad_setting",
        "The database URL must start with sqlite:/// (an absolute path follows) or postgresql://.",
        scheme=scheme,
    )
