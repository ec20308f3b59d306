"""One operation for one actor: parsed, authorised, handed to the writer, and answered the same to a retry."""

from __future__ import annotations

from typing import Any

import pytest

from minutebook.model.actors import Actor, Origin, Role
from minutebook.model.errors import MinutebookError
from minutebook.operations import actors, decisions, inbox, memories, projects, sessions, verdicts
from minutebook.operations.registry import REGISTRY
from minutebook.policy.limits import Limits
from minutebook.service import LocalClient
from tests import invariants
from tests.houses import House
from tests.operations.asking import code, refusal

KEY = "xox" + "b-829301745528-6630184925517-qz7m1xk4r9wt2pv8nh3jc5ly"
WRITE: dict[str, Any] = {"type": "learning", "content": "The proxy drops large bodies.", "slug": "proxy"}


def with_key(client: LocalClient, function: Any, key: str, **arguments: Any) -> Any:
    return client.invoke(REGISTRY.of(function), arguments, key=key)


# --- idempotency keys -------------------------------------------------------------------------------------


def test_a_retry_with_the_same_key_gets_the_first_answer_and_does_nothing_twice(house: House) -> None:
    first = with_key(house.ripley, memories.write, "k1", **WRITE)
    house.ripley(memories.edit, ref="proxy", content="Something else since.")
    before = invariants.state_of(house.service.database)
    again = with_key(house.ripley, memories.write, "k1", **WRITE)
    assert (again.op, again.verdict, again.memory, again.revision) == ("add", first.verdict, first.memory, 1)
    assert (first.replayed, again.replayed) == (False, True)
    assert invariants.state_of(house.service.database) == before
    house.restart()
    assert with_key(house.ripley, memories.write, "k1", **WRITE).verdict == first.verdict
    assert house.jones(verdicts.show, id=first.verdict).key == "k1"


def test_every_kind_of_answer_is_given_again_as_it_was(house: House) -> None:
    asked = {"type": "scope", "title": "S", "content": "Words that wait.", "slug": "s"}
    first = with_key(house.ripley, inbox.submit, "submit", **asked)
    assert with_key(house.ripley, inbox.submit, "submit", **asked) == first
    promoted = with_key(house.dallas, inbox.promote, "promote", ref="s")
    assert with_key(house.dallas, inbox.promote, "promote", ref="s") == promoted
    started = with_key(house.ripley, sessions.start, "start", focus="One")
    assert with_key(house.ripley, sessions.start, "start", focus="One") == started
    assert len(house.jones(sessions.list_).items) == 1


def test_a_refusal_is_repeated_too_and_recorded_once(house: House) -> None:
    asked = {**WRITE, "content": f"The key is {KEY}"}
    first = refusal(with_key, house.ripley, memories.write, "k1", **asked)
    again = refusal(with_key, house.ripley, memories.write, "k1", **asked)
    assert (first.code, first.as_dict()) == ("secret", again.as_dict())
    assert len(house.jones(verdicts.list_, op="refuse").items) == 1
    assert KEY not in repr(house.rows("SELECT * FROM requests"))


def test_another_request_with_a_used_key_is_a_conflict_and_keys_belong_to_their_actor(house: House) -> None:
    with_key(house.ripley, memories.write, "k1", **WRITE)
    assert code(with_key, house.ripley, memories.write, "k1", **{**WRITE, "content": "Else."}) == "key_reused"
    assert code(with_key, house.ripley, sessions.start, "k1", focus="One") == "key_reused"
    assert with_key(house.bishop, memories.write, "k1", **{**WRITE, "content": "Else."}).op == "add"
    sulaco = house.as_("Ripley", project=house.new_project("Sulaco"))
    assert code(with_key, sulaco, memories.write, "k1", **WRITE) == "key_reused"


def test_a_request_that_failed_without_a_verdict_may_be_tried_again_with_its_key(house: House) -> None:
    asked = {**WRITE, "supersedes": "nothing-yet"}
    assert code(with_key, house.ripley, memories.write, "k1", **asked) == "not_found"
    house.ripley(memories.write, type="learning", content="What it replaces.", slug="nothing-yet")
    assert with_key(house.ripley, memories.write, "k1", **asked).op == "update"


def test_a_trial_keeps_no_key(house: House) -> None:
    assert with_key(house.ripley, memories.write, "k1", **WRITE, dry_run=True).op == "add"
    assert house.rows("SELECT * FROM requests") == []


def test_there_and_back_with_a_key_for_each_is_four_writes(house: House) -> None:
    ops = [
        with_key(house.ripley, memories.write, f"k{number}", **{**WRITE, "content": content}).op
        for number, content in enumerate(("A.", "B.", "A.", "B."))
    ]
    assert ops == ["add", "update", "update", "update"]


def test_a_key_is_one_printable_line(house: House) -> None:
    for key in ("", "   ", "x" * 201, "a\nb", "a\0b"):
        assert code(with_key, house.ripley, memories.write, key, **WRITE) == "invalid_input", key


# --- who asks ---------------------------------------------------------------------------------------------


def test_a_retired_actor_asks_for_nothing_not_even_for_an_answer_of_before(house: House) -> None:
    ripley = house.ripley
    first = with_key(ripley, memories.write, "k1", **WRITE)
    house.mother(actors.retire, name="RIPLEY")
    for ask in (
        lambda: ripley(memories.list_),
        lambda: ripley(memories.write, type="learning", content="More."),
        lambda: with_key(ripley, memories.write, "k1", **WRITE),
        lambda: house.ripley,
    ):
        assert code(ask) == "not_allowed"
    house.mother(actors.restore, name="ripley")
    assert with_key(ripley, memories.write, "k1", **WRITE).verdict == first.verdict


