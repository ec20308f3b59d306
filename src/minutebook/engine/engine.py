"""The threads that work behind the ledger: each follows its log, and none of them holds up a write.

A duty is asked to take one step whenever something was committed, when the time that it named has come, or when
somebody calls for it. A step that fails is tried again after a while, and said in `health` until it succeeds.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Protocol

from minutebook.ledger.database import Database
from minutebook.model.errors import MinutebookError
from minutebook.model.system import Duty

#: Seconds after a failed step; twice as long each time, up to the last.
_FIRST, _LAST = 0.5, 60.0
#: Seconds between two looks where other processes write too.
_LOOK = 0.5
#: Seconds from one step to the next that a commit calls for: in a storm of writes a worker follows in batches,
#: and those who write keep the interpreter to themselves.
_REST = 0.1
#: Seconds for a step that was begun to come to its end.
_GRACE = 20.0

log = logging.getLogger("minutebook.engine")


class Worker(Protocol):
    """Somebody with a duty. All its methods are called by one thread."""

    @property
    def name(self) -> str: ...

    def step(self, ending: threading.Event) -> float | None:
        """Do what is due. The seconds after which to ask again; None is when something was written.

        A long step looks at `ending` now and then, and leaves the rest for the next start.
        """
        ...

    def close(self) -> None:
        """Let go of what it holds open."""
        ...


class Engine:
    """Runs every worker on a thread of its own, from `start` to `stop`."""

    def __init__(self, database: Database, workers: Sequence[Worker], *, clock: Callable[[], str]) -> None:
        self._threads = [_Bench(worker, database, clock) for worker in workers]
        database.on_commit(self.wake)

    def start(self) -> None:
        for bench in self._threads:
            bench.start()

    def wake(self, name: str | None = None) -> None:
        """Have a worker look, or all of them. Returns at once."""
        for bench in self._threads:
            if name in (None, bench.worker.name):
                bench.wake()

    def standing(self) -> tuple[Duty, ...]:
        """How each worker is doing."""
        return tuple(bench.standing() for bench in self._threads)

    def stop(self) -> None:
        """Have every step that was begun ended, and begin no other."""
        for bench in self._threads:
            bench.end()
        until = monotonic() + _GRACE
        for bench in self._threads:
            bench.join(max(0.0, until - monotonic()))


class _Bench:
    """One worker, its thread, and what became of its steps."""

    def __init__(self, worker: Worker, database: Database, clock: Callable[[], str]) -> None:
        self.worker = worker
        self._look = _LOOK if database.lanes else None
        self._clock = clock
        self._changed = threading.Condition()
        self._called = True
        self._ending = threading.Event()
        self._failures = 0
        self._fault: tuple[str, str] | None = None
        self._stepped_at: str | None = None
        #: when the last step began
        self._began = float("-inf")
        self._thread = threading.Thread(target=self._run, name=f"minutebook-{worker.name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        if self._called:
            return  # the step that takes this back has not begun, and sees what was committed until now
        with self._changed:
            self._called = True
            self._changed.notify()

    def end(self) -> None:
        self._ending.set()
        with self._changed:
            self._changed.notify()

    def join(self, seconds: float) -> None:
        if self._thread.is_alive():
            self._thread.join(seconds)
            if self._thread.is_alive():
                log.warning("%s did not end in time", self.worker.name)

    def standing(self) -> Duty:
        fault = self._fault
        return Duty(
            name=self.worker.name,
            stepped_at=self._stepped_at,
            failures=self._failures,
            fault=None if fault is None else fault[1],
            failing_since=None if fault is None else fault[0],
        )

    def _run(self) -> None:
        try:
            while not self._ending.is_set():
                self._sleep(self._step())
        finally:
            self.worker.close()

    def _step(self) -> float | None:
        """One step, and how long to sleep after it at most."""
        with self._changed:
            self._called = False
        self._began = monotonic()
        try:
            pause = self.worker.step(self._ending)
        except Exception as error:  # noqa: BLE001  (whatever it is, it is told, and tried again)
            if isinstance(error, MinutebookError) and error.code == "ledger_closed":
                self._ending.set()
                return None
            self._failed(error)
            return min(_LAST, _FIRST * 2 ** (self._failures - 1))
        self._failures, self._fault = 0, None
        self._stepped_at = self._clock()
        return pause if self._look is None else min(self._look, self._look if pause is None else pause)

    def _failed(self, error: Exception) -> None:
        """Content must not reach the log: of an error that is none of ours, only its kind."""
        said = error.message if isinstance(error, MinutebookError) else type(error).__name__
        self._failures += 1
        self._fault = (self._fault[0] if self._fault else self._clock(), said)
        log.warning("%s failed, attempt %d: %s", self.worker.name, self._failures, said)
        if not isinstance(error, MinutebookError):
            log.debug("%s", self.worker.name, exc_info=error)

    def _sleep(self, seconds: float | None) -> None:
        """Until something was committed or the time is over; after a failure only the time counts."""
        with self._changed:
            if self._failures:
                self._changed.wait_for(self._ending.is_set, seconds)
            else:
                self._changed.wait_for(lambda: self._called or self._ending.is_set(), seconds)
        if self._called:
            self._ending.wait(self._began + _REST - monotonic())
