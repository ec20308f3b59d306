"""What differs between the two databases, in one place: spelling, tokens of the schema files, error classes.

Statements are written once, with `:name` parameters; nothing outside this file and the two engine rooms
(`sqlite.py`, `postgres.py`) asks which database it is talking to.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import itemgetter
from typing import Any

from minutebook.model.errors import MinutebookError


class UniqueViolation(MinutebookError):
    """A row of that key exists already.

    Operations may catch it, but only around `with tx.savepoint():`, because PostgreSQL refuses every
    further statement of a transaction in which one has failed.
    """

    def __init__(self, message: str, *, table: str | None) -> None:
        super().__init__("exists", message, table=table)
        self.table = table


@dataclass(frozen=True, slots=True)
class Fault:
    """What a driver's exception means: the error to raise, and what has become of the transaction."""

    error: MinutebookError
    #: The transaction fell victim to another one (deadlock, serialisation): run again, it will pass.
    again: bool = False
    #: The connection is gone, and the transaction with it.
    lost: bool = False


# ── one text, two spellings ────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Statement:
    """One SQL text, read once: the names that it takes, and how psycopg spells it."""

    names: frozenset[str]
    #: The values in the order in which the names first come, as SQLite numbers them.
    values: Callable[[Mapping[str, Any]], tuple[Any, ...]] = field(compare=False)
    psycopg: bytes
    #: False for what changes no rows by its nature (DDL, SELECT): SQLite's count would be an older one's.
    changes: bool


# What must be stepped over (literals, quoted names, comments, casts), and what is looked for (:name).
_PIECES = re.compile(
    r"""  '(?:[^']|'')*'  |  "(?:[^"]|"")*"  |  --[^\n]*  |  /\*.*?\*/
       |  ::  |  :([A-Za-z_][A-Za-z0-9_]*)  """,
    re.VERBOSE | re.DOTALL,
)
_CHANGES = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/)*(?:INSERT|UPDATE|DELETE|REPLACE|WITH)\b", re.I | re.S)


@lru_cache(maxsize=4096)
def statement(sql: str) -> Statement:
    """Read a statement once; the cache makes every later use a dictionary look-up."""
    names: dict[str, None] = {}

    def respell(piece: re.Match[str]) -> str:
        if piece[1] is None:
            return piece[0]
        names[piece[1]] = None
        return f"\0({piece[1]})s"

    # psycopg looks for % everywhere, in literals and comments too; NUL keeps our own ones apart.
    psycopg = _PIECES.sub(respell, sql).replace("%", "%%").replace("\0", "%")
    return Statement(frozenset(names), _in_order(*names), psycopg.encode(), _CHANGES.match(sql) is not None)


def _in_order(*names: str) -> Callable[[Mapping[str, Any]], tuple[Any, ...]]:
    if not names:
        return lambda params: ()
    if len(names) == 1:
        (name,) = names
        return lambda params: (params[name],)
    return itemgetter(*names)


def check_names(sql: str, names: frozenset[str], params: Mapping[str, Any]) -> None:
    """Refuse a call that leaves a parameter out or brings one that the statement does not use."""
    if params.keys() != names:
        missing = sorted(names - params.keys())
        unused = sorted(params.keys() - names)
        raise MinutebookError(
            "internal",
            f"The statement and its parameters differ: missing {missing}, unused {unused}.",
            sql=sql,
        )


# ── the dialects ───────────────────────────────────────────────────────────────────────────────────

