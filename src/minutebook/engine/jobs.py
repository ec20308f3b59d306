"""The worker that does what was put off: one job at a time, its effects and its end in one transaction.

A job is leased durably before it is begun, so that one that ends its process is known by that and dies alone.
What a job writes is guarded by its lease: a worker that was given up for dead changes nothing any more.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TypeVar

from minutebook.call import Call, Caller, World
from minutebook.engine import schedule
from minutebook.engine.schedule import Schedule
from minutebook.ledger import jobs, projects
from minutebook.ledger.database import Database, Tx
from minutebook.model.actors import Actor, Origin
from minutebook.model.errors import Kind as ErrorKind
from minutebook.model.errors import MinutebookError
from minutebook.model.jobs import Job
from minutebook.model.scopes import GLOBAL
from minutebook.model.times import moment_of, seconds_before
from minutebook.policy.backoff import GIVING_WAY, pause

T = TypeVar("T")
#: What ends a job: writes what it brought, in the transaction that says it is done, and says it in a sentence.
Ending = Callable[[Tx], str | None]

#: Expired leases that are looked at together.
_AT_ONCE = 100

log = logging.getLogger("minutebook.engine")


@dataclass(frozen=True, slots=True)
class Times:
    """How patient the worker is, in seconds and attempts."""

    lease: float = 60.0
    first_pause: float = 2.0
    last_pause: float = 3600.0
    #: failures after which a job is given up
    attempts: int = 8
    #: ends of its worker in the middle of it after which a job is given up
    interruptions: int = 25


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a job was not ended, and whether it is tried again."""

    error: str
    dead: bool


@dataclass(frozen=True, slots=True)
class Kind:
    """How one kind of job is done.

    `work` runs outside any transaction: it reads and thinks, commits parts with `desk.part`, and returns what is
    to be written at the end. `troubled` is told of a failure, in the transaction that records it.
    """

    name: str
    work: Callable[[Desk], Ending]
    #: after so many seconds its lease is not lengthened any more
    most_seconds: float = 900.0
    troubled: Callable[[Tx, Job, Trouble, str], None] | None = None


class Stopped(Exception):
    """The service ends: what is left of a job waits for the next start."""


class Lost(Exception):
    """Somebody else has the job by now."""


class Desk:
    """What a job has while it is being done."""

    def __init__(
        self, job: Job, database: Database, world: World, times: Times, ending: threading.Event
    ) -> None:
        self.job = job
        self.database = database
        self.world = world
        self._times = times
        self._ending = ending
        self.lost = threading.Event()

    def read(self) -> AbstractContextManager[Tx]:
        """A snapshot of the ledger."""
        return self.database.read()

    def check(self) -> None:
        """Stop here if the service ends, or if the job was taken by another worker. Call it now and then."""
        if self.lost.is_set():
            raise Lost
        if self._ending.is_set():
            raise Stopped

    def pace(self) -> None:
        """Stop here if it must, else give way for a moment: whoever writes meanwhile goes first."""
        self.check()
        self._ending.wait(GIVING_WAY)

    def part(self, work: Callable[[Tx], T]) -> T:
        """Commit a part of the work, if the job is still ours. It must be safe to begin again behind it."""
        self.check()
        return self._write(work)

    def call(self, tx: Tx, actor: Actor, origin: Origin, run: str | None = None) -> Call:
        """The job as the controller sees it: a call in the job's project."""
        project = projects.find(tx, self.job.project)
        caller = Caller(actor=actor, origin=origin, project=project, run=run)
        return Call(tx=tx, caller=caller, world=self.world, now=self.world.clock())

    def beat(self) -> None:
        """Lengthen the lease."""
        until = self._until()
        if not self.database.write(self.job.project, lambda tx: jobs.hold(tx, self.job, until)):
            self.lost.set()

    def _write(self, work: Callable[[Tx], T]) -> T:
        def guarded(tx: Tx) -> T:
            if not jobs.came_along(tx, self.job, self._until()):
                raise Lost
            return work(tx)

        return self.database.write(self.job.project, guarded)

    def _until(self) -> str:
        return seconds_before(self.world.clock(), -self._times.lease)


