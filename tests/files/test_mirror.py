"""Generated files follow the ledger, stay as they are when nothing changed, and never take what is not theirs."""

from __future__ import annotations

from pathlib import Path

import pytest

from minutebook.files.mirror_plan import make
from minutebook.files.reading import parse
from minutebook.ledger import sources
from minutebook.ledger.database import Tx
from minutebook.model.files import FileState
from minutebook.operations import decisions, files, inbox, memories, projects, sessions
from tests.files.mirroring import HOST, Office, traces, tree
from tests.houses import House
from tests.operations.asking import code


@pytest.fixture
def office(house: House, tmp_path: Path) -> Office:
    return Office(house, tmp_path)


def settle(house: House) -> None:
    """Something for each of the six paths."""
    house.dallas(
        decisions.write, type="scope", title="No web page", content="The first release has none.",
        slug="no-page", rationale="Few hands.",
    )  # fmt: skip
    house.dallas(decisions.write, type="technical", title="Tabs", content="Indent with tabs.", slug="tabs")
    house.ripley(memories.write, type="learning", content="The proxy drops bodies over 1 MB.", slug="proxy")
    house.ripley(memories.write, type="pattern", content="Retry with the same key.", slug="retry")
    house.ripley(
        inbox.submit,
        type="process",
        title="Stand up",
        content="At nine.",
        slug="stand-up",
        rationale="Short.",
    )
    house.ripley(sessions.start, focus="The importer", issue=["#12"], summary="Begun.")


SIX = [
    ".agentweaver/context/boundaries.md",
    ".agentweaver/context/patterns.md",
    ".squad/agents/ripley/history.md",
    ".squad/decisions.md",
    ".squad/decisions/inbox/stand-up.md",
    ".squad/identity/now.md",
]


def test_the_six_paths_are_written_and_read_back_as_what_they_say(office: Office, house: House) -> None:
    root = office.make()
    settle(house)
    assert office.sync().sentence == "6 written"
    assert sorted(tree(root)) == SIX
    read = {path: parse(path, data, team=["ripley"]) for path, data in tree(root).items()}
    assert {path: parsed.doubts for path, parsed in read.items() if parsed.doubts} == {}
    titles = {path: [entry.title for entry in parsed.entries] for path, parsed in read.items()}
    assert titles[".squad/decisions.md"] == ["No web page", "Tabs"]
    assert titles[".agentweaver/context/boundaries.md"] == ["No web page"]
    assert titles[".squad/decisions/inbox/stand-up.md"] == ["Stand up"]
    (first, _) = read[".squad/decisions.md"].entries
    row = house.mother(decisions.show, ref="no-page").memory
    assert (first.text, first.rationale, first.author, first.date, first.get("id"), first.get("status")) == (
        row.content, row.rationale, "dallas", row.created_at, row.id, "active",
    )  # fmt: skip
    (lesson,) = read[".squad/agents/ripley/history.md"].entries
    assert lesson.text == "The proxy drops bodies over 1 MB."
    focus = read[".squad/identity/now.md"].focus
    assert focus is not None
    assert (focus.focus, focus.issues, focus.summary) == ("The importer", ("#12",), "Begun.")


def test_nothing_is_touched_when_nothing_changed(office: Office, house: House) -> None:
    root = office.make()
    settle(house)
    office.sync()
    before, rows = traces(root), house.rows("SELECT * FROM written_files ORDER BY path")
    again = office.sync()
    assert again.sentence == "nothing to do"
    assert traces(root) == before
    assert house.rows("SELECT * FROM written_files ORDER BY path") == rows
    assert set(office.states().values()) == {FileState.IN_STEP}


def test_an_empty_project_has_no_files(office: Office) -> None:
    root = office.make()
    assert office.sync().sentence == "nothing to do"
    assert tree(root) == {}
    assert sorted(path.name for path in root.iterdir()) == [".minutebook"]


