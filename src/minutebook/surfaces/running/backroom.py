"""The engine of a running service: made once the doors are open, so that nobody waits for it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from minutebook.operations.registry import REGISTRY
from minutebook.surfaces.observing.presence import Attendance
from minutebook.surfaces.running.standing import Running

if TYPE_CHECKING:
    from minutebook.engine.engine import Engine

log = logging.getLogger("minutebook.serve")

#: Seconds that the first requests have the process to themselves: whoever started it waits for their answer.
_AFTER = 0.2


class Backroom:
    """Makes the engine beside the first requests, and ends it before the ledger is closed."""

    def __init__(self, make: Callable[[], Engine], attendance: Attendance) -> None:
        self._make = make
        self._attendance = attendance
        self._engine: Engine | None = None
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._opening = threading.Thread(target=self._open, name="minutebook-engine", daemon=True)

    def after(self, ready: Callable[[Running], None]) -> Callable[[Running], None]:
        """`ready`, and after it the engine begins."""

        def told(running: Running) -> None:
            ready(running)
            self._opening.start()

        return told

    def _open(self) -> None:
        if self._closed.wait(_AFTER):
            return
        try:
            REGISTRY.all()  # so that no later request pays for an import
            engine = self._make()
        except Exception:
            log.exception("the engine did not start")
            raise
        with self._lock:
            if self._closed.is_set():
                return
            self._engine = engine
            self._attendance.duties = engine.standing
            engine.start()

    def close(self) -> None:
        """End what works, if it has begun."""
        with self._lock:
            self._closed.set()
            engine = self._engine
        if engine is not None:
            engine.stop()
