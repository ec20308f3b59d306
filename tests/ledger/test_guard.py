"""Our own process cannot open the files of an open ledger but through SQLite."""

from __future__ import annotations

import os
import shutil
import sqlite3
import timeit
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from minutebook.ledger.database import Database, open_database
from minutebook.model.errors import MinutebookError


@pytest.fixture
def ledger(tmp_path: Path, clock: Callable[[], str]) -> Iterator[Database]:
    (tmp_path / "schema").mkdir()
    (tmp_path / "schema" / "0001_t.sql").write_text("CREATE TABLE t (id ${text})")
    with open_database(
        f"sqlite://{tmp_path}/ledger.db", schema=tmp_path / "schema", wait=0, clock=clock
    ) as opened:
        opened.write("p", lambda tx: tx.run("INSERT INTO t VALUES ('a')"))
        yield opened


def by_dir_fd(path: Path) -> None:
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.close(os.open(path.name, os.O_RDONLY, dir_fd=folder))
    finally:
        os.close(folder)


def remove_by_dir_fd(path: Path) -> None:
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.unlink(path.name, dir_fd=folder)
    finally:
        os.close(folder)


DEEDS: dict[str, Callable[[Path], object]] = {
    "open": lambda path: path.open("rb").close(),
    "open for writing": lambda path: path.open("ab").close(),
    "open, as bytes": lambda path: open(os.fsencode(path), "rb").close(),
    "os.open": lambda path: os.close(os.open(path, os.O_RDONLY)),
    "read": lambda path: path.read_bytes(),
    "relative": lambda path: open(os.path.relpath(path), "rb").close(),
    "odd spelling": lambda path: open(f"{path.parent}/./x/../{path.name}", "rb").close(),
    "dir_fd": by_dir_fd,
    "copy": lambda path: shutil.copy(path, path.with_name("copy")),
    "copy over": lambda path: shutil.copy(path.with_name("plain"), path),
    "move": lambda path: shutil.move(path, path.with_name("moved")),
    "rename": lambda path: path.rename(path.with_name("moved")),
    "replace": lambda path: os.replace(path.with_name("plain"), path),
    "remove": lambda path: path.unlink(),
    "remove by dir_fd": remove_by_dir_fd,
    "truncate": lambda path: os.truncate(path, 0),
    "hard link": lambda path: os.link(path, path.with_name("link")),
    "stdlib sqlite": lambda path: sqlite3.connect(path).close(),
    "stdlib sqlite by uri": lambda path: sqlite3.connect(f"file:{path}?mode=ro", uri=True).close(),
}


@pytest.mark.parametrize("name", ["ledger.db", "ledger.db-wal", "ledger.db-shm"])
@pytest.mark.parametrize("deed", DEEDS)
def test_every_way_to_the_files_is_closed(ledger: Database, tmp_path: Path, deed: str, name: str) -> None:
    (tmp_path / "plain").write_text("plain")
    (tmp_path / "x").mkdir()
    with pytest.raises(MinutebookError) as refused:
        DEEDS[deed](tmp_path / name)
    assert refused.value.code == "forbidden_open"
    ledger.write("p", lambda tx: tx.run("INSERT INTO t VALUES ('b')"))


def test_a_symbolic_and_a_hard_link_lead_to_the_same_refusal(ledger: Database, tmp_path: Path) -> None:
    (tmp_path / "soft").symlink_to(tmp_path / "ledger.db")
    (tmp_path / "folder").symlink_to(tmp_path)
    for way in (tmp_path / "soft", tmp_path / "folder" / "ledger.db-wal"):
        with pytest.raises(MinutebookError) as refused:
            way.read_bytes()
        assert refused.value.code == "forbidden_open"


def test_a_journal_cannot_be_planted(ledger: Database, tmp_path: Path) -> None:
    with pytest.raises(MinutebookError):
        (tmp_path / "ledger.db-journal").write_bytes(b"planted")
    assert not (tmp_path / "ledger.db-journal").exists()


def test_looking_at_the_files_without_opening_them_is_fine(ledger: Database, tmp_path: Path) -> None:
    assert (tmp_path / "ledger.db").stat().st_size > 0
    os.chmod(tmp_path / "ledger.db", 0o600)


def test_other_files_of_the_same_name_are_not_guarded(ledger: Database, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    other = tmp_path / "elsewhere" / "ledger.db"
    other.write_text("mine")
    assert other.read_text() == "mine"
    other.rename(other.with_name("ledger.db-wal"))
    (tmp_path / "elsewhere" / "ledger.db-wal").unlink()


def test_a_closed_ledger_is_not_guarded_any_more(ledger: Database, tmp_path: Path) -> None:
    ledger.close()
    assert (tmp_path / "ledger.db").read_bytes().startswith(b"SQLite format 3")


def test_the_guard_costs_other_opens_next_to_nothing(ledger: Database, tmp_path: Path) -> None:
    path = tmp_path / "plain"
    path.write_text("plain")

    def opening() -> None:
        os.close(os.open(path, os.O_RDONLY))

    guarded = min(timeit.repeat(opening, number=2000, repeat=5))
    ledger.close()
    free = min(timeit.repeat(opening, number=2000, repeat=5))
    # In microseconds for each open: generous, because machines are busy; measured at about 3.
    assert (guarded - free) / 2000 * 1e6 < 50
