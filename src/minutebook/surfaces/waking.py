"""Wakes those who follow the log of events: threads and tasks sleep here until something was committed.

One instance serves every door. SQLite has one writer, in this process, which says so itself. On PostgreSQL
other processes write too, and what this one wrote may not be settled yet: there the log is looked at twice
a second, by one thread for all who sleep, and only while somebody does.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from minutebook.model.errors import MinutebookError
from minutebook.service import Service

#: Seconds between two looks at a log that other processes write too.
_LOOK = 0.5
#: Seconds between two wakings of the same event loop: under a storm of writes, followers read in batches.
_REST = 0.02


@dataclass(slots=True)
class _Room:
    """The tasks of one event loop that sleep."""

    sleepers: set[asyncio.Future[None]] = field(default_factory=set)
    #: a waking is on its way
    called: bool = False
    #: when the last one came, by the loop's clock
    last: float = float("-inf")


class Waking:
    """Lets a follower sleep until there may be more to read, and miss nothing.

    Take `count` first, then read the log; when nothing was there, sleep with `after(count)` (a task) or
    `wait(count)` (a thread) and read again. What was committed since `count` was taken ends the sleep at once.
    """

    def __init__(self, service: Service) -> None:
        self._database = service.database
        self._changed = threading.Condition()
        self._count = 0
        self._closed = False
        self._rooms: dict[asyncio.AbstractEventLoop, _Room] = {}
        self._waiting = 0
        self._looking: threading.Thread | None = None
        self._at_close: list[Callable[[], object]] = []
        self._database.on_commit(self._wake)

    @property
    def count(self) -> int:
        """How often something was committed. Take it before reading."""
        return self._count

    @property
    def closed(self) -> bool:
        """Whether the service is ending: a follower that is woken looks here, and ends too."""
        return self._closed

    async def after(self, count: int, seconds: float | None = None) -> bool:
        """Sleep until there was a commit after `count`; False when the seconds are over or all is closing."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        with self._changed:
            if self._closed:
                return False
            room = self._rooms.setdefault(loop, _Room())
            room.sleepers.add(future)
            if self._count > count and not room.called:
                room.called = True
                loop.call_soon(self._release, loop, room)
            self._look_elsewhere()
        try:
            async with asyncio.timeout(seconds):
                await future
        except TimeoutError:
            return False
        finally:
            with self._changed:
                room.sleepers.discard(future)
        return not self._closed

    def wait(self, count: int, seconds: float | None = None) -> bool:
        """The same for a thread."""
        with self._changed:
            self._look_elsewhere()
            self._waiting += 1
            try:
                self._changed.wait_for(lambda: self._closed or self._count > count, seconds)
            finally:
                self._waiting -= 1
            return self._count > count and not self._closed

    def at_close(self, tell: Callable[[], object]) -> Callable[[], None]:
        """Have `tell` called when all is closing, by whoever closes; at once when that has happened.

        For streams that wait for something other than a commit. What is returned takes it back.
        """
        with self._changed:
            if not self._closed:
                self._at_close.append(tell)
                return lambda: self._forget(tell)
        tell()
        return lambda: None

    def _forget(self, tell: Callable[[], object]) -> None:
        with self._changed:
            if tell in self._at_close:
                self._at_close.remove(tell)

    def close(self) -> None:
        """Wake everybody for the last time."""
        with self._changed:
            self._closed = True
            told, self._at_close = self._at_close, []
        for tell in told:
            tell()
        self._wake()
        if self._looking is not None:
            self._looking.join(_LOOK)  # it may be waiting for the database, and ends after that

    def _wake(self) -> None:
        """Something was committed. Called by the writer, so it hardly does a thing."""
        with self._changed:
            self._count += 1
            self._changed.notify_all()
            called = [(loop, room) for loop, room in self._rooms.items() if room.sleepers and not room.called]
            for _, room in called:
                room.called = True
        for loop, room in called:
            try:
                loop.call_soon_threadsafe(self._release, loop, room)
            except RuntimeError:  # the loop has ended, and with it those who slept there
                with self._changed:
                    self._rooms.pop(loop, None)

    def _release(self, loop: asyncio.AbstractEventLoop, room: _Room) -> None:
        """Wake the tasks of this loop, unless they were woken a moment ago: then in a moment."""
        soonest = room.last + _REST
        if loop.time() < soonest and not self._closed:
            loop.call_at(soonest, self._release, loop, room)
            return
        with self._changed:
            sleepers, room.sleepers = room.sleepers, set()
            room.called = False
            room.last = loop.time()
        for future in sleepers:
            if not future.done():
                future.set_result(None)

    def _look_elsewhere(self) -> None:
        """Have the log looked at, where others write to it too. Called with the condition held."""
        if not self._database.lanes or self._closed:
            return
        if self._looking is None:
            self._looking = threading.Thread(target=self._look, name="minutebook-waking", daemon=True)
            self._looking.start()
        else:
            self._changed.notify_all()

    def _look(self) -> None:
        seen = -1
        while True:
            with self._changed:
                self._changed.wait_for(self._wanted)
                self._changed.wait_for(lambda: self._closed, _LOOK)
                if self._closed:
                    return
            try:
                with self._database.read() as tx:
                    settled = tx.settled
            except MinutebookError as error:
                if error.code == "ledger_closed":
                    return
                settled = -1  # whoever is woken reads too, and meets the error where somebody hears of it
            if settled != seen or settled < 0:
                seen = settled
                self._wake()

    def _wanted(self) -> bool:
        return self._closed or self._waiting > 0 or any(room.sleepers for room in self._rooms.values())
