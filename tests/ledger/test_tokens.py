"""Tokens in the ledger: uses noted behind the requests, nothing of them in archives, none alive after a restore."""

from __future__ import annotations

import shutil
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from minutebook.controller import restore as restoring
from minutebook.ledger import tokens as kept
from minutebook.ledger.database import Tx, open_database
from minutebook.model.actors import Actor, Role
from minutebook.model.system import Restored
from minutebook.model.tokens import digest_of
from minutebook.operations import memories, system, tokens
from minutebook.wiring import SCHEMA
from tests.conftest import Clock
from tests.houses import House
from tests.lived_in import empty
from tests.operations.asking import code
from tests.operations.bearing import Bearer, bearer

PERSON = Actor("root", "root", Role.OPERATOR)
AT = "2026-01-01T00:00:30.000000Z"


@pytest.fixture
def ship(tmp_path: Path, clock: Clock) -> Iterator[House]:
    """A house on SQLite, for what only one file can do."""
    built = House(f"sqlite://{tmp_path}/home/ledger.db", tmp_path / "home", clock)
    yield built
    built.close()


def written(house: House) -> None:
    """Wait until all that was queued before is written, in every lane."""
    for lane in ("tokens", "global", house.project):
        house.service.database.write(lane, lambda tx: None)


# --- last use ------------------------------------------------------------------------------------------


def test_a_thousand_requests_of_a_minute_are_noted_by_one_write(house: House) -> None:
    ripley = bearer(house, agent="ripley")
    written(house)
    commits = threading.Semaphore(0)
    house.service.database.on_commit(commits.release)
    for _ in range(1000):
        ripley(memories.list_)
    written(house)
    assert commits.acquire(timeout=10)  # the note, and the three that were waited for
    for _ in range(3):
        assert commits.acquire(timeout=10)
    assert not commits.acquire(blocking=False)
    (row,) = house.rows("SELECT last_used_at FROM tokens")
    assert row["last_used_at"] is not None


def test_many_threads_at_once_have_one_use_noted(house: House) -> None:
    made = house.mother(tokens.create, agent="ripley")
    uses = kept.Uses(house.service.database)
    written(house)
    commits = threading.Semaphore(0)
    house.service.database.on_commit(commits.release)
    gate = threading.Barrier(8)

    def use() -> None:
        gate.wait()
        for _ in range(200):
            uses.note(made.token.id, "2026-01-01T00:10:00.000000Z")

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    house.restart()
    assert sum(1 for _ in iter(lambda: commits.acquire(blocking=False), False)) == 1
    assert house.rows("SELECT last_used_at AS at FROM tokens") == [{"at": "2026-01-01T00:10:00.000000Z"}]


def test_a_use_that_cannot_be_noted_fails_no_request_and_is_tried_again(ship: House) -> None:
    ripley = bearer(ship, agent="ripley")

    def last_used() -> Any:
        written(ship)
        return ship.rows("SELECT last_used_at AS at FROM tokens")[0]["at"]

    database = ship.service.database
    database.write(
        "",
        lambda tx: tx.run(
            "CREATE TRIGGER broken BEFORE UPDATE ON tokens BEGIN SELECT RAISE(ABORT, 'broken'); END"
        ),
    )
    assert ripley(memories.list_).items == ()
    assert last_used() is None
    database.write("", lambda tx: tx.run("DROP TRIGGER broken"))
    assert ripley(memories.list_).items == ()
    assert last_used() is not None


def test_a_closed_ledger_takes_no_note_and_raises_nothing(house: House) -> None:
    made = house.mother(tokens.create, agent="ripley")
    uses = kept.Uses(house.service.database)
    house.close()
    uses.note(made.token.id, "2026-01-01T00:10:00.000000Z")
    house.open()
    assert house.rows("SELECT last_used_at AS at FROM tokens") == [{"at": None}]


def test_an_earlier_clock_takes_no_use_back(house: House) -> None:
    made = house.mother(tokens.create, agent="ripley")
    for at in ("2026-01-01T00:10:00.000000Z", "2026-01-01T00:05:00.000000Z"):
        kept.Uses(house.service.database).note(made.token.id, at)
    house.restart()
    assert house.rows("SELECT last_used_at AS at FROM tokens") == [{"at": "2026-01-01T00:10:00.000000Z"}]


# --- two at once ---------------------------------------------------------------------------------------


