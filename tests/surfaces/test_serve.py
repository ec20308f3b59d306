"""The service as a process: one owner however many start it, nothing lost when it ends, no orphan left."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from minutebook import connect
from minutebook.model.errors import MinutebookError
from minutebook.operations import memories, projects
from minutebook.surfaces.light import daemon
from minutebook.surfaces.running.listening import USUAL_PORT
from tests.deleting import delete
from tests.scenarios.program import finished
from tests.surfaces.services import COMMAND, SOON, Served, alive, serving_processes, until


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Served]:
    made = Served(tmp_path / "home", tmp_path)
    yield made
    made.end()


@pytest.fixture
def in_process(program: Served, monkeypatch: pytest.MonkeyPatch) -> Served:
    """The same home for clients of this process."""
    for name, value in program.environ().items():
        if name.startswith("MINUTEBOOK_"):
            monkeypatch.setenv(name, value)
    return program


def write(client: Any, number: int, **more: Any) -> Any:
    return client(
        memories.write,
        type="artifact",
        content=f"Map number {number} of the ship.",
        slug=f"map-{number}",
        **more,
    )


def slugs(client: Any) -> list[str]:
    found: list[str] = []
    after = None
    while True:
        page = client(memories.list_, limit=100, after=after) if after else client(memories.list_, limit=100)
        found += [line.slug for line in page.items]
        after = page.next
        if after is None:
            return sorted(found)


# One owner


def test_fifty_commands_at_once_on_a_fresh_home_start_one_service_and_are_all_answered(
    program: Served,
) -> None:
    commands = [program.start("inbox", "list", "-o", "json") for _ in range(50)]
    done = [finished(command) for command in commands]
    assert [(one.code, one.err) for one in done] == [(0, "")] * 50
    assert {one.out for one in done} == {done[0].out}
    assert len(serving_processes(program.home)) == 1
    assert program.status()["requests"] >= 50
    assert program.status()["service"]["pid"] == serving_processes(program.home)[0]


def test_ten_services_started_by_hand_at_once_are_one_and_the_others_say_so(program: Served) -> None:
    started = [program.start("serve", "-o", "json") for _ in range(10)]
    until(lambda: sum(process.poll() is None for process in started) == 1, "nine of ten have ended")
    [winner] = [process for process in started if process.poll() is None]
    for process in started:
        if process is not winner:
            done = finished(process)
            assert (done.code, done.err) == (0, "")
            assert "runs already" in done.json()["sentence"]
            assert done.json()["service"]["pid"] == winner.pid
    winner.send_signal(signal.SIGTERM)
    assert finished(winner).code == 0


def test_a_command_of_a_ledger_that_another_process_owns_is_told_who_does(program: Served) -> None:
    script = (
        f"from minutebook import connect\nclient = connect(home={str(program.home)!r})\nprint('mine', flush=True)\n"
        "input()"
    )
    owner = subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=program.cwd,
        env=program.environ(MINUTEBOOK_SERVICE="never"),
    )
    try:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "mine\n"
        refused = program("inbox", "list", "-o", "json", MINUTEBOOK_LOCK_WAIT="0.2")
        assert (refused.code, refused.error()["code"]) == (8, "ledger_busy")
        assert refused.error()["details"]["pid"] == owner.pid
    finally:
        owner.communicate("\n")
    assert program("inbox", "list").code == 0


# Where it listens


def test_serve_says_where_it_listens_and_how_to_connect(program: Served) -> None:
    with program.serving("-o", "json") as process:
        assert process.stdout is not None
        said = ""
        while not said.endswith("\n}\n"):
            said += process.stdout.readline()
        service = json.loads(said)["service"]
        assert service["pid"] == process.pid
        assert service["url"].startswith("http://127.0.0.1:")
        assert json.loads(Path(program.places.facts).read_text()) == service
    with program.serving() as process:
        until(lambda: program("status").code == 0, "it answers")
        process.send_signal(signal.SIGTERM)
        text, _ = process.communicate(timeout=SOON)
    for part in ("http://127.0.0.1:", "/docs", "/mcp", "service.sock", "minutebook connect", "tokens create"):
        assert part in text


def test_everything_of_a_service_is_for_its_user_alone(program: Served) -> None:
    program.ok("inbox", "list")
    modes = {
        path.name: stat.S_IMODE(path.lstat().st_mode)
        for folder in {program.places.run, program.places.sockets}
        for path in [Path(folder), *Path(folder).iterdir()]
    }
    assert {name: mode for name, mode in modes.items() if mode & 0o077} == {}
    assert modes["service.sock"] == 0o600
    assert modes["mcp.sock"] == 0o600
    assert stat.S_IMODE(Path(program.places.run).lstat().st_mode) == 0o700


def test_a_directory_that_others_may_enter_is_not_trusted(program: Served) -> None:
    run = Path(program.places.run)
    run.mkdir(parents=True)
    run.chmod(0o755)
    for words in (("inbox", "list"), ("serve",), ("status",), ("stop",)):
        refused = program(*words, "-o", "json")
        assert (refused.code, refused.error()["code"]) == (8, "cannot_open"), words
        assert refused.error()["details"]["hint"] == f"chmod 700 {run}"
    run.chmod(0o700)
    assert program("inbox", "list").code == 0


def test_two_homes_have_two_services_and_two_ports_and_each_keeps_its_own(
    program: Served, tmp_path: Path
) -> None:
    other = Served(tmp_path / "other", tmp_path)
    usual = socket.socket()
    usual.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # The usual port is left out: the services of other tests come and go on it.
    with contextlib.suppress(OSError):
        usual.bind(("127.0.0.1", USUAL_PORT))
        usual.listen()
    try:
        first, second = (one.ok("serve", "--background")["service"] for one in (program, other))
        assert first["url"] != second["url"]
        assert first["pid"] != second["pid"]
        program.ok("stop")
        other.ok("stop")
        # In the other order: each takes the port that it had.
        again = [one.ok("restart")["service"]["url"] for one in (other, program)]
        assert again == [second["url"], first["url"]]
    finally:
        usual.close()
        other.end()


def test_a_port_that_is_taken_is_refused_when_it_was_asked_for(program: Served) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        refused = program("serve", "--port", port, "-o", "json")
        assert (refused.code, refused.error()["code"]) == (2, "bad_setting")
        assert port in refused.error()["message"]
        # The same through a command that starts the service: its error comes through as it is.
        command = program("inbox", "list", "-o", "json", MINUTEBOOK_PORT=port)
        assert command.error() == refused.error()
    until(lambda: serving_processes(program.home) == [], "nothing was left running")


@pytest.mark.parametrize(
    ("host", "said"),
    [("0.0.0.0", "MINUTEBOOK_ALLOWED_HOSTS"), ("192.0.2.1", "MINUTEBOOK_ALLOWED_HOSTS"), ("example.org", "")],
)
def test_an_address_that_others_reach_must_be_meant(program: Served, host: str, said: str) -> None:
    refused = program("serve", "--host", host, "-o", "json")
    assert (refused.code, refused.error()["code"]) == (2, "bad_setting")
    assert said in refused.error()["details"].get("hint", "")


def test_an_address_that_others_reach_is_served_when_the_names_are_given(program: Served) -> None:
    with program.serving("--host", "0.0.0.0", MINUTEBOOK_ALLOWED_HOSTS="ledger.example") as process:
        assert process.poll() is None
        assert program.status()["service"]["url"].startswith("http://0.0.0.0:")


def test_a_home_whose_path_is_too_long_for_a_socket_is_served_all_the_same(tmp_path: Path) -> None:
    deep = Served(tmp_path / ("d" * 60) / ("e" * 60), tmp_path)
    try:
        deep.ok("memories", "write", "artifact", "A map.", "--slug", "map")
        assert deep.status()["service"]["socket"].startswith("/tmp/minutebook-")
        assert stat.S_IMODE(os.lstat(deep.places.sockets).st_mode) == 0o700
        deep.ok("stop")
        assert not os.path.exists(deep.places.sockets), "nothing is left in a directory of everybody's"
        assert deep("memories", "list", "-q").out == "map\n"
        deep.ok("stop", "--force")
        assert not os.path.exists(deep.places.sockets), "nor by one that was killed"
    finally:
        deep.end()


def test_each_ledger_of_a_home_has_a_service_of_its_own(
    program: Served, tmp_path: Path, ledger_url: str
) -> None:
    """On either database, also beside the home's own ledger."""
    other = Served(program.home, tmp_path, MINUTEBOOK_DATABASE_URL=ledger_url)
    try:
        program.ok("memories", "write", "artifact", "A map.", "--slug", "here")
        other.ok("memories", "write", "artifact", "A map.", "--slug", "there")
        assert [one("memories", "list", "-q").out for one in (program, other)] == ["here\n", "there\n"]
        first, second = program.status()["service"], other.status()["service"]
        assert len({first["pid"], second["pid"]}) == len({first["url"], second["url"]}) == 2
        other.ok("restart")
        assert other("memories", "list", "-q").out == "there\n"
        assert program.status()["service"] == first
        other.ok("stop")
        assert program("status").code == 0
    finally:
        other.end()


