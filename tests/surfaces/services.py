"""Services as a user has them: processes of their own, found and started by whoever needs one."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from minutebook.surfaces.light import daemon
from minutebook.surfaces.light.places import Places
from tests.scenarios.program import COMMAND, Program

#: Seconds within which something must have happened that is about to.
SOON = 90.0


class Served(Program):
    """The installed program with the service on, in a home of its own."""

    def __init__(self, home: Path, cwd: Path, **environment: str) -> None:
        super().__init__(home, cwd)
        self.environment = {
            "MINUTEBOOK_SERVICE": "auto",
            "MINUTEBOOK_PROJECT": "global",
            # A test run that was killed ends nothing itself.
            "MINUTEBOOK_IDLE_EXIT": "60",
            # Many short processes: compiled once for all tests of a session, not each time.
            "PYTHONDONTWRITEBYTECODE": "",
            "PYTHONPYCACHEPREFIX": str(cwd.parent / "compiled"),
            **environment,
        }

    @property
    def places(self) -> Places:
        return Places(str(self.home), self.environment.get("MINUTEBOOK_DATABASE_URL", ""))

    def status(self) -> dict[str, Any]:
        return self.ok("status")

    @contextlib.contextmanager
    def serving(self, *words: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
        """`minutebook serve` in the foreground, listening."""
        process = self.start("serve", *words, **environment)
        try:
            until(lambda: process.poll() is not None or self._serves(process.pid), "it listens")
            yield process
        finally:
            process.kill()
            process.communicate()

    def _serves(self, pid: int) -> bool:
        facts = daemon.facts_of(self.places)
        return facts is not None and facts["pid"] == pid

    def end(self) -> None:
        """Whatever serves this home is gone after this."""
        for pid in serving_processes(self.home):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        until(lambda: serving_processes(self.home) == [], "nothing is left")
        self.places.clear()


def until(happened: Callable[[], Any], what: str, seconds: float = SOON) -> None:
    """Wait for something outside this process, which cannot tell us."""
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, f"not within {seconds:g} seconds: {what}"
        time.sleep(0.01)


def serving_processes(home: Path) -> list[int]:
    """The processes of this machine that serve a home, or are about to."""
    wanted = f"MINUTEBOOK_HOME={home}".encode()
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                environment = Path(f"/proc/{entry}/environ").read_bytes().split(b"\0")
                words = Path(f"/proc/{entry}/cmdline").read_bytes().split(b"\0")
                if wanted in environment and b"serve" in words:
                    found.append(int(entry))
    return found


def alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be noticed by its parent does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


__all__ = ["COMMAND", "SOON", "Served", "alive", "serving_processes", "until"]
