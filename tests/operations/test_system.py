"""The house itself: health, rebuilding what is derived, and who may ask for what."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from minutebook.ledger.database import Tx
from minutebook.model.actors import Role
from minutebook.model.errors import MinutebookError
from minutebook.operations import actors, inbox, memories, projects, search, system
from tests import invariants
from tests.conftest import Clock
from tests.houses import House
from tests.lived_in import canonical, live_in
from tests.operations.asking import code


def write(house: House, *statements: str) -> None:
    def work(tx: Tx) -> None:
        for sql in statements:
            tx.run(sql)

    house.service.database.write("global", work)


# --- health ------------------------------------------------------------------------------------------


def test_health_tells_how_the_ledger_is_to_everybody(house: House) -> None:
    live_in(house)
    assert house.jones(system.health).state == "ok"
    found = house.mother(system.health)
    facts = house.service.database.facts()
    assert (found.state, found.findings) == ("ok", ())
    assert (found.engine, found.schema_version) == (facts.engine, facts.schema_version)
    assert (found.size_bytes or 0) > 0
    assert (found.owner.pid, found.writer.waiting) == (facts.owner_pid or 0, 0)
    assert found.disk_free_bytes > 0
    counted = canonical(house)
    assert found.memories_active == sum(row["status"] == "active" for row in counted["memories"])
    assert found.proposals_pending == sum(row["status"] == "pending" for row in counted["proposals"])
    assert found.tombstones_standing == sum(row["lifted_at"] is None for row in counted["tombstones"])
    assert (found.projects, found.last_backup_at) == (1, None)
    assert found.index is not None
    assert (found.index.share, found.index.texts_missing) == (1.0, 0)


def test_texts_that_cannot_be_found_are_told_and_mended(house: House) -> None:
    live_in(house)
    write(house, "DELETE FROM texts")
    sick = house.mother(system.health)
    assert (sick.state, sick.index is not None) == ("degraded", True)
    missing = 0 if sick.index is None else sick.index.texts_missing
    assert missing > 5
    assert sick.findings[0].advice == "minutebook reindex"
    done = house.mother(system.reindex)
    assert done.texts_mended == missing
    assert house.jones(system.health).state == "ok"
    assert {hit.slug for hit in house.ripley(search.search, query="megabytes").hits} >= {"proxy"}


def test_a_full_disk_is_a_failing_state(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    class Usage(NamedTuple):
        total: int = 1
        used: int = 1
        free: int = 1

    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage())
    found = house.jones(system.health)
    assert found.state == "failing"
    assert "1 bytes are free" in found.findings[0].what


def test_a_ledger_without_a_backup_is_told_after_a_month(house: House, clock: Clock) -> None:
    assert house.jones(system.health).state == "ok"
    clock.advance(days=31)
    assert "no backup" in house.jones(system.health).findings[0].what
    made = house.mother(system.backup)
    healthy = house.mother(system.health)
    assert (healthy.state, healthy.last_backup) == ("ok", made.file)
    clock.advance(days=31)
    assert house.jones(system.health).state == "degraded"


def test_damage_is_a_failing_state(tmp_path: Path, clock: Clock) -> None:
    house = House(f"sqlite://{tmp_path}/ledger.db", tmp_path, clock)
    live_in(house)
    # An index that lacks an entry: the pages are whole, and the check finds the difference.
    root = house.rows("SELECT rootpage FROM sqlite_schema WHERE name = 'memories_by_status'")[0]["rootpage"]
    size = house.rows("PRAGMA page_size")[0]["page_size"]
    house.close()
    with (tmp_path / "ledger.db").open("r+b") as file:
        file.seek((root - 1) * size + 3)
        file.write(b"\x00\x01")  # one cell where there were several
    house.open()
    found = house.jones(system.health)
    assert found.state == "failing"
    assert "damaged" in found.findings[0].what
    assert "restore" in found.findings[0].advice
    house.close()


# --- reindex -----------------------------------------------------------------------------------------


def _derived(house: House) -> dict[str, list[dict[str, Any]]]:
    return {
        "texts": house.rows("SELECT ref, kind, project_id, terms FROM texts ORDER BY ref"),
        "spellings": house.rows("SELECT gram, term FROM spellings ORDER BY gram, term"),
        "bands": house.rows("SELECT * FROM bands ORDER BY project_id, band, ref"),
        "tags": house.rows("SELECT * FROM tags ORDER BY ref, tag"),
    }


HARM: dict[str, tuple[str, ...]] = {
    "emptied": ("DELETE FROM texts", "DELETE FROM bands", "DELETE FROM tags", "DELETE FROM spellings"),
    "wrong words": (
        "UPDATE texts SET terms = ' x | y '",
        "INSERT INTO spellings (gram, term) VALUES ('', 'nobody')",
    ),
    "orphans": (
        """INSERT INTO texts (doc, ref, kind, project_id, terms)
           VALUES (7, 'nobody', 'memory', 'global', ' a | b ')""",
        "INSERT INTO tags (ref, tag) VALUES ('nobody', 'x')",
        "INSERT INTO bands (project_id, band, ref) VALUES ('global', 7, 'nobody')",
    ),
    "stale": (
        "INSERT INTO bands (project_id, band, ref) SELECT project_id, 7, id FROM memories",
        "INSERT INTO tags (ref, tag) SELECT id, 'stale' FROM memories",
    ),
}


@pytest.mark.parametrize("harm", HARM)
def test_everything_derived_is_built_anew_from_what_is_canonical(house: House, harm: str) -> None:
    live_in(house)
    right, rows = _derived(house), canonical(house)
    write(house, *HARM[harm])
    assert _derived(house) != right
    house.mother(system.reindex)
    assert _derived(house) == right
    assert canonical(house) == rows
    assert invariants.violations(invariants.state_of(house.service.database)) == []


def test_a_spoilt_full_text_index_is_built_anew(tmp_path: Path, clock: Clock) -> None:
    house = House(f"sqlite://{tmp_path}/ledger.db", tmp_path, clock)
    live_in(house)
    write(house, "INSERT INTO fulltext (fulltext) VALUES ('delete-all')")
    assert not house.ripley(search.search, query="megabytes").hits
    house.mother(system.reindex)
    assert house.ripley(search.search, query="megabytes").hits
    house.close()


def test_others_write_while_everything_is_built_anew(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    from minutebook.ledger import derived

    live_in(house)
    monkeypatch.setattr(derived, "_AT_ONCE", 2)
    real = derived.memories.rederive
    written: list[str] = []

    def meanwhile(tx: Tx, memory: Any) -> None:
        real(tx, memory)
        if not written:
            written.append(memory.id)
            import threading

            thread = threading.Thread(
                target=lambda: house.dallas(
                    memories.write, type="project", content="Written in the middle of it all.", slug="middle"
                )
            )
            thread.start()
            threads.append(thread)

    threads: list[Any] = []
    monkeypatch.setattr(derived.memories, "rederive", meanwhile)
    house.mother(system.reindex)
    for thread in threads:
        thread.join()
    assert house.dallas(search.search, query="middle").hits
    assert invariants.violations(invariants.state_of(house.service.database)) == []


# --- who may ask, and what is noted ------------------------------------------------------------------


def test_only_operators_copy_move_or_rebuild_the_ledger(house: House, tmp_path: Path) -> None:
    house.mother(system.export, file=tmp_path / "a.zip")
    asked: list[tuple[Callable[..., Any], dict[str, Any]]] = [
        (system.backup, {}),
        (system.export, {"file": tmp_path / "b.zip"}),
        (system.import_, {"file": tmp_path / "a.zip"}),
        (system.reindex, {}),
    ]
    for function, arguments in asked:
        for person in ("jones", "ripley", "dallas"):
            assert code(getattr(house, person), function, **arguments) == "not_allowed"
    assert not (tmp_path / "b.zip").exists()


def test_an_operator_of_one_project_exports_that_one_alone_and_imports_nothing(
    house: House, tmp_path: Path
) -> None:
    other = house.new_project("Sulaco")
    house.mother(actors.add, name="Hicks", role=Role.OPERATOR, bound_to="sulaco")
    hicks = house.as_("Hicks", project=other)
    hicks(memories.write, type="project", content="The Sulaco carries marines.", slug="marines")
    house.dallas(memories.write, type="project", content="The Nostromo carries ore.", slug="ore")
    done = hicks(system.export, file=tmp_path / "mine.zip")
    assert done.project == other
    assert code(hicks, system.export, file=tmp_path / "all.zip", project="nostromo") == "not_found"
    house.mother(system.export, file=tmp_path / "all.zip")
    # An archive says of itself whose it is, and may hold an operator of the whole house all the same.
    for file in ("all.zip", "mine.zip"):
        assert code(hicks, system.import_, file=tmp_path / file) == "other_project"
    assert code(hicks, system.backup) == "other_project"
    assert code(hicks, system.reindex) == "other_project"


def test_what_is_done_to_a_copy_is_noted_in_it_and_not_in_the_log(house: House, tmp_path: Path) -> None:
    house.mother(system.export, file=tmp_path / "a.zip")
    before = house.rows("SELECT count(*) AS n FROM events")
    house.mother(system.import_, file=tmp_path / "a.zip")
    house.mother(system.backup)
    house.mother(system.reindex)
    assert house.rows("SELECT count(*) AS n FROM events") == before
    noted = house.rows("SELECT kind, actor, detail FROM maintenance ORDER BY id")
    assert [(row["kind"], row["actor"]) for row in noted] == [
        ("import", "mother"), ("backup", "mother"), ("reindex", "mother"),
    ]  # fmt: skip
    assert json.loads(noted[0]["detail"])["known"] > 0


def test_a_directory_whose_project_is_not_here_yet_may_ask_for_an_import(
    house: House, tmp_path: Path
) -> None:
    house.mother(system.export, file=tmp_path / "a.zip")
    stranger = house.as_("mother", project="01ARZ3NDEKTSV4RRFFQ69G5FAV")
    assert stranger(system.import_, file=tmp_path / "a.zip").applied
    assert stranger(system.health).state == "ok"
    with pytest.raises(MinutebookError):
        stranger(inbox.list_)


def test_an_archived_project_can_still_be_backed_up(house: House) -> None:
    house.mother(projects.archive, ref="nostromo")
    assert house.mother(system.backup).rows > 0
