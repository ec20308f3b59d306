"""Raw material: who may read it, how it is erased with all that came of it, and how it travels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from minutebook.operations import captures, inbox, memories, runs, sessions, sources, system, tombstones
from tests.engine.extracting import work
from tests.houses import House
from tests.invariants import state_of, violations
from tests.operations.asking import code

SECRETIVE = "We decided to use Zanzibar instead of MySQL for the billing of Wilhelmina Quux."
TALK = f"Ana: hello there\nSebas: {SECRETIVE}\nSebas: Never push directly to main, please."
NAMES = ("Zanzibar", "Wilhelmina", "zanzibar", "wilhelmina")


def captured(house: House, text: str = TALK) -> str:
    receipt = house.mother(
        captures.conversation, content=text, consent="Wilhelmina Quux agreed", title="On Zanzibar"
    )
    work(house)
    return receipt.source


def traces(house: House) -> list[str]:
    """Where anything of it still stands."""
    state = state_of(house.service.database)
    return [
        f"{table}: {json.dumps(row)}"
        for table, rows in state.items()
        for row in rows
        if any(name in json.dumps(row, ensure_ascii=False) for name in NAMES)
    ]


def test_words_are_shown_by_lines_to_who_brought_them_and_to_reviewers(house: House) -> None:
    source = captured(house)
    shown = house.dallas(sources.show, ref=source, first=2, last=2)
    assert (shown.text, shown.first, shown.last, shown.lines) == (TALK.split("\n")[1], 2, 2, 3)
    assert shown.consent == "Wilhelmina Quux agreed"
    assert code(house.jones, sources.show, ref=source) == "not_allowed"
    assert code(house.ripley, sources.show, ref=source) == "not_found"
    own = house.ripley(captures.note, content="a note of my own").source
    assert house.ripley(sources.show, ref=own).text == "a note of my own"
    assert [line.id for line in house.ripley(sources.list_).items] == [own]
    assert len(house.dallas(sources.list_).items) == 2


def test_erasing_a_source_takes_everything_with_it_that_came_out_of_it(house: House) -> None:
    source = captured(house)
    for line in house.mother(inbox.list_).items:
        if line.type == "technical":
            house.mother(inbox.promote, ref=line.slug)
    assert traces(house)
    house.mother(sources.erase, ref=source, reason="consent was withdrawn")
    assert traces(house) == []
    assert violations(state_of(house.service.database)) == []
    shown = house.mother(sources.show, ref=source)
    assert (shown.state, shown.title, shown.text, shown.consent) == ("erased", "[erased]", "", None)
    assert code(house.mother, sources.erase, ref=source, reason="again") == "erased"
    assert house.mother(inbox.list_).items == ()
    assert {line.cause for line in house.mother(tombstones.list_).items} == {"erased"}
    # and it comes back by no way
    assert code(house.mother, captures.conversation, content=TALK, consent="x") == "erased"
    captured(house, TALK + "\nAna: bye now")
    assert house.mother(inbox.list_).items == ()


def test_erasing_a_memory_reaches_the_lines_it_came_from_and_what_runs_said_of_it(house: House) -> None:
    run = house.ripley(runs.start, task=f"find out whether {SECRETIVE}").run.id
    house.dallas(sessions.start, focus="billing")
    transcript = "\n".join(
        json.dumps({"type": "user", "message": {"role": "user", "content": words}})
        for words in (SECRETIVE, "Never call the production API from tests.")
    )
    report = house.ripley(runs.finish, ref=run, summary=f"It is so: {SECRETIVE}", transcript=transcript)
    work(house)
    line = next(line for line in house.mother(inbox.list_).items if line.type == "technical")
    house.mother(inbox.promote, ref=line.slug)
    house.mother(memories.erase, ref=line.slug, reason="her name is nobody's business")
    assert traces(house) == []
    left = house.mother(sources.show, ref=report.transcript)
    assert left.state == "kept"
    assert left.text.split("\n")[0] == "[erased]"
    assert "production API" in left.text
    assert violations(state_of(house.service.database)) == []


def test_an_archive_carries_sources_and_ingestion_events_and_brings_nothing_back_that_was_erased(
    house: House, tmp_path: Path
) -> None:
    source = captured(house)
    old = tmp_path / "old.zip"
    house.mother(system.export, file=str(old))
    before: dict[str, list[dict[str, Any]]] = state_of(house.service.database)
    other = House(f"sqlite://{tmp_path}/other/ledger.db", tmp_path / "other-home", house.clock, seed=2)
    try:
        other.mother(system.import_, file=str(old), skip_conflicts=True)
        after = state_of(other.service.database)
        for table in ("sources", "ingestion_events"):
            assert after[table] == before[table]
        # Erased there, then the old archive again: the words stay away.
        there = other.as_("Mother", project=house.project)
        there(sources.erase, ref=source, reason="consent was withdrawn")
        other.mother(system.import_, file=str(old), skip_conflicts=True)
        assert traces(other) == []
    finally:
        other.close()


def test_a_ledger_that_only_knows_of_an_erasure_takes_the_words_out_of_what_comes_in(
    house: House, tmp_path: Path
) -> None:
    """A memory was erased; an archive from before brings a source that says it, which is not here yet."""
    captured(house)
    old = tmp_path / "old.zip"
    house.mother(system.export, file=str(old))
    other = House(f"sqlite://{tmp_path}/other/ledger.db", tmp_path / "other-home", house.clock, seed=2)
    try:
        wrote = other.mother(memories.write, type="technical", title="T", content=SECRETIVE)
        other.mother(memories.erase, ref=wrote.memory, reason="private")
        other.mother(system.import_, file=str(old), skip_conflicts=True)
        rows = other.rows("SELECT content FROM sources")
        assert [row["content"].split("\n")[1] for row in rows] == ["[erased]"]
        assert "Never push" in rows[0]["content"]
    finally:
        other.close()