_TOKEN = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Dialect(ABC):
    """One database's ways. `name` is also the word in `NNNN_words.<name>.sql`."""

    name: str
    #: `${token}` of the schema files -> this database's spelling
    tokens: Mapping[str, str] = field(hash=False)
    #: One row when a table of the name :table exists, none otherwise.
    table_exists: str
    #: The columns (name) of the table :table that are written, and not made by the database itself.
    columns: str
    #: The next :n numbers (seq) of the event log, ascending, taken for whoever asked.
    next_seqs: str
    #: The place of the next text of a project whose places are :low to :high.
    next_doc: str
    #: How many texts (n) lie from :low to :high, or about so many.
    count_texts: str
    #: How many texts (n) match :term, all in all.
    count_holding: str
    #: Builds the full-text index anew from `texts`.
    rebuild_text: str
    #: Builds the index of words anew from `shelves`.
    rebuild_words: str
    #: Behind `memories` where a slug is looked for among the active: which index that is for.
    by_name: str
    #: Behind a SELECT that picks a row to take: passes over what another transaction is taking.
    skip_locked: str
    #: Whether a ledger is one file, which can be copied and put back.
    one_file: bool

    def render(self, template: str) -> str:
        """Put this database's spelling in place of every `${token}` of a schema file."""

        def spell(token: re.Match[str]) -> str:
            if token[1] not in self.tokens:
                raise MinutebookError("internal", f"A schema file uses the unknown token {token[0]}.")
            return self.tokens[token[1]]

        return _TOKEN.sub(spell, template)

    def fault(self, error: Exception) -> Fault:
        """Say what a driver's exception means; no raw one leaves the ledger layer."""
        if isinstance(error, MinutebookError):
            return Fault(error)
        if isinstance(error, (TypeError, OverflowError, UnicodeError, KeyError)):
            # Raised by either driver before the statement ran. The value is not repeated: it may be content.
            return Fault(
                MinutebookError("internal", f"A parameter cannot be stored ({type(error).__name__}).")
            )
        return self._driver_fault(error)

    @abstractmethod
    def texts_query(self, index: int, ranged: bool) -> str:
        """The statement that finds the newest texts that match :t<index>, at most :most, as one row (term, docs).

        Between :low<index> and :high<index> where it is ranged. Their places stand in one text, parted by commas:
        thousands of rows would cost more than finding them did.
        """

    @abstractmethod
    def texts_match(self, terms: Sequence[str]) -> str:
        """The value of :t<index> for "all of these terms"."""

    @abstractmethod
    def words_query(self, index: int, clause: str | None, *, before: bool = False) -> str:
        """The statement that finds the newest shelves (word, doc) that hold any of :w<index>, at most :limit.

        Exactly these on either database. `clause` speaks about the shelf `s`; None lets all of them in.
        `before` leaves out, without looking at them, those that do not stand before the place :before.
        """

    @abstractmethod
    def words_match(self, checksums: Sequence[str]) -> str:
        """The value of :w<index> for "any of these checksums"."""

    @abstractmethod
    def _driver_fault(self, error: Exception) -> Fault: ...


@dataclass(frozen=True, slots=True)
class SqliteDialect(Dialect):
    """SQLite, through apsw."""

    def texts_query(self, index: int, ranged: bool) -> str:
        # By the rowid of the full-text table itself: only then is it read from one place to another.
        clause = f" AND f.rowid BETWEEN :low{index} AND :high{index}" if ranged else ""
        return f"""SELECT {index} AS term, group_concat(doc) AS docs FROM (
                SELECT f.rowid AS doc FROM fulltext f WHERE fulltext MATCH :t{index}{clause}
                 ORDER BY f.rowid DESC LIMIT :most) AS b{index}"""

    def texts_match(self, terms: Sequence[str]) -> str:
        return " AND ".join('"' + term.replace('"', '""') + '"' for term in terms)

    def words_query(self, index: int, clause: str | None, *, before: bool = False) -> str:
        shelf = "" if clause is None else " JOIN shelves s ON s.doc = f.rowid"
        # By the rowid of the full-text table itself: only then are the rows not read and sorted first.
        bound = " AND f.rowid < :before" if before else ""
        return f"""SELECT {index} AS word, doc FROM (
                SELECT f.rowid AS doc FROM shelf_words f{shelf}
                 WHERE shelf_words MATCH :w{index}{bound}{clause or ""} ORDER BY f.rowid DESC LIMIT :limit) AS b{index}"""

    def words_match(self, checksums: Sequence[str]) -> str:
        return " OR ".join(f'"{checksum}"' for checksum in checksums)

    def _driver_fault(self, error: Exception) -> Fault:
        result = getattr(error, "result", None)
        said = f"SQLite: {error}"
        if result == _SQLITE_CONSTRAINT:
            if getattr(error, "extendedresult", 0) in _SQLITE_UNIQUE:
                found = re.search(r"failed: ([A-Za-z0-9_]+)\.", str(error))
                return Fault(UniqueViolation(said, table=found[1] if found else None))
            return Fault(MinutebookError("internal", said))
        code = _SQLITE_CODES.get(result, "internal") if isinstance(result, int) else "internal"
        if getattr(error, "extendedresult", 0) == _SQLITE_SHMSIZE:
            code = "disk_full"
        return Fault(MinutebookError(code, f"{_ADVICE.get(code, '')}{said}"))


