"""Consolidating a project: how long it takes and how much memory, with ten times as much in it; and who waits.

The ledger is filled by bulk statements. One memory in twenty is a near duplicate of an earlier one, and one in fifty
says another value. `python bench/consolidation.py` prints the figures; SIZES says how many memories.
"""

from __future__ import annotations

import os
import random
import re
import statistics
import sys
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.context import AT, GLOBAL_PROJECT, ledger, ulid
from bench.report import Report, percentile, table
from bench.workload import Texts
from minutebook import settings, wiring
from minutebook.controller.consolidate import Task, consolidate
from minutebook.ledger import bands, memories
from minutebook.ledger.database import Tx
from minutebook.model.actors import Actor, Origin, Role
from minutebook.model.consolidation import Consolidation
from minutebook.model.memories import Importance, Memory, Status, Type
from minutebook.model.scopes import GLOBAL, Scope
from minutebook.operations import memories as asked
from minutebook.policy.similarity import sketch
from minutebook.service import LocalClient, Service

SIZES = [int(size) for size in os.environ.get("SIZES", "10000,100000").split(",")]
#: Writes that are timed meanwhile, at least.
WRITES = int(os.environ.get("WRITES", "300"))
KIM = Actor("kim", "Kim", Role.OPERATOR)


def one(number: int, texts: Texts, chance: random.Random, said: list[str]) -> Memory:
    text = texts.one(30)
    drawn = chance.random()
    if said and drawn < 0.05:
        text = chance.choice(said) + " indeed"
    elif said and drawn < 0.07:
        text = chance.choice(said) + f" {number}"
    if len(said) < 5_000:
        said.append(text)
    return Memory(
        id=ulid(10**12 + number), scope=Scope.of_project(GLOBAL_PROJECT), type=Type.PROJECT,
        slug=f"memory-{number}", title=text[:40], content=text, status=Status.ACTIVE, author="kim",
        author_role="operator", origin="cli", decided_by="kim", decided_role="operator", created_at=AT,
        updated_at=AT, importance=Importance.HIGH, seq=number + 1,
    )  # fmt: skip


def fill(tx: Tx, first: int, last: int, texts: Texts, chance: random.Random, said: list[str]) -> None:
    for number in range(first, last):
        memory = one(number, texts, chance, said)
        tx.run(memories._INSERT, **memories._columns(memory, f"claim-{number}"))
        bands.add(tx, GLOBAL_PROJECT, memory.id, sketch(memory.content))


def build(home: Path, size: int) -> None:
    texts, chance, said = Texts(), random.Random(size), []
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
            database.write(GLOBAL, lambda tx, a=first, b=last: fill(tx, a, b, texts, chance, said))
        database.checkpoint()


def writing(service: Service, over: threading.Event, most: int | None = None) -> list[float]:
    """How long writes take, one after the other, until it is over or there were enough."""
    client = LocalClient(service, actor=KIM, origin=Origin.PYTHON, project=GLOBAL_PROJECT)
    texts, taken = Texts(seed=time.perf_counter_ns()), []
    while not over.is_set() and (most is None or len(taken) < most):
        began = time.perf_counter()
        client(asked.write, type="learning", content=texts.one(20), agent="ripley")
        taken.append(time.perf_counter() - began)
        over.wait(0.01)
    return taken


def measure(home: Path) -> dict[str, Any]:
    """Consolidate again and again, with writes before and meanwhile, until there were enough of these."""
    service = wiring.open_service(settings.load({}, home=home))
    seconds: list[float] = []
    alone: list[float] = []
    meanwhile: list[float] = []
    try:
        writing(service, threading.Event(), 50)
        before = most_memory()
        while True:
            alone += writing(service, threading.Event(), WRITES // 2)
            done, taken, more = consolidated(service)
            seconds.append(taken)
            meanwhile += more
            if len(meanwhile) >= WRITES:
                break
        more_memory = most_memory() - before
    finally:
        service.close()
    return {
        "seconds": statistics.median(seconds),
        "mib": more_memory / 2**20,
        "suggested": sum(done.counts.values()) + done.beyond,
        "alone": percentile(alone, 0.99) * 1000,
        "meanwhile": percentile(meanwhile, 0.99) * 1000,
        "writes": len(meanwhile),
    }


def most_memory() -> int:
    """The most bytes that this process ever held. What getrusage says would be of whoever started it, too."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


def consolidated(service: Service) -> tuple[Consolidation, float, list[float]]:
    """One look as the service has it, how long it took, and how long writes took meanwhile."""
    over, meanwhile = threading.Event(), []
    writer = threading.Thread(target=lambda: meanwhile.extend(writing(service, over)))
    task = Task(service.database, service.world, GLOBAL_PROJECT, KIM, Origin.CONSOLIDATION, "gates")
    writer.start()
    began = time.perf_counter()
    try:
        done = consolidate(task)
    finally:
        taken = time.perf_counter() - began
        over.set()
        writer.join()
    return done, taken, meanwhile


def measured_apart(home: Path) -> dict[str, Any]:
    """In a process of its own: what filling the ledger took of memory does not count."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(measure, home).result()


def run(report: Report) -> None:
    """Measure it, and note its goals; `bench/engine.py` does so too."""
    rows, found = [], {}
    for size in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            print(f"writing {size:,} memories …", flush=True)
            build(Path(folder), size)
            found[size] = one_of = measured_apart(Path(folder))
        rows.append(
            [f"{size:,}", f"{one_of['seconds']:.1f}", f"{one_of['mib']:.0f}", f"{one_of['suggested']:,}",
             f"{one_of['alone']:.1f}", f"{one_of['meanwhile']:.1f}", str(one_of["writes"])]
        )  # fmt: skip
    table(["memories", "seconds", "MiB", "noticed", "write p99 ms alone", "meanwhile", "of writes"], rows)
    small, large = SIZES[0], SIZES[-1]
    growth = found[large]["seconds"] / found[small]["seconds"] / (large / small)
    report.goal("consolidation: seconds per memory, largest over smallest", growth, "<= 1.5")
    report.goal(
        "consolidation: write p99 meanwhile over alone",
        found[large]["meanwhile"] / found[large]["alone"],
        "<= 2",
    )


def main() -> int:
    report = Report("consolidation")
    run(report)
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
