"""Notes: what a hand saves is a write with a verdict, and the files follow the ledger."""

from __future__ import annotations

from pathlib import Path

import pytest

from minutebook.model.files import FileState, Wish
from minutebook.operations import inbox, memories, verdicts
from tests.files.desks import MEMORY, Desk
from tests.houses import House

AIRLOCK = f"{MEMORY}/learning_airlock.md"


@pytest.fixture
def desk(house: House, tmp_path: Path) -> Desk:
    return Desk(house, tmp_path / "ship")


def airlock(house: House, **more: str) -> str:
    """A memory of Mother's own, and its id."""
    done = house.mother(
        memories.write, type="learning", title="Airlock", content="It sticks.", slug="airlock", **more
    )
    return done.memory


def test_what_informs_the_project_is_a_note_and_what_governs_is_none(house: House, desk: Desk) -> None:
    airlock(house)
    house.mother(memories.write, type="architectural", title="One engine", content="Only one.")
    desk.settle()
    assert desk.names() == ["MEMORY.md", "learning_airlock.md"]
    assert desk.read(AIRLOCK).endswith('revision: "1"\n---\n\nIt sticks.\n')
    assert desk.read(f"{MEMORY}/MEMORY.md") == "- [Airlock](learning_airlock.md)\n"
    assert desk.lines() == {}


def test_an_edit_is_a_write_and_the_hands_file_is_left_as_it_was_saved(house: House, desk: Desk) -> None:
    id = airlock(house)
    desk.settle()
    desk.edit(AIRLOCK, "It sticks.", "It sticks when cold.")
    saved = desk.read(AIRLOCK)
    assert desk.settle()[AIRLOCK].done == "update"
    assert house.mother(memories.show, ref=id).memory.content == "It sticks when cold."
    assert desk.read(AIRLOCK) == saved
    verdict = house.mother(verdicts.show, id=house.mother(verdicts.list_).items[0].id)
    assert (verdict.op, verdict.actor, verdict.role, verdict.origin) == ("update", "mother", "agent", "file")
    assert desk.settle() == {}
    assert desk.lines() == {}


def test_a_revert_brings_the_file_back_to_what_it_was(house: House, desk: Desk) -> None:
    airlock(house)
    desk.settle()
    desk.edit(AIRLOCK, "It sticks.", "It sticks when cold.")
    desk.settle()
    house.mother(verdicts.revert, id=house.mother(verdicts.list_).items[0].id, reason="it does not")
    assert desk.follow()[AIRLOCK].done == "written"
    assert "It sticks.\n" in desk.read(AIRLOCK)


def test_saving_three_times_without_reloading_is_three_writes(house: House, desk: Desk) -> None:
    id = airlock(house)
    desk.settle()
    text = desk.read(AIRLOCK)
    for words in ("Once.", "Twice.", "Thrice."):
        desk.write(AIRLOCK, text.replace("It sticks.", words))
        assert desk.settle()[AIRLOCK].done == "update"
    assert house.mother(memories.show, ref=id).memory.revision == 4
    assert house.mother(memories.show, ref=id).memory.content == "Thrice."


def test_a_new_file_is_added_and_keeps_its_name(house: House, desk: Desk) -> None:
    desk.write(f"{MEMORY}/hull.md", "---\ntitle: The hull\ntype: learning\ntags: ship\n---\n\nIt is thin.\n")
    assert desk.settle()[f"{MEMORY}/hull.md"].done == "add"
    memory = house.mother(memories.show, ref="hull").memory
    assert (memory.title, memory.content, memory.tags, memory.author) == (
        "The hull",
        "It is thin.",
        ("ship",),
        "mother",
    )
    assert desk.names() == ["MEMORY.md", "hull.md"]
    assert desk.read(f"{MEMORY}/MEMORY.md") == "- [The hull](hull.md)\n"


def test_an_edit_on_an_old_base_is_a_proposal_and_both_versions_stay(house: House, desk: Desk) -> None:
    id = airlock(house)
    desk.settle()
    house.mother(memories.edit, ref=id, content="It was mended.")
    desk.edit(AIRLOCK, "It sticks.", "It sticks when cold.")
    saved = desk.read(AIRLOCK)
    assert desk.settle()[AIRLOCK].done == "proposed"
    assert house.mother(memories.show, ref=id).memory.content == "It was mended."
    assert desk.read(AIRLOCK) == saved
    line = desk.lines()[AIRLOCK]
    assert line.state is FileState.CONFLICT
    waiting = house.mother(inbox.list_).items
    assert [(p.agent, p.would) for p in waiting] == [("file", "update")]
    assert house.mother(inbox.show, ref=waiting[0].slug).proposal.content == "It sticks when cold."
    assert desk.settle() == {}


