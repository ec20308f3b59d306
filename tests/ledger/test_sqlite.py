"""The SQLite engine room: private files, foreign files, full disks, vanished ledgers, kills."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from minutebook.ledger.database import Database, Limits, Tx, open_database
from minutebook.ledger.sqlite_files import APPLICATION_ID, check_library
from minutebook.model.errors import MinutebookError

SCHEMA = """
CREATE TABLE events (seq ${sequence}, body ${text} NOT NULL);
CREATE TABLE things (
    id    ${text} PRIMARY KEY,
    n     ${int},
    x     ${real},
    bytes ${blob},
    CHECK (n IS NULL OR n >= 0)
);
CREATE TABLE parts (thing ${text} NOT NULL REFERENCES things (id) DEFERRABLE INITIALLY DEFERRED);
"""


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    directory = tmp_path / "schema"
    directory.mkdir()
    (directory / "0001_things.sql").write_text(SCHEMA)
    return directory


@pytest.fixture
def open_sqlite(tmp_path: Path, schema: Path, clock: Callable[[], str]) -> Callable[[], Database]:
    def opened(**limits: float) -> Database:
        url = f"sqlite://{tmp_path}/ledger.db"
        return open_database(url, schema=schema, wait=0, clock=clock, limits=Limits(**limits))  # type: ignore[arg-type]

    return opened


def add(id: str, n: int | None = None) -> Callable[[Tx], int]:
    return lambda tx: tx.run("INSERT INTO things (id, n) VALUES (:id, :n)", id=id, n=n)


def ids(database: Database) -> list[str]:
    with database.read() as tx:
        return [row["id"] for row in tx.all("SELECT id FROM things ORDER BY id")]


def test_the_sqlite_ledger_is_private_and_durable(
    open_sqlite: Callable[[], Database], tmp_path: Path
) -> None:
    with open_sqlite() as opened:
        opened.write("p", add("a"))
        for name in ("ledger.db", "ledger.db-wal", "ledger.db.lock"):
            assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
        wanted = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "secure_delete": 1}
        wanted |= {"trusted_schema": 0, "application_id": APPLICATION_ID, "mmap_size": 0}

        def pragmas(tx: Tx) -> dict[str, object]:
            return {name: next(iter((tx.one(f"PRAGMA {name}") or {}).values())) for name in wanted}

        assert opened.write("p", pragmas) == wanted
        with opened.read() as tx:
            assert pragmas(tx) == wanted


def test_a_directory_that_we_create_is_private(
    tmp_path: Path, schema: Path, clock: Callable[[], str]
) -> None:
    open_database(f"sqlite://{tmp_path}/new/ledger.db", schema=schema, wait=0, clock=clock).close()
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    "content", [b"not a database, " * 400, b"short", b"SQLite format 3\0" + b"\xff" * 4080]
)
def test_a_file_that_is_not_a_database_is_refused_and_left_alone(
    open_sqlite: Callable[[], Database], tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "ledger.db").write_bytes(content)
    with pytest.raises(MinutebookError) as refused:
        open_sqlite()
    assert refused.value.code == "ledger_damaged"
    assert (tmp_path / "ledger.db").read_bytes() == content


def test_another_programs_database_is_refused_and_left_alone(
    open_sqlite: Callable[[], Database], tmp_path: Path
) -> None:
    foreign = apsw.Connection(str(tmp_path / "ledger.db"))
    foreign.execute("CREATE TABLE theirs (id)").fetchall()
    foreign.close()
    before = (tmp_path / "ledger.db").read_bytes()
    with pytest.raises(MinutebookError, match="another program") as refused:
        open_sqlite()
    assert refused.value.code == "ledger_damaged"
    assert (tmp_path / "ledger.db").read_bytes() == before
    assert not (tmp_path / "ledger.db-wal").exists()


def test_a_checkpoint_that_was_cut_in_the_middle_of_a_page_is_repaired_from_the_log(
    open_sqlite: Callable[..., Database], tmp_path: Path
) -> None:
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    with open_sqlite() as opened:
        opened.write("p", add("a"))
        # As after kill -9: by another process, because ours may not open the files.
        for name in ("ledger.db", "ledger.db-wal"):
            subprocess.run(["cp", tmp_path / name, crashed / name], check=True)
    page = bytearray((crashed / "ledger.db").read_bytes())
    page[100:4096] = b"\xff" * 3996
    (crashed / "ledger.db").write_bytes(page)
    for name in ("ledger.db", "ledger.db-wal"):
        (crashed / name).replace(tmp_path / name)
    with open_sqlite() as opened:
        assert ids(opened) == ["a"]


def test_an_empty_file_becomes_a_ledger(open_sqlite: Callable[[], Database], tmp_path: Path) -> None:
    (tmp_path / "ledger.db").touch(mode=0o644)
    with open_sqlite() as opened:
        opened.write("p", add("a"))
    assert (tmp_path / "ledger.db").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("version", ["3.40.1", "3.51.2", "3.7.0"])
def test_a_sqlite_library_with_the_log_reset_defect_is_refused(version: str) -> None:
    with pytest.raises(MinutebookError, match="apsw"):
        check_library(version)


def test_a_sound_sqlite_library_is_accepted() -> None:
    check_library("3.51.3")
    check_library("3.60.0")


def test_a_path_that_is_a_directory_cannot_be_opened(
    open_sqlite: Callable[[], Database], tmp_path: Path
) -> None:
    (tmp_path / "ledger.db").mkdir()
    with pytest.raises(MinutebookError, match="directory") as refused:
        open_sqlite()
    assert refused.value.code == "cannot_open"


def test_a_path_through_a_file_cannot_be_opened(
    tmp_path: Path, schema: Path, clock: Callable[[], str]
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(MinutebookError, match="not a directory") as refused:
        open_database(f"sqlite://{tmp_path}/file/ledger.db", schema=schema, wait=0, clock=clock)
    assert refused.value.code == "cannot_open"


@contextmanager
def ordinary_user() -> Iterator[None]:
    """Root may write everywhere; be somebody else for a moment."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_directory_that_cannot_be_written_says_what_to_do(schema: Path, clock: Callable[[], str]) -> None:
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o555)
        with ordinary_user(), pytest.raises(MinutebookError, match="permission") as refused:
            open_database(f"sqlite://{place}/ledger.db", schema=schema, wait=0, clock=clock)
        os.chmod(place, 0o755)
    assert refused.value.code == "cannot_open"


