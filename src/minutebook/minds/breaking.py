"""Leaving alone what fails: a model that is down, a provider that hangs."""

from __future__ import annotations

import threading
from collections.abc import Callable

from minutebook.model.errors import MinutebookError


def silent(why: str) -> MinutebookError:
    return MinutebookError("no_model", f"The model does not answer: {why}.")


class Breaker:
    """Counts failures in a row, and says when it is to be left alone. Thread-safe."""

    def __init__(
        self,
        monotonic: Callable[[], float],
        *,
        failures: int = 3,
        pause: float = 60.0,
        says: Callable[[str], MinutebookError] = silent,
    ) -> None:
        self._monotonic, self._most, self._pause, self._says = monotonic, failures, pause, says
        self._lock = threading.Lock()
        self._failures, self._until = 0, 0.0

    def check(self) -> None:
        """Raise while it is left alone; afterwards one may try again."""
        with self._lock:
            if self._monotonic() < self._until:
                raise self._says("it failed several times and is left alone for a while")

    def standing(self) -> tuple[int, float]:
        """Failures one after the other, and the seconds for which it is left alone still."""
        with self._lock:
            return self._failures, max(0.0, self._until - self._monotonic())

    def failed(self) -> None:
        with self._lock:
            self._failures += 1
            if self._failures >= self._most:
                self._until = self._monotonic() + self._pause

    def answered(self) -> None:
        with self._lock:
            self._failures = 0
