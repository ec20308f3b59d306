"""Health tells the truth: each thing that can go wrong with a ledger is done to one, and is said."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from minutebook.ledger import health as inside
from minutebook.ledger.database import Tx
from minutebook.model.actors import Role
from minutebook.model.errors import MinutebookError
from minutebook.model.system import Health, LastSeen, Presence
from minutebook.operations import actors, inbox, memories, projects, system
from tests.conftest import Clock
from tests.houses import House
from tests.lived_in import live_in
from tests.scenarios.spaces import can_mount, space

SINCE = "2026-01-01T00:00:00.000000Z"


def change(house: House, *statements: str) -> None:
    def work(tx: Tx) -> None:
        for sql in statements:
            tx.run(sql)

    house.service.database.write("global", work)


def around(house: House, presence: Presence) -> None:
    """Let the process around the ledger be that one."""
    house.service.world = dataclasses.replace(house.service.world, presence=lambda: presence)


def said(found: Health) -> str:
    return " ".join(finding.what for finding in found.findings)


@pytest.fixture(autouse=True)
def every_check_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a check of a few rows may take long, and what was good would be taken for granted."""
    monkeypatch.setattr(inside, "_QUICK", 3_600.0)


@pytest.fixture
def small(tmp_path: Path, clock: Clock) -> Any:
    """A house in a file, for what only files suffer."""
    house = House(f"sqlite://{tmp_path}/ledger/ledger.db", tmp_path / "home", clock)
    house.ripley(memories.write, type="learning", content="The doors jam in the cold.", slug="doors")
    yield house
    house.close()


# The process and its doors


def test_a_command_that_owns_the_ledger_says_so(house: House) -> None:
    around(house, Presence(pid=os.getpid(), version="9.9", since=SINCE))
    found = house.mother(system.health)
    assert (found.owner.pid, found.owner.version, found.service) == (os.getpid(), "9.9", None)
    assert "this command" in found.owner.what


def test_a_service_tells_where_it_listens_and_who_was_seen(house: House, clock: Clock) -> None:
    seen = LastSeen("ripley", "mcp", "claude-code 2", house.project, SINCE, 7)
    clock.advance(hours=2)
    around(
        house,
        Presence(
            pid=77, version="9.9", since=SINCE, addresses=("http://127.0.0.1:1",), connections=3, followers=1,
            requests=12, visitors=(seen,),
        ),
    )  # fmt: skip
    found = house.mother(system.health)
    assert found.service is not None
    assert found.service.addresses == ("http://127.0.0.1:1",)
    assert 7_200 <= found.service.uptime_seconds < 7_260
    assert (found.service.connections, found.service.followers, found.service.requests) == (3, 1, 12)
    assert (found.visitors, found.owner.what) == ((seen,), "the service")


# Who is told what


def test_nobody_but_those_who_govern_the_whole_ledger_is_told_of_other_projects(house: House) -> None:
    live_in(house)
    other = house.new_project("Canary Wharf")
    for number in range(3):
        house.as_("Ripley", project=other)(
            memories.write,
            type="learning",
            content=f"Bird number {number} sings at dawn today.",
            tag=["bird"],
        )
    house.as_("Ripley", project=other)(
        inbox.submit, type="scope", title="Cage", content="Keep the cage shut."
    )
    house.mother(actors.add, name="Hired", role=Role.OPERATOR, bound_to=house.project)
    visitors = (
        LastSeen("canary-agent", "mcp", "canary-host", other, SINCE, 5),
        LastSeen("canary-agent", "mcp", "canary-host", "canary-wharf", SINCE, 5),
        LastSeen("canary-agent", "mcp", "canary-host", None, SINCE, 5),
        LastSeen("bishop", "http", "", "nostromo", SINCE, 5),
        LastSeen("ripley", "http", "", house.project, SINCE, 5),
    )
    around(
        house,
        Presence(pid=1, version="1", since=SINCE, addresses=("unix:x",), requests=919, visitors=visitors),
    )
    whole = house.mother(system.health)
    assert (whole.about, whole.projects, len(whole.visitors)) == ("the whole ledger", 2, 5)
    change(
        house,
        f"DELETE FROM texts WHERE project_id = '{other}'",
        f"DELETE FROM bands WHERE project_id = '{other}'",
        f"""INSERT INTO jobs (id, project_id, kind, payload, state, priority, due_at, attempts, created_at)
            VALUES ('j', '{other}', 'canary', '', 'dead', 0, '{SINCE}', 9, '{SINCE}')""",
    )
    assert house.mother(system.health).state == "degraded"
    counted = house.rows(
        "SELECT count(*) AS n FROM memories WHERE status = 'active' AND project_id = :project",
        project=house.project,
    )[0]["n"]
    for name in ("Jones", "Ripley", "Hired"):
        found = house.as_(name)(system.health)
        assert (found.about, found.state, found.findings) == ("nostromo", "ok", ()), name
        assert found.memories_active == counted
        assert counted < (whole.memories_active or 0)
        assert (found.projects, found.where, found.size_bytes, found.last_backup) == (None,) * 4
        assert found.service is not None
        assert (found.service.requests, found.service.connections, found.service.followers) == (None,) * 3
        assert [seen.actor for seen in found.visitors] == ["bishop", "ripley"]
        assert (found.jobs.dead if found.jobs else 0, found.index.texts_missing if found.index else 0) == (
            0,
            0,
        )
        assert "canary" not in repr(found)
    assert house.dallas(system.health).about == "the whole ledger"


