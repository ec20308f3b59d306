"""Tokens: made once, shown once, listed without their secrets, and gone the moment they are revoked."""

from __future__ import annotations

import json
from typing import Any

import pytest

from minutebook.model.actors import Actor, Origin, Role
from minutebook.model.tokens import digest_of
from minutebook.operations import actors, decisions, events, inbox, memories, projects, scope, tokens
from minutebook.operations.registry import REGISTRY
from tests import invariants
from tests.houses import House
from tests.operations.asking import code, refusal
from tests.operations.bearing import Bearer, bearer

FACT: dict[str, Any] = {"type": "learning", "content": "The proxy drops large bodies.", "slug": "proxy"}


# --- making ----------------------------------------------------------------------------------------------


def test_a_token_names_an_agent_a_role_and_the_project_it_was_made_in(house: House) -> None:
    made = house.mother(tokens.create, role="agent", agent="Ripley")
    token = made.token
    assert (token.agent, token.role, token.project) == ("ripley", Role.AGENT, house.project)
    assert (token.state, token.last_used_at, token.made_with) == ("active", None, None)
    ripley = Bearer(house, made.secret)
    ripley(memories.write, **FACT)
    assert house.ripley(memories.show, ref="proxy").memory.author == "ripley"
    (event,) = house.jones(events.list_, kind="memory.added").items
    assert (event.actor, event.role, event.origin) == ("ripley", "agent", "http")


def test_a_token_ends_after_ninety_days_unless_something_else_is_said(house: House) -> None:
    made = house.mother(tokens.create, agent="ripley")
    house.clock.advance(days=89, hours=23)
    ripley = Bearer(house, made.secret)
    assert ripley(memories.list_).items == ()
    house.clock.advance(hours=2)
    assert code(ripley, memories.list_) == "bad_token"
    assert house.mother(tokens.show, id=made.token.id).state == "expired"
    assert bearer(house, agent="ripley", expires="never")(memories.list_).items == ()
    for expires in ("yesterday", "2025-01-01", "0h", ""):
        assert code(house.mother, tokens.create, agent="ripley", expires=expires) == "invalid_input"


def test_an_agent_that_nobody_registered_works_with_a_token_and_has_no_more_than_its_role(
    house: House,
) -> None:
    newt = bearer(house, agent="Newt")
    assert newt(memories.write, **FACT).op == "add"
    assert newt(inbox.submit, type="scope", title="S", content="Words.", slug="s").outcome == "created"
    assert code(newt, inbox.promote, ref="s") == "not_allowed"
    looker = bearer(house, agent="Newt", role="viewer")
    assert looker(memories.list_).items
    assert code(looker, memories.write, **FACT) == "not_allowed"


def test_who_decides_or_operates_with_a_token_is_registered_or_makes_it_for_themselves(house: House) -> None:
    for role in ("coordinator", "operator"):
        assert code(house.mother, tokens.create, role=role, agent="Newt") == "not_found"
    assert house.mother(tokens.create, role="coordinator", agent="dallas").token.agent == "dallas"
    # The person who runs the house is registered nowhere, and asks for a token of their own.
    assert house.mother(tokens.create, role="operator").token.agent == "mother"
    assert house.mother(tokens.create, role="viewer").token.agent == "mother"
    assert code(house.mother, tokens.create) == "invalid_input"  # an agent's token says which agent


def test_a_token_gives_no_more_than_its_bearer_has(house: House) -> None:
    for agent, role in (("ripley", "coordinator"), ("jones", "agent"), ("dallas", "operator")):
        assert code(house.mother, tokens.create, agent=agent, role=role) == "not_allowed", agent
    house.mother(actors.retire, name="ash")
    assert code(house.mother, tokens.create, agent="ash") == "bad_transition"
    for name in ("", "a\nb", "x" * 81, "rip\u200bley"):
        assert code(house.mother, tokens.create, agent=name) == "bad_name"
    assert code(house.mother, tokens.create, agent="ripley", role="scribe") == "unknown_role"


def test_only_operators_make_or_revoke_tokens(house: House) -> None:
    made = house.mother(tokens.create, agent="ripley")
    for person in (house.jones, house.ripley, house.dallas):
        assert code(person, tokens.create, agent="ripley") == "not_allowed"
        assert code(person, tokens.revoke, id=made.token.id) == "not_allowed"
        assert code(person, tokens.revoke_all, everyone=True) == "not_allowed"


