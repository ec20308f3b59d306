"""Short reads on the event loop: the snapshot is of now, is shared while nothing happens, and is let go."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from minutebook.ledger import events
from minutebook.ledger.database import Tx
from minutebook.operations import memories
from minutebook.surfaces.http import snapshots as shared
from minutebook.surfaces.http.snapshots import Snapshots
from tests.conftest import Clock
from tests.houses import House


@pytest.fixture
def alone(tmp_path: Path) -> House:
    return House(f"sqlite://{tmp_path}/ledger/ledger.db", tmp_path / "home", Clock())


def _in_a_loop(house: House, work: Callable[[Snapshots], None]) -> None:
    async def run() -> None:
        snapshots = Snapshots(house.service.database)
        try:
            work(snapshots)
        finally:
            snapshots.end()

    try:
        asyncio.run(run())
    finally:
        house.close()


def _now(snapshots: Snapshots) -> Tx:
    found = snapshots.now()
    assert found is not None
    return found


def test_reads_share_a_snapshot_until_something_is_committed(alone: House) -> None:
    def work(snapshots: Snapshots) -> None:
        first = _now(snapshots)
        assert _now(snapshots) is first
        before = events.last_seq(first)
        written = alone.mother(memories.write, type="learning", content="Something new.")
        second = _now(snapshots)
        assert second is not first
        assert events.last_seq(second) == written.seq > before

    _in_a_loop(alone, work)


def test_the_count_of_commits_grows_before_anybody_is_told(alone: House) -> None:
    """So who was told of a write never shares a snapshot from before it."""
    database = alone.service.database
    told = threading.Semaphore(0)
    counts: list[tuple[int, int]] = []

    def tell(before: int) -> None:
        counts.append((before, database.commits))
        told.release()

    try:
        for _ in range(50):
            before = database.commits
            database.write_soon("", events.last_seq, lambda _value, _error, before=before: tell(before))
            assert told.acquire(timeout=10)
    finally:
        alone.close()
    assert all(after > before for before, after in counts)


def test_among_writes_no_snapshot_is_kept_so_that_the_log_can_be_emptied(alone: House) -> None:
    async def run() -> None:
        snapshots = Snapshots(alone.service.database)
        for number in range(3):
            assert _now(snapshots) is _now(snapshots)
            alone.mother(memories.write, type="learning", content=f"Number {number}.")
            await asyncio.sleep(0)
            assert alone.service.database.pulse().readers_out == 0

    try:
        asyncio.run(run())
    finally:
        alone.close()


def test_a_snapshot_is_let_go_after_a_moment(alone: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "_STORM", 0.0)

    async def run() -> None:
        snapshots = Snapshots(alone.service.database)
        _now(snapshots)
        await asyncio.sleep(0)
        assert alone.service.database.pulse().readers_out == 1
        async with asyncio.timeout(10):
            while alone.service.database.pulse().readers_out:
                await asyncio.sleep(0.005)
        assert snapshots._tx is None

    try:
        asyncio.run(run())
    finally:
        alone.close()


def test_where_all_readers_are_out_nobody_waits(alone: House) -> None:
    def work(snapshots: Snapshots) -> None:
        database = alone.service.database
        held = [database.read() for _ in range(8)]
        for each in held:
            each.__enter__()
        assert snapshots.now() is None
        for each in held:
            each.__exit__(None, None, None)
        assert snapshots.now() is not None

    _in_a_loop(alone, work)


def test_a_snapshot_over_the_network_is_left_to_the_threads(house: House) -> None:
    given = house.service.database.read_at_once()
    if house.service.database.lanes:
        assert given is None
    else:
        assert given is not None
        with given as tx:
            assert events.last_seq(tx) > 0
