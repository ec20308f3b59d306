"""The service's log: one line for each thing worth a word, as JSON in a file, in words on a terminal.

Nothing that anybody stored, asked or sent is ever in it. A line of ours has a constant text and values of
ours (ids, codes, numbers, paths of the house). Of a failure it has the type and the places in the code, not
the message, which may quote what was asked; of other libraries' lines only who spoke and where.
"""

from __future__ import annotations

import functools
import json
import logging
import os
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TextIO

from minutebook.model.ids import is_ulid
from minutebook.model.text import visible
from minutebook.surfaces.asking import Asker
from minutebook.surfaces.observing.observer import Observation

#: A file of the log is put aside when it is this long, and so many that were put aside are kept.
LARGEST = 5 * 1024**2
KEPT = 3
#: A request that took longer than this many seconds is worth a line, whatever it was.
SLOW = 1.0
_MOST_CHARS = 500
_MOST_FRAMES = 12

#: Libraries whose lines have constant texts: these are told, without what was filled in.
_PLAIN_SPOKEN = ("uvicorn", "asyncio")
_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}

requests = logging.getLogger("minutebook.requests")


class RequestLog:
    """Writes a line for each failure and each slow request; at level debug for all of them.

    Who wrote what is in the ledger's own log of events; a second line here would cost every write.
    """

    def ended(self, seen: Observation) -> None:
        level = _level(seen)
        if requests.isEnabledFor(level):
            # Made here, because `log` would walk the stack to find out what we know: half of what a line costs.
            record = logging.LogRecord(requests.name, level, __file__, 0, "request", (), None, "ended")
            record.told = _told(seen)
            requests.handle(record)


def _level(seen: Observation) -> int:
    if seen.status_code >= 500:
        return logging.ERROR
    if seen.code or seen.seconds > SLOW:
        return logging.INFO
    return logging.DEBUG


def _told(seen: Observation) -> dict[str, Any]:
    asker = seen.asker
    told = {
        "request": seen.request,
        "surface": seen.surface,
        "operation": seen.operation,
        "status": seen.status_code,
        "code": seen.code,
        "ms": round(seen.seconds * 1000, 2),
        "actor": "" if asker is None else asker.actor.id,
        "role": "" if asker is None else str(asker.actor.role),
        "project": "" if asker is None else _project(asker),
        "token": "" if asker is None else asker.token or "",
        "trace": seen.trace,
    }
    if seen.left_queue:
        told["waited_ms"] = round((seen.left_queue - (seen.asked or seen.began)) * 1000, 2)
    return {name: value for name, value in told.items() if value != ""}


def _project(asker: Asker) -> str:
    """The project's id; a name that somebody sent says too much, or may be anything."""
    named = asker.actor.project or asker.project or ""
    return named if is_ulid(named) else ""


# What a line says


def fields(record: logging.LogRecord) -> dict[str, Any]:
    """A record as the log keeps it."""
    said: dict[str, Any] = {
        "time": f"{_second(int(record.created))}.{int(record.msecs):03d}Z",
        "level": record.levelname.lower(),
        "logger": record.name,
        "event": _event(record),
    }
    said |= getattr(record, "told", {})
    if _ours(record) and (operation := getattr(record, "operation", "")):
        said["operation"] = operation
    if record.exc_info and record.exc_info[1] is not None:
        said["error"] = type(record.exc_info[1]).__qualname__
        said["places"] = list(_places(record.exc_info[1]))
    elif not _ours(record):
        said["places"] = [_place(record.pathname, record.lineno, record.funcName or "")]
    return {name: _short(value) for name, value in said.items()}


@functools.lru_cache(maxsize=4)
def _second(moment: int) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _ours(record: logging.LogRecord) -> bool:
    return record.name == "minutebook" or record.name.startswith("minutebook.")


def _event(record: logging.LogRecord) -> str:
    if _ours(record):
        return record.getMessage()
    if record.name.partition(".")[0] in _PLAIN_SPOKEN and isinstance(record.msg, str):
        return record.msg.partition("\n")[0]
    return f"a line of {record.name}"


def _places(error: BaseException) -> Iterator[str]:
    for frame in traceback.extract_tb(error.__traceback__, limit=-_MOST_FRAMES):
        yield _place(frame.filename, frame.lineno or 0, frame.name)


def _place(path: str, line: int, function: str) -> str:
    """The last two parts of the path are enough to find it; the rest is this machine's own."""
    return f"{'/'.join(path.split('/')[-2:])}:{line} {function}"