# The end


def test_status_stop_and_restart_tell_the_truth(program: Served) -> None:
    absent = program("status", "-o", "json")
    assert absent.code == 3
    assert json.loads(absent.out)["state"] == "absent"
    assert serving_processes(program.home) == [], "looking starts nothing"
    assert program.ok("stop")["pid"] is None
    first = program.ok("serve", "--background")["service"]
    standing = program.status()
    assert (standing["state"], standing["service"]) == ("running", first)
    assert (standing["clients"], standing["waiting"]) == (0, 0)
    second = program.ok("restart")["service"]
    assert second["pid"] != first["pid"]
    assert not alive(first["pid"])
    assert program.ok("stop")["pid"] == second["pid"]
    assert not alive(second["pid"])
    assert program("status").code == 3
    left = {path.name for path in Path(program.places.run).iterdir()}
    assert left == {"service.lock", "start.lock", "service.log", "service.port"}
    assert "No service runs" in program("status").out


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_well(program: Served, number: signal.Signals) -> None:
    with program.serving() as process:
        process.send_signal(number)
        assert process.wait(SOON) == 0
    assert program.ok("memories", "list")["items"] == []


def test_a_request_that_was_taken_is_answered_before_the_end_and_a_second_signal_does_not_wait(
    program: Served,
) -> None:
    with program.serving() as process, socket.socket(socket.AF_UNIX) as half:
        half.connect(program.places.socket)
        half.sendall(b"POST /api/memories HTTP/1.1\r\nHost: localhost\r\nMinutebook-Project: global\r\n")
        body = json.dumps({"type": "artifact", "content": "Half a request.", "slug": "half"}).encode()
        half.sendall(b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body))
        until(lambda: program.status()["requests"] >= 1, "the head was read")
        process.send_signal(signal.SIGTERM)
        until(lambda: not _listens(program), "it accepts no more")
        assert process.poll() is None
        half.sendall(body)
        assert half.recv(65536).startswith(b"HTTP/1.1 201")
        assert process.wait(SOON) == 0
    assert [line["slug"] for line in program.ok("memories", "list")["items"]] == ["half"]
    program.ok("stop")
    with program.serving() as process, socket.socket(socket.AF_UNIX) as half:
        half.connect(program.places.socket)
        half.sendall(b"POST /api/memories HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n")
        until(lambda: program.status()["requests"] >= 1, "the head was read")
        process.send_signal(signal.SIGTERM)
        until(lambda: not _listens(program), "it accepts no more")
        process.send_signal(signal.SIGTERM)
        assert process.wait(5) == 1