class JobWorker:
    """Takes jobs that are due, one at a time, until none is left."""

    def __init__(
        self,
        name: str,
        database: Database,
        world: World,
        kinds: Sequence[Kind],
        *,
        schedules: Sequence[Schedule] = (),
        times: Times | None = None,
    ) -> None:
        self._name = name
        self._database = database
        self._world = world
        self._kinds = {kind.name: kind for kind in kinds}
        self._schedules = schedules
        self._times = times or Times()
        # Two processes, or two lives of one, are never taken for each other.
        self._worker = f"{name}-{world.ids.new()}"
        self._served = ""
        self._begun = False
        self._unsettled: Job | None = None

    @property
    def name(self) -> str:
        return self._name

    def close(self) -> None:
        """It holds nothing open."""

    def step(self, ending: threading.Event) -> float | None:
        """Do every job that is due, and say when to look again."""
        if not self._begun:
            self._begin()
        if self._unsettled is not None:
            self._settle(self._unsettled, MinutebookError("internal", "Its failure could not be recorded."))
        job = self._next()
        while job is not None:
            if ending.is_set():
                self._release(job)
                return None
            job = self._do(job, ending)
        return self._pause()

    def _begin(self) -> None:
        with self._database.read() as tx:
            standing = [jobs.pending(tx, one.kind, "recurring") for one in self._schedules]
        wanted = [one.cron for one in self._schedules]
        known = [None if job is None else job.payload.get("cron") for job in standing]
        if [cron or None for cron in wanted] != known:
            self._database.write(
                GLOBAL,
                lambda tx: schedule.keep_up(
                    tx, self._schedules, new_id=self._world.ids.new, now=self._world.clock()
                ),
            )
        self._begun = True

    # --- one job ------------------------------------------------------------------------------------------

    def _next(self) -> Job | None:
        """The next job, leased; nothing is written where nothing is due, for that would wake us again."""
        with self._database.read() as tx:
            due = jobs.next_due(tx, self._kinds)
        if due is None or due > self._world.clock():
            return None
        return self._database.write(f"take {self._worker}", self._take)

    def _take(self, tx: Tx) -> Job | None:
        now = self._world.clock()
        for job in jobs.expired(tx, now, self._kinds, limit=_AT_ONCE):
            self._interrupted(tx, job, now)
        until = seconds_before(now, -self._times.lease)
        return jobs.take(tx, self._worker, now=now, until=until, kinds=self._kinds, after=self._served)

    def _do(self, job: Job, ending: threading.Event) -> Job | None:
        """Do a job, and come back with the next one: taking it costs no commit of its own."""
        self._served = job.project
        desk = Desk(job, self._database, self._world, self._times, ending)
        kind = self._kinds[job.kind]
        try:
            with _Heart(desk, self._times.lease / 3, kind.most_seconds):
                end = kind.work(desk)
                desk.check()
            return self._database.write(job.project, lambda tx: self._end(tx, job, end))
        except Stopped:
            self._release(job)
        except Lost:
            log.warning("%s of kind %s took too long and was taken by another worker", job.id, job.kind)
        except Exception as error:
            if isinstance(error, MinutebookError) and error.code == "ledger_closed":
                raise
            self._settle(job, error)
        return None if ending.is_set() else self._next()

    def _end(self, tx: Tx, job: Job, end: Ending) -> Job | None:
        """Effects, end, and the next one. The end comes first: it is what a lost lease is known by."""
        now = self._world.clock()
        if not jobs.finish(tx, job, None, at=now):
            raise Lost
        outcome = end(tx)
        if outcome is not None:
            jobs.note_outcome(tx, job, outcome)
        schedule.ask_again(tx, job, new_id=self._world.ids.new, now=now)
        return self._take(tx)

    # --- what goes wrong ------------------------------------------------------------------------------------

    def _settle(self, job: Job, error: Exception) -> None:
        """Record a failure. When even that fails it is tried again before anything else is taken."""
        said = _said(error)
        log.warning("%s of kind %s failed, attempt %d: %s", job.id, job.kind, job.attempts, said)
        if not isinstance(error, MinutebookError):
            log.debug("%s", job.id, exc_info=error)
        self._unsettled = job
        self._database.write(job.project, lambda tx: self._failed(tx, job, said))
        self._unsettled = None

    def _failed(self, tx: Tx, job: Job, said: str) -> None:
        now = self._world.clock()
        # Parts that were committed meanwhile set the count back.
        job = replace(jobs.get(tx, job.id) or job, worker=job.worker)
        dead = job.attempts >= self._times.attempts
        if dead:
            changed = jobs.bury(tx, job, said, at=now)
        else:
            changed = jobs.put_back(tx, job, due=self._later(now, job.attempts), error=said)
        if changed:
            self._tell(tx, job, Trouble(said, dead), now)

    def _interrupted(self, tx: Tx, job: Job, now: str) -> None:
        """A worker ended in the middle of a job, or hangs. The second time it waits before it is tried again."""
        if job.interruptions + 1 >= self._times.interruptions:
            said = f"Its worker ended in the middle of it {job.interruptions + 1} times."
            if jobs.bury(tx, job, said, at=now):
                self._tell(tx, job, Trouble(said, True), now)
            return
        due = now if job.interruptions == 0 else self._later(now, job.interruptions)
        jobs.put_back(tx, job, due=due, how="interrupted")

    def _tell(self, tx: Tx, job: Job, trouble: Trouble, now: str) -> None:
        troubled = self._kinds[job.kind].troubled
        if troubled is not None:
            try:
                with tx.savepoint():
                    troubled(tx, job, trouble, now)
            except Exception as error:
                if isinstance(error, MinutebookError) and error.kind in (
                    ErrorKind.UNAVAILABLE,
                    ErrorKind.INTERNAL,
                ):
                    raise
                # Its end is recorded all the same: else this worker would do nothing but try to.
                log.error(
                    "what %s of kind %s is about could not be told of its failure: %s",
                    job.id,
                    job.kind,
                    _said(error),
                )
        if trouble.dead:
            schedule.ask_again(tx, job, new_id=self._world.ids.new, now=now)

    def _release(self, job: Job) -> None:
        """Give a job back untouched: the service ends."""
        self._database.write(job.project, lambda tx: jobs.put_back(tx, job, due=job.due_at, how="released"))

    def _later(self, now: str, failures: int) -> str:
        chance = int(self._world.secret()[:8], 16) / 0xFFFF_FFFF
        wait = pause(failures, first=self._times.first_pause, last=self._times.last_pause, chance=chance)
        return seconds_before(now, -wait)

    def _pause(self) -> float | None:
        with self._database.read() as tx:
            due = jobs.next_due(tx, self._kinds)
        if due is None:
            return None
        if not due:
            return 0.0
        return max(0.05, (moment_of(due) - moment_of(self._world.clock())).total_seconds() + 0.001)