def test_a_write_touches_the_files_that_show_it_and_renders_no_other(office: Office, house: House) -> None:
    root = office.make()
    settle(house)
    office.follow(root)
    before = traces(root)
    house.bishop(memories.write, type="learning", content="Eggs open by themselves.", slug="eggs")
    with house.service.database.read() as tx:
        planned = make(tx, office.place(root), None)
    assert [target.path for target in planned.targets] == [".squad/agents/bishop/history.md"]
    assert [(done.path, done.done) for done in office.follow(root)] == [
        (".squad/agents/bishop/history.md", "written")
    ]
    after = traces(root)
    assert {path: after[path] for path in before} == before
    # What no file shows is not even planned.
    house.dallas(memories.write, type="project", content="The office has two cats.", slug="cats")
    with house.service.database.read() as tx:
        assert make(tx, office.place(root), None).targets == ()


def test_files_follow_what_becomes_of_a_proposal(office: Office, house: House) -> None:
    root = office.make()
    settle(house)
    office.follow(root)
    house.dallas(inbox.promote, ref="stand-up", reason="agreed")
    done = {each.path: each.done for each in office.follow(root)}
    assert done == {".squad/decisions/inbox/stand-up.md": "removed", ".squad/decisions.md": "written"}
    house.ripley(inbox.submit, type="process", title="Fridays", content="Deploy on Fridays.", slug="fridays")
    assert [each.done for each in office.follow(root)] == ["written"]
    house.dallas(inbox.reject, ref="fridays", reason="no")
    assert [each.done for each in office.follow(root)] == ["removed"]
    house.ripley(inbox.submit, type="process", title="Erase me", content="A name.", slug="a-name")
    office.follow(root)
    house.mother(inbox.erase, ref="a-name", reason="privacy")
    office.follow(root)
    assert list((root / ".squad/decisions/inbox").iterdir()) == []


def test_files_follow_what_becomes_of_a_memory(office: Office, house: House) -> None:
    root = office.make()
    settle(house)
    office.follow(root)
    decided, history = root / ".squad/decisions.md", root / ".squad/agents/ripley/history.md"
    old = house.mother(decisions.show, ref="tabs").memory.id
    house.dallas(decisions.write, type="technical", title="Spaces", content="Four.", slug="spaces")
    house.dallas(decisions.supersede, ref="tabs", by="spaces")
    office.follow(root)
    (entry,) = [e for e in parse(".squad/decisions.md", decided.read_bytes()).entries if e.title == "Spaces"]
    assert entry.get("supersedes") == old
    assert b"Indent with tabs" not in decided.read_bytes()
    house.ripley(memories.edit, ref="proxy", content="It drops bodies over 2 MB.")
    office.follow(root)
    assert b"over 2 MB" in history.read_bytes()
    house.dallas(memories.rescope, ref="retry", scope="agent", agent="bishop", tier="project")
    house.dallas(memories.rescope, ref="proxy", scope="agent", agent="bishop", tier="project")
    done = {each.path: each.done for each in office.follow(root)}
    assert done[".squad/agents/ripley/history.md"] == "removed"
    assert done[".squad/agents/bishop/history.md"] == "written"
    house.mother(memories.erase, ref="proxy", reason="privacy")
    office.follow(root)
    assert not any(b"2 MB" in data for data in tree(root).values())
    house.ripley(sessions.close)
    assert [(each.path, each.done) for each in office.follow(root)] == [(".squad/identity/now.md", "removed")]


def test_what_is_not_the_projects_own_is_in_no_file(office: Office, house: House) -> None:
    root = office.make()
    house.mother(decisions.write, type="scope", title="Everywhere", content="Of all.", scope="global")
    house.ripley(
        memories.write, type="learning", content="I like tea.", scope="agent", tier="global", slug="tea"
    )
    other = house.new_project("Sulaco")
    house.as_("Mother", project=other)(decisions.write, type="scope", title="Theirs", content="Of Sulaco.")
    house.ripley(inbox.submit, type="scope", title="For all", content="A proposal for all.", scope="global")
    office.sync()
    assert tree(root) == {}


