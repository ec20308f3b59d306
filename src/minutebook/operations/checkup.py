"""What health says: the process, the writer, the tables and the disk, looked at and put together."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from minutebook.call import LongCall
from minutebook.ledger import health as inside
from minutebook.ledger import vectors
from minutebook.ledger.database import Facts
from minutebook.ledger.pulse import Pulse
from minutebook.model.actors import may_decide
from minutebook.model.errors import CODES, Kind, MinutebookError
from minutebook.model.meaning import Embedded
from minutebook.model.projects import Project
from minutebook.model.providers import ProviderLine
from minutebook.model.system import Health, Mirror, Owner, Presence, Queue, Uptime
from minutebook.model.times import moment_of
from minutebook.operations.providers import all_enabled
from minutebook.policy import health as judged
from minutebook.policy.health import Sight


@dataclass(frozen=True, slots=True)
class _Extent:
    """How much of the ledger the one who asks is told of."""

    whole: bool
    project: Project | None

    @classmethod
    def of(cls, call: LongCall) -> _Extent:
        return cls(call.actor.project is None and may_decide(call.actor.role), call.caller.project)

    @property
    def only(self) -> str | None:
        """The project to look at: None is all of them, an empty one none."""
        return None if self.whole else "" if self.project is None else self.project.id

    @property
    def about(self) -> str:
        return (
            "the whole ledger" if self.whole else "no project" if self.project is None else self.project.slug
        )

    def shows(self, project: str | None) -> bool:
        """Whether somebody who asked in that project may be named; it is an id or a slug."""
        return self.whole or (self.project is not None and project in (self.project.id, self.project.slug))

    def said(self, error: MinutebookError | None) -> str | None:
        """Why something failed; where the files lie is not for everybody."""
        return None if error is None else error.message if self.whole else CODES[error.code][1]


def examine(call: LongCall) -> Health:
    """Look at everything that the one who asks is told of."""
    extent = _Extent.of(call)
    presence, pulse, facts = call.world.presence(), call.database.pulse(), call.database.facts()
    damage, look = _look(call, extent, pulse.halted is not None)
    now = call.now()
    sight = Sight(
        now=now,
        damage=damage,
        failed=extent.said(pulse.failed) or "",
        queue=_queue(pulse, extent),
        read_only=not all(os.access(place, os.W_OK | os.X_OK) for place in _places(call, facts)),
        free_bytes=min(shutil.disk_usage(place).free for place in _places(call, facts)),
        log_bytes=facts.wal_bytes or 0,
        jobs=look.jobs,
        index=look.coverage,
        mirror=_mirror(call, extent),
        meaning=_meaning(call, extent),
        duties=presence.duties,
        providers=_providers(call, extent),
        safe_since=look.last_backup_at or look.first_event_at,
        newest_at=look.last_event_at,
    )
    return _told(extent, facts, look, sight, presence)


def _look(call: LongCall, extent: _Extent, halted: bool) -> tuple[str, inside.Look]:
    """What the tables say; when they cannot be read, why: that is an answer here, and not an error."""
    damage = ""
    try:
        # Of files that are gone there is nothing to look through; what is open can still be read.
        damage = "" if halted else inside.damage(call.database)
        with call.database.read_last() as tx:
            return damage, inside.look(call.database, tx, project=extent.only, now=call.now())
    except MinutebookError as error:
        if error.kind is not Kind.UNAVAILABLE:
            raise
        return damage or extent.said(error) or error.code, inside.Look()


def _mirror(call: LongCall, extent: _Extent) -> Mirror:
    """How the files stand; of a ledger that cannot be read nobody can say it."""
    if extent.only == "":
        return Mirror()
    try:
        found = call.world.files.mirror(call, extent.only)
    except MinutebookError as error:
        if error.kind is not Kind.UNAVAILABLE:
            raise
        return Mirror()
    return found if extent.whole else replace(found, faults=())


def _meaning(call: LongCall, extent: _Extent) -> Embedded:
    """How much can be found by its meaning. That no model is there is no fault; one that fails is."""
    try:
        space = call.world.meaning.space()
        with call.database.read_last() as tx:
            memories, missing = vectors.count(tx, space.id, extent.only)
        return Embedded(space=space.id, memories=memories, missing=missing)
    except MinutebookError as error:
        if error.kind not in (Kind.UNAVAILABLE, Kind.INVALID):
            raise
        hint = error.details.get("hint")
        said = error.message.rstrip(".") if extent.whole else CODES[error.code][1].rstrip(".")
        return Embedded(absent=f"{said}: {hint}" if hint else said)


def _providers(call: LongCall, extent: _Extent) -> tuple[ProviderLine, ...]:
    """Those that are enabled; of a ledger that cannot be read nobody can say it."""
    if not extent.whole:
        return ()
    try:
        return all_enabled(call)
    except MinutebookError as error:
        if error.kind is not Kind.UNAVAILABLE:
            raise
        return ()


def _told(extent: _Extent, facts: Facts, look: inside.Look, sight: Sight, presence: Presence) -> Health:
    found = judged.findings(sight)
    counts = look.counts if extent.only != "" else {}
    backup = look.last_backup_at
    return Health(
        state=judged.state(found),
        findings=found,
        about=extent.about,
        engine=facts.engine,
        version=facts.version,
        where=facts.where if extent.whole else None,
        schema_version=facts.schema_version,
        size_bytes=facts.size_bytes if extent.whole else None,
        wal_bytes=facts.wal_bytes if extent.whole else None,
        disk_free_bytes=sight.free_bytes,
        projects=counts.get("projects"),
        memories_active=counts.get("memories_active"),
        proposals_pending=counts.get("proposals_pending"),
        tombstones_standing=counts.get("tombstones_standing"),
        last_backup_at=backup,
        last_backup_age=None if backup is None else int(_seconds(backup, sight.now) // 86_400),
        last_backup=look.last_backup if extent.whole else None,
        owner=_owner(presence, facts),
        service=_uptime(presence, sight.now, extent),
        writer=sight.queue,
        jobs=sight.jobs,
        index=sight.index,
        mirror=sight.mirror,
        meaning=sight.meaning,
        visitors=tuple(seen for seen in presence.visitors if extent.shows(seen.project)),
        duties=presence.duties if extent.whole else (),
        providers=sight.providers,
    )


def _queue(pulse: Pulse, extent: _Extent) -> Queue:
    return Queue(
        waiting=pulse.waiting,
        oldest_wait_seconds=round(pulse.oldest_wait, 3),
        longest_wait_seconds=round(pulse.longest_wait, 3),
        commit_seconds=round(pulse.commit_lately, 6),
        halted=extent.said(pulse.halted),
    )


def _owner(presence: Presence, facts: Facts) -> Owner:
    what = "the service" if presence.addresses else "this command, for as long as it runs"
    return Owner(facts.owner_pid or presence.pid, presence.version, presence.since, what)


def _uptime(presence: Presence, now: str, extent: _Extent) -> Uptime | None:
    if not presence.addresses:
        return None
    return Uptime(
        addresses=presence.addresses,
        uptime_seconds=int(_seconds(presence.since, now)),
        connections=presence.connections if extent.whole else None,
        followers=presence.followers if extent.whole else None,
        requests=presence.requests if extent.whole else None,
    )


def _seconds(then: str, now: str) -> float:
    return max(0.0, (moment_of(now) - moment_of(then)).total_seconds())


def _places(call: LongCall, facts: Facts) -> list[Path]:
    """The directories that must have room: the home, and that of a database file; or what is left of them."""
    named = [call.world.home, *([Path(facts.where).parent] if facts.wal_bytes is not None else [])]
    return [next(place for place in (path, *path.parents) if place.exists()) for path in named]
