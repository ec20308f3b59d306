"""Sees that files change, by what the system tells of folders; without that, somebody has to look now and then."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable

#: Milliseconds for which nothing more may happen before a change is told, and for which one is held back at most.
_QUIET, _HELD_BACK = 100, 800
#: Seconds for the thread to end.
_GRACE = 3.0

log = logging.getLogger("minutebook.watching")


class Watch:
    """Watches folders, each for itself, on a thread of its own.

    There `tell` is called with paths that changed, and `begun` once the folders are watched: what happened in them
    before that, nobody tells.
    """

    def __init__(self, tell: Callable[[set[str]], None], begun: Callable[[], None]) -> None:
        self._tell = tell
        self._begun = begun
        self._folders: frozenset[str] = frozenset()
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        #: why nothing is watched; empty where something is
        self.fault = ""
        self._complained = False

    def aim(self, folders: Iterable[str]) -> None:
        """Watch just these folders."""
        wanted = frozenset(folders)
        alive = self._thread is not None and self._thread.is_alive()
        if wanted == self._folders and (alive or not wanted):
            return
        self.close()
        self._folders, self._stop, self.fault = wanted, threading.Event(), ""
        if wanted:
            self._thread = threading.Thread(
                target=self._run, args=(wanted, self._stop), name="minutebook-watch", daemon=True
            )
            self._thread.start()

    @property
    def works(self) -> bool:
        return self._thread is not None and self._thread.is_alive() and not self.fault

    def close(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(_GRACE)
            self._thread = None
        self._folders = frozenset()

    def _run(self, folders: frozenset[str], stop: threading.Event) -> None:
        # Takes a while to load, and only a service that runs needs it.
        from watchfiles import watch

        try:
            for changes in watch(
                *sorted(folders),
                watch_filter=None,
                debounce=_HELD_BACK,
                step=_QUIET,
                stop_event=_Ending(stop, self._begun),
                recursive=False,
                raise_interrupt=False,
                ignore_permission_denied=True,
            ):
                self._tell({path for _, path in changes})
        except (OSError, RuntimeError) as error:
            # A network file system, or more folders than the system watches: looking now and then has to do.
            if not self._complained:
                log.warning("files are not watched, only looked at now and then: %s", type(error).__name__)
            self.fault, self._complained = str(error) or type(error).__name__, True


class _Ending:
    """The event that ends a watch. It is first asked for when the watch stands, and says so."""

    def __init__(self, stop: threading.Event, begun: Callable[[], None]) -> None:
        self._stop = stop
        self._begun = begun
        self._asked = False

    def is_set(self) -> bool:
        if not self._asked:
            self._asked = True
            self._begun()
        return self._stop.is_set()
