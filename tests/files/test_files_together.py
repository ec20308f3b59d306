"""Mirror, drop-box and notes behind the operations: one answer for all of them, and two at once do nothing twice."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minutebook.files import desk as desks
from minutebook.files import note_pass
from minutebook.files.drop_box_taking import DropBoxPart
from minutebook.files.notes import NotesPart
from minutebook.model.errors import MinutebookError
from minutebook.model.files import Wish
from minutebook.operations import actors, decisions, files, inbox, memories
from tests.files.desks import HOST, INBOX, MEMORY, PERSON, Desk
from tests.houses import House

LETTER = "# {title}\n\n**By:** {who}\n**What:** {title} for all of us, number {number}.\n"
NOTE = "---\ntitle: {title}\ntype: {type}\n---\n\n{title}, as it was found on day {number}.\n"


@pytest.fixture
def desk(house: House, tmp_path: Path) -> Desk:
    """A workspace, in a house whose operations keep files."""
    house.home.mkdir(exist_ok=True)
    office = desks.Desk(HOST, (DropBoxPart(PERSON), NotesPart(PERSON)))
    house.service.world = replace(house.service.world, files=office)
    return Desk(house, tmp_path / "ship")


def test_one_sync_settles_every_sort_of_file_and_status_tells_of_all(house: House, desk: Desk) -> None:
    house.mother(decisions.write, type="scope", title="Range", content="Stay in orbit.")
    house.mother(memories.write, type="learning", title="Airlock", content="It sticks.", slug="airlock")
    desk.write(f"{INBOX}/queue.md", LETTER.format(title="One queue", who="Ripley", number=1))
    desk.write(f"{INBOX}/bad.md", "nothing\n")
    house.mother(files.sync)
    assert (desk.root / ".squad/decisions.md").exists()
    assert (desk.root / MEMORY / "learning_airlock.md").exists()
    assert desk.read(f"{INBOX}/queue.md").startswith("---\nagent: ripley\n")
    (place,) = house.mother(files.status).workspaces
    assert [(line.path, line.kind.value, line.line) for line in place.files] == [
        (f"{INBOX}/bad.md", "letter", 1)
    ]
    assert house.mother(files.sync).sentence == "nothing to do"


def test_what_is_global_is_synced_in_the_home(house: House, desk: Desk) -> None:
    house.mother(
        memories.write, type="learning", title="Sea", content="It is wet.", slug="sea", scope="global"
    )
    everywhere = house.as_("Mother", project="global")
    everywhere(files.sync)
    assert (house.home / "memory/learning_sea.md").exists()
    (place,) = everywhere(files.status, every=True).workspaces
    assert (place.root, place.counts) == (str(house.home), {"in step": 2})
    assert not (house.home / ".squad").exists()


def test_deletions_are_confirmed_by_those_who_decide_and_are_their_word(house: House, desk: Desk) -> None:
    house.ripley(
        memories.write, type="learning", title="Cat", content="It hisses.", slug="cat", scope="project"
    )
    house.mother(files.sync)
    path = desk.root / MEMORY / "learning_cat.md"
    path.unlink()
    with pytest.raises(MinutebookError, match="Only those who decide"):
        house.ripley(files.sync, confirm_deletions=True)
    house.dallas(files.sync, confirm_deletions=True)
    assert house.mother(memories.list_).items == ()
    (verdict,) = house.rows("SELECT actor, role, origin FROM verdicts WHERE op = 'retire'")
    assert verdict == {"actor": "dallas", "role": "coordinator", "origin": "file"}


def test_two_that_read_the_same_files_at_once_do_nothing_twice(house: House, desk: Desk) -> None:
    for number in range(12):
        desk.write(
            f"{MEMORY}/note-{number}.md", NOTE.format(title=f"Thing {number}", type="learning", number=number)
        )
        desk.write(
            f"{INBOX}/letter-{number}.md", LETTER.format(title=f"Rule {number}", who="Bishop", number=number)
        )
    started = threading.Barrier(3)
    wrong: list[BaseException] = []

    def settle() -> None:
        # Each with a memory of its own, as two processes have.
        mine = Desk(house, desk.root)
        started.wait()
        try:
            mine.letters.settle(mine.means, mine.place, Wish())
            mine.notes.settle(mine.means, mine.place, Wish())
        except BaseException as error:  # noqa: BLE001 - told to the test, which fails with it
            wrong.append(error)

    threads = [threading.Thread(target=settle) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    desk.settle()
    assert len(house.mother(memories.list_, limit=100).items) == 12
    assert len(house.mother(inbox.list_, status="all", limit=100).items) == 12
    ops = {row["op"]: row["n"] for row in house.rows("SELECT op, count(*) AS n FROM verdicts GROUP BY op")}
    assert ops == {"add": 12, "hold": 12}
    assert desk.lines() == {}


def test_a_note_that_another_process_takes_in_while_we_look_is_in_step(
    house: House, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.write(f"{MEMORY}/late.md", NOTE.format(title="Late", type="learning", number=1))
    other, take = Desk(house, desk.root), note_pass.take

    def after_the_other(*args: Any) -> None:
        monkeypatch.setattr(note_pass, "take", take)
        other.settle()
        take(*args)

    monkeypatch.setattr(note_pass, "take", after_the_other)
    desk.settle()
    assert desk.lines() == other.lines() == {}
    assert len(house.mother(memories.list_).items) == 1
    assert house.rows("SELECT count(*) AS n FROM verdicts") == [{"n": 1}]
    assert desk.names() == ["MEMORY.md", "late.md"]


# --- separation of duties ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("type", ["architectural", "technical", "profile"])
def test_no_file_makes_a_decision_or_a_fact_about_a_person(house: House, desk: Desk, type: str) -> None:
    for name in ("Mother", "Dallas", "Ripley", "nobody"):
        desk.write(
            f"{INBOX}/{name}.md",
            f"---\nagent: {name}\nslug: {name}\ntype: {type}\ntitle: T\n---\n\nBy {name}.\n",
        )
    desk.write(f"{MEMORY}/x.md", NOTE.format(title="X", type=type, number=1))
    desk.settle()
    assert house.mother(memories.list_).items == ()
    rows = house.rows("SELECT DISTINCT agent, author_role, origin FROM proposals ORDER BY agent")
    assert [(row["agent"], row["author_role"], row["origin"]) for row in rows] == [
        ("file", "agent", "file"), ("nobody", "agent", "file"), ("ripley", "agent", "file"),
    ]  # fmt: skip


def test_an_agent_changes_nothing_of_a_decision_by_any_file(house: House, desk: Desk) -> None:
    done = house.mother(
        decisions.write, type="architectural", title="One engine", content="One.", slug="engine"
    )
    house.mother(files.sync)
    desk.edit(".squad/decisions.md", "One.", "Two.")
    head = f"title: One engine\ntype: architectural\nid: {done.memory}\nrevision: 1\n"
    desk.write(f"{MEMORY}/architectural_engine.md", f"---\n{head}---\n\nTwo.\n")
    desk.write(
        f"{INBOX}/engine.md",
        "---\nagent: Mother\nslug: engine\ntype: architectural\ntitle: One engine\n---\n\nTwo.\n",
    )
    house.mother(files.sync)
    shown = house.mother(decisions.show, ref=done.memory).memory
    assert (shown.content, shown.revision, shown.status) == ("One.", 1, "active")
    assert "Two." in desk.read(".squad/decisions.md")


def test_the_name_of_a_person_who_was_retired_is_not_used_by_files(house: House, desk: Desk) -> None:
    house.mother(actors.add, name=PERSON, role="operator")
    house.mother(actors.add, name="Lambert", role="operator")
    house.as_("Lambert")(actors.retire, name=PERSON)
    desk.write(f"{MEMORY}/x.md", NOTE.format(title="X", type="learning", number=1))
    desk.settle()
    (row,) = house.rows("SELECT author, author_role FROM memories")
    assert row == {"author": "file", "author_role": "agent"}