@dataclass(frozen=True, slots=True)
class PostgresDialect(Dialect):
    """PostgreSQL, through psycopg."""

    def texts_query(self, index: int, ranged: bool) -> str:
        # OFFSET 0 keeps the order out of the search: else it walks through all rows from the newest.
        clause = f" AND t.doc BETWEEN :low{index} AND :high{index}" if ranged else ""
        return f"""SELECT {index} AS term, string_agg(CAST(doc AS TEXT), ',') AS docs FROM (
                SELECT doc FROM (
                    SELECT t.doc FROM texts t WHERE t.words @@ CAST(:t{index} AS tsquery){clause}
                    OFFSET 0) AS a{index}
                 ORDER BY doc DESC LIMIT :most) AS b{index}"""

    def texts_match(self, terms: Sequence[str]) -> str:
        # Quoted words: nothing in them is an operator.
        escaped = (term.replace("\\", "\\\\").replace("'", "''") for term in terms)
        return " & ".join(f"'{term}'" for term in escaped)

    def words_query(self, index: int, clause: str | None, *, before: bool = False) -> str:
        bound = " AND s.doc < :before" if before else ""
        # OFFSET 0 keeps the order out of the search: else it walks through all rows from the newest.
        return f"""SELECT {index} AS word, doc FROM (
                SELECT doc FROM (
                    SELECT s.doc FROM shelves s
                     WHERE s.held && string_to_array(:w{index}, ' '){bound}{clause or ""}
                    OFFSET 0) AS a{index}
                 ORDER BY doc DESC LIMIT :limit) AS b{index}"""

    def words_match(self, checksums: Sequence[str]) -> str:
        return " ".join(checksums)

    def _driver_fault(self, error: Exception) -> Fault:
        state: str | None = getattr(error, "sqlstate", None)
        diagnosis = getattr(error, "diag", None)
        # Only the primary message: the detail lines repeat the row's values.
        said: str = getattr(diagnosis, "message_primary", None) or str(error)
        if state is None:
            # No answer of the server at all: the connection, or psycopg itself.
            if type(error).__name__ in ("OperationalError", "ConnectionTimeout"):
                return Fault(
                    MinutebookError("io_error", f"{_ADVICE['io_error']}PostgreSQL: {said}"), lost=True
                )
            return Fault(MinutebookError("internal", f"PostgreSQL: {said}"))
        said = f"PostgreSQL: {said} ({state})"
        if state == "23505":
            return Fault(UniqueViolation(said, table=getattr(diagnosis, "table_name", None)))
        if state.startswith("22"):
            said = re.sub(r'"[^"]*"', '"…"', said)  # a data exception quotes the value
        code = _postgres_code(state)
        return Fault(
            MinutebookError(code, f"{_ADVICE.get(code, '')}{said}", sqlstate=state),
            again=state in ("40001", "40P01"),
            lost=state.startswith(("08", "57P")),
        )


def _postgres_code(state: str) -> str:
    for prefix, code in _POSTGRES_CODES:
        if state.startswith(prefix):
            return code
    return "internal"


_ADVICE = {
    "disk_full": "There is no room left; free some space and try again. ",
    "io_error": "The disk or the database server failed; try again, then run doctor. ",
    "ledger_damaged": "The database is damaged or is not one; restore a backup. ",
    "ledger_busy": "The database is busy; try again. ",
    "cannot_open": "The database cannot be opened; look at the path, the server and the permissions. ",
}

_SQLITE_CONSTRAINT = 19
_SQLITE_SHMSIZE = 4874  # the index of the log cannot grow: SQLite's way to say at opening that a disk is full
_SQLITE_UNIQUE = (2067, 1555, 2579)  # UNIQUE, PRIMARY KEY, ROWID
_SQLITE_CODES = {
    3: "cannot_open",  # PERM
    5: "ledger_busy",  # BUSY
    6: "ledger_busy",  # LOCKED
    8: "cannot_open",  # READONLY
    10: "io_error",  # IOERR
    11: "ledger_damaged",  # CORRUPT
    13: "disk_full",  # FULL
    14: "cannot_open",  # CANTOPEN
    26: "ledger_damaged",  # NOTADB
}

