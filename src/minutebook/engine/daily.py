"""Daily logs as files, for whoever wants to read them without the ledger: written once a day is over.

They are archived under the home, `archive/YYYY-MM/daily/`, a part a file. What they say is derived from the event
log, which is kept for ever; so a file that is removed, by age or by hand, costs nothing but the file. They tell
things by their ids: a name is made from words, and words may be erased.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

from minutebook.engine.jobs import Desk
from minutebook.ledger import daily, positions, projects
from minutebook.ledger.archive import file_error, sync_directory
from minutebook.model.scopes import GLOBAL
from minutebook.model.text import slug_segment
from minutebook.operations.daily import log_of

_FOLLOWER = "daily"
_PROJECTS = 10_000
#: Days that one sweep writes; after a long time away the next ones write the rest.
_DAYS = 62


def tend(desk: Desk) -> tuple[int, int]:
    """Write the logs of days that are over, and remove those that are too old. How many of each."""
    written = sum(_write_project(desk, project) for project in _projects(desk))
    return written, _remove_old(desk)


def _projects(desk: Desk) -> list[tuple[str, str]]:
    with desk.read() as tx:
        return [
            (one.id, one.slug)
            for one in projects.list_(tx, archived=True, only=None, after=None, limit=_PROJECTS)
            if one.id != GLOBAL
        ]


def _write_project(desk: Desk, project: tuple[str, str]) -> int:
    """A position remembers the last day that was written, as its ordinal number."""
    id, slug = project
    with desk.read() as tx:
        done, first = positions.get(tx, _FOLLOWER, id), daily.first_day(tx, id)
    if first is None:
        return 0
    today = date.fromisoformat(desk.world.clock()[:10])
    begin = max(date.fromordinal(done + 1) if done else date.min, date.fromisoformat(first))
    end = min(today - timedelta(days=1), begin + timedelta(days=_DAYS))
    written = 0
    for number in range(begin.toordinal(), end.toordinal() + 1):
        desk.check()
        written += _write_day(desk, id, slug, date.fromordinal(number).isoformat())
    if end >= begin:
        last = end.toordinal()
        desk.part(lambda tx: positions.put(tx, _FOLLOWER, last, desk.world.clock(), id))
    return written


def _write_day(desk: Desk, project: str, slug: str, day: str) -> int:
    written = 0
    with desk.read() as tx:
        until = (date.fromisoformat(day) + timedelta(days=1)).isoformat()
        places = [row["place"] for row in daily.days(tx, project, since=day, until=until, limit=10_000)]
        for place in places:
            for part, text in enumerate(log_of(tx, project, place, day, names=False), start=1):
                name = f"{day}.{part}.{slug_segment(place.replace(':', '-'))}.md"
                _write(_folder(desk) / day[:7] / "daily" / slug / name, text)
                written += 1
    return written


def _write(path: Path, text: str) -> None:
    """Write a file whole, or not at all; one that says the same already stays as it is."""
    data = text.encode()
    try:
        if path.exists() and path.read_bytes() == data:
            return
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.part")
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        sync_directory(path.parent)
    except OSError as error:
        raise file_error(path, error) from error


def _remove_old(desk: Desk) -> int:
    days = desk.world.limits.keep_daily_days
    if not days:
        return 0
    oldest = (date.fromisoformat(desk.world.clock()[:10]) - timedelta(days=days)).isoformat()
    removed = 0
    for path in _files(_folder(desk)):
        if path.name[:10] < oldest:
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise file_error(path, error) from error
            removed += 1
    return removed


def _files(folder: Path) -> Iterator[Path]:
    return folder.glob("[0-9][0-9][0-9][0-9]-[0-9][0-9]/daily/*/[0-9]*.md")


def _folder(desk: Desk) -> Path:
    return desk.world.home / "archive"
