"""The one door for writes: waiting writes share a transaction, and none is acknowledged before its commit.

The same code serves both databases. SQLite has one thread and one lane for all. PostgreSQL has a few
threads, and each takes a batch of one lane: writes of one lane never run beside each other.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import Any, Protocol, TypeVar, cast

from minutebook.ledger.database import Limits, Tx
from minutebook.ledger.dialects import Fault
from minutebook.ledger.pulse import Gauge, Pulse
from minutebook.model.errors import MinutebookError

T = TypeVar("T")
#: Takes the value of a write, or its error.
Tell = Callable[[Any, BaseException | None], None]


class WriteSession(Protocol):
    """One write connection, used by one thread. Every method raises MinutebookError only."""

    #: Works that the current write wants done after the commit.
    later: list[Callable[[], None]]

    def begin(self, lane: str) -> Tx:
        """Open a transaction, with the lane to itself."""
        ...

    def changes(self) -> int:
        """A number that is the same as before where nothing was changed since, and nothing went wrong."""
        ...

    def finish(self) -> None:
        """See that all went well of which the write did not ask; else the commit does."""
        ...

    def mark(self) -> None:
        """Set the savepoint of one write."""
        ...

    def keep(self) -> None:
        """Release it, keeping what the write did."""
        ...

    def undo(self) -> None:
        """Roll back to it."""
        ...

    def fault(self) -> Fault | None:
        """Why the transaction as a whole is over, or None while it stands."""
        ...

    def commit(self) -> None:
        """Make it durable; raise NotCommitted otherwise."""
        ...

    def abandon(self) -> None:
        """Roll back, if there is anything left to roll back; afterwards `begin` works again."""
        ...

    def close(self) -> None:
        """Let go of the connection."""
        ...


class NotCommitted(Exception):
    """A commit failed. Nothing of the batch is acknowledged."""

    def __init__(self, fault: Fault, *, alone: bool = False, halt: bool = False) -> None:
        super().__init__(fault.error.message)
        self.fault = fault
        #: One write of the batch may be to blame (a deferred constraint): run each on its own.
        self.alone = alone
        #: The ledger is not there any more: no further write is accepted.
        self.halt = halt


class _Write:
    """One waiting write; its caller sleeps on `done`, or is told."""

    __slots__ = ("chore", "done", "error", "later", "queued", "tell", "value", "work")

    def __init__(self, work: Callable[..., Any], *, chore: bool, tell: Tell | None = None) -> None:
        self.work = work
        self.chore = chore
        self.tell = tell
        self.queued = monotonic()
        self.later: list[Callable[[], None]] = []
        self.value: Any = None
        self.error: BaseException | None = None
        self.done = threading.Lock()
        self.done.acquire()

    def wait(self) -> Any:
        # A bare lock: an Event costs three times as much. An interrupt leaves from here; the write goes on.
        self.done.acquire()
        error, self.error = self.error, None
        if error is not None:
            try:
                raise error
            finally:
                del error  # the traceback holds this frame; the frame must not hold it back
        return self.value


class Writer:
    """A queue of writes and the threads that empty it."""

    def __init__(
        self, connect: Callable[[], WriteSession], *, limits: Limits, threads: int = 1, lanes: bool = False
    ) -> None:
        self._connect = connect
        self._limits = limits
        self._most_threads = threads
        self._lanes = lanes
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        # On the same lock: a thread that waits for company is not the one that waits for work.
        self._came = threading.Condition(self._lock)
        # Waiting writes, by lane. A lane is in `_ready` when it has some and no thread is at work in it.
        self._waiting: dict[str, deque[_Write]] = {}
        self._ready: deque[str] = deque()
        # By lane, how many may be waiting in a moment: those that do, and those that were just answered.
        self._hoped: dict[str, int] = {}
        self._closing = False
        self._halted: MinutebookError | None = None
        self._watchers: tuple[Callable[[], None], ...] = ()
        self._gauge = Gauge()
        #: how often something was committed; it grows before any of that is acknowledged
        self.commits = 0

    # ── the callers' side ──────────────────────────────────────────────────────────────────────────

    def write(self, lane: str, work: Callable[[Tx], T]) -> T:
        """Queue a write, sleep until its commit is durable, and return its value or raise its error."""
        return cast(T, self._submit(lane, _Write(work, chore=False)))

    def write_soon(self, lane: str, work: Callable[[Tx], Any], tell: Tell) -> None:
        """Queue a write and return; `tell(value, error)` is called on the writer's thread when it is durable.

        For an event loop, which must not sleep. `tell` must return at once and must not raise.
        """
        self._queue(lane, _Write(work, chore=False, tell=tell))

    def between(self, chore: Callable[[], T]) -> T:
        """Run something on the writer's thread outside any transaction; at once when called from there."""
        if self.here():
            return chore()
        return cast(T, self._submit("", _Write(chore, chore=True)))

    def on_commit(self, tell: Callable[[], None]) -> None:
        """Call `tell` on a writer's thread after every commit; it returns at once and never raises."""
        with self._changed:
            self._watchers = (*self._watchers, tell)

    def here(self) -> bool:
        """Is this one of the writer's own threads?"""
        return threading.current_thread() in self._threads

    def waiting(self) -> int:
        """How many writes wait for a thread."""
        with self._changed:
            return sum(len(lane) for lane in self._waiting.values())

    def pulse(self) -> Pulse:
        """How the writer is doing."""
        with self._changed:
            waiting = sum(len(lane) for lane in self._waiting.values())
            first = min((lane[0].queued for lane in self._waiting.values() if lane), default=None)
            oldest = 0.0 if first is None else monotonic() - first
            return self._gauge.read(waiting=waiting, oldest_wait=oldest, halted=self._halted)

    def close(self) -> None:
        """Finish what waits, then end the threads."""
        if self.here():
            raise MinutebookError("internal", "A write cannot close the ledger that it is writing to.")
        with self._changed:
            self._closing = True
            self._changed.notify_all()
            self._came.notify_all()
        for thread in self._threads:
            thread.join()

    def _submit(self, lane: str, write: _Write) -> Any:
        self._queue(lane, write)
        return write.wait()

    def _queue(self, lane: str, write: _Write) -> None:
        if self.here():
            # It would wait for itself for ever.
            raise MinutebookError(
                "internal", "A write was asked for inside a write; pass the open transaction on."
            )
        lane = lane if self._lanes else ""
        with self._changed:
            if self._closing:
                raise MinutebookError("ledger_closed")
            if self._halted is not None:
                raise _again(self._halted)
            queue = self._waiting.get(lane)
            if queue is None:
                self._waiting[lane] = deque((write,))
                self._make_ready(lane)
            else:
                queue.append(write)
                if len(queue) == self._hoped.get(lane):
                    self._came.notify_all()

    def _make_ready(self, lane: str) -> None:
        """Call for a thread: one that sleeps, else a new one, else the next to be done."""
        self._ready.append(lane)
        if self._idle:
            self._idle -= 1
            self._changed.notify()
        elif len(self._threads) < self._most_threads and not self._closing:
            self._start_thread()

    def _start_thread(self) -> None:
        # A daemon thread: a program that ends without close() is not held up by a writer that waits for work.
        name = f"minutebook-writer-{len(self._threads) + 1}"
        thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    # ── the threads' side ──────────────────────────────────────────────────────────────────────────

    def _serve(self) -> None:
        session: WriteSession | None = None
        while (taken := self._take()) is not None:
            lane, batch = taken
            self._gauge.waited(monotonic() - batch[0].queued)
            try:
                if session is None:
                    session = self._connect()
                self._process(session, lane, batch)
            except BaseException as error:  # noqa: BLE001 - not swallowed: it goes to every caller that waits
                self._fail(batch, error)
                if session is not None:  # who knows in what state: the next batch gets a fresh one
                    session.close()
                    session = None
            self._finished(lane, batch)
        if session is not None:
            session.close()

    def _take(self) -> tuple[str, list[_Write]] | None:
        """The next lane's waiting writes; None when closed and done."""
        with self._changed:
            while not self._ready:
                if self._closing:
                    return None
                self._idle += 1  # and whoever wakes this thread takes it off again
                self._changed.wait()
            lane = self._ready.popleft()
            queue = self._waiting[lane]
            self._wait_for_company(lane, queue)
            if queue[0].chore:
                return lane, [queue.popleft()]
            batch = [queue.popleft()]
            while queue and len(batch) < self._limits.batch and not queue[0].chore:
                batch.append(queue.popleft())
            return lane, batch

    def _wait_for_company(self, lane: str, queue: deque[_Write]) -> None:
        """Give those who were just answered a moment to come again, for as long as they do come.

        Else whoever is back first is written alone, and a crowd falls into two that wait for each other's commits.
        """
        hoped = self._hoped.get(lane, 0)
        while (there := len(queue)) < hoped and not self._closing:
            self._came.wait(self._limits.company)
            if len(queue) == there:
                break
        self._hoped.pop(lane, None)

    def _finished(self, lane: str, batch: list[_Write]) -> None:
        answered = sum(write.tell is None and not write.chore for write in batch)
        with self._changed:
            waiting = len(self._waiting[lane])
            if answered and answered + waiting > 1:
                self._hoped[lane] = min(answered + waiting, self._limits.batch)
            if waiting:
                self._ready.append(lane)  # this thread is about to look
            else:
                del self._waiting[lane]

    def _process(self, session: WriteSession, lane: str, batch: list[_Write]) -> None:
        if batch[0].chore:
            batch[0].value = batch[0].work()
            _wake(batch[0])
        elif self._halted is not None:
            self._fail(batch, self._halted)
        elif not self._together(session, lane, batch):
            # The transaction fell as a whole. Each write gets one of its own, so that each has its own fate.
            for write in batch:
                self._alone(session, lane, write)

    def _together(self, session: WriteSession, lane: str, batch: list[_Write]) -> bool:
        """Run the batch in one transaction. False: nothing was committed, and each may be tried alone."""
        if len(batch) == 1:
            return self._alone(session, lane, batch[0])
        try:
            # A savepoint is dear (SQLite's full text is written out at each), and nearly all writes need none:
            # they succeed, or fail before they change anything. Where one does not, all run once more.
            if not self._run(session, lane, batch, marked=False):
                session.abandon()
                if not self._run(session, lane, batch, marked=True):
                    session.abandon()
                    return False
        except MinutebookError:
            # begin, mark, keep or undo failed: no single write is to blame. Alone, each learns its own error.
            session.abandon()
            return False
        try:
            self._commit(session, len(batch))
        except NotCommitted as failed:
            session.abandon()
            if failed.alone:
                return False
            self._not_committed(batch, failed)
            return True
        self._acknowledge(batch)
        return True

    def _run(self, session: WriteSession, lane: str, batch: list[_Write], *, marked: bool) -> bool:
        """Run the works of a batch, with a savepoint each if `marked`. False: the transaction must be given up."""
        tx = session.begin(lane)
        for write in batch:
            if marked:
                session.mark()
            before = session.changes()
            stands = self._attempt(session, tx, write, finish=marked)
            if session.fault() is not None:
                return False
            if not stands:
                if marked:
                    session.undo()
                elif session.changes() != before:
                    return False
                tx.forget()
            elif marked:
                session.keep()
            if session.fault() is not None:
                return False
        return True

    def _alone(self, session: WriteSession, lane: str, write: _Write) -> bool:
        """Run one write in a transaction of its own, again if it fell victim to another one."""
        reconnected = False
        for attempt in range(1, self._limits.attempts + 1):
            last = attempt == self._limits.attempts
            stands = False
            try:
                tx = session.begin(lane)
                stands = self._attempt(session, tx, write, finish=True)
                fault = session.fault()
                if fault is None and stands:
                    self._commit(session, 1)
                    self._acknowledge([write])
                    return True
            except NotCommitted as failed:
                session.abandon()
                if failed.fault.again and not last:
                    continue
                self._not_committed([write], failed)
                return True
            except MinutebookError as error:
                fault = session.fault() or Fault(error)
                write.error = error
            session.abandon()
            if fault is not None and not last and (fault.again or (fault.lost and not reconnected)):
                reconnected = reconnected or fault.lost
                continue
            if fault is not None and (stands or write.error is None):
                # The work did not notice. A refusal would say that it was recorded, and it was not.
                write.error = fault.error
            self._gauge.failed(write.error)
            _wake(write)
            return True
        raise MinutebookError("internal", "A write was given no attempt.")

    def _commit(self, session: WriteSession, writes: int) -> None:
        began = monotonic()
        session.commit()
        self._gauge.committed(writes, monotonic() - began)

    def _attempt(self, session: WriteSession, tx: Tx, write: _Write, *, finish: bool) -> bool:
        """Run the work. True: what it did is to be kept."""
        session.later = write.later = []
        write.value, write.error = None, None
        try:
            write.value = write.work(tx)
        except BaseException as error:  # noqa: BLE001 - delivered to the caller, whatever it is
            write.error = error
            if not _recorded(error):
                return False
        if finish:
            try:
                session.finish()
            except MinutebookError as error:
                write.error = error
                return False
        return True

    def _acknowledge(self, batch: list[_Write]) -> None:
        self.commits += 1
        late: list[_Write] = []
        for write in batch:
            if write.later and (write.error is None or _recorded(write.error)):
                late.append(write)
            else:
                _wake(write)
        for write in late:
            try:
                for work in write.later:
                    work()
            except BaseException as error:  # noqa: BLE001 - delivered to the caller
                error.add_note("The write itself is durable; what was to follow the commit failed.")
                write.error = error
            _wake(write)
        for tell in self._watchers:
            tell()

    def _not_committed(self, batch: list[_Write], failed: NotCommitted) -> None:
        self._gauge.failed(failed.fault.error)
        if failed.halt:
            with self._changed:
                self._halted = failed.fault.error
        # A write that had failed by itself keeps its own error.
        own = [write for write in batch if write.error is not None and not _recorded(write.error)]
        for write in own:
            _wake(write)
        self._fail([write for write in batch if write not in own], failed.fault.error)

    def _fail(self, batch: list[_Write], error: BaseException) -> None:
        for write in batch:
            if write.done.locked():
                write.value = None
                write.error = _again(error) if isinstance(error, MinutebookError) else error
                _wake(write)


def _recorded(error: BaseException) -> bool:
    """Must what was written before this error stay?"""
    return bool(getattr(error, "recorded", False))


def _wake(write: _Write) -> None:
    write.done.release()
    if write.tell is not None:
        write.tell(write.value, write.error)


def _again(error: MinutebookError) -> MinutebookError:
    """The same error for one more caller: two threads must not raise one object."""
    return MinutebookError(error.code, error.message, **error.details)
