"""Compiling a context: how long it takes, with little and with very much in the ledger, beside bare SQL.

The ledger is filled by bulk statements, with the rows that writes would have left. Bare SQL is the statements that
the compiler itself ran, replayed with their parameters on a plain connection: the same rows, and nothing made of
them. Warm is a process that has compiled before, each time for another task; cold is the first of a new process;
past is as of the moment when half of it was written.
`python bench/context.py cold HOME` is that new process.
"""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.report import Report, percentile, table
from bench.workload import Texts
from minutebook import settings, wiring
from minutebook.ledger import memories, shelves
from minutebook.ledger.database import Tx
from minutebook.ledger.sqlite_tx import SqliteTx
from minutebook.model.context import ContextRequest
from minutebook.model.memories import Importance, Memory, Status, Type
from minutebook.model.scopes import GLOBAL, Scope
from minutebook.operations.context import compile_bundle
from minutebook.policy.limits import Limits

SIZES = [int(size) for size in os.environ.get("SIZES", "100,10000,1000000").split(",")]
ROUNDS = int(os.environ.get("ROUNDS", "400"))
COLD = int(os.environ.get("COLD", "7"))
AGENTS = 20
BOUNDARIES = 30
CORE = 4  # of each agent
AT = "2026-01-01T00:00:00.000000Z"
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def ulid(number: int) -> str:
    digits = ""
    for _ in range(26):
        number, digit = divmod(number, 32)
        digits = _CROCKFORD[digit] + digits
    return digits


def one(number: int, texts: Texts, chance: random.Random) -> Memory:
    """A memory of the kind that its number has: a few boundaries and core facts, and then what teams write."""
    agent = f"agent-{chance.randrange(AGENTS)}"
    scope, tags, importance = Scope.of_agent(GLOBAL_PROJECT, agent), (), Importance.MEDIUM
    if number < BOUNDARIES:
        type, scope = (Type.SCOPE, Type.ARCHITECTURAL)[number % 2], Scope.of_project(GLOBAL_PROJECT)
    elif number < BOUNDARIES + CORE * AGENTS and number < BOUNDARIES + 60:
        type = Type.CORE_CONTEXT
        scope = Scope.of_agent(GLOBAL_PROJECT, f"agent-{number % AGENTS}")
    else:
        drawn = chance.random()
        type = Type.LEARNING if drawn < 0.4 else Type.PATTERN if drawn < 0.5 else Type.UPDATE
        if drawn > 0.65:
            type = Type.PROJECT if drawn < 0.85 else Type.TECHNICAL if drawn < 0.92 else Type.EPISODE
            scope = Scope.of_project(GLOBAL_PROJECT) if type is not Type.EPISODE else scope
        importance = chance.choice(list(Importance))
        tags = ("cross-team",) if drawn % 0.1 < 0.01 else ()
    text = texts.one(30 if number < BOUNDARIES else 60)
    return Memory(
        id=ulid(10**12 + number), scope=scope, type=type, slug=f"memory-{number}", title=text[:40], content=text,
        status=Status.ACTIVE, author=agent, author_role="agent", origin="cli", decided_by="kim",
        decided_role="operator", created_at=AT, updated_at=AT, importance=importance, tags=tags, seq=number + 1,
    )  # fmt: skip


GLOBAL_PROJECT = "01BENCH0000000000000000000"


def fill(tx: Tx, first: int, last: int, texts: Texts, chance: random.Random) -> None:
    for number in range(first, last):
        memory = one(number, texts, chance)
        tx.run(memories._INSERT, **memories._columns(memory, f"claim-{number}"))
        tx.run(
            """INSERT INTO events (kind, subject, project_id, actor, role, origin, at)
               VALUES ('memory.added', :id, :project, 'kim', 'operator', 'cli', :at)""",
            id=memory.id,
            project=GLOBAL_PROJECT,
            at=AT,
        )
        shelves.put(tx, memory)


@contextmanager
def ledger(home: Path) -> Iterator[Any]:
    service = wiring.open_service(settings.load({}, home=home))
    try:
        yield service.database
    finally:
        service.close()


def build(home: Path, size: int) -> None:
    texts, chance = Texts(), random.Random(size)
    with ledger(home) as database:
        database.write(
            GLOBAL,
            lambda tx: tx.run(
                """INSERT INTO projects (id, slug, name, created_by, created_at)
                   VALUES (:id, 'bench', 'Bench', 'kim', :at)""",
                id=GLOBAL_PROJECT,
                at=AT,
            ),
        )
        for first in range(0, size, 5_000):
            last = min(size, first + 5_000)
            database.write(GLOBAL, lambda tx, a=first, b=last: fill(tx, a, b, texts, chance))
        database.checkpoint()