def test_without_a_project_a_token_is_made_only_if_it_is_meant_for_all(house: House) -> None:
    homeless = house.as_("Mother")
    homeless.project = None
    assert code(homeless, tokens.create, agent="ripley") == "no_project"
    assert homeless(tokens.create, agent="ripley", everywhere=True).token.project is None


# --- the secret ------------------------------------------------------------------------------------------


def test_a_secret_is_shown_once_and_kept_nowhere(house: House) -> None:
    made = house.mother.invoke(REGISTRY.of(tokens.create), {"agent": "ripley", "note": "laptop"}, key="k1")
    ripley = Bearer(house, made.secret)
    ripley(memories.write, **FACT)
    house.mother(tokens.revoke, id=made.token.id)
    code(ripley, memories.list_)
    digest = digest_of(made.secret)
    state = invariants.state_of(house.service.database)
    assert made.secret not in json.dumps(state)
    holding = [table for table, rows in state.items() if digest in json.dumps(rows)]
    assert holding == ["tokens"]
    for answer in (
        house.mother(tokens.list_, state="all"),
        house.mother(tokens.show, id=made.token.id),
        house.mother(events.list_, limit=1000),
        refusal(ripley, memories.list_).as_dict(),
    ):
        assert made.secret not in repr(answer)
        assert str(digest) not in repr(answer)


def test_a_retry_with_the_same_key_makes_no_second_token_and_shows_no_secret(house: House) -> None:
    create = REGISTRY.of(tokens.create)
    first = house.mother.invoke(create, {"agent": "ripley"}, key="k1")
    again = house.mother.invoke(create, {"agent": "ripley"}, key="k1")
    assert (again.secret, again.token) == (None, first.token)
    assert len(house.mother(tokens.list_).items) == 1


def test_a_note_holds_no_secret_and_no_token_of_ours_can_be_written_down(house: House) -> None:
    secret = house.mother(tokens.create, agent="ripley").secret
    error = refusal(house.mother, tokens.create, agent="ripley", note=f"like {secret}")
    assert (error.code, secret in str(error.as_dict())) == ("secret", False)
    for text in (f"Use {secret} for the staging ledger.", f"MINUTEBOOK_TOKEN={secret}", f'"{secret}"'):
        asked = refusal(house.ripley, memories.write, type="learning", content=text)
        assert (asked.code, asked.details["rules"]) == ("secret", ["screening.minutebook_token"])


# --- listing ---------------------------------------------------------------------------------------------


def test_tokens_are_listed_by_agent_and_state_and_paged_newest_first(house: House) -> None:
    made = [house.mother(tokens.create, agent=name).token.id for name in ("ripley", "ash", "ripley")]
    short = house.mother(tokens.create, agent="ash", expires="1h").token.id
    house.mother(tokens.revoke, id=made[1])
    house.clock.advance(hours=2)

    def ids(**wanted: Any) -> list[str]:
        return [token.id for token in house.mother(tokens.list_, **wanted).items]

    assert ids() == [made[2], made[0]]
    assert ids(state="expired") == [short]
    assert ids(state="revoked") == [made[1]]
    assert ids(state="all") == [short, made[2], made[1], made[0]]
    assert ids(agent="ASH", state="all") == [short, made[1]]
    page = house.mother(tokens.list_, state="all", limit=3)
    assert ids(state="all", after=page.next) == [made[0]]


def test_everybody_but_operators_sees_only_tokens_of_their_own(house: House) -> None:
    mine = house.mother(tokens.create, agent="ripley").token
    theirs = house.mother(tokens.create, agent="ash").token
    for person, seen in ((house.ripley, [mine.id]), (house.dallas, []), (house.jones, [])):
        assert [token.id for token in person(tokens.list_, state="all").items] == seen
        assert person(tokens.list_, agent="ash").items == ()
        assert code(person, tokens.show, id=theirs.id) == "not_found"
    assert house.ripley(tokens.show, id=mine.id.lower()).id == mine.id
    assert code(house.mother, tokens.show, id="01ARZ3NDEKTSV4RRFFQ69G5FAV") == "not_found"
    assert code(house.mother, tokens.show, id="no id") == "not_found"


