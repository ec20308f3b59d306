"""Who has been here: the clients that a running service saw, and what it can say of itself.

Kept in memory, and so of this process: a token's own last use is in the ledger and outlives it.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from minutebook.model.system import Duty, LastSeen, Presence
from minutebook.model.text import visible
from minutebook.model.times import text_of
from minutebook.surfaces.observing.observer import Observation

#: Clients that are remembered; the one that was not seen for the longest time is forgotten first.
MOST_VISITORS = 100
_MOST_CHARS = 80


class _Visits:
    __slots__ = ("last_ns", "project", "requests")

    def __init__(self) -> None:
        self.last_ns = 0
        self.project: str | None = None
        self.requests = 0


class Attendance:
    """Keeps account of who asked; `now` is what the ledger's health asks for."""

    def __init__(self, *, version: str, since: str, gauges: Mapping[str, Callable[[], int]]) -> None:
        self._version = version
        self._since = since
        self._gauges = gauges
        self._lock = threading.Lock()
        self._seen: OrderedDict[tuple[str, str, str], _Visits] = OrderedDict()
        self._requests = 0
        #: where the service listens, once it does
        self.addresses: tuple[str, ...] = ()
        #: how those who work behind the ledger are doing
        self.duties: Callable[[], tuple[Duty, ...]] = tuple

    def ended(self, seen: Observation) -> None:
        with self._lock:
            self._requests += 1
            asker = seen.asker
            if asker is None:
                return  # nobody who proved who they are
            key = (asker.actor.id, seen.surface, seen.client[:_MOST_CHARS])
            visits = self._seen.get(key)
            if visits is None:
                visits = self._seen[key] = _Visits()
                if len(self._seen) > MOST_VISITORS:
                    self._seen.popitem(last=False)
            else:
                self._seen.move_to_end(key)
            visits.last_ns = seen.began_ns
            visits.requests += 1
            if seen.status_code < 400:  # before that, it is only what somebody said
                visits.project = asker.actor.project or asker.project or visits.project

    def now(self) -> Presence:
        """This process and its visitors, the last seen first."""
        with self._lock:
            visitors = tuple(
                LastSeen(
                    actor=actor,
                    surface=surface,
                    client=visible(client, lines=False),
                    project=visits.project,
                    last_seen_at=text_of(datetime.fromtimestamp(visits.last_ns / 1e9, UTC)),
                    requests=visits.requests,
                )
                for (actor, surface, client), visits in reversed(self._seen.items())
            )
            requests = self._requests
        return Presence(
            pid=os.getpid(),
            version=self._version,
            since=self._since,
            addresses=self.addresses,
            connections=self._count("connections"),
            followers=self._count("followers"),
            requests=requests,
            visitors=visitors,
            duties=self.duties(),
        )

    def _count(self, name: str) -> int:
        found = self._gauges.get(name)
        return 0 if found is None else found()
