"""Threads for an event loop: what they do comes back, and what waits is bounded."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from minutebook.model.errors import MinutebookError
from minutebook.surfaces.http.crew import Crew


@pytest.fixture
def crew() -> Iterator[Crew]:
    hired = Crew("test", threads=2, waiting=3)
    yield hired
    hired.close()


def test_what_a_thread_returns_or_raises_comes_back(crew: Crew) -> None:
    def fail() -> None:
        raise KeyError("gone")

    async def ask() -> tuple[int, str]:
        there = await crew.do(threading.get_ident)
        with pytest.raises(KeyError):
            await crew.do(fail)
        return there, await crew.do(lambda: "still working")

    there, said = asyncio.run(ask())
    assert there != threading.get_ident()
    assert said == "still working"


def test_threads_are_hired_when_there_is_work_and_no_more_than_so_many(crew: Crew) -> None:
    async def ask() -> set[int]:
        assert len(crew._threads) == 0
        await crew.do(lambda: None)
        assert len(crew._threads) == 1
        together = threading.Barrier(2, timeout=10)
        await asyncio.gather(crew.do(together.wait), crew.do(together.wait))
        return set(await asyncio.gather(*[crew.do(threading.get_ident) for _ in range(5)]))

    assert 1 <= len(asyncio.run(ask())) <= 2
    assert len(crew._threads) == 2


def test_more_work_than_there_is_room_for_is_refused_until_some_is_done(crew: Crew) -> None:
    async def ask() -> None:
        go = threading.Event()
        under_way = [asyncio.ensure_future(crew.do(lambda: go.wait(10))) for _ in range(5)]
        await asyncio.sleep(0)
        with pytest.raises(MinutebookError) as refused:
            await crew.do(lambda: None)
        assert refused.value.code == "overloaded"
        go.set()
        assert await asyncio.gather(*under_way) == [True] * 5
        assert await crew.do(lambda: "room again") == "room again"

    asyncio.run(ask())


def test_a_caller_who_went_away_leaves_its_place(crew: Crew) -> None:
    async def ask() -> None:
        go = threading.Event()
        done = threading.Event()

        def work() -> None:
            go.wait(10)
            done.set()

        for _ in range(5):
            waiting = asyncio.ensure_future(crew.do(work))
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        go.set()
        assert await crew.do(lambda: done.wait(10))

    asyncio.run(ask())


def test_work_that_ends_after_its_loop_harms_nobody(crew: Crew) -> None:
    go = threading.Event()

    async def ask() -> None:
        waiting = asyncio.ensure_future(crew.do(lambda: go.wait(10)))
        await asyncio.sleep(0)
        waiting.cancel()

    asyncio.run(ask())
    go.set()
    assert asyncio.run(crew.do(lambda: "still there")) == "still there"
