"""The health of the ledger, at a glance: one line for each thing that a person would ask about."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minutebook.model.counting import counted

_STATES = {
    "ok": "ok: all is well",
    "degraded": "degraded: it works; see to what was found",
    "failing": "failing: something does not work",
}
_SIZES = ((1024**3, "GB"), (1024**2, "MB"), (1024, "KB"))


def health(it: Any) -> str:
    return _STATES[it.state]


def lines(it: Any) -> Iterator[tuple[str, str]]:
    """All of it but the findings and the visitors, which are tables of their own."""
    return ((f"  {label:<8}", said) for label, said in _lines(it) if said)


def _lines(it: Any) -> Iterator[tuple[str, str]]:
    where = f" at {it.where}" if it.where else ""
    size = "" if it.size_bytes is None else f", {_size(it.size_bytes + (it.wal_bytes or 0))}"
    yield "ledger", f"{it.engine} {it.version}, schema {it.schema_version}{size}{where}"
    yield "disk", f"{_size(it.disk_free_bytes)} free"
    yield "holds", _holds(it)
    process = f" (pid {it.owner.pid}, version {it.owner.version})" if it.owner.version else ""
    yield "owner", f"{it.owner.what}{process}"
    if it.service is not None:
        yield "listens", " and ".join(it.service.addresses)
        yield "up", f"{_span(it.service.uptime_seconds)}{_traffic(it.service)}"
    yield "writer", _writer(it.writer)
    if it.jobs is not None:
        yield "jobs", f"{it.jobs.todo} to do, {it.jobs.doing} being done, {it.jobs.dead} gave up"
    if it.index is not None:
        yield "index", f"{_percent(it.index.share)} of {it.index.rows:,} texts can be found"
    yield "meaning", _meaning(it.meaning)
    yield "mirror", _mirror(it.mirror)
    yield "backup", _backup(it)


def _holds(it: Any) -> str:
    if it.memories_active is None:
        return ""
    named = f"the project {it.about}" if it.projects is None else counted(it.projects, "project")
    memories = counted(it.memories_active, "memory", "memories")
    tombstones = counted(it.tombstones_standing, "tombstone")
    return f"{memories}, {it.proposals_pending:,} in the inbox, {tombstones}, in {named}"


def _traffic(service: Any) -> str:
    if service.requests is None:
        return ""
    connections, followers = (
        counted(service.connections, "connection"),
        counted(service.followers, "follower"),
    )
    return f": {counted(service.requests, 'request')}; now {connections}, {followers}"


def _writer(queue: Any) -> str:
    if queue.halted is not None:
        return "takes no more writes"
    waiting = f"{queue.waiting:,} wait" if queue.waiting else "nothing waits"
    commit = f", {queue.commit_seconds * 1000:.1f} ms to commit" if queue.commit_seconds else ""
    return f"{waiting}, {queue.longest_wait_seconds * 1000:.0f} ms the longest wait lately{commit}"


def _meaning(it: Any) -> str:
    if it.space is None:
        return f"none: {it.absent}" if it.absent else "none"
    found = f"{it.memories - it.missing:,} of {counted(it.memories, 'memory', 'memories')}"
    return f"{found} can be found by it, with {it.space.partition('@')[0]}"


def _mirror(it: Any) -> str:
    if it.state == "none":
        return "none: no workspace was seen on this machine"
    behind = f", {counted(it.events_behind, 'event')} behind" if it.events_behind else ""
    faults = f"; {'; '.join(it.faults)}" if it.faults else ""
    return f"{it.state}, {counted(it.workspaces, 'workspace')}{behind}{faults}"


def _backup(it: Any) -> str:
    if it.last_backup_at is None:
        return "none yet: minutebook backup"
    days = it.last_backup_age
    when = "today" if days == 0 else "a day ago" if days == 1 else f"{days} days ago"
    return f"{when}: {it.last_backup}" if it.last_backup else when


def _percent(share: float) -> str:
    """Never 100 when something is missing."""
    return "100%" if share == 1 else f"{min(int(share * 1000) / 10, 99.9):.1f}%"


def _size(number: int) -> str:
    for unit, name in _SIZES:
        if number >= unit:
            return f"{number / unit:.1f} {name}"
    return f"{number} bytes"


def _span(seconds: int) -> str:
    for unit, name in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 2 * unit:
            return f"{seconds // unit} {name}"
    return f"{seconds} seconds"
