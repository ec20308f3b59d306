"""Reading and writing one text on two databases, and what happens when the ground gives way."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from minutebook.ledger.database import Database, Limits, Tx, open_database
from minutebook.ledger.dialects import UniqueViolation
from minutebook.model.errors import MinutebookError

SCHEMA = """
CREATE TABLE events (seq ${sequence}, body ${text} NOT NULL);
CREATE TABLE things (
    id    ${text} PRIMARY KEY,
    n     ${int},
    x     ${real},
    bytes ${blob},
    CHECK (n IS NULL OR n >= 0)
);
CREATE TABLE parts (thing ${text} NOT NULL REFERENCES things (id) DEFERRABLE INITIALLY DEFERRED);
"""


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    directory = tmp_path / "schema"
    directory.mkdir()
    (directory / "0001_things.sql").write_text(SCHEMA)
    return directory


@pytest.fixture
def database(database_url: str, schema: Path, clock: Callable[[], str]) -> Iterator[Database]:
    with open_database(database_url, schema=schema, wait=1, clock=clock) as opened:
        yield opened


def add(id: str, n: int | None = None) -> Callable[[Tx], int]:
    return lambda tx: tx.run("INSERT INTO things (id, n) VALUES (:id, :n)", id=id, n=n)


def ids(database: Database) -> list[str]:
    with database.read() as tx:
        return [row["id"] for row in tx.all("SELECT id FROM things ORDER BY id")]


# ── one text, two databases ────────────────────────────────────────────────────────────────────────


def test_what_is_written_is_read_back_with_its_types(database: Database) -> None:
    row = {"id": "ünï %s :a 'q'", "n": 2**53 + 1, "x": 0.5, "bytes": b"\x00\xff"}
    database.write(
        "p", lambda tx: tx.run("INSERT INTO things (id, n, x, bytes) VALUES (:id, :n, :x, :bytes)", **row)
    )
    with database.read() as tx:
        assert tx.one("SELECT * FROM things WHERE id = :id", id=row["id"]) == row
        assert tx.all("SELECT id, 'a%' AS pattern FROM things") == [{"id": row["id"], "pattern": "a%"}]
        assert tx.one("SELECT * FROM things WHERE id = :id", id="nobody") is None
        assert tx.all("SELECT * FROM things WHERE id = :id", id="nobody") == []


def test_run_tells_how_many_rows_changed(database: Database) -> None:
    def work(tx: Tx) -> list[int]:
        return [
            tx.run("INSERT INTO things (id) VALUES ('a'), ('b'), ('c')"),
            tx.run("UPDATE things SET n = 1 WHERE id <> :id", id="a"),
            tx.run("UPDATE things SET n = 1 WHERE id = 'nobody'"),
            tx.run("CREATE TABLE other (id TEXT)"),
            tx.run("SELECT * FROM things"),
            tx.run("INSERT INTO things (id) VALUES ('d') ON CONFLICT (id) DO NOTHING"),
            tx.run("DELETE FROM things WHERE id IN ('a', 'b') RETURNING id"),
        ]

    assert database.write("p", work) == [3, 2, 0, 0, 0, 1, 2]


def test_the_first_row_of_many_returned_does_not_undo_the_others(database: Database) -> None:
    first = database.write("p", lambda tx: tx.one("INSERT INTO things (id) VALUES ('a'), ('b') RETURNING id"))
    assert first == {"id": "a"}
    assert ids(database) == ["a", "b"]


def test_a_missing_and_an_unused_parameter_are_errors(database: Database) -> None:
    with database.read() as tx:
        with pytest.raises(MinutebookError, match="missing \\['a'\\]") as missing:
            tx.one("SELECT CAST(:a AS TEXT) AS a")
        with pytest.raises(MinutebookError, match="unused \\['b'\\]"):
            tx.all("SELECT CAST(:a AS TEXT) AS a", a="", b="")
    assert missing.value.code == "internal"


@pytest.mark.parametrize("value", [object(), "\ud800", 2**70])
def test_a_value_that_cannot_be_stored_is_our_error_and_harms_nothing(
    database: Database, value: object
) -> None:
    with pytest.raises(MinutebookError) as refused:
        database.write("p", lambda tx: tx.run("INSERT INTO things (id, n) VALUES ('a', :n)", n=value))
    assert refused.value.code == "internal"
    database.write("p", add("b"))
    assert ids(database) == ["b"]


def test_errors_of_the_database_never_show_what_was_stored(database: Database) -> None:
    for sql in (
        "INSERT INTO things (id, n) VALUES (:v, -1)",
        "INSERT INTO parts (thing) VALUES (:v)",
    ):
        with pytest.raises(MinutebookError) as refused:
            database.write("p", lambda tx, sql=sql: tx.run(sql, v="content-of-a-memory"))
        assert refused.value.code == "internal"
        assert "content-of-a-memory" not in str(refused.value.as_dict())


def test_a_unique_violation_can_be_caught_inside_a_savepoint(database: Database) -> None:
    def work(tx: Tx) -> str | None:
        tx.run("INSERT INTO things (id) VALUES ('a')")
        try:
            with tx.savepoint():
                tx.run("INSERT INTO things (id) VALUES ('b')")
                tx.run("INSERT INTO things (id) VALUES ('a')")
        except UniqueViolation as violation:
            tx.run("INSERT INTO things (id) VALUES ('c')")
            return violation.table
        return None

    assert database.write("p", work) == "things"
    assert ids(database) == ["a", "c"]


def test_a_unique_violation_that_nobody_catches_is_a_conflict(database: Database) -> None:
    database.write("p", add("a"))
    with pytest.raises(UniqueViolation) as violation:
        database.write("p", add("a"))
    assert violation.value.code == "exists"


def test_a_transaction_that_is_over_cannot_be_used(database: Database) -> None:
    kept: list[Tx] = []
    database.write("p", kept.append)
    with database.read() as tx:
        kept.append(tx)
    for over in kept:
        with pytest.raises(MinutebookError, match="over"):
            over.one("SELECT 1 AS one")


# ── snapshots ──────────────────────────────────────────────────────────────────────────────────────


def test_a_snapshot_does_not_change_under_its_reader(database: Database) -> None:
    database.write("p", add("a"))
    with database.read() as before:
        database.write("p", add("b"))
        with database.read() as after:
            assert len(before.all("SELECT id FROM things")) == 1
            assert len(after.all("SELECT id FROM things")) == 2


def test_a_reader_cannot_write(database: Database) -> None:
    with pytest.raises(MinutebookError), database.read() as tx:
        tx.run("INSERT INTO things (id) VALUES ('a')")
    with database.read() as tx, pytest.raises(MinutebookError):
        tx.after_commit(lambda: None)
    assert ids(database) == []


def test_settled_is_the_last_event_of_the_snapshot(database: Database) -> None:
    with database.read() as tx:
        assert tx.settled == 0
    for _ in range(3):
        database.write("p", lambda tx: tx.run("INSERT INTO events (body) VALUES ('x')"))
    with database.read() as tx:
        assert tx.settled == 3
    with pytest.raises(MinutebookError, match="settled"):
        database.write("p", lambda tx: tx.settled)


def test_without_an_event_log_nothing_is_settled(
    database_url: str, tmp_path: Path, clock: Callable[[], str]
) -> None:
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "0001_bare.sql").write_text("CREATE TABLE t (id ${int})")
    with open_database(database_url, schema=tmp_path / "bare", wait=1, clock=clock) as opened:
        opened.write("p", lambda tx: tx.run("INSERT INTO t VALUES (1)"))
        with opened.read() as tx:
            assert tx.settled == 0


def test_more_readers_than_connections_take_turns(
    database_url: str, schema: Path, clock: Callable[[], str]
) -> None:
    with open_database(database_url, schema=schema, wait=1, clock=clock, limits=Limits(readers=2)) as opened:
        opened.write("p", add("a"))
        seen: list[list[str]] = []
        threads = [threading.Thread(target=lambda: seen.append(ids(opened))) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert seen == [["a"]] * 12


def test_a_reader_that_finds_no_connection_is_told_so(
    database_url: str, schema: Path, clock: Callable[[], str]
) -> None:
    limits = Limits(readers=1, reader_wait=0.05)
    with (
        open_database(database_url, schema=schema, wait=1, clock=clock, limits=limits) as opened,
        opened.read(),
        pytest.raises(MinutebookError) as busy,
        opened.read(),
    ):
        pass
    assert busy.value.code == "ledger_busy"


def test_a_failed_reader_leaves_its_connection_fit_for_the_next(database: Database) -> None:
    for _ in range(20):
        with pytest.raises(MinutebookError), database.read() as tx:
            tx.one("SELECT nothing FROM nowhere")
    assert ids(database) == []


# ── open and close ─────────────────────────────────────────────────────────────────────────────────


def test_what_was_written_is_there_after_reopening(
    database_url: str, schema: Path, clock: Callable[[], str]
) -> None:
    for id in ("a", "b"):
        with open_database(database_url, schema=schema, wait=1, clock=clock) as opened:
            opened.write("p", add(id))
    with open_database(database_url, schema=schema, wait=1, clock=clock) as opened:
        assert ids(opened) == ["a", "b"]


def test_a_closed_database_says_so_and_closes_again_in_peace(database: Database) -> None:
    database.close()
    database.close()
    with pytest.raises(MinutebookError) as closed:
        database.write("p", add("a"))
    assert closed.value.code == "ledger_closed"
    with pytest.raises(MinutebookError) as closed, database.read():
        pass
    assert closed.value.code == "ledger_closed"


def test_facts_tell_engine_version_size_and_queue(database: Database, engine: str) -> None:
    facts = database.facts()
    assert facts.engine == engine
    assert facts.version[0].isdigit()
    assert facts.schema_version == 1
    assert facts.size_bytes > 0
    assert facts.writes_waiting == 0
    if engine == "sqlite":
        assert facts.owner_pid == os.getpid()
        assert facts.wal_bytes


@pytest.mark.parametrize(
    "url", ["mysql://x/y", "ledger.db", "sqlite://ledger.db", "sqlite:///", "postgresql:///x?schema=a;b", ""]
)
def test_a_url_that_names_no_database_is_a_bad_setting(
    url: str, schema: Path, clock: Callable[[], str]
) -> None:
    with pytest.raises(MinutebookError) as refused:
        open_database(url, schema=schema, wait=0, clock=clock)
    assert refused.value.code == "bad_setting"


def test_without_psycopg_the_message_says_what_to_install(schema: Path, tmp_path: Path) -> None:
    program = f"""
import sys
sys.modules["psycopg"] = None
from pathlib import Path
from minutebook.ledger.database import open_database
from minutebook.model.errors import MinutebookError
try:
    open_database("postgresql://h/d", schema=Path({str(schema)!r}), wait=0, clock=lambda: "")
except MinutebookError as error:
    print(error.code, error.message)
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said.startswith("missing_extra")
    assert "the extra `postgres`" in said


def test_a_sqlite_ledger_does_not_pay_for_the_import_of_psycopg(tmp_path: Path, schema: Path) -> None:
    program = f"""
import sys
from pathlib import Path
from minutebook.ledger.database import open_database
url = "sqlite://{tmp_path}/ledger.db"
open_database(url, schema=Path({str(schema)!r}), wait=0, clock=lambda: "").close()
assert "psycopg" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)
