"""Files: from commit to mirrored file, a full export and a pass with nothing to do, and adopting a large ledger.

A service with its engine in this process, on SQLite, with 10,000 memories: 20 agents, 700 decisions. *Full* writes
every file anew into an empty workspace; *bare* writes the same bytes with temp file, fsync and rename and nothing else.
*With the notes* is `files sync` as a user calls it: the mirror, and a note for each memory. The large ledger is a real one of 1.2 MB where it is at hand.
"""

from __future__ import annotations

import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.report import Report, percentile, table
from bench.workload import Texts
from minutebook import settings, wiring
from minutebook.files import workspace
from minutebook.files.desk import Desk
from minutebook.files.place import Means, Place
from minutebook.ledger import events, memories, positions
from minutebook.ledger.database import Tx
from minutebook.model.actors import Actor, Origin, Role
from minutebook.model.memories import Importance, Memory, Status, Type
from minutebook.model.scopes import Scope
from minutebook.operations import adopt, decisions, files, projects
from minutebook.service import LocalClient, Service

MEMORIES = int(os.environ.get("MEMORIES", "10000"))
ROUNDS = int(os.environ.get("ROUNDS", "60"))
AGENTS = 20
REAL = Path(__file__).resolve().parents[2] / "shared/data/squad_samples/cirvine-MSFT__editless/.squad"
AT = "2026-01-01T00:00:00.000000Z"


def fill(service: Service, project: str, texts: Texts) -> None:
    """As many memories as are asked for, with the rows that writes would have left."""
    chance = random.Random(7)
    ids = service.world.ids

    def chunk(start: int, end: int) -> Callable[[Tx], None]:
        def work(tx: Tx) -> None:
            for number in range(start, end):
                memory = _one(ids.new(), number, project, texts, chance)
                seq = events.append(
                    tx, kind="memory.added", subject=memory.id, project=project, actor="kim", role="operator",
                    origin="cli", at=AT,
                )  # fmt: skip
                memories.insert(tx, replace(memory, seq=seq), f"c{number}", "v")

        return work

    for start in range(0, MEMORIES, 500):
        service.database.write(project, chunk(start, min(MEMORIES, start + 500)))


def _one(id: str, number: int, project: str, texts: Texts, chance: random.Random) -> Memory:
    agent = f"agent-{chance.randrange(AGENTS)}"
    drawn = chance.random()
    type = Type.LEARNING if drawn < 0.5 else Type.UPDATE if drawn < 0.78 else Type.PATTERN
    scope = Scope.of_agent(project, agent)
    if drawn > 0.93:
        type, scope = (Type.TECHNICAL, Type.SCOPE)[drawn > 0.99], Scope.of_project(project)
    text = texts.one(60)
    return Memory(
        id=id, scope=scope, type=type, slug=f"memory-{number}", title=text[:40], content=text,
        status=Status.ACTIVE, author=agent, author_role="agent", origin="cli", decided_by="kim",
        decided_role="operator", created_at=AT, updated_at=AT, importance=Importance.MEDIUM,
    )  # fmt: skip


