"""What happens later: jobs a second, a transcript of 5 MB from its capture to the inbox, and who waits meanwhile.

Rates are measured on both databases with one and with four workers, in one process as the service is. The transcript
goes through a service of its own, as an agent would hand it in. Then the same for consolidation
(`bench/consolidation.py`; SIZES says how many memories, and CONSOLIDATION=no leaves it out).
"""

from __future__ import annotations

import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import consolidation
from bench.report import Report, percentile, table
from bench.workload import Texts
from minutebook import settings, wiring
from minutebook.engine.engine import Engine
from minutebook.engine.jobs import Desk, Ending, JobWorker, Kind
from minutebook.engine.kinds import KINDS
from minutebook.ledger import jobs
from minutebook.ledger.database import Tx
from minutebook.model.actors import Actor, Origin, Role
from minutebook.model.captures import CaptureState
from minutebook.model.jobs import Request
from minutebook.operations import captures, inbox, memories, projects, runs
from minutebook.service import LocalClient, Service
from minutebook.surfaces.remote import RemoteClient, SocketLink

WORKERS = (1, 4)
#: Jobs that do nothing, and small talks that are read.
JOBS = int(os.environ.get("JOBS", "2000"))
TALKS = int(os.environ.get("TALKS", "200"))
TRANSCRIPT_MB = float(os.environ.get("TRANSCRIPT_MB", "5"))
#: Rounds of writes, alone and meanwhile in turn; and writes in each.
ROUNDS = int(os.environ.get("ROUNDS", "5"))
WRITES = int(os.environ.get("WRITES", "200"))
KIM = Actor("kim", "Kim", Role.OPERATOR)
PROJECT = "bench"


def client_of(service: Service) -> LocalClient:
    return LocalClient(service, actor=KIM, origin=Origin.PYTHON, project=PROJECT)


@contextmanager
def ledger(home: Path, url: str | None = None) -> Iterator[Service]:
    """A ledger with a project in it, and nobody who works behind it yet."""
    service = wiring.open_service(settings.load({}, home=home, database_url=url))
    try:
        client = client_of(service)
        client.project = None
        client(projects.create, name="Bench", slug=PROJECT)
        yield service
    finally:
        service.close()


def talk(number: int) -> str:
    """A talk that settles two things which no other one does."""
    lot = random.Random(number)
    names = ["".join(lot.choices("bcdfghklmnprstvz", k=9)) for _ in range(5)]
    return (
        f"Ana: what about {names[0]}?\n"
        f"Sebas: We decided to use {names[1]} instead of {names[2]} for the {names[3]} of {number}.\n"
        f"Ana: Turns out the {names[4]} of {number} drops every {names[0]} above ten megabytes.\n"
    )


def transcript(megabytes: float, seed: int = 1) -> str:
    """As Claude Code writes it: mostly what tools printed, much chatter, and now and then something to keep."""
    texts, lines, size, number = Texts(seed), [], 0, 0

    def add(kind: str, content: Any) -> None:
        nonlocal size
        line = json.dumps({"type": kind, "uuid": str(number), "message": {"role": kind, "content": content}})
        lines.append(line)
        size += len(line) + 1

    while size < megabytes * 1_000_000:
        number += 1
        add("user", talk(number * 1000 + seed).split("\n")[1 + number % 2].split(": ")[1])
        for _ in range(4):
            add("assistant", [{"type": "text", "text": f"Let me look at {texts.one(12)}."}])
            add("assistant", [{"type": "tool_use", "name": "Bash", "input": {"command": texts.one(10)}}])
            add("user", [{"type": "tool_result", "content": "\n".join(texts.one(12) for _ in range(20))}])
    return "\n".join(lines) + "\n"


@contextmanager
def at_work(service: Service, kinds: Sequence[Kind], workers: int) -> Iterator[None]:
    """Workers on threads of their own, as in a service."""
    benches = [
        JobWorker(f"jobs-{number}", service.database, service.world, kinds) for number in range(workers)
    ]
    engine = Engine(service.database, benches, clock=wiring.utc_now)
    engine.start()
    try:
        yield
    finally:
        engine.stop()


def wait_for_all(service: Service, *, most: float = 900.0) -> None:
    deadline = time.monotonic() + most
    while True:
        with service.database.read() as tx:
            left = tx.one("SELECT count(*) AS n FROM jobs WHERE state IN ('todo', 'doing')")
            dead = tx.one("SELECT count(*) AS n FROM jobs WHERE state = 'dead'")
        if dead is not None and dead["n"]:
            raise SystemExit(f"{dead['n']} jobs gave up")
        if left is not None and not left["n"]:
            return
        if time.monotonic() > deadline:
            raise SystemExit("the jobs were not done in time")
        time.sleep(0.01)


# --- jobs a second ---------------------------------------------------------------------------------------------


def idle(_desk: Desk) -> Ending:
    return lambda _tx: None


NOTHING = Kind("nothing", idle)


def ask_for_many(service: Service, count: int) -> None:
    with service.database.read() as tx:
        row = tx.one("SELECT id FROM projects WHERE slug = :slug", slug=PROJECT)
    assert row is not None
    project, now = row["id"], service.world.clock()

    def add(tx: Tx) -> None:
        for _ in range(count):
            jobs.add(tx, service.world.ids.new(), Request(kind=NOTHING.name, project=project), at=now)

    service.database.write(project, add)


