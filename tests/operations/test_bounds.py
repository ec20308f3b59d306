"""Who is bound to one project changes nothing that other projects see: rule by rule, and by every way in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from minutebook.operations import (
    actors,
    decisions,
    inbox,
    memories,
    projects,
    tokens,
    tombstones,
    verdicts,
)
from tests import invariants
from tests.houses import House
from tests.operations.asking import code, refusal
from tests.operations.bearing import bearer

#: How somebody may be bound: as who they are, or by the token they ask with.
BOUND = ["coordinator", "operator", "coordinator's token", "operator's token"]


@pytest.fixture
def ship(house: House) -> House:
    """Global memory of each kind, with a history, and what waits to become global."""
    house.new_project("Sulaco")
    house.mother(
        decisions.write, type="process", title="Law", content="All review.", slug="law", scope="global"
    )
    house.mother(
        decisions.write, type="process", title="Law 2", content="All test.", slug="law-2", scope="global"
    )
    house.mother(memories.write, type="project", content="Every ship is slow.", slug="fact", scope="global")
    house.mother(memories.write, type="project", content="Every ship is old.", slug="gone", scope="global")
    house.mother(memories.retire, ref="gone", reason="not so")
    house.mother(memories.write, type="project", content="This ship is slow.", slug="ours")
    house.mother(memories.write, type="project", content="This ship moves ore.", slug="moved")
    house.mother(memories.rescope, ref="moved", scope="global", reason="all do")
    house.ripley(
        inbox.submit, type="process", title="Wish", content="All sleep.", slug="wish", scope="global"
    )
    return house


def somebody(house: House, how: str) -> Any:
    role, _, by_token = how.partition("'s ")
    house.mother(actors.add, name="Kane", role=role, **({} if by_token else {"bound_to": "nostromo"}))
    return bearer(house, agent="kane", role=role) if by_token else house.as_("Kane")


def verdict_on(house: House, slug: str, op: str) -> str:
    found = house.mother(verdicts.list_, about=slug, op=op).items
    return found[0].id


#: What is refused with `other_project`: an act on what is global, by whoever is bound.
ACTS: dict[str, Callable[[House, Any], Any]] = {
    "retire": lambda house, kane: kane(memories.retire, ref="fact", reason="x"),
    "archive": lambda house, kane: kane(memories.archive, ref="fact", reason="x"),
    "restore": lambda house, kane: kane(memories.restore, ref="gone", reason="x"),
    "supersede": lambda house, kane: kane(decisions.supersede, ref="law", by="law-2"),
    "retire a decision": lambda house, kane: kane(decisions.retire, ref="law", reason="x"),
    "archive a decision": lambda house, kane: kane(decisions.archive, ref="law", reason="x"),
    "tag": lambda house, kane: kane(memories.tag, ref="fact", tags=["x"]),
    "untag": lambda house, kane: kane(memories.untag, ref="fact", tags=["x"]),
    "link": lambda house, kane: kane(memories.link, ref="fact", relation="supports", other="ours"),
    "take in": lambda house, kane: kane(memories.rescope, ref="fact", scope="project"),
    "send out": lambda house, kane: kane(memories.rescope, ref="ours", scope="global"),
    "send out to an agent": lambda house, kane: kane(
        memories.rescope, ref="ours", agent="ripley", tier="global"
    ),
    "promote": lambda house, kane: kane(inbox.promote, ref="wish"),
    "revert": lambda house, kane: kane(verdicts.revert, id=verdict_on(house, "fact", "add")),
    "revert what moved out": lambda house, kane: kane(
        verdicts.revert, id=verdict_on(house, "moved", "update")
    ),
    "lift": lambda house, kane: kane(
        tombstones.lift, id=house.mother(tombstones.list_).items[0].id, reason="x"
    ),
}
#: The same, of what takes an operator.
OPERATORS_ACTS: dict[str, Callable[[House, Any], Any]] = {
    "erase": lambda house, kane: kane(memories.erase, ref="fact", reason="x"),
    "make a project": lambda house, kane: kane(projects.create, name="Third"),
    "edit an actor": lambda house, kane: kane(actors.edit, name="ripley", role="viewer"),
    "retire an actor": lambda house, kane: kane(actors.retire, name="ripley"),
    "restore an actor": lambda house, kane: kane(actors.restore, name="ripley"),
    "token for all": lambda house, kane: kane(tokens.create, agent="newt", everywhere=True),
    "token of another": lambda house, kane: kane(tokens.create, agent="ripley"),
}


@pytest.mark.parametrize("how", BOUND)
def test_an_act_on_what_every_project_sees_is_refused_and_changes_nothing(ship: House, how: str) -> None:
    kane = somebody(ship, how)
    acts = ACTS | (OPERATORS_ACTS if how.startswith("operator") else {})
    before = _state(ship)
    for name, act in acts.items():
        assert code(act, ship, kane) == "other_project", name
    assert _state(ship) == before


def _state(house: House) -> invariants.State:
    state = invariants.state_of(house.service.database)
    return state | {"tokens": []}  # whose last use is noted


@pytest.mark.parametrize("act", [*ACTS, *OPERATORS_ACTS])
def test_the_same_act_is_open_to_who_is_bound_to_none(ship: House, act: str) -> None:
    """So that no row of the tables above is refused for another reason than the bond."""
    ship.mother(actors.add, name="Kane", role="operator")
    assert (ACTS | OPERATORS_ACTS)[act](ship, ship.as_("Kane")) is not None


@pytest.mark.parametrize("how", BOUND)
@pytest.mark.parametrize(
    ("function", "given"),
    [
        (memories.write, {"type": "project", "content": "Every ship leaks.", "scope": "global"}),
        (memories.write, {"type": "profile", "content": "Kim likes tea.", "scope": "global"}),
        (
            memories.write,
            {"type": "learning", "content": "Air is thin.", "agent": "ripley", "tier": "global"},
        ),
        (memories.edit, {"ref": "fact", "content": "Every ship is fast."}),
        (decisions.edit, {"ref": "law", "content": "None review."}),
        (decisions.write, {"type": "scope", "title": "S", "content": "No cats.", "scope": "global"}),
        (
            decisions.write,
            {
                "type": "process",
                "title": "L",
                "content": "None review.",
                "slug": "law",
                "scope": "global",
            },
        ),
    ],
)
def test_what_would_be_seen_everywhere_is_held_for_somebody_who_may_let_it_in(
    ship: House, how: str, function: Any, given: dict[str, Any]
) -> None:
    kane = somebody(ship, how)
    before = ship.rows("SELECT id, revision, status FROM memories ORDER BY id")
    done = kane(function, **given)
    assert (done.op, "authority.bound" in done.rules) == ("hold", True)
    assert ship.rows("SELECT id, revision, status FROM memories ORDER BY id") == before
    proposal = ship.mother(inbox.show, ref=done.proposal).proposal
    assert (proposal.project, proposal.agent) == (ship.project, "kane")
    assert ship.mother(inbox.promote, ref=proposal.slug).memory


@pytest.mark.parametrize("how", BOUND)
def test_in_their_own_project_they_decide_as_before(ship: House, how: str) -> None:
    kane = somebody(ship, how)
    assert kane(decisions.write, type="scope", title="S", content="No cats here.", slug="cats").op == "add"
    assert kane(memories.retire, ref="ours", reason="x").op == "retire"
    assert kane(memories.restore, ref="ours", reason="x").op == "restore"
    assert kane(memories.link, ref="ours", relation="supports", other="fact").op == "update"
    kane(verdicts.revert, id=verdict_on(ship, "cats", "add"))
    assert kane(inbox.reject, ref="wish", reason="no").reviewer == "Kane"


def test_a_blast_by_somebody_bound_stops_at_the_border_and_says_so(ship: House) -> None:
    kane = somebody(ship, "operator")
    done = kane(verdicts.revert_all, actor="mother", confirm=True)
    assert ship.mother(memories.show, ref="fact").memory.status == "active"
    assert ship.mother(memories.show, ref="law").memory.status == "active"
    assert ship.mother(memories.show, ref="ours").memory.status == "retired"
    assert {blocked.because for blocked in done.blocked} >= {
        "It is seen in every project, and you are bound to one."
    }


def test_a_bound_agent_keeps_what_it_has_everywhere_as_it_is(ship: House) -> None:
    ship.ripley(memories.write, type="learning", content="Ripley likes short words.", slug="style")
    ship.dallas(memories.rescope, ref=_id(ship, "style"), agent="ripley", tier="global")
    ripley = bearer(ship, agent="ripley")
    assert ripley(memories.show, ref="style").memory.scope.project == "global"
    assert code(ripley, memories.retire, ref="style", reason="x") == "other_project"
    assert code(ripley, memories.tag, ref="style", tags=["x"]) == "other_project"
    assert ripley(memories.edit, ref="style", content="Ripley likes long words.").op == "hold"


def _id(house: House, slug: str) -> str:
    return house.rows("SELECT id FROM memories WHERE slug = :slug", slug=slug)[0]["id"]


def test_the_global_project_stays_as_it_is_for_everybody(ship: House) -> None:
    for verb, more in ((projects.edit, {"name": "X"}), (projects.archive, {}), (projects.restore, {})):
        assert code(ship.mother, verb, ref="global", **more) == "bad_transition"


# --- what one project says about global memory -------------------------------------------------------------


def test_a_projects_objection_to_a_global_memory_is_not_heard_in_another(ship: House) -> None:
    ship.mother(memories.link, ref="ours", relation="contradicts", other="fact")
    assert ship.mother(memories.show, ref="ours").standing == "contradicted"
    there = ship.as_("Mother", project="sulaco")
    seen = there(memories.show, ref="fact")
    assert (seen.standing, seen.links) == ("active", ())
    assert there(memories.list_, status="contradicted").items == ()
    assert len(ship.mother(memories.show, ref="fact").links) == 1


# --- the inbox is the team's table --------------------------------------------------------------------------


def test_what_waits_is_read_by_every_agent_of_the_project_and_by_nobody_outside(ship: House) -> None:
    asked = {"type": "learning", "title": "Proxy", "content": "The proxy is slow.", "slug": "proxy"}
    ship.ripley(inbox.submit, **asked)
    assert ship.ash(inbox.show, ref="proxy").proposal.content == "The proxy is slow."
    assert "proxy" in [line.slug for line in bearer(ship, agent="newt")(inbox.list_).items]
    outside = bearer(ship, maker=ship.as_("Mother", project="sulaco"), agent="ash")
    assert code(outside, inbox.show, ref="proxy") == "not_found"
    assert outside(inbox.list_, status="all").items == ()
    # Once it is accepted it is Ripley's own memory, and so are its words.
    ship.dallas(inbox.promote, ref="proxy")
    assert code(ship.ash, inbox.show, ref="proxy") == "not_found"
    assert refusal(ship.ash, memories.show, ref="proxy").code == "not_found"