def test_somebody_without_a_project_is_told_of_the_house_alone(house: House) -> None:
    live_in(house)
    nowhere = house.as_("Jones")
    nowhere.project = None
    found = nowhere(system.health)
    assert (found.about, found.memories_active, found.visitors) == ("no project", None, ())
    assert found.index is not None
    assert (found.state, found.index.rows) == ("ok", 0)


# What is derived, and later work


@pytest.mark.parametrize(
    ("table", "field"), [("texts", "texts_missing"), ("bands", "sketches_missing"), ("tags", "tags_missing")]
)
def test_whatever_cannot_be_found_lowers_the_share_and_is_mended(
    house: House, table: str, field: str
) -> None:
    live_in(house)
    well = house.mother(system.health).index
    assert well is not None
    assert (well.share, well.rows > 5) == (1.0, True)
    change(house, f"DELETE FROM {table}")
    sick = house.mother(system.health)
    assert sick.index is not None
    assert getattr(sick.index, field) > 0
    assert sick.index.share < 1
    assert (sick.state, sick.findings[0].advice) == ("degraded", "minutebook reindex")
    house.mother(system.reindex)
    assert house.mother(system.health).index == well


def test_what_took_long_and_was_good_is_taken_for_granted_for_a_while_and_what_is_bad_never(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    live_in(house)
    monkeypatch.setattr(inside, "_QUICK", 0.0)
    monkeypatch.setattr(inside, "_PATIENCE", 1e9)
    assert house.mother(system.health).state == "ok"
    change(house, "DELETE FROM texts")
    assert house.mother(system.health).state == "ok"
    assert house.jones(system.health).state == "degraded", "nobody had looked at the project alone"
    house.service.database.granted.clear()  # the while is over
    assert house.mother(system.health).state == "degraded"
    house.mother(system.reindex)
    assert house.mother(system.health).state == "ok"


def test_a_dead_letter_and_a_late_job_are_told(house: House, clock: Clock) -> None:
    insert = """INSERT INTO jobs (id, project_id, kind, payload, state, priority, due_at, attempts, created_at)
                VALUES ('{id}', '{project}', 'extract', '', '{state}', 0, '{at}', 1, '{at}')"""
    at = clock()
    rows = (("a", "dead"), ("b", "todo"), ("c", "doing"), ("d", "done"))
    change(house, *(insert.format(id=id, project=house.project, state=state, at=at) for id, state in rows))
    found = house.jones(system.health)
    assert found.jobs is not None
    assert (found.jobs.todo, found.jobs.doing, found.jobs.done, found.jobs.dead) == (1, 1, 1, 1)
    assert (found.state, "1 jobs gave up" in said(found)) == ("degraded", True)
    clock.advance(hours=1)
    later = house.jones(system.health)
    assert later.jobs is not None
    assert later.jobs.late_seconds >= 3_600
    assert "60 minutes late" in said(later)


def test_the_age_of_the_last_backup_is_told(house: House, clock: Clock) -> None:
    made = house.mother(system.backup)
    clock.advance(days=3)
    found = house.mother(system.health)
    assert (found.last_backup, found.last_backup_age, found.state) == (made.file, 3, "ok")
    clock.advance(days=28)
    stale = house.mother(system.health)
    assert (stale.last_backup_age, stale.state) == (31, "degraded")
    assert stale.findings[0].advice == "minutebook backup"


# The writer


def test_a_queue_that_does_not_move_is_told_while_it_stands(house: House, monkeypatch: Any) -> None:
    monkeypatch.setattr("minutebook.policy.health.LONG_WAIT", 0.05)
    started, go, done = threading.Event(), threading.Event(), threading.Event()

    def hold(_: Tx) -> None:
        started.set()
        assert go.wait(60)

    database = house.service.database
    database.write_soon("p", hold, lambda *_: None)
    try:
        assert started.wait(30)
        database.write_soon("p", lambda tx: None, lambda *_: done.set())
        deadline = time.monotonic() + 30
        while (found := house.jones(system.health)).state == "ok":  # until it has waited long enough
            assert time.monotonic() < deadline
        assert (found.state, found.writer.waiting) == ("degraded", 1)
        assert "1 writes wait" in said(found)
    finally:
        go.set()
    assert done.wait(30)
    assert house.jones(system.health).state == "ok"


def test_a_disk_that_makes_every_commit_wait_is_told(
    house: House, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minutebook.policy.health.SLOW_COMMIT", 0.02)
    assert house.jones(system.health).writer.commit_seconds > 0
    if engine == "sqlite":
        house.service.database._main.set_commit_hook(lambda: bool(time.sleep(0.03)))  # type: ignore[attr-defined]
    else:
        change(
            house,
            """CREATE FUNCTION drag() RETURNS trigger LANGUAGE plpgsql AS
               $$ BEGIN PERFORM pg_sleep(0.03); RETURN NULL; END $$""",
            """CREATE CONSTRAINT TRIGGER slowly AFTER INSERT ON events DEFERRABLE INITIALLY DEFERRED
               FOR EACH ROW EXECUTE FUNCTION drag()""",
        )
    for number in range(20):
        house.ripley(
            memories.write, type="learning", content=f"Deck {number} is dark.", slug=f"deck-{number}"
        )
    found = house.jones(system.health)
    assert found.writer.commit_seconds > 0.02
    assert (found.state, "The disk is slow" in said(found)) == ("degraded", True)


def test_a_ledger_that_was_deleted_is_failing_and_health_still_answers(small: House) -> None:
    assert small.jones(system.health).state == "ok"
    # By somebody else: our own process is kept from it.
    subprocess.run(["rm", small.url.removeprefix("sqlite://")], check=True)
    for _ in range(2):  # before a write has noticed, and after
        found = small.mother(system.health)
        assert found.state == "failing"
        assert found.writer.halted is not None
        assert "was moved, replaced or deleted" in found.writer.halted
        assert (found.memories_active, found.findings[0].state) == (1, "error")
        with pytest.raises(MinutebookError) as gone:
            small.ripley(memories.write, type="learning", content="The lamps flicker.", slug="lamps")
        assert gone.value.code == "ledger_gone"
    # Where the files lay is for those who look after them.
    assert "ledger.db" not in repr(small.ripley(system.health))
    assert small.ripley(system.health).state == "failing"
    with pytest.raises(MinutebookError):
        small.mother(projects.list_)
    with pytest.raises(MinutebookError):
        small.service.database.read_at_once()


def test_a_damaged_page_is_failing(tmp_path: Path, clock: Clock) -> None:
    house = House(f"sqlite://{tmp_path}/ledger.db", tmp_path, clock)
    live_in(house)
    root = house.rows("SELECT rootpage FROM sqlite_schema WHERE name = 'verdicts'")[0]["rootpage"]
    size = house.rows("PRAGMA page_size")[0]["page_size"]
    house.close()
    with (tmp_path / "ledger.db").open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(os.urandom(size))
    house.open()
    found = house.mother(system.health)
    house.close()
    assert (found.state, found.findings[0].advice) == ("failing", "minutebook restore BACKUP")
    assert "damaged" in found.findings[0].what


def test_tables_that_cannot_be_read_at_all_are_failing(tmp_path: Path, clock: Clock) -> None:
    house = House(f"sqlite://{tmp_path}/ledger.db", tmp_path, clock)
    live_in(house)
    root = house.rows("SELECT rootpage FROM sqlite_schema WHERE name = 'texts'")[0]["rootpage"]
    size = house.rows("PRAGMA page_size")[0]["page_size"]
    house.close()
    with (tmp_path / "ledger.db").open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xff" * size)
    house.open()
    found = house.mother(system.health)
    house.close()
    assert (found.state, found.schema_version > 0) == ("failing", True)


def test_a_clock_that_was_set_back_is_told(house: House, clock: Clock) -> None:
    house.ripley(memories.write, type="learning", content="Seen in the future.", slug="future")
    clock.advance(minutes=-30)
    assert house.jones(system.health).state == "degraded"
    clock.advance(days=-3)
    found = house.jones(system.health)
    assert (found.state, "3d behind" in said(found)) == ("failing", True)


# The disk. In a process of its own, where the limit is its own; and on mounts where the kernel lets us.

_FULL = """
import resource, signal, sys
import minutebook
from minutebook.model.errors import MinutebookError
from minutebook.operations import memories, projects, system
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with minutebook.connect(home=sys.argv[1]) as client:
    client.project = client(projects.create, name="Nostromo").id
    def tell():
        found = client(system.health)
        print(found.state, any("last write failed" in finding.what for finding in found.findings))
    tell()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        client(memories.write, type="learning", content="No room for this one.", slug="none")
    except MinutebookError as error:
        print(error.kind)
    tell()
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    client(memories.write, type="learning", content="There is room again.", slug="room")
    tell()
"""


def test_a_disk_that_takes_no_more_is_failing_until_it_does(tmp_path: Path) -> None:
    done = run(_FULL, tmp_path / "home", cwd=tmp_path)
    assert done == ["ok False", "unavailable", "failing True", "ok False"]


_LOOK = """
import sys, os
import minutebook
from minutebook.operations import projects, system
with minutebook.connect(home=sys.argv[1]) as client:
    client(projects.create, name="Nostromo")
    os.write(1, b"open\\n"), sys.stdin.readline()
    found = client(system.health)
    print(found.state, *(finding.what for finding in found.findings), sep="|")
"""


if os.getuid() != 0:  # root writes whatever the mode says; the mount below has to do

    def test_a_directory_whose_mode_forbids_writing_is_failing(tmp_path: Path) -> None:
        home = tmp_path / "home"
        try:
            told = look(home, tmp_path, lambda: home.chmod(0o500))
        finally:
            home.chmod(0o700)
        assert told.startswith("failing|The directory of the ledger cannot be written to.")


if can_mount():  # elsewhere the limit on files above has to do

    def test_a_directory_on_a_disk_that_became_read_only_is_failing(tmp_path: Path) -> None:
        home = tmp_path / "home"
        home.mkdir()
        with space(tmp_path, "true") as here:
            # On top of what is open: the kernel refuses to take a disk from somebody who writes on it.
            over = f"mount --bind '{home}' '{home}' && mount -o remount,bind,ro '{home}'"
            told = look(
                home,
                tmp_path,
                lambda: subprocess.run([*here.prefix, "sh", "-c", over], check=True, timeout=30),
                prefix=here.prefix,
            )
        assert told.startswith("failing|The directory of the ledger cannot be written to.")

    def test_a_small_disk_that_fills_up_is_failing(tmp_path: Path) -> None:
        home = tmp_path / "home"
        home.mkdir()
        with space(tmp_path, "mount", "-t", "tmpfs", "-o", "size=8m", "none", str(home)) as here:
            told = look(home, tmp_path, lambda: None, prefix=here.prefix)
        assert told.startswith("failing|Only ")
        assert "bytes are free" in told


def environment() -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "MINUTEBOOK_SERVICE": "never", "PYTHONDONTWRITEBYTECODE": "1"}


def run(script: str, home: Path, *, cwd: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", script, str(home)],
        cwd=cwd, env=environment(), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    return done.stdout.splitlines()


def look(home: Path, cwd: Path, meanwhile: Callable[[], object], *, prefix: tuple[str, ...] = ()) -> str:
    """Open the ledger in another process, do something to it, and say what its health is then."""
    process = subprocess.Popen(
        [*prefix, sys.executable, "-c", _LOOK, str(home)],
        cwd=cwd, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        meanwhile()
        out, _ = process.communicate("go\n", timeout=60)
        assert process.returncode == 0
        return out.strip()
    finally:
        process.kill()
        process.communicate(timeout=20)