#: The first prefix that fits decides.
_POSTGRES_CODES = (
    ("08", "io_error"),  # connection
    ("25006", "io_error"),  # the server is read-only (a standby)
    ("28", "cannot_open"),  # authorisation
    ("3D", "cannot_open"),  # no such database
    ("40", "io_error"),  # rolled back: deadlock, serialisation; retried before anybody sees it
    ("42501", "cannot_open"),  # privilege
    ("53100", "disk_full"),
    ("53", "io_error"),  # resources
    ("55P03", "ledger_busy"),  # lock not available in time
    ("57014", "ledger_busy"),  # statement took longer than its limit
    ("57P", "io_error"),  # the server is going down or coming up
    ("58", "io_error"),  # the server's disk
    ("XX001", "ledger_damaged"),
    ("XX002", "ledger_damaged"),
)

SQLITE = SqliteDialect(
    name="sqlite",
    tokens={
        "sequence": "INTEGER PRIMARY KEY AUTOINCREMENT",
        "text": "TEXT",
        "int": "INTEGER",
        "real": "REAL",
        "blob": "BLOB",
        "clustered": " WITHOUT ROWID",
    },
    table_exists="SELECT name FROM sqlite_schema WHERE type = 'table' AND name = :table",
    columns="SELECT name FROM pragma_table_info(:table)",
    next_seqs="""
        WITH RECURSIVE numbers (seq, n) AS (
            SELECT COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0) + 1, 1 WHERE :n > 0
            UNION ALL SELECT seq + 1, n + 1 FROM numbers WHERE n < :n)
        SELECT seq FROM numbers""",
    next_doc="COALESCE((SELECT max(d.doc) + 1 FROM texts d WHERE d.doc BETWEEN :low AND :high), :low)",
    # Texts are taken away only when they are erased or moved: few numbers are unused.
    count_texts="SELECT COALESCE(max(doc) + 1 - :low, 0) AS n FROM texts WHERE doc BETWEEN :low AND :high",
    count_holding="SELECT count(*) AS n FROM fulltext WHERE fulltext MATCH :term",
    rebuild_text="INSERT INTO fulltext (fulltext) VALUES ('rebuild')",
    rebuild_words="INSERT INTO shelf_words (shelf_words) VALUES ('rebuild')",
    # Without statistics SQLite takes the index of statuses for as good, and walks through the whole project.
    by_name="INDEXED BY memories_identity",
    # One transaction writes at a time: nobody else is taking anything.
    skip_locked="",
    one_file=True,
)

POSTGRES = PostgresDialect(
    name="postgres",
    tokens={
        "sequence": "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
        "text": 'TEXT COLLATE "C"',
        "int": "BIGINT",
        "real": "DOUBLE PRECISION",
        "blob": "BYTEA",
        "clustered": "",
    },
    table_exists="""
        SELECT table_name AS name FROM information_schema.tables
         WHERE table_schema = current_schema() AND table_name = :table""",
    columns="""
        SELECT column_name AS name FROM information_schema.columns
         WHERE table_schema = current_schema() AND table_name = :table AND is_generated = 'NEVER'
         ORDER BY ordinal_position""",
    next_seqs="""
        SELECT nextval(pg_get_serial_sequence('events', 'seq')) AS seq
          FROM generate_series(1, CAST(:n AS BIGINT))""",
    next_doc=":low + nextval('text_docs')",
    count_texts="""
        SELECT count(*) AS n FROM (SELECT 1 FROM texts WHERE doc BETWEEN :low AND :high LIMIT 20000) AS counted""",
    count_holding="SELECT count(*) AS n FROM texts WHERE words @@ CAST(:term AS tsquery)",
    # Its own pages are the server's affair; what can be asked is whether it answers at all.
    rebuild_text="REINDEX INDEX texts_words",
    rebuild_words="REINDEX INDEX shelves_words",
    by_name="",
    skip_locked="FOR UPDATE SKIP LOCKED",
    one_file=False,
)
