"""What a broken house gets: missing, foreign, newer, busy, read-only or full, and a clock that goes back.

The request was fine, so the code is one of the kind "unavailable" (exit 8), the message says what to do, and
whatever was acknowledged before is there when the house is whole again.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from minutebook.model.errors import MinutebookError
from minutebook.operations import decisions, events, inbox, memories, sessions, verdicts
from tests import postgres
from tests.houses import House
from tests.scenarios.program import Done, Program
from tests.scenarios.rows import all_rows
from tests.scenarios.spaces import can_mount, space

#: Ways to have a place where nothing can be written; the last needs a kernel that lets us mount.
READ_ONLY = ("a file is in the way", *(["a read-only mount"] if can_mount() else []))


def unavailable(done: Done, code: str, *said: str) -> None:
    error = done.error()
    assert (error["code"], done.code) == (code, 8), error
    for words in said:
        assert words in error["message"]


def settle(program: Program) -> None:
    program.ok("init", "--name", "Nostromo")
    program.ok("decisions", "write", "scope", "Range", "Stay in orbit.", "--slug", "range")


def contents(program: Program, prefix: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    done = program("decisions", "list", "-o", "json", prefix=prefix)
    return [(item["slug"], item["title"]) for item in done.json()["items"]]


# Deleted


def test_a_ledger_deleted_while_it_is_open_takes_no_more_writes(tmp_path: Path) -> None:
    house = House(f"sqlite://{tmp_path}/ledger.db", tmp_path, _Ticks())
    house.ripley(memories.write, type="learning", content="The doors jam.", slug="doors")
    shutil.copy(tmp_path / "ledger.db.lock", tmp_path / "kept.lock")
    subprocess.run(["rm", f"{tmp_path}/ledger.db"], check=True)
    for _ in range(2):
        with pytest.raises(MinutebookError) as gone:
            house.ripley(memories.write, type="learning", content="The lamps flicker.", slug="lamps")
        assert gone.value.code == "ledger_gone"
        assert "restore a backup" in gone.value.message
    house.close()
    assert not (tmp_path / "ledger.db").exists(), "closing must not put a new file in its place"


def test_a_ledger_deleted_between_commands_is_not_taken_for_the_old_one(tmp_path: Path) -> None:
    """The workspace still names its project, so nobody mistakes the empty ledger for their memory."""
    program = Program(tmp_path / "home", tmp_path)
    settle(program)
    program.ok("backup", "--file", str(tmp_path / "safe.db"))
    (tmp_path / "home" / "ledger.db").unlink()
    for words in (("decisions", "list"), ("memories", "write", "artifact", "A map."), ("inbox", "list")):
        done = program(*words, "-o", "json")
        assert (done.code, done.error()["code"]) == (3, "not_found")
        assert "minutebook init" in done.error()["details"]["hint"]
    # What concerns the whole ledger still answers there: it is how one finds out what happened.
    assert [project["slug"] for project in program.ok("projects", "list")["items"]] == ["global"]
    assert program.ok("restore", str(tmp_path / "safe.db"), "--confirm")
    assert contents(program) == [("range", "Range")]


def test_a_log_without_its_database_is_not_thrown_away(tmp_path: Path) -> None:
    """After a crash the last writes are in the log alone; a new database beside it would destroy them."""
    program = Program(tmp_path / "home", tmp_path)
    settle(program)
    home = tmp_path / "home"
    log = _crash_with_a_log(home, tmp_path)
    database = (home / "ledger.db").read_bytes()
    (home / "ledger.db").unlink()
    unavailable(program("decisions", "list", "-o", "json"), "ledger_gone", "put it back")
    assert (home / "ledger.db-wal").read_bytes() == log
    (home / "ledger.db").write_bytes(database)
    assert ("crash", "Crash") in contents(program)


def _crash_with_a_log(home: Path, cwd: Path) -> bytes:
    """Die without closing, right after an acknowledged write."""
    script = f"""