def test_a_file_that_was_edited_by_hand_is_left_alone_and_the_rest_goes_on(
    office: Office, house: House
) -> None:
    root = office.make()
    settle(house)
    office.sync()
    decided = root / ".squad/decisions.md"
    written = decided.read_bytes()
    decided.write_bytes(written + b"\nMy own words.\n")
    house.dallas(decisions.write, type="scope", title="No telephone", content="None at all.", slug="no-phone")
    done = {each.path: (each.done, each.why) for each in office.follow(root)}
    assert done[".squad/decisions.md"][0] == "left"
    assert done[".squad/decisions.md"][1].startswith("edited: ")
    assert done[".agentweaver/context/boundaries.md"] == ("written", "")
    assert decided.read_bytes() == written + b"\nMy own words.\n"
    assert office.states()[".squad/decisions.md"] is FileState.EDITED
    # Put back as it was, it is ours again and follows.
    decided.write_bytes(written)
    assert office.sync().sentence == "1 written"
    assert b"No telephone" in decided.read_bytes()


def test_a_proposals_file_that_was_edited_stays_when_the_proposal_is_decided(
    office: Office, house: House
) -> None:
    root = office.make()
    settle(house)
    office.sync()
    path = root / ".squad/decisions/inbox/stand-up.md"
    path.write_bytes(path.read_bytes() + b"PS: at ten.\n")
    house.dallas(inbox.promote, ref="stand-up")
    office.sync()
    assert path.read_bytes().endswith(b"PS: at ten.\n")
    assert office.states()[".squad/decisions/inbox/stand-up.md"] is FileState.EDITED
    path.unlink()
    office.sync()
    assert ".squad/decisions/inbox/stand-up.md" not in office.states()


def test_what_somebody_else_wrote_is_left_and_told_of(office: Office, house: House) -> None:
    root = office.make()
    (root / ".squad/identity").mkdir(parents=True)
    (root / ".squad/decisions.md").write_bytes(b"# Squad Decisions\n\nOurs, since 2024.\n")
    (root / ".squad/identity/wisdom.md").write_bytes(b"**Pattern:** none of yours\n")
    assert office.sync().sentence == "nothing to do"  # nothing to say, so nothing is in the way
    settle(house)
    office.sync()
    assert (root / ".squad/decisions.md").read_bytes() == b"# Squad Decisions\n\nOurs, since 2024.\n"
    (place,) = office.status(every=False)
    (line,) = place.files
    assert (line.path, line.state) == (".squad/decisions.md", FileState.FOREIGN)
    assert "minutebook adopt" in line.advice
    # Once it is out of the way, its place is taken.
    (root / ".squad/decisions.md").rename(root / "old.md")
    assert office.sync().sentence == "1 written"
    assert office.states()[".squad/decisions.md"] is FileState.IN_STEP


def test_a_file_that_was_deleted_comes_back(office: Office, house: House) -> None:
    root = office.make()
    settle(house)
    office.sync()
    before = tree(root)
    (root / ".squad/decisions.md").unlink()
    assert office.states()[".squad/decisions.md"] is FileState.LATE
    office.sync()
    assert tree(root) == before


def test_git_may_put_back_what_we_once_wrote(office: Office, house: House) -> None:
    root = office.make()
    settle(house)
    office.sync()
    other_branch = tree(root)
    house.dallas(decisions.write, type="scope", title="No telephone", content="None at all.", slug="no-phone")
    house.dallas(inbox.promote, ref="stand-up")
    house.ripley(sessions.close)
    office.sync()
    here = tree(root)
    assert ".squad/decisions/inbox/stand-up.md" not in here
    for path, data in other_branch.items():  # git checkout
        (root / path).write_bytes(data)
    assert office.states()[".squad/decisions.md"] is FileState.LATE
    office.sync()
    assert tree(root) == here


