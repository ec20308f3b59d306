"""A process that closes a database file drops SQLite's locks on it: what that costs elsewhere, and not here.

The owner of a ledger must not open the files by another way; when somebody replaces them under it, or takes
its locks away, it stops acknowledging before it would acknowledge what is not kept.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from minutebook.model.errors import MinutebookError
from minutebook.operations import inbox
from tests.conftest import Clock
from tests.houses import House
from tests.invariants import state_of, violations

ROUNDS = 25

#: A foreign program that knows nothing of owners: it writes and closes, and says so when that is done.
FOREIGN = """
import sys, apsw
for line in sys.stdin:
    connection = apsw.Connection(sys.argv[1])
    connection.set_busy_timeout(10_000)
    connection.execute("INSERT INTO maintenance VALUES (?, 'foreign', 'x', 'x', 'x')", (line.strip(),))
    connection.close()
    print(line.strip(), flush=True)
"""


class Foreigner:
    """The foreign program, kept running and asked once a round."""

    def __init__(self, path: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", FOREIGN, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def write(self, name: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(name + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()

    def close(self) -> None:
        self._process.communicate()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger" / "ledger.db"


def built(path: Path, clock: Clock) -> House:
    return House(f"sqlite://{path}", path.parent, clock)


def submit(house: House, number: int) -> str:
    """One write of ours; its slug, once it is acknowledged."""
    words = {"title": f"Rule {number}", "content": f"Rule {number} says that {number} is enough."}
    return house.ripley(inbox.submit, type="process", slug=f"rule-{number}", **words).slug


def kept(path: Path) -> tuple[set[str], set[str]]:
    """What a fresh process finds: our proposals, and the foreign rows."""
    connection = apsw.Connection(str(path))
    try:
        assert connection.execute("PRAGMA integrity_check").get == "ok"
        ours = {row[0] for row in connection.execute("SELECT slug FROM proposals")}
        return ours, {
            row[0] for row in connection.execute("SELECT id FROM maintenance WHERE kind = 'foreign'")
        }
    finally:
        connection.close()


def files_of(path: Path) -> list[Path]:
    return [path.with_name(path.name + suffix) for suffix in ("", "-wal", "-shm")]


def test_the_guard_keeps_every_acknowledged_write(path: Path, clock: Clock) -> None:
    house = built(path, clock)
    foreigner = Foreigner(path)
    ours, theirs = set(), set()
    for number in range(ROUNDS):
        ours.add(submit(house, number))
        # The innocent deed that loses writes elsewhere: look at one's own database file, and close it.
        for file in files_of(path):
            with pytest.raises(MinutebookError) as refused:
                file.read_bytes()
            assert refused.value.code == "forbidden_open"
        theirs.add(foreigner.write(f"foreign-{number}"))
    assert violations(state_of(house.service.database)) == []
    foreigner.close()
    house.close()
    assert kept(path) == (ours, theirs)


def test_locks_that_were_taken_away_stop_the_acknowledgements_before_a_write_is_lost(
    path: Path, clock: Clock
) -> None:
    """A library in C closes the files, unseen by the guard; a foreign program then removes the log."""
    house = built(path, clock)
    foreigner = Foreigner(path)
    libc = ctypes.CDLL(None)
    ours, theirs, refused = set(), set(), []
    for number in range(ROUNDS):
        try:
            ours.add(submit(house, number))
        except MinutebookError as error:
            refused.append(error.code)
        for file in files_of(path):
            handle = libc.open(os.fsencode(file), os.O_RDONLY)
            if handle >= 0:
                libc.close(handle)
        theirs.add(foreigner.write(f"foreign-{number}"))
    foreigner.close()
    house.close()
    # The harness is sharp: without the check before each commit, these would have been acknowledged and lost.
    assert set(refused) == {"ledger_gone"}
    assert kept(path) == (ours, theirs)


@pytest.mark.parametrize("name", ["ledger.db", "ledger.db-wal"])
@pytest.mark.parametrize("deed", ["replace", "remove"])
def test_the_watchdog_stops_acknowledgements_when_the_files_are_replaced(
    path: Path, clock: Clock, name: str, deed: str
) -> None:
    house = built(path, clock)
    before = submit(house, 1)
    copy = path.parent.parent / "copy"
    backup = path.parent.parent / "backup.db"
    house.service.database.backup(backup)
    shutil.copy(backup, copy)
    # By another process: our own would be stopped by the guard.
    victim = path.with_name(name)
    subprocess.run(["mv", copy, victim] if deed == "replace" else ["rm", victim], check=True)
    for number in range(2, 6):
        with pytest.raises(MinutebookError) as stopped:
            submit(house, number)
        assert stopped.value.code == "ledger_gone"
    house.close()
    # And what was acknowledged is where it was put: in the copy that the ledger itself made.
    assert kept(backup)[0] == {before}
