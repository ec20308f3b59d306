"""Everybody who keeps account of a running service, put together: who was seen, counts, traces, the log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TextIO

from minutebook.model.system import Presence
from minutebook.surfaces.observing.logs import Log, RequestLog, open_log
from minutebook.surfaces.observing.metrics import Tally
from minutebook.surfaces.observing.observer import Observer
from minutebook.surfaces.observing.presence import Attendance
from minutebook.surfaces.observing.tracing import Tracing


@dataclass(frozen=True, slots=True)
class Accounts:
    """What a service tells of itself. Open it before the ledger, close it after."""

    observer: Observer
    attendance: Attendance
    log: Log

    def presence(self) -> Presence:
        """For the world of the ledger: its health asks for it."""
        return self.attendance.now()

    def close(self) -> None:
        self.log.close()


def open_accounts(
    environ: Mapping[str, str],
    *,
    version: str,
    since: str,
    level: str,
    log_file: str | None,
    terminal: TextIO | None = None,
    stdio: bool = False,
) -> Accounts:
    """Begin to keep account. `stdio` has what the process prints go into the file of the log."""
    gauges: dict[str, Callable[[], int]] = {}
    attendance = Attendance(version=version, since=since, gauges=gauges)
    # The trace comes first: the line in the log names it.
    observer = Observer(Tracing(environ, version), attendance, Tally(), RequestLog(), gauges=gauges)
    log = open_log(level, log_file, terminal=terminal, stdio=stdio)
    gauges["log_lines_lost"] = lambda: log.lost
    return Accounts(observer, attendance, log)
