"""The index of texts: where they lie, what leaves it, and what happens when it rots."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from minutebook.ledger import fulltext
from minutebook.operations import memories, search, system
from tests.conftest import Clock
from tests.engine.extracting import night
from tests.houses import House
from tests.lived_in import canonical


def test_the_texts_of_a_project_lie_beside_each_other_and_move_with_the_memory(house: House) -> None:
    other = house.as_("Mother", project=house.new_project("Sulaco"))
    for number in range(4):
        house.mother(memories.write, type="project", content=f"Ours is number {number}.", slug=f"a{number}")
        other(memories.write, type="project", content=f"Theirs is number {number}.", slug=f"b{number}")
    moved = house.mother(memories.write, type="project", content="Known to everybody soon.", slug="wide")
    house.mother(memories.rescope, ref="wide", scope="global")
    with house.service.database.read() as tx:
        for row in tx.all(
            "SELECT t.doc, t.project_id, m.project_id AS home FROM texts t JOIN memories m ON m.id = t.ref"
        ):
            assert row["project_id"] == row["home"]
            place = fulltext.range_of(tx, row["home"])
            assert place is not None
            assert place.low <= row["doc"] <= place.high
        ours, theirs = fulltext.range_of(tx, house.project), fulltext.range_of(tx, "global")
        assert ours is not None
        assert theirs is not None
        assert ours.high < theirs.low or theirs.high < ours.low
        assert fulltext.count(tx, [ours]) >= 4
    assert moved.memory
    assert [hit.slug for hit in other(search.search, query="everybody").hits] == ["wide"]


def test_erased_words_leave_the_texts_the_index_and_the_spellings(house: House) -> None:
    house.mother(memories.write, type="project", content="The xylophone of a musician.", slug="gone")
    house.mother(memories.write, type="project", content="Another musician plays.", slug="stays")
    assert {row["term"] for row in house.rows("SELECT term FROM spellings WHERE gram = ''")} >= {
        "xylophon",
        "musician",
    }
    house.mother(memories.erase, ref="gone", reason="privacy")
    held = {row["term"] for row in house.rows("SELECT term FROM spellings")}
    assert "xylophon" not in held
    assert "musician" in held
    assert house.jones(search.search, query="xylophone", status="all").state == "empty"
    assert house.jones(search.search, query="xylophon").hits == ()
    house.mother(memories.write, type="project", content="A xylophone was bought.", slug="new")
    assert "xylophon" in {row["term"] for row in house.rows("SELECT term FROM spellings")}
    assert [hit.slug for hit in house.jones(search.search, query="xylophne").hits] == ["new"]


def test_a_write_that_was_undone_taught_no_word(house: House) -> None:
    house.mother(memories.write, type="project", content="The barometer falls.", slug="x", dry_run=True)
    assert house.rows("SELECT term FROM spellings WHERE term = 'baromet'") == []
    house.mother(memories.write, type="project", content="The barometer falls.", slug="x")
    assert house.rows("SELECT term FROM spellings WHERE gram = '' AND term = 'baromet'") == [
        {"term": "baromet"}
    ]


@pytest.fixture
def rotten(tmp_path: Path, clock: Clock) -> House:
    """A SQLite ledger in whose full-text index every byte of the content was turned over while it was closed."""
    house = House(f"sqlite://{tmp_path}/ledger.db", tmp_path, clock)
    for number in range(200):
        house.mother(
            memories.write, type="project", content=f"Tide number {number} of the harbour.", slug=f"t{number}"
        )
    house.close()
    connection = apsw.Connection(str(tmp_path / "ledger.db"))
    rows = connection.execute("SELECT id, block FROM fulltext_data WHERE id > 10").fetchall()
    for id, block in rows:
        spoilt = bytes(byte ^ 0x5A for byte in block)
        connection.execute("UPDATE fulltext_data SET block = ? WHERE id = ?", (spoilt, id))
    connection.close()
    house.open()
    return house


def test_a_rotten_index_is_told_by_the_search_and_by_health_and_mended_by_a_reindex(rotten: House) -> None:
    before = canonical(rotten)
    found = rotten.jones(search.search, query="tide harbour")
    assert (found.state, found.hits) == ("failed", ())
    assert "minutebook reindex" in found.sentence
    health = rotten.mother(system.health)
    assert health.state != "ok"
    assert any("reindex" in finding.advice or "fulltext" in finding.what for finding in health.findings)
    rotten.mother(system.reindex)
    assert len(rotten.jones(search.search, query="tide harbour").hits) == 10
    after = canonical(rotten)
    assert after == before
    assert rotten.mother(system.health).state in ("ok", "degraded")
    rotten.close()


def test_one_byte_that_turned_over_is_noticed_at_night_and_what_is_derived_built_anew(
    tmp_path: Path, clock: Clock
) -> None:
    house = House(f"sqlite://{tmp_path}/ledger.db", tmp_path, clock)
    for number in range(20):
        house.mother(
            memories.write, type="project", content=f"Tide {number} of the harbour.", slug=f"t{number}"
        )
    before = canonical(house)
    house.close()
    connection = apsw.Connection(str(tmp_path / "ledger.db"))
    id, block = connection.execute(
        "SELECT id, block FROM fulltext_data WHERE instr(block, CAST('harbour' AS BLOB)) ORDER BY id DESC"
    ).fetchone()  # type: ignore[misc]
    connection.execute(
        "UPDATE fulltext_data SET block = ? WHERE id = ?", (block.replace(b"harbour", b"harbous", 1), id)
    )
    connection.close()
    house.open()

    def found() -> int:
        return len(house.jones(search.search, query="harbour", limit=50).hits)

    assert found() < 20
    assert "damaged" in night(house, clock)
    assert found() == 20
    assert canonical(house) | {"jobs": []} == before
    assert "damaged" not in night(house, clock)
    house.close()
