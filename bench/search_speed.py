"""Searching: how long it takes within a project and across all, beside the bare FTS5 query and the bare vector scan.

The ledger is filled by bulk statements, with the rows that writes and the embedder would have left: 50 projects, one
of them with 2,000 memories whatever the size. Warm is a process that has searched before; cold is the first search
after the ledger was opened anew. The bare query is FTS5 with its defaults and any word allowed, over the same texts;
the bare scan is one product of numpy over all vectors. Vectors are made up: clusters that all point somewhat the same
way, as those of real models do. A question's vector is there without a model: its embedding comes on top.

    SIZES=1000,10000 ROUNDS=200 python bench/search_speed.py
    KEEP=folder                        keeps the ledgers, and takes those that are there; with ROUNDS=0 only fills them
"""

from __future__ import annotations

import os
import pickle
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import apsw
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.report import Report, percentile, table
from bench.workload import Texts
from minutebook import settings, wiring
from minutebook.ledger import fulltext, vectors
from minutebook.ledger.database import Tx
from minutebook.minds.meaning import Minds
from minutebook.minds.nearest import Nearest
from minutebook.model.actors import Actor, Origin, Role
from minutebook.model.meaning import Purpose, Space
from minutebook.operations import memories as memory_operations
from minutebook.operations import projects, search
from minutebook.policy.terms import line_of, terms
from minutebook.service import LocalClient, Service

SIZES = [int(size) for size in os.environ.get("SIZES", "1000,10000,100000").split(",")]
ROUNDS = int(os.environ.get("ROUNDS", "200"))
KEEP = os.environ.get("KEEP")
PROJECTS = 50
OWN = 2_000  # memories of the project that is searched
AT = "2026-01-01T00:00:00.000000Z"
WIDTH = 384
SPACE = Space("made", "0" * 64, WIDTH)
#: Goals of the issue for a search across all, by the size of the ledger.
ACROSS = {100_000: "<= 15", 1_000_000: "<= 60"}
KIM = Actor("kim", "Kim", Role.OPERATOR)
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAGE = 2_000

_ROW = """
    INSERT INTO memories (id, project_id, scope, tier, agent, repo_id, session_id, type, slug, title, content, status,
        importance, tags, evidence, author, author_role, origin, decided_by, decided_role, created_at, updated_at,
        revision, created_seq, seq, claim)
    VALUES (:id, :project, 'project', '', '', '', '', 'project', :slug, :title, :content, 'active', 'medium', '[]',
        '[]', 'kim', 'operator', 'cli', 'kim', 'operator', :at, :at, 1, :seq, :seq, :id)"""
_VECTOR = """
    INSERT INTO vectors (ref, space, project_id, revision, digest, numbers)
    VALUES (:ref, :space, :project, 1, '', :numbers)"""


def ulid(number: int) -> str:
    digits = ""
    for _ in range(26):
        number, digit = divmod(number, 32)
        digits = _CROCKFORD[digit] + digits
    return digits


# --- what is searched ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Shelf:
    """A ledger that was filled: where it lies, and what is known of it."""

    home: Path
    projects: list[str]
    bare: apsw.Connection
    numbers: np.ndarray
    #: of the project that is searched: each text, and the number of its memory
    own: list[tuple[int, str]]


@dataclass(frozen=True)
class Made:
    """An embedder that knows the questions."""

    known: dict[str, np.ndarray] = field(default_factory=dict)
    space: Space = SPACE

    def open(self) -> Made:
        return self

    def embed(self, texts: Sequence[str], purpose: Purpose) -> np.ndarray:
        del purpose
        return np.array([self.known[text] for text in texts])


def opened(home: Path) -> Service:
    return wiring.open_service(settings.load({}, home=home, service="never"))


def client(service: Service, project: str | None) -> LocalClient:
    return LocalClient(service, actor=KIM, origin=Origin.PYTHON, project=project)


