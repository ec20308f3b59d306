"""doctor and the house's own commands, through the installed program."""

from __future__ import annotations

import json
import os
import shutil
import stat
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from minutebook.ledger.database import open_database
from minutebook.model.errors import MinutebookError
from minutebook.settings import Settings
from minutebook.surfaces.cli.commands import CallerOptions
from minutebook.surfaces.cli.doctor import diagnose
from minutebook.wiring import SCHEMA, open_for_doctor, open_service, utc_now
from tests.scenarios.program import Program


@pytest.fixture
def program(ledger_url: str, engine: str, tmp_path: Path) -> Program:
    """The installed program with a private home, in a directory of its own."""
    place = tmp_path / "nostromo"
    place.mkdir()
    return Program(home=tmp_path / "home", cwd=place, url="" if engine == "sqlite" else ledger_url)


def findings(answer: Any, state: str) -> list[str]:
    return [found["what"] for found in answer["findings"] if found["state"] == state]


def diagnosis(program: Program, **environment: str) -> tuple[int, Any]:
    done = program("doctor", "-o", "json", **environment)
    return done.code, json.loads(done.out)


# --- all is well -------------------------------------------------------------------------------------


def test_before_the_first_command_all_is_well_and_nothing_is_created(program: Program) -> None:
    code, found = diagnosis(program)
    assert (code, found["state"]) == (0, "ok")
    assert not program.home.exists()


def test_a_ledger_in_use_is_looked_at_from_the_inside(program: Program, engine: str) -> None:
    program.ok("init")
    program.ok("memories", "write", "learning", "The first thing that was learnt here.")
    code, found = diagnosis(program)
    assert (code, found["state"]) == (0, "ok")
    assert (found["health"]["engine"], found["health"]["memories_active"]) == (engine, 1)
    said = program("doctor").out
    assert "all is well" in said
    assert "nostromo" in said


def test_every_command_of_the_house_works_from_the_outside(program: Program, tmp_path: Path) -> None:
    program.ok("init")
    program.ok("memories", "write", "learning", "The first thing that was learnt here.", "--slug", "first")
    assert program.ok("health")["state"] == "ok"
    copy = program.ok("backup")
    assert Path(copy["file"]).is_file()
    first = program.ok("export", "a.zip")
    assert (program.cwd / "a.zip").is_file()
    assert program("export", "a.zip").code == 5
    assert program.ok("reindex")["memories"] == 1
    assert program.ok("import", "a.zip")["rows"] == {}
    fresh = Program(home=tmp_path / "fresh", cwd=program.cwd)
    assert not fresh.ok("import", "a.zip", "--dry-run")["applied"]
    fresh.ok("import", "a.zip")
    assert fresh.ok("export", "b.zip")["sha256"] == first["sha256"]
    assert fresh.ok("memories", "show", "first")["memory"]["slug"] == "first"
    assert not fresh.ok("restore", copy["file"])["applied"]
    assert fresh.ok("restore", copy["file"], "--confirm")["kept"]
    assert fresh.ok("memories", "show", "first")["memory"]["slug"] == "first"
    for words in (("health",), ("backup",), ("reindex",), ("import", "a.zip"), ("restore", copy["file"])):
        assert fresh(*words).code == 0


def test_restoring_is_for_the_person_who_owns_the_files(program: Program) -> None:
    program.ok("init")
    program.ok("actors", "add", "ripley", "--role", "agent")
    (program.cwd / "x.db").write_text("x")
    assert program("restore", "x.db", "--confirm", MINUTEBOOK_AGENT="ripley").code == 4
    assert program("restore", "x.db", "--confirm", "--as", "ripley").code == 4
    assert program("backup", MINUTEBOOK_AGENT="ripley").code == 4
    assert program("import", "x.db", MINUTEBOOK_AGENT="ripley").code == 4


# --- something is wrong ------------------------------------------------------------------------------


@pytest.fixture
def ship(tmp_path: Path) -> Program:
    """A program on SQLite, with a project and a ledger."""
    place = tmp_path / "nostromo"
    place.mkdir()
    built = Program(home=tmp_path / "home", cwd=place)
    built.ok("init")
    return built


def test_a_damaged_ledger_is_told_with_what_to_do(ship: Program) -> None:
    (ship.home / "ledger.db").write_bytes(b"not a database" * 1000)
    code, found = diagnosis(ship)
    assert (code, found["state"]) == (8, "error")
    assert "damaged" in findings(found, "error")[0]
    assert any("restore" in one["advice"] for one in found["findings"])
    assert ship("doctor").code == 8
    # the rest was looked at all the same
    assert any("workspace.toml" in said for said in findings(found, "ok"))


def test_a_newer_ledger_is_told(ship: Program) -> None:
    database = open_database(f"sqlite://{ship.home}/ledger.db", schema=SCHEMA, wait=5, clock=utc_now)
    database.write("g", lambda tx: tx.run("INSERT INTO migrations VALUES (99, 'later', 'x', 'now')"))
    database.close()
    code, found = diagnosis(ship)
    assert code == 8
    assert [one["advice"] for one in found["findings"] if one["state"] == "error"] == ["upgrade minutebook"]


