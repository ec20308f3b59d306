"""Durable writes: how many a second and how long each takes, beside the same statements run bare.

Every contestant writes the same texts. The bare ones replay, statement by statement with its parameters, what
minutebook's own writes did: the same rows, the same full-text row, the same fsync. Rounds are interleaved,
because an fsync here takes from 0.1 to 4 ms from one minute to the next; ratios are taken within a round.
"""

from __future__ import annotations

import gc
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.report import Report, percentile, table
from bench.workload import Texts
from minutebook import settings, wiring
from minutebook.ledger import sqlite_tx
from minutebook.ledger.dialects import statement
from minutebook.model.actors import Actor, Origin, Role
from minutebook.operations import memories, projects
from minutebook.operations.registry import REGISTRY
from minutebook.service import LocalClient

ROUNDS = int(os.environ.get("ROUNDS", "7"))
WRITES = int(os.environ.get("WRITES", "256"))
#: What stands in each store before the first round: nobody writes to an empty ledger for long.
STANDING = int(os.environ.get("STANDING", "10000"))
WRITERS = (1, 8, 32)
PRAGMAS = ("journal_mode=wal", "synchronous=full", "foreign_keys=on", "secure_delete=on", "cache_size=-16384")

Statement = tuple[str, tuple[Any, ...]]
Write = Callable[[str], None]


@dataclass
class Column:
    """What was measured of one contestant with one number of writers: a list entry per round."""

    per_second: list[float] = field(default_factory=list)
    p50: list[float] = field(default_factory=list)
    latencies: list[float] = field(default_factory=list)

    def add(self, count: int, seconds: float, latencies: list[float]) -> None:
        self.per_second.append(count / seconds)
        self.p50.append(percentile(latencies, 0.5))
        self.latencies += latencies

    def cells(self) -> list[str]:
        return [
            f"{statistics.median(self.per_second):,.0f}",
            f"{statistics.median(self.p50) * 1e3:.2f}",
            f"{percentile(self.latencies, 0.99) * 1e3:.2f}",
        ]


def drive(write: Write, texts: list[str], writers: int, column: Column) -> None:
    """Let so many threads write the texts, each waiting for its own write to be durable."""
    latencies: list[float] = []
    shares = [texts[index::writers] for index in range(writers)]

    def work(share: list[str]) -> None:
        mine = []
        for text in share:
            started = time.perf_counter()
            write(text)
            mine.append(time.perf_counter() - started)
        latencies.extend(mine)

    threads = [threading.Thread(target=work, args=(share,)) for share in shares]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    column.add(len(texts), time.perf_counter() - started, latencies)


class Ours:
    """minutebook in this process, as an operator writes with it."""

    def __init__(self, home: Path, url: str | None = None) -> None:
        chosen = settings.load({}, home=home, database_url=url)
        self.service = wiring.open_service(chosen)
        actor = Actor("bench", "bench", Role.OPERATOR)
        self.client = LocalClient(self.service, actor=actor, origin=Origin.PYTHON, project="global")
        self.client.project = self.client(projects.create, name="Bench").id
        self.operation = REGISTRY.of(memories.write)

    def write(self, text: str) -> None:
        self.client.invoke(self.operation, {"type": "project", "content": text})

    def close(self) -> None:
        self.service.close()


def fill(write: Write, texts: Texts, count: int = STANDING) -> None:
    """Write what stands before anything is measured, by many threads because that is faster."""
    drive(write, texts.many(count), 32, Column())


def recorded(home: Path, texts: Texts, count: int) -> tuple[Path, list[list[Statement]]]:
    """A ledger before some writes, and the statements that minutebook ran for each of them."""
    ours = Ours(home)
    fill(ours.write, texts)
    copy = home / "before.db"
    ours.service.database.backup(copy)
    writes: list[list[Statement]] = []
    current: list[Statement] = []
    originals = {name: getattr(sqlite_tx.SqliteTx, name) for name in ("one", "all", "run", "put")}

    def spy(name: str) -> Callable[..., Any]:
        def method(self: Any, sql: str, /, **params: Any) -> Any:
            current.append((sql, statement(sql).values(params)))
            return originals[name](self, sql, **params)

        return method

    for name in originals:
        setattr(sqlite_tx.SqliteTx, name, spy(name))
    try:
        for text in texts.many(count):
            current = []
            ours.write(text)
            writes.append(current)
    finally:
        for name, original in originals.items():
            setattr(sqlite_tx.SqliteTx, name, original)
        ours.close()
    return copy, writes


class Bare:
    """The same statements on a bare connection, so many writes to a transaction."""

    def __init__(self, path: Path, writes: list[list[Statement]]) -> None:
        self.database = apsw.Connection(str(path), statementcachesize=400)
        for pragma in PRAGMAS:
            self.database.execute(f"PRAGMA {pragma}").fetchall()
        self.writes = iter(writes)

    def run(self, count: int, batch: int, column: Column) -> None:
        latencies = []
        execute = self.database.execute
        started = time.perf_counter()
        for _ in range(0, count, batch):
            began = time.perf_counter()
            execute("BEGIN IMMEDIATE")
            for _ in range(batch):
                for sql, params in next(self.writes):
                    execute(sql, params).fetchall()
            execute("COMMIT")
            latencies.append(time.perf_counter() - began)
        column.add(count, time.perf_counter() - started, latencies)