def homes(size: int, ids: list[str]) -> list[str]:
    """The project of each memory: the first has at most 2,000, the others share the rest; none lie together."""
    own = min(OWN, size // 2)
    spread = [ids[0]] * own + [ids[1 + number % (len(ids) - 1)] for number in range(size - own)]
    random.Random(5).shuffle(spread)
    return spread


def numbers(size: int) -> np.ndarray:
    """Vectors in clusters, all somewhat alike."""
    chance = np.random.default_rng(1)
    drift = chance.normal(size=WIDTH).astype(np.float32) * 2
    themes = chance.normal(size=(max(10, size // 50), WIDTH)).astype(np.float32)
    made = np.empty((size, WIDTH), np.float16)
    for start in range(0, size, _PAGE):
        some = themes[chance.integers(0, len(themes), min(_PAGE, size - start))] + drift
        some += 0.5 * chance.standard_normal(size=some.shape, dtype=np.float32)
        made[start : start + len(some)] = some / np.linalg.norm(some, axis=1, keepdims=True)
    return made


def fill(home: Path, size: int) -> Shelf:
    """Put in the memories, their texts and their vectors."""
    service = opened(home)
    ids = [client(service, None)(projects.create, name=f"Project {number}").id for number in range(PROJECTS)]
    bare = apsw.Connection(str(home / "bare.db"))
    bare.execute("PRAGMA journal_mode = WAL; CREATE VIRTUAL TABLE bare USING fts5 (text)").fetchall()
    shelf = Shelf(home, ids, bare, numbers(size), [])
    texts, where = Texts(11), homes(size, ids)
    service.database.write("global", lambda tx: vectors.enter(tx, SPACE, AT))

    def some(tx: Tx, start: int) -> None:
        for number in range(start, min(size, start + _PAGE)):
            text, project, id = texts.one(60), where[number], ulid(10**12 + number)
            if project == ids[0]:
                shelf.own.append((number, text))
            given = {"slug": f"memory-{number}", "title": text[:40], "content": text, "at": AT}
            tx.run(_ROW, id=id, project=project, seq=number + 10**6, **given)
            line = line_of(terms(text[:40]), terms(text))
            fulltext.put(tx, ref=id, kind="memory", project=project, line=line)
            made = shelf.numbers[number].tobytes()
            tx.run(_VECTOR, ref=id, space=SPACE.id, project=project, numbers=made)
            bare.execute("INSERT INTO bare (rowid, text) VALUES (?, ?)", (number + 1, text))

    for start in range(0, size, _PAGE):
        bare.execute("BEGIN")
        service.database.write(ids[0], lambda tx, start=start: some(tx, start))
        bare.execute("COMMIT")
    service.close()
    (home / "shelf.pickle").write_bytes(pickle.dumps((ids, shelf.own)))
    return shelf


def filled(home: Path, size: int) -> Shelf:
    """A ledger of this size in a folder: the one that is there, or a new one."""
    known = home / "shelf.pickle"
    if known.exists():
        ids, own = pickle.loads(known.read_bytes())
        return Shelf(home, ids, apsw.Connection(str(home / "bare.db")), numbers(size), own)
    home.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    shelf = fill(home, size)
    print(f"{size:,} put in at {size / (time.perf_counter() - began):,.0f}/s", flush=True)
    return shelf


def questions(shelf: Shelf, count: int) -> dict[str, np.ndarray]:
    """Five words of some memory of the project, in their order, and a vector near that memory's."""
    chance, noise = random.Random(3), np.random.default_rng(2)
    found = {}
    for _ in range(count):
        number, text = chance.choice(shelf.own)
        said = text.replace(",", "").replace(".", "").split()
        query = " ".join(said[place] for place in sorted(chance.sample(range(len(said)), 5)))
        vector = shelf.numbers[number].astype(np.float32) + 0.02 * noise.normal(size=WIDTH)
        found[query] = (vector / np.linalg.norm(vector)).astype(np.float32)
    return found


# --- measuring -----------------------------------------------------------------------------------------------


def timed(ask: Callable[[str], object], asked: Sequence[str]) -> list[float]:
    took = []
    for query in asked:
        began = time.perf_counter()
        ask(query)
        took.append((time.perf_counter() - began) * 1_000)
    return took


def figures(name: str, took: list[float]) -> list[str]:
    return [name, f"{statistics.median(took):.2f}", f"{percentile(took, 0.99):.2f}", f"{max(took):.1f}"]


def measure(size: int, report: Report) -> None:
    with tempfile.TemporaryDirectory(prefix="minutebook-bench-") as folder:
        shelf = filled(Path(KEEP or folder) / str(size), size)
        print(f"\n{size:,} memories in {PROJECTS} projects")
        if ROUNDS:
            judged(shelf, size, report)
        shelf.bare.close()


def judged(shelf: Shelf, size: int, report: Report) -> None:
    made = questions(shelf, ROUNDS)
    asked = list(made)
    service = opened(shelf.home)
    by_text = service.world
    both = replace(by_text, meaning=Minds(lambda: Made(made)))
    here = client(service, shelf.projects[0])

    def within(query: str) -> object:
        return here(search.search, query=query)

    def across(query: str) -> object:
        return here(search.search, query=query, everywhere=True)

    service.world = both
    cold, cold_across = timed(within, asked[:1]), timed(across, asked[:1])
    rows = [figures("within a project, cold", cold), figures("across all, cold", cold_across)]
    took: dict[str, list[float]] = {}
    for name, world in (("by text", by_text), ("by text and meaning", both)):
        service.world = world
        for where, ask in (("within a project", within), ("across all", across)):
            timed(ask, asked[:10])
            took[f"{where}, {name}"] = timed(ask, asked)
    service.world = by_text
    rows += [figures(name, each) for name, each in took.items()]
    rows.append(figures("bare FTS5, any word, all", timed(lambda query: _bare(shelf.bare, query), asked)))
    truth, scanned = _scanned(shelf, made)
    rows.append(figures("bare scan of all vectors", scanned))
    rows.append(figures("a write and its search", _shows_at_once(here)))
    table(["ms", "p50", "p99", "most"], rows)
    print(_recall(service, shelf, made, truth))
    service.close()
    inside = statistics.median(took["within a project, by text and meaning"])
    report.goal(f"within a project at {size:,}, p50 ms", inside, "<= 5")
    if size in ACROSS:
        outside = statistics.median(took["across all, by text and meaning"])
        report.goal(f"across {size:,}, p50 ms", outside, ACROSS[size])


def _bare(bare: apsw.Connection, query: str) -> object:
    words = " OR ".join(f'"{word}"' for word in query.split())
    return bare.execute(
        "SELECT rowid, bm25(bare) FROM bare WHERE bare MATCH ? ORDER BY bm25(bare) LIMIT 10", (words,)
    ).fetchall()


def _scanned(shelf: Shelf, made: dict[str, np.ndarray]) -> tuple[list[set[str]], list[float]]:
    """The ten nearest of all to each question, by the product with every vector."""
    whole = shelf.numbers.astype(np.float32)
    truth: list[set[str]] = []

    def scan(query: str) -> None:
        likeness = whole @ made[query]
        truth.append({ulid(10**12 + int(place)) for place in np.argpartition(-likeness, 9)[:10]})

    return truth, timed(scan, list(made))


def _recall(
    service: Service, shelf: Shelf, made: dict[str, np.ndarray], truth: Sequence[Collection[str]]
) -> str:
    """How much of the ten nearest the index finds, how long it takes by itself, and what it holds."""
    index = Nearest(SPACE.id, WIDTH)
    shares: list[float] = []
    with service.database.read() as tx:

        def nearest(query: str) -> set[str]:
            near = index.find(tx, made[query], reach=None, allowed=lambda refs: refs, limit=10)
            return {ref for ref, _ in near}

        timed(nearest, list(made)[:1])
        took = timed(nearest, list(made))
        shares = [len(nearest(query) & set(wanted)) / 10 for query, wanted in zip(made, truth, strict=True)]
    held = index.held()[1] / 1024**2
    return (
        f"the index of vectors alone: {statistics.median(took):.2f} ms, {sum(shares) / len(shares):.3f} of the ten "
        f"nearest of {len(shelf.numbers):,}, {held:.0f} MB"
    )


def _shows_at_once(here: LocalClient) -> list[float]:
    """A write is found from its acknowledgement on: the time of both, and a check that it was."""
    took = []
    for number in range(20):
        word = f"fresh{number}word"
        began = time.perf_counter()
        here(
            memory_operations.write, type="project", content=f"The {word} of number {number} is {number * 7}."
        )
        found = here(search.search, query=word)
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