def _listens(program: Served) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(program.places.socket)
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        return True


def test_a_service_that_nobody_needs_any_more_ends_by_itself(program: Served) -> None:
    program.ok("inbox", "list", MINUTEBOOK_IDLE_EXIT="1")
    [pid] = serving_processes(program.home)
    until(lambda: not alive(pid), "it has ended")
    assert "nobody asked" in Path(program.places.log).read_text()


def test_a_client_that_is_connected_keeps_it_alive_and_one_run_by_hand_stays(
    program: Served, tmp_path: Path
) -> None:
    by_hand = Served(tmp_path / "hand", tmp_path)
    try:
        environment = program.environ(MINUTEBOOK_IDLE_EXIT="1")
        with (
            daemon.join(program.places, program.places.mcp_socket, environ=environment) as client,
            by_hand.serving(MINUTEBOOK_IDLE_EXIT="1") as process,
        ):
            client.sendall(b'{"minutebook": 1}\n')
            [pid] = serving_processes(program.home)
            # Two that are not needed end meanwhile: as long is long enough.
            third = Served(tmp_path / "third", tmp_path)
            for _ in range(2):
                third.ok("inbox", "list", MINUTEBOOK_IDLE_EXIT="1")
                until(lambda: serving_processes(third.home) == [], "the third has ended")
            assert alive(pid)
            assert process.poll() is None
        until(lambda: not alive(pid), "its client is gone")
    finally:
        by_hand.end()


