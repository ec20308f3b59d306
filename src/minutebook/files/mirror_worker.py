"""The duty that keeps generated files in step: after every write at once, and all files once in a while."""

from __future__ import annotations

import threading
from time import monotonic

from minutebook.files.desk import Desk, failure_in
from minutebook.files.git_tree import is_busy
from minutebook.files.place import Means, Place, enter, places
from minutebook.model.errors import Kind, MinutebookError

#: Seconds between two passes at least: under many writes a pass follows several of them.
_BREATH = 0.2
#: Seconds after which every file is looked at, whether something was written or not.
_RESCAN = 30.0
#: Seconds after a workspace could not be served; twice as long each time, up to the last.
_FIRST, _LAST = 1.0, 60.0
#: Seconds for which a working tree is left alone while git is changing it.
_GIT_WAIT, _GIT_MOST = 0.3, 15.0


class MirrorWorker:
    """Follows the log for every workspace of this machine."""

    name = "mirror"

    def __init__(self, means: Means, desk: Desk) -> None:
        self._means = means
        self._desk = desk
        self._next = 0.0
        #: when every file of a workspace was last looked at, and since when git has been busy in it
        self._whole: dict[Place, float] = {}
        self._busy: dict[Place, float] = {}
        #: how often a workspace failed, and when it is tried again
        self._failed: dict[Place, tuple[int, float]] = {}

    def step(self, ending: threading.Event) -> float | None:
        now = monotonic()
        if now < self._next:
            return self._next - now
        self._next = now + _BREATH
        with self._means.database.read() as tx:
            known = places(tx, self._desk.host)
        pauses = [_RESCAN]
        for place in known:
            if ending.is_set():
                return None
            pauses.append(self._serve(place))
        self._forget(set(known))
        return min(pauses)

    def close(self) -> None:
        """Nothing is held open between two steps."""

    def _serve(self, place: Place) -> float:
        """One pass over a workspace; the seconds after which it wants another."""
        now = monotonic()
        failures, again_at = self._failed.get(place, (0, 0.0))
        if now < again_at:
            return again_at - now
        whole = failures > 0 or now - self._whole.get(place, -_RESCAN) >= _RESCAN
        try:
            if self._git_is_busy(place, now):
                return _GIT_WAIT
            fault = failure_in(self._desk.mirroring.run(self._means, place, whole=whole))
        except MinutebookError as error:
            if error.code == "ledger_closed" or (error.kind is Kind.UNAVAILABLE and not _is_of_files(error)):
                raise  # the ledger itself is in trouble, and not this workspace
            fault = error.message
        self._desk.note(place, fault)
        if fault:
            pause = min(_LAST, _FIRST * 2**failures)
            self._failed[place] = (failures + 1, monotonic() + pause)
            return pause
        self._failed.pop(place, None)
        if whole:
            self._whole[place] = now
        return max(_BREATH, self._whole.get(place, now) + _RESCAN - monotonic())

    def _git_is_busy(self, place: Place, now: float) -> bool:
        """Whether to wait for git. A lock that a crash of git left is not waited for without end."""
        root, _ = enter(place)
        with root:
            busy = is_busy(root)
        if not busy:
            self._busy.pop(place, None)
            return False
        return now - self._busy.setdefault(place, now) < _GIT_MOST

    def _forget(self, known: set[Place]) -> None:
        for place in [each for each in {*self._whole, *self._failed} if each not in known]:
            self._whole.pop(place, None)
            self._failed.pop(place, None)
            self._busy.pop(place, None)
            self._desk.note(place, "")


def _is_of_files(error: MinutebookError) -> bool:
    return error.code in ("no_access", "disk_full", "io_error") and "path" in error.details