def rates(service: Service, workers: int) -> tuple[float, float]:
    """Jobs that do nothing, and small talks that are read, each a second."""
    ask_for_many(service, JOBS)
    began = time.perf_counter()
    with at_work(service, [NOTHING], workers):
        wait_for_all(service)
    empty = JOBS / (time.perf_counter() - began)
    client = client_of(service)
    for number in range(TALKS):
        client(captures.conversation, content=talk(number + workers * 100_000), consent="yes")
    began = time.perf_counter()
    with at_work(service, KINDS, workers):
        wait_for_all(service)
    return empty, TALKS / (time.perf_counter() - began)


def measure_rates(report: Report) -> None:
    rows = []
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        places: dict[str, str | None] = {"SQLite": None}
        server = _postgres(stack)
        if server is not None:
            places["PostgreSQL"] = server
        for name, url in places.items():
            with ledger(home / name, url) as service:
                for workers in WORKERS:
                    empty, read = rates(service, workers)
                    rows.append([name, str(workers), f"{empty:,.0f}", f"{read:,.0f}"])
                    report.goal(f"{name}, {workers} workers: jobs a second", empty, ">= 100")
                    report.goal(f"{name}, {workers} workers: talks read a second", read, ">= 10")
    table(["", "workers", "empty jobs/s", "talks read/s"], rows)


def _postgres(stack: ExitStack) -> str | None:
    """A throw-away PostgreSQL that does sync its log."""
    from tests import postgres

    if postgres.OFF:
        return None
    cluster = postgres.Cluster(fsync=True)
    stack.callback(cluster.stop)
    return cluster.url(cluster.fresh())


# --- a long transcript -----------------------------------------------------------------------------------------


def measure_transcript(report: Report) -> None:
    """Through the service, as an agent has it: the answer to `runs finish`, and when the last finding waits."""
    from tests.surfaces.services import Served

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        served = Served(root / "h", root, MINUTEBOOK_PORT="0")
        link = SocketLink(served.places, served.environ(), start=True, tell=lambda _: None)
        try:
            with RemoteClient(link, {}, project="global") as client:
                client(projects.create, name="Bench", slug=PROJECT)
                client.project = PROJECT
                words = transcript(TRANSCRIPT_MB)
                run = client(runs.start, task="a long day").run.id
                began = time.perf_counter()
                receipt = client(runs.finish, ref=run, transcript=words)
                answered = time.perf_counter() - began
                assert receipt.capture is not None
                while client(captures.show, ref=receipt.capture).state is not CaptureState.DONE:
                    time.sleep(0.05)
                taken = time.perf_counter() - began
                found = client(captures.show, ref=receipt.capture).outcome
                waiting = len(client(inbox.list_, limit=1000).items)
        finally:
            served.end()
    print(
        f"a transcript of {len(words) / 1e6:.1f} MB: answered in {answered:.2f} s, {found['found']} findings "
        f"({waiting}{'+' if waiting == 1000 else ''} in the inbox) after {taken:.1f} s"
    )
    report.goal("5 MB transcript: seconds to the receipt", answered, "<= 2")
    report.goal("5 MB transcript: seconds to the last finding in the inbox", taken, "<= 30")


# --- who waits ---------------------------------------------------------------------------------------------------


def writing(service: Service, texts: Texts) -> list[float]:
    client, taken = client_of(service), []
    for _ in range(WRITES):
        began = time.perf_counter()
        client(memories.write, type="learning", content=texts.one(20), agent="ripley")
        taken.append((time.perf_counter() - began) * 1000)
        time.sleep(0.005)
    return taken


def measure_writer(report: Report) -> None:
    """Writes alone, and while transcripts are read, in turn: what else the machine does falls on both."""
    alone: list[float] = []
    meanwhile: list[float] = []
    ratios: list[float] = []
    with tempfile.TemporaryDirectory() as folder, ledger(Path(folder)) as service:
        client, texts = client_of(service), Texts(seed=11)
        writing(service, texts)
        for number in range(ROUNDS):
            first = writing(service, texts)
            client(captures.document, content=transcript(TRANSCRIPT_MB / 2, seed=number + 2))
            for each in range(20):
                client(captures.conversation, content=talk(7_000_000 + number * 100 + each), consent="yes")
            with at_work(service, KINDS, service.world.limits.job_workers):
                second = writing(service, texts)
                wait_for_all(service)
            alone += first
            meanwhile += second
            ratios.append(percentile(second, 0.99) / percentile(first, 0.99))
    rows = [
        [name, f"{percentile(taken, 0.5):.2f}", f"{percentile(taken, 0.99):.2f}"]
        for name, taken in (("alone", alone), ("while transcripts are read", meanwhile))
    ]
    table(["writes, ms", "p50", "p99"], rows)
    report.goal(
        "write p99 while transcripts are read over alone, middle of the rounds",
        statistics.median(ratios),
        "<= 2",
    )


def main() -> int:
    report = Report("engine")
    measure_rates(report)
    measure_transcript(report)
    measure_writer(report)
    if os.environ.get("CONSOLIDATION") != "no":
        consolidation.run(report)
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