def test_a_merge_that_git_left_open_is_a_conflict(office: Office, house: House) -> None:
    root = office.make()
    settle(house)
    office.sync()
    path = root / ".squad/decisions.md"
    path.write_bytes(b"<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other\n")
    assert office.states()[".squad/decisions.md"] is FileState.CONFLICT
    office.sync()
    assert path.read_bytes().startswith(b"<<<<<<< HEAD")


def test_two_workspaces_each_have_their_own_manifest_and_know_each_others_renderings(
    office: Office, house: House
) -> None:
    one, two = office.make("one"), office.make("two")
    settle(house)
    office.sync()
    assert tree(one) == tree(two)
    old = tree(one)
    (one / ".squad/decisions.md").write_bytes(b"edited in one")
    house.dallas(decisions.write, type="scope", title="No telephone", content="None at all.", slug="no-phone")
    office.sync()
    assert (one / ".squad/decisions.md").read_bytes() == b"edited in one"
    assert b"No telephone" in (two / ".squad/decisions.md").read_bytes()
    # Pulled from the other clone: written by us, though not here.
    (one / ".squad/decisions.md").write_bytes((two / ".squad/decisions.md").read_bytes())
    third = office.make("three")
    for path, data in old.items():
        (third / path).parent.mkdir(parents=True, exist_ok=True)
        (third / path).write_bytes(data)
    office.sync()
    assert tree(one) == tree(two) == tree(third)


def test_replacing_keeps_what_stood_there_byte_by_byte(office: Office, house: House) -> None:
    root = office.make()
    path = root / ".squad/decisions.md"
    path.parent.mkdir()
    theirs = b"# Ours\r\n\xff\x00 and bytes that are no text\n"
    path.write_bytes(theirs)
    settle(house)
    office.sync()
    assert code(lambda: house.dallas(files.replace, paths=[".squad/decisions.md"])) == "not_allowed"
    assert code(lambda: house.mother(files.replace, paths=[".squad/other.md"])) == "not_found"
    assert code(lambda: house.mother(files.replace, paths=["../../etc/passwd"])) == "not_found"
    house.mother(files.replace, paths=[".squad/decisions.md"])
    assert path.read_bytes().startswith(b"<!-- minutebook mirror")
    (kept,) = house.rows("SELECT id, locator, kind FROM sources")
    assert (kept["locator"], kept["kind"]) == (".squad/decisions.md", "import")
    with house.service.database.read() as tx:
        assert sources.read(tx, kept["id"]) == theirs
    assert office.states()[".squad/decisions.md"] is FileState.IN_STEP


def test_a_file_with_a_credential_is_neither_kept_nor_replaced(office: Office, house: House) -> None:
    root = office.make()
    path = root / ".squad/decisions.md"
    path.parent.mkdir()
    # Put together here, so that no scanner of this repository takes it for a real one.
    theirs = b"Deploys work with the key AKIA" + b"Q3EGRTLZN7VWKXOP.\n"
    path.write_bytes(theirs)
    settle(house)
    assert code(lambda: house.mother(files.replace, paths=[".squad/decisions.md"])) == "secret"
    assert path.read_bytes() == theirs
    assert house.rows("SELECT id FROM sources") == []


def test_a_row_that_cannot_be_shown_costs_itself_alone(office: Office, house: House) -> None:
    if house.service.database.dialect.name != "sqlite":
        return  # PostgreSQL holds no bytes in a column of text
    root = office.make()
    settle(house)
    broken = house.mother(decisions.show, ref="tabs").memory.id

    def damage(tx: Tx) -> None:
        tx.run("UPDATE memories SET content = :raw WHERE id = :id", raw=b"\xff\xfe", id=broken)

    house.service.database.write(house.project, damage)
    office.sync()
    assert sorted(tree(root)) == SIX
    assert b"No web page" in (root / ".squad/decisions.md").read_bytes()


