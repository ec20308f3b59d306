"""Knows the hash of a file without reading it again, as long as the file is surely the same.

A file is the same when its identity, size and time are. A file that was written to in the very moment in which it was
read can keep all three, so that only what had rested for a while when it was read is remembered.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

from minutebook.files.safe import Facts, Found, Named, Root, Sort
from minutebook.model.times import moment_of

#: Files that are remembered.
_REMEMBERED = 50_000
#: Seconds that a file must have rested: the coarsest file system tells times by two.
_RESTED = 3.0
#: What is read of one generated file at most.
MOST_BYTES = 64 * 1024 * 1024


class Glimpses:
    """The hashes of files, by where they lie. Any thread may ask."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str], tuple[Facts, str]] = OrderedDict()
        self._lock = threading.Lock()

    def digest(self, root: Root, path: str, named: Named, clock: Callable[[], str]) -> str | None:
        """The SHA-256 of a plain file that was seen there; None where it is gone. Raises where it cannot be read."""
        key = (str(root.path), path)
        with self._lock:
            known = self._known.get(key)
            if known is not None and named.sort is Sort.FILE and known[0] == named.facts:
                self._known.move_to_end(key)
                return known[1]
        found = root.read(path, most=MOST_BYTES)
        if found is None:
            return None
        self._remember(key, found, clock())
        return found.sha256

    def _remember(self, key: tuple[str, str], found: Found, now: str) -> None:
        rested = moment_of(now).timestamp() - found.facts.changed_ns / 1e9
        with self._lock:
            self._known.pop(key, None)
            if rested >= _RESTED:
                self._known[key] = (found.facts, found.sha256)
                while len(self._known) > _REMEMBERED:
                    self._known.popitem(last=False)