@pytest.mark.parametrize("by_hand", [False, True])
def test_a_deleted_home_leaves_no_orphan(program: Served, by_hand: bool) -> None:
    if by_hand:
        with program.serving() as process:
            delete(program.home)
            assert process.wait(SOON) == 0
    else:
        program.ok("inbox", "list")
        [pid] = serving_processes(program.home)
        moved = program.home.with_name("moved")
        program.home.rename(moved)
        until(lambda: not alive(pid), "it has ended")
        assert (moved / "ledger.db").exists()
    assert serving_processes(program.home) == []


def test_a_service_started_with_its_parent_ends_with_it(program: Served) -> None:
    script = (
        "import subprocess, sys\n"
        f"service = subprocess.Popen([{COMMAND!r}, 'serve', '--with-parent', '-o', 'json'], stdout=subprocess.PIPE)\n"
        "service.stdout.readline()\n"
        "print(service.pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=program.cwd,
        env=program.environ(),
    )
    try:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert alive(pid)
    finally:
        parent.kill()
        parent.communicate()
    until(lambda: not alive(pid), "it has ended")
    refused = program("serve", "--with-parent", "--background", "-o", "json")
    assert refused.error()["code"] == "invalid_input"


def test_nothing_of_the_command_that_started_it_stays_open_in_the_service(
    program: Served, tmp_path: Path
) -> None:
    """A lock that a script holds while it runs a command must not live on in the service."""
    lock = tmp_path / "script.lock"
    script = f"exec 9>'{lock}'; flock 9; '{COMMAND}' inbox list -o json | cat"
    done = subprocess.run(
        ["bash", "-c", script],
        env=program.environ(),
        cwd=tmp_path,
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert json.loads(done.stdout)["items"] == []
    [pid] = serving_processes(program.home)
    opened = {os.readlink(path) for path in Path(f"/proc/{pid}/fd").iterdir()}
    assert str(lock) not in opened
    assert Path(f"/proc/{pid}/cwd").readlink() == Path("/")
    subprocess.run(["flock", "--nonblock", str(lock), "true"], check=True)


# What was acknowledged


def test_twenty_kills_lose_nothing_that_was_acknowledged(in_process: Served) -> None:
    pids = set()
    with connect() as client:
        for number in range(20):
            assert write(client, number).op == "add"
            [pid] = serving_processes(in_process.home)
            pids.add(pid)
            os.kill(pid, signal.SIGKILL)
            until(lambda pid=pid: not alive(pid), "it is dead")
        assert slugs(client) == sorted(f"map-{number}" for number in range(20))
    assert len(pids) == 20
    assert len(serving_processes(in_process.home)) == 1


def test_a_signal_amid_sixteen_writers_loses_nothing_and_writes_nothing_twice(in_process: Served) -> None:
    acknowledged: list[str] = []
    raised: list[BaseException] = []
    enough = threading.Event()
    with connect() as client:
        project = client(projects.create, name="Nostromo").slug

    def work(worker: int) -> None:
        try:
            with connect(agent=f"agent{worker}", project=project) as client:
                for round in range(12):
                    number = worker * 100 + round
                    acknowledged.append(
                        client(
                            memories.write, type="learning", slug=f"note-{number}",
                            content=f"Deck {number} was inspected by {worker}, and {number * 7919} bolts were counted.",
                        ).verdict
                    )  # fmt: skip
                    if len(acknowledged) >= 40:
                        enough.set()
        except BaseException as error:  # noqa: BLE001 - raised below, in the test's own thread
            raised.append(error)
            enough.set()

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(16)]
    for thread in threads:
        thread.start()
    assert enough.wait(SOON)
    [pid] = serving_processes(in_process.home)
    os.kill(pid, signal.SIGTERM)
    for thread in threads:
        thread.join()
    assert raised == []
    assert len(set(acknowledged)) == 16 * 12
    assert not alive(pid)
    with connect(project=project) as client:
        assert len(set(slugs(client))) == len(slugs(client)) == 16 * 12


# What goes wrong


def test_a_service_that_hangs_is_named_and_not_waited_for(program: Served) -> None:
    program.ok("inbox", "list")
    [pid] = serving_processes(program.home)
    os.kill(pid, signal.SIGSTOP)
    try:
        refused = program("status", "-o", "json")
        assert (refused.code, refused.error()["code"]) == (8, "no_service")
        assert refused.error()["details"]["pid"] == pid
        assert "stop --force" in refused.error()["details"]["hint"]
        command = program("inbox", "list", "-o", "json")
        assert (command.code, command.error()["details"]["pid"]) == (8, pid)
        assert program.ok("stop", "--force")["pid"] == pid
    finally:
        if alive(pid):
            os.kill(pid, signal.SIGKILL)
    assert program("inbox", "list").code == 0


