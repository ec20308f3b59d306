"""Backups that were restored before they count, and restores that lose nothing."""

from __future__ import annotations

import os
import shutil
import stat
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from minutebook.controller import restore as restoring
from minutebook.ledger import archive, backup, sqlite_files
from minutebook.ledger.database import Database
from minutebook.model.actors import Actor, Role
from minutebook.model.errors import MinutebookError
from minutebook.model.system import Restored
from minutebook.operations import memories, search, system
from tests import invariants, postgres
from tests.conftest import Clock
from tests.houses import House
from tests.lived_in import canonical, empty, live_in

PERSON = Actor("root", "root", Role.OPERATOR)


def restored(house: House, file: Path, *, confirm: bool = True, url: str | None = None) -> Restored:
    return restoring.restore(
        url or house.url, file, world=house.service.world, actor=PERSON, wait=2, confirm=confirm
    )


@pytest.fixture
def ship(tmp_path: Path, clock: Clock) -> Iterator[House]:
    """A house on SQLite, for what only one file can do."""
    built = House(f"sqlite://{tmp_path}/home/ledger.db", tmp_path / "home", clock)
    yield built
    built.close()


# --- making one --------------------------------------------------------------------------------------


def test_a_backup_is_proved_noted_and_private(house: House, tmp_path: Path) -> None:
    live_in(house)
    made = house.mother(system.backup)
    file = Path(made.file)
    assert file.parent == house.home / "backups"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert made.rows == sum(map(len, canonical(house).values()))
    assert [path.name for path in file.parent.iterdir()] == [file.name]  # nothing is left of the proof
    assert house.mother(system.health).last_backup == made.file


def test_a_backup_holds_everything_also_what_no_archive_does(house: House, tmp_path: Path) -> None:
    live_in(house)
    house.mother.invoke(_operation("memories.tag"), {"ref": "ship", "tags": ["x"]}, key="a key")
    before = canonical(house)
    made = house.mother(system.backup)
    other = empty(f"sqlite://{tmp_path}/other/ledger.db", tmp_path / "other", Clock())
    other.close()
    restored(house, Path(made.file), url=other.url)
    other.open()
    after = canonical(other)
    other.close()
    for table in archive.TABLES:
        numbers = set(table.seqs)  # an archive counts events by itself
        assert [_without(row, numbers) for row in before[table.name]] == [
            _without(row, numbers) for row in after[table.name]
        ]


