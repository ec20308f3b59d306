"""Decisions: who decides, and how one replaces another."""

from __future__ import annotations

from typing import Any

from minutebook.model.verdicts import Outcome
from minutebook.operations import decisions, inbox, memories
from tests.houses import House
from tests.operations.asking import code, refusal


def decide(house: House, slug: str, content: str | None = None, who: str = "mother", **more: Any) -> Outcome:
    words = content or f"What {slug} says, and nothing else says it."
    return getattr(house, who)(
        decisions.write, type="architectural", title=slug.title(), content=words, slug=slug, **more
    )


def test_operators_and_coordinators_decide_and_the_record_says_so(house: House) -> None:
    assert decide(house, "store", who="ripley").op == "hold"
    assert house.jones(decisions.list_).items == ()
    assert house.jones(inbox.show, ref="store").proposal.agent == "ripley"
    for who, role in (("dallas", "coordinator"), ("mother", "operator")):
        assert decide(house, f"by-{who}", who=who).op == "add"
        memory = house.jones(decisions.show, ref=f"by-{who}").memory
        assert (memory.author, memory.decided_by, memory.decided_role) == (who, who, role)


def test_a_decision_is_of_a_governing_type_and_listed_apart_from_what_informs(house: House) -> None:
    decide(house, "store")
    house.mother(memories.write, type="project", content="It is so.", slug="fact")
    assert code(house.mother, decisions.write, type="learning", title="L", content="C.") == "unknown_type"
    assert code(house.mother, decisions.list_, type="learning") == "unknown_type"
    assert [line.slug for line in house.jones(decisions.list_).items] == ["store"]
    assert code(house.jones, decisions.show, ref="fact") == "not_found"
    assert {line.slug for line in house.jones(memories.list_).items} == {"store", "fact"}


def test_a_decision_of_the_same_name_supersedes_and_both_point_to_each_other(house: House) -> None:
    first = decide(house, "store", rationale="it is simple")
    second = decide(house, "store", "Every service has a store of its own.")
    assert (second.op, second.slug) == ("supersede", "store")
    view = house.jones(decisions.show, ref="store")
    assert (view.memory.id, view.supersedes) == (second.memory, (first.memory,))
    assert view.memory.rationale == "it is simple"
    old = house.jones(decisions.show, ref=first.memory or "").memory
    assert (old.status, old.superseded_by) == ("superseded", second.memory)
    assert [line.id for line in house.jones(decisions.list_, status="superseded").items] == [first.memory]


def test_supersession_needs_an_active_successor_of_the_same_project_and_makes_no_cycle(house: House) -> None:
    for slug in ("a", "b", "c"):
        decide(house, slug)
    decide(house, "everywhere", scope="global")
    assert code(house.dallas, decisions.supersede, ref="a", by="a") == "cycle"
    assert code(house.dallas, decisions.supersede, ref="a", by="everywhere") == "other_project"
    assert code(house.ripley, decisions.supersede, ref="a", by="b") == "not_allowed"
    house.dallas(decisions.supersede, ref="a", by="b", reason="b is better")
    house.dallas(decisions.supersede, ref="b", by="c")
    assert code(house.dallas, decisions.supersede, ref="c", by="a") == "cycle"
    assert code(house.dallas, decisions.supersede, ref="c", by="b") == "cycle"
    assert code(house.dallas, decisions.supersede, ref="a", by="c") == "bad_transition"
    decide(house, "d")
    house.dallas(decisions.archive, ref="c", reason="gone")
    assert code(house.dallas, decisions.supersede, ref="d", by="c") == "bad_transition"
    sulaco = house.as_("Mother", project=house.new_project("Sulaco"))
    other = sulaco(decisions.write, type="scope", title="Other", content="Elsewhere.", slug="other")
    assert code(house.dallas, decisions.supersede, ref="d", by=other.memory) == "not_found"