@pytest.mark.parametrize("deed", ["delete", "replace", "delete the log"])
def test_a_ledger_that_vanished_acknowledges_nothing_more(
    open_sqlite: Callable[[], Database], tmp_path: Path, deed: str
) -> None:
    opened = open_sqlite()
    opened.write("p", add("a"))
    path = tmp_path / "ledger.db"
    if deed == "delete":
        subprocess.run(["rm", path], check=True)
    elif deed == "replace":
        (tmp_path / "other").write_bytes(b"another")
        subprocess.run(["mv", tmp_path / "other", path], check=True)
    else:
        subprocess.run(["rm", f"{path}-wal"], check=True)
    for _ in range(2):
        with pytest.raises(MinutebookError) as gone:
            opened.write("p", add("b"))
        assert gone.value.code == "ledger_gone"
    with pytest.raises(MinutebookError) as gone, opened.read():
        pass
    assert gone.value.code == "ledger_gone"
    opened.close()
    if deed == "replace":
        assert path.read_bytes() == b"another"
    if deed == "delete the log":
        with open_sqlite() as reopened:
            assert ids(reopened) == ["a"]  # acknowledged before, and in that log alone


def test_closing_a_vanished_ledger_does_not_touch_what_took_its_place(
    open_sqlite: Callable[[], Database], tmp_path: Path
) -> None:
    opened = open_sqlite()
    opened.write("p", add("a"))
    subprocess.run(["mv", tmp_path / "ledger.db", tmp_path / "moved.db"], check=True)
    subprocess.run(["mv", tmp_path / "ledger.db-wal", tmp_path / "moved.db-wal"], check=True)
    for name in ("ledger.db", "ledger.db-wal"):
        subprocess.run(["sh", "-c", f"printf theirs > {tmp_path}/{name}"], check=True)
    opened.close()
    assert (tmp_path / "ledger.db").read_bytes() == b"theirs"
    assert (tmp_path / "ledger.db-wal").read_bytes() == b"theirs"