@pytest.mark.parametrize("verb", ["promote", "reject"])
def test_a_conflict_is_settled_by_a_reviewer_and_the_file_follows(
    house: House, desk: Desk, verb: str
) -> None:
    id = airlock(house)
    desk.settle()
    house.mother(memories.edit, ref=id, content="It was mended.")
    desk.edit(AIRLOCK, "It sticks.", "It sticks when cold.")
    desk.settle()
    slug = house.mother(inbox.list_).items[0].slug
    if verb == "promote":
        house.mother(inbox.promote, ref=slug)
    else:
        house.mother(inbox.reject, ref=slug, reason="it was mended")
    desk.follow()
    stands = house.mother(memories.show, ref=id).memory.content
    assert stands == ("It sticks when cold." if verb == "promote" else "It was mended.")
    assert stands in desk.read(AIRLOCK)
    assert desk.lines() == {}


def test_a_conflict_that_the_hand_settles_itself_takes_its_proposal_back(house: House, desk: Desk) -> None:
    id = airlock(house)
    desk.settle()
    house.mother(memories.edit, ref=id, content="It was mended.")
    desk.edit(AIRLOCK, "It sticks.", "It sticks when cold.")
    desk.settle()
    desk.edit(AIRLOCK, 'revision: "1"', "revision: 2")
    desk.edit(AIRLOCK, "It sticks when cold.", "It was mended, and sticks when cold.")
    assert desk.settle()[AIRLOCK].done == "update"
    assert house.mother(memories.show, ref=id).memory.content == "It was mended, and sticks when cold."
    assert house.mother(inbox.list_).items == ()


def test_a_note_that_is_deleted_is_retired_at_the_second_look_and_comes_back_by_revert(
    house: House, desk: Desk, clock: object
) -> None:
    id = airlock(house)
    desk.settle()
    (desk.root / AIRLOCK).unlink()
    assert desk.settle()[AIRLOCK].done == "missed"
    assert desk.lines()[AIRLOCK].state is FileState.WAITING
    assert house.mother(memories.show, ref=id).memory.status == "active"
    clock.advance(seconds=5)  # type: ignore[attr-defined]
    assert desk.settle()[AIRLOCK].done == "retired"
    assert house.mother(memories.show, ref=id).memory.status == "retired"
    assert desk.names() == []
    house.mother(verdicts.revert, id=house.mother(verdicts.list_).items[0].id, reason="it was right")
    assert desk.follow()[AIRLOCK].done == "written"
    assert desk.names() == ["MEMORY.md", "learning_airlock.md"]


def test_the_note_of_an_agent_is_changed_by_a_file_only_after_review(house: House, desk: Desk) -> None:
    done = house.ripley(
        memories.write, type="learning", title="Cat", content="It hisses.", slug="cat", scope="project"
    )
    desk.settle()
    path = f"{MEMORY}/learning_cat.md"
    desk.edit(path, "It hisses.", "It purrs.")
    assert desk.settle()[path].done == "proposed"
    line = desk.lines()[path]
    assert line.state is FileState.REFUSED
    assert "was written by ripley" in line.why
    slug = house.mother(inbox.list_).items[0].slug
    house.mother(inbox.promote, ref=slug)
    desk.follow()
    assert house.mother(memories.show, ref=done.memory).memory.content == "It purrs."
    assert desk.lines() == {}


def test_many_deletions_at_once_wait_for_a_word(house: House, desk: Desk, clock: object) -> None:
    for number in range(8):
        house.mother(
            memories.write, type="learning", title=f"Fact {number}", content=f"{number} of eight things."
        )
    desk.settle()
    for name in desk.names()[1:7]:
        (desk.root / MEMORY / name).unlink()
    desk.settle()
    clock.advance(seconds=60)  # type: ignore[attr-defined]
    assert desk.settle() == {}
    assert {line.state for line in desk.lines().values()} == {FileState.WAITING}
    assert len(desk.lines()) == 6
    assert len(house.mother(memories.list_).items) == 8
    assert len(desk.settle(Wish(bring_back=True))) == 6
    assert desk.lines() == {}
    for name in desk.names()[1:7]:
        (desk.root / MEMORY / name).unlink()
    desk.settle(Wish(confirm_deletions=True))
    assert len(house.mother(memories.list_).items) == 2
