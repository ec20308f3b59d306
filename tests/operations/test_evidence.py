"""Evidence in the ledger: hashed when it is cited, looked at when a context is compiled, shown and never hidden."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minutebook.files import workspace
from minutebook.files.evidence import Workspaces
from minutebook.operations import context, decisions, inbox, memories, runs
from minutebook.service import LocalClient
from tests.houses import House
from tests.operations.asking import code


@pytest.fixture
def ship(house: House, tmp_path: Path) -> tuple[House, Path]:
    """A house whose callers work in a workspace of the project."""
    root = tmp_path / "ship"
    root.mkdir()
    workspace.create(root, project=house.project, name="Nostromo", created_at="2026-01-01T00:00:00.000000Z")
    (root / "app.py").write_text("one\ntwo\nthree\nfour\n")
    object.__setattr__(house.service.world, "witness", Workspaces())
    return house, root


def at_work(house: House, root: Path, who: str = "Ripley", **more: Any) -> LocalClient:
    client = house.as_(who, **more)
    client.workspace = root
    return client


def learn(client: LocalClient, slug: str, *evidence: str, **more: Any) -> str:
    done = client(
        memories.write,
        **{"type": "learning", "content": f"What {slug} says.", "slug": slug, "importance": "high",
           "evidence": list(evidence), **more},
    )  # fmt: skip
    return str(done.memory)


def states(client: LocalClient, **how: Any) -> dict[str, str]:
    return {one.slug: one.state.value for one in client(memories.verify, **how).items}


def test_the_hash_of_what_is_cited_is_taken_when_it_is_written(ship: tuple[House, Path]) -> None:
    house, root = ship
    ripley = at_work(house, root)
    learn(ripley, "cited", "file:app.py#2-3@0a1b2c", "url:https://example.org")
    file, url = house.ripley(memories.show, ref="cited").memory.evidence
    assert (file.span, file.commit, len(file.digest or "")) == ("2-3", "0a1b2c", 64)
    assert url.digest is None
    proposed = ripley(inbox.submit, type="scope", title="P", content="Proposed.", evidence=["file:app.py"])
    assert house.ripley(inbox.show, ref=proposed.slug).proposal.evidence[0].digest
    learn(house.ripley, "unseen", "file:app.py#2-3")
    assert house.ripley(memories.show, ref="unseen").memory.evidence[0].digest is None


def test_every_state_is_told_by_verify(ship: tuple[House, Path]) -> None:
    house, root = ship
    (root / "gone.py").write_text("gone\n")
    ripley = at_work(house, root)
    learn(ripley, "fresh", "file:app.py#2-3")
    learn(ripley, "stale", "file:app.py#4")
    learn(ripley, "missing", "file:gone.py")
    learn(ripley, "unverifiable", "url:https://example.org")
    learn(ripley, "resting-on-nothing")
    (root / "app.py").write_text("one\ntwo\nthree\nfive\n")
    (root / "gone.py").unlink()
    told = states(ripley)
    assert told == {name: name for name in ("fresh", "stale", "missing", "unverifiable")}
    assert states(ripley, ref=["stale", "missing"]) == {"stale": "stale", "missing": "missing"}
    assert set(states(house.ripley).values()) == {"unverifiable"}
    assert code(ripley, memories.verify, ref=["nothing"]) == "not_found"
    page = ripley(memories.verify, limit=3)
    assert (len(page.items), page.next) == (3, page.items[-1].memory)
    assert [one.slug for one in ripley(memories.verify, after=page.next).items] == ["fresh"]


def test_an_agent_verifies_what_it_may_see(ship: tuple[House, Path]) -> None:
    house, root = ship
    learn(at_work(house, root), "private", "file:app.py#1")
    learn(at_work(house, root), "shared", "file:app.py#1", tag=["cross-team"], content="Shared with all.")
    assert set(states(at_work(house, root, "Bishop"))) == {"shared"}
    assert set(states(at_work(house, root, "Dallas"))) == {"private", "shared"}


def test_a_context_shows_the_state_and_puts_what_is_shaky_after_its_equals(ship: tuple[House, Path]) -> None:
    house, root = ship
    ripley = at_work(house, root)
    learn(ripley, "firm", "file:app.py#1")
    learn(ripley, "shaky", "file:app.py#4", content="The last line is four.")
    before = ripley(context.context)
    assert before is not None
    assert [(item.slug, item.evidence) for item in before.items] == [("shaky", "fresh"), ("firm", "fresh")]
    (root / "app.py").write_text("one\ntwo\nthree\nfive\n")
    after = ripley(context.context)
    assert after is not None
    assert [(item.slug, item.evidence) for item in after.items] == [("firm", "fresh"), ("shaky", "stale")]
    assert "evidence stale" in after.text
    assert "The last line is four." in after.text
    assert before.hash != after.hash


def test_what_a_run_was_told_about_its_evidence_is_frozen_with_it(ship: tuple[House, Path]) -> None:
    house, root = ship
    ripley = at_work(house, root)
    learn(ripley, "cited", "file:app.py#1")
    started = ripley(runs.start)
    (root / "app.py").unlink()
    assert "evidence fresh" in ripley(runs.show, ref=started.id).text
    assert "evidence missing" in ripley(runs.start).text


def test_of_the_past_no_file_is_looked_at_so_that_it_comes_out_the_same_anywhere(
    ship: tuple[House, Path],
) -> None:
    house, root = ship
    ripley = at_work(house, root)
    learn(ripley, "cited", "file:app.py#1")
    seq = str(house.ripley(context.context).seq)  # type: ignore[union-attr]
    one, two = ripley(context.context, as_of=seq), house.ripley(context.context, as_of=seq)
    assert one == two
    assert one is not None
    assert "evidence unverifiable" in one.text


def test_a_boundary_whose_evidence_is_gone_still_binds(ship: tuple[House, Path]) -> None:
    house, root = ship
    dallas = at_work(house, root, "Dallas")
    dallas(
        decisions.write,
        type="scope",
        title="S",
        content="Only four lines.",
        slug="s",
        evidence=["file:app.py"],
    )
    (root / "app.py").unlink()
    told = at_work(house, root)(context.context)
    assert told is not None
    assert [(item.slug, item.layer, item.evidence) for item in told.items] == [("s", "boundary", "missing")]


def test_an_edit_that_cites_nothing_keeps_the_hash_and_citing_again_takes_a_new_one(
    ship: tuple[House, Path],
) -> None:
    house, root = ship
    ripley = at_work(house, root)
    learn(ripley, "cited", "file:app.py#1")
    (root / "app.py").write_text("first\ntwo\n")
    ripley(memories.edit, ref="cited", title="Another title")
    assert states(ripley) == {"cited": "stale"}
    ripley(memories.edit, ref="cited", evidence=["file:app.py#1"])
    assert states(ripley) == {"cited": "fresh"}


def test_who_cites_the_same_from_elsewhere_does_not_lose_the_hash(ship: tuple[House, Path]) -> None:
    house, root = ship
    first = learn(at_work(house, root), "cited", "file:app.py#1", "url:https://example.org")
    again = learn(house.ripley, "cited", "file:app.py#1", "url:https://example.org")
    shown = house.ripley(memories.show, ref="cited").memory
    assert (first, shown.revision) == (again, 1)
    learn(house.ripley, "cited", "file:app.py#1", content="Said in other words.")
    assert states(at_work(house, root)) == {"cited": "fresh"}


def test_a_workspace_of_another_project_is_not_looked_into(ship: tuple[House, Path], tmp_path: Path) -> None:
    house, root = ship
    sulaco = house.new_project("Sulaco")
    elsewhere = at_work(house, root, project=sulaco)
    learn(elsewhere, "cited", "file:app.py#1")
    assert elsewhere(memories.show, ref="cited").memory.evidence[0].digest is None
    assert states(elsewhere) == {"cited": "unverifiable"}


def test_a_compile_survives_a_workspace_that_vanishes_or_holds_a_pipe(ship: tuple[House, Path]) -> None:
    import os
    import shutil

    house, root = ship
    ripley = at_work(house, root)
    learn(ripley, "cited", "file:app.py#1")
    (root / "app.py").unlink()
    os.mkfifo(root / "app.py")
    assert "evidence unverifiable" in ripley(context.context).text  # type: ignore[union-attr]
    shutil.rmtree(root)
    assert "evidence unverifiable" in ripley(runs.start).text