def test_no_token_slips_past_the_revocation_of_the_one_it_is_made_with(house: House) -> None:
    made = house.mother(tokens.create, role="operator")
    held, go = threading.Event(), threading.Event()

    def revoke(tx: Tx) -> None:
        kept.revoke(tx, [made.token.id], by="mother", reason="x", at=AT)
        held.set()
        assert go.wait(30)

    def make() -> None:
        outcomes.append(code(Bearer(house, made.secret), tokens.create, agent="newt"))

    outcomes: list[str] = []
    threads = [
        threading.Thread(target=house.service.database.write, args=("global", revoke)),
        threading.Thread(target=make),
    ]
    threads[0].start()
    try:
        assert held.wait(30)
        threads[1].start()
        _wait_for_a_writer_that_waits(house)
    finally:
        go.set()
        for thread in threads:
            thread.join()
    assert outcomes == ["bad_token"]
    assert len(house.mother(tokens.list_, state="all").items) == 1


def _wait_for_a_writer_that_waits(house: House) -> None:
    """Until somebody stands in the queue of the writer, or before a lane that is taken."""
    queues = "SELECT count(*) AS n FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if house.service.database.lanes:
            waiting = house.rows(queues)[0]["n"]
        else:
            waiting = house.service.database.facts().writes_waiting
        if waiting:
            return
        time.sleep(0.01)
    raise AssertionError("nobody waits")


# --- archives, backups, restores -------------------------------------------------------------------------


def test_no_archive_holds_a_token(house: House, tmp_path: Path) -> None:
    made = house.mother(tokens.create, agent="ripley")
    for name, how in (("all", {}), ("one", {"project": "nostromo"})):
        file = tmp_path / f"{name}.zip"
        house.mother(system.export, file=file, **how)
        with zipfile.ZipFile(file) as archive:
            assert "tokens.jsonl" not in archive.namelist()
            words = b"".join(archive.read(member) for member in archive.namelist()).decode()
        assert made.secret not in words
        assert str(digest_of(made.secret)) not in words


def test_an_import_lets_nobody_in(house: House, tmp_path: Path) -> None:
    made = house.mother(tokens.create, agent="ripley")
    house.mother(system.export, file=tmp_path / "all.zip")
    other = empty(f"sqlite://{tmp_path}/other/ledger.db", tmp_path / "other", Clock())
    try:
        other.mother(system.import_, file=tmp_path / "all.zip")
        assert code(Bearer(other, made.secret), memories.list_) == "bad_token"
    finally:
        other.close()


def restored(house: House, file: Path, *, confirm: bool = True, url: str | None = None) -> Restored:
    return restoring.restore(
        url or house.url, file, world=house.service.world, actor=PERSON, wait=2, confirm=confirm
    )


def test_a_restore_brings_no_token_back_to_life(ship: House) -> None:
    live, lost = (ship.mother(tokens.create, agent=name) for name in ("ripley", "ash"))
    file = Path(ship.mother(system.backup).file)
    ship.mother(tokens.revoke, id=lost.token.id, reason="lost")
    later = ship.mother(tokens.create, agent="bishop")
    ship.close()
    assert "Its 2 tokens are revoked" in restored(ship, file, confirm=False).sentence
    ship.open()
    assert Bearer(ship, live.secret)(memories.list_).items == ()  # looking changes nothing
    ship.close()
    assert "Its 2 tokens are revoked" in restored(ship, file).sentence
    ship.open()
    for secret in (live.secret, lost.secret, later.secret):
        assert code(Bearer(ship, secret), memories.list_) == "bad_token"
    shown = ship.mother(tokens.show, id=live.token.id)
    assert (shown.state, shown.revoked_by) == ("revoked", "root")
    assert bearer(ship, agent="ripley")(memories.list_).items == ()


def test_a_restored_copy_elsewhere_takes_no_token_of_the_first(house: House, tmp_path: Path) -> None:
    made = house.mother(tokens.create, agent="ripley")
    file = Path(house.mother(system.backup).file)
    other = empty(f"sqlite://{tmp_path}/other/ledger.db", tmp_path / "other", Clock())
    other.close()
    restored(house, file, url=other.url)
    other.open()
    try:
        assert code(Bearer(other, made.secret), memories.list_) == "bad_token"
    finally:
        other.close()
    assert Bearer(house, made.secret)(memories.list_).items == ()


# --- the migration -----------------------------------------------------------------------------------------


def test_a_ledger_from_before_there_were_tokens_goes_on(
    database_url: str, tmp_path: Path, clock: Clock
) -> None:
    before = tmp_path / "before"
    before.mkdir()
    for path in SCHEMA.glob("0001_*"):
        shutil.copy(path, before)
    with open_database(database_url, schema=before, wait=10, clock=clock) as database:
        database.write(
            "global",
            lambda tx: tx.run(
                """INSERT INTO projects (id, slug, name, created_by, created_at)
                   VALUES ('01ARZ3NDEKTSV4RRFFQ69G5FAV', 'old', 'Old', 'kim', '2025-01-01T00:00:00.000000Z')"""
            ),
        )
    house = House(database_url, tmp_path / "home", clock)
    try:
        old = house.as_("Mother", project="old")
        assert bearer(house, maker=old, agent="ripley")(memories.list_).items == ()
    finally:
        house.close()
