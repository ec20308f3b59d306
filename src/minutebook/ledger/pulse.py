"""How the writer is doing, measured as it works: what waits, how long commits take, what failed last.

A few additions for each batch, and nothing to read from the database: it can be told when that is gone.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic

from minutebook.model.errors import MinutebookError

#: Upper bounds of the measured spans, in seconds: half a millisecond to ten seconds.
SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_SIZES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
#: The longest wait is told of this and the last stretch of so many seconds.
_STRETCH = 300.0
#: Commits of which the middle one says how fast the disk is.
_LATELY = 15
#: Errors for which no single write is to blame.
_OF_THE_HOUSE = frozenset({"disk_full", "io_error", "ledger_busy", "ledger_damaged", "ledger_gone"})


@dataclass(frozen=True, slots=True)
class Spread:
    """How many measurements fell below each bound, and their sum."""

    bounds: tuple[float, ...]
    #: one more than there are bounds: the last counts what is above them all
    counts: tuple[int, ...]
    sum: float

    @property
    def count(self) -> int:
        return sum(self.counts)


class Histogram:
    """Measurements, counted by size. Not thread-safe by itself."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def add(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    def read(self) -> Spread:
        return Spread(self.bounds, tuple(self.counts), self.sum)


@dataclass(frozen=True, slots=True)
class Pulse:
    """The writer at one moment, and since it began."""

    #: writes that wait for a thread, and for how many seconds the first of them has
    waiting: int
    oldest_wait: float
    #: the longest that a write waited in the last minutes
    longest_wait: float
    #: the middle one of the last commits, in seconds
    commit_lately: float
    #: why no write is accepted any more
    halted: MinutebookError | None
    #: why the last transaction failed, when nothing was committed since
    failed: MinutebookError | None
    waits: Spread
    commits: Spread
    batches: Spread
    #: snapshots open, of so many that can be
    readers_out: int = 0
    readers: int = 0


class Gauge:
    """Takes the measurements of the writer's threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waits = Histogram(SECONDS)
        self._commits = Histogram(SECONDS)
        self._batches = Histogram(_SIZES)
        self._lately: deque[float] = deque(maxlen=_LATELY)
        self._failed: MinutebookError | None = None
        # The longest wait of this stretch of time and of the one before it.
        self._longest, self._before, self._since = 0.0, 0.0, monotonic()

    def waited(self, seconds: float) -> None:
        """The first write of a batch waited so long for its thread."""
        with self._lock:
            self._waits.add(seconds)
            self._turn()
            self._longest = max(self._longest, seconds)

    def committed(self, writes: int, seconds: float) -> None:
        with self._lock:
            self._failed = None
            self._batches.add(writes)
            self._commits.add(seconds)
            self._lately.append(seconds)

    def failed(self, error: BaseException | None) -> None:
        """A transaction failed; told until one succeeds, when the house and not the write was to blame."""
        if isinstance(error, MinutebookError) and error.code in _OF_THE_HOUSE:
            with self._lock:
                self._failed = error

    def read(self, *, waiting: int, oldest_wait: float, halted: MinutebookError | None) -> Pulse:
        with self._lock:
            self._turn()
            return Pulse(
                waiting=waiting,
                oldest_wait=oldest_wait,
                longest_wait=max(self._longest, self._before, oldest_wait),
                commit_lately=sorted(self._lately)[len(self._lately) // 2] if self._lately else 0.0,
                halted=halted,
                failed=self._failed,
                waits=self._waits.read(),
                commits=self._commits.read(),
                batches=self._batches.read(),
            )

    def _turn(self) -> None:
        passed = monotonic() - self._since
        if passed > _STRETCH:
            self._before = self._longest if passed < 2 * _STRETCH else 0.0
            self._longest, self._since = 0.0, monotonic()