def test_making_and_revoking_leave_events_that_say_whom_and_what(house: House) -> None:
    token = house.mother(tokens.create, agent="ripley").token
    house.mother(tokens.revoke, id=token.id, reason="lost")
    told = house.jones(events.list_, subject=token.id).items
    assert [(event.kind, event.actor, event.project) for event in told] == [
        ("token.revoked", "mother", house.project),
        ("token.created", "mother", house.project),
    ]
    assert told[0].detail == {"agent": "ripley", "role": "agent", "expires_at": token.expires_at}


# --- last use --------------------------------------------------------------------------------------------


def test_the_last_use_is_known_to_within_a_minute(house: House) -> None:
    made = house.mother(tokens.create, agent="ripley")
    ripley = Bearer(house, made.secret)

    def last_used() -> str | None:
        house.restart()  # finishes what is queued
        return house.mother(tokens.show, id=made.token.id).last_used_at

    assert last_used() is None
    ripley(memories.list_)
    first = last_used()
    assert first is not None
    house.clock.advance(seconds=300)
    ripley(memories.write, **FACT)
    second = last_used()
    assert second is not None
    assert second[:16] > first[:16]
    house.mother(tokens.revoke, id=made.token.id)
    house.clock.advance(seconds=300)
    assert code(ripley, memories.list_) == "bad_token"
    assert last_used() == second


# --- revoking --------------------------------------------------------------------------------------------


def test_a_revoked_token_opens_nothing_not_even_an_answer_of_before(house: House) -> None:
    made = house.mother(tokens.create, agent="ripley")
    ripley = Bearer(house, made.secret)
    write = REGISTRY.of(memories.write)
    ripley.invoke(write, FACT, key="k1")
    (revoked,) = house.mother(tokens.revoke, id=made.token.id, reason="it was in a log").items
    assert (revoked.state, revoked.revoked_by, revoked.reason) == ("revoked", "mother", "it was in a log")
    assert code(ripley, memories.list_) == "bad_token"
    assert code(ripley.invoke, write, FACT, key="k1") == "bad_token"
    assert code(house.mother, tokens.revoke, id=made.token.id) == "bad_transition"


def test_a_token_that_was_revoked_since_its_bearer_came_in_is_refused_in_the_transaction(
    house: House,
) -> None:
    made = house.mother(tokens.create, agent="ripley", expires="1h")
    terms: dict[str, Any] = {
        "actor": Actor("ripley", "Ripley", Role.AGENT, house.project),
        "origin": Origin.MCP,
        "project": house.project,
        "token": made.token.id,
    }
    read, write = REGISTRY.of(memories.list_), REGISTRY.of(memories.write)
    assert house.service.invoke(read, {}, **terms).items == ()
    stranger = {**terms, "actor": Actor("ash", "Ash", Role.AGENT)}
    assert code(house.service.invoke, read, {}, **stranger) == "other_agent"
    assert code(house.service.invoke, read, {}, **{**terms, "token": "no such"}) == "bad_token"
    house.mother(tokens.revoke, id=made.token.id)
    assert code(house.service.invoke, read, {}, **terms) == "bad_token"
    assert code(house.service.invoke, write, FACT, **terms) == "bad_token"
    other = {**terms, "token": house.mother(tokens.create, agent="ripley", expires="1h").token.id}
    house.clock.advance(hours=2)
    assert code(house.service.invoke, write, FACT, **other) == "bad_token"
    assert house.ripley(memories.list_).items == ()


def test_what_its_bearer_claims_to_be_counts_for_nothing_in_the_transaction(house: House) -> None:
    house.ripley(inbox.submit, type="scope", title="S", content="Words.", slug="s")
    promote = REGISTRY.of(inbox.promote)
    for name, role in (("ripley", "agent"), ("dallas", "coordinator")):
        token = house.mother(tokens.create, agent=name, role=role).token.id
        house.mother(actors.edit, name="dallas", role="agent")
        for claimed in (Role.COORDINATOR, Role.OPERATOR):
            terms: dict[str, Any] = {
                "actor": Actor(name, name, claimed),
                "origin": Origin.HTTP,
                "token": token,
            }
            assert code(house.service.invoke, promote, {"ref": "s"}, **terms) == "not_allowed"
        house.mother(actors.edit, name="dallas", role="coordinator")
    assert house.dallas(inbox.promote, ref="s").op == "add"


