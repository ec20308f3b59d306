"""Team seeding: agents, their charters, and what both become when asked for again."""

from __future__ import annotations

from minutebook.operations import actors, agents, context, memories, runs
from tests import invariants
from tests.houses import House
from tests.operations.asking import code


def charter(house: House, name: str) -> str | None:
    found = house.mother(agents.show, name=name).charter
    return None if found is None else found.content


def test_an_agent_joins_with_a_charter_that_every_run_of_it_begins_with(house: House) -> None:
    done = house.mother(agents.add, name="Lambert", charter="You navigate.")
    assert (done.added, done.actor.id, done.actor.name, done.actor.role) == (
        True,
        "lambert",
        "Lambert",
        "agent",
    )
    assert done.charter is not None
    assert done.charter.op == "add"
    memory = house.mother(memories.show, ref=str(done.charter.memory)).memory
    assert (memory.type, memory.scope.agent, memory.title) == (
        "core_context",
        "lambert",
        "Charter of Lambert",
    )
    told = house.as_("Lambert")(runs.start)
    assert [(item.slug, item.layer) for item in told.saw] == [("charter", "core")]
    assert "You navigate." in told.text
    assert house.bishop(context.context) is None


def test_asking_again_changes_nothing_whatever_the_case_and_keeps_the_first_spelling(house: House) -> None:
    house.mother(agents.add, name="Lambert", charter="You navigate.")
    memories_before = invariants.state_of(house.service.database)["memories"]
    again = house.mother(agents.add, name="LAMBERT", charter="You navigate.")
    assert (again.added, again.actor.name) == (False, "Lambert")
    assert again.charter is not None
    assert again.charter.op == "skip"
    assert invariants.state_of(house.service.database)["memories"] == memories_before


def test_another_charter_takes_the_place_of_the_one_before_with_its_history(house: House) -> None:
    house.mother(agents.add, name="Lambert", charter="You navigate.")
    changed = house.mother(agents.add, name="lambert", charter="You navigate, and you count the fuel.")
    assert changed.charter is not None
    assert (changed.charter.op, changed.charter.revision) == ("update", 2)
    assert charter(house, "Lambert") == "You navigate, and you count the fuel."
    history = house.mother(memories.history, ref=str(changed.charter.memory)).items
    assert [line.revision for line in history] == [1, 2]
    assert house.mother(agents.add, name="lambert").charter is None
    assert charter(house, "Lambert") == "You navigate, and you count the fuel."


def test_somebody_who_is_there_already_gets_a_charter_and_keeps_their_role(house: House) -> None:
    assert house.mother(agents.add, name="dallas", charter="You coordinate.").actor.role == "coordinator"
    assert code(house.mother, agents.add, name="dallas", role="agent") == "exists"
    assert house.mother(agents.add, name="dallas", role="coordinator").added is False
    house.mother(actors.retire, name="ash")
    assert code(house.mother, agents.add, name="ash", charter="You analyse.") == "bad_transition"


def test_charters_are_kept_apart_by_agent_and_by_project(house: House) -> None:
    house.mother(agents.add, name="ripley", charter="You own the importer.")
    house.mother(agents.add, name="bishop", charter="You own the exporter.")
    sulaco = house.as_("Mother", project=house.new_project("Sulaco"))
    sulaco(agents.add, name="ripley", charter="You own the loader.")
    assert charter(house, "ripley") == "You own the importer."
    assert sulaco(agents.show, name="ripley").charter.content == "You own the loader."  # type: ignore[union-attr]
    assert "exporter" not in house.ripley(runs.start).text


def test_only_who_runs_the_house_makes_up_the_team(house: House) -> None:
    for who in (house.dallas, house.ripley, house.jones):
        assert code(who, agents.add, name="Lambert") == "not_allowed"
    assert code(house.mother, agents.add, name="x" * 300) == "bad_name"
    assert code(house.mother, agents.add, name="Lambert", charter="  ") == "blank_field"
    assert code(house.mother, actors.show, name="Lambert") == "not_found"


def test_an_agent_is_shown_with_its_open_runs_and_its_charter_to_those_who_may_see_it(house: House) -> None:
    house.mother(agents.add, name="ripley", charter="You own the importer.")
    started = house.ripley(runs.start).id
    shown = house.ripley(agents.show, name="Ripley")
    assert (shown.actor.id, shown.open_runs) == ("ripley", (started,))
    assert shown.charter is not None
    assert house.bishop(agents.show, name="ripley").charter is None
    assert code(house.ripley, agents.show, name="nobody") == "not_found"
