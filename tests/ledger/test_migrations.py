"""The schema moves forward, all or nothing, with a copy of what was before."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from minutebook.ledger.database import Database, open_database
from minutebook.ledger.dialects import POSTGRES, SQLITE
from minutebook.ledger.migrations import load
from minutebook.model.errors import MinutebookError

Open = Callable[[], Database]

FIRST = """
-- A comment; with a semicolon, and a 'quote
CREATE TABLE notes (id ${sequence}, body ${text} NOT NULL DEFAULT 'a;b--c');
INSERT INTO notes (body) VALUES ('semi;colon'), ('100% sure'), ('it''s');
/* another; comment */
"""
SECOND = """
CREATE TABLE tags (note ${int} NOT NULL REFERENCES notes (id), tag ${text});
INSERT INTO tags (note, tag) SELECT id, body FROM notes;
ALTER TABLE notes ADD COLUMN author ${text};
"""


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    directory = tmp_path / "schema"
    directory.mkdir()
    (directory / "0001_notes.sql").write_text(FIRST)
    return directory


@pytest.fixture
def opened(database_url: str, schema: Path, clock: Callable[[], str]) -> Open:
    def opening() -> Database:
        return open_database(database_url, schema=schema, wait=10, clock=clock)

    return opening


def rows(database: Database, sql: str) -> list[dict]:
    with database.read() as tx:
        return tx.all(sql)


def test_a_new_database_gets_every_migration_and_a_note_of_each(opened: Open, schema: Path) -> None:
    (schema / "0002_tags.sql").write_text(SECOND)
    with opened() as database:
        assert [row["body"] for row in rows(database, "SELECT body FROM notes ORDER BY id")] == [
            "semi;colon",
            "100% sure",
            "it's",
        ]
        noted = rows(database, "SELECT version, name, applied_at FROM migrations ORDER BY version")
    assert [(row["version"], row["name"]) for row in noted] == [(1, "notes"), (2, "tags")]
    assert noted[0]["applied_at"] < noted[1]["applied_at"]


def test_an_existing_database_gets_only_what_is_new(opened: Open, schema: Path) -> None:
    with opened() as database:
        database.write("p", lambda tx: tx.run("INSERT INTO notes (body) VALUES ('kept')"))
    (schema / "0002_tags.sql").write_text(SECOND)
    with opened() as database:
        assert database.facts().schema_version == 2
        assert len(rows(database, "SELECT tag FROM tags")) == 4
    with opened() as database:
        assert len(rows(database, "SELECT tag FROM tags")) == 4


def test_each_database_runs_its_own_file_after_the_shared_one(
    opened: Open, schema: Path, engine: str
) -> None:
    (schema / "0002_own.sql").write_text("CREATE TABLE own (said ${text})")
    (schema / "0002_own.sqlite.sql").write_text("INSERT INTO own VALUES ('sqlite')")
    (schema / "0002_own.postgres.sql").write_text("INSERT INTO own VALUES ('postgres')")
    other = {"sqlite": "postgres", "postgres": "sqlite"}[engine]
    (schema / f"0003_only.{other}.sql").write_text("THIS IS NOT SQL")
    with opened() as database:
        assert rows(database, "SELECT said FROM own") == [{"said": engine}]
        assert database.facts().schema_version == 3


def test_a_trigger_with_statements_of_its_own_needs_no_care(opened: Open, schema: Path) -> None:
    (schema / "0002_trigger.sql").write_text("CREATE TABLE log (said ${text})")
    (schema / "0002_trigger.sqlite.sql").write_text("""
        CREATE TRIGGER added AFTER INSERT ON notes BEGIN
            INSERT INTO log VALUES ('one;'); INSERT INTO log VALUES ('two');
        END;""")
    (schema / "0002_trigger.postgres.sql").write_text("""
        CREATE FUNCTION log_it() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO log VALUES ('one;'); INSERT INTO log VALUES ('two');
            RETURN NEW;
        END $$;
        CREATE TRIGGER added AFTER INSERT ON notes FOR EACH ROW EXECUTE FUNCTION log_it();""")
    with opened() as database:
        database.write("p", lambda tx: tx.run("INSERT INTO notes (body) VALUES ('x')"))
        assert [row["said"] for row in rows(database, "SELECT said FROM log ORDER BY said")] == [
            "one;",
            "two",
        ]


def test_a_migration_that_fails_leaves_the_database_as_it_was(opened: Open, schema: Path) -> None:
    opened().close()
    (schema / "0002_tags.sql").write_text(SECOND + "; INSERT INTO nowhere VALUES (1)")
    with pytest.raises(MinutebookError) as failed:
        opened()
    assert failed.value.code == "internal"
    (schema / "0002_tags.sql").unlink()
    with opened() as database:
        assert database.facts().schema_version == 1
        assert "author" not in rows(database, "SELECT * FROM notes")[0]
        with pytest.raises(MinutebookError):
            rows(database, "SELECT * FROM tags")


@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK", "COMMIT; BEGIN"])
def test_a_migration_that_ends_its_transaction_itself_is_refused(
    opened: Open, schema: Path, end: str
) -> None:
    (schema / "0002_bad.sql").write_text(f"SELECT 1; {end};")
    with pytest.raises(MinutebookError):
        opened()
    (schema / "0002_bad.sql").unlink()
    with opened() as database:
        assert database.facts().schema_version == 1


def test_a_newer_ledger_is_refused_and_left_alone(opened: Open, schema: Path) -> None:
    (schema / "0002_tags.sql").write_text(SECOND)
    opened().close()
    (schema / "0002_tags.sql").unlink()
    with pytest.raises(MinutebookError, match="upgrade") as newer:
        opened()
    assert newer.value.code == "ledger_newer"
    assert newer.value.details == {"ledger": 2, "program": 1}
    (schema / "0002_tags.sql").write_text(SECOND)
    with opened() as database:
        assert len(rows(database, "SELECT tag FROM tags")) == 3


def test_a_migration_whose_text_changed_since_is_called_damage(opened: Open, schema: Path) -> None:
    opened().close()
    (schema / "0001_notes.sql").write_text(FIRST + "-- a later thought")
    with pytest.raises(MinutebookError) as damaged:
        opened()
    assert damaged.value.code == "ledger_damaged"


def test_rows_that_point_to_nothing_stop_a_migration(opened: Open, schema: Path) -> None:
    (schema / "0002_tags.sql").write_text(SECOND + "INSERT INTO tags (note, tag) VALUES (99, 'orphan');")
    with pytest.raises(MinutebookError):
        opened()


@pytest.mark.parametrize(
    "names",
    [
        ["0002_b.sql"],
        ["0001_a.sql", "0003_c.sql"],
        ["0001_a.sql", "0001_b.sql"],
        ["1_a.sql"],
        ["0001_a.mysql.sql"],
    ],
)
def test_migrations_that_are_not_numbered_one_by_one_are_a_defect(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        (tmp_path / name).write_text("SELECT 1")
    with pytest.raises(MinutebookError) as refused:
        load(tmp_path, SQLITE)
    assert refused.value.code == "internal"


def test_the_two_databases_see_the_same_versions(tmp_path: Path) -> None:
    (tmp_path / "0001_a.sql").write_text("x")
    (tmp_path / "0001_a.sqlite.sql").write_text("y")
    (tmp_path / "0002_b.postgres.sql").write_text("z")
    assert [(m.version, m.scripts) for m in load(tmp_path, SQLITE)] == [(1, ("x", "y")), (2, ())]
    assert [(m.version, m.scripts) for m in load(tmp_path, POSTGRES)] == [(1, ("x",)), (2, ("z",))]


def test_two_processes_that_start_at_once_migrate_once(
    database_url: str, schema: Path, clock: Callable[[], str]
) -> None:
    (schema / "0002_tags.sql").write_text(SECOND)
    program = f"""
