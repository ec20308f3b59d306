"""Tombstones: a claim that was rejected, retired or erased stays away, however it is spelled."""

from __future__ import annotations

from typing import Any

import pytest

from minutebook.model.actors import Origin
from minutebook.operations import decisions, inbox, memories, tombstones, verdicts
from tests.houses import House
from tests.operations.asking import code, refusal

CLAIM = "All services share one Redis cache for sessions."
SPELLINGS = {
    "the same": CLAIM,
    "case": "ALL SERVICES share one redis CACHE for Sessions.",
    "width": "Ａｌｌ　ｓｅｒｖｉｃｅｓ share one Redis cache for sessions.",
    "look-alikes": "Аll sеrvices share оne Redis cache for sеssions.",
    "invisible": "All ser\u200bvices share\u2060 one Re\u00addis cache for sessions.",
    "white space": "  All services\n\tshare   one\u00a0Redis cache\u2003for sessions .\n",
    "punctuation": "All services share one Redis cache for sessions!!!",
    "accents": "Àll sérvices share öne Redis cache for sessions.",
}


@pytest.fixture
def rejected(house: House) -> House:
    house.ripley(inbox.submit, type="process", title="Cache", content=CLAIM, slug="cache")
    house.dallas(inbox.reject, ref="cache", reason="it lost sessions")
    house.ripley(memories.write, type="learning", content="Something of Ripley's own.", slug="own")
    house.ripley(inbox.submit, type="process", title="Other", content="Something else.", slug="other")
    return house


def _submit(house: House, words: str) -> Any:
    return house.bishop(inbox.submit, type="process", title="Again", content=words, slug="again")


def _submit_other_type(house: House, words: str) -> Any:
    return house.bishop(inbox.submit, type="pattern", title="Again", content=words)


def _update_in_place(house: House, words: str) -> Any:
    return house.ripley(inbox.submit, type="process", title="Other", content=words, slug="other")


def _write(house: House, words: str) -> Any:
    return house.bishop(memories.write, type="learning", title="Again", content=words)


def _write_decision(house: House, words: str) -> Any:
    return house.bishop(decisions.write, type="scope", title="Again", content=words)


def _edit(house: House, words: str) -> Any:
    return house.ripley(memories.edit, ref="own", content=words)


def _replace(house: House, words: str) -> Any:
    return house.ripley(memories.write, type="learning", content=words, supersedes="own")


def _from_a_file(house: House, words: str) -> Any:
    return house.as_("Mother", origin=Origin.FILE)(memories.write, type="project", content=words)


def _from_an_import(house: House, words: str) -> Any:
    return house.as_("Dallas", origin=Origin.IMPORT)(
        inbox.submit, type="process", title="Again", content=words
    )


PATHS = [
    _submit, _submit_other_type, _update_in_place, _write, _write_decision, _edit, _replace, _from_a_file,
    _from_an_import,
]  # fmt: skip


def test_a_rejected_claim_is_refused_on_every_way_in_and_the_refusal_names_the_tombstone(
    rejected: House,
) -> None:
    house = rejected
    (stone,) = house.jones(tombstones.list_).items
    assert (stone.cause, stone.slug, stone.actor, stone.reason) == (
        "rejected",
        "cache",
        "dallas",
        "it lost sessions",
    )
    for path in PATHS:
        error = refusal(path, house, SPELLINGS["case"])
        assert (error.code, error.details["tombstone"]) == ("tombstoned", stone.id), path.__name__
        assert "it lost sessions" in error.message
    assert len(house.jones(verdicts.list_, op="refuse").items) == len(PATHS) + 1
    assert house.ripley(memories.show, ref="own").memory.content == "Something of Ripley's own."


def test_a_rejected_claim_is_known_however_it_is_spelled(rejected: House) -> None:
    for spelling, words in SPELLINGS.items():
        assert code(_submit, rejected, words) == "tombstoned", spelling
        assert code(_write, rejected, words) == "tombstoned", spelling


def test_another_claim_is_not_kept_away(rejected: House) -> None:
    for words in (
        "All services share two Redis caches for sessions.",
        "No services share one Redis cache for sessions.",
        "All services share one Redis cache.",
    ):
        assert (
            rejected.bishop(inbox.submit, type="process", title="Again", content=words).outcome == "created"
        )


@pytest.mark.parametrize("how", ["decide", "promote with an edit", "lift"])
def test_a_reviewers_act_lets_the_claim_return(rejected: House, how: str) -> None:
    house = rejected
    if how == "decide":
        assert (
            house.dallas(decisions.write, type="process", title="Cache", content=CLAIM, slug="c").op == "add"
        )
    elif how == "promote with an edit":
        house.dallas(inbox.promote, ref="other", content=CLAIM)
    else:
        (stone,) = house.jones(tombstones.list_).items
        assert code(house.ripley, tombstones.lift, id=stone.id, reason="x") == "not_allowed"
        lifted = house.dallas(tombstones.lift, id=stone.id.lower(), reason="answered")
        assert lifted.lifted_by == "dallas"
        assert code(house.dallas, tombstones.lift, id=stone.id, reason="again") == "bad_transition"
        assert _submit(house, CLAIM).outcome == "created"
    assert house.jones(tombstones.list_).items == ()
    assert [stone.slug for stone in house.jones(tombstones.list_, lifted=True).items] == ["cache"]


