"""When is the ledger well? What was seen, judged: each finding says what is wrong and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from minutebook.model.meaning import Embedded
from minutebook.model.providers import ProviderLine, Standing
from minutebook.model.system import Coverage, Duty, Finding, Jobs, Mirror, Queue
from minutebook.model.times import age, moment_of, seconds_before

#: Bytes of room below which the next write may fail, and below which to see to it.
NO_ROOM = 64 * 1024**2
LITTLE_ROOM = 512 * 1024**2
#: A log of this size means that something keeps SQLite from emptying it.
LONG_LOG = 64 * 1024**2
#: Days without a backup after which health says so.
DAYS_WITHOUT_BACKUP = 30
#: Seconds that a write may wait for its turn, or take to become durable, before that is worth a word.
LONG_WAIT = 5.0
STUCK = 60.0
SLOW_COMMIT = 0.5
#: Seconds by which the clock may be behind the newest entry: two machines never agree to the second.
CLOCK_BEHIND = 300
CLOCK_FAR_BEHIND = 86_400
#: Seconds that a job may be late before somebody should look whether anybody works.
LATE_JOB = 900
#: Steps that may fail one after the other before it is said.
FEW_FAILURES = 2
#: Events that the mirror may be behind.
MIRROR_BEHIND = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """All that was seen of the house."""

    now: str
    #: what the database finds wrong with itself, or why it cannot be read
    damage: str = ""
    #: why the last transaction failed, when none succeeded since
    failed: str = ""
    queue: Queue
    #: the directory of the ledger takes no new files
    read_only: bool = False
    free_bytes: int
    log_bytes: int = 0
    jobs: Jobs | None = None
    index: Coverage | None = None
    mirror: Mirror
    meaning: Embedded = Embedded()
    duties: tuple[Duty, ...] = ()
    providers: tuple[ProviderLine, ...] = ()
    #: when the ledger was last backed up, or else began
    safe_since: str | None = None
    newest_at: str | None = None


def findings(seen: Sight) -> tuple[Finding, ...]:
    """Everything worth a word, the worst first."""
    found = [
        *_of_the_house(seen),
        *_of_the_writer(seen.queue),
        *_of_duties(seen),
        *_of_providers(seen),
        *_of_what_is_derived(seen),
    ]
    return tuple(sorted(found, key=lambda finding: finding.state != "error"))


def state(found: Sequence[Finding]) -> Literal["ok", "degraded", "failing"]:
    states = {finding.state for finding in found}
    return "failing" if "error" in states else "degraded" if "warning" in states else "ok"


def _of_the_house(seen: Sight) -> Iterator[Finding]:
    if seen.damage:
        yield Finding("error", f"The database is damaged: {seen.damage}", "minutebook restore BACKUP")
    if seen.failed:
        yield Finding("error", f"The last write failed: {seen.failed}", "see to the cause, then try again")
    if seen.read_only:
        yield Finding("error", "The directory of the ledger cannot be written to.", "look at its permissions")
    if seen.free_bytes < NO_ROOM:
        yield Finding("error", f"Only {seen.free_bytes:,} bytes are free on the disk.", "free some room")
    elif seen.free_bytes < LITTLE_ROOM:
        yield Finding("warning", f"{seen.free_bytes // 1024**2} MB are free on the disk.", "free some room")
    if seen.log_bytes > LONG_LOG:
        yield Finding(
            "warning",
            f"The log beside the database has grown to {seen.log_bytes:,} bytes: a reader keeps it in use.",
            "end what reads for a long time",
        )
    yield from _of_time(seen)


def _of_time(seen: Sight) -> Iterator[Finding]:
    if seen.newest_at is not None:
        behind = (moment_of(seen.newest_at) - moment_of(seen.now)).total_seconds()
        if behind > CLOCK_BEHIND:
            yield Finding(
                "error" if behind > CLOCK_FAR_BEHIND else "warning",
                f"The clock is {age(seen.now, seen.newest_at)} behind the newest entry: it was set back, or was "
                "ahead when that was written.",
                "set the machine's clock",
            )
    if seen.safe_since is not None and seen.safe_since < seconds_before(
        seen.now, DAYS_WITHOUT_BACKUP * 86_400
    ):
        yield Finding("warning", f"There was no backup since {seen.safe_since[:10]}.", "minutebook backup")


def _of_the_writer(queue: Queue) -> Iterator[Finding]:
    if queue.halted is not None:
        yield Finding("error", f"No write is accepted any more: {queue.halted}", "minutebook doctor")
    if queue.oldest_wait_seconds > LONG_WAIT:
        yield Finding(
            "error" if queue.oldest_wait_seconds > STUCK else "warning",
            f"{queue.waiting} writes wait, the first of them for {queue.oldest_wait_seconds:.0f} seconds.",
            "a long import or reindex ends by itself; else minutebook restart",
        )
    if queue.commit_seconds > SLOW_COMMIT:
        yield Finding(
            "warning",
            f"The disk is slow: it takes {queue.commit_seconds:.1f} seconds to make a write durable.",
            "keep the ledger on a local disk that is not overloaded",
        )


def _of_duties(seen: Sight) -> Iterator[Finding]:
    for duty in seen.duties:
        if duty.failures > FEW_FAILURES:
            yield Finding(
                "warning",
                f"What works behind the ledger fails ({duty.name}, {duty.failures} times): {duty.fault}",
                "see to the cause; it is tried again by itself",
            )


_OF_PROVIDERS = {
    Standing.COOLING: "fails and is left alone for a while",
    Standing.MISSING: "is enabled and not installed here any more",
    Standing.CHANGED: "is enabled, and what is installed under its name is something else now",
}


def _of_providers(seen: Sight) -> Iterator[Finding]:
    for each in seen.providers:
        if each.standing in _OF_PROVIDERS:
            fault = f" ({each.fault})" if each.fault else ""
            yield Finding(
                "warning",
                f"The {each.kind} {each.name} of {each.package} {_OF_PROVIDERS[each.standing]}{fault}.",
                f"minutebook providers show {each.name}; minutebook providers disable {each.name}",
            )


def _of_what_is_derived(seen: Sight) -> Iterator[Finding]:
    # Where a service runs it sees to it; where none does, nobody will.
    if seen.meaning.missing and not seen.duties:
        yield Finding(
            "warning",
            f"{seen.meaning.missing:,} memories cannot be found by their meaning yet.",
            "start the service, or run minutebook reindex --vectors",
        )
    if seen.index is not None:
        for number, what in (
            (seen.index.texts_missing, "texts cannot be searched"),
            (seen.index.sketches_missing, "texts are not compared with what comes in"),
            (seen.index.tags_missing, "memories cannot be found by their tags"),
        ):
            if number:
                yield Finding("warning", f"{number:,} {what}.", "minutebook reindex")
    if seen.jobs is not None and seen.jobs.dead:
        yield Finding(
            "warning",
            f"{seen.jobs.dead:,} jobs gave up after their last attempt; what they were about is not lost.",
            "see to the cause, then have them done again",
        )
    if seen.jobs is not None and seen.jobs.late_seconds > LATE_JOB:
        yield Finding(
            "warning", f"The next job is {seen.jobs.late_seconds // 60} minutes late.", "minutebook restart"
        )
    if seen.mirror.events_behind > MIRROR_BEHIND:
        yield Finding(
            "warning", f"The files are {seen.mirror.events_behind:,} events behind.", "minutebook restart"
        )
    if seen.mirror.faults:
        yield Finding(
            "warning",
            f"{len(seen.mirror.faults)} of {seen.mirror.workspaces} workspaces do not get their files: "
            f"{seen.mirror.faults[0]}",
            "minutebook files status; minutebook projects forget for one that is gone",
        )
