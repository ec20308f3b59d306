"""A few connections, handed out one reader at a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from minutebook.model.errors import MinutebookError

C = TypeVar("C")


class Pool(Generic[C]):
    """At most `size` connections, opened when first needed and kept for the next reader."""

    def __init__(
        self, connect: Callable[[], C], discard: Callable[[C], None], *, size: int, wait: float
    ) -> None:
        self._connect = connect
        self._discard = discard
        self._size = size
        self._wait = wait
        self._idle: list[C] = []
        self._out = 0
        self._closed = False
        self._changed = threading.Condition()

    def adopt(self, connection: C) -> None:
        """Keep a connection that was opened elsewhere for the first reader."""
        with self._changed:
            self._idle.append(connection)

    def take(self) -> C:
        """Take a connection; wait for one when all are out."""
        with self._changed:
            deadline = time.monotonic() + self._wait
            while self._out >= self._size and not self._closed:
                if not self._changed.wait(deadline - time.monotonic()):
                    raise MinutebookError(
                        "ledger_busy",
                        f"All {self._size} readers were busy for {self._wait:g} seconds; try again.",
                    )
            if self._closed:
                raise MinutebookError("ledger_closed")
            self._out += 1
            if self._idle:
                return self._idle.pop()
        try:
            return self._connect()
        except BaseException:
            self._returned()
            raise

    def take_idle(self) -> C | None:
        """Take a connection that lies ready; None where one would have to be waited for, or opened."""
        with self._changed:
            if self._closed or not self._idle or self._out >= self._size:
                return None
            self._out += 1
            return self._idle.pop()

    def give(self, connection: C) -> None:
        """Bring back a connection that is fit for the next reader."""
        with self._changed:
            if not self._closed:
                self._idle.append(connection)
                self._out -= 1
                self._changed.notify()
                return
        self.drop(connection)

    def drop(self, connection: C) -> None:
        """Bring back a connection that is not to be used again."""
        try:
            self._discard(connection)
        finally:
            self._returned()

    def use(self) -> tuple[int, int]:
        """How many connections are out, of how many."""
        return self._out, self._size

    def empty(self) -> None:
        """Discard the idle connections, which all died together when the server did."""
        with self._changed:
            idle, self._idle = self._idle, []
        for connection in idle:
            self._discard(connection)

    def close(self) -> None:
        """Discard the idle connections, and each that is out when it comes back; wait a while for those."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._out == 0, self._wait)
        self.empty()

    def _returned(self) -> None:
        with self._changed:
            self._out -= 1
            self._changed.notify_all()
