"""Forward-only, numbered changes of the schema, each in one transaction with the note that it was made.

A schema directory holds `NNNN_words.sql` for both databases and, beside it, `NNNN_words.sqlite.sql` or
`NNNN_words.postgres.sql` for what only one of them needs, which runs after. Files are given to the database
whole: its own parser finds the statements, so literals, comments and trigger bodies need no care. A file must
not end the transaction itself; if it does, the migration is refused.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from minutebook.ledger.database import Tx
from minutebook.ledger.dialects import Dialect
from minutebook.model.errors import MinutebookError

_NAME = re.compile(r"(\d{4})_([a-z0-9_]+)(?:\.(sqlite|postgres))?\.sql")

_TABLE = """
    CREATE TABLE migrations (
        version    ${int} PRIMARY KEY,
        name       ${text} NOT NULL,
        checksum   ${text} NOT NULL,
        applied_at ${text} NOT NULL
    )"""


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered change, for one of the databases."""

    version: int
    name: str
    #: The texts as they are in the files: first the shared one, then the database's own.
    scripts: tuple[str, ...]
    checksum: str


class Workbench(Protocol):
    """A connection that nobody else uses yet, on which the schema is changed."""

    @property
    def dialect(self) -> Dialect: ...

    def look(self) -> AbstractContextManager[Tx]:
        """A transaction that only reads."""
        ...

    def change(self) -> AbstractContextManager[Tx]:
        """A transaction that keeps every other migrating process out; committed if nothing is raised."""
        ...

    def script(self, text: str) -> None:
        """Run a file's statements inside the open transaction."""
        ...

    def preserve(self, tx: Tx, old: int, new: int) -> None:
        """Keep a copy of the content as it was before."""
        ...


def load(directory: Path, dialect: Dialect) -> list[Migration]:
    """Read the migrations of a directory, in order."""
    names: dict[int, str] = {}
    texts: dict[int, dict[str, str]] = {}
    for path in sorted(directory.glob("*.sql")):
        parts = _NAME.fullmatch(path.name)
        if parts is None:
            raise MinutebookError("internal", f"{path.name} is not a migration's name (NNNN_words.sql).")
        version, name, engine = int(parts[1]), parts[2], parts[3] or ""
        if names.setdefault(version, name) != name:
            raise MinutebookError("internal", f"Two migrations have the number {version}.")
        texts.setdefault(version, {})[engine] = path.read_text("utf-8")
    if sorted(names) != list(range(1, len(names) + 1)):
        raise MinutebookError("internal", f"The migrations are not numbered 1, 2, 3, …: {sorted(names)}.")
    return [
        _migration(version, names[version], [texts[version].get(engine) for engine in ("", dialect.name)])
        for version in sorted(names)
    ]


def _migration(version: int, name: str, found: list[str | None]) -> Migration:
    # Of the files, not of what is rendered: a better spelling of a token must not make old ledgers suspect.
    digest = hashlib.sha256("\0".join(text or "" for text in found).encode()).hexdigest()
    return Migration(version, name, tuple(text for text in found if text is not None), digest)


def migrate(bench: Workbench, migrations: list[Migration], clock: Callable[[], str]) -> int:
    """Bring the database to the newest version and return it.

    Killed at any point, the database has the old version or the next one, and nothing between.
    """
    newest = len(migrations)
    with bench.look() as tx:
        started_at = _check(tx, migrations)
    preserved = started_at == 0
    for migration in migrations[started_at:]:
        with bench.change() as tx:
            # Looked at again under the lock: another process may have done it while this one waited.
            if (version := _check(tx, migrations)) >= migration.version:
                continue
            if not preserved:
                bench.preserve(tx, version, newest)
                preserved = True
            _apply(bench, tx, migration, clock())
    return newest


def version_of(tx: Tx) -> int:
    """The schema version of a database; 0 when it has none yet."""
    if tx.one(tx.dialect.table_exists, table="migrations") is None:
        return 0
    row = tx.one("SELECT max(version) AS version FROM migrations")
    return int(row["version"] or 0) if row else 0


def _apply(bench: Workbench, tx: Tx, migration: Migration, now: str) -> None:
    if tx.one(tx.dialect.table_exists, table="migrations") is None:
        bench.script(tx.dialect.render(_TABLE))
    bench.script("SAVEPOINT migration")
    for text in migration.scripts:
        bench.script(tx.dialect.render(text))
    # Fails when a file has ended the transaction: the savepoint went with it.
    bench.script("RELEASE SAVEPOINT migration")
    tx.run(
        """INSERT INTO migrations (version, name, checksum, applied_at)
           VALUES (:version, :name, :checksum, :now)""",
        version=migration.version,
        name=migration.name,
        checksum=migration.checksum,
        now=now,
    )


def _check(tx: Tx, migrations: list[Migration]) -> int:
    """The database's version; an error when this program must not touch it."""
    version = version_of(tx)
    if version > len(migrations):
        raise MinutebookError(
            "ledger_newer",
            f"The ledger has schema version {version}, and this minutebook knows {len(migrations)}: "
            "upgrade minutebook.",
            ledger=version,
            program=len(migrations),
        )
    if version == 0:
        return 0
    applied = {row["version"]: row["checksum"] for row in tx.all("SELECT version, checksum FROM migrations")}
    for migration in migrations[:version]:
        if applied.get(migration.version) != migration.checksum:
            raise MinutebookError(
                "ledger_damaged",
                f"Migration {migration.version} ({migration.name}) was applied with another text than this "
                "minutebook has; restore a backup, or use the version that wrote the ledger.",
                version=migration.version,
            )
    return version
