"""Projects, the directories bound to them, and their repositories."""

from __future__ import annotations

from minutebook.operations import inbox, memories, projects
from tests.houses import House
from tests.operations.asking import code

ULID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


def test_a_project_has_an_id_that_may_have_travelled_and_a_slug_of_its_own(house: House) -> None:
    made = house.mother(projects.create, name="Checkout Service", id=ULID)
    assert (made.id, made.slug, made.created_by) == (ULID, "checkout-service", "mother")
    assert house.mother(projects.create, name="Checkout Service").slug == "checkout-service-2"
    assert code(house.mother, projects.create, name="Else", id=ULID) == "exists"
    assert code(house.mother, projects.create, name="Else", id="not-a-ulid") == "invalid_input"
    assert code(house.mother, projects.create, name="Else", slug="Checkout Service") == "exists"
    assert code(house.mother, projects.create, name="Else", slug="global") == "exists"


def test_a_name_that_cannot_be_shown_plainly_is_refused(house: House) -> None:
    for name in ("", "  ", "a\nb", "x" * 81, "a\u202eb", "🚀", "<b>"):
        assert code(house.mother, projects.create, name=name) == "bad_name", name


def test_a_project_is_renamed_and_its_memory_stays(house: House) -> None:
    house.ripley(memories.write, type="learning", content="A fact.", slug="fact")
    house.new_project("Sulaco")
    assert house.mother(projects.edit, ref="nostromo", name="Narcissus", slug="Narcissus").id == house.project
    assert code(house.mother, projects.edit, ref="narcissus", slug="sulaco") == "exists"
    assert house.as_("Ripley", project="narcissus")(memories.show, ref="fact").memory.slug == "fact"
    assert code(house.as_("Ripley", project="nostromo"), memories.list_) == "not_found"


def test_projects_are_listed_paged_and_archived_ones_only_on_request(house: House) -> None:
    house.new_project("Sulaco")
    house.mother(projects.archive, ref="sulaco")
    assert [project.slug for project in house.jones(projects.list_).items] == ["nostromo", "global"]
    page = house.jones(projects.list_, archived=True, limit=2)
    assert [project.slug for project in page.items] == ["nostromo", "sulaco"]
    assert [project.slug for project in house.jones(projects.list_, after=page.next).items] == ["global"]
    house.mother(projects.restore, ref="sulaco")
    assert len(house.jones(projects.list_).items) == 3


def test_the_global_project_stays_as_it_is(house: House) -> None:
    for act in (
        lambda: house.mother(projects.archive, ref="global"),
        lambda: house.mother(projects.edit, ref="global", name="Mine"),
        lambda: house.as_("Mother", project="global")(projects.see, path="/a", host="h"),
        lambda: house.as_("Mother", project="global")(projects.add_repo, name="api"),
    ):
        assert code(act) == "bad_transition"


def test_a_project_shows_where_it_was_seen_and_how_much_it_holds(house: House) -> None:
    house.ripley(memories.write, type="learning", content="A fact.", slug="fact")
    house.ripley(inbox.submit, type="scope", title="S", content="Words.", slug="s")
    house.mother(projects.add_repo, name="API Gateway", remote="git@example.com:api.git")
    assert code(house.mother, projects.add_repo, name="api-gateway") == "exists"
    house.ripley(projects.see, path="/home/ripley/nostromo", host="laptop")
    house.clock.advance(days=1)
    seen = house.bishop(projects.see, path="/home/ripley/nostromo", host="laptop").items
    assert len(seen) == 1
    assert seen[0].first_seen_at < seen[0].last_seen_at
    house.bishop(projects.see, path="/srv/clone", host="server")
    view = house.jones(projects.show)
    assert [workspace.path for workspace in view.workspaces] == ["/home/ripley/nostromo", "/srv/clone"]
    assert view.repos == ("api-gateway",)
    assert view.counts == {"memories active": 1, "proposals pending": 1}
    assert len(house.mother(projects.forget, path="/srv/clone", host="server").items) == 1
    assert code(house.mother, projects.forget, path="/srv/clone", host="server") == "not_found"