def test_a_full_disk_in_the_middle_of_a_write_is_told_and_survived(
    open_sqlite: Callable[[], Database],
) -> None:
    with open_sqlite() as opened:
        opened.write("p", add("a"))

        def too_much(tx: Tx) -> None:
            pages = (tx.one("PRAGMA page_count") or {})["page_count"]
            tx.one(f"PRAGMA max_page_count = {pages}")
            tx.run("INSERT INTO things (id, bytes) VALUES ('b', :bytes)", bytes=b"x" * 100_000)

        with pytest.raises(MinutebookError) as full:
            opened.write("p", too_much)
        assert full.value.code == "disk_full"
        opened.write("p", lambda tx: tx.one("PRAGMA max_page_count = 1000000"))
        opened.write("p", add("c"))
        assert ids(opened) == ["a", "c"]


def test_a_commit_that_the_disk_refuses_is_not_acknowledged_and_the_writer_lives(
    open_sqlite: Callable[[], Database], tmp_path: Path
) -> None:
    with open_sqlite() as opened:
        opened.write("p", add("a"))
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        room = (tmp_path / "ledger.db-wal").stat().st_size + 1000
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
        try:
            with pytest.raises(MinutebookError) as failed:
                opened.write("p", lambda tx: tx.run("INSERT INTO events (body) VALUES (:b)", b="x" * 50_000))
            assert ids(opened) == ["a"]  # reading goes on
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert failed.value.code in ("io_error", "disk_full")
        opened.write("p", add("b"))
        assert ids(opened) == ["a", "b"]
        with opened.read() as tx:
            assert tx.settled == 0


def test_a_damaged_page_is_called_damage(open_sqlite: Callable[[], Database], tmp_path: Path) -> None:
    with open_sqlite() as opened:
        for n in range(200):
            opened.write("p", lambda tx, n=n: tx.run("INSERT INTO events (body) VALUES (:b)", b=f"{n}" * 500))
    path = tmp_path / "ledger.db"
    raw = bytearray(path.read_bytes())
    raw[4096 * 3 :] = b"\xa5" * (len(raw) - 4096 * 3)
    path.write_bytes(raw)
    with pytest.raises(MinutebookError) as damaged, open_sqlite() as opened, opened.read() as tx:
        tx.all("SELECT * FROM events ORDER BY body")
    assert damaged.value.code == "ledger_damaged"


def test_erased_bytes_leave_the_disk_with_the_checkpoint(
    open_sqlite: Callable[[], Database], tmp_path: Path
) -> None:
    canary = "canary-5f1d"
    with open_sqlite() as opened:
        opened.write("p", add(canary))

        def erase(tx: Tx) -> None:
            tx.run("DELETE FROM things")
            tx.after_commit(opened.checkpoint)

        opened.write("p", erase)
        found = subprocess.run(
            ["grep", "-c", canary, "-r", tmp_path, "--include=ledger.db*"], capture_output=True
        )
        assert found.returncode == 1, found.stdout


def test_a_checkpoint_that_a_reader_holds_up_says_so(open_sqlite: Callable[..., Database]) -> None:
    with open_sqlite(busy=0.05) as opened:
        opened.write("p", add("a"))
        with opened.read():
            opened.write("p", add("b"))
            with pytest.raises(MinutebookError) as busy:
                opened.checkpoint()
        assert busy.value.code == "ledger_busy"
        opened.checkpoint()
        assert opened.facts().wal_bytes == 0