def test_a_status_changes_only_the_way_it_may(house: House) -> None:
    for slug in ("superseded", "archived", "retired", "successor"):
        decide(house, slug)
    house.dallas(decisions.supersede, ref="superseded", by="successor")
    house.dallas(decisions.archive, ref="archived", reason="old")
    house.dallas(decisions.retire, ref="retired", reason="wrong")
    refused = []
    for slug in ("superseded", "archived", "retired"):
        id = next(line.id for line in house.jones(decisions.list_, status=slug).items)
        for act in (
            lambda id=id: house.mother(decisions.archive, ref=id, reason="x"),
            lambda id=id: house.mother(decisions.retire, ref=id, reason="x"),
            lambda id=id: house.mother(decisions.supersede, ref=id, by="successor"),
            lambda id=id: house.mother(memories.restore, ref=id, reason="x"),
            lambda id=id: house.mother(memories.rescope, ref=id, scope="global"),
        ):
            try:
                act()
            except Exception as error:  # noqa: BLE001 -- the code is what is compared
                refused.append((slug, getattr(error, "code", repr(error))))
            else:
                refused.append((slug, "done"))
    assert refused == [
        ("superseded", "done"),  # superseded → archived
        *[("superseded", "bad_transition")] * 4,
        *[("archived", "bad_transition")] * 5,
        *[("retired", "bad_transition")] * 3,
        ("retired", "done"),  # restore
        ("retired", "done"),  # it is active again, and moves
    ]


def test_a_correction_keeps_the_decision_and_its_history(house: House) -> None:
    first = decide(house, "store")
    house.dallas(decisions.edit, ref="store", title="One store", revision=1)
    assert code(house.dallas, decisions.edit, ref="store", title="Late", revision=1) == "stale_revision"
    assert house.jones(decisions.show, ref="store").memory.id == first.memory
    assert [line.op for line in house.jones(decisions.history, ref="store").items] == ["add", "update"]
    assert house.jones(decisions.diff, ref="store").fields["title"] == ("Store", "One store")
    held = house.ripley(decisions.edit, ref="store", content="All new words, from an agent.")
    assert held.op == "hold"
    assert house.jones(decisions.show, ref="store").memory.revision == 2


def test_decisions_may_contradict_each_other_and_both_stand(house: House) -> None:
    decide(house, "a", "Listen on port 8080.")
    decide(house, "b", "Listen on port 9090 instead.", contradicts=["a"])
    assert {line.slug for line in house.jones(decisions.list_, status="contradicted").items} == {"a", "b"}
    assert len(house.jones(decisions.list_).items) == 2


def test_a_global_decision_is_seen_in_every_project_and_a_projects_own_is_not(house: House) -> None:
    decide(house, "everywhere", scope="global")
    decide(house, "here")
    elsewhere = house.as_("Bishop", project=house.new_project("Sulaco"))
    assert [line.slug for line in elsewhere(decisions.list_).items] == ["everywhere"]


def test_who_changes_only_the_title_does_not_become_the_author(house: House) -> None:
    house.ripley(inbox.submit, type="technical", title="PG", content="One database for all.", slug="db")
    house.dallas(inbox.promote, ref="db")
    house.mother(decisions.edit, ref="db", title="Use PostgreSQL")
    kept = house.mother(decisions.show, ref="db").memory
    assert (kept.title, kept.author, kept.decided_by) == ("Use PostgreSQL", "ripley", "mother")
    house.mother(decisions.edit, ref="db", content="Two databases, one of them for tests.")
    assert house.mother(decisions.show, ref="db").memory.author == "mother"


def test_an_agent_can_propose_a_change_to_the_decision_that_it_once_proposed(house: House) -> None:
    house.ripley(inbox.submit, type="technical", title="PG", content="One database for all.", slug="db")
    house.dallas(inbox.promote, ref="db")
    held = house.ripley(decisions.edit, ref="db", content="One database for all but the tests.")
    assert (held.op, held.slug) == ("hold", "db--ripley")
    # Sent again, with other words, it is the same proposal.
    again = house.ripley(decisions.edit, ref="db", content="One database, two for the tests.")
    assert again.proposal == held.proposal
    house.dallas(inbox.promote, ref="db--ripley")
    assert house.ripley(decisions.show, ref="db").memory.content == "One database, two for the tests."


def test_a_successor_cannot_take_the_name_of_a_third_decision(house: House) -> None:
    for slug in ("one", "two"):
        house.mother(decisions.write, type="process", title=slug, content=f"We do {slug}.", slug=slug)
    refused = refusal(
        house.mother,
        decisions.write,
        type="process",
        title="T",
        content="We do three.",
        slug="one",
        supersedes="two",
    )
    assert refused.code == "exists"
    assert "give another slug" in refused.message
    assert len(house.mother(decisions.list_).items) == 2