def test_a_token_that_is_made_with_a_token_ends_with_it(house: House) -> None:
    first = house.mother(tokens.create, role="operator", expires="2d")
    mother = Bearer(house, first.secret)
    second = mother(tokens.create, role="operator", expires="30d")
    assert (second.token.expires_at, second.token.made_with) == (first.token.expires_at, first.token.id)
    third = Bearer(house, second.secret)(tokens.create, agent="newt", expires="1h")
    assert third.token.expires_at < first.token.expires_at
    assert mother(tokens.create, agent="burke", expires="never").token.expires_at == first.token.expires_at
    revoked = house.mother(tokens.revoke, id=first.token.id).items
    assert [token.id for token in revoked][:3] == [first.token.id, second.token.id, third.token.id]
    assert len(revoked) == 4
    for secret in (first.secret, second.secret, third.secret):
        assert code(Bearer(house, secret), memories.list_) == "bad_token"


def test_all_tokens_of_an_agent_or_of_everyone_are_revoked_at_once(house: House) -> None:
    ripley = [bearer(house, agent="ripley") for _ in range(3)]
    ash = bearer(house, agent="ash")
    for wrong in ({}, {"agent": "ripley", "everyone": True}):
        assert code(house.mother, tokens.revoke_all, **wrong) == "invalid_input"
    assert len(house.mother(tokens.revoke_all, agent="RIPLEY", reason="stolen").items) == 3
    assert [code(one, memories.list_) for one in ripley] == ["bad_token"] * 3
    assert ash(memories.list_).items == ()
    assert len(house.mother(tokens.revoke_all, everyone=True).items) == 1
    assert code(ash, memories.list_) == "bad_token"
    assert house.mother(tokens.revoke_all, everyone=True).items == ()


def test_tokens_of_an_archived_project_can_be_revoked(house: House) -> None:
    made = house.mother(tokens.create, agent="ripley")
    house.mother(projects.archive, ref="nostromo")
    assert house.mother(tokens.revoke, id=made.token.id).items
    assert code(Bearer(house, made.secret), memories.list_) == "bad_token"


# --- what a token cannot do --------------------------------------------------------------------------------


def test_a_role_that_was_taken_away_is_gone_for_every_token(house: House) -> None:
    dallas = bearer(house, agent="dallas", role="coordinator")
    house.ripley(inbox.submit, type="scope", title="S", content="Words.", slug="s")
    house.mother(actors.edit, name="dallas", role="viewer")
    assert code(dallas, inbox.promote, ref="s") == "not_allowed"
    assert dallas(inbox.list_).items
    house.mother(actors.retire, name="dallas")
    assert code(dallas, inbox.list_) == "not_allowed"
    house.mother(actors.restore, name="dallas")
    assert dallas(inbox.list_).items
    house.mother(actors.edit, name="dallas", role="operator")  # and a greater one gives the token no more
    assert code(dallas, tokens.create, agent="ripley") == "not_allowed"


def test_an_agent_that_may_only_read_sees_no_more_than_the_agent(house: House) -> None:
    house.ash(memories.write, type="learning", content="Ash keeps this for itself.", slug="own")
    reader = bearer(house, agent="ripley", role="viewer")
    assert reader(memories.list_).items == ()
    assert code(reader, memories.show, ref="own") == "not_found"
    assert code(reader, scope.show, agent="ash") == "other_agent"
    assert bearer(house, agent="jones", role="viewer")(memories.show, ref="own").memory.slug == "own"


def test_a_token_of_one_project_names_no_other_and_needs_to_name_none(house: House) -> None:
    sulaco = house.new_project("Sulaco")
    ripley = bearer(house, agent="ripley")
    ripley(memories.write, **FACT)
    assert [memory.slug for memory in ripley(memories.list_).items] == ["proxy"]
    ripley.project = "nostromo"
    assert ripley(memories.list_).items
    for other in (sulaco, "sulaco", "global", "no-such"):
        ripley.project = other
        assert code(ripley, memories.list_) == "other_project"
    rover = bearer(house, agent="ripley", everywhere=True)
    assert code(rover, memories.list_) == "no_project"
    rover.project = "sulaco"
    assert rover(memories.list_).items == ()


