"""The drop-box: a letter becomes proposals, once; what cannot be taken stays, and is listed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from minutebook.model.files import FileState
from minutebook.operations import inbox, memories, tombstones
from tests.files.desks import INBOX, Desk
from tests.houses import House

#: Put together here, so that no scanner of this repository finds one.
SECRET = "ghp_" + "aB3dE5gH7jK9" * 3
LETTER = f"{INBOX}/ripley-one-engine.md"
WORDS = (
    "### 2026-03-04: One engine\n**By:** Ripley\n**What:** We fly with one engine.\n**Why:** Fuel is dear.\n"
)


@pytest.fixture
def desk(house: House, tmp_path: Path) -> Desk:
    return Desk(house, tmp_path / "ship")


def waiting(house: House) -> list[tuple[str, str]]:
    return sorted((line.slug, line.agent) for line in house.mother(inbox.list_).items)


def test_a_letter_becomes_a_proposal_of_the_agent_that_it_names(house: House, desk: Desk) -> None:
    desk.write(LETTER, WORDS)
    assert desk.settle()[LETTER].done == "read"
    assert waiting(house) == [("ripley-one-engine", "ripley")]
    proposal = house.mother(inbox.show, ref="ripley-one-engine").proposal
    assert (proposal.origin, proposal.author_role, proposal.rationale) == ("file", "agent", "Fuel is dear.")
    (piece,) = proposal.evidence
    assert (piece.kind, piece.ref, piece.span) == ("source", proposal.source, "1-4")
    assert piece.digest
    kept = house.rows("SELECT content, locator FROM sources")
    assert kept == [{"content": WORDS, "locator": LETTER}]
    assert desk.settle() == {}
    assert desk.lines() == {}


def test_a_letter_that_was_taken_gives_way_to_its_mirrored_form(house: House, desk: Desk) -> None:
    desk.write(LETTER, WORDS)
    desk.write(
        f"{INBOX}/other-name.md",
        "---\nagent: Bishop\nslug: trim\ntype: process\ntitle: Trim\n---\n\nTrim it.\n",
    )
    desk.settle(mirror=True)
    assert desk.names(INBOX) == ["ripley-one-engine.md", "trim.md"]
    assert desk.read(LETTER).startswith("---\nagent: ripley\nslug: ripley-one-engine\n")
    assert desk.settle(mirror=True) == {}
    house.mother(inbox.promote, ref="trim")
    desk.settle(mirror=True)
    assert desk.names(INBOX) == ["ripley-one-engine.md"]


def test_the_same_letter_again_is_nothing_new_in_any_workspace_and_after_promotion(
    house: House, desk: Desk, tmp_path: Path
) -> None:
    other = Desk(house, tmp_path / "clone")
    desk.write(LETTER, WORDS)
    desk.settle()
    other.write(LETTER, WORDS)
    assert other.settle()[LETTER].why == "it was taken in before"
    house.mother(inbox.promote, ref="ripley-one-engine")
    os.utime(desk.root / LETTER)
    desk.settle()
    desk.write(f"{INBOX}/again.md", WORDS)
    desk.settle()
    assert len(house.mother(inbox.list_, status="all").items) == 1
    assert desk.lines() == {}


def test_a_letter_that_is_saved_again_changes_its_own_proposal(house: House, desk: Desk) -> None:
    desk.write(LETTER, WORDS)
    desk.settle(mirror=True)
    desk.edit(LETTER, "one engine.", "one engine, and a spare.")
    desk.settle(mirror=True)
    (line,) = house.mother(inbox.list_).items
    assert house.mother(inbox.show, ref=line.slug).proposal.content == "We fly with one engine, and a spare."
    assert desk.lines() == {}


def test_a_file_changes_no_proposal_that_came_by_another_way(house: House, desk: Desk) -> None:
    house.ripley(inbox.submit, type="process", title="Trim", content="Trim it.", slug="trim")
    desk.settle(mirror=True)
    path = f"{INBOX}/trim.md"
    desk.edit(path, "Trim it.", "Burn it.")
    desk.settle(mirror=True)
    desk.write(
        f"{INBOX}/x.md", "---\nagent: Ripley\nslug: trim\ntype: process\ntitle: Trim\n---\n\nBurn it all.\n"
    )
    desk.settle(mirror=True)
    assert house.mother(inbox.show, ref="trim").proposal.content == "Trim it."
    assert waiting(house) == [("trim", "ripley"), ("trim-2", "ripley")]


@pytest.mark.parametrize(
    ("said", "agent"),
    [
        ("Ripley", "ripley"),
        ("Keaton (Lead)", "keaton"),
        ("Mother", "file"),
        ("Dallas", "file"),
        ("Jones", "file"),
    ],
)
def test_a_name_is_believed_only_where_it_gives_no_authority(
    house: House, desk: Desk, said: str, agent: str
) -> None:
    desk.write(LETTER, WORDS.replace("Ripley", said))
    desk.settle()
    assert waiting(house)[0][1] == agent


def test_what_cannot_be_read_stays_and_is_listed_with_its_line_until_it_changes(
    house: House, desk: Desk
) -> None:
    bad = f"{INBOX}/bad.md"
    desk.write(bad, "\n\nno heading here\n")
    assert desk.settle()[bad].done == "left"
    line = desk.lines()[bad]
    assert (line.state, line.line) == (FileState.UNREADABLE, 3)
    assert desk.settle() == {}
    desk.write(bad, "# A heading\n\nNow it says something.\n")
    desk.settle()
    assert waiting(house) == [("bad", "file")]
    assert desk.lines() == {}


def test_a_secret_is_refused_and_nothing_of_it_is_kept(house: House, desk: Desk) -> None:
    desk.write(LETTER, f"{WORDS}{SECRET}\n")
    desk.settle()
    assert waiting(house) == []
    line = desk.lines()[LETTER]
    assert line.state is FileState.REFUSED
    assert SECRET not in line.why
    assert house.rows("SELECT id FROM sources") == []
    assert desk.read(LETTER).endswith(f"{SECRET}\n")


def test_a_claim_that_was_rejected_is_refused_and_listed(house: House, desk: Desk) -> None:
    desk.write(LETTER, WORDS)
    desk.settle()
    house.mother(inbox.reject, ref="ripley-one-engine", reason="two are safer")
    desk.write(f"{INBOX}/again.md", WORDS)
    desk.settle()
    assert waiting(house) == []
    line = desk.lines()[f"{INBOX}/again.md"]
    assert line.state is FileState.REFUSED
    assert "rejected by mother" in line.why
    assert len(house.mother(tombstones.list_).items) == 1


def test_several_entries_are_several_proposals(house: House, desk: Desk) -> None:
    more = "\n### 2026-03-05: Two tanks\n**By:** Bishop\n**What:** We carry two tanks.\n"
    desk.write(LETTER, WORDS + more)
    desk.settle(mirror=True)
    assert waiting(house) == [("ripley-one-engine", "ripley"), ("two-tanks", "bishop")]
    assert desk.names(INBOX) == ["ripley-one-engine.md", "two-tanks.md"]


def test_an_informing_letter_becomes_its_agents_memory_when_it_is_promoted(house: House, desk: Desk) -> None:
    desk.write(LETTER, "---\nagent: Ripley\nslug: cat\ntype: learning\ntitle: Cat\n---\n\nIt hisses.\n")
    desk.settle()
    done = house.mother(inbox.promote, ref="cat")
    assert str(house.mother(memories.show, ref=done.memory).memory.scope) == "agent:ripley"