class SqliteStore:
    """LangGraph's SqliteStore, as its documentation opens it."""

    def __init__(self, home: Path, stack: ExitStack) -> None:
        from langgraph.store.sqlite import SqliteStore as Store

        self.store = stack.enter_context(Store.from_conn_string(str(home / "langgraph.db")))
        self.store.setup()
        self.counter = 0
        self.lock = threading.Lock()

    def write(self, text: str) -> None:
        with self.lock:
            self.counter += 1
            key = f"m{self.counter}"
        self.store.put(("bench", "memories"), key, {"title": text[:60], "content": text, "type": "project"})


def main() -> int:
    columns: dict[tuple[str, int], Column] = {}

    def column(name: str, writers: int) -> Column:
        return columns.setdefault((name, writers), Column())

    texts = Texts()
    with tempfile.TemporaryDirectory(prefix="minutebook-bench-") as folder, ExitStack() as stack:
        home = Path(folder)
        bare_writes = ROUNDS * WRITES * 2
        print(
            f"filling each store with {STANDING:,} memories, recording {bare_writes:,} writes …", flush=True
        )
        copy, writes = recorded(home / "recorded", texts, bare_writes)
        bare = Bare(copy, writes)
        ours = Ours(home / "ours")
        stack.callback(ours.close)
        fill(ours.write, texts)
        try:
            store: SqliteStore | None = SqliteStore(home, stack)
        except ImportError:
            store = None
            print("LangGraph's SqliteStore is not installed: pip install langgraph-checkpoint-sqlite")
        if store is not None:
            fill(store.write, texts)
        server = _postgres(home, stack)
        # What was recorded is ours and not the contestants': their collector shall not walk through it.
        gc.collect()
        gc.freeze()
        for number in range(ROUNDS):
            print(f"round {number + 1} of {ROUNDS}", flush=True)
            drive(ours.write, texts.many(WRITES), 1, column("minutebook", 1))
            bare.run(WRITES, 1, column("bare, 1 write a commit", 1))
            drive(ours.write, texts.many(WRITES), 8, column("minutebook", 8))
            drive(ours.write, texts.many(WRITES), 32, column("minutebook", 32))
            bare.run(WRITES, 64, column("bare, 64 writes a commit", 32))
            if store is not None:
                for writers in WRITERS:
                    drive(store.write, texts.many(WRITES), writers, column("LangGraph SqliteStore", writers))
            if server is not None:
                for writers in WRITERS:
                    drive(
                        server.write, texts.many(WRITES), writers, column("minutebook on PostgreSQL", writers)
                    )
    return _report(columns)


def _postgres(home: Path, stack: ExitStack) -> Ours | None:
    """The same on a throw-away PostgreSQL that does sync its log."""
    from tests import postgres

    if postgres.OFF:
        return None
    cluster = postgres.Cluster(fsync=True)
    stack.callback(cluster.stop)
    ours = Ours(home / "postgres", cluster.url(cluster.fresh()))
    stack.callback(ours.close)
    return ours


def _report(columns: dict[tuple[str, int], Column]) -> int:
    rows = [[name, str(writers), *measured.cells()] for (name, writers), measured in columns.items()]
    table(("", "writers", "writes/s", "p50 ms", "p99 ms"), rows)
    ours = {writers: columns["minutebook", writers] for writers in WRITERS}
    single, batched = columns["bare, 1 write a commit", 1], columns["bare, 64 writes a commit", 32]

    def middle(left: list[float], right: list[float], join: Callable[[float, float], float]) -> float:
        return statistics.median(join(a, b) for a, b in zip(left, right, strict=True))

    report = Report("writes")
    report.goal(
        "one writer p50 minus bare p50, ms",
        middle(ours[1].p50, single.p50, lambda a, b: (a - b) * 1e3),
        "<= 1.0",
    )
    report.goal(
        "32 writers / bare in transactions of 64",
        middle(ours[32].per_second, batched.per_second, lambda a, b: a / b),
        ">= 0.6",
    )
    report.goal(
        "32 writers / one commit per write",
        middle(ours[32].per_second, single.per_second, lambda a, b: a / b),
        ">= 2.0",
    )
    for writers in WRITERS:
        report.goal(
            f"p99 with {writers} writers, ms", percentile(ours[writers].latencies, 0.99) * 1e3, "<= 50"
        )
        rival = columns.get(("LangGraph SqliteStore", writers))
        if rival is not None:
            report.goal(
                f"{writers} writers / SqliteStore, writes per second",
                middle(ours[writers].per_second, rival.per_second, lambda a, b: a / b),
                ">= 1.0",
            )
            report.goal(
                f"{writers} writers / SqliteStore, p50",
                middle(ours[writers].p50, rival.p50, lambda a, b: a / b),
                "<= 1.0",
            )
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