def test_a_rejected_claim_stays_away_where_it_was_rejected(rejected: House) -> None:
    sulaco = rejected.new_project("Sulaco")
    assert rejected.as_("Bishop", project=sulaco)(memories.write, type="learning", content=CLAIM).op == "add"
    assert rejected.as_("Jones", project=sulaco)(tombstones.list_).items == ()
    (stone,) = rejected.jones(tombstones.list_).items
    assert (
        code(rejected.as_("Mother", project=sulaco), tombstones.lift, id=stone.id, reason="x") == "not_found"
    )


def test_what_was_retired_globally_stays_away_everywhere(house: House) -> None:
    house.mother(memories.write, type="feedback", content=CLAIM, slug="cache")
    house.mother(memories.retire, ref="cache", reason="wrong")
    elsewhere = house.as_("Bishop", project=house.new_project("Sulaco"))
    assert code(elsewhere, memories.write, type="learning", content=SPELLINGS["look-alikes"]) == "tombstoned"


def test_what_was_erased_stays_away_everywhere_from_everybody_until_an_operator_lifts_it(
    house: House,
) -> None:
    house.mother(memories.write, type="project", content=CLAIM, slug="cache")
    house.mother(memories.edit, ref="cache", content="Another wording of the private thing.")
    house.mother(memories.erase, ref="cache", reason="personal data")
    elsewhere = house.new_project("Sulaco")
    for words in (CLAIM, SPELLINGS["width"], "another WORDING of the private thing"):
        for caller in (house.bishop, house.dallas, house.mother, house.as_("Mother", project=elsewhere)):
            error = refusal(caller, memories.write, type="project", content=words)
            assert error.code == "tombstoned"
            assert "personal data" not in error.message
    house.ripley(inbox.submit, type="process", title="Other", content="Something else.", slug="other")
    assert code(house.dallas, inbox.promote, ref="other", content=CLAIM) == "tombstoned"
    assert house.jones(inbox.show, ref="other").proposal.status == "pending"
    for stone in house.jones(tombstones.list_, cause="erased").items:
        assert code(house.dallas, tombstones.lift, id=stone.id, reason="x") == "not_allowed"
        house.mother(tombstones.lift, id=stone.id, reason="it was public after all")
    assert house.bishop(memories.write, type="learning", content=CLAIM).op == "add"


def test_a_claim_that_stands_is_not_buried_by_rejecting_a_copy_of_it(house: House) -> None:
    house.ripley(inbox.submit, type="process", title="Cache", content=CLAIM, slug="cache")
    house.bishop(inbox.submit, type="process", title="Cache", content=CLAIM, slug="copy")
    house.dallas(inbox.promote, ref="cache")
    assert house.dallas(inbox.reject, ref="copy", reason="said already").tombstone == ""
    assert house.jones(tombstones.list_).items == ()


def test_tombstones_are_listed_newest_first_by_cause_and_paged(house: House) -> None:
    for number in range(3):
        house.ripley(
            memories.write, type="learning", content=f"Number {number} is a claim.", slug=f"n{number}"
        )
        house.ripley(memories.retire, ref=f"n{number}", reason="x")
    page = house.jones(tombstones.list_, limit=2)
    assert [stone.slug for stone in page.items] == ["n2", "n1"]
    assert [stone.slug for stone in house.jones(tombstones.list_, after=page.next).items] == ["n0"]
    assert house.jones(tombstones.list_, cause="rejected").items == ()
    assert code(house.dallas, tombstones.lift, id="nothing", reason="x") == "not_found"


def test_what_was_erased_elsewhere_is_not_restored_here(house: House) -> None:
    house.ripley(memories.write, type="learning", content=CLAIM, slug="mine")
    house.ripley(memories.retire, ref="mine", reason="gone")
    house.mother(memories.write, type="project", content=CLAIM, slug="copy")  # a reviewer's act
    house.mother(memories.erase, ref="copy", reason="personal data")
    assert code(house.dallas, memories.restore, ref="mine", reason="back") == "tombstoned"
    assert house.jones(memories.list_).items == ()


def test_what_an_agent_takes_back_binds_that_agent_and_nobody_else(house: House) -> None:
    claim = "All services shall share one PostgreSQL database for their data."
    house.ash(memories.write, type="learning", content=claim, slug="one-database")
    house.ash(memories.retire, ref="one-database", reason="I was not sure")
    assert refusal(house.ash, memories.write, type="learning", content=claim).code == "tombstoned"
    # Else any agent could bury a claim for everybody by writing it first.
    submitted = house.ripley(inbox.submit, type="architectural", title="One database", content=claim)
    assert submitted.outcome == "created"
