"""One process owns a SQLite ledger; the others wait, and are told whom they wait for."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from minutebook.ledger import ownership
from minutebook.ledger.database import open_database
from minutebook.model.errors import MinutebookError

OWNER = """
import sys
from pathlib import Path
from types import SimpleNamespace
from minutebook.ledger.ownership import own
held = own(Path(sys.argv[1]), wait=0, since="2026-01-01T00:00:00.000000Z")
print("owner", flush=True)
sys.stdin.read()
"""


def start_owner(path: Path) -> subprocess.Popen[str]:
    child = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "owner\n"
    return child


def end(child: subprocess.Popen[str]) -> None:
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.close()
    child.wait()
    child.stdout.close()


def test_a_second_owner_is_told_which_process_to_wait_for(tmp_path: Path) -> None:
    child = start_owner(tmp_path / "ledger.db")
    with pytest.raises(MinutebookError) as busy:
        ownership.own(tmp_path / "ledger.db", wait=0, since="now")
    assert busy.value.code == "ledger_busy"
    assert busy.value.details["pid"] == child.pid
    assert str(child.pid) in busy.value.message
    assert "2026-01-01" in busy.value.message
    end(child)


def test_one_process_cannot_own_a_ledger_twice(tmp_path: Path) -> None:
    first = ownership.own(tmp_path / "ledger.db", wait=0, since="now")
    with pytest.raises(MinutebookError):
        ownership.own(tmp_path / "ledger.db", wait=0, since="now")
    first.release()
    first.release()
    ownership.own(tmp_path / "ledger.db", wait=0, since="now").release()


def test_a_waiting_process_becomes_the_owner_when_the_first_lets_go(tmp_path: Path) -> None:
    first = ownership.own(tmp_path / "ledger.db", wait=0, since="now")
    got: list[ownership.Ownership] = []
    waiting = threading.Thread(
        target=lambda: got.append(ownership.own(tmp_path / "ledger.db", wait=30, since="x"))
    )
    waiting.start()
    first.release()
    waiting.join()
    assert len(got) == 1
    got[0].release()


def test_the_wait_ends_when_it_was_said_to_end(tmp_path: Path) -> None:
    held = ownership.own(tmp_path / "ledger.db", wait=0, since="now")
    start = time.monotonic()
    with pytest.raises(MinutebookError):
        ownership.own(tmp_path / "ledger.db", wait=0.1, since="now")
    assert 0.1 <= time.monotonic() - start < 5
    held.release()


def test_a_killed_owner_owns_nothing(tmp_path: Path) -> None:
    child = start_owner(tmp_path / "ledger.db")
    child.send_signal(signal.SIGKILL)
    child.wait()
    ownership.own(tmp_path / "ledger.db", wait=0, since="now").release()
    end(child)


def test_the_lock_file_stays_and_is_private(tmp_path: Path) -> None:
    held = ownership.own(tmp_path / "new" / "ledger.db", wait=0, since="now")
    lock = tmp_path / "new" / "ledger.db.lock"
    assert lock.stat().st_mode & 0o777 == 0o600
    assert lock.read_text() == f"{os.getpid()} now\n"
    held.release()
    assert lock.exists()


def test_a_lock_on_a_file_that_was_deleted_meanwhile_counts_for_nothing(tmp_path: Path) -> None:
    first = ownership.own(tmp_path / "ledger.db", wait=0, since="now")
    (tmp_path / "ledger.db.lock").unlink()
    second = ownership.own(tmp_path / "ledger.db", wait=0, since="now")
    with pytest.raises(MinutebookError):
        ownership.own(tmp_path / "ledger.db", wait=0, since="now")
    first.release()
    second.release()


def test_a_lock_file_replaced_between_open_and_lock_is_not_taken_for_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = tmp_path / "ledger.db.lock"
    calls: list[int] = []

    def flock(handle: int, how: int) -> None:
        if not calls:
            lock.unlink()
            lock.touch()
        calls.append(handle)
        fcntl.flock(handle, how)

    monkeypatch.setattr(
        ownership, "fcntl", SimpleNamespace(flock=flock, LOCK_EX=fcntl.LOCK_EX, LOCK_NB=fcntl.LOCK_NB)
    )
    held = ownership.own(tmp_path / "ledger.db", wait=5, since="now")
    assert len(calls) == 2
    with pytest.raises(MinutebookError):
        ownership.own(tmp_path / "ledger.db", wait=0, since="now")
    held.release()


def test_a_lock_that_is_a_symbolic_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("precious")
    (tmp_path / "ledger.db.lock").symlink_to(tmp_path / "target")
    with pytest.raises(MinutebookError) as refused:
        ownership.own(tmp_path / "ledger.db", wait=0, since="now")
    assert refused.value.code == "cannot_open"
    assert (tmp_path / "target").read_text() == "precious"


def test_an_unreadable_note_in_the_lock_file_still_gives_a_clear_answer(tmp_path: Path) -> None:
    child = start_owner(tmp_path / "ledger.db")
    (tmp_path / "ledger.db.lock").write_bytes(b"\xff garbage")
    with pytest.raises(MinutebookError, match="Another process") as busy:
        ownership.own(tmp_path / "ledger.db", wait=0, since="now")
    assert busy.value.code == "ledger_busy"
    end(child)


def test_eight_processes_that_open_write_and_close_all_get_their_turn(
    tmp_path: Path, clock: Callable[[], str]
) -> None:
    (tmp_path / "schema").mkdir()
    (tmp_path / "schema" / "0001_t.sql").write_text("CREATE TABLE t (id ${text} PRIMARY KEY)")
    program = f"""
import sys
from pathlib import Path
from types import SimpleNamespace
from minutebook.ledger.database import open_database
for n in range(5):
    with open_database("sqlite://{tmp_path}/ledger.db", schema=Path("{tmp_path}/schema"), wait=60,
                       clock=lambda: "now") as ledger:
        ledger.write("p", lambda tx: tx.run("INSERT INTO t VALUES (:id)", id=f"{{sys.argv[1]}}-{{n}}"))
"""
    children = [subprocess.Popen([sys.executable, "-c", program, str(who)]) for who in range(8)]
    assert [child.wait() for child in children] == [0] * 8
    with (
        open_database(
            f"sqlite://{tmp_path}/ledger.db", schema=tmp_path / "schema", wait=0, clock=clock
        ) as ledger,
        ledger.read() as tx,
    ):
        assert {row["id"] for row in tx.all("SELECT id FROM t")} == {
            f"{a}-{b}" for a in range(8) for b in range(5)
        }
