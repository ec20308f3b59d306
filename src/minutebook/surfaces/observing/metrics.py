"""Numbers for Prometheus: what was asked, how it went, how the writer does.

Labels are names of ours alone. A project's or an agent's name would tell whoever may read the numbers of it,
and give every newcomer a time series of its own.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from minutebook.ledger import health
from minutebook.ledger.database import Database
from minutebook.ledger.pulse import SECONDS, Histogram, Spread
from minutebook.model.errors import Kind, MinutebookError
from minutebook.surfaces.observing.observer import Observation

if TYPE_CHECKING:
    from minutebook.surfaces.reach import Reach

#: What `render` gives, for the header of the answer.
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
#: Names that are told apart; a door that let callers name what they like would end here.
_MOST_NAMES = 400
_OTHER = "other"
#: What a name of ours looks like: `inbox.promote`, `tools/list`.
_NAME = re.compile(r"[a-z][a-zA-Z0-9_./-]{0,59}")


class Tally:
    """Counts requests. Plain numbers under a lock: what Prometheus needs is made when it asks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.requests: Counter[tuple[str, str, int]] = Counter()
        self.seconds: dict[tuple[str, str], Histogram] = {}
        self.errors: Counter[str] = Counter()
        self.verdicts: Counter[str] = Counter()
        self._after: int | None = None

    def ended(self, seen: Observation) -> None:
        operation, surface = seen.operation, seen.surface
        with self._lock:
            spread = self.seconds.get((operation, surface))
            if spread is None:
                if len(self.seconds) >= _MOST_NAMES or not _NAME.fullmatch(operation):
                    operation = _OTHER
                spread = self.seconds.setdefault((operation, surface), Histogram(SECONDS))
            spread.add(seen.ended - seen.began)
            self.requests[operation, surface, seen.status_code] += 1
            if seen.code:
                self.errors[seen.code] += 1

    def read(self) -> tuple[dict[tuple[str, str, int], int], dict[tuple[str, str], Spread], dict[str, int]]:
        """All that was counted, at one moment."""
        with self._lock:
            spreads = {key: spread.read() for key, spread in self.seconds.items()}
            return dict(self.requests), spreads, dict(self.errors)

    def judged(self, database: Database) -> dict[str, int]:
        """Verdicts by op since this process began to count: read from the log, so that no write pays for it."""
        with database.read() as tx, self._lock:
            if self._after is not None:
                self.verdicts.update(health.verdicts_by_op(tx, self._after))
            self._after = tx.settled
            return dict(self.verdicts)


def render(reach: Reach) -> bytes:
    """Everything that is counted, as Prometheus reads it. It looks at the ledger: not for the event loop."""
    # Imported when the first one asks: it costs what half a start of the service costs.
    from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest

    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Families(reach))  # type: ignore[arg-type]
    ProcessCollector(registry=registry)
    return generate_latest(registry)


class _Families:
    """One look at everything, in the shape of prometheus_client."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach

    def collect(self) -> Iterator[Any]:
        tally = self._reach.observer.listener(Tally)
        if tally is not None:
            yield from _of_requests(tally)
        yield from _of_the_writer(self._reach.service.database)
        yield from _of_the_doors(self._reach)
        yield from _of_the_ledger(self._reach.service.database, tally)


def _of_requests(tally: Tally) -> Iterator[Any]:
    from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

    requests, spreads, errors = tally.read()
    counted = CounterMetricFamily(
        "minutebook_requests", "Requests answered.", labels=["operation", "surface", "status"]
    )
    for (operation, surface, status), number in sorted(requests.items()):
        counted.add_metric([operation, surface, str(status)], number)
    yield counted
    took = HistogramMetricFamily(
        "minutebook_request_seconds", "How long they took.", labels=["operation", "surface"]
    )
    for names, spread in sorted(spreads.items()):
        took.add_metric(list(names), _buckets(spread), spread.sum)
    yield took
    failed = CounterMetricFamily("minutebook_errors", "Requests that failed, by code.", labels=["code"])
    for code, number in sorted(errors.items()):
        failed.add_metric([code], number)
    yield failed
    refused = sum(errors.get(code, 0) for code in ("no_token", "bad_token"))
    yield CounterMetricFamily("minutebook_tokens_refused", "Requests without a token that holds.", refused)


def _of_the_writer(database: Database) -> Iterator[Any]:
    from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily

    pulse = database.pulse()
    for name, said, spread in (
        ("minutebook_write_wait_seconds", "How long the first write of a batch waited.", pulse.waits),
        ("minutebook_commit_seconds", "How long it took to make a batch durable.", pulse.commits),
        ("minutebook_batch_writes", "Writes that shared a transaction.", pulse.batches),
    ):
        yield HistogramMetricFamily(name, said, _buckets(spread), spread.sum)
    for name, said, value in (
        ("minutebook_writes_waiting", "Writes that wait for the writer.", pulse.waiting),
        ("minutebook_oldest_wait_seconds", "How long the first of them has waited.", pulse.oldest_wait),
        ("minutebook_writer_halted", "1 when no write is accepted any more.", pulse.halted is not None),
        ("minutebook_readers_in_use", "Snapshots that are open.", pulse.readers_out),
        ("minutebook_readers", "Snapshots that can be open at once.", pulse.readers),
    ):
        yield GaugeMetricFamily(name, said, value)


def _of_the_doors(reach: Reach) -> Iterator[Any]:
    from prometheus_client.core import GaugeMetricFamily

    for name, said in (
        ("connections", "Open connections."),
        ("followers", "Followers of the event log."),
        ("log_lines_lost", "Lines of the log that could not be written."),
    ):
        yield GaugeMetricFamily(f"minutebook_{name}", said, reach.observer.gauge(name))


def _of_the_ledger(database: Database, tally: Tally | None) -> Iterator[Any]:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    readable = GaugeMetricFamily("minutebook_ledger_readable", "1 when the ledger can be read.")
    try:
        facts = database.facts()
        judged = {} if tally is None else tally.judged(database)
    except MinutebookError as error:
        if error.kind is not Kind.UNAVAILABLE:
            raise
        readable.add_metric([], 0)  # the numbers of the process are still worth having
        yield readable
        return
    readable.add_metric([], 1)
    yield readable
    size = facts.size_bytes + (facts.wal_bytes or 0)
    yield GaugeMetricFamily("minutebook_ledger_bytes", "Size of the ledger with its log.", size)
    verdicts = CounterMetricFamily("minutebook_verdicts", "The controller's answers, by op.", labels=["op"])
    for op, number in sorted(judged.items()):
        verdicts.add_metric([op], number)
    yield verdicts


def _buckets(spread: Spread) -> list[tuple[str, float]]:
    """As Prometheus wants them: each counts all that is at most its bound."""
    total, found = 0, []
    for bound, number in zip((*map(str, spread.bounds), "+Inf"), spread.counts, strict=True):
        total += number
        found.append((bound, float(total)))
    return found
