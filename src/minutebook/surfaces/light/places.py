"""Where a running service is found: its sockets, its locks, its log.

Every agent's process comes through here before its first byte, so nothing is imported but what `os` brings.
"""

from __future__ import annotations

import os
import stat

#: A socket's path is cut at 108 bytes on Linux and at 104 on macOS.
_LONGEST_SOCKET = 100
#: The same for every process: an environment may name another temporary directory than the next.
_SHORT_ROOM = "/tmp"


class Places:
    """The files of the service of one ledger. A value; nothing here touches the disk."""

    __slots__ = ("database_url", "home", "run", "sockets")

    def __init__(self, home: str, database_url: str = "") -> None:
        """`home` is absolute; an empty URL is the ledger in it."""
        self.home = home
        self.database_url = "" if _is_of_home(home, database_url) else database_url
        self.run = f"{home}/run"
        if self.database_url:
            self.run += "/" + _digest(_canonical(self.database_url))
        self.sockets = self.run
        if len(os.fsencode(f"{self.run}/service.sock")) > _LONGEST_SOCKET:
            name = _digest(os.path.realpath(home) + "\n" + _canonical(self.database_url))
            self.sockets = f"{_SHORT_ROOM}/minutebook-{os.getuid()}-{name}"

    @property
    def socket(self) -> str:
        """HTTP, the same app as on the port."""
        return self.sockets + "/service.sock"

    @property
    def mcp_socket(self) -> str:
        """Lines of JSON-RPC, for the relay of `minutebook mcp`."""
        return self.sockets + "/mcp.sock"

    @property
    def lock(self) -> str:
        """Locked by the service for its lifetime; its text is the service's process id."""
        return self.run + "/service.lock"

    @property
    def start_lock(self) -> str:
        """Locked by whoever starts the service, until it answers."""
        return self.run + "/start.lock"

    @property
    def facts(self) -> str:
        """What the service says about itself, as JSON."""
        return self.run + "/service.json"

    @property
    def port(self) -> str:
        """The port it had, so that it takes the same one again and addresses stay true."""
        return self.run + "/service.port"

    @property
    def log(self) -> str:
        return self.run + "/service.log"

    def make(self) -> None:
        """Create the directories, for this user alone, and see that they are so."""
        try:
            os.makedirs(self.home, 0o700, exist_ok=True)
        except OSError as error:
            raise _cannot(self.home, error) from error
        folders = [f"{self.home}/run", self.run, self.sockets]
        for folder in dict.fromkeys(folders):
            try:
                os.mkdir(folder, 0o700)
            except FileExistsError:
                pass
            except OSError as error:
                raise _cannot(folder, error) from error
        self.check()

    def clear(self) -> None:
        """Remove the sockets, and what a service said of itself. Only whoever holds its lock does this."""
        from contextlib import suppress

        for path in (self.socket, self.mcp_socket, self.facts):
            with suppress(FileNotFoundError, NotADirectoryError):
                os.unlink(path)
        if self.sockets != self.run:
            with suppress(FileNotFoundError):
                os.rmdir(self.sockets)

    def check(self) -> None:
        """Refuse directories into which somebody else could put a socket of theirs."""
        for folder in dict.fromkeys((self.run, self.sockets)):
            try:
                found = os.lstat(folder)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                raise _cannot(folder, error) from error
            if not stat.S_ISDIR(found.st_mode):
                raise _refused(folder, "is not a directory", f"remove {folder}")
            if found.st_uid != os.getuid():
                raise _refused(folder, f"belongs to user {found.st_uid}", "name another MINUTEBOOK_HOME")
            if found.st_mode & 0o077:
                raise _refused(folder, "is open to others", f"chmod 700 {folder}")


def places_of(environ: os._Environ[str] | dict[str, str]) -> Places:
    """The places that an environment names, read as the settings read it."""
    home = environ.get("MINUTEBOOK_HOME", "").strip() or "~/.minutebook"
    return Places(absolute(home), environ.get("MINUTEBOOK_DATABASE_URL", "").strip())


def absolute(path: str) -> str:
    """The path as it is from any directory. `..` stays: behind a link it leads elsewhere than it looks."""
    path = os.path.expanduser(path)
    if path.startswith("~"):
        from minutebook.model.errors import MinutebookError

        raise MinutebookError(
            "bad_setting", f"There is no home directory for {path[:80]!r}.", hint="set MINUTEBOOK_HOME"
        )
    if not path.startswith("/"):
        path = os.path.join(os.getcwd(), path)
    return path.rstrip("/") or "/"


def _canonical(url: str) -> str:
    """One spelling for one database file."""
    if not url.startswith("sqlite://"):
        return url
    return "sqlite://" + os.path.realpath(url[len("sqlite://") :])


def _is_of_home(home: str, url: str) -> bool:
    return not url or _canonical(url) == _canonical(f"sqlite://{home}/ledger.db")


def _digest(text: str) -> str:
    import hashlib

    return hashlib.sha256(os.fsencode(text)).hexdigest()[:16]


def _cannot(path: str, error: OSError) -> Exception:
    from minutebook.model.errors import MinutebookError

    code = "disk_full" if error.errno == 28 else "cannot_open"
    return MinutebookError(code, f"Cannot use {path} ({error.strerror}).", path=path)


def _refused(path: str, problem: str, advice: str) -> Exception:
    from minutebook.model.errors import MinutebookError

    return MinutebookError(
        "cannot_open", f"{path} {problem}; no service is trusted there.", path=path, hint=advice
    )