def test_an_answer_of_one_project_is_not_given_again_in_another(house: House) -> None:
    sulaco = house.as_("Mother", project=house.new_project("Sulaco"))
    here, there = bearer(house, agent="ripley"), bearer(house, maker=sulaco, agent="ripley")
    write = REGISTRY.of(memories.write)
    first = here.invoke(write, FACT, key="k1")
    assert code(there.invoke, write, FACT, key="k1") == "key_reused"
    here.project = "nostromo"
    assert here.invoke(write, FACT, key="k1").verdict == first.verdict


def test_an_actor_that_is_bound_elsewhere_has_no_use_of_a_token_from_here(house: House) -> None:
    hicks = bearer(house, agent="hicks")
    house.new_project("Sulaco")
    house.mother(actors.add, name="Hicks", bound_to="sulaco")
    assert code(hicks, memories.list_) == "other_project"
    assert code(house.mother, tokens.create, agent="hicks") == "other_project"
    assert code(house.mother, tokens.create, agent="hicks", everywhere=True) == "other_project"


# --- operators of one project --------------------------------------------------------------------------------


@pytest.fixture(params=["actor", "token"])
def kane(request: pytest.FixtureRequest, house: House) -> Any:
    """An operator bound to Nostromo: by registration, or by an unbound operator's token."""
    house.new_project("Sulaco")
    house.mother(actors.add, name="Hicks", role="operator", bound_to="sulaco")
    if request.param == "token":
        house.mother(actors.add, name="Kane", role="operator")
        return bearer(house, agent="kane", role="operator")
    house.mother(actors.add, name="Kane", role="operator", bound_to="nostromo")
    return house.as_("Kane")


def test_a_bound_operator_makes_tokens_for_its_project_and_its_own_people(house: House, kane: Any) -> None:
    assert kane(tokens.create, agent="Newt").token.project == house.project
    assert kane(tokens.create, role="operator").token.agent == "kane"
    kane(actors.add, name="Parker", role="coordinator")
    assert kane(tokens.create, agent="parker", role="coordinator").token.project == house.project
    assert code(kane, tokens.create, agent="Newt", everywhere=True) == "other_project"
    for somebody in ("ripley", "dallas", "hicks"):  # registered, and not by this project
        assert code(kane, tokens.create, agent=somebody, role="viewer") == "other_project", somebody


def test_a_bound_operator_cannot_take_the_name_of_somebody_at_work_elsewhere(house: House, kane: Any) -> None:
    # Mother owns the house and is registered nowhere.
    assert code(kane, tokens.create, agent="mother") == "other_project"
    assert code(kane, actors.add, name="Mother", role="viewer") == "other_project"
    house.as_("Brett", project="sulaco")(memories.write, **FACT)
    assert code(kane, tokens.create, agent="brett") == "other_project"
    house.mother(tokens.create, agent="Lambert", everywhere=True)
    assert code(kane, tokens.create, agent="lambert") == "other_project"
    house.as_("Newt")(memories.write, **FACT)  # at work here is no objection
    assert kane(tokens.create, agent="newt").token.agent == "newt"


def test_a_bound_operator_sees_and_revokes_only_tokens_of_its_project(house: House, kane: Any) -> None:
    sulaco = house.as_("Mother", project="sulaco")
    there = sulaco(tokens.create, agent="ripley")
    rover = house.mother(tokens.create, agent="ripley", everywhere=True)
    here = house.mother(tokens.create, agent="ripley")
    seen = [token.id for token in kane(tokens.list_, agent="ripley").items]
    assert seen == [here.token.id]
    for other in (there, rover):
        assert code(kane, tokens.show, id=other.token.id) == "not_found"
        assert code(kane, tokens.revoke, id=other.token.id) == "not_found"
    assert [token.id for token in kane(tokens.revoke_all, agent="ripley").items] == [here.token.id]
    assert Bearer(house, there.secret)(decisions.list_).items == ()
