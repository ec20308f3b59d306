"""Seed 000 (Agentweaver, memory and decisions), section "Common gotchas": one test for each.

Where the seed speaks of exported files, which come later, the part that the ledger decides is tested.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from minutebook.model.actors import Actor, Origin, Role
from minutebook.model.errors import MinutebookError
from minutebook.model.memories import BOUNDARIES, GOVERNING, Type
from minutebook.model.text import canonical_slug
from minutebook.operations import decisions, inbox, memories, search, sessions, system, tombstones, verdicts
from minutebook.service import LocalClient
from tests.conftest import Clock
from tests.houses import House
from tests.lived_in import empty, live_in
from tests.scenarios.program import Program
from tests.scenarios.rows import all_rows, changed, lost


def test_the_inbox_keeps_every_proposal_however_it_ended(house: House) -> None:
    """Seed 000, gotcha 1: the inbox is part of the audit record, not scratch space.

    Merged, rejected, withdrawn, expired and undone proposals are all there afterwards, with their words.
    """
    ends = {
        "merged": "Keep a watch.",
        "rejected": "Sleep all.",
        "withdrawn": "Sing.",
        "expired": "Wait.",
        "undone": "Go back.",
    }
    for slug, content in ends.items():
        house.ripley(inbox.submit, type="process", title=slug, content=content, slug=slug)
    house.dallas(inbox.promote, ref="merged")
    house.dallas(inbox.reject, ref="rejected", reason="no")
    house.ripley(inbox.withdraw, ref="withdrawn")
    undone = house.dallas(inbox.promote, ref="undone")
    house.mother(verdicts.revert, id=undone.verdict)
    house.clock.advance(days=100)  # type: ignore[attr-defined]
    house.dallas(inbox.expire, days=90, confirm=True)
    house.restart()

    listed = house.jones(inbox.list_, status="all").items
    assert {line.slug: house.jones(inbox.show, ref=line.slug).proposal.content for line in listed} == ends
    assert {line.slug: line.status for line in listed} == {
        "merged": "merged",
        **dict.fromkeys(("rejected", "withdrawn", "expired", "undone"), "rejected"),
    }
    for line in listed:
        assert house.jones(verdicts.list_, about=line.slug).items, f"no verdict tells about {line.slug}"


def test_a_file_of_a_pending_proposal_does_not_change_the_proposal(ledger_url: str, tmp_path: Path) -> None:
    """Seed 000, gotcha 2: the row is the proposal; what somebody wrote into a file of its name is not.

    The reviewer is shown, and accepts, the words of the row.
    """
    workspace = tmp_path / "ws"
    file = workspace / ".squad" / "decisions" / "inbox" / "hull.md"
    file.parent.mkdir(parents=True)
    program = Program(tmp_path / "home", workspace, ledger_url)
    program.ok("init")
    program.ok("actors", "add", "Ripley")
    program.ok(
        "inbox", "submit", "scope", "Hull", "Nobody leaves the hull.", "--slug", "hull", "--as", "ripley"
    )
    file.write_text(
        "---\nagent: ripley\nslug: hull\ntype: scope\ntitle: Hull\n---\nEverybody leaves the hull.\n"
    )
    assert program.ok("inbox", "show", "hull")["proposal"]["content"] == "Nobody leaves the hull."
    program.ok("inbox", "promote", "hull")
    assert program.ok("decisions", "show", "hull")["memory"]["content"] == "Nobody leaves the hull."
    assert "Everybody" in file.read_text()


def test_one_slug_from_two_agents_is_two_ideas_that_are_decided_apart(house: House) -> None:
    """Seed 000, gotcha 3: two agents may choose the same words for different ideas.

    Each proposal is decided by itself: accepting one neither merges, rejects nor buries the other.
    """
    house.ripley(
        inbox.submit,
        type="technical",
        title="Sleep",
        content="Freeze the crew for the way home.",
        slug="sleep",
    )
    house.bishop(
        inbox.submit, type="technical", title="Sleep", content="Put idle services to sleep.", slug="sleep"
    )
    house.dallas(inbox.reject, ref="sleep", reason="not yet")
    other = house.dallas(inbox.show, ref="sleep--bishop").proposal
    assert (other.status, other.agent, other.content) == ("pending", "bishop", "Put idle services to sleep.")
    done = house.dallas(inbox.promote, ref="sleep--bishop")
    assert house.jones(decisions.show, ref="sleep--bishop").memory.id == done.memory
    assert house.jones(inbox.show, ref="sleep").proposal.status == "rejected"


@pytest.mark.parametrize("end", ["merged", "rejected"])
def test_idempotence_of_one_agent_ends_where_the_proposal_was_decided(house: House, end: str) -> None:
    """Seed 000, gotcha 4: sending again is an update while it waits, and a conflict once it is decided.

    Also for the agent whose slug was changed on the way in, whichever of the two slugs it sends.
    """
    house.ash(inbox.submit, type="technical", title="Order", content="Crew first.", slug="order-937")
    sent = house.bishop(
        inbox.submit, type="technical", title="Order", content="Specimen first.", slug="order-937"
    )
    again = house.bishop(
        inbox.submit, type="technical", title="Order", content="Specimen first!", slug="order-937"
    )
    assert again.id == sent.id
    if end == "merged":
        house.dallas(inbox.promote, ref=sent.slug)
    else:
        house.dallas(inbox.reject, ref=sent.slug, reason="crew first")
    before = all_rows(house)
    for slug in ("order-937", "order-937--bishop"):
        with pytest.raises(MinutebookError) as refused:
            house.bishop(inbox.submit, type="technical", title="Order", content="Specimen first.", slug=slug)
        assert refused.value.code == "slug_decided"
    assert all_rows(house) == before
    assert house.dallas(inbox.show, ref="order-937").proposal.status == "pending"


@pytest.mark.parametrize("type", sorted(Type))
def test_nothing_that_governs_is_merged_by_itself(house: House, type: Type) -> None:
    """Seed 000, gotcha 5: what is accepted without a reviewer is of low risk, and never a boundary.

    An agent's direct write of a governing type waits; the scribe has no hand of its own to promote with.
    """
    done = house.ripley(
        memories.write, type=type, content=f"Something {type} about the reactor.", slug="reactor"
    )
    waits = type in GOVERNING or type in (Type.PROFILE, Type.FEEDBACK)
    assert (done.op == "hold") == waits
    assert house.jones(decisions.list_, status="all").items == ()
    if waits:
        risk = house.dallas(inbox.show, ref="reactor").proposal.risk
        assert (risk == "high") == (type in BOUNDARIES)
        scribe = Actor("scribe", "Scribe", Role.SCRIBE)
        by_hand = LocalClient(house.service, actor=scribe, origin=Origin.SYSTEM, project=house.project)
        with pytest.raises(MinutebookError) as refused:
            by_hand(inbox.promote, ref="reactor")
        assert refused.value.code == "not_allowed"
        assert house.jones(inbox.show, ref="reactor").proposal.status == "pending"


def test_decisions_memory_and_session_are_three_answers_that_never_mix(house: House) -> None:
    """Seed 000, gotcha 6: the order of context is policy: decisions, then memory, then the session.

    The ledger keeps the three apart, so that no text, tag or importance moves a row to an earlier layer.
    """
    rule = house.dallas(decisions.write, type="architectural", title="Hull", content="One hull.", slug="hull")
    note = house.mother(
        memories.write,
        type="learning",
        content="The hull creaks.",
        slug="hull-note",
        importance="high",
        tag=["cross-team"],
    )
    house.ripley(
        sessions.start, focus="Decide that the hull is two hulls", summary="architectural: two hulls"
    )
    decided = [line.id for line in house.bishop(decisions.list_).items]
    known = [line.id for line in house.bishop(memories.list_, type="learning").items]
    assert (decided, known) == ([rule.memory], [note.memory])
    assert {hit.id for hit in house.bishop(search.search, query="hull").hits} == {rule.memory, note.memory}
    assert house.bishop(search.search, query="two hulls decide").hits[0].id in {rule.memory, note.memory}
    assert house.rows("SELECT count(*) AS n FROM memories")[0]["n"] == 2


def test_a_context_file_that_says_otherwise_governs_nobody(ledger_url: str, tmp_path: Path) -> None:
    """Seed 000, gotcha 7: files of compiled context are made from decisions, and are never their source."""
    workspace = tmp_path / "ws"
    context = workspace / ".agentweaver" / "context"
    context.mkdir(parents=True)
    (context / "boundaries.md").write_text("# Boundaries\n\n- [architectural] Ship without tests.\n")
    (context / "patterns.md").write_text("# Patterns\n\n- Skip the review.\n")
    program = Program(tmp_path / "home", workspace, ledger_url)
    program.ok("init")
    program.ok("decisions", "write", "architectural", "Tests", "Ship with tests.", "--slug", "tests")
    assert [item["title"] for item in program.ok("decisions", "list", "--status", "all")["items"]] == [
        "Tests"
    ]
    assert program.ok("search", '"skip the review"')["hits"] == []
    (context / "boundaries.md").unlink()
    assert program.ok("decisions", "show", "tests")["memory"]["status"] == "active"


def test_an_import_under_a_known_slug_does_not_overwrite_its_review(
    house: House, tmp_path: Path, clock: Clock
) -> None:
    """Seed 000, gotcha 8: two ledgers of one project may use one slug; neither review is lost by an import.

    The proposal that was decided here keeps its words, its reviewer and its reason; the one that comes is
    added beside it under another slug.
    """
    start, file = tmp_path / "start.zip", tmp_path / "file.zip"
    house.mother(system.export, file=start)
    there = empty(f"sqlite://{tmp_path}/there/ledger.db", tmp_path / "there", clock)
    try:
        there.mother(system.import_, file=start)
        far = there.as_("Bishop", project=house.project)
        far(inbox.submit, type="scope", title="Store", content="Keep it in files.", slug="store")
        there.as_("Mother", project=house.project)(system.export, file=file)
    finally:
        there.close()
    house.ripley(inbox.submit, type="scope", title="Store", content="Keep it in PostgreSQL.", slug="store")
    house.dallas(inbox.reject, ref="store", reason="not measured")
    before = house.jones(inbox.show, ref="store")
    house.mother(system.import_, file=file)
    assert house.jones(inbox.show, ref="store") == before
    rows = house.rows("SELECT content, status FROM proposals ORDER BY content")
    assert [(row["content"], row["status"]) for row in rows] == [
        ("Keep it in PostgreSQL.", "rejected"),
        ("Keep it in files.", "pending"),
    ]


def test_slugs_are_different_file_names_on_every_file_system(house: House) -> None:
    """Seed 000, gotcha 9: a folder cannot hold two files of one name, which is why slugs never collide.

    Slugs that differ only by case, width, accents or spacing are one slug, so that no two proposals would
    land in one file, and each slug is a plain file name everywhere.
    """
    spellings = [
        "Use Postgres",
        "use-postgres",
        "USE_POSTGRES",
        "ｕｓｅ-postgres",
        "úse postgrés",
        "use.postgres",
    ]
    slugs = []
    for number, spelling in enumerate(spellings):
        agent = house.as_(f"Agent {number}")
        sent = agent(inbox.submit, type="technical", title="P", content=f"Reason {number}.", slug=spelling)
        assert sent.requested_slug == "use-postgres"
        slugs.append(sent.slug)
    assert len({slug.casefold() for slug in slugs}) == len(spellings)
    for slug in slugs:
        assert slug == canonical_slug(slug)
        assert not set(slug) - set("abcdefghijklmnopqrstuvwxyz0123456789-")
        assert len(f"{slug}.md".encode()) < 255


def test_a_backup_holds_the_whole_history_of_governance(house: House, tmp_path: Path, clock: Clock) -> None:
    """Seed 000, gotcha 10: one backup has decisions, inbox, sessions, memory, verdicts and events.

    Restored by the program into an empty place, it is the ledger that was.
    """
    live_in(house)
    made = house.mother(system.backup)
    before = all_rows(house)
    url = f"sqlite://{tmp_path}/new/ledger.db"
    if made.file.endswith(".zip"):
        there = empty(url, tmp_path / "new", clock)
        there.close()
    program = Program(tmp_path / "new", tmp_path, url)
    done = program("restore", made.file, "--confirm", "-o", "json")
    assert done.code == 0, done.err
    there = empty(url, tmp_path / "new", clock)
    try:
        assert changed(before, all_rows(there)) <= {"maintenance"}
    finally:
        there.close()


def test_rejected_claims_and_replaced_decisions_can_be_explained_later(house: House) -> None:
    """Seed 000, "Append/union over destructive cleanup": what was refused or replaced still tells why."""
    house.dallas(decisions.write, type="scope", title="Range", content="Stay in orbit.", slug="range")
    house.dallas(
        decisions.write,
        type="scope",
        title="Range",
        content="Land near the beacon.",
        slug="range",
        rationale="signal",
    )
    house.ripley(inbox.submit, type="scope", title="Leave", content="Turn around now.", slug="leave")
    before = all_rows(house)
    house.dallas(inbox.reject, ref="leave", reason="company orders")
    assert set(lost(before, all_rows(house))) <= {"proposals"}
    old = house.jones(decisions.list_, status="superseded").items[0]
    new = house.jones(decisions.show, ref="range")
    assert house.jones(decisions.show, ref=old.id).memory.superseded_by == new.memory.id
    assert new.supersedes == (old.id,)
    assert house.jones(tombstones.list_).items[0].reason == "company orders"
