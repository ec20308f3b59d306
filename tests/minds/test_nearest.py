"""The nearest vectors: exactly these, whatever may be seen, and nothing of another project."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np
import pytest

from minutebook.ledger import memories, vectors
from minutebook.ledger.database import Tx
from minutebook.ledger.vectors import Vector
from minutebook.minds.nearest import Nearest, Sizes
from minutebook.model.meaning import Space
from minutebook.model.memories import Memory, Status, Type
from minutebook.model.scopes import Scope
from tests.houses import House

WIDTH = 64
SPACE = Space("made", "0" * 64, WIDTH)
CODED = Sizes(exact=50, rescored=64)
#: Whole vectors, of which the bits are compared first.
BESIDE = Sizes(scanned=10, compared=64)
chance = np.random.default_rng(7)
#: As those of real models: all of them point somewhat the same way.
DRIFT = chance.normal(size=WIDTH) * 3


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def some(count: int, parts: int = 1) -> np.ndarray:
    return unit(chance.normal(size=(count, parts, WIDTH)) + DRIFT).astype(np.float16)


@pytest.fixture
def project(house: House) -> str:
    house.service.database.write("global", lambda tx: vectors.enter(tx, SPACE, "2026-01-01T00:00:00.000000Z"))
    return house.project


def stored(house: House, rows: np.ndarray, project: str | None = None) -> list[str]:
    """Memories whose vectors are these."""
    refs = [house.service.world.ids.new() for _ in rows]

    def work(tx: Tx) -> None:
        first = max(row["seq"] for row in tx.all("SELECT COALESCE(max(seq), 0) AS seq FROM memories")) + 1_000
        for seq, ref in enumerate(refs, first):
            memories.insert(tx, _memory(ref, project or house.project, seq), "", "verdict")

    house.service.database.write(project or house.project, work)
    put(house, refs, rows, project)
    return refs


def _memory(ref: str, project: str, seq: int) -> Memory:
    return Memory(
        id=ref,
        scope=Scope.of_project(project),
        type=Type.LEARNING,
        slug=ref.lower(),
        title=ref,
        content=ref,
        status=Status.ACTIVE,
        author="ripley",
        author_role="agent",
        origin="python",
        decided_by="ripley",
        decided_role="agent",
        created_at="2026-01-01T00:00:00.000000Z",
        updated_at="2026-01-01T00:00:00.000000Z",
        seq=seq,
    )


def put(house: House, refs: Sequence[str], rows: np.ndarray, project: str | None = None) -> None:
    def work(tx: Tx) -> None:
        for ref, row in zip(refs, rows, strict=True):
            assert vectors.put(
                tx, SPACE.id, Vector(ref, project or house.project, 1, "d", row.astype(np.float16).tobytes())
            )

    house.service.database.write(project or house.project, work)


def everything(refs: Sequence[str]) -> Collection[str]:
    return refs


def found(
    house: House,
    index: Nearest,
    question: np.ndarray,
    limit: int = 10,
    reach: Sequence[str] | None = (),
    allowed: Callable[[Sequence[str]], Collection[str]] = everything,
) -> list[str]:
    reach = [house.project, "global"] if reach == () else reach
    with house.service.database.read() as tx:
        near = index.find(tx, question.astype(np.float32), reach=reach, allowed=allowed, limit=limit)
    values = [value for _, value in near]
    assert values == sorted(values, reverse=True)
    return [ref for ref, _ in near]


def truth(refs: Sequence[str], rows: np.ndarray, question: np.ndarray) -> list[str]:
    likeness = (rows.astype(np.float32) @ question.astype(np.float32)).max(axis=1)
    return [refs[place] for place in np.argsort(-likeness, kind="stable")]


def test_the_nearest_come_first_each_once_however_many_passages_they_have(house: House, project: str) -> None:
    rows = some(30, parts=3)
    refs = stored(house, rows)
    index = Nearest(SPACE.id, WIDTH)
    for number in range(5):
        question = rows[number, 1]
        assert found(house, index, question, limit=30) == truth(refs, rows, question)


def test_however_few_may_be_seen_they_are_found(house: House, project: str) -> None:
    rows = some(120)
    refs = stored(house, rows)
    question = rows[0, 0]
    farthest = truth(refs, rows, question)[-2:]
    for sizes in (Sizes(), CODED, BESIDE):
        index = Nearest(SPACE.id, WIDTH, sizes)
        assert found(house, index, question, allowed=lambda some: set(some) & set(farthest)) == farthest


def test_nothing_is_returned_that_was_not_let_through_and_nothing_of_a_project_out_of_reach(
    house: House, project: str
) -> None:
    rows = some(10)
    refs = stored(house, rows)
    other = house.new_project("Sulaco")
    hidden = stored(house, rows[:1], project=other)[0]
    for sizes in (Sizes(), Sizes(exact=1), Sizes(scanned=1)):
        index = Nearest(SPACE.id, WIDTH, sizes)
        assert hidden not in found(house, index, rows[0, 0], limit=100)
        assert hidden in found(house, index, rows[0, 0], limit=100, reach=None)
        # Also now that its vectors are in memory.
        assert hidden not in found(house, index, rows[0, 0], limit=100)
        seen: list[str] = []
        assert found(house, index, rows[0, 0], allowed=lambda some, seen=seen: seen.extend(some) or []) == []
        assert set(seen) == set(refs)


def test_vectors_that_are_added_replaced_or_removed_count_from_the_next_search_on(
    house: House, project: str
) -> None:
    rows = some(6)
    for sizes in (Sizes(), Sizes(exact=2), Sizes(scanned=2)):
        refs = stored(house, rows[:4])
        index = Nearest(SPACE.id, WIDTH, sizes)
        assert found(house, index, rows[3, 0])[0] == refs[3]
        put(house, refs[:1], rows[3:4] * 1)
        put(house, refs[3:4], rows[5:6])
        assert found(house, index, rows[3, 0])[0] == refs[0]
        assert found(house, index, rows[5, 0])[0] == refs[3]
        index.forget([refs[0]])
        assert refs[0] not in found(house, index, rows[3, 0], limit=100)
        house.service.database.write("global", lambda tx: tx.run("DELETE FROM vectors"))


def test_bits_with_the_mean_taken_away_find_what_the_exact_search_finds(house: House, project: str) -> None:
    themes = chance.normal(size=(20, 1, WIDTH))
    rows = unit(np.repeat(themes, 15, axis=0) + 0.4 * chance.normal(size=(300, 1, WIDTH)) + DRIFT)
    rows = rows.astype(np.float16)
    refs = stored(house, rows)
    coded, exact = Nearest(SPACE.id, WIDTH, CODED), Nearest(SPACE.id, WIDTH)
    beside = Nearest(SPACE.id, WIDTH, BESIDE)
    shares = []
    for question in unit(themes[:, 0] + 0.3 * chance.normal(size=(20, WIDTH)) + DRIFT):
        wanted = found(house, exact, question)
        assert wanted == truth(refs, rows, question)[:10]
        by_bits = found(house, coded, question)
        shares.append(len(set(by_bits) & set(wanted)) / 10)
        assert found(house, beside, question) == by_bits
    # Eight bytes for each of 300, of which 64 are looked at closely.
    assert sum(shares) / len(shares) > 0.9
    assert coded.held()[1] < exact.held()[1]


def test_what_was_not_searched_for_longest_gives_way(house: House, project: str) -> None:
    rows = some(20)
    stored(house, rows)
    other = house.new_project("Sulaco")
    stored(house, rows, project=other)
    index = Nearest(SPACE.id, WIDTH, Sizes(bytes=15_000))
    found(house, index, rows[0, 0])
    assert index.held()[0] == 20
    found(house, index, rows[0, 0], reach=[other])
    assert index.held()[0] == 20
    assert len(found(house, index, rows[0, 0], reach=None, limit=100)) == 40


def test_a_search_across_all_leaves_one_within_a_project_as_quick_as_before(
    house: House, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = some(20)
    stored(house, rows)
    others = [house.new_project(name) for name in ("Sulaco", "Narcissus", "Auriga")]
    for other in others:
        stored(house, some(20), project=other)
    index = Nearest(SPACE.id, WIDTH, Sizes(scanned=25, exact=50, rescored=64))
    exact = found(house, index, rows[3, 0])
    assert len(found(house, index, rows[3, 0], reach=None, limit=100)) == 80
    found(house, index, rows[3, 0], reach=[others[1]])
    found(house, index, rows[3, 0], reach=[others[2]])
    found(house, index, rows[3, 0])
    monkeypatch.setattr(vectors, "numbers_of", lambda *_: pytest.fail("read from the ledger"))
    assert found(house, index, rows[3, 0]) == exact