def test_a_workspace_that_is_gone_or_not_ours_holds_up_no_other(office: Office, house: House) -> None:
    gone, moved, good = office.make("gone"), office.make("moved"), office.make("good")
    settle(house)
    (gone / ".minutebook/workspace.toml").unlink()
    (gone / ".minutebook").rmdir()
    gone.rmdir()
    text = (moved / ".minutebook/workspace.toml").read_text()
    (moved / ".minutebook/workspace.toml").write_text(
        text.replace(house.project, "01ARZ3NDEKTSV4RRFFQ69G5FAV")
    )
    answer = office.sync()
    assert sorted(tree(good)) == SIX
    assert tree(moved) == {}
    faults = {Path(place.root).name: place.fault for place in answer.workspaces}
    assert "no folder" in faults["gone"]
    assert "another project" in faults["moved"]
    assert faults["good"] == ""
    assert {Path(place.root).name: place.state for place in office.status()} == {
        "gone": "gone", "good": "on", "moved": "not bound",
    }  # fmt: skip


def test_nobody_makes_us_write_where_no_workspace_is(office: Office, house: House, tmp_path: Path) -> None:
    settle(house)
    victim, theirs = tmp_path / "victim", tmp_path / "theirs"
    victim.mkdir()
    (victim / "precious.md").write_bytes(b"precious")
    house.ripley(projects.see, path=str(victim), host=HOST)
    # A folder whose binding is a link to another workspace's.
    real = office.make("real")
    theirs.mkdir()
    (theirs / ".minutebook").symlink_to(real / ".minutebook")
    house.ripley(projects.see, path=str(theirs), host=HOST)
    office.sync()
    assert [path.name for path in victim.iterdir()] == ["precious.md"]
    assert [path.name for path in theirs.iterdir()] == [".minutebook"]


def test_a_workspace_can_do_without(office: Office, house: House) -> None:
    root = office.make(mirror=False)
    settle(house)
    assert office.sync().sentence == "nothing to do"
    assert tree(root) == {}
    (place,) = office.status()
    assert place.state == "off"


def test_a_link_in_the_way_is_told_of_and_never_followed(
    office: Office, house: House, tmp_path: Path
) -> None:
    root, elsewhere = office.make(), tmp_path / "elsewhere"
    elsewhere.mkdir()
    (root / ".squad").mkdir()
    (root / ".squad/agents").symlink_to(elsewhere)
    (root / ".squad/decisions.md").symlink_to(elsewhere / "decisions.md")
    settle(house)
    answer = office.sync()
    assert list(elsewhere.iterdir()) == []
    failed = {each.path for each in answer.workspaces[0].done if each.done == "failed"}
    assert failed == {".squad/decisions.md", ".squad/agents/ripley/history.md"}
    states = office.states()
    assert states[".squad/decisions.md"] is FileState.UNREADABLE
    assert states[".agentweaver/context/boundaries.md"] is FileState.IN_STEP


def test_an_archived_project_is_served_no_more(office: Office, house: House) -> None:
    root = office.make()
    settle(house)
    house.mother(projects.archive, ref="nostromo")
    assert house.mother(files.status).workspaces == ()
    house.mother(projects.restore, ref="nostromo")
    office.sync()
    assert sorted(tree(root)) == SIX


def test_agents_with_odd_names_have_folders_of_their_own(office: Office, house: House) -> None:
    root = office.make()
    for name in ("Jöns", "a b", "a-b"):
        house.as_(name)(memories.write, type="learning", content=f"{name} was here.", slug="here")
    office.sync()
    folders = sorted(path.parent.name for path in (root / ".squad/agents").glob("*/history.md"))
    assert len(folders) == 3
    assert folders[0] == "a-b"
    assert all(part.isascii() for part in folders)


def test_a_new_ledger_takes_over_files_that_say_the_same(office: Office, house: House) -> None:
    root = office.make()
    settle(house)
    office.sync()

    def forget(tx: Tx) -> None:
        tx.run("DELETE FROM written_files")
        tx.run("DELETE FROM renderings")
        tx.run("DELETE FROM positions")

    house.service.database.write(house.project, forget)
    before = traces(root)
    assert office.sync().sentence == "nothing to do"
    assert traces(root) == before
    assert set(office.states().values()) == {FileState.IN_STEP}
