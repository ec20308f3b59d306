"""The vector list beside the bare scan of numpy: how long a question takes, within one project and across all.

Vectors are made up: clusters that all point somewhat the same way, as those of real models do. They lie in a ledger
of their own; the time is that of the index with a filter that lets everything pass, without the question's embedding.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.report import percentile, table
from minutebook import wiring
from minutebook.ledger import vectors
from minutebook.ledger.database import Database, Tx
from minutebook.minds.nearest import Nearest
from minutebook.model.meaning import Space

SIZES = [int(size) for size in os.environ.get("SIZES", "1000,10000,100000").split(",")]
ROUNDS = int(os.environ.get("ROUNDS", "50"))
PROJECTS = 50
WIDTH = 384
SPACE = Space("made", "0" * 64, WIDTH)
AT = "2026-01-01T00:00:00.000000Z"
_PAGE = 5_000


def main() -> int:
    rows = []
    for size in SIZES:
        with tempfile.TemporaryDirectory(prefix="minutebook-bench-") as folder:
            from minutebook.settings import load

            service = wiring.open_service(load({}, home=Path(folder), service="never"))
            try:
                rows.append(measured(service.database, size))
            finally:
                service.close()
    table(
        [
            "vectors",
            "bare scan p50",
            "across all p50",
            "p99",
            "of it found",
            "in a project p50",
            "p99",
            "cold",
            "MB",
        ],
        rows,
    )
    return 0


def measured(database: Database, size: int) -> list[str]:
    chance = np.random.default_rng(1)
    drift = chance.normal(size=WIDTH).astype(np.float32) * 2
    themes = chance.normal(size=(max(10, size // 50), WIDTH)).astype(np.float32)
    made = np.empty((size, WIDTH), np.float16)
    for start in range(0, size, _PAGE):
        some = themes[chance.integers(0, len(themes), min(_PAGE, size - start))] + drift
        some += 0.5 * chance.normal(size=some.shape).astype(np.float32)
        made[start : start + len(some)] = some / np.linalg.norm(some, axis=1, keepdims=True)
    refs = fill(database, made)
    questions = themes[chance.integers(0, len(themes), ROUNDS)] + drift
    questions += 0.5 * chance.normal(size=questions.shape).astype(np.float32)
    questions /= np.linalg.norm(questions, axis=1, keepdims=True)

    whole = made.astype(np.float32)
    bare, truth = [], []
    for question in questions:
        began = time.perf_counter()
        likeness = whole @ question
        top = np.argpartition(-likeness, 9)[:10]
        bare.append(time.perf_counter() - began)
        truth.append({refs[place] for place in top})
    del whole
    index = Nearest(SPACE.id, WIDTH)
    with database.read() as tx:
        asked = _asking(tx, index, None)
        began = time.perf_counter()
        asked(questions[0])
        cold = time.perf_counter() - began
        across = [_timed(asked, question) for question in questions]
        found = [
            len(set(asked(question)) & wanted) / 10 for question, wanted in zip(questions, truth, strict=True)
        ]
        near = _asking(tx, Nearest(SPACE.id, WIDTH), ["p0"])
        near(questions[0])
        within = [_timed(near, question) for question in questions]
    shown = [bare, across]
    return [
        f"{size:,}",
        f"{statistics.median(shown[0]) * 1000:.2f} ms",
        f"{statistics.median(across) * 1000:.2f} ms",
        f"{percentile(across, 0.99) * 1000:.2f} ms",
        f"{sum(found) / len(found):.3f}",
        f"{statistics.median(within) * 1000:.2f} ms",
        f"{percentile(within, 0.99) * 1000:.2f} ms",
        f"{cold:.2f} s",
        f"{index.held()[1] / 1024**2:.0f}",
    ]


def _asking(tx: Tx, index: Nearest, reach: list[str] | None) -> Callable[[np.ndarray], list[str]]:
    def ask(question: np.ndarray) -> list[str]:
        near = index.find(tx, question, reach=reach, allowed=lambda refs: refs, limit=10)
        return [ref for ref, _ in near]

    return ask


def _timed(ask: Callable[[np.ndarray], list[str]], question: np.ndarray) -> float:
    began = time.perf_counter()
    ask(question)
    return time.perf_counter() - began


def fill(database: Database, made: np.ndarray) -> list[str]:
    """Vectors by bulk, of memories that are not there: the index asks nobody but its filter."""
    refs = [f"m{number:025}" for number in range(len(made))]

    def begin(tx: Tx) -> None:
        vectors.enter(tx, SPACE, AT)
        for number in range(PROJECTS):
            tx.run(
                """INSERT INTO projects (id, slug, name, created_by, created_at)
                   VALUES (:id, :id, :id, 'bench', :at)""",
                id=f"p{number}",
                at=AT,
            )

    database.write("global", begin)
    for start in range(0, len(made), _PAGE):
        database.write("global", lambda tx, start=start: _page(tx, refs, made, start))
    return refs


def _page(tx: Tx, refs: list[str], made: np.ndarray, start: int) -> None:
    for number in range(start, min(start + _PAGE, len(made))):
        tx.run(
            """INSERT INTO vectors (ref, space, project_id, revision, digest, numbers)
               VALUES (:ref, :space, :project, 1, '', :numbers)""",
            ref=refs[number],
            space=SPACE.id,
            project=f"p{number % PROJECTS}",
            numbers=made[number].tobytes(),
        )


if __name__ == "__main__":
    raise SystemExit(main())
