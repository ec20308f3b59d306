"""Having the ledger alone for a while, where otherwise a service has it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from minutebook.model.errors import MinutebookError
from minutebook.surfaces.light import daemon
from minutebook.surfaces.light.places import Places

_PAUSE = 0.05


@contextmanager
def paused(places: Places, tell: Callable[[str], None]) -> Iterator[None]:
    """End the service, and keep everybody from starting it, for as long as the block takes."""
    places.make()
    deadline = time.monotonic() + daemon.START_SECONDS
    while (lock := daemon.try_lock(places.start_lock)) is None:
        if time.monotonic() > deadline:
            raise MinutebookError(
                "no_service", "Somebody has been starting the service for too long; try again."
            )
        time.sleep(_PAUSE)
    try:
        said = daemon.ask(places)
        if said is not None and not said["service"]["background"]:
            pid = said["service"]["pid"]
            raise MinutebookError(
                "ledger_busy",
                f"The service (process {pid}) owns the ledger, and somebody runs it on purpose.",
                pid=pid,
                hint="minutebook stop, then again",
            )
        if daemon.stop(places) is not None:
            tell("the service was stopped; the next command starts it again")
        yield
    finally:
        os.close(lock)
