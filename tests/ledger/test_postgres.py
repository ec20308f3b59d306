"""The PostgreSQL engine room: lanes, lost connections, other processes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from minutebook.ledger.database import Database, Limits, Tx, open_database
from minutebook.ledger.postgres import split_url, without_password
from minutebook.ledger.postgres_tx import MIGRATION, Place
from minutebook.model.errors import MinutebookError
from tests.postgres import Cluster

Open = Callable[..., Database]

SCHEMA = "CREATE TABLE things (id ${text} PRIMARY KEY, n ${int})"
SECOND = "CREATE TABLE more (id ${int})"


@pytest.fixture
def engine() -> str:
    return "postgres"


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    directory = tmp_path / "schema"
    directory.mkdir()
    (directory / "0001_things.sql").write_text(SCHEMA)
    return directory


@pytest.fixture
def opened(database_url: str, schema: Path, clock: Callable[[], str]) -> Open:
    def opening(
        url: str = database_url,
        limits: Limits | None = None,
        before_migration: Callable[[Tx, int], None] | None = None,
    ) -> Database:
        return open_database(
            url, schema=schema, wait=10, clock=clock, limits=limits, before_migration=before_migration
        )

    return opening


@pytest.fixture
def database(opened: Open) -> Iterator[Database]:
    with opened() as ledger:
        yield ledger


def add(id: str) -> Callable[[Tx], int]:
    return lambda tx: tx.run("INSERT INTO things (id) VALUES (:id)", id=id)


def ids(database: Database) -> list[str]:
    with database.read() as tx:
        return [row["id"] for row in tx.all("SELECT id FROM things ORDER BY id")]


def in_thread(work: Callable[[], object]) -> tuple[threading.Thread, list[object]]:
    answer: list[object] = []

    def running() -> None:
        try:
            answer.append(work())
        except MinutebookError as error:
            answer.append(error)

    thread = threading.Thread(target=running, daemon=True)
    thread.start()
    return thread, answer


# ── lanes ──────────────────────────────────────────────────────────────────────────────────────────


def test_lanes_do_not_wait_for_each_other(database: Database) -> None:
    inside, go = threading.Event(), threading.Event()

    def hold(tx: Tx) -> None:
        inside.set()
        assert go.wait(30)
        add("slow")(tx)

    thread, _ = in_thread(lambda: database.write("one", hold))
    assert inside.wait(30)
    database.write("two", add("quick"))
    assert ids(database) == ["quick"]
    go.set()
    thread.join()
    assert ids(database) == ["quick", "slow"]


def test_writes_of_one_lane_are_serialised_across_processes(opened: Open) -> None:
    def increment(tx: Tx) -> None:
        # Read, then write what was computed: without the lane's lock two of them would read the same number.
        n = (tx.one("SELECT n FROM things WHERE id = 'counter'") or {})["n"]
        tx.one("SELECT pg_sleep(0.001) AS slept")
        tx.run("UPDATE things SET n = :n WHERE id = 'counter'", n=n + 1)

    with opened() as one, opened() as two:
        one.write("p", lambda tx: tx.run("INSERT INTO things (id, n) VALUES ('counter', 0)"))
        threads = [
            in_thread(lambda ledger=ledger: [ledger.write("p", increment) for _ in range(15)])[0]
            for ledger in (one, two)
            for _ in range(3)
        ]
        for thread in threads:
            thread.join()
        with one.read() as tx:
            assert tx.one("SELECT n FROM things") == {"n": 90}


def test_a_second_lane_can_be_taken_inside_a_write(opened: Open) -> None:
    with opened() as one, opened() as two:
        inside, go = threading.Event(), threading.Event()

        def both(tx: Tx) -> None:
            tx.lock("global")
            inside.set()
            assert go.wait(30)
            add("first")(tx)

        first, _ = in_thread(lambda: one.write("p", both))
        assert inside.wait(30)
        second, seen = in_thread(lambda: two.write("global", lambda tx: tx.all("SELECT id FROM things")))
        second.join(0.2)
        assert second.is_alive()
        go.set()
        first.join()
        second.join()
        assert seen == [[{"id": "first"}]]


def test_a_deadlock_is_settled_without_any_caller_seeing_it(opened: Open) -> None:
    meeting = threading.Barrier(2, timeout=30)
    runs: list[str] = []

    def crossing(mine: str, other: str) -> Callable[[Tx], str]:
        def work(tx: Tx) -> str:
            runs.append(mine)
            if runs.count(mine) == 1:
                meeting.wait()
            tx.lock(other)
            add(mine)(tx)
            return mine

        return work

    with opened() as one, opened() as two:
        first, answer_one = in_thread(lambda: one.write("a", crossing("a", "b")))
        second, answer_two = in_thread(lambda: two.write("b", crossing("b", "a")))
        first.join()
        second.join()
        assert (answer_one, answer_two) == (["a"], ["b"])
        assert len(runs) == 3  # one of them was the victim, once
        assert ids(one) == ["a", "b"]


# ── a server that goes away ────────────────────────────────────────────────────────────────────────

LEAVE = "SELECT pg_terminate_backend(pg_backend_pid()) AS gone"


def test_a_connection_lost_before_the_commit_is_replaced_and_the_write_run_again(database: Database) -> None:
    runs: list[int] = []

    def work(tx: Tx) -> None:
        runs.append(1)
        add("a")(tx)
        if len(runs) == 1:
            tx.one(LEAVE)

    database.write("p", work)
    assert len(runs) == 2
    assert ids(database) == ["a"]


def test_a_connection_that_is_lost_again_is_an_error_and_the_writer_lives(database: Database) -> None:
    runs: list[int] = []

    def work(tx: Tx) -> None:
        runs.append(1)
        tx.one(LEAVE)

    with pytest.raises(MinutebookError) as lost:
        database.write("p", work)
    assert lost.value.code == "io_error"
    assert len(runs) == 2
    database.write("p", add("b"))
    assert ids(database) == ["b"]


def test_a_connection_lost_during_the_commit_is_reported_as_unknown(database: Database) -> None:
    database.write(
        "p",
        lambda tx: tx.run("""
            CREATE FUNCTION leave() RETURNS trigger LANGUAGE plpgsql AS
                'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END'"""),
    )
    database.write(
        "p",
        lambda tx: tx.run("""
            CREATE CONSTRAINT TRIGGER leaving AFTER INSERT ON things DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW WHEN (NEW.id = 'fatal') EXECUTE FUNCTION leave()"""),
    )
    runs: list[int] = []

    def work(tx: Tx) -> None:
        runs.append(1)
        add("fatal")(tx)

    with pytest.raises(MinutebookError, match="idempotency key") as unknown:
        database.write("p", work)
    assert unknown.value.code == "io_error"
    assert unknown.value.details["outcome"] == "unknown"
    assert len(runs) == 1  # running it again by ourselves could do it twice
    database.write("p", add("b"))
    assert ids(database) == ["b"]


def test_connections_that_died_while_idle_are_replaced_without_a_word(
    database: Database, cluster: Cluster
) -> None:
    database.write("p", add("a"))
    with database.read(), database.read(), database.read():
        pass  # three connections, idle from here on
    cluster.command(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'minutebook'"
    )
    assert ids(database) == ["a"]
    database.write("p", add("b"))
    assert ids(database) == ["a", "b"]


def test_a_statement_that_takes_too_long_is_ended(opened: Open) -> None:
    with opened(limits=Limits(statement_timeout=0.1)) as database:
        with pytest.raises(MinutebookError) as slow:
            database.write("p", lambda tx: tx.one("SELECT pg_sleep(30) AS slept"))
        assert slow.value.code == "ledger_busy"
        database.write("p", add("a"))


def test_a_server_that_is_not_there_cannot_be_opened(
    schema: Path, clock: Callable[[], str], tmp_path: Path
) -> None:
    url = f"postgresql://me:hush@/nothing?host={tmp_path}"
    with pytest.raises(MinutebookError) as absent:
        open_database(url, schema=schema, wait=0, clock=clock)
    assert absent.value.code == "cannot_open"
    assert "hush" not in str(absent.value.as_dict())


def test_a_database_that_is_not_utf8_is_refused(cluster: Cluster, opened: Open) -> None:
    cluster.command("CREATE DATABASE old TEMPLATE template0 ENCODING 'LATIN1'")
    with pytest.raises(MinutebookError, match="UTF8") as refused:
        opened(cluster.url("old"))
    assert refused.value.code == "cannot_open"
    cluster.drop("old")


def test_the_connection_is_set_up_as_we_need_it(database: Database) -> None:
    wanted = {"application_name": "minutebook", "TimeZone": "UTC", "statement_timeout": "30s"}
    wanted |= {"idle_in_transaction_session_timeout": "1min", "synchronous_commit": "on"}

    def settings(tx: Tx) -> dict[str, str]:
        return {
            name: (tx.one("SELECT current_setting(:name) AS value", name=name) or {})["value"]
            for name in wanted
        }

    assert database.write("p", settings) == wanted


@pytest.mark.parametrize(
    ("url", "conninfo", "schema"),
    [
        ("postgresql://u:p@h/d", "postgresql://u:p@h/d", "public"),
        ("postgresql://h/d?schema=team", "postgresql://h/d", "team"),
        ("postgresql:///d?host=/tmp/x&schema=team", "postgresql:///d?host=/tmp/x", "team"),
        ("postgresql:///d?options=-c%20a%3Db", "postgresql:///d?options=-c%20a%3Db", "public"),
    ],
)
def test_our_own_parameter_is_taken_out_of_the_url(url: str, conninfo: str, schema: str) -> None:
    assert split_url(url) == (conninfo, schema)


def test_a_password_is_never_shown() -> None:
    assert without_password("postgresql://u:hush@h/d") == "postgresql://u:…@h/d"
    assert (
        without_password("postgresql://h/d?user=u&password=hush&x=y")
        == "postgresql://h/d?user=u&password=…&x=y"
    )


def test_there_is_no_file_to_copy(database: Database, tmp_path: Path) -> None:
    with pytest.raises(MinutebookError, match="archive") as refused:
        database.backup(tmp_path / "copy")
    assert refused.value.code == "backup_failed"


def test_erased_bytes_leave_the_servers_files_with_the_checkpoint(
    database: Database, database_url: str
) -> None:
    canary = "canary-5f1d"
    database.write("p", add("a"))
    database.write("p", add(canary))

    def on_disk() -> bool:
        with psycopg.connect(database_url, autocommit=True) as connection:
            connection.execute("CHECKPOINT")
            row = connection.execute(
                "SELECT position(%s::bytea IN pg_read_binary_file(pg_relation_filepath('things')))",
                (canary.encode(),),
            ).fetchone()
        return row is not None and row[0] > 0

    def erase(tx: Tx) -> None:
        tx.run("DELETE FROM things WHERE id = :id", id=canary)
        tx.after_commit(lambda: database.checkpoint("things"))

    assert on_disk()
    database.write("p", erase)
    assert not on_disk()
    assert ids(database) == ["a"]


# ── migrations beside others ───────────────────────────────────────────────────────────────────────


def test_postgres_calls_the_hook_before_it_changes_anything(opened: Open, schema: Path) -> None:
    seen: list[tuple[int, int, bool]] = []

    def before(tx: Tx, old: int) -> None:
        count = (tx.one("SELECT count(*) AS n FROM things") or {})["n"]
        seen.append((old, count, tx.one(tx.dialect.table_exists, table="more") is None))

    with opened(before_migration=before) as database:
        database.write("p", add("a"))
    assert seen == []  # a new database has nothing to keep
    (schema / "0002_more.sql").write_text(SECOND)
    (schema / "0003_most.sql").write_text("CREATE TABLE most (id ${int})")
    opened(before_migration=before).close()
    assert seen == [(1, 1, True)]


def test_two_that_start_at_once_migrate_once(opened: Open, database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(%s)", (Place("public").key(MIGRATION, ""),))
        starting = [in_thread(opened) for _ in range(2)]
        waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        while other.execute(waiting).fetchone() != (2,):
            assert all(thread.is_alive() for thread, _ in starting)
    for thread, answer in starting:
        thread.join()
        (ledger,) = answer
        assert isinstance(ledger, Database)
        assert ids(ledger) == []
        ledger.close()


def test_whoever_waits_too_long_for_a_migration_is_told(
    database_url: str, schema: Path, clock: Callable[[], str]
) -> None:
    with psycopg.connect(database_url, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(%s)", (Place("public").key(MIGRATION, ""),))
        with pytest.raises(MinutebookError) as busy:
            open_database(database_url, schema=schema, wait=0.1, clock=clock)
    assert busy.value.code == "ledger_busy"


def test_a_hook_that_fails_stops_the_migration(opened: Open, schema: Path) -> None:
    def before(tx: Tx, old: int) -> None:
        raise MinutebookError("backup_failed")

    opened().close()
    (schema / "0002_more.sql").write_text(SECOND)
    with pytest.raises(MinutebookError, match="backup"):
        opened(before_migration=before)
    (schema / "0002_more.sql").unlink()
    with opened() as database:
        assert database.facts().schema_version == 1


def test_a_process_that_runs_while_another_migrates_stops_and_says_why(opened: Open, schema: Path) -> None:
    with opened() as older:
        older.write("p", lambda tx: tx.run("INSERT INTO things (id) VALUES ('before')"))
        (schema / "0002_more.sql").write_text(SECOND)
        opened().close()
        with pytest.raises(MinutebookError, match="restart") as newer:
            older.write("p", lambda tx: tx.run("INSERT INTO things (id) VALUES ('after')"))
        assert newer.value.code == "ledger_newer"
        with pytest.raises(MinutebookError, match="restart"), older.read():
            pass
