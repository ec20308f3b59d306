"""Whoever follows the event log sees every event once, although PostgreSQL commits them out of order."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from minutebook.ledger.database import Database, Tx, open_database
from minutebook.model.errors import MinutebookError

Open = Callable[..., Database]

SCHEMA = """
CREATE TABLE events (seq ${sequence}, body ${text} NOT NULL);
"""


@pytest.fixture
def engine() -> str:
    return "postgres"


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    directory = tmp_path / "schema"
    directory.mkdir()
    (directory / "0001_events.sql").write_text(SCHEMA)
    return directory


@pytest.fixture
def opened(database_url: str, schema: Path, clock: Callable[[], str]) -> Open:
    def opening(url: str = database_url) -> Database:
        return open_database(url, schema=schema, wait=10, clock=clock)

    return opening


@pytest.fixture
def database(opened: Open) -> Iterator[Database]:
    with opened() as ledger:
        yield ledger


def append(tx: Tx, body: str = "x") -> int:
    row = tx.one("INSERT INTO events (body) VALUES (:body) RETURNING seq", body=body)
    assert row is not None
    return row["seq"]


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


def test_a_late_commit_is_waited_for_and_a_reader_without_the_bound_misses_it(database: Database) -> None:
    inside, go = threading.Event(), threading.Event()

    def late(tx: Tx) -> int:
        seq = append(tx, "late")
        inside.set()
        assert go.wait(30)
        return seq

    thread, answer = in_thread(lambda: database.write("one", late))
    assert inside.wait(30)
    early = database.write("two", lambda tx: append(tx, "early"))
    with database.read() as tx:
        assert tx.settled == 0
        naive = [row["seq"] for row in tx.all("SELECT seq FROM events")]
    assert naive == [early]  # a follower that trusts this goes on from here ...
    go.set()
    thread.join()
    (missed,) = answer
    assert isinstance(missed, int)
    assert missed < early  # ... and never sees that one
    with database.read() as tx:
        assert tx.settled == early
        assert len(tx.all("SELECT seq FROM events WHERE seq <= :settled", settled=tx.settled)) == 2


def test_a_number_that_was_never_committed_does_not_hold_followers_up(database: Database) -> None:
    def failing(tx: Tx) -> None:
        append(tx)
        raise MinutebookError("internal")

    with pytest.raises(MinutebookError):
        database.write("one", failing)
    last = database.write("one", append)
    with database.read() as tx:
        assert tx.settled == last == 2


def test_a_follower_of_six_writers_sees_every_event_exactly_once(opened: Open) -> None:
    seed = 20260101
    each = 40
    followed: list[int] = []
    naive: list[int] = []
    written: list[int] = []
    done = threading.Event()

    def writing(ledger: Database, who: int) -> None:
        dice = random.Random(seed + who)

        def work(tx: Tx) -> int:
            seq = append(tx)
            # The gap between taking the number and committing it, in which the others overtake.
            tx.one("SELECT pg_sleep(:pause) AS slept", pause=dice.random() * 0.01)
            return seq

        for _ in range(each):
            written.append(ledger.write(f"lane-{who}", work))

    def following(ledger: Database) -> None:
        cursor = blind = 0
        last_look = False
        while not last_look:
            last_look = done.is_set()
            with ledger.read() as tx:
                rows = tx.all(
                    "SELECT seq FROM events WHERE seq > :cursor AND seq <= :settled ORDER BY seq",
                    cursor=cursor,
                    settled=tx.settled,
                )
                followed.extend(row["seq"] for row in rows)
                cursor = max(cursor, tx.settled)
                rows = tx.all("SELECT seq FROM events WHERE seq > :blind ORDER BY seq", blind=blind)
                naive.extend(row["seq"] for row in rows)
                blind = naive[-1] if naive else 0

    with ExitStack() as open_ledgers:
        ledgers = [open_ledgers.enter_context(opened()) for _ in range(6)]
        follower, failed = in_thread(lambda: following(ledgers[0]))
        writers = [in_thread(lambda who=who: writing(ledgers[who], who))[0] for who in range(6)]
        for thread in writers:
            thread.join()
        done.set()
        follower.join()
    assert failed == [None]
    assert len(written) == 6 * each
    assert followed == sorted(written)
    assert len(naive) < len(written), "the race did not happen: this test proves nothing as it stands"


def test_ledgers_in_two_schemas_of_one_database_do_not_disturb_each_other(
    opened: Open, database_url: str
) -> None:
    with opened(f"{database_url}&schema=team_a") as a, opened(f"{database_url}&schema=team_b") as b:
        for _ in range(3):
            a.write("p", append)
        inside, go = threading.Event(), threading.Event()

        def hold(tx: Tx) -> None:
            append(tx)
            inside.set()
            assert go.wait(30)

        thread, _ = in_thread(lambda: b.write("p", hold))
        assert inside.wait(30)
        a.write("p", append)  # the lane of that name in the other schema is another lane
        with a.read() as tx:
            assert tx.settled == 4
        go.set()
        thread.join()
        with b.read() as tx:
            assert tx.settled == 1
    with psycopg.connect(database_url) as connection:
        tables = connection.execute("SELECT schemaname FROM pg_tables WHERE tablename = 'events'").fetchall()
    assert sorted(tables) == [("team_a",), ("team_b",)]
