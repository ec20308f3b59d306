"""Who may ask: names are one whatever their case, roles are given and taken away."""

from __future__ import annotations

from minutebook.model.actors import GRANTABLE, Role
from minutebook.operations import actors, events
from tests.houses import House
from tests.operations.asking import code


def test_a_name_is_taken_whatever_its_case_and_width(house: House) -> None:
    for spelled in ("RIPLEY", "ripley", "Ｒｉｐｌｅｙ", " Ripley "):
        assert code(house.mother, actors.add, name=spelled) == "exists"
        assert house.jones(actors.show, name=spelled).name == "Ripley"


def test_a_name_that_hides_something_is_refused(house: House) -> None:
    for name in ("", " ", "a\tb", "rip\u200bley", "x" * 81, "😀", "a\u202eb"):
        assert code(house.mother, actors.add, name=name) == "bad_name", name


def test_every_role_can_be_given_but_the_scribes(house: House) -> None:
    for role in GRANTABLE:
        assert house.mother(actors.add, name=f"A {role}", role=role.value.upper()).role is role
    assert code(house.mother, actors.add, name="S", role="scribe") == "unknown_role"
    assert code(house.mother, actors.edit, name="ripley", role="king") == "unknown_role"


def test_an_actor_is_edited_retired_and_restored_and_each_leaves_an_event(house: House) -> None:
    assert house.mother(actors.edit, name="ripley", role="coordinator", shown_as="RIPLEY").name == "RIPLEY"
    assert code(house.mother, actors.edit, name="ripley", shown_as="Newt") == "invalid_input"
    assert house.mother(actors.retire, name="ripley").retired_at is not None
    assert code(house.mother, actors.retire, name="ripley") == "bad_transition"
    assert "ripley" not in [actor.id for actor in house.jones(actors.list_).items]
    assert "ripley" in [actor.id for actor in house.jones(actors.list_, retired=True).items]
    restored = house.mother(actors.restore, name="ripley")
    assert (restored.retired_at, restored.role) == (None, Role.COORDINATOR)
    kinds = [event.kind for event in house.jones(events.list_, subject="ripley").items]
    assert kinds == ["actor.restored", "actor.retired", "actor.edited", "actor.added"]
    assert code(house.mother, actors.show, name="nobody") == "not_found"


def test_actors_are_listed_by_role_and_paged(house: House) -> None:
    assert [actor.name for actor in house.jones(actors.list_, role="agent").items] == [
        "Ash",
        "Bishop",
        "Ripley",
    ]
    page = house.jones(actors.list_, limit=2)
    rest = house.jones(actors.list_, after=page.next)
    assert [actor.id for actor in (*page.items, *rest.items)] == [
        "ash",
        "bishop",
        "dallas",
        "jones",
        "ripley",
    ]


def test_an_actor_may_be_bound_to_a_project_that_exists(house: House) -> None:
    assert house.mother(actors.add, name="Kane", bound_to="nostromo").project == house.project
    assert code(house.mother, actors.add, name="Lambert", bound_to="no-such") == "not_found"
    # Who is bound elsewhere is not listed to somebody who is bound here.
    sulaco = house.new_project("Sulaco")
    house.mother(actors.add, name="Burke", bound_to=sulaco)
    names = [actor.name for actor in house.as_("Kane")(actors.list_).items]
    assert "Kane" in names
    assert "Burke" not in names
