"""Reads of a few rows, done on the event loop itself, in a snapshot that they share.

To hand such a read to a thread and back costs more than the read. Only what is sure to be short is done here,
and only where a snapshot can be had without waiting; everything else is for the threads.
"""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager

from minutebook.ledger.database import Database, Tx
from minutebook.surfaces.asking import Asker
from minutebook.surfaces.http.lately import Who

#: Seconds that a snapshot is kept at most: an open one keeps SQLite from emptying its log.
_KEPT = 0.02
#: Seconds after a commit for which the next one is near: no snapshot is kept then, or the log would only grow.
_STORM = 0.1


class Snapshots:
    """The snapshot of this moment, for as long as nothing was committed since it was opened."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._open: AbstractContextManager[Tx] | None = None
        self._tx: Tx | None = None
        self._commits = -1
        #: when another count of commits was seen last, by the loop's clock
        self._changed = float("-inf")
        #: who proved to be asking, as this snapshot has it
        self.askers: dict[Who, Asker] = {}
        self._timer: asyncio.Handle | None = None

    def now(self) -> Tx | None:
        """A snapshot for work that does not await; None where it would have to be waited for.

        Who was told of a write finds it: the count of commits grows before anybody is told.
        """
        commits = self._database.commits
        if self._tx is not None:
            if commits == self._commits:
                return self._tx
            self.end()
        snapshot = self._database.read_at_once()
        if snapshot is None:
            return None
        self._tx = snapshot.__enter__()
        loop = asyncio.get_running_loop()
        if commits != self._commits:
            self._changed = loop.time()
        self._open, self._commits = snapshot, commits
        if loop.time() - self._changed < _STORM:
            self._timer = loop.call_soon(self.end)  # shared by the requests of this moment alone
        else:
            self._timer = loop.call_later(_KEPT, self.end)
        return self._tx

    def end(self) -> None:
        """Let go of the snapshot."""
        snapshot, self._open, self._tx = self._open, None, None
        self.askers.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if snapshot is not None:
            snapshot.__exit__(None, None, None)
