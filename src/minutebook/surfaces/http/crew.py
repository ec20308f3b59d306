"""A few threads that do the blocking work of an event loop, which must never wait for the ledger itself."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

from minutebook.model.errors import MinutebookError

T = TypeVar("T")


class Crew:
    """At most so many threads, started when there is work for them, and so much work that waits."""

    def __init__(self, name: str, *, threads: int, waiting: int) -> None:
        self._name = name
        self._most = threads
        self._room = threads + waiting
        self._threads: list[threading.Thread] = []
        self._under_way = 0  # only touched on the event loop
        self._queue: SimpleQueue[tuple[Callable[[], Any], asyncio.Future[Any]] | None] = SimpleQueue()

    async def do(self, work: Callable[[], T]) -> T:
        """What `work` returns or raises, done by a thread; `overloaded` when too much waits already."""
        if self._under_way >= self._room:
            raise MinutebookError("overloaded", "The service is busy with other requests; try again.")
        self._under_way += 1
        try:
            if self._under_way > len(self._threads) < self._most:
                self._hire()
            future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
            self._queue.put((work, future))
            return await future
        finally:
            self._under_way -= 1

    def close(self) -> None:
        """Let the threads go when they have done what waits."""
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join()
        self._threads.clear()

    def _hire(self) -> None:
        number = len(self._threads) + 1
        # They never hold up the end of the process: what they do for a caller ends with it.
        thread = threading.Thread(target=self._labour, name=f"minutebook-{self._name}-{number}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _labour(self) -> None:
        while (task := self._queue.get()) is not None:
            work, future = task
            value: Any = None
            error: BaseException | None = None
            try:
                value = work()
            except BaseException as raised:  # noqa: BLE001 - delivered to whoever waits for it
                error = raised
            _tell(future, value, error)
            # The next wait may be long: hold on to nobody's answer.
            del task, work, future, value, error


def _tell(future: asyncio.Future[Any], value: Any, error: BaseException | None) -> None:
    try:
        future.get_loop().call_soon_threadsafe(settle, future, value, error)
    except RuntimeError:  # the loop has ended, and with it whoever waited
        return


def settle(future: asyncio.Future[Any], value: Any, error: BaseException | None) -> None:
    """Give a waiting task its answer, unless it was cancelled in the meantime."""
    if future.done():
        return
    if error is None:
        future.set_result(value)
    else:
        future.set_exception(error)
