"""Followers sleep until something was committed, and miss nothing."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator

import pytest

from minutebook.operations import events, memories
from minutebook.surfaces import waking as module
from minutebook.surfaces.waking import Waking
from tests.conftest import ENGINES
from tests.houses import House

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture
def waking(house: House) -> Iterator[Waking]:
    made = Waking(house.service)
    yield made
    made.close()


def write(house: House, text: str) -> None:
    house.ripley(memories.write, type="learning", content=text)


def test_a_sleeping_task_is_woken_by_a_commit(house: House, waking: Waking) -> None:
    async def follow() -> tuple[bool, float]:
        count = waking.count
        sleeping = asyncio.create_task(waking.after(count, 20))
        await asyncio.to_thread(write, house, "The valve sticks when it is cold.")
        written = time.monotonic()
        return await sleeping, time.monotonic() - written

    woken, late = asyncio.run(follow())
    assert woken
    assert late < 1


def test_a_commit_between_the_count_and_the_sleep_is_not_missed(house: House, waking: Waking) -> None:
    async def follow() -> bool:
        count = waking.count
        await asyncio.to_thread(write, house, "The airlock takes eight seconds.")
        return await waking.after(count, 20)

    assert asyncio.run(follow())


def test_a_sleeping_thread_is_woken_by_a_commit(house: House, waking: Waking) -> None:
    count = waking.count
    heard: list[bool] = []
    sleeping = threading.Thread(target=lambda: heard.append(waking.wait(count, 20)))
    sleeping.start()
    write(house, "The cat goes where it is warm.")
    sleeping.join(20)
    assert heard == [True]


def test_nothing_written_ends_the_sleep_when_its_time_is_over(house: House, waking: Waking) -> None:
    async def follow() -> bool:
        # PostgreSQL's first look may wake for what was there before.
        await waking.after(waking.count, 1.2)
        return await waking.after(waking.count, 0.05)

    assert asyncio.run(follow()) is False
    assert waking.wait(waking.count, 0.01) is False


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_a_dry_run_wakes_nobody(house: House) -> None:
    """On PostgreSQL a follower may be woken for nothing."""
    waking = Waking(house.service)
    house.ripley(memories.write, type="learning", content="Only tried.", dry_run=True)
    assert waking.count == 0


def test_closing_wakes_everybody_and_says_no(house: House) -> None:
    waking = Waking(house.service)

    async def follow() -> list[bool]:
        sleeping = [asyncio.create_task(waking.after(waking.count)) for _ in range(10)]
        await asyncio.sleep(0)
        await asyncio.to_thread(waking.close)
        return await asyncio.wait_for(asyncio.gather(*sleeping), 10)

    assert asyncio.run(follow()) == [False] * 10
    assert waking.closed
    assert waking.wait(waking.count) is False


def test_an_event_loop_that_has_ended_holds_up_no_write(house: House, waking: Waking) -> None:
    loop = asyncio.new_event_loop()
    task = loop.create_task(waking.after(waking.count))
    loop.run_until_complete(asyncio.sleep(0, None))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        loop.run_until_complete(task)
    sleeping = loop.create_task(waking.after(waking.count))
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    write(house, "Nobody is there to hear this.")
    assert house.ripley(memories.list_).items
    assert not sleeping.done()
    # The task goes with its loop; it was never awaited to its end on purpose.
    sleeping.get_coro().close()  # type: ignore[union-attr]
    sleeping._log_destroy_pending = False  # type: ignore[attr-defined]


def test_a_storm_of_writes_wakes_a_follower_in_batches_and_nothing_is_missed(
    house: House, waking: Waking
) -> None:
    """Ten followers read while 4 threads write 120 memories."""
    cursor = house.jones(events.list_, limit=1).items[0].seq
    wanted = 120

    def write_some(start: int) -> None:
        for number in range(start, wanted, 4):
            house.mother(
                memories.write, type="learning", content=f"Fact number {number}.", slug=f"f-{number}"
            )

    async def follow() -> tuple[int, int]:
        seen, reads, after = 0, 0, cursor
        while seen < wanted:
            count = waking.count
            page = await asyncio.to_thread(
                house.jones, events.list_, kind="memory", follow=True, after=str(after), limit=500
            )
            reads += 1
            if page.items:
                seen, after = seen + len(page.items), page.items[-1].seq
            else:
                assert await waking.after(count, 20)
        return seen, reads

    async def all_of_them() -> list[tuple[int, int]]:
        return await asyncio.gather(*(follow() for _ in range(10)))

    threads = [threading.Thread(target=write_some, args=(start,)) for start in range(4)]
    for thread in threads:
        thread.start()
    try:
        told = asyncio.run(asyncio.wait_for(all_of_them(), 60))
    finally:
        for thread in threads:
            thread.join()
    assert [seen for seen, _ in told] == [wanted] * 10


@pytest.mark.parametrize("engine", [name for name in ENGINES if name == "postgres"], indirect=True)
def test_another_process_on_postgres_is_heard_within_a_second(house: House) -> None:
    """A second service on the same ledger stands for the other process; on SQLite there can be none."""
    other = House(house.url, house.home, house.clock, seed=2)
    waking = Waking(house.service)
    try:

        async def follow() -> float:
            await waking.after(waking.count, 1.2)  # the first look
            count = waking.count
            await asyncio.to_thread(write, other, "Written elsewhere.")
            written = time.monotonic()
            assert await waking.after(count, 20)
            return time.monotonic() - written

        assert asyncio.run(follow()) < 4 * module._LOOK
    finally:
        waking.close()
        other.close()
