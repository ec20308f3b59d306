"""How the writer is doing, as it tells of itself while it works."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from minutebook.ledger.database import Database, Tx, open_database
from minutebook.ledger.pulse import Histogram
from minutebook.model.errors import MinutebookError

SCHEMA = "CREATE TABLE things (id ${text} PRIMARY KEY);"


@pytest.fixture
def database(database_url: str, tmp_path: Path, clock: Callable[[], str]) -> Iterator[Database]:
    (tmp_path / "schema").mkdir()
    (tmp_path / "schema" / "0001_things.sql").write_text(SCHEMA)
    with open_database(database_url, schema=tmp_path / "schema", wait=1, clock=clock) as opened:
        yield opened


def add(id: str) -> Callable[[Tx], None]:
    return lambda tx: tx.run("INSERT INTO things (id) VALUES (:id)", id=id) and None


def test_measurements_are_counted_by_their_size() -> None:
    sizes = Histogram((1.0, 10.0))
    for value in (0.5, 1.0, 2.0, 99.0):
        sizes.add(value)
    found = sizes.read()
    assert (found.counts, found.count, found.sum) == ((2, 1, 1), 4, 102.5)


def test_commits_and_batches_are_counted(database: Database) -> None:
    assert database.pulse().commits.count == 0
    for number in range(3):
        database.write("p", add(f"t{number}"))
    found = database.pulse()
    assert (found.commits.count, found.batches.sum, found.waits.count) == (3, 3, 3)
    assert 0 < found.commit_lately < 30
    assert (found.waiting, found.oldest_wait, found.halted, found.failed) == (0, 0.0, None, None)
    assert found.readers_out == 0
    assert found.readers > 1


def test_what_waits_is_told_while_it_waits_and_remembered_for_a_while(database: Database) -> None:
    started, go = threading.Event(), threading.Event()

    def hold(_: Tx) -> None:
        started.set()
        assert go.wait(30)

    told: list[threading.Event] = [threading.Event() for _ in range(4)]
    database.write_soon("p", hold, lambda *_: told[0].set())
    assert started.wait(30)
    for number in range(1, 4):
        database.write_soon("p", add(f"t{number}"), lambda *_, number=number: told[number].set())
    deadline = time.monotonic() + 30
    while database.pulse().oldest_wait < 0.05:  # time itself has to pass
        assert time.monotonic() < deadline
    waiting = database.pulse()
    assert (waiting.waiting, waiting.longest_wait >= 0.05) == (3, True)
    go.set()
    assert all(event.wait(30) for event in told)
    after = database.pulse()
    assert (after.waiting, after.oldest_wait) == (0, 0.0)
    assert after.longest_wait >= 0.05
    assert after.batches.sum == 4
    assert after.batches.count == 2, "the three that waited shared a transaction"


def test_open_snapshots_are_counted(database: Database) -> None:
    with database.read(), database.read():
        assert database.pulse().readers_out == 2
    assert database.pulse().readers_out == 0


def test_a_failure_of_the_house_is_told_until_a_write_succeeds(database: Database) -> None:
    def full(_: Tx) -> None:
        raise MinutebookError("disk_full")

    def wrong(_: Tx) -> None:
        raise MinutebookError("not_found")

    for work, expected in ((full, "disk_full"), (wrong, "disk_full")):
        with pytest.raises(MinutebookError):
            database.write("p", work)
        failed = database.pulse().failed
        assert failed is not None
        assert failed.code == expected, "a write's own error says nothing of the house"
    database.write("p", add("a"))
    assert database.pulse().failed is None