import os, minutebook
from minutebook.operations import decisions
client = minutebook.connect(home={str(home)!r})
client(decisions.write, type="scope", title="Crash", content="Written and not closed.", slug="crash")
os._exit(0)
"""
    subprocess.run([sys.executable, "-c", script], cwd=cwd, check=True, timeout=60)
    log = (home / "ledger.db-wal").read_bytes()
    assert log
    return log


if not postgres.OFF:  # only a server has databases that others can drop

    @pytest.mark.parametrize("engine", ["postgres"], indirect=True)
    def test_a_database_dropped_under_a_server_is_reported(house: House, cluster: postgres.Cluster) -> None:
        house.ripley(memories.write, type="learning", content="The doors jam.", slug="doors")
        name = house.url.partition("///")[2].partition("?")[0]
        cluster.command(f"DROP DATABASE {name} WITH (FORCE)")
        try:
            for _ in range(2):
                with pytest.raises(MinutebookError) as gone:
                    house.ripley(memories.write, type="learning", content="The lamps flicker.", slug="lamps")
                assert gone.value.kind == "unavailable"
            program = Program(house.home, house.home.parent, house.url)
            unavailable(program("projects", "list", "-o", "json"), "cannot_open", "server")
        finally:
            cluster.command(f"CREATE DATABASE {name}")  # the fixture drops it


# Foreign, damaged, newer, busy


@pytest.mark.parametrize(
    "content", [b"not a database, but a diary\n" * 200, b"SQLite format 3\0" + b"\0" * 4080]
)
def test_a_file_that_is_no_ledger_is_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "ledger.db").write_bytes(content)
    done = Program(tmp_path / "home", tmp_path)("projects", "list", "-o", "json")
    unavailable(done, "ledger_damaged")
    assert (tmp_path / "home" / "ledger.db").read_bytes() == content


def test_a_ledger_of_a_newer_program_is_refused_and_not_touched(house: House) -> None:
    house.dallas(decisions.write, type="scope", title="Range", content="Stay in orbit.", slug="range")
    before = all_rows(house)
    house.service.database.write(
        "global",
        lambda tx: tx.run(
            "INSERT INTO migrations (version, name, checksum, applied_at) VALUES (99, 'later', 'x', 'later')"
        ),
    )
    house.close()
    program = Program(house.home, house.home.parent, house.url, {"MINUTEBOOK_PROJECT": "nostromo"})
    for words in (("decisions", "list"), ("decisions", "write", "scope", "T", "Leave orbit.")):
        done = program(*words, "-o", "json")
        unavailable(done, "ledger_newer", "upgrade minutebook")
        assert done.error()["details"]["ledger"] == 99
    with pytest.raises(MinutebookError) as newer:
        house.open()
    assert newer.value.code == "ledger_newer"
    _without_the_later_migration(house.url)
    house.open()
    assert all_rows(house) == before


def _without_the_later_migration(url: str) -> None:
    if url.startswith("postgresql"):
        with psycopg.connect(url) as connection:
            connection.execute("DELETE FROM migrations WHERE version = 99")
        return
    import apsw

    connection = apsw.Connection(url.removeprefix("sqlite://"))
    connection.execute("DELETE FROM migrations WHERE version = 99").fetchall()
    connection.close()


def test_a_second_owner_waits_and_is_told_who_has_it(house: House) -> None:
    """One process owns a SQLite ledger at a time; a PostgreSQL one has as many as come."""
    house.ripley(memories.write, type="learning", content="The doors jam.", slug="doors")
    before = all_rows(house)
    program = Program(
        house.home,
        house.home.parent,
        house.url,
        {"MINUTEBOOK_PROJECT": "nostromo", "MINUTEBOOK_LOCK_WAIT": "0.3"},
    )
    done = program("memories", "write", "artifact", "A map of the decks.", "-o", "json", "--as", "dallas")
    if house.url.startswith("postgresql"):
        assert done.json()["op"] == "add"
        assert house.jones(memories.list_).items[0].title == "A map of the decks."
        return
    unavailable(done, "ledger_busy", "wait for it to end")
    assert isinstance(done.error()["details"]["pid"], int)
    assert all_rows(house) == before
    house.close()
    assert program.ok("memories", "write", "artifact", "A map of the decks.", "--as", "dallas")["op"] == "add"


# Read-only, full


@pytest.mark.parametrize("way", READ_ONLY)
def test_a_place_where_nothing_can_be_written_is_named_with_advice(tmp_path: Path, way: str) -> None:
    home = tmp_path / "home"
    program = Program(home, tmp_path)
    if way == "a file is in the way":
        home.write_text("I am a file.")
        for words in (("projects", "list"), ("init",)):
            unavailable(program(*words, "-o", "json"), "cannot_open", str(home), "a file and not a directory")
        assert home.read_text() == "I am a file."
        return
    settle(program)
    files = {path: path.read_bytes() for path in home.iterdir()}
    with space(
        tmp_path, "sh", "-c", f"mount --bind '{home}' '{home}' && mount -o remount,bind,ro '{home}'"
    ) as here:
        for words in (("decisions", "list"), ("decisions", "write", "scope", "T", "Leave orbit.")):
            done = program(*words, "-o", "json", prefix=here.prefix)
            unavailable(done, "cannot_open", str(home), "read-only")
    assert {path: path.read_bytes() for path in home.iterdir()} == files
    assert contents(program) == [("range", "Range")]


if can_mount():  # elsewhere the limit on files below has to do

    def test_a_full_disk_costs_the_write_and_nothing_else(tmp_path: Path) -> None:
        """Commands fail with disk_full until there is room; what was acknowledged before is all there."""
        place = tmp_path / "full"
        place.mkdir()
        program = Program(place, tmp_path)
        with space(tmp_path, "mount", "-t", "tmpfs", "-o", "size=3m", "none", str(place)) as here:
            assert program("init", "--name", "Nostromo", prefix=here.prefix).code == 0
            told = program(
                "decisions",
                "write",
                "scope",
                "Range",
                "Stay in orbit.",
                "--slug",
                "range",
                prefix=here.prefix,
            )
            assert told.code == 0
            filler = here.inside(place) / "filler"
            _fill(filler)
            for number in range(3):
                words = ("decisions", "write", "scope", f"More {number}", "word " * 2_000, "-o", "json")
                unavailable(program(*words, prefix=here.prefix), "disk_full", "free some space")
            filler.unlink()
            assert contents(program, here.prefix) == [("range", "Range")]
            written = program(
                "decisions",
                "write",
                "scope",
                "After",
                "There is room.",
                "--slug",
                "after",
                prefix=here.prefix,
            )
            assert written.code == 0
            assert contents(program, here.prefix) == [("after", "After"), ("range", "Range")]


def _fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 4096)
        except OSError:
            return


def test_a_disk_that_takes_no_more_fails_the_write_and_the_ledger_goes_on(tmp_path: Path) -> None:
    """A limit on the size of files, which every system has: the process goes on and can write again later."""
    script = f"""