def test_a_role_that_was_taken_away_is_gone_at_once(house: House) -> None:
    dallas = house.dallas
    house.ripley(inbox.submit, type="scope", title="S", content="Words.", slug="s")
    house.mother(actors.edit, name="dallas", role="viewer")
    assert code(dallas, inbox.promote, ref="s") == "not_allowed"
    assert code(dallas, inbox.submit, type="scope", title="T", content="More words.") == "not_allowed"
    assert dallas(inbox.list_).items


def test_a_caller_cannot_claim_more_than_the_ledger_knows_of_it(house: House) -> None:
    house.ripley(inbox.submit, type="scope", title="S", content="Words.", slug="s")
    forged = LocalClient(
        house.service,
        actor=Actor("bishop", "Bishop", Role.OPERATOR),
        origin=Origin.PYTHON,
        project=house.project,
    )
    assert code(forged, inbox.promote, ref="s") == "not_allowed"


def test_the_scribe_asks_for_nothing_by_hand(house: House) -> None:
    scribe = LocalClient(
        house.service,
        actor=Actor("scribe", "Scribe", Role.SCRIBE),
        origin=Origin.SYSTEM,
        project=house.project,
    )
    assert code(scribe, memories.list_) == "not_allowed"


# --- which project ----------------------------------------------------------------------------------------


def test_an_unknown_project_is_not_found_and_a_missing_one_says_what_to_do(house: House) -> None:
    lost = house.as_("Ripley", project="no-such-project")
    assert code(lost, memories.list_) == "not_found"
    assert code(lost, memories.write, **WRITE) == "not_found"
    lost.project = None
    error = refusal(lost, memories.write, **WRITE)
    assert (error.code, "minutebook init" in error.details["hint"]) == ("no_project", True)
    assert code(lost, memories.list_) == "no_project"


def test_a_project_is_named_by_id_or_slug(house: House) -> None:
    house.ripley(memories.write, **WRITE)
    assert house.as_("Ripley", project="nostromo")(memories.list_).items
    assert house.as_("Ripley", project="nostromo")(memories.write, **WRITE).op == "skip"


def test_an_archived_project_is_read_and_takes_no_writes(house: House) -> None:
    house.ripley(memories.write, **WRITE)
    house.ripley(inbox.submit, type="scope", title="S", content="Words.", slug="s")
    house.mother(projects.archive, ref="nostromo")
    assert house.ripley(memories.show, ref="proxy").memory.slug == "proxy"
    for act in (
        lambda: house.ripley(memories.write, **{**WRITE, "content": "More."}),
        lambda: house.ripley(sessions.start, focus="One"),
        lambda: house.dallas(inbox.promote, ref="s"),
        lambda: house.mother(decisions.write, type="scope", title="T", content="Decided."),
        lambda: house.mother(memories.erase, ref="proxy", reason="privacy"),
    ):
        error = refusal(act)
        assert (error.code, error.details["hint"]) == (
            "bad_transition",
            "minutebook projects restore nostromo",
        )
    house.mother(projects.restore, ref="nostromo")
    assert house.dallas(inbox.promote, ref="s").op == "add"


# --- rate -------------------------------------------------------------------------------------------------


def test_an_agent_over_its_rate_is_told_to_wait_and_the_ledger_is_not_filled_with_it(house: House) -> None:
    house.close()
    house.limits = Limits(writes_per_minute=5)
    house.open()

    def write(who: Any, number: int) -> str:
        return who(memories.write, type="learning", content=f"Fact {number}.", slug=f"fact-{number}").op

    assert [write(house.ripley, number) for number in range(5)] == ["add"] * 5
    assert [code(write, house.ripley, number) for number in range(5, 9)] == ["rate_limited"] * 4
    assert len(house.jones(verdicts.list_, op="refuse").items) == 1
    # Each agent has a share of its own, and those who decide are not counted.
    assert write(house.bishop, 0) == "add"
    assert [write(house.mother, number) for number in range(7)] == ["add"] * 7
    house.clock.advance(seconds=61)
    assert write(house.ripley, 5) == "add"
    # A clock that goes back locks nobody out, and does not lift the limit either.
    house.clock.advance(days=-1)
    assert [write(house.ripley, number) for number in range(6, 11)] == ["add"] * 5
    assert code(write, house.ripley, 11) == "rate_limited"


def test_a_clock_that_goes_back_changes_no_order(house: House) -> None:
    house.ripley(memories.write, **WRITE)
    house.clock.advance(days=-30)
    house.ripley(memories.edit, ref="proxy", content="Written later, with an earlier time.")
    history = house.ripley(memories.history, ref="proxy").items
    assert [line.revision for line in history] == [1, 2]
    assert history[0].seq < history[1].seq
    assert history[0].at > history[1].at
    assert [line.op for line in house.jones(verdicts.list_).items] == ["update", "add"]
    assert house.ripley(memories.show, ref="proxy").memory.content.startswith("Written later")


# --- the Python caller ------------------------------------------------------------------------------------


def test_arguments_may_be_given_by_place_and_too_many_are_refused(house: House) -> None:
    house.ripley(memories.write, "learning", "The proxy drops large bodies.", "Proxy")
    assert house.ripley(memories.show, "proxy").memory.title == "Proxy"
    assert code(house.ripley, memories.show, "proxy", "extra") == "invalid_input"
    assert code(house.ripley, memories.show) == "invalid_input"
    assert code(house.ripley, memories.show, ref="proxy", colour="red") == "invalid_input"
    with pytest.raises(MinutebookError) as unknown:
        house.ripley(test_a_project_is_named_by_id_or_slug)  # type: ignore[arg-type]
    assert unknown.value.code == "unknown_operation"
