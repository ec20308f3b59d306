"""Reading what stands in another project: by a link to a memory, by a link to a project, and by nothing else."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from minutebook.model.actors import Actor, Origin, Role
from minutebook.model.context import Bundle
from minutebook.model.errors import MinutebookError
from minutebook.operations import context, decisions, events, memories, projects, runs, system, verdicts
from minutebook.service import LocalClient
from tests.conftest import Clock
from tests.houses import House
from tests.lived_in import empty
from tests.operations.asking import code

TASK = "raise the upload limit of the staging proxy"
LIMIT = "The proxy of staging drops an upload above the limit of 10 MB."


@pytest.fixture
def sulaco(house: House) -> str:
    """Another project, with a memory of each scope that is about the same thing."""
    other = house.new_project("Sulaco")
    dallas = house.as_("Dallas", project=other)
    dallas(memories.write, type="project", slug="upload-limit", title="Upload limit", content=LIMIT)
    house.as_("Ripley", project=other)(
        memories.write, type="learning", slug="own-limit", title="Upload limit", tag=["cross-team"],
        content="Ripley alone saw that the staging proxy has another upload limit.",
    )  # fmt: skip
    dallas(
        decisions.write, type="architectural", slug="one-proxy", title="One staging proxy",
        content="Every upload passes the one staging proxy.",
    )  # fmt: skip
    return other


def compiled(house: House, task: str = TASK, as_of: str | None = None, who: str = "Ripley") -> Bundle | None:
    return house.as_(who)(context.context, task=task, **({} if as_of is None else {"as_of": as_of}))


def slugs(bundle: Bundle | None) -> list[str]:
    return [] if bundle is None else [item.slug for item in bundle.items]


def now(house: House) -> str:
    return str(house.mother(events.list_, limit=1).items[0].seq)


def here(house: House) -> str:
    """A memory of this project that something can be linked to."""
    found = house.dallas(
        memories.write, type="project", slug="staging", title="Staging", content="It runs in a cellar."
    )
    assert found.memory is not None
    return found.memory


def bound(house: House, role: Role = Role.COORDINATOR) -> LocalClient:
    """Somebody who decides, and is bound to this project."""
    actor = Actor("kane", "Kane", role, project=house.project)
    return LocalClient(house.service, actor=actor, origin=Origin.HTTP, project=house.project)


# --- a link to one memory ----------------------------------------------------------------------------------------


def test_without_a_link_nothing_of_another_project_is_seen(house: House, sulaco: str) -> None:
    here(house)
    there = house.as_("Dallas", project=sulaco)(memories.show, ref="upload-limit").memory.id
    assert "upload-limit" not in slugs(compiled(house))
    for who in (house.ripley, house.dallas, house.mother, bound(house)):
        assert code(lambda who=who: who(memories.show, ref=there)) == "not_found"
        assert code(lambda who=who: who(memories.show, ref="sulaco/upload-limit")) == "not_found"


def test_a_linked_memory_is_shown_and_compiled_with_the_name_of_its_project(
    house: House, sulaco: str
) -> None:
    here(house)
    house.dallas(memories.link, ref="staging", relation="related_to", other="sulaco/upload-limit")
    view = house.ripley(memories.show, ref="sulaco/upload-limit")
    assert (view.project, view.memory.content, view.standing, view.links) == ("sulaco", LIMIT, "active", ())
    assert house.jones(memories.show, ref=view.memory.id) == view
    bundle = compiled(house)
    assert bundle is not None
    [item] = [item for item in bundle.items if item.slug == "upload-limit"]
    assert (item.project, item.layer) == ("sulaco", "relevant")
    assert f"**project** by dallas (coordinator), from sulaco\n| Upload limit\n| {LIMIT}" in bundle.text
    assert [link.to_id for link in house.ripley(memories.show, ref="staging").links] == [view.memory.id]
    assert house.ripley(projects.links).items[0].memory == view.memory.id


def test_the_link_leads_one_way_and_to_nothing_else(house: House, sulaco: str) -> None:
    mine = here(house)
    house.dallas(memories.link, ref="staging", relation="supports", other="sulaco/upload-limit")
    assert slugs(compiled(house)) == ["upload-limit", "staging"]
    there = house.as_("Ripley", project=sulaco)
    assert code(lambda: there(memories.show, ref=mine)) == "not_found"
    assert there(memories.show, ref="upload-limit").links == ()
    assert there(projects.links).items == ()
    for other in ("own-limit", "one-proxy"):
        assert code(lambda other=other: house.ripley(memories.show, ref=f"sulaco/{other}")) == "not_found"


def test_a_linked_memory_needs_to_share_more_with_the_task_than_one_at_home(
    house: House, sulaco: str
) -> None:
    here(house)
    house.dallas(memories.link, ref="staging", relation="related_to", other="sulaco/upload-limit")
    assert "upload-limit" not in slugs(compiled(house, "look at the proxy"))
    assert "upload-limit" not in slugs(compiled(house, "write a poem"))
    assert "upload-limit" in slugs(compiled(house, "what the proxy does with an upload"))


def test_nothing_but_reading_reaches_into_the_other_project(house: House, sulaco: str) -> None:
    here(house)
    house.dallas(memories.link, ref="staging", relation="related_to", other="sulaco/upload-limit")
    id = house.ripley(memories.show, ref="sulaco/upload-limit").memory.id
    for who in (house.ripley, house.dallas, house.mother):
        assert code(lambda who=who: who(memories.retire, ref=id, reason="mine")) == "not_found"
        assert code(lambda who=who: who(memories.edit, ref=id, content="mine now")) == "not_found"
        assert code(lambda who=who: who(memories.history, ref=id)) == "not_found"
        assert code(lambda who=who: who(memories.tag, ref=id, tags=["mine"])) == "not_found"
    assert id not in {line.id for line in house.ripley(memories.list_, status="all").items}


@pytest.mark.parametrize("relation", ["contradicts", "supersedes"])
def test_a_link_that_would_change_how_the_other_stands_is_refused(
    house: House, sulaco: str, relation: str
) -> None:
    here(house)
    other = "sulaco/upload-limit"
    assert code(lambda: house.mother(memories.link, ref="staging", relation=relation, other=other)) == "bad_transition"  # fmt: skip


def test_only_who_decides_in_both_projects_links_them(house: House, sulaco: str) -> None:
    here(house)
    there = house.as_("Dallas", project=sulaco)(memories.show, ref="upload-limit").memory.id
    for who in (house.ripley, bound(house), bound(house, Role.OPERATOR)):
        for other in (there, "sulaco/upload-limit", "nowhere"):
            asked = code(lambda who=who, other=other: who(memories.link, ref="staging", relation="supports", other=other))  # fmt: skip
            assert asked == "not_found"
    assert code(lambda: bound(house)(projects.link, other="sulaco")) == "other_project"
    assert code(lambda: house.ripley(projects.link, other="sulaco")) == "not_allowed"


def test_an_agents_own_memory_cannot_be_linked(house: House, sulaco: str) -> None:
    here(house)
    own = house.as_("Ripley", project=sulaco)(memories.show, ref="own-limit").memory.id
    asked = lambda: house.mother(memories.link, ref="staging", relation="supports", other=own)  # noqa: E731
    assert code(asked) == "bad_transition"


# --- what ends it ------------------------------------------------------------------------------------------------


def _unlink(house: House, sulaco: str) -> None:
    house.dallas(memories.unlink, ref="staging", relation="related_to", other="sulaco/upload-limit")


def _retire(house: House, sulaco: str) -> None:
    house.as_("Dallas", project=sulaco)(memories.retire, ref="upload-limit", reason="gone")


def _rescope(house: House, sulaco: str) -> None:
    house.as_("Dallas", project=sulaco)(memories.rescope, ref="upload-limit", agent="bishop")


def _archive(house: House, sulaco: str) -> None:
    house.mother(projects.archive, ref="sulaco")


def _revert(house: House, sulaco: str) -> None:
    newest = house.mother(verdicts.list_, limit=1).items[0]
    house.mother(verdicts.revert, id=newest.id, reason="a mistake")


def _erase(house: House, sulaco: str) -> None:
    house.as_("Mother", project=sulaco)(memories.erase, ref="upload-limit", reason="private")


@pytest.mark.parametrize("end", [_unlink, _retire, _rescope, _archive, _revert, _erase])
def test_what_ends_a_link_ends_it_at_once_and_the_past_stays_as_it_was(
    house: House, sulaco: str, end: object
) -> None:
    here(house)
    before = now(house)
    house.dallas(memories.link, ref="staging", relation="related_to", other="sulaco/upload-limit")
    linked, told = now(house), compiled(house)
    id = house.ripley(memories.show, ref="sulaco/upload-limit").memory.id
    end(house, sulaco)  # type: ignore[operator]
    assert "upload-limit" not in slugs(compiled(house))
    assert code(lambda: house.ripley(memories.show, ref=id)) == "not_found"
    assert code(lambda: house.ripley(memories.show, ref="sulaco/upload-limit")) == "not_found"
    assert "upload-limit" not in slugs(compiled(house, as_of=before))
    then = compiled(house, as_of=linked)
    assert told is not None
    assert then is not None
    if end is _erase:
        assert [out.reason for out in then.left_out if out.id == id] == ["erased"]
        return
    assert (then.text, then.hash) == (told.text, told.hash)
    assert house.ripley(memories.show, ref=id, as_of=linked).memory.content == LIMIT
    assert house.ripley(memories.show, ref="sulaco/upload-limit", as_of=linked).project == "sulaco"
    assert code(lambda: house.ripley(memories.show, ref=id, as_of=before)) == "not_found"


def test_a_link_that_was_taken_away_comes_back_when_that_is_undone(house: House, sulaco: str) -> None:
    here(house)
    house.dallas(memories.link, ref="staging", relation="related_to", other="sulaco/upload-limit")
    _unlink(house, sulaco)
    _revert(house, sulaco)
    assert "upload-limit" in slugs(compiled(house))


def test_a_project_that_comes_back_is_read_again_unless_the_link_was_taken_away_meanwhile(
    house: House, sulaco: str
) -> None:
    here(house)
    house.dallas(memories.link, ref="staging", relation="related_to", other="sulaco/upload-limit")
    house.dallas(projects.link, other="sulaco")
    _archive(house, sulaco)
    assert slugs(compiled(house)) == ["staging"]
    house.dallas(projects.unlink, other="sulaco")
    house.mother(projects.restore, ref="sulaco")
    assert slugs(compiled(house)) == ["upload-limit", "staging"]


def test_a_project_is_called_as_it_is_called_and_the_past_as_it_was(house: House, sulaco: str) -> None:
    here(house)
    house.dallas(projects.link, other="sulaco")
    told, at = compiled(house), now(house)
    house.mother(projects.edit, ref="sulaco", slug="auriga")
    renamed, then = compiled(house), compiled(house, as_of=at)
    assert told is not None
    assert renamed is not None
    assert then is not None
    assert {item.project for item in renamed.items} == {"auriga", None}
    assert ", from auriga" in renamed.text
    assert "sulaco" not in renamed.text
    assert then.text == told.text
    assert ", from sulaco" in then.text
    assert house.ripley(memories.show, ref="auriga/upload-limit").project == "auriga"


# --- a link to a project -----------------------------------------------------------------------------------------


def test_a_linked_project_is_read_where_it_is_about_the_task_and_its_boundaries_only_inform(
    house: House, sulaco: str
) -> None:
    here(house)
    house.dallas(projects.link, other="sulaco")
    bundle = compiled(house)
    assert bundle is not None
    read = {item.slug: item for item in bundle.items if item.project == "sulaco"}
    assert set(read) == {"upload-limit", "one-proxy"}
    assert {item.layer for item in read.values()} == {"relevant"}
    assert "## Boundaries and Decisions" not in bundle.text
    assert "**architectural** decided by dallas (coordinator), from sulaco" in bundle.text
    assert "own-limit" not in slugs(bundle), "an agent's own memory, whatever its tags"
    assert slugs(compiled(house, "write a poem")) == []
    house.dallas(projects.unlink, other="sulaco")
    assert slugs(compiled(house)) == ["staging"]


def test_a_boundary_of_a_linked_project_is_none_for_a_child_run(house: House, sulaco: str) -> None:
    house.dallas(projects.link, other="sulaco")
    assert house.ripley(context.context, task=TASK, child=True) is None


def test_at_most_a_few_memories_come_from_linked_projects_and_the_rest_is_named(
    house: House, sulaco: str
) -> None:
    there = house.as_("Mother", project=sulaco)
    for number, word in enumerate(("alpha", "bravo", "charlie", "delta", "echo", "foxtrot")):
        there(
            memories.write, type="project", slug=f"limit-{number}", title=f"Upload of {word}",
            content=f"The {word} proxy has an upload limit of {number} in staging, measured by {word}.",
        )  # fmt: skip
    house.dallas(projects.link, other="sulaco")
    bundle = compiled(house)
    assert bundle is not None
    assert len(bundle.items) == house.limits.context_linked == 3
    assert {out.reason for out in bundle.left_out} == {"over_count"}
    assert len(bundle.left_out) == 5


def test_what_is_at_home_comes_out_the_same_whatever_a_linked_project_holds(
    house: House, sulaco: str
) -> None:
    here(house)
    house.dallas(memories.write, type="project", slug="home", title="Proxy", content="The proxy at home has no limit.")  # fmt: skip
    alone = compiled(house)
    house.dallas(projects.link, other="sulaco")
    both = compiled(house)
    assert alone is not None
    assert both is not None
    mine = [replace(item) for item in both.items if item.project is None]
    assert [(item.slug, item.score) for item in mine] == [(item.slug, item.score) for item in alone.items]


def test_a_link_is_made_once_and_leads_into_another_project_that_stands(house: House, sulaco: str) -> None:
    house.mother(projects.link, other="sulaco")
    for other, wrong in {"sulaco": "exists", "nostromo": "cycle", "nowhere": "not_found"}.items():
        assert code(lambda other=other: house.mother(projects.link, other=other)) == wrong
    assert code(lambda: house.mother(projects.unlink, other="nowhere")) == "not_found"
    house.mother(projects.archive, ref="sulaco")
    assert code(lambda: house.mother(projects.link, other="sulaco")) == "bad_transition"


def test_a_project_has_at_most_so_many_links(house: House, sulaco: str) -> None:
    house.limits = replace(house.limits, reaches=1)
    house.restart()
    house.mother(projects.link, other="sulaco")
    house.new_project("Auriga")
    with pytest.raises(MinutebookError) as refused:
        house.mother(projects.link, other="auriga")
    assert refused.value.code == "too_many"


# --- with the rest of the house --------------------------------------------------------------------------------------


def test_words_erased_in_their_project_are_gone_from_what_runs_elsewhere_were_told(
    house: House, sulaco: str
) -> None:
    here(house)
    house.dallas(projects.link, other="sulaco")
    run = house.ripley(runs.start, task=TASK).run
    told = house.ripley(runs.show, ref=run.id).snapshot
    assert told is not None
    assert told.bundle is not None
    assert LIMIT in told.bundle.text
    _erase(house, sulaco)
    left = house.ripley(runs.show, ref=run.id).snapshot
    assert left is not None
    assert left.bundle is None or LIMIT not in left.bundle.text
    assert LIMIT not in str(house.rows("SELECT * FROM snapshots"))


def test_evidence_of_a_linked_memory_is_not_looked_for_in_this_workspace(house: House, sulaco: str) -> None:
    house.as_("Dallas", project=sulaco)(
        memories.write, type="project", slug="measured", title="Upload limit measured",
        content="In staging the proxy was measured.", evidence=["file:proxy.toml"],
    )  # fmt: skip
    house.dallas(projects.link, other="sulaco")
    bundle = compiled(house)
    assert bundle is not None
    assert {item.evidence for item in bundle.items if item.slug == "measured"} == {"unverifiable"}


def test_an_archive_of_one_project_takes_the_link_along_and_nothing_that_it_leads_to(
    house: House, sulaco: str, tmp_path: Path, clock: Clock
) -> None:
    here(house)
    house.dallas(memories.link, ref="staging", relation="related_to", other="sulaco/upload-limit")
    mine, theirs = tmp_path / "mine.zip", tmp_path / "theirs.zip"
    house.mother(system.export, file=mine, project="nostromo")
    house.as_("Mother", project=sulaco)(system.export, file=theirs, project="sulaco")
    with zipfile.ZipFile(mine) as archive:
        held = b"".join(archive.read(name) for name in archive.namelist())
    assert b"10 MB" not in held
    assert b"upload-limit" not in held
    assert b"sulaco" in held
    with zipfile.ZipFile(theirs) as archive:
        assert json.loads(archive.read("manifest.json"))["tables"]["reaches"]["rows"] == 0
    other = empty(f"sqlite://{tmp_path}/other/ledger.db", tmp_path / "other", clock)
    try:
        other.mother(system.import_, file=mine)
        other.project = house.project
        assert slugs(compiled(other)) == ["staging"]
        assert len(other.ripley(projects.links).items) == 1
        other.mother(system.import_, file=theirs)
        assert slugs(compiled(other)) == ["upload-limit", "staging"]
    finally:
        other.close()


def test_links_survive_a_rebuild_and_a_restart(house: House, sulaco: str) -> None:
    here(house)
    house.dallas(projects.link, other="sulaco")
    told = compiled(house)
    house.mother(system.reindex)
    house.restart()
    after = compiled(house)
    assert told is not None
    assert after is not None
    assert told.text == after.text