def _without(row: dict[str, Any], names: set[str]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


def _operation(name: str) -> Any:
    from minutebook.operations.registry import REGISTRY

    return REGISTRY.get(name)


def test_a_backup_never_overwrites(house: House, tmp_path: Path) -> None:
    file = tmp_path / "taken"
    file.write_text("precious")
    with pytest.raises(MinutebookError) as refused:
        house.mother(system.backup, file=file)
    assert refused.value.code == "exists"
    assert file.read_text() == "precious"


def test_a_backup_that_fails_its_proof_is_removed(
    house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live_in(house)
    if house.service.database.dialect.one_file:
        real = type(house.service.database).backup

        def spoilt(self: Database, target: Path) -> None:
            real(self, target)  # type: ignore[arg-type]
            _lose_an_index_entry(target)

        monkeypatch.setattr(type(house.service.database), "backup", spoilt)
    else:
        real_take = backup.take_archive

        def forgetful(database: Database, source: Path, terms: Any) -> Any:
            came = real_take(database, source, terms)
            database.write("global", lambda tx: tx.run("DELETE FROM saved_views"))
            return came

        monkeypatch.setattr(backup, "take_archive", forgetful)
    with pytest.raises(MinutebookError) as refused:
        house.mother(system.backup, file=tmp_path / "copies" / "a")
    assert refused.value.code == "backup_failed"
    assert list((tmp_path / "copies").iterdir()) == []
    assert house.mother(system.health).last_backup is None


def _lose_an_index_entry(file: Path) -> None:
    """Damage that neither opening the file nor counting its rows shows."""
    connection = apsw.Connection(str(file))
    root = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'memories_by_status'").get
    size = connection.execute("PRAGMA page_size").get
    connection.close()
    with file.open("r+b") as handle:
        handle.seek((root - 1) * size + 3)
        handle.write(b"\x00\x01")  # one cell where there were several


def test_a_copy_that_lacks_rows_is_no_backup(
    ship: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live_in(ship)
    real = type(ship.service.database).backup

    def lossy(self: Database, target: Path) -> None:
        real(self, target)  # type: ignore[arg-type]
        copy = apsw.Connection(str(target))
        copy.execute("DELETE FROM saved_views").fetchall()
        copy.close()

    monkeypatch.setattr(type(ship.service.database), "backup", lossy)
    with pytest.raises(MinutebookError, match="saved_views"):
        ship.mother(system.backup, file=tmp_path / "a.db")
    assert not (tmp_path / "a.db").exists()


def test_only_the_newest_backups_that_we_named_are_kept(house: House, clock: Clock) -> None:
    folder = house.home / "backups"
    folder.mkdir(parents=True)
    (folder / "mine.db").write_text("by hand")
    made = []
    for _ in range(3):
        clock.advance(days=1)
        made.append(house.mother(system.backup).file)
    clock.advance(days=1)
    last = house.mother(system.backup, keep=2)
    assert list(last.pruned) == made[:2]
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        Path(file).name for file in ("mine.db", made[2], last.file)
    )


# --- restoring one file ------------------------------------------------------------------------------


def test_without_confirmation_a_restore_only_says_what_it_would_do(ship: House) -> None:
    live_in(ship)
    made = ship.mother(system.backup)
    ship.dallas(memories.write, type="project", content="Written after the backup.", slug="late")
    before = canonical(ship)
    ship.close()
    told = restored(ship, Path(made.file), confirm=False)
    assert not told.applied
    ship.open()
    assert canonical(ship) == before
    assert {path.name for path in ship.home.iterdir()} == {
        "backups", "erasures.jsonl", "ledger.db", "ledger.db-shm", "ledger.db-wal", "ledger.db.lock",
    }  # fmt: skip


def test_a_restored_ledger_is_the_one_that_was_backed_up_and_the_present_one_is_kept(ship: House) -> None:
    live_in(ship)
    made = ship.mother(system.backup)
    before = canonical(ship)
    ship.dallas(memories.write, type="project", content="Written after the backup.", slug="late")
    later = canonical(ship)
    ship.close()
    done = restored(ship, Path(made.file))
    ship.open()
    assert canonical(ship) == before
    assert invariants.violations(invariants.state_of(ship.service.database)) == []
    assert {hit.slug for hit in ship.ripley(search.search, query="megabytes").hits} >= {"proxy"}
    assert not ship.dallas(search.search, query="backup").hits
    assert done.kept is not None
    # and there is a way back
    ship.close()
    restored(ship, Path(done.kept))
    ship.open()
    assert canonical(ship) == later


def test_an_archive_can_take_the_ledgers_place_too(ship: House, tmp_path: Path) -> None:
    live_in(ship)
    ship.mother(system.export, file=tmp_path / "a.zip")
    slugs = {line.slug for line in ship.dallas(memories.list_).items}
    ship.close()
    restored(ship, tmp_path / "a.zip")
    ship.open()
    assert {line.slug for line in ship.dallas(memories.list_).items} == slugs


def test_a_ledger_that_is_gone_or_damaged_is_restored_all_the_same(ship: House) -> None:
    live_in(ship)
    made = ship.mother(system.backup)
    before = canonical(ship)
    path = ship.home / "ledger.db"
    for harm in (path.unlink, lambda: path.write_bytes(b"no database at all" * 1000), lambda: _scratch(path)):
        ship.close()
        harm()
        done = restored(ship, Path(made.file))
        assert done.kept is None or Path(done.kept).stat().st_size
        ship.open()
        assert canonical(ship) == before


def _scratch(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xaa" * 4096 * 30)


def test_a_log_that_a_crash_left_is_kept_with_the_old_ledger_and_not_played_into_the_new_one(
    ship: House,
) -> None:
    made = ship.mother(system.backup)
    before = canonical(ship)
    ship.close()
    _write_and_crash(ship)
    put = restored(ship, Path(made.file))
    assert put.kept is not None
    ship.open()
    assert canonical(ship) == before
    ship.close()
    restored(ship, Path(put.kept))
    ship.open()
    assert ship.dallas(memories.show, ref="crash").memory.content == "Acknowledged just before the crash."


def _write_and_crash(ship: House) -> None:
    """Leave a log beside the database, as a process does that dies."""
    script = f"""
import os
from minutebook import connect
from minutebook.operations import memories
client = connect(home={str(ship.home)!r}, project="nostromo")
client(memories.write, type="project", content="Acknowledged just before the crash.", slug="crash")
os._exit(9)
"""
    done = subprocess.run([sys.executable, "-c", script], timeout=60, check=False)
    assert done.returncode == 9
    assert (ship.home / "ledger.db-wal").stat().st_size > 0


def test_the_log_of_a_damaged_ledger_goes_with_it(ship: House) -> None:
    made = ship.mother(system.backup)
    before = canonical(ship)
    ship.close()
    _write_and_crash(ship)
    log = (ship.home / "ledger.db-wal").read_bytes()
    (ship.home / "ledger.db").write_bytes(b"no database at all" * 1000)
    done = restored(ship, Path(made.file))
    assert Path(f"{done.kept}-wal").read_bytes() == log
    ship.open()
    assert canonical(ship) == before


def test_a_restore_waits_for_nobody_who_owns_the_ledger(ship: House) -> None:
    made = ship.mother(system.backup)
    before = canonical(ship)
    with pytest.raises(MinutebookError) as refused:
        restored(ship, Path(made.file))
    assert refused.value.code == "ledger_busy"
    assert refused.value.details["pid"] == os.getpid()
    assert canonical(ship) == before


def _newer(file: Path) -> None:
    connection = apsw.Connection(str(file))
    connection.execute("INSERT INTO migrations VALUES (99, 'later', 'x', 'now')").fetchall()
    connection.close()


def _foreign(file: Path) -> None:
    with file.open("r+b") as handle:
        handle.seek(68)
        handle.write(struct.pack(">I", 7))


BAD_FILES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "cut": (lambda file: os.truncate(file, file.stat().st_size // 2 // 4096 * 4096), "ledger_damaged"),
    "scratched": (_scratch, "ledger_damaged"),
    "an index that lacks an entry": (_lose_an_index_entry, "ledger_damaged"),
    "newer": (_newer, "ledger_newer"),
    "of another program": (_foreign, "ledger_damaged"),
    "text": (lambda file: file.write_text("hello"), "bad_archive"),
    "missing": (Path.unlink, "not_found"),
    "in use": (lambda file: file.with_name(file.name + "-wal").write_text("log"), "bad_archive"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_bad_backup_is_refused_and_the_ledger_stands(ship: House, tmp_path: Path, case: str) -> None:
    live_in(ship)
    ship.mother(system.backup, file=tmp_path / "a.db")
    harm, code = BAD_FILES[case]
    harm(tmp_path / "a.db")
    before = canonical(ship)
    ship.close()
    with pytest.raises(MinutebookError) as refused:
        restored(ship, tmp_path / "a.db")
    assert refused.value.code == code
    ship.open()
    assert canonical(ship) == before
    assert not list(ship.home.glob(".restore-*"))


def test_a_database_of_another_program_at_the_ledgers_place_is_left_alone(
    ship: House, tmp_path: Path
) -> None:
    made = ship.mother(system.backup, file=tmp_path / "a.db")
    ship.close()
    _foreign(ship.home / "ledger.db")
    bytes_before = (ship.home / "ledger.db").read_bytes()
    with pytest.raises(MinutebookError):
        restored(ship, Path(made.file))
    assert (ship.home / "ledger.db").read_bytes() == bytes_before
    shutil.copyfile(made.file, ship.home / "ledger.db")
    ship.open()


def test_what_cannot_be_put_in_place_leaves_the_old_ledger(
    ship: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live_in(ship)
    made = ship.mother(system.backup, file=tmp_path / "a.db")
    before = canonical(ship)
    ship.close()

    def full(*_: Any) -> None:
        raise MinutebookError("disk_full")

    with monkeypatch.context() as patch:
        patch.setattr(sqlite_files, "copy_to", full)
        with pytest.raises(MinutebookError) as refused:
            restored(ship, Path(made.file))
    assert refused.value.code == "disk_full"
    ship.open()
    assert canonical(ship) == before


def test_killed_before_the_last_step_the_old_ledger_stands(
    ship: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live_in(ship)
    made = ship.mother(system.backup, file=tmp_path / "a.db")
    ship.dallas(memories.write, type="project", content="Written after the backup.", slug="late")
    before = canonical(ship)
    ship.close()

    class Killed(BaseException):
        pass

    def killed(*_: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", killed)
        with pytest.raises(Killed):
            restored(ship, Path(made.file))
    ship.open()
    assert canonical(ship) == before


# --- restoring on a server ---------------------------------------------------------------------------


if not postgres.OFF:

    def test_a_server_takes_a_backup_into_an_empty_ledger_only(
        cluster: postgres.Cluster, tmp_path: Path, clock: Clock
    ) -> None:
        house = House(cluster.url(cluster.fresh()), tmp_path / "home", clock)
        live_in(house)
        made = house.mother(system.backup)
        assert made.file.endswith(".zip")
        for confirm in (True, False):
            with pytest.raises(MinutebookError) as refused:
                restored(house, Path(made.file), confirm=confirm)
            assert refused.value.code == "exists"
        url = cluster.url(cluster.fresh())
        assert not restored(house, Path(made.file), confirm=False, url=url).applied
        assert restored(house, Path(made.file), url=url).applied
        other = empty(url, tmp_path / "other", clock)
        assert {name: len(rows) for name, rows in canonical(other).items()} == {
            name: len(rows) for name, rows in canonical(house).items()
        }
        house.close()
        other.close()
