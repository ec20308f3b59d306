"""Searching: how long it takes within a project and across all, beside the bare FTS5 query over the same texts.

The ledger is filled by bulk statements, with the rows that writes would have left: 50 projects, one of them with
2,000 memories whatever the size. Warm is a process that has searched before; cold is the first search after the
ledger was opened anew. The bare query is FTS5 with its defaults and any word allowed, over the same texts.
"""

from __future__ import annotations

import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import apsw

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.report import Report, percentile, table
from bench.workload import Texts
from minutebook import settings, wiring
from minutebook.ledger import fulltext
from minutebook.ledger.database import Tx
from minutebook.model.actors import Actor, Origin, Role
from minutebook.operations import memories as memory_operations
from minutebook.operations import projects, search
from minutebook.policy.terms import line_of, terms
from minutebook.service import LocalClient, Service

SIZES = [int(size) for size in os.environ.get("SIZES", "1000,10000,100000").split(",")]
ROUNDS = int(os.environ.get("ROUNDS", "200"))
PROJECTS = 50
OWN = 2_000  # memories of the project that is searched
AT = "2026-01-01T00:00:00.000000Z"
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

_ROW = """
    INSERT INTO memories (id, project_id, scope, tier, agent, repo_id, session_id, type, slug, title, content, status,
        importance, tags, evidence, author, author_role, origin, decided_by, decided_role, created_at, updated_at,
        revision, created_seq, seq, claim)
    VALUES (:id, :project, 'project', '', '', '', '', 'project', :slug, :title, :content, 'active', 'medium', '[]',
        '[]', 'kim', 'operator', 'cli', 'kim', 'operator', :at, :at, 1, :seq, :seq, :id)"""


def ulid(number: int) -> str:
    digits = ""
    for _ in range(26):
        number, digit = divmod(number, 32)
        digits = _CROCKFORD[digit] + digits
    return digits


def homes(size: int, ids: list[str]) -> list[str]:
    """The project of each memory: the first has at most 2,000, the others share the rest; none lie together."""
    own = min(OWN, size // 2)
    spread = [ids[0]] * own + [ids[1 + number % (len(ids) - 1)] for number in range(size - own)]
    random.Random(5).shuffle(spread)
    return spread


def fill(service: Service, size: int, ids: list[str], bare: apsw.Connection) -> list[str]:
    """Put in the memories; the texts of the project that is searched come back."""
    texts, own = Texts(11), []
    where = homes(size, ids)

    def some(tx: Tx, start: int) -> None:
        for number in range(start, min(size, start + 1_000)):
            text = texts.one(60)
            id = ulid(10**12 + number)
            if where[number] == ids[0]:
                own.append(text)
            given = {
                "slug": f"memory-{number}",
                "title": text[:40],
                "content": text,
                "at": AT,
                "seq": number + 10**6,
            }
            tx.run(_ROW, id=id, project=where[number], **given)
            line = line_of(terms(text[:40]), terms(text))
            fulltext.put(tx, ref=id, kind="memory", project=where[number], line=line)
            bare.execute("INSERT INTO bare (rowid, text) VALUES (?, ?)", (number + 1, text))

    for start in range(0, size, 1_000):
        bare.execute("BEGIN")
        service.database.write(ids[0], lambda tx, start=start: some(tx, start))
        bare.execute("COMMIT")
    return own


def questions(own: list[str], count: int) -> list[str]:
    """Five words of some memory of the project, in their order, and not always next to each other."""
    chance = random.Random(3)
    found = []
    for _ in range(count):
        said = chance.choice(own).replace(",", "").replace(".", "").split()
        found.append(" ".join(said[place] for place in sorted(chance.sample(range(len(said)), 5))))
    return found


def timed(ask: Callable[[str], object], asked: list[str]) -> list[float]:
    took = []
    for query in asked:
        began = time.perf_counter()
        ask(query)
        took.append((time.perf_counter() - began) * 1_000)
    return took


def figures(name: str, took: list[float]) -> list[str]:
    return [name, f"{statistics.median(took):.2f}", f"{percentile(took, 0.99):.2f}", f"{max(took):.1f}"]


def measure(size: int, report: Report) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        chosen = settings.load({}, home=home, service="never")
        service = wiring.open_service(chosen)
        actor = Actor("kim", "Kim", Role.OPERATOR)

        def client(project: str | None) -> LocalClient:
            return LocalClient(service, actor=actor, origin=Origin.PYTHON, project=project)

        ids = [client(None)(projects.create, name=f"Project {number}").id for number in range(PROJECTS)]
        bare = apsw.Connection(str(home / "bare.db"))
        bare.execute("PRAGMA journal_mode = WAL; CREATE VIRTUAL TABLE bare USING fts5 (text)").fetchall()
        began = time.perf_counter()
        own = fill(service, size, ids, bare)
        print(
            f"\n{size:,} memories in {PROJECTS} projects, put in at {size / (time.perf_counter() - began):,.0f}/s"
        )
        service.close()

        service = wiring.open_service(chosen)
        asked = questions(own, ROUNDS)
        cold = timed(lambda query: client(ids[0])(search.search, query=query), asked[:1])
        within = timed(lambda query: client(ids[0])(search.search, query=query), asked)
        limit = max(20, ROUNDS // 4) if size >= 1_000_000 else ROUNDS
        across = timed(
            lambda query: client(ids[0])(search.search, query=query, everywhere=True), asked[:limit]
        )
        plain = timed(lambda query: _bare(bare, query), asked[:limit])
        shows = _shows_at_once(client(ids[0]))
        rows = [
            figures("within a project, warm", within),
            figures("within a project, cold", cold),
            figures("across all, warm", across),
            figures("bare FTS5, any word, all", plain),
            figures("a write and its search", shows),
        ]
        table(["ms", "p50", "p99", "most"], rows)
        service.close()
        bare.close()
    report.goal(f"within a project at {size:,}, p50 ms", statistics.median(within), "<= 5")
    if size in (100_000, 1_000_000):
        report.goal(
            f"across {size:,}, p50 ms", statistics.median(across), "<= 15" if size == 100_000 else "<= 60"
        )


def _bare(bare: apsw.Connection, query: str) -> object:
    words = " OR ".join(f'"{word}"' for word in query.split())
    return bare.execute(
        "SELECT rowid, bm25(bare) FROM bare WHERE bare MATCH ? ORDER BY bm25(bare) LIMIT 10", (words,)
    ).fetchall()


def _shows_at_once(client: LocalClient) -> list[float]:
    """A write is found from its acknowledgement on: the time of both, and a check that it was."""
    took = []
    for number in range(20):
        word = f"fresh{number}word"
        began = time.perf_counter()
        client(
            memory_operations.write, type="project", content=f"The {word} of number {number} is {number * 7}."
        )
        found = client(search.search, query=word)
        took.append((time.perf_counter() - began) * 1_000)
        assert len(found.hits) == 1
    return took


def main() -> int:
    report = Report("search_speed")
    for size in SIZES:
        measure(size, report)
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
