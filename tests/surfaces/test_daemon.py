"""Finding the service from outside: where its files are, who runs, and what is not trusted."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from minutebook.model.errors import MinutebookError
from minutebook.settings import load
from minutebook.surfaces.light import daemon
from minutebook.surfaces.light.places import Places, places_of
from minutebook.surfaces.running.pausing import paused
from tests.surfaces.services import Served, alive, serving_processes, until


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(str(tmp_path / "home"))


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Served]:
    made = Served(tmp_path / "home", tmp_path)
    yield made
    made.end()


# Where it is


def test_one_database_has_one_place_however_it_is_spelled(tmp_path: Path) -> None:
    home = str(tmp_path)
    usual = Places(home)
    assert usual.run == f"{home}/run"
    same = [f"sqlite://{home}/ledger.db", f"sqlite://{home}//ledger.db", f"sqlite://{home}/x/../ledger.db"]
    assert {Places(home, url).run for url in same} == {usual.run}
    others = [f"sqlite://{home}/other.db", "postgresql://localhost/minutebook", "postgresql://localhost/two"]
    found = {Places(home, url).run for url in others}
    assert len(found | {usual.run}) == 4
    assert all(run.startswith(f"{home}/run/") and len(run.rpartition("/")[2]) == 16 for run in found)


def test_a_link_to_the_home_leads_to_the_same_sockets_also_where_the_path_is_long(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to(deep)
    far, near = Places(str(deep)), Places(str(link))
    assert far.sockets.startswith(f"/tmp/minutebook-{os.getuid()}-")
    assert near.sockets == near.run
    assert len(os.fsencode(Places(str(tmp_path / ("é" * 50))).socket)) <= 100
    assert Places(str(deep) + "/../" + "e" * 60).sockets == far.sockets


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"MINUTEBOOK_HOME": "~/ledger"},
        {"MINUTEBOOK_HOME": "here"},
        {"MINUTEBOOK_HOME": "/srv/ledger/"},
        {"MINUTEBOOK_HOME": "  /srv/ledger  ", "MINUTEBOOK_DATABASE_URL": " postgresql://localhost/x "},
    ],
)
def test_the_environment_is_read_as_the_settings_read_it(environ: dict[str, str]) -> None:
    settings, found = load(environ), places_of(environ)
    assert (found.home, found.run) == (
        str(settings.home),
        Places(str(settings.home), settings.database_url).run,
    )


def test_importing_it_costs_no_more_than_the_standard_library() -> None:
    script = (
        "import sys\nbefore = set(sys.modules)\n"
        "from minutebook.surfaces.light import daemon, places\n"
        "print(*sorted(name for name in set(sys.modules) - before if name.partition('.')[0] == 'minutebook'))\n"
        "print(*sorted({'dataclasses', 'json', 'pathlib', 'subprocess', 'asyncio', 'http'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    ours, heavy = done.stdout.split("\n")[:2]
    assert ours.split() == [
        "minutebook",
        "minutebook.surfaces",
        "minutebook.surfaces.light",
        "minutebook.surfaces.light.daemon",
        "minutebook.surfaces.light.places",
    ]
    assert heavy == ""


# What is trusted


def test_directories_are_made_for_their_user_alone(places: Places) -> None:
    places.make()
    places.make()
    assert {os.stat(path).st_mode & 0o777 for path in (places.home, places.run)} == {0o700}


def test_a_place_that_somebody_else_may_have_made_is_refused(
    places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusal() -> MinutebookError:
        with pytest.raises(MinutebookError) as refused:
            places.check()
        assert refused.value.code == "cannot_open"
        return refused.value

    places.check()  # nothing is there yet
    places.make()
    os.chmod(places.run, 0o770)
    assert "open to others" in refusal().message
    os.chmod(places.run, 0o700)
    with monkeypatch.context() as patch:
        patch.setattr(os, "getuid", lambda: 4711)
        assert "belongs to user" in refusal().message
    os.rename(places.run, tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", places.run)
    assert "not a directory" in refusal().message


def test_a_home_that_cannot_be_made_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(MinutebookError) as refused:
        Places(str(tmp_path / "file" / "home")).make()
    assert refused.value.code == "cannot_open"


# Who runs


def test_where_nobody_listens_there_is_no_connection_and_nothing_is_made(places: Places) -> None:
    assert daemon.connect(places, places.socket) is None
    assert daemon.owner(places) is None
    assert daemon.ask(places) is None
    assert daemon.facts_of(places) is None
    assert daemon.stop(places) is None
    with pytest.raises(MinutebookError) as refused:
        daemon.join(places, places.socket, environ={}, start=False)
    assert refused.value.code == "no_service"
    assert not os.path.exists(places.home)


def test_the_lock_names_the_process_that_holds_it_and_nobody_else(places: Places) -> None:
    lock = daemon.take_lock(places)
    assert lock is not None
    assert daemon.take_lock(places) is None
    assert daemon.owner(places) == os.getpid()
    os.close(lock)
    assert daemon.owner(places) is None, "the file is still there, and says nothing"


def test_a_socket_that_a_killed_service_left_is_nobody(places: Places) -> None:
    places.make()
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(places.socket)
    assert daemon.connect(places, places.socket) is None
    assert daemon.ask(places) is None


def test_one_that_accepts_and_never_answers_is_named(places: Places) -> None:
    places.make()
    lock = daemon.take_lock(places)
    assert lock is not None
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(places.socket)
        silent.listen()
        with pytest.raises(MinutebookError) as refused:
            daemon.ask(places, wait=0.1)
    os.close(lock)
    assert refused.value.code == "no_service"
    assert refused.value.details["pid"] == os.getpid()


def test_a_starter_that_was_killed_holds_nobody_up(program: Served) -> None:
    """Killed between starting the service and its answer: the next one finds it, or starts it."""
    for _ in range(2):
        starter = program.start("inbox", "list")
        until(lambda: serving_processes(program.home), "it was started")
        starter.kill()
        starter.communicate()
        assert program("inbox", "list").code == 0
        until(lambda: len(serving_processes(program.home)) == 1, "the one that came second has left")
        program.ok("stop", "--force")
        until(lambda: serving_processes(program.home) == [], "it has ended")


def test_starting_soon_waits_for_nothing_and_starts_one(program: Served) -> None:
    for _ in range(3):
        daemon.start_soon(program.places, program.environ())
    joined = daemon.join(program.places, program.places.socket, environ=program.environ())
    joined.close()
    until(lambda: len(serving_processes(program.home)) == 1, "one of three is left")


def test_the_service_knows_nothing_of_who_started_it(program: Served) -> None:
    program.ok("inbox", "list", MINUTEBOOK_AGENT="ripley", MINUTEBOOK_RUN="r1")
    [pid] = serving_processes(program.home)
    environment = Path(f"/proc/{pid}/environ").read_bytes()
    assert b"ripley" not in environment
    assert b"MINUTEBOOK_RUN" not in environment
    [line] = [program.ok("memories", "write", "artifact", "A map.", "--slug", "map")]
    assert line["op"] == "add", "the next caller is its user again"


# Having the ledger alone


def test_while_it_is_paused_commands_wait_and_go_on_afterwards(program: Served) -> None:
    program.ok("inbox", "list")
    [pid] = serving_processes(program.home)
    told: list[str] = []
    with paused(program.places, told.append):
        assert not alive(pid)
        waiting = program.start("inbox", "list")
        # Two others come and go meanwhile: it has had the time to ask, and to start one if it could.
        assert [program("status").code for _ in range(2)] == [3, 3]
        assert waiting.poll() is None
        assert serving_processes(program.home) == []
    assert waiting.wait(60) == 0
    waiting.communicate()
    assert len(told) == 1