from pathlib import Path
from minutebook.ledger.database import open_database
with open_database({database_url!r}, schema=Path({str(schema)!r}), wait=60, clock=lambda: "now") as ledger:
    with ledger.read() as tx:
        print(tx.one("SELECT count(*) AS n FROM tags")["n"])
"""
    children = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    assert [child.communicate(timeout=60)[0] for child in children] == ["3\n"] * 4


# ── what is kept of the time before ────────────────────────────────────────────────────────────────


def sqlite_at(tmp_path: Path, schema: Path, clock: Callable[[], str]) -> Database:
    return open_database(f"sqlite://{tmp_path}/ledger.db", schema=schema, wait=5, clock=clock)


def test_sqlite_keeps_a_copy_from_before_the_migration(
    tmp_path: Path, schema: Path, clock: Callable[[], str]
) -> None:
    with sqlite_at(tmp_path, schema, clock) as database:
        database.write("p", lambda tx: tx.run("INSERT INTO notes (body) VALUES ('kept')"))
    assert not (tmp_path / "backups").exists()
    (schema / "0002_tags.sql").write_text(SECOND)
    (schema / "0003_more.sql").write_text("CREATE TABLE more (id ${int})")
    sqlite_at(tmp_path, schema, clock).close()
    (copy,) = (tmp_path / "backups").iterdir()
    assert copy.name.startswith("ledger-v1-before-v3-20260101T")
    assert copy.stat().st_mode & 0o777 == 0o600
    (schema / "0002_tags.sql").unlink()
    (schema / "0003_more.sql").unlink()
    with open_database(f"sqlite://{copy}", schema=schema, wait=0, clock=clock) as old:
        assert len(rows(old, "SELECT body FROM notes")) == 4


def test_without_room_for_the_copy_there_is_no_migration(
    tmp_path: Path, schema: Path, clock: Callable[[], str]
) -> None:
    sqlite_at(tmp_path, schema, clock).close()
    (schema / "0002_tags.sql").write_text(SECOND)
    (tmp_path / "backups").write_text("a file where the directory should be")
    with pytest.raises(MinutebookError) as failed:
        sqlite_at(tmp_path, schema, clock)
    assert failed.value.code == "backup_failed"
    (schema / "0002_tags.sql").unlink()
    with sqlite_at(tmp_path, schema, clock) as database:
        assert database.facts().schema_version == 1


# ── killed in the middle ───────────────────────────────────────────────────────────────────────────

MIGRATING = """
import sys
from pathlib import Path
from minutebook.ledger.database import open_database
print("begin", flush=True)
open_database(sys.argv[1], schema=Path(sys.argv[2]), wait=30, clock=lambda: sys.argv[3]).close()
print("end", flush=True)
"""


@pytest.mark.parametrize("moment", range(8))
def test_a_killed_migration_leaves_the_old_version_or_the_new_one(
    database_url: str, schema: Path, clock: Callable[[], str], moment: int
) -> None:
    open_database(database_url, schema=schema, wait=5, clock=clock).close()
    # Long enough to be hit in the middle: many statements, and then many rows.
    many = "".join(f"CREATE TABLE filler_{n} (id ${{int}} PRIMARY KEY);" for n in range(40))
    rows_of = """
        INSERT INTO filler_0 (id)
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000) SELECT i FROM n;"""
    (schema / "0002_tags.sql").write_text(SECOND + many + rows_of + "INSERT INTO tags VALUES (1, 'last');")
    child = subprocess.Popen(
        [sys.executable, "-c", MIGRATING, database_url, str(schema), clock()],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "begin\n"
    timer = threading.Timer(0.02 + moment * 0.04, child.kill)
    timer.start()
    child.wait()
    timer.cancel()
    child.stdout.close()

    # A program that knows only the old version may refuse; one that knows both must find all of it.
    newer = (schema / "0002_tags.sql").rename(schema.parent / "kept.sql")
    try:
        with open_database(database_url, schema=schema, wait=30, clock=clock) as old:
            assert len(rows(old, "SELECT * FROM notes")) == 3
            assert "author" not in rows(old, "SELECT * FROM notes")[0]
            with old.read() as tx:
                assert tx.one(tx.dialect.table_exists, table="filler_0") is None
    except MinutebookError as error:
        if error.code != "ledger_newer":
            raise
    newer.rename(schema / "0002_tags.sql")
    with open_database(database_url, schema=schema, wait=30, clock=clock) as new:
        assert len(rows(new, "SELECT * FROM tags")) == 4
        assert rows(new, "SELECT count(*) AS n FROM filler_0") == [{"n": 60000}]