import resource, signal
import minutebook
from minutebook.model.errors import MinutebookError
from minutebook.operations import decisions, projects
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with minutebook.connect(home={str(tmp_path / "home")!r}) as client:
    client.project = client(projects.create, name="Nostromo").id
    client(decisions.write, type="scope", title="Range", content="Stay in orbit.", slug="range")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    for number in range(3):
        try:
            client(decisions.write, type="scope", title="No", content="Leave orbit.", slug="no")
        except MinutebookError as error:
            print(error.code, error.kind)
    print([line.slug for line in client(decisions.list_).items])
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    client(decisions.write, type="scope", title="After", content="There is room.", slug="after")
    print([line.slug for line in client(decisions.list_).items])
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""
    *failures, then, now = done.stdout.splitlines()
    assert len(failures) == 3
    assert set(failures) <= {"io_error unavailable", "disk_full unavailable"}
    assert (then, now) == ("['range']", "['after', 'range']")


# A clock that goes back


class _Ticks:
    """A clock for a house that is built by hand."""

    def __init__(self) -> None:
        self.at = 0

    def __call__(self) -> str:
        self.at += 1
        return f"2026-01-01T00:00:00.{self.at:06d}Z"


def test_a_clock_that_goes_back_changes_neither_order_nor_outcome(house: House) -> None:
    """The order of things is the order in which they were written, whatever the clock says.

    Also over a restart: what is written later is listed first, supersedes what was before, and nobody is
    locked out by writes of the future.
    """
    house.ripley(memories.write, type="learning", content="First seen.", slug="first")
    house.ripley(inbox.submit, type="scope", title="Gate", content="Close the gate.", slug="gate")
    house.dallas(decisions.write, type="scope", title="Range", content="Stay in orbit.", slug="range")
    opened = house.ripley(sessions.start, focus="Before")

    house.clock.advance(days=-400)  # type: ignore[attr-defined]
    house._ticks -= 400 * 86_400_000
    house.restart()

    house.ripley(memories.write, type="learning", content="Second seen.", slug="second")
    house.dallas(decisions.write, type="scope", title="Range", content="Land now.", slug="range")
    house.dallas(inbox.promote, ref="gate")
    current = house.ripley(sessions.start, focus="After")

    assert [line.slug for line in house.ripley(memories.list_, type="learning").items] == ["second", "first"]
    assert house.jones(decisions.show, ref="range").memory.content == "Land now."
    assert house.jones(sessions.current).id == current.id
    assert [session.id for session in house.jones(sessions.list_).items] == [current.id, opened.id]
    assert house.jones(inbox.show, ref="gate").proposal.status == "merged"
    seqs = [event.seq for event in house.jones(events.list_).items]
    assert seqs == sorted(seqs, reverse=True)
    newest = house.jones(verdicts.list_).items[0]
    assert newest.rules[0] in ("fresh", "same_identity")
    for number in range(20):
        house.ripley(
            memories.write, type="learning", content=f"Deck {number} is dark.", slug=f"deck-{number}"
        )
    pages: list[str] = []
    after: str | None = None
    while True:
        page = house.ripley(memories.list_, type="learning", limit=5, after=after)
        pages += [line.slug for line in page.items]
        after = page.next
        if after is None:
            break
    assert pages == [f"deck-{number}" for number in reversed(range(20))] + ["second", "first"]
