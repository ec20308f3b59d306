"""The log: one line each, nothing of anybody's in it, and never longer than it may be."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from minutebook.model.errors import MinutebookError
from minutebook.surfaces.observing import logs
from minutebook.surfaces.observing.logs import Lines, LogFile, RequestLog, open_log
from minutebook.surfaces.observing.observer import Observer
from tests.surfaces.accounting import ask, asker

ULID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
Read = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Callable[..., Read]]:
    """Open the log at a level, and read what is in it."""
    opened: list[logs.Log] = []

    def at(level: str = "info", **more: Any) -> Read:
        path = tmp_path / "service.log"
        opened.append(open_log(level, str(path), **more))
        return lambda: [json.loads(line) for line in path.read_text("ascii").splitlines()]

    yield at
    for found in reversed(opened):
        found.close()


def observer() -> Observer:
    return Observer(RequestLog())


def test_a_write_is_one_line_of_json_with_who_and_how_long(log: Callable[..., Read]) -> None:
    read = log("debug")
    ask(
        observer(), "inbox.submit", by=asker(project=ULID, token="01T"), request="r-1", write=True, status=201
    )
    (line,) = read()
    assert line.pop("time").endswith("Z")
    assert line.pop("ms") >= line.pop("waited_ms") >= 0
    assert line == {
        "level": "debug", "logger": "minutebook.requests", "event": "request", "request": "r-1",
        "surface": "http", "operation": "inbox.submit", "status": 201, "actor": "ripley", "role": "agent",
        "project": ULID, "token": "01T",
    }  # fmt: skip


def test_at_info_what_went_well_is_left_out_and_failures_are_not(log: Callable[..., Read]) -> None:
    read = log()
    ask(observer(), "inbox.list")
    ask(observer(), "inbox.submit", write=True, status=201)
    ask(observer(), "inbox.show", error=MinutebookError("not_found"))
    ask(observer(), "inbox.show", error=MinutebookError("internal"))
    assert [(line["level"], line["status"], line["code"]) for line in read()] == [
        ("info", 404, "not_found"),
        ("error", 500, "internal"),
    ]


def test_at_debug_every_request_has_its_line_and_at_error_only_our_failures(log: Callable[..., Read]) -> None:
    read = log("debug")
    ask(observer(), "inbox.list")
    assert [line["level"] for line in read()] == ["debug"]
    log("error")
    ask(observer(), "inbox.submit", write=True)
    ask(observer(), "inbox.show", error=MinutebookError("internal"))
    assert [line["level"] for line in read()] == ["debug", "error"]


def test_a_slow_read_is_worth_a_line(log: Callable[..., Read], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "SLOW", -1.0)
    read = log()
    ask(observer(), "search")
    assert [line["operation"] for line in read()] == ["search"]


# What must never be in it


def test_nothing_that_was_asked_sent_or_raised_is_in_the_log(log: Callable[..., Read]) -> None:
    read = log("debug")
    error = MinutebookError("not_found", "There is no canary-message.", field="canary-detail")
    carrier = {"authorization": "Bearer mbk_canary-token", "x": "canary-header"}
    who = asker(project="canary-project")
    ask(observer(), "memories.show", by=who, client="canary-client", carrier=carrier, error=error)
    own = logging.getLogger("minutebook.http")
    try:
        raise ValueError("canary-error: the title was canary-title")
    except ValueError as raised:
        own.error("request %s failed", "r-1", exc_info=raised)
    for name in ("mcp.server", "httpx", "pydantic", "root-less.library"):
        logging.getLogger(name).warning(f"Received canary-f-string from {name}")
        logging.getLogger(name).warning("Received %s", "canary-argument")
        logging.getLogger(name).error("broken", exc_info=ValueError("canary-chained"))
    logging.getLogger("uvicorn.error").error("Invalid request: %s", "canary-uvicorn")
    logging.getLogger("asyncio").error(
        "Task exception was never retrieved\nfuture: ValueError('canary-task')"
    )
    text = json.dumps(read())
    assert "canary" not in text
    assert len(read()) == 16
    assert "request r-1 failed" in text
    assert "Invalid request: %s" in text
    assert "Task exception was never retrieved" in text


def test_a_real_task_that_failed_unheard_does_not_bring_its_message_in(log: Callable[..., Read]) -> None:
    read = log()

    async def fail() -> None:
        raise ValueError("canary")

    async def leave_it() -> None:
        task = asyncio.create_task(fail())
        await asyncio.wait([task])

    asyncio.run(leave_it())
    found = read()
    assert [line["event"] for line in found] == ["Task exception was never retrieved"]
    assert found[0]["error"] == "ValueError"
    assert "canary" not in json.dumps(found)


def test_a_failure_is_told_by_its_type_and_where_it_happened(log: Callable[..., Read]) -> None:
    read = log()
    try:
        json.loads("{canary")
    except ValueError as raised:
        logging.getLogger("minutebook.http").error("failed", exc_info=raised)
    (line,) = read()
    assert line["error"] == "JSONDecodeError"
    assert line["places"][0].startswith("surfaces/test_logs.py:")
    assert line["places"][-1].startswith("json/decoder.py:")


def test_other_libraries_are_heard_from_a_warning_on_whatever_our_level_is(log: Callable[..., Read]) -> None:
    read = log("debug")
    for name in ("mcp.server", "uvicorn.error", "asyncio"):
        logging.getLogger(name).info("told at info")
        logging.getLogger(name).debug("told at debug")
    assert read() == []


def test_what_steers_a_terminal_or_breaks_a_line_is_written_out(
    log: Callable[..., Read], tmp_path: Path
) -> None:
    log()
    logging.getLogger("minutebook.serve").info("ending: %s", "a\x1b[2J\nb\u2028\u202ec\x7f")
    raw = (tmp_path / "service.log").read_bytes()
    assert raw.count(b"\n") == 1
    assert b"\x1b" not in raw
    assert max(raw) < 127


def test_a_line_is_never_longer_than_it_may_be(log: Callable[..., Read]) -> None:
    read = log()
    logging.getLogger("minutebook.serve").info("ending: %s", "x" * 100_000)
    assert len(read()[0]["event"]) <= 500


# Where it goes


def test_a_terminal_gets_words(log: Callable[..., Read]) -> None:
    screen = io.StringIO()
    log("debug", terminal=screen)
    ask(observer(), "inbox.submit", by=asker("rip\x1b[2Jley"), write=True, status=201)
    logging.getLogger("minutebook.serve").error("broken", exc_info=ValueError("canary"))
    first, second = screen.getvalue().splitlines()[:2]
    assert "debug   request surface=http operation=inbox.submit status=201" in first
    assert "error   broken error=ValueError" in second
    assert "\x1b" not in screen.getvalue()
    assert "canary" not in screen.getvalue()


def test_the_file_is_for_its_owner_alone_and_put_aside_when_it_is_long(tmp_path: Path) -> None:
    path = tmp_path / "service.log"
    file = LogFile(str(path), largest=2_000, kept=2)
    file.setFormatter(Lines())
    logger = logging.getLogger("minutebook.test")
    logger.propagate = False
    logger.addHandler(file)
    try:
        for number in range(60):
            logger.warning("line %d", number)
    finally:
        logger.removeHandler(file)
        logger.propagate = True
        file.close()
    names = sorted(found.name for found in tmp_path.iterdir())
    assert names == ["service.log", "service.log.1", "service.log.2"]
    assert all(found.stat().st_size <= 2_000 for found in tmp_path.iterdir())
    assert all(stat.S_IMODE(found.stat().st_mode) == 0o600 for found in tmp_path.iterdir())
    order = [
        json.loads(line)["event"]
        for name in reversed(names)
        for line in (tmp_path / name).read_text().splitlines()
    ]
    assert order == [f"line {number}" for number in range(60 - len(order), 60)]


def test_a_log_is_not_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("")
    (tmp_path / "service.log").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic"):
        LogFile(str(tmp_path / "service.log"))


def test_what_cannot_be_written_costs_nobody_their_request_and_is_counted(tmp_path: Path) -> None:
    found = open_log("info", str(tmp_path / "service.log"))
    try:
        handler = found.handlers[0]
        assert isinstance(handler, LogFile)
        full = os.open("/dev/full", os.O_WRONLY)  # a device that has no room, ever
        os.dup2(full, handler._handle)
        os.close(full)
        ask(observer(), "inbox.submit", error=MinutebookError("not_found"))
        assert found.lost == 1
    finally:
        found.close()


def test_what_the_process_prints_follows_the_file_also_after_it_was_put_aside(tmp_path: Path) -> None:
    script = """
import logging, os, sys
from minutebook.surfaces.observing import logs
logs.LARGEST = 300
logger = logging.getLogger("minutebook.test")
file = logs.LogFile(sys.argv[1], stdio=True, largest=300)
file.setFormatter(logs.Lines())
logger.addHandler(file)
for number in range(8):
    logger.warning("line %d", number)
os.write(2, b"a last word\\n")
"""
    path = tmp_path / "service.log"
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("", "")
    assert path.read_text().endswith("a last word\n")
    assert (tmp_path / "service.log.1").exists()


def test_closing_leaves_logging_as_it_was(tmp_path: Path) -> None:
    names = ("", "minutebook", "uvicorn", "asyncio")
    before = [(list(logging.getLogger().handlers), logging.getLogger(name).level) for name in names]
    open_log("debug", str(tmp_path / "service.log")).close()
    assert before == [(list(logging.getLogger().handlers), logging.getLogger(name).level) for name in names]
