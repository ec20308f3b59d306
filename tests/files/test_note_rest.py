"""Notes at rest: where nothing moved, no row is read; whatever moves is seen."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from minutebook.files.notes import NotesPart
from minutebook.ledger import readings
from minutebook.model.files import FileState, Wish
from minutebook.operations import memories
from tests.conftest import Clock
from tests.files.desks import MEMORY, PERSON, Desk
from tests.houses import House

ONE, TWO = f"{MEMORY}/learning_one.md", f"{MEMORY}/learning_two.md"
NEW = "---\ntitle: New\ntype: learning\n---\n\nIt is new.\n"


@pytest.fixture
def engine() -> str:
    return "sqlite"


@pytest.fixture
def desk(house: House, tmp_path: Path) -> Desk:
    """A desk whose last look found nothing to do."""
    desk = Desk(house, tmp_path / "ship")
    for name in ("one", "two"):
        house.mother(memories.write, type="learning", title=name.title(), content=f"It is {name}.", slug=name)
    desk.settle()
    assert desk.settle() == {}
    assert desk.lines() == {}
    return desk


def test_nothing_is_read_anew_where_nothing_moved(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(readings, "of_root", lambda *given: asked.append(given) or {})
    assert desk.notes.settle(desk.means, desk.place, Wish()) == []
    assert {line.state for line in desk.notes.look(desk.means, desk.place)} == {FileState.IN_STEP}
    assert asked == []


def test_whatever_moves_is_seen(house: House, desk: Desk, clock: Clock) -> None:
    # A file, by a hand that keeps its size and its time.
    stood = os.stat(desk.root / ONE)
    desk.edit(ONE, "It is one.", "It is uno.")
    os.utime(desk.root / ONE, ns=(stood.st_atime_ns, stood.st_mtime_ns))
    assert desk.settle()[ONE].done == "update"
    assert desk.settle() == {}
    # A file that is gone, and one that is new: here, and in a folder that was not there.
    os.unlink(desk.root / TWO)
    assert desk.settle()[TWO].done == "missed"
    clock.advance(seconds=4)
    assert desk.settle()[TWO].done == "retired"
    desk.write(TWO, NEW)
    desk.write(".minutebook/agents/ripley/memory/learning_new.md", NEW)
    assert {each.done for each in desk.settle().values()} >= {"add", "proposed"}
    # The ledger, which another process wrote to: this one's look at all files follows it.
    while desk.settle():
        pass
    house.mother(memories.edit, ref="one", content="It is the first.")
    assert desk.settle()[ONE].done == "written"


def test_what_another_process_took_in_is_no_news_and_what_it_left_is_done(house: House, desk: Desk) -> None:
    other = NotesPart(PERSON)
    desk.edit(ONE, "It is one.", "It is uno.")
    assert [each.done for each in other.settle(desk.means, desk.place, Wish()) if each.path == ONE] == [
        "update"
    ]
    assert desk.settle() == {}
    house.mother(memories.edit, ref="two", content="It is the second.")
    assert [each.path for each in other.settle(desk.means, desk.place, Wish())] == [
        TWO,
        f"{MEMORY}/MEMORY.md",
    ]
    assert desk.settle() == {}
    assert desk.lines() == {}