def test_a_ledger_that_somebody_owns_is_told_with_the_process(ship: Program) -> None:
    database = open_database(f"sqlite://{ship.home}/ledger.db", schema=SCHEMA, wait=5, clock=utc_now)
    try:
        code, found = diagnosis(ship)
    finally:
        database.close()
    assert (code, found["state"]) == (0, "warning")
    assert f"Process {os.getpid()}" in findings(found, "warning")[0]


def test_a_server_that_is_not_there_is_told(ship: Program) -> None:
    code, found = diagnosis(ship, MINUTEBOOK_DATABASE_URL="postgresql:///x?host=/nowhere&user=nobody")
    assert code == 8
    assert "Cannot reach" in findings(found, "error")[0]


def test_wrong_settings_are_told(ship: Program) -> None:
    code, found = diagnosis(ship, MINUTEBOOK_LOCK_WAIT="soon")
    assert code == 8
    assert "MINUTEBOOK_LOCK_WAIT" in findings(found, "error")[0]
    code, found = diagnosis(ship, MINUTEBOOK_DATABASEURL="x")
    assert code == 0
    assert "MINUTEBOOK_DATABASEURL" in findings(found, "warning")[0]


def test_a_home_that_others_can_look_into_is_told(ship: Program) -> None:
    ship.home.chmod(0o755)
    code, found = diagnosis(ship)
    assert (code, found["state"]) == (0, "warning")
    assert [one["advice"] for one in found["findings"] if one["state"] == "warning"] == [
        f"chmod 700 {ship.home}"
    ]
    assert stat.S_IMODE(ship.home.stat().st_mode) == 0o755  # it looks, and changes nothing


def test_a_home_that_is_a_file_is_told(ship: Program, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    code, found = diagnosis(ship, MINUTEBOOK_HOME=str(tmp_path / "file"))
    assert code == 8
    assert "not a directory" in findings(found, "error")[0]


def test_an_unreadable_list_of_erasures_is_told(ship: Program) -> None:
    (ship.home / "erasures.jsonl").write_text('{"ref":\n{}\n')
    code, found = diagnosis(ship)
    assert code == 8
    assert "erased words could come back" in findings(found, "error")[0]


def test_an_invalid_workspace_file_is_told_and_left_as_it_is(ship: Program) -> None:
    file = ship.cwd / ".minutebook" / "workspace.toml"
    file.write_text("project_id = 7")
    code, found = diagnosis(ship)
    assert code == 8
    assert "project_id" in findings(found, "error")[0]
    assert file.read_text() == "project_id = 7"


def test_a_project_that_this_ledger_does_not_know_is_told(ship: Program, tmp_path: Path) -> None:
    other = Program(home=tmp_path / "other", cwd=ship.cwd)
    other.ok("projects", "create", "Sulaco", "--project", "global")
    code, found = diagnosis(other)
    assert (code, found["state"]) == (0, "warning")
    assert "unknown to this ledger" in findings(found, "warning")[0]


def test_the_same_id_at_two_paths_that_both_exist_is_told(ship: Program, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(ship.cwd, copy)
    assert diagnosis(ship)[1]["state"] == "ok"
    Program(home=ship.home, cwd=copy).ok("init")
    code, found = diagnosis(ship)
    assert (code, found["state"]) == (0, "warning")
    assert str(copy) in findings(found, "warning")[0]
    shutil.rmtree(copy)
    assert diagnosis(ship)[1]["state"] == "ok"


def test_the_ledgers_own_troubles_are_among_the_findings(ship: Program) -> None:
    ship.ok("memories", "write", "learning", "The first thing that was learnt here.")
    database = open_database(f"sqlite://{ship.home}/ledger.db", schema=SCHEMA, wait=5, clock=utc_now)
    database.write("g", lambda tx: tx.run("DELETE FROM texts"))
    database.close()
    code, found = diagnosis(ship)
    assert (code, found["state"], found["health"]["state"]) == (0, "warning", "degraded")
    assert "cannot be searched" in findings(found, "warning")[0]


# --- what root cannot be shown from outside ----------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return folder


def _diagnosed(home: Path) -> list[str]:
    opened = partial(open_for_doctor, environ={})
    found = diagnose(opened, {}, CallerOptions(home=str(home)), home)
    return [one.what for one in found.findings if one.state != "ok"]


def test_a_home_of_somebody_else_is_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _diagnosed(home) == []
    monkeypatch.setattr(os, "getuid", lambda: 4711)
    assert "not to you" in _diagnosed(home)[0]


def test_a_home_that_cannot_be_written_to_is_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "cannot be written to" in _diagnosed(home)[0]


def test_one_trouble_inside_the_ledger_does_not_hide_the_rest(home: Path) -> None:
    service = open_service(Settings(home=home))
    service.close()

    def broken(_: Settings) -> Any:
        raise MinutebookError("io_error", "the disk hums")

    found = diagnose(broken, {}, CallerOptions(home=str(home)), home)
    assert [(one.state, one.what) for one in found.findings if one.state != "ok"] == [
        ("error", "the disk hums")
    ]
    assert len(found.findings) >= 4


def test_what_an_interrupted_command_left_is_told(home: Path) -> None:
    left = home / ".restore-abc"
    left.mkdir()
    assert _diagnosed(home) == []  # somebody may be at work in it
    os.utime(left, (0, 0))
    assert str(left) in _diagnosed(home)[0]