def _short(value: Any) -> Any:
    return value[:_MOST_CHARS] if isinstance(value, str) else value


class Lines(logging.Formatter):
    """One line of JSON, of plain ASCII: what steers a terminal or breaks a line is written out."""

    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(fields(record), default=str)


class Words(logging.Formatter):
    """One line for a person at a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        said = fields(record)
        at, level, _, event = (said.pop(name) for name in ("time", "level", "logger", "event"))
        more = " ".join(f"{name}={value}" for name, value in said.items() if name != "places")
        places = "".join(f"\n    {place}" for place in said.get("places", ()))
        return visible(f"{at[11:19]} {level:<7} {event} {more}".rstrip(), lines=False) + visible(places)


# Where it goes


class LogFile(logging.Handler):
    """A file that is put aside when it grows too long. What cannot be written is counted and not waited for."""

    def __init__(self, path: str, *, stdio: bool = False, largest: int = LARGEST, kept: int = KEPT) -> None:
        """With `stdio`, what the process prints goes into the same file, also after it was put aside."""
        super().__init__()
        self._path = path
        self._stdio = stdio
        self._largest = largest
        self._kept = kept
        #: lines that could not be written: a full disk must not cost a request
        self.lost = 0
        #: bytes that may be written before the length is looked at again
        self._room = 0
        self._handle = self._open()

    def emit(self, record: logging.LogRecord) -> None:
        data = self.format(record).encode("utf-8", "backslashreplace") + b"\n"
        try:
            # What the process prints goes there too, so that its length is asked for now and then.
            self._room -= len(data)
            if self._room < 0:
                self._room = self._largest - os.fstat(self._handle).st_size - len(data)
                if self._room < 0:
                    self._put_aside()
                    self._room = self._largest - len(data)
                self._room = min(self._room, self._largest // 16)
            os.write(self._handle, data)
        except OSError:
            self.lost += 1

    def close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
        super().close()

    def _open(self) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        handle = os.open(self._path, flags, 0o600)
        if self._stdio:
            os.dup2(handle, 1)
            os.dup2(handle, 2)
        return handle

    def _put_aside(self) -> None:
        for number in range(self._kept - 1, 0, -1):
            if os.path.exists(f"{self._path}.{number}"):
                os.replace(f"{self._path}.{number}", f"{self._path}.{number + 1}")
        os.replace(self._path, f"{self._path}.1")
        before, self._handle = self._handle, self._open()
        os.close(before)


class Terminal(logging.StreamHandler[TextIO]):
    """The terminal that the service was started on."""


@dataclass(slots=True)
class Log:
    """The log while it is open."""

    handlers: tuple[logging.Handler, ...]
    #: what was there before: the handlers of the root, and the level of each logger that was set
    before: list[logging.Handler]
    levels: dict[str, int]

    @property
    def lost(self) -> int:
        return sum(handler.lost for handler in self.handlers if isinstance(handler, LogFile))

    def close(self) -> None:
        """Leave logging as it was found."""
        root = logging.getLogger()
        for handler in self.handlers:
            root.removeHandler(handler)
            handler.close()
        for handler in self.before:
            root.addHandler(handler)
        for name, level in self.levels.items():
            logging.getLogger(name).setLevel(level)


def open_log(level: str, path: str | None, *, terminal: TextIO | None = None, stdio: bool = False) -> Log:
    """Have every line of this process, ours and the libraries', go to the file and to the terminal.

    Other libraries speak up from a warning on, whatever our level is: what they say below may hold content.
    """
    handlers: list[logging.Handler] = []
    if path is not None:
        handlers.append(LogFile(path, stdio=stdio))
        handlers[-1].setFormatter(Lines())
    if terminal is not None:
        handlers.append(Terminal(terminal))
        handlers[-1].setFormatter(Words())
    root = logging.getLogger()
    others = max(_LEVELS[level], logging.WARNING)
    wanted = {"": others, "minutebook": _LEVELS[level], **dict.fromkeys(_PLAIN_SPOKEN, others)}
    log = Log(tuple(handlers), list(root.handlers), {name: logging.getLogger(name).level for name in wanted})
    for old in log.before:
        root.removeHandler(old)
    for handler in handlers:
        root.addHandler(handler)
    for name, chosen in wanted.items():
        logging.getLogger(name).setLevel(chosen)
    return log


def stderr_if_terminal() -> TextIO | None:
    return sys.stderr if sys.stderr is not None and sys.stderr.isatty() else None