def timed(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def export(desk: Desk, means: Means, place: Place) -> tuple[list[float], list[float], list[float]]:
    """Seconds of full exports, of writing the same bytes bare, and of passes with nothing to do."""
    root = Path(place.root)
    full, bare, idle = [], [], []
    for _ in range(3):
        for folder in (".squad", ".agentweaver"):
            shutil.rmtree(root / folder, ignore_errors=True)
        means.database.write(place.project, lambda tx: positions.drop(tx, "mirror"))
        full.append(timed(lambda: desk.mirroring.run(means, place)))
    written = [path for path in root.rglob("*.md") if path.is_file()]
    contents = [path.read_bytes() for path in written]
    print(f"{len(written)} files, {sum(map(len, contents)):,} bytes")
    bare.append(timed(lambda: [_bare(root / f"bare-{n}", data) for n, data in enumerate(contents)]))
    time.sleep(3.5)  # what was written just now is read once more, see files/glimpses.py
    desk.mirroring.run(means, place)
    idle += [timed(lambda: desk.mirroring.run(means, place)) for _ in range(20)]
    return full, bare, idle


def _bare(path: Path, data: bytes) -> None:
    handle = os.open(f"{path}.part", os.O_WRONLY | os.O_CREAT)
    os.write(handle, data)
    os.fsync(handle)
    os.close(handle)
    os.rename(f"{path}.part", path)
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def with_notes(client: LocalClient) -> tuple[float, list[float]]:
    """Seconds of the sync that writes a note for every memory, and of those after it, which find nothing to do."""
    full = timed(lambda: client(files.sync))
    time.sleep(3.5)
    client(files.sync)
    return full, [timed(lambda: client(files.sync)) for _ in range(7)]


def rest(service: Service) -> None:
    """Wait until all that works behind the ledger has caught up: notes of 10,000 memories are 10,000 files."""
    commits, since, began = -1, time.perf_counter(), time.perf_counter()
    while time.perf_counter() - since < 3 and time.perf_counter() - began < 600:
        if service.database.commits != commits:
            commits, since = service.database.commits, time.perf_counter()
        time.sleep(0.05)


def follow(client: LocalClient, root: Path) -> list[float]:
    """Seconds from the acknowledgement of a decision until the file on the disk shows it."""
    chance = random.Random(3)
    took = []
    path = root / ".agentweaver/context/boundaries.md"
    for number in range(ROUNDS):
        time.sleep(chance.random() * 0.4)
        word = f"follow-{number}-{chance.randrange(10**9)}"
        client(decisions.write, type="scope", title=word, content=f"About {word}.", slug=word)
        began = time.perf_counter()
        while not path.exists() or word.encode() not in path.read_bytes():
            if time.perf_counter() - began > 30:
                raise TimeoutError("the file does not follow")
            time.sleep(0.001)
        took.append(time.perf_counter() - began)
    return took


def adoption(client: LocalClient, root: Path, texts: Texts) -> tuple[str, float, str]:
    (root / ".squad").mkdir(parents=True)
    target = root / ".squad/decisions.md"
    if (REAL / "decisions.md").exists():
        what = "a real ledger"
        target.write_bytes((REAL / "decisions.md").read_bytes())
    else:
        what = "a ledger of our own making (the real one is not at hand)"
        entries = [
            f"### 2026-01-{n % 28 + 1:02d}: {texts.one(8)}\n**By:** agent-{n % AGENTS}\n**What:** {texts.one(90)}\n"
            for n in range(1_700)
        ]
        target.write_text("# Squad Decisions\n\n" + "\n".join(entries))
    size = target.stat().st_size
    answers: list[Any] = []
    took = timed(lambda: answers.append(client(adopt.adopt, path=root, confirm=True)))
    return f"{what}, {size:,} bytes", took, answers[0].sentence


def main() -> int:
    report = Report("files")
    texts = Texts()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as ending:
        base = Path(folder)
        chosen = settings.load({"MINUTEBOOK_EMBEDDER": "none"}, home=base / "home")
        service = wiring.open_service(chosen)
        ending.callback(service.close)
        desk: Desk = cast(Any, service.world.files).desk()
        means = Means(service.database, service.world)
        client = LocalClient(
            service, actor=Actor("kim", "kim", Role.OPERATOR), origin=Origin.CLI, project=None
        )
        project = client(projects.create, name="Bench").id
        client.project = project
        root = base / "app"
        root.mkdir()
        workspace.create(root, project=project, name="Bench", created_at=AT)
        client(projects.see, path=str(root), host=desk.host)
        fill(service, project, texts)
        full, bare, idle = export(desk, means, Place(desk.host, str(root), project))
        noted, unnoted = with_notes(client)
        table(
            ["pass over 10,000 memories" if MEMORIES == 10_000 else f"pass over {MEMORIES} memories", "ms"],
            [
                ["full export", f"{statistics.median(full) * 1000:.0f}"],
                ["the same bytes, bare", f"{statistics.median(bare) * 1000:.0f}"],
                ["nothing to do", f"{statistics.median(idle) * 1000:.2f}"],
                ["full, with the notes", f"{noted * 1000:.0f}"],
                ["nothing to do, with the notes", f"{statistics.median(unnoted) * 1000:.2f}"],
            ],
        )
        engine = wiring.open_engine(chosen, service)
        engine.start()
        try:
            rest(service)
            took = follow(client, root)
        finally:
            engine.stop()
        print(
            f"commit to file: p50 {percentile(took, 0.5) * 1000:.0f} ms, p99 {percentile(took, 0.99) * 1000:.0f} ms"
        )
        other = client(projects.create, name="Adopted").id
        client.project = other
        what, seconds, sentence = adoption(client, base / "adopted", texts)
        print(f"adopting {what}: {seconds:.1f} s; {sentence}")
        report.goal("commit to mirrored file, p50 (s)", percentile(took, 0.5), "<= 0.5")
        report.goal("commit to mirrored file, p99 (s)", percentile(took, 0.99), "<= 1.0")
        report.goal("full export (s)", statistics.median(full), "<= 3.0")
        report.goal(
            "nothing to do, share of a full export",
            statistics.median(idle) / statistics.median(full),
            "<= 0.01",
        )
        report.goal(
            "nothing to do with the notes, share of a full sync",
            statistics.median(unnoted) / noted,
            "<= 0.01",
        )
        report.goal("adopting a ledger of 1.2 MB (s)", seconds, "<= 30")
    return report.end()


if __name__ == "__main__":
    raise SystemExit(main())
