"""Notes when things go wrong: git, vanished folders, new names, files that are no notes, crashes in between."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from minutebook.files.notes import NotesPart
from minutebook.model.files import FileState, Wish
from minutebook.model.memories import MemoryLine
from minutebook.operations import inbox, memories, verdicts
from tests.conftest import Clock
from tests.files.desks import INBOX, MEMORY, PERSON, Desk, home_of
from tests.houses import House

ROOT = Path(__file__).resolve().parents[2]
ONE, TWO = f"{MEMORY}/learning_one.md", f"{MEMORY}/learning_two.md"


@pytest.fixture
def engine() -> str:
    """What differs between the databases is shown elsewhere; this is about files."""
    return "sqlite"


@pytest.fixture
def desk(house: House, tmp_path: Path) -> Desk:
    desk = Desk(house, tmp_path / "ship")
    for name in ("one", "two"):
        house.mother(memories.write, type="learning", title=name.title(), content=f"It is {name}.", slug=name)
    desk.settle()
    return desk


def standing(house: House) -> list[tuple[str, str]]:
    found: tuple[MemoryLine, ...] = house.mother(memories.list_).items
    return sorted((line.slug, house.mother(memories.show, ref=line.id).memory.content) for line in found)


def git(desk: Desk, move: str, branch: str = "main", *, at: str = ".git") -> None:
    """Have git say that it moved the working tree."""
    folder = desk.root / at
    (folder / "logs").mkdir(parents=True, exist_ok=True)
    (folder / "HEAD").write_text(f"ref: refs/heads/{branch}\n")
    with (folder / "logs/HEAD").open("a") as log:
        log.write(f"{'0' * 40} {'1' * 40} Ripley <r@example.org> 0 +0000\t{move}\n")


# --- git --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [".git", "../.git"])
def test_what_a_checkout_takes_away_is_not_retired_and_is_in_step_when_it_comes_back(
    house: House, desk: Desk, clock: Clock, at: str
) -> None:
    # A workspace may be one directory of a repository that holds several.
    git(desk, "commit: first", at=at)
    desk.settle()
    kept = desk.read(ONE)
    os.unlink(desk.root / ONE)
    git(desk, "checkout: moving from main to old", "old", at=at)
    desk.settle()
    clock.advance(minutes=5)
    desk.settle()
    assert "git changed the working tree" in desk.lines()[ONE].why
    assert len(standing(house)) == 2
    git(desk, "checkout: moving from old to main", at=at)
    desk.write(ONE, kept)
    desk.settle()
    assert desk.lines() == {}
    assert len(standing(house)) == 2


def test_what_a_checkout_puts_back_is_no_edit(house: House, desk: Desk) -> None:
    git(desk, "commit: first")
    old = desk.read(ONE)
    desk.edit(ONE, "It is one.", "It is the first.")
    desk.settle()
    git(desk, "checkout: moving from main to old", "old")
    desk.write(ONE, old)
    assert desk.settle()[ONE].done == "written"
    assert standing(house)[0] == ("one", "It is the first.")
    assert "It is the first." in desk.read(ONE)


def test_what_a_hand_takes_back_by_itself_is_an_edit(house: House, desk: Desk) -> None:
    git(desk, "commit: first")
    desk.settle()
    old = desk.read(ONE)
    desk.edit(ONE, "It is one.", "It is the first.")
    desk.settle()
    git(desk, "commit: second")
    desk.write(ONE, old)
    assert desk.settle()[ONE].done == "update"
    assert standing(house)[0] == ("one", "It is one.")


def test_nothing_is_concluded_while_git_is_at_work(house: House, desk: Desk, clock: Clock) -> None:
    git(desk, "commit: first")
    desk.settle()
    (desk.root / ".git/index.lock").write_text("")
    os.unlink(desk.root / ONE)
    for _ in range(3):
        clock.advance(seconds=10)
        assert desk.settle() == {}
    assert len(standing(house)) == 2


def test_a_merge_that_is_not_settled_is_no_note(house: House, desk: Desk) -> None:
    both = "<<<<<<< ours\nIt is one.\n=======\nIt is uno.\n>>>>>>> theirs"
    desk.edit(ONE, "It is one.", both)
    desk.settle()
    assert desk.lines()[ONE].state is FileState.UNREADABLE
    assert standing(house)[0] == ("one", "It is one.")
    desk.edit(ONE, both, "It is one, uno.")
    desk.settle()
    assert standing(house)[0] == ("one", "It is one, uno.")
    assert desk.lines() == {}


# --- folders ------------------------------------------------------------------------------------------------


def test_a_vanished_folder_retires_nothing_and_comes_back_when_somebody_says_so(
    house: House, desk: Desk, clock: Clock
) -> None:
    shutil.rmtree(desk.root / MEMORY)
    desk.settle()
    clock.advance(minutes=5)
    desk.settle()
    assert {desk.lines()[path].state for path in (ONE, TWO)} == {FileState.WAITING}
    assert len(standing(house)) == 2
    # Not even the list: a file that git does not know here keeps it from going back to where it does.
    house.mother(memories.edit, ref="one", content="It is the first.")
    desk.settle()
    assert not (desk.root / MEMORY).exists()
    desk.settle(Wish(bring_back=True))
    assert desk.names() == ["MEMORY.md", "learning_one.md", "learning_two.md"]
    assert desk.lines() == {}


def test_a_folder_that_cannot_be_read_is_told_and_means_nothing(
    house: House, desk: Desk, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A link in the folder's place cannot be read, whoever runs the tests.
    os.rename(desk.root / MEMORY, desk.root / "elsewhere")
    os.symlink(desk.root / "elsewhere", desk.root / MEMORY)
    for _ in range(2):
        done = desk.settle()
        assert done[MEMORY].done == "failed"
        clock.advance(minutes=5)
    assert desk.lines()[MEMORY].state is FileState.UNREADABLE
    assert len(standing(house)) == 2
    assert (desk.root / "elsewhere/learning_one.md").exists()


def test_a_workspace_that_is_gone_harms_nothing(house: House, desk: Desk, clock: Clock) -> None:
    shutil.rmtree(desk.root)
    for _ in range(2):
        with pytest.raises(Exception, match="There is no folder"):
            desk.settle()
        clock.advance(minutes=5)
    assert len(standing(house)) == 2


def test_a_workspace_that_is_cloned_anew_at_its_path_is_given_its_notes(house: House, desk: Desk) -> None:
    kept, index = desk.read(ONE), f"{MEMORY}/MEMORY.md"
    listed = desk.read(index)
    shutil.rmtree(desk.root)
    clone = Desk(house, desk.root)
    clone.write(ONE, kept)
    clone.write(index, listed)
    done = clone.settle()
    assert (done[ONE].done, done[TWO].done) == ("read", "written")
    assert clone.lines() == {}
    clone.write(index, f"{listed}- mine\n")
    assert clone.lines()[index].state is FileState.EDITED
    assert len(standing(house)) == 2


# --- names --------------------------------------------------------------------------------------------------


def test_a_note_keeps_its_memory_under_another_name(house: House, desk: Desk, clock: Clock) -> None:
    os.rename(desk.root / ONE, desk.root / MEMORY / "uno.md")
    assert desk.settle()[f"{MEMORY}/uno.md"].done in ("renamed", "read")
    clock.advance(minutes=5)
    desk.settle()
    assert standing(house) == [("one", "It is one."), ("two", "It is two.")]
    assert "(uno.md)" in desk.read(f"{MEMORY}/MEMORY.md")
    desk.edit(f"{MEMORY}/uno.md", "It is one.", "It is uno.")
    desk.settle()
    assert standing(house)[0] == ("one", "It is uno.")
    assert desk.lines() == {}


def test_two_notes_that_exchange_their_names_keep_their_memories(
    house: House, desk: Desk, clock: Clock
) -> None:
    one, two = desk.read(ONE), desk.read(TWO)
    desk.write(ONE, two)
    desk.write(TWO, one)
    desk.settle()
    clock.advance(minutes=5)
    desk.settle()
    assert standing(house) == [("one", "It is one."), ("two", "It is two.")]
    assert (desk.read(ONE), desk.read(TWO)) == (two, one)
    assert desk.lines() == {}


def test_a_storm_of_new_names_loses_and_doubles_nothing(house: House, desk: Desk, clock: Clock) -> None:
    paths = [f"{MEMORY}/{name}" for name in desk.names() if name != "MEMORY.md"]
    for turn in range(12):
        paths = [_renamed(desk, path, f"n{turn}-{number}.md") for number, path in enumerate(paths)]
        if turn % 4 == 0:
            desk.settle()
    clock.advance(minutes=5)
    desk.settle()
    assert standing(house) == [("one", "It is one."), ("two", "It is two.")]
    assert house.mother(inbox.list_).items == ()
    assert desk.lines() == {}


def _renamed(desk: Desk, path: str, name: str) -> str:
    os.rename(desk.root / path, desk.root / MEMORY / name)
    return f"{MEMORY}/{name}"


def test_a_copy_of_a_note_over_another_changes_neither(house: House, desk: Desk) -> None:
    shutil.copy(desk.root / ONE, desk.root / TWO)
    desk.settle()
    assert standing(house) == [("one", "It is one."), ("two", "It is two.")]
    assert desk.lines()[TWO].state is FileState.UNREADABLE


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("bad.md", "no front matter\n", 1),
        ("bad.md", "---\ntitle: X\ntype: nonsense\n---\n\nWords.\n", 3),
        ("bad.md", "---\ntitle: X\ntype: learning\ncolour: red\n---\n\nWords.\n", 4),
        ("bad.md", "---\ntitle: X\ntype: learning\n---\n", None),
        ("bad.md", "---\ntitle: X\ntype: learning\nagent: ripley\n---\n\nWords.\n", None),
        ("_system_x.md", "---\ntitle: X\ntype: learning\n---\n\nWords.\n", None),
    ],
)
def test_what_is_no_note_stays_and_is_listed_with_its_line(
    house: House, desk: Desk, name: str, text: str, line: int | None
) -> None:
    desk.write(f"{MEMORY}/{name}", text)
    desk.settle()
    found = desk.lines()[f"{MEMORY}/{name}"]
    assert (found.state, found.line) == (FileState.UNREADABLE, line)
    assert len(standing(house)) == 2
    assert desk.read(f"{MEMORY}/{name}") == text
    assert desk.settle() == {}


def test_what_programs_leave_lying_is_no_note(house: House, desk: Desk) -> None:
    for name in (".learning_x.md.swp", "x.md~", "#x.md#", ".x.md", "x.tmp-1.md", "picture.png"):
        desk.write(f"{MEMORY}/{name}", "anything")
    desk.write(f"{MEMORY}/_system/extractor/x.md", "---\ntitle: X\ntype: learning\n---\n\nWords.\n")
    assert desk.settle() == {}
    assert len(standing(house)) == 2


@pytest.mark.parametrize("sort", ["link", "second name", "pipe", "folder"])
def test_what_is_no_plain_file_is_not_read(house: House, desk: Desk, tmp_path: Path, sort: str) -> None:
    outside = tmp_path / "secret.md"
    outside.write_text("---\ntitle: Secret\ntype: learning\n---\n\nFrom elsewhere.\n")
    for path in (desk.root / MEMORY / "x.md", desk.root / INBOX / "x.md"):
        path.parent.mkdir(parents=True, exist_ok=True)
        if sort == "link":
            path.symlink_to(outside)
        elif sort == "second name":
            path.hardlink_to(outside)
        elif sort == "pipe":
            os.mkfifo(path)
        else:
            path.mkdir()
    desk.settle()
    assert len(standing(house)) == 2
    assert house.mother(inbox.list_).items == ()
    listed = {path for path, line in desk.lines().items() if line.state is FileState.UNREADABLE}
    assert listed == (set() if sort == "folder" else {f"{MEMORY}/x.md", f"{INBOX}/x.md"})
    assert desk.settle() == {}


def test_a_name_that_is_no_text_is_listed_and_harms_nothing(house: House, desk: Desk) -> None:
    for folder in (MEMORY, INBOX):
        (desk.root / folder).mkdir(parents=True, exist_ok=True)
        (desk.root / folder / os.fsdecode(b"\xff.md")).write_text(
            "---\ntitle: X\ntype: learning\n---\n\nY.\n"
        )
    assert desk.settle() == {}
    assert [line.why for line in desk.lines().values()] == ["its name is not UTF-8"] * 2


def test_more_notes_than_a_folder_is_given_are_told_of(
    house: House, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("note_writing", "note_hand", "notes"):
        monkeypatch.setattr(f"minutebook.files.{module}.MOST_NOTES", 2)
    house.mother(memories.write, type="learning", title="Three", content="It is three.", slug="three")
    desk.write(f"{MEMORY}/four.md", "---\ntitle: Four\ntype: learning\n---\n\nIt is four.\n")
    desk.settle()
    assert len(standing(house)) == 3
    assert desk.lines()[MEMORY].why == "1 memories have no note: 2 is the most"
    assert desk.lines()[f"{MEMORY}/four.md"].state is FileState.UNREADABLE


# --- the list ------------------------------------------------------------------------------------------------


def test_a_list_that_a_hand_changed_is_left_alone_until_it_is_removed(house: House, desk: Desk) -> None:
    index = f"{MEMORY}/MEMORY.md"
    desk.write(index, "my own list\n")
    house.mother(memories.write, type="learning", title="Three", content="It is three.")
    desk.settle()
    assert desk.read(index) == "my own list\n"
    assert desk.lines()[index].state is FileState.EDITED
    os.unlink(desk.root / index)
    desk.settle()
    assert desk.read(index).startswith("- [Three](learning_three.md)\n")


def test_a_list_says_how_old_a_note_is_by_the_newest_one_and_not_by_the_clock(
    house: House, desk: Desk, clock: Clock
) -> None:
    before = desk.read(f"{MEMORY}/MEMORY.md")
    clock.advance(days=200)
    desk.settle()
    assert desk.read(f"{MEMORY}/MEMORY.md") == before
    house.mother(memories.write, type="learning", title="Three", content="It is three.")
    desk.settle()
    listed = desk.read(f"{MEMORY}/MEMORY.md").splitlines()
    assert listed[0] == "- [Three](learning_three.md)"
    assert listed[1] == "- [Two](learning_two.md) - (untouched since 2026-01-01)"


# --- other places ---------------------------------------------------------------------------------------------


def test_an_agents_own_notes_lie_in_its_folder_and_new_ones_there_are_proposed(
    house: House, desk: Desk
) -> None:
    house.ripley(memories.write, type="learning", title="Cat", content="It hisses.", slug="cat")
    desk.settle()
    folder = ".minutebook/agents/ripley/memory"
    assert desk.names(folder) == ["MEMORY.md", "learning_cat.md"]
    assert "agent: ripley\n" in desk.read(f"{folder}/learning_cat.md")
    desk.write(f"{folder}/dog.md", "---\ntitle: Dog\ntype: learning\n---\n\nIt barks.\n")
    desk.settle()
    (waiting,) = house.mother(inbox.list_).items
    assert (waiting.slug, waiting.agent) == ("dog", "file")
    done = house.mother(inbox.promote, ref="dog")
    assert str(house.mother(memories.show, ref=done.memory).memory.scope) == "agent:ripley"
    desk.follow()
    assert desk.lines() == {}


def test_what_is_global_lies_in_the_home_and_a_file_only_proposes_there(house: House, desk: Desk) -> None:
    house.mother(
        memories.write, type="learning", title="Sea", content="It is wet.", slug="sea", scope="global"
    )
    house.mother(
        memories.write,
        type="learning",
        title="Ash",
        content="It knows.",
        slug="a",
        agent="ash",
        tier="global",
    )
    house.home.mkdir(exist_ok=True)
    place, part = home_of(desk), NotesPart(PERSON)
    part.settle(desk.means, place, Wish())
    note = house.home / "memory/learning_sea.md"
    assert note.exists()
    assert (house.home / "agents/ash/memory/learning_a.md").exists()
    note.write_text(note.read_text().replace("It is wet.", "It is dry."))
    part.settle(desk.means, place, Wish())
    assert house.mother(memories.show, ref="sea").memory.content == "It is wet."
    waiting = house.as_("Mother", project="global")(inbox.list_).items
    assert [line.slug for line in waiting] == ["sea"]


def test_two_workspaces_follow_each_other_and_edits_in_both_are_a_conflict(
    house: House, desk: Desk, tmp_path: Path
) -> None:
    other = Desk(house, tmp_path / "worktree")
    other.settle()
    desk.edit(ONE, "It is one.", "It is uno.")
    desk.settle()
    other.follow()
    assert "It is uno." in other.read(ONE)
    desk.edit(ONE, "It is uno.", "It is eins.")
    other.edit(ONE, "It is uno.", "It is un.")
    desk.settle()
    assert other.settle()[ONE].done == "proposed"
    assert "It is un." in other.read(ONE)
    assert standing(house)[0] == ("one", "It is eins.")
    assert other.lines()[ONE].state is FileState.CONFLICT


def test_a_note_that_is_edited_here_and_retired_there_is_proposed_anew(house: House, desk: Desk) -> None:
    desk.edit(ONE, "It is one.", "It is uno.")
    house.mother(memories.retire, ref="one", reason="no more")
    desk.settle()
    assert desk.lines()[ONE].state is FileState.CONFLICT
    assert "It is uno." in desk.read(ONE)
    assert [line.slug for line in house.mother(inbox.list_).items] == ["one"]


def test_what_is_erased_leaves_the_files(house: House, desk: Desk) -> None:
    house.mother(memories.erase, ref="one", reason="personal")
    desk.follow()
    assert desk.names() == ["MEMORY.md", "learning_two.md"]
    assert "One" not in desk.read(f"{MEMORY}/MEMORY.md")


def test_a_governing_type_in_a_note_is_at_most_proposed(house: House, desk: Desk) -> None:
    path = f"{MEMORY}/law.md"
    desk.write(path, "---\ntitle: Law\ntype: architectural\n---\n\nOne engine.\n")
    desk.settle()
    assert len(standing(house)) == 2
    assert [line.type for line in house.mother(inbox.list_).items] == ["architectural"]
    house.mother(inbox.promote, ref="law")
    desk.settle()
    assert not (desk.root / path).exists()
    assert len(standing(house)) == 3


# --- crashes ---------------------------------------------------------------------------------------------------


def test_a_note_that_a_crash_kept_from_being_written_is_written_and_never_taken_for_deleted(
    house: House, desk: Desk, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.mother(memories.write, type="learning", title="Three", content="It is three.", slug="three")

    def dies(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("minutebook.files.safe_writing.write", dies)
        with pytest.raises(KeyboardInterrupt):
            desk.settle()
    clock.advance(minutes=5)
    desk.settle()
    assert "It is three." in desk.read(f"{MEMORY}/learning_three.md")
    assert len(standing(house)) == 3


def test_a_pass_over_what_is_in_step_touches_and_writes_nothing(house: House, desk: Desk) -> None:
    before = {name: os.stat(desk.root / MEMORY / name) for name in desk.names()}
    commits = house.service.database.commits
    assert desk.settle() == {}
    fresh = Desk(house, desk.root)
    commits = house.service.database.commits
    assert fresh.settle() == {}
    assert house.service.database.commits == commits
    after = {name: os.stat(desk.root / MEMORY / name) for name in desk.names()}
    assert {name: (s.st_ino, s.st_mtime_ns) for name, s in after.items()} == {
        name: (s.st_ino, s.st_mtime_ns) for name, s in before.items()
    }


def test_a_revert_of_a_proposal_of_a_note_is_possible_too(house: House, desk: Desk) -> None:
    desk.write(f"{MEMORY}/law.md", "---\ntitle: Law\ntype: scope\n---\n\nOne engine.\n")
    desk.settle()
    verdict = house.mother(verdicts.list_).items[0]
    assert verdict.op == "hold"
    house.mother(verdicts.revert, id=verdict.id, reason="no")
    desk.settle()
    assert house.mother(inbox.list_).items == ()
    assert "rejected" in desk.lines()[f"{MEMORY}/law.md"].why


# --- kill -9 -----------------------------------------------------------------------------------------------------


def check_kills(tmp_path: Path, deed: str, every: int, seconds: float) -> int:
    done = subprocess.run(
        [sys.executable, "-m", "tests.files.dying_notes", str(tmp_path), str(every), deed],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    answer = json.loads(done.stdout.splitlines()[-1])
    assert answer["wrong"] == []
    assert answer["steps"] > 300
    whole = answer["whole"]
    assert whole["again"] == []
    assert {row["slug"] for row in whole["rows"]["proposals"]} == {"one", "two", "three", "rival"}
    assert sum(row["status"] == "retired" for row in whole["rows"]["memories"]) == 2
    return answer["kills"]


@pytest.mark.parametrize(("deed", "every"), [("sync", 29), ("watch", 61)])
def test_a_sample_of_kills_while_letters_and_notes_are_taken_in(
    tmp_path: Path, deed: str, every: int
) -> None:
    assert check_kills(tmp_path, deed, every, seconds=200) > 8


@pytest.mark.slow
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("deed", ["sync", "watch"])
def test_a_kill_at_every_step_of_taking_them_in(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], deed: str
) -> None:
    kills = check_kills(tmp_path, deed, 1, seconds=3_500)
    with capsys.disabled():
        print(f"\n{deed}: {kills} kills while letters and notes were taken in, each restarted and compared")
    assert kills > 300