def asked(size: int) -> list[ContextRequest]:
    """Tasks of a sentence each, of the words that the memories are made of, common and rare."""
    texts = Texts(seed=7)
    return [
        ContextRequest(GLOBAL_PROJECT, f"agent-{number % AGENTS}", size, texts.one(8))
        for number in range(100)
    ]


def compiled(database: Any, request: ContextRequest) -> float:
    started = time.perf_counter()
    with database.read() as tx:
        bundle = compile_bundle(tx, request, Limits())
    taken = time.perf_counter() - started
    assert bundle is not None
    assert not bundle.faults
    assert len(bundle.items) > 10
    return taken


def statements(database: Any, request: ContextRequest) -> list[tuple[str, dict[str, Any]]]:
    """What the compiler asks the database for one request."""
    noted: list[tuple[str, dict[str, Any]]] = []
    plain_all, plain_one = SqliteTx.all, SqliteTx.one

    def all_(tx: SqliteTx, sql: str, /, **params: Any) -> Any:
        noted.append((sql, params))
        return plain_all(tx, sql, **params)

    def one_(tx: SqliteTx, sql: str, /, **params: Any) -> Any:
        noted.append((sql, params))
        return plain_one(tx, sql, **params)

    SqliteTx.all, SqliteTx.one = all_, one_  # type: ignore[method-assign]
    try:
        compiled(database, request)
    finally:
        SqliteTx.all, SqliteTx.one = plain_all, plain_one  # type: ignore[method-assign]
    return noted


def bare(connection: apsw.Connection, asked_for: list[tuple[str, dict[str, Any]]]) -> float:
    started = time.perf_counter()
    connection.execute("BEGIN")
    for sql, params in asked_for:
        connection.execute(sql, params).fetchall()
    connection.execute("COMMIT")
    return time.perf_counter() - started


def measure(home: Path, size: int) -> dict[str, float]:
    requests = asked(size)
    cold = [
        float(
            subprocess.run(
                [sys.executable, __file__, "cold", str(home), str(size), str(number)],
                check=True, capture_output=True, text=True,
            ).stdout
        )
        for number in range(COLD)
    ]  # fmt: skip
    with ledger(home) as database:
        replayed = [statements(database, request) for request in requests]
    # The ledger is nobody's now, so that a connection of our own does no harm.
    ours: list[float] = []
    theirs: list[float] = []
    connection = apsw.Connection(str(home / "ledger.db"), statementcachesize=400)
    connection.pragma("cache_size", -16 * 1024)
    for number in range(ROUNDS // 4):
        bare(connection, replayed[number % 100])
    theirs = [bare(connection, replayed[number % 100]) for number in range(ROUNDS)]
    connection.close()
    with ledger(home) as database:
        for number in range(ROUNDS // 4):
            compiled(database, requests[number % 100])
        ours = [compiled(database, requests[number % 100]) for number in range(ROUNDS)]
        past = [compiled(database, replace(requests[number], seq=size // 2)) for number in range(60)]
    return {
        "p50": statistics.median(ours) * 1e3,
        "p99": percentile(ours, 0.99) * 1e3,
        "cold": statistics.median(cold) * 1e3,
        "past": statistics.median(past[20:]) * 1e3,
        "bare p50": statistics.median(theirs) * 1e3,
        "bare p99": percentile(theirs, 0.99) * 1e3,
    }


def main() -> int:
    if sys.argv[1:2] == ["cold"]:
        home, size, number = Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
        with ledger(home) as database:
            print(compiled(database, asked(size)[number]))
        return 0
    found: dict[int, dict[str, float]] = {}
    for size in SIZES:
        with tempfile.TemporaryDirectory(prefix="minutebook-bench-", dir=os.environ.get("PLACE")) as folder:
            home = Path(folder)
            print(f"writing {size:,} memories …", flush=True)
            build(home, size)
            found[size] = measure(home, size)
    names = list(next(iter(found.values())))
    table(
        ("memories", *(f"{name} ms" for name in names), "over bare"),
        [
            [f"{size:,}", *(f"{row[name]:.2f}" for name in names), f"{row['p50'] / row['bare p50']:.2f}"]
            for size, row in found.items()
        ],
    )
    report = Report("context")
    for size, row in found.items():
        report.goal(f"{size:,} memories, p50 over bare SQL", row["p50"] / row["bare p50"], "<= 3")
    if 10_000 in found:
        report.goal("10,000 memories, p50 in ms", found[10_000]["p50"], "<= 5")
        largest = max(found)
        if largest > 10_000:
            report.goal(
                f"from 10,000 to {largest:,}, times", found[largest]["p50"] / found[10_000]["p50"], "<= 2"
            )
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
