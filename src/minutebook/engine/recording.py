"""Keeping the traces of searches: queued where the search is answered, written in batches behind it.

A search is a read and must not wait for the writer. What waits when the process is killed is lost, and nothing
but a trace is.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from time import monotonic
from typing import TYPE_CHECKING

from minutebook.ledger.database import Database
from minutebook.model.scopes import GLOBAL
from minutebook.model.times import seconds_before

if TYPE_CHECKING:
    from minutebook.model.search import Trace

#: Traces that may wait; beyond them the oldest is dropped.
_WAITING = 2_000
#: Traces of one write, and how long the first of them waits for others.
_AT_ONCE = 100
_PATIENCE = 1.0
#: Seconds between two looks for what is older than its time, and how much is taken away at once.
_PRUNING = 3_600.0
_PRUNED = 500


class Recording:
    """The queue, which searches fill from any thread, and the worker that empties it."""

    name = "searches"

    def __init__(self, clock: Callable[[], str], *, days: int) -> None:
        self._clock = clock
        self._days = days
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._waiting: deque[Trace] = deque()
        self._since = 0.0
        self._next_pruning = 0.0
        self.dropped = 0
        self._database: Database | None = None
        self._wake: Callable[[], None] = lambda: None

    @property
    def keeping(self) -> bool:
        return self._days > 0

    def note(self, trace: Trace) -> None:
        with self._lock:
            if len(self._waiting) >= _WAITING:
                self._waiting.popleft()
                self.dropped += 1
            self._waiting.append(trace)
            first = len(self._waiting) == 1
            if first:
                self._since = monotonic()
        if first:
            self._wake()

    def pending(self) -> Sequence[Trace]:
        with self._lock:
            return tuple(self._waiting)

    def flush(self, database: Database) -> None:
        """Write all that waits. What cannot be written goes on waiting, and the error is told."""
        with self._writing:
            while some := self._some():
                from minutebook.ledger import searches  # most commands never search

                database.write(GLOBAL, lambda tx, some=some: searches.keep(tx, some))
                with self._lock:
                    for trace in some:
                        if self._waiting and self._waiting[0] is trace:
                            self._waiting.popleft()

    def _some(self) -> list[Trace]:
        with self._lock:
            return [self._waiting[index] for index in range(min(_AT_ONCE, len(self._waiting)))]

    # --- as a worker of the engine ------------------------------------------------------------------------

    def serve(self, database: Database, wake: Callable[[], None]) -> None:
        """Say where to write, and how to call for the worker."""
        self._database, self._wake = database, wake

    def step(self, ending: threading.Event) -> float | None:
        assert self._database is not None
        with self._lock:
            waiting, since = len(self._waiting), self._since
        left = since + _PATIENCE - monotonic()
        if waiting and waiting < _AT_ONCE and left > 0 and not ending.is_set():
            return left
        self.flush(self._database)
        if monotonic() >= self._next_pruning:
            from minutebook.ledger import searches

            before = seconds_before(self._clock(), self._days * 86_400)
            gone = self._database.write(GLOBAL, lambda tx: searches.prune(tx, before, _PRUNED))
            self._next_pruning = monotonic() + (1.0 if gone == _PRUNED else _PRUNING)
        return max(0.1, self._next_pruning - monotonic())

    def close(self) -> None:
        """What still waits is written when the ledger is closed."""
