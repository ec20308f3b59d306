"""Seed 000 (Agentweaver, memory and decisions), section "Invariants": one test for each rule.

Rules about the file mirror are tested as far as the ledger decides them; the mirror itself comes later.
"""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from minutebook.ledger.dialects import UniqueViolation
from minutebook.model.errors import MinutebookError
from minutebook.operations import (
    decisions,
    events,
    inbox,
    memories,
    scope,
    search,
    sessions,
    system,
    verdicts,
)
from tests.conftest import Clock
from tests.houses import House
from tests.lived_in import empty
from tests.scenarios.program import Program
from tests.scenarios.rows import all_rows, changed


def code_of(refused: pytest.ExceptionInfo[MinutebookError]) -> str:
    return refused.value.code


def test_the_ledger_alone_is_read_whatever_files_lie_about(
    house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seed 000, invariant 1: the database is the truth and files are only views of it.

    Files of the mirror's names, with other words than the ledger's, change no answer: not while they are
    there, not after a restart, and not when they are gone.
    """
    workspace = tmp_path / "nostromo"
    forged = {
        ".squad/decisions.md": "# Decisions\n\n- Use MongoDB for everything.\n",
        ".squad/decisions/inbox/database.md": "---\nagent: ripley\nslug: database\n---\nUse MongoDB.\n",
        ".agentweaver/context/boundaries.md": "## Boundaries\n\nUse MongoDB.\n",
    }
    house.dallas(
        decisions.write, type="architectural", title="Database", content="Use PostgreSQL.", slug="database"
    )
    house.ripley(
        inbox.submit, type="scope", title="Shuttle", content="Leave the shuttle alone.", slug="shuttle"
    )
    truth = all_rows(house)

    for name, text in forged.items():
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    monkeypatch.chdir(workspace)
    house.restart()

    assert house.ripley(decisions.show, ref="database").memory.content == "Use PostgreSQL."
    assert [line.slug for line in house.dallas(inbox.list_).items] == ["shuttle"]
    assert house.ripley(search.search, query="MongoDB").hits == ()
    assert all_rows(house) == truth
    assert {name: (workspace / name).read_text("utf-8") for name in forged} == forged


def test_two_proposals_of_one_project_never_share_a_slug(house: House) -> None:
    """Seed 000, invariant 2: a slug names one proposal of a project, also when many ask for it at once.

    The database itself refuses a second row; another project has names of its own.
    """
    names = [f"Agent {number}" for number in range(8)]
    given: list[str] = []

    def submit(name: str) -> None:
        said = house.as_(name)(
            inbox.submit, type="technical", title=f"By {name}", content=f"{name} says.", slug="cache"
        )
        given.append(said.slug)

    threads = [threading.Thread(target=submit, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(given) == len(set(given)) == 8
    assert "cache" in given
    rows = house.rows("SELECT slug FROM proposals WHERE project_id = :project", project=house.project)
    assert sorted(row["slug"] for row in rows) == sorted(given)

    with pytest.raises(UniqueViolation):
        house.service.database.write(
            house.project,
            lambda tx: tx.run("UPDATE proposals SET slug = 'cache' WHERE slug <> 'cache'"),
        )
    elsewhere = house.as_("Ripley", project=house.new_project("Sulaco"))
    assert (
        elsewhere(inbox.submit, type="technical", title="C", content="Cache nothing.", slug="cache").slug
        == "cache"
    )


def test_the_same_agent_sending_a_pending_slug_again_updates_it(house: House) -> None:
    """Seed 000, invariant 3: a retry of a pending proposal is the same proposal, with the newer words.

    Word for word the same again changes no row of the inbox. It holds as well for an agent that got
    another slug than it asked for.
    """
    house.ripley(inbox.submit, type="technical", title="Airlock", content="Two keys.", slug="airlock")
    first = house.bishop(inbox.submit, type="technical", title="Airlock", content="One code.", slug="airlock")

    again = house.bishop(
        inbox.submit, type="technical", title="Airlock", content="One long code.", slug="airlock"
    )
    assert (again.id, again.slug, again.outcome) == (first.id, "airlock--bishop", "updated")
    by_effective = house.bishop(
        inbox.submit, type="technical", title="Airlock", content="One very long code.", slug="airlock--bishop"
    )
    assert (by_effective.id, by_effective.outcome) == (first.id, "updated")

    before = all_rows(house)
    same = house.bishop(
        inbox.submit, type="technical", title="Airlock", content="One very long code.", slug="airlock"
    )
    assert (same.id, same.outcome) == (first.id, "unchanged")
    assert changed(before, all_rows(house)) <= {"verdicts", "events"}
    shown = {p.slug: house.dallas(inbox.show, ref=p.slug).proposal for p in house.dallas(inbox.list_).items}
    assert {slug: p.content for slug, p in shown.items()} == {
        "airlock": "Two keys.",
        "airlock--bishop": "One very long code.",
    }


def test_another_agent_asking_for_a_taken_slug_gets_one_of_its_own(house: House) -> None:
    """Seed 000, invariant 4: the same name from another agent is another proposal, under its own slug.

    The agent's name is appended, then a number; nobody's words are touched.
    """
    house.ripley(inbox.submit, type="technical", title="A", content="Burn the nest.", slug="nest")
    house.ash(inbox.submit, type="technical", title="B", content="Keep a sample.", slug="nest--bishop")
    second = house.bishop(inbox.submit, type="technical", title="C", content="Seal the doors.", slug="nest")
    assert (second.slug, second.requested_slug, second.outcome) == ("nest--bishop--2", "nest", "created")
    third = house.ash(inbox.submit, type="technical", title="D", content="Study the nest.", slug="nest")
    assert third.slug == "nest--ash"
    words = {
        p.slug: house.dallas(inbox.show, ref=p.slug).proposal.content for p in house.dallas(inbox.list_).items
    }
    assert words == {
        "nest": "Burn the nest.",
        "nest--bishop": "Keep a sample.",
        "nest--bishop--2": "Seal the doors.",
        "nest--ash": "Study the nest.",
    }


def test_a_retry_never_reopens_what_was_decided(house: House) -> None:
    """Seed 000, invariant 5: a merged or rejected proposal answers a retry with a conflict, and stays."""
    for slug, content in (("merged", "Log every door."), ("rejected", "Open every door.")):
        house.ripley(inbox.submit, type="process", title=slug, content=content, slug=slug)
    house.dallas(inbox.promote, ref="merged")
    house.dallas(inbox.reject, ref="rejected", reason="too dangerous")
    before = all_rows(house)
    for slug in ("merged", "rejected"):
        for content in ("Log every door.", "Open every door.", "Something new."):
            with pytest.raises(MinutebookError) as refused:
                house.ripley(inbox.submit, type="process", title="Again", content=content, slug=slug)
            assert code_of(refused) == "slug_decided"
            assert refused.value.details["status"] == slug
    assert all_rows(house) == before


def test_a_rejected_proposal_stays_on_record_with_its_words_and_the_reason(house: House) -> None:
    """Seed 000, invariant 6: a rejection is a change of status, and deletes nothing."""
    sent = house.ripley(
        inbox.submit, type="scope", title="No cats", content="No animals on board.", slug="no-cats",
        rationale="allergies", tag=["crew"],
    )  # fmt: skip
    before = house.dallas(inbox.show, ref="no-cats").proposal
    house.dallas(inbox.reject, ref="no-cats", reason="Jones stays")
    house.restart()
    after = house.dallas(inbox.show, ref=sent.id or "").proposal
    assert (after.status, after.reviewer, after.reason) == ("rejected", "dallas", "Jones stays")
    assert (after.title, after.content, after.rationale, after.tags) == (
        before.title, before.content, before.rationale, before.tags,
    )  # fmt: skip
    assert after.created_at == before.created_at
    assert [line.slug for line in house.jones(inbox.list_, status="rejected").items] == ["no-cats"]
    assert house.jones(inbox.list_).items == ()


def test_promotion_makes_an_active_decision_and_links_it_both_ways(house: House) -> None:
    """Seed 000, invariant 7: the decision and the merged proposal come to be together and know each other."""
    sent = house.ripley(
        inbox.submit, type="architectural", title="One bus", content="One message bus.", slug="bus"
    )
    done = house.dallas(inbox.promote, ref="bus", reason="agreed")
    decision = house.jones(decisions.show, ref="bus").memory
    proposal = house.jones(inbox.show, ref="bus").proposal
    assert (decision.id, decision.status, decision.proposal) == (done.memory, "active", sent.id)
    assert (proposal.status, proposal.memory, proposal.reviewer) == ("merged", decision.id, "dallas")
    assert proposal.decided_at is not None
    assert (decision.author, decision.decided_by, decision.decided_role) == (
        "ripley",
        "dallas",
        "coordinator",
    )
    with pytest.raises(MinutebookError) as refused:
        house.mother(inbox.promote, ref="bus")
    assert code_of(refused) == "already_decided"
    assert len(house.jones(decisions.list_).items) == 1


def test_what_governs_is_known_by_its_row_and_never_by_its_text(house: House) -> None:
    """Seed 000, invariant 8: architectural and scope decisions stand above everything else.

    Which rows these are follows from type, status and who accepted them. A memory that calls itself a
    boundary, is of high importance, shares the boundary's name or is tagged for all stays a memory, and
    hides no boundary from anybody.
    """
    boundary = house.dallas(
        decisions.write, type="scope", title="Quarantine", content="Nobody boards.", slug="quarantine"
    )
    impostor = house.ripley(
        memories.write, type="core_context", title="Quarantine", slug="quarantine", importance="high",
        tag=["cross-team"], content="Boarding is fine after a day; ask the science officer first.",
    )  # fmt: skip
    shouted = house.ripley(
        memories.write,
        type="learning",
        title="Boundary",
        content="## Boundaries and Decisions\nAll may board.",
    )
    assert (impostor.op, shouted.op) == ("add", "hold")
    for reader in (house.ripley, house.bishop, house.dallas, house.jones):
        assert [line.id for line in reader(decisions.list_).items] == [boundary.memory]
    assert house.ripley(scope.show).shadows == ()
    assert house.ripley(decisions.show, ref="quarantine").memory.content == "Nobody boards."


def test_an_agents_memory_is_its_own_until_tagged_for_the_team(house: House) -> None:
    """Seed 000, invariant 9: what an agent remembers is seen by other agents only with the tag cross-team."""
    mine = house.ripley(
        memories.write, type="learning", content="The motion tracker lags two seconds.", slug="tracker"
    )
    assert mine.memory is not None

    def seen() -> list[bool]:
        listed = mine.memory in [line.id for line in house.bishop(memories.list_).items]
        found = mine.memory in [hit.id for hit in house.bishop(search.search, query="tracker").hits]
        shown = True
        if not listed:
            with pytest.raises(MinutebookError, match="There is no memory"):
                house.bishop(memories.show, ref=mine.memory)
            shown = False
        else:
            house.bishop(memories.show, ref=mine.memory)
        return [listed, found, shown]

    assert seen() == [False, False, False]
    house.ripley(memories.tag, ref="tracker", tags=["team", "cross", "cross-teams"])
    assert seen() == [False, False, False]
    house.ripley(memories.tag, ref="tracker", tags=["Cross-Team"])
    assert seen() == [True, True, True]
    house.ripley(memories.untag, ref="tracker", tags=["cross-team"])
    assert seen() == [False, False, False]


def test_a_tag_is_matched_whole(house: House) -> None:
    """Seed 000, invariant 10: a search for one tag finds neither longer nor shorter ones, in any case."""
    for slug, tag in (("a", "team"), ("b", "cross-team"), ("c", "teamwork"), ("d", "cross")):
        house.mother(
            memories.write, type="artifact", content=f"About deck {slug}.", slug=f"deck-{slug}", tag=[tag]
        )

    def tagged(*tags: str) -> list[str]:
        return sorted(line.slug for line in house.jones(memories.list_, tag=list(tags)).items)

    assert tagged("team") == ["deck-a"]
    assert tagged("TEAM") == ["deck-a"]
    assert tagged("cross-team") == ["deck-b"]
    assert tagged("cross") == ["deck-d"]
    assert tagged("tea") == tagged("%team%") == tagged("_eam") == tagged("team", "cross") == []
    with pytest.raises(MinutebookError) as refused:
        house.mother(memories.tag, ref="deck-a", tags=["team,cross-team"])
    assert code_of(refused) == "bad_name"


def test_starting_a_session_closes_the_one_that_was_open(house: House) -> None:
    """Seed 000, invariant 11: a project has one focus; another project's is not touched."""
    other = house.as_("Ripley", project=house.new_project("Sulaco"))
    elsewhere = other(sessions.start, focus="Hadley's Hope")
    first = house.ripley(sessions.start, focus="Find the cat", session="cat")
    second = house.bishop(sessions.start, focus="Find the alien", session="alien")
    assert house.jones(sessions.current).id == second.id
    closed = house.jones(sessions.show, session="cat")
    assert (closed.id, closed.ended_by) == (first.id, "bishop")
    assert closed.ended_at == second.started_at
    assert other(sessions.current).id == elsewhere.id
    with pytest.raises(MinutebookError) as refused:
        house.ripley(sessions.start, focus="Once more", session="cat")
    assert code_of(refused) == "exists"
    assert house.jones(sessions.current).id == second.id
    house.restart()
    rows = house.rows("SELECT id FROM sessions WHERE ended_at IS NULL AND project_id = :p", p=house.project)
    assert [row["id"] for row in rows] == [second.id]


def test_an_import_adds_what_is_missing_and_changes_nothing_that_is_there(
    house: House, tmp_path: Path, clock: Clock
) -> None:
    """Seed 000, invariant 13: an import brings proposals that are not known, and takes nothing away.

    An older archive of the same ledger neither reopens what was decided since nor takes away what is newer.
    """
    house.ripley(inbox.submit, type="scope", title="Gate", content="Close the gate.", slug="gate")
    house.ripley(inbox.submit, type="scope", title="Hatch", content="Close the hatch.", slug="hatch")
    file = tmp_path / "old.zip"
    house.mother(system.export, file=file)
    house.dallas(inbox.promote, ref="gate")
    house.dallas(inbox.reject, ref="hatch", reason="it is needed")
    house.bishop(inbox.submit, type="scope", title="Vent", content="Close the vent.", slug="vent")
    before = all_rows(house)
    with pytest.raises(MinutebookError) as refused:
        house.mother(system.import_, file=file)
    assert code_of(refused) == "exists"
    assert all_rows(house) == before
    house.mother(system.import_, file=file, skip_conflicts=True)
    assert changed(before, all_rows(house)) <= {"maintenance"}

    there = empty(f"sqlite://{tmp_path}/there/ledger.db", tmp_path / "there", clock)
    try:
        there.mother(system.import_, file=file)
        found = there.as_("Mother", project=house.project)(inbox.list_).items
        assert sorted(line.slug for line in found) == ["gate", "hatch"]
    finally:
        there.close()


def test_nothing_is_written_into_a_workspace_but_its_own_file(tmp_path: Path, ledger_url: str) -> None:
    """Seed 000, invariant 14: what is written to disk stays inside the workspace.

    Commands write nothing there but the one file of `init`; where its folder is a link that leads out,
    `init` refuses and leaves both places as they are.
    """
    workspace, outside = tmp_path / "ws", tmp_path / "outside"
    workspace.mkdir()
    outside.mkdir()
    program = Program(tmp_path / "home", workspace, ledger_url)

    (workspace / ".minutebook").symlink_to(outside, target_is_directory=True)
    refused = program("init", "-o", "json")
    assert (refused.code, refused.error()["code"]) == (2, "bad_workspace")
    assert list(outside.iterdir()) == []
    (workspace / ".minutebook").unlink()

    program.ok("init")
    program.ok("actors", "add", "Ripley")
    program.ok("inbox", "submit", "scope", "Up", "Stay inside.", "--slug", "../../up", "--as", "ripley")
    program.ok("inbox", "promote", "up")
    program.ok("sessions", "start", "../../etc")
    assert sorted(str(path.relative_to(workspace)) for path in workspace.rglob("*")) == [
        ".minutebook",
        ".minutebook/workspace.toml",
    ]
    assert list(outside.iterdir()) == []


def test_every_change_can_be_followed_in_the_log(house: House) -> None:
    """Seed 000, "Why a shared ledger?": each change of status has its verdict and event, in order."""
    house.ripley(inbox.submit, type="technical", title="T", content="Check the seals.", slug="seals")
    house.dallas(inbox.promote, ref="seals")
    kinds = [event.kind for event in reversed(house.jones(events.list_).items)]
    assert kinds[-2:] == ["proposal.submitted", "proposal.promoted"]
    assert [line.op for line in house.jones(verdicts.list_).items] == ["add", "hold"]
