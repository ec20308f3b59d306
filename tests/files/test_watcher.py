"""The duty that reads what people write: at once where the system tells of changes, now and then where it does not."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
import watchfiles

from minutebook.engine.engine import Engine
from minutebook.files import desk as desks
from minutebook.files import watcher as watchers
from minutebook.files.drop_box_taking import DropBoxPart
from minutebook.files.notes import NotesPart
from minutebook.files.watcher import Watcher
from minutebook.files.watching import Watch
from minutebook.operations import inbox, memories, verdicts
from tests.deleting import delete
from tests.files.desks import HOST, INBOX, MEMORY, PERSON, Desk
from tests.houses import House

SOON = 20.0
ONE = f"{MEMORY}/learning_one.md"


@pytest.fixture
def engine() -> str:
    return "sqlite"


class Service:
    """What a running service does about files, and a way to wait until it has done it."""

    def __init__(self, house: House, desk: Desk) -> None:
        self._changed = threading.Condition()
        house.service.database.on_commit(self._told)
        self.office = desks.Desk(HOST, (DropBoxPart(PERSON), NotesPart(PERSON)))
        self.watcher = Watcher(desk.means, self.office)
        self.engine = Engine(house.service.database, [self.watcher], clock=house.clock)
        self.watcher.on_change(lambda: self.engine.wake(self.watcher.name))

    def _told(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def until(self, holds: Callable[[], bool], seconds: float = SOON) -> float:
        """How long it took until something was so; a commit is what changes it."""
        began = monotonic()
        with self._changed:
            assert self._changed.wait_for(holds, seconds), "it never came to pass"
        return monotonic() - began


@pytest.fixture
def desk(house: House, tmp_path: Path) -> Desk:
    house.home.mkdir(exist_ok=True)
    desk = Desk(house, tmp_path / "ship")
    house.mother(memories.write, type="learning", title="One", content="It is one.", slug="one")
    desk.settle()
    return desk


@pytest.fixture
def service(house: House, desk: Desk) -> Iterator[Service]:
    running = Service(house, desk)
    running.engine.start()
    running.until(lambda: running.watcher._watch.works)
    yield running
    running.engine.stop()


def poll(holds: Callable[[], bool]) -> None:
    """Wait for what no commit tells."""
    ended = monotonic() + SOON
    while not holds():
        assert monotonic() < ended, "it never came to pass"
        threading.Event().wait(0.01)


def says(house: House, words: str) -> Callable[[], bool]:
    return lambda: house.mother(memories.show, ref="one").memory.content == words


def test_an_edit_is_judged_within_two_seconds_and_a_revert_is_followed(
    house: House, desk: Desk, service: Service
) -> None:
    desk.edit(ONE, "It is one.", "It is uno.")
    assert service.until(says(house, "It is uno.")) < 2.0
    house.mother(verdicts.revert, id=house.mother(verdicts.list_).items[0].id, reason="no")
    service.until(lambda: "It is one." in desk.read(ONE))


def test_a_note_in_a_folder_that_was_not_there_before_is_seen(
    house: House, desk: Desk, service: Service
) -> None:
    desk.write(
        ".minutebook/agents/ripley/memory/cat.md", "---\ntitle: Cat\ntype: learning\n---\n\nIt hisses.\n"
    )
    service.until(lambda: len(house.mother(inbox.list_).items) == 1)


def test_the_folder_of_the_ledger_is_not_watched_and_a_first_note_there_is_seen_all_the_same(
    house: House, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watchers, "_LOOK_HOME", 0.05)
    aimed: set[str] = set()
    aim = Watch.aim
    monkeypatch.setattr(Watch, "aim", lambda self, folders: (aimed.update(folders), aim(self, folders))[1])
    running = Service(house, desk)
    running.engine.start()
    try:
        running.until(lambda: running.watcher._watch.works)
        (house.home / "memory").mkdir()
        note = house.home / "memory/learning_sea.md"
        note.write_text("---\ntitle: Sea\ntype: learning\n---\n\nIt is wet.\n")
        whole = house.as_("Mother", project="global")
        running.until(lambda: [line.title for line in whole(inbox.list_).items] == ["Sea"])
        poll(lambda: str(note.parent) in aimed)
    finally:
        running.engine.stop()
    assert str(house.home) not in aimed
    assert desk.place.root in aimed


def test_a_letter_that_rests_becomes_a_proposal(house: House, desk: Desk, service: Service) -> None:
    desk.write(f"{INBOX}/x.md", "# One engine\n\nWe fly with one.\n")
    service.until(lambda: [line.slug for line in house.mother(inbox.list_).items] == ["x"])


def test_what_was_edited_while_nobody_served_is_found_at_the_start(house: House, desk: Desk) -> None:
    desk.edit(ONE, "It is one.", "It is uno.")
    service = Service(house, desk)
    service.engine.start()
    service.until(says(house, "It is uno."))
    service.engine.stop()


def test_what_was_edited_while_the_watch_was_being_set_up_is_found_when_it_stands(
    house: House, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    edited, watch = threading.Event(), watchfiles.watch

    def late(*folders: str, **options: Any) -> Iterator[Any]:
        assert edited.wait(SOON)
        yield from watch(*folders, **options)

    monkeypatch.setattr(watchfiles, "watch", late)
    running = Service(house, desk)
    running.engine.start()
    try:
        # The first look at all files is over, and the next one is half a minute away.
        place = desk.place
        poll(lambda: running.watcher._due.get(place, 0.0) > monotonic() + 5)
        desk.edit(ONE, "It is one.", "It is uno.")
        edited.set()
        running.until(says(house, "It is uno."))
    finally:
        edited.set()
        running.engine.stop()


def test_files_are_looked_at_now_and_then_where_nothing_can_be_watched(
    house: House, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watchers, "_RESCAN_ALONE", 0.05)
    monkeypatch.setattr("minutebook.files.watching.Watch.aim", lambda *_: False)
    service = Service(house, desk)
    service.engine.start()
    desk.edit(ONE, "It is one.", "It is uno.")
    service.until(says(house, "It is uno."))
    service.engine.stop()


def test_a_workspace_that_is_deleted_holds_up_no_other_and_comes_back(
    house: House, desk: Desk, service: Service, tmp_path: Path
) -> None:
    other = Desk(house, tmp_path / "other")
    service.until(lambda: (other.root / ONE).exists())
    os.rename(desk.root, tmp_path / "away")
    other.edit(ONE, "It is one.", "It is uno.")
    service.until(says(house, "It is uno."))
    os.rename(tmp_path / "away", desk.root)
    house.mother(memories.edit, ref="one", content="It is eins.")
    service.until(lambda: "It is eins." in desk.read(ONE) and "It is eins." in other.read(ONE))
    delete(desk.root)
    other.edit(ONE, "It is eins.", "It is un.")
    service.until(says(house, "It is un."))


def test_it_ends_at_once_and_touches_nothing_after(house: House, desk: Desk, service: Service) -> None:
    began = monotonic()
    service.engine.stop()
    assert monotonic() - began < 5.0
    assert not any(thread.name == "minutebook-watch" for thread in threading.enumerate())