def test_what_keeps_it_from_starting_reaches_the_command_as_it_is(program: Served) -> None:
    program.home.mkdir(mode=0o700)
    (program.home / "ledger.db").write_bytes(b"no database at all" * 1000)
    alone = program("inbox", "list", "-o", "json", MINUTEBOOK_SERVICE="never")
    served = program("inbox", "list", "-o", "json")
    assert served.error() == alone.error()
    assert served.code == alone.code == 8
    assert program("serve", "-o", "json").error() == alone.error()
    absent = program("inbox", "list", "-o", "json", MINUTEBOOK_SERVICE="join")
    assert (absent.code, absent.error()["code"]) == (8, "no_service")
    until(lambda: serving_processes(program.home) == [], "nothing was left running")


def test_a_service_of_an_older_program_makes_room_when_nobody_is_at_it(program: Served) -> None:
    program.ok("inbox", "list")
    [old] = serving_processes(program.home)
    _pretend_version(program, "0.0.9")
    done = program("inbox", "list")
    assert (done.code, done.err) == (0, "")
    [new] = serving_processes(program.home)
    assert new != old
    _pretend_version(program, "99.0")
    done = program("inbox", "list")
    assert done.code == 0
    assert "minutebook 99.0" in done.err
    assert serving_processes(program.home) == [new]


def _pretend_version(program: Served, version: str) -> None:
    facts = Path(program.places.facts)
    facts.write_text(json.dumps({**json.loads(facts.read_text()), "version": version}))


# Commands that need more than a request


def test_restore_has_the_ledger_alone_and_doctor_asks_the_service(program: Served) -> None:
    program.ok("memories", "write", "artifact", "The first map.", "--slug", "first")
    backup = program.ok("backup")["file"]
    program.ok("memories", "write", "artifact", "The second map.", "--slug", "second")
    doctor = program.ok("doctor")
    assert doctor["state"] == "ok", doctor
    assert program("restore", backup + "x", "--confirm", "-o", "json").error()["code"] == "not_found"
    assert len(serving_processes(program.home)) == 1  # a slip in the path ends no service
    restored = program("restore", backup, "--confirm", "-o", "json")
    assert restored.json()["applied"] is True
    assert "stopped" in restored.err
    assert serving_processes(program.home) == []
    assert [line["slug"] for line in program.ok("memories", "list")["items"]] == ["first"]
    program.ok("stop")
    with program.serving() as process:
        refused = program("restore", backup, "--confirm", "-o", "json")
        assert (refused.code, refused.error()["code"]) == (8, "ledger_busy")
        assert refused.error()["details"]["pid"] == process.pid


def test_init_binds_a_directory_through_the_service(program: Served, tmp_path: Path) -> None:
    program.environment["MINUTEBOOK_PROJECT"] = ""
    ship = tmp_path / "ship"
    ship.mkdir()
    bound = program("init", "--name", "Nostromo", "-o", "json", cwd=ship).json()
    assert bound["outcome"] == "created"
    assert program("decisions", "write", "scope", "Range", "Stay in orbit.", cwd=ship).code == 0
    assert program("decisions", "list", "-q", cwd=ship).out == "range\n"
    lost = program("decisions", "list", "-o", "json")
    assert (lost.code, lost.error()["code"]) == (2, "no_project")


def test_a_relative_path_is_meant_from_the_command_and_not_from_the_service(
    program: Served, tmp_path: Path
) -> None:
    program.ok("export", "ledger.zip")
    assert (tmp_path / "ledger.zip").exists()


def test_the_owner_of_the_process_is_asked_for_and_not_the_environment(in_process: Served) -> None:
    in_process.ok("memories", "write", "artifact", "A map.", "--slug", "map", LOGNAME="dallas", USER="dallas")
    [line] = in_process.ok("memories", "list")["items"]
    alone = Served(in_process.home.with_name("alone"), in_process.cwd, MINUTEBOOK_SERVICE="never")
    alone.ok("memories", "write", "artifact", "A map.", "--slug", "map", LOGNAME="dallas", USER="dallas")
    [same] = alone.ok("memories", "list")["items"]
    assert line["author"] == same["author"] != "dallas"
    with pytest.raises(MinutebookError) as refused, connect(agent="ripley", actor="dallas") as client:
        client(memories.list_)
    assert refused.value.code == "not_allowed"
