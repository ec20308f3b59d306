"""Health as a person reads it: one line for each thing, and nothing that is not known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from minutebook.model.meaning import Embedded
from minutebook.model.system import Coverage, Health, Jobs, Mirror, Owner, Queue, Uptime
from minutebook.surfaces.cli import glance

WELL = Health(
    state="ok", findings=(), about="the whole ledger", engine="sqlite", version="3.54.1", where="/h/ledger.db",
    schema_version=2, size_bytes=3 * 1024**2, wal_bytes=1024**2, disk_free_bytes=5 * 1024**3, projects=1,
    memories_active=1, proposals_pending=1200, tombstones_standing=0, last_backup_at="2026-01-01T00:00:00Z",
    last_backup_age=1, last_backup="/h/b.db", owner=Owner(7, "9.9", "", "the service"),
    service=Uptime(("http://127.0.0.1:1", "unix:/s"), 7_300, 1, 2, 3), writer=Queue(0, 0.0, 0.004, 0.0021, None),
    jobs=Jobs(1, 2, 3, 4, 0), index=Coverage(10, 1.0, 0, 0, 0), meaning=Embedded(), mirror=Mirror(), visitors=(),
)  # fmt: skip


def lines(**otherwise: Any) -> dict[str, str]:
    return {label.strip(): said for label, said in glance.lines(replace(WELL, **otherwise))}


def test_everything_has_its_line() -> None:
    assert glance.health(WELL) == "ok: all is well"
    assert lines() == {
        "ledger": "sqlite 3.54.1, schema 2, 4.0 MB at /h/ledger.db",
        "disk": "5.0 GB free",
        "holds": "1 memory, 1,200 in the inbox, 0 tombstones, in 1 project",
        "owner": "the service (pid 7, version 9.9)",
        "listens": "http://127.0.0.1:1 and unix:/s",
        "up": "2 hours: 3 requests; now 1 connection, 2 followers",
        "writer": "nothing waits, 4 ms the longest wait lately, 2.1 ms to commit",
        "jobs": "1 to do, 2 being done, 4 gave up",
        "index": "100% of 10 texts can be found",
        "meaning": "none",
        "mirror": "none: no workspace was seen on this machine",
        "backup": "a day ago: /h/b.db",
    }


def test_what_somebody_is_not_told_has_no_line_or_part() -> None:
    found = lines(
        about="nostromo", where=None, size_bytes=None, wal_bytes=None, projects=None, last_backup=None,
        service=Uptime(("unix:/s",), 5, None, None, None), jobs=None, index=None,
    )  # fmt: skip
    assert found["ledger"] == "sqlite 3.54.1, schema 2"
    assert found["holds"].endswith("in the project nostromo")
    assert (found["up"], found["backup"]) == ("5 seconds", "a day ago")
    assert not {"jobs", "index"} & found.keys()
    assert "holds" not in lines(memories_active=None)


@pytest.mark.parametrize(
    ("otherwise", "label", "said"),
    [
        ({"writer": Queue(3, 9.0, 9.0, 0.0, None)}, "writer", "3 wait, 9000 ms the longest wait lately"),
        ({"writer": Queue(0, 0.0, 0.0, 0.0, "gone")}, "writer", "takes no more writes"),
        ({"index": Coverage(10_000, 0.9999, 1, 0, 0)}, "index", "99.9% of 10,000 texts can be found"),
        ({"last_backup_at": None, "last_backup_age": None}, "backup", "none yet: minutebook backup"),
        ({"last_backup_age": 0}, "backup", "today: /h/b.db"),
        ({"last_backup_age": 40}, "backup", "40 days ago: /h/b.db"),
        ({"disk_free_bytes": 900}, "disk", "900 bytes free"),
    ],
)
def test_bad_news_is_not_rounded_away(otherwise: dict[str, Any], label: str, said: str) -> None:
    assert lines(**otherwise)[label] == said


@pytest.mark.parametrize("state", ["degraded", "failing"])
def test_the_first_word_is_the_state(state: Any) -> None:
    assert glance.health(replace(WELL, state=state)).startswith(f"{state}: ")