def test_a_backup_is_a_whole_ledger_of_its_own(
    open_sqlite: Callable[[], Database], tmp_path: Path, schema: Path, clock: Callable[[], str]
) -> None:
    with open_sqlite() as opened:
        opened.write("p", add("a"))
        opened.backup(tmp_path / "copy.db")
        opened.write("p", add("b"))
        with pytest.raises(MinutebookError) as exists:
            opened.backup(tmp_path / "copy.db")
        assert exists.value.code == "exists"
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.glob("copy*")) == ["copy.db"]
    with open_database(f"sqlite://{tmp_path}/copy.db", schema=schema, wait=0, clock=clock) as copy:
        assert ids(copy) == ["a"]


def test_a_backup_to_nowhere_fails_with_its_own_code(
    open_sqlite: Callable[[], Database], tmp_path: Path
) -> None:
    with open_sqlite() as opened, pytest.raises(MinutebookError) as failed:
        opened.backup(tmp_path / "absent" / "copy.db")
    assert failed.value.code == "backup_failed"


def test_a_backup_taken_under_load_holds_every_write_acknowledged_before_it(
    open_sqlite: Callable[[], Database], tmp_path: Path, schema: Path, clock: Callable[[], str]
) -> None:
    with open_sqlite() as opened:
        stop = threading.Event()

        def writing() -> None:
            n = 0
            while not stop.is_set():
                opened.write("p", add(f"load-{n}"))
                n += 1

        thread = threading.Thread(target=writing)
        thread.start()
        acknowledged = []
        for n in range(5):
            opened.write("p", add(f"mine-{n}"))
            acknowledged.append(f"mine-{n}")
            opened.backup(tmp_path / f"copy-{n}.db")
        stop.set()
        thread.join()
    for n in range(5):
        with open_database(f"sqlite://{tmp_path}/copy-{n}.db", schema=schema, wait=0, clock=clock) as copy:
            assert [id for id in ids(copy) if id.startswith("mine")] == acknowledged[: n + 1]


def test_a_killed_owner_leaves_every_acknowledged_write(
    tmp_path: Path, schema: Path, open_sqlite: Callable[[], Database]
) -> None:
    program = f"""
import sys
from pathlib import Path
from minutebook.ledger.database import open_database
url = "sqlite://{tmp_path}/ledger.db"
database = open_database(url, schema=Path({str(schema)!r}), wait=0, clock=lambda: "now")
n = 0
while True:
    database.write("p", lambda tx: tx.run("INSERT INTO events (body) VALUES (:b)", b=str(n)))
    print(n, flush=True)
    n += 1
"""
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    last = -1
    for _ in range(30):
        last = int(child.stdout.readline())
    child.kill()
    rest = child.stdout.read().split()
    child.stdout.close()
    child.wait()
    last = int(rest[-1]) if rest else last
    with open_sqlite() as opened, opened.read() as tx:
        kept = [int(row["body"]) for row in tx.all("SELECT body FROM events ORDER BY seq")]
    assert kept[: last + 1] == list(range(last + 1))
    assert len(kept) <= last + 2


def test_a_forked_child_cannot_use_the_parents_ledger_nor_keep_it_owned(
    open_sqlite: Callable[[], Database],
) -> None:
    opened = open_sqlite()
    opened.write("p", add("a"))
    told, tell = os.pipe()
    wait, go = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            opened.write("p", add("b"))
        except MinutebookError as error:
            os.write(tell, error.code.encode())
        opened.close()
        os.close(go)
        os.read(wait, 1)  # stay alive, holding whatever was inherited, until the parent is done
        os._exit(0)
    assert os.read(told, 100) == b"internal"
    opened.close()
    open_sqlite().close()
    for handle in (go, wait, told, tell):
        os.close(handle)
    os.waitpid(child, 0)