class _Heart:
    """Lengthens the lease of a job that takes long, from a thread of its own, for as long as its kind allows."""

    def __init__(self, desk: Desk, every: float, most: float) -> None:
        self._desk = desk
        self._every = every
        self._beats = int(most / every)
        self._over = threading.Event()
        self._timer: threading.Thread | None = None

    def __enter__(self) -> None:
        self._timer = threading.Thread(target=self._run, name="minutebook-heart", daemon=True)
        self._timer.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._timer is not None:
            self._timer.join()

    def _run(self) -> None:
        for _ in range(self._beats):
            if self._over.wait(self._every):
                return
            try:
                self._desk.beat()
            except MinutebookError as error:
                # The job itself will hear of it; a beat that was missed is no reason to end it.
                log.warning("the lease of %s could not be lengthened: %s", self._desk.job.id, error.message)


def _said(error: Exception) -> str:
    """What may be kept of an error: of one that is none of ours only its kind, for it may quote content."""
    return error.message if isinstance(error, MinutebookError) else type(error).__name__


def end_leases(database: Database) -> None:
    """Where one process owns the ledger, jobs that are said to be in hand when it begins are in nobody's."""
    if database.lanes:
        return
    with database.read() as tx:
        held = jobs.list_(tx, None, state="doing", limit=1)
    if held:
        database.write(GLOBAL, jobs.expire_all)
