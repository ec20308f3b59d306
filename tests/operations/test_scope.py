"""What an agent would see, scope by scope, and what hides what."""

from __future__ import annotations

from minutebook.operations import decisions, memories, projects, scope, search, sessions
from tests.houses import House
from tests.operations.asking import code


def test_scope_show_explains_every_layer_and_every_shadow(house: House) -> None:
    house.mother(projects.add_repo, name="api")
    house.mother(sessions.start, focus="Now", session="now")
    places = [
        {"scope": "global"}, {"scope": "project"}, {"repo": "api"}, {"agent": "ripley", "tier": "global"},
        {"agent": "ripley"}, {"session": "now"},
    ]  # fmt: skip
    made = [
        house.mother(
            memories.write, type="learning", content=f"Fact {n}, quite unlike.", slug="x", **place
        ).memory
        for n, place in enumerate(places)
    ]
    house.mother(decisions.write, type="process", title="Alone", content="No namesake.", slug="alone")
    view = house.ripley(scope.show)
    assert [(layer.depth, layer.count) for layer in view.layers] == [
        (0, 1),
        (1, 2),
        (2, 1),
        (3, 1),
        (4, 1),
        (5, 1),
    ]
    assert view.layers[1].types == {"learning": 1, "process": 1}
    # The deepest hides all the others, and each says by what.
    assert {shadow.hidden: shadow.by for shadow in view.shadows} == dict.fromkeys(made[:5], made[5])
    assert {shadow.slug for shadow in view.shadows} == {"x"}
    assert (view.agent, view.project, view.visible) == ("ripley", "nostromo", 2)


def test_shadowing_is_by_type_and_slug_and_ends_with_what_hides(house: House) -> None:
    house.mother(memories.write, type="learning", content="For the team.", slug="x")
    house.mother(
        memories.write, type="pattern", content="Another type of that name.", slug="x", scope="project"
    )
    house.ripley(memories.write, type="learning", content="For Ripley.", slug="x")
    assert [shadow.hidden_scope for shadow in house.ripley(scope.show).shadows] == ["project"]
    assert house.bishop(scope.show).shadows == ()
    house.ripley(memories.retire, ref="x", reason="gone")
    assert house.ripley(scope.show).shadows == ()


def test_an_agent_looks_with_its_own_eyes_and_the_others_with_anybodys(house: House) -> None:
    house.ripley(memories.write, type="learning", content="Ripley's own.", slug="x")
    assert house.ripley(scope.show, agent="RIPLEY").visible == 1
    assert code(house.bishop, scope.show, agent="ripley") == "other_agent"
    for reader in (house.dallas, house.mother, house.jones):
        assert reader(scope.show, agent="Ripley").visible == 1
        assert reader(scope.show, agent="bishop").visible == 0


def test_another_agents_cross_team_memory_hides_nothing_of_the_projects(house: House) -> None:
    house.mother(memories.write, type="learning", content="Retry three times.", slug="retries")
    house.ash(
        memories.write,
        type="learning",
        content="Retry five times at most.",
        slug="retries",
        tag=["cross-team"],
    )
    assert house.ripley(scope.show).shadows == ()
    assert len(house.ripley(search.search, query="retry").hits) == 2
    assert len(house.mother(search.search, query="retry").hits) == 2
    # For Ash itself its own memory is the nearer one.
    assert [hit.scope for hit in house.ash(search.search, query="retry").hits] == ["agent:ash"]
