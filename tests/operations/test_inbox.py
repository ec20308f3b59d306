"""Proposals, from submission to promotion."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from minutebook.model.errors import MinutebookError
from minutebook.model.inbox import Risk, Submission
from minutebook.operations import actors, decisions, inbox, memories, verdicts
from tests import invariants
from tests.houses import House
from tests.operations.asking import code, refusal

STORE: dict[str, Any] = {
    "type": "architectural",
    "title": "One store",
    "content": "All services use PostgreSQL and nothing else.",
}


def propose(house: House, agent: str = "ripley", **changes: Any) -> Submission:
    return getattr(house, agent)(inbox.submit, **{**STORE, "slug": "store", **changes})


# --- slugs -----------------------------------------------------------------------------------------


def test_a_second_agent_with_the_same_slug_gets_its_own_proposal(house: House) -> None:
    first = propose(house)
    second = propose(house, "bishop", title="Another", content="Use files.")
    assert (first.slug, second.slug, second.requested_slug) == ("store", "store--bishop", "store")


def test_a_retry_updates_the_agents_own_proposal_under_the_slug_asked_for_or_the_one_given(
    house: House,
) -> None:
    propose(house)
    first = propose(house, "bishop", content="Use files.")
    for resent in ("store", "store--bishop"):
        again = propose(house, "bishop", content=f"Use files, said as {resent}.", slug=resent)
        assert (again.outcome, again.id, again.slug, again.requested_slug) == (
            "updated", first.id, "store--bishop", "store",
        )  # fmt: skip
        assert (
            house.bishop(inbox.show, ref="store--bishop").proposal.content == f"Use files, said as {resent}."
        )
    assert house.bishop(inbox.show, ref="store").proposal.content == STORE["content"]


def test_a_word_for_word_retry_changes_nothing_for_every_agent(house: House) -> None:
    for agent in ("ripley", "bishop", "ash"):
        first = propose(house, agent, content=f"{agent} has a view of its own on this.")
        again = propose(house, agent, content=f"{agent} has a view of its own on this.")
        assert (again.outcome, again.id, again.slug) == ("unchanged", first.id, first.slug)
    assert [line.slug for line in house.jones(inbox.list_).items] == ["store--ash", "store--bishop", "store"]


def test_three_agents_collide_also_on_the_slug_that_one_of_them_was_given(house: House) -> None:
    propose(house)
    propose(house, "bishop", content="Use files.")
    third = propose(house, "ash", content="Use nothing.", slug="store--bishop")
    assert third.slug == "store--bishop--ash"
    # Another agent whose name looks the same in a slug is counted up, and its retry finds its own.
    other = house.as_("B.ishop")
    house.mother(actors.add, name="B.ishop")
    house.mother(actors.add, name="Bishop.")
    taken = other(inbox.submit, **{**STORE, "content": "Use tape.", "slug": "store"})
    assert taken.slug == "store--b-ishop"
    twin = house.as_("Bishop.")
    got = twin(inbox.submit, **{**STORE, "content": "Use stone.", "slug": "store"})
    assert got.slug == "store--bishop--2"
    again = twin(inbox.submit, **{**STORE, "content": "Use granite.", "slug": "store"})
    assert (again.id, again.slug, again.outcome) == (got.id, "store--bishop--2", "updated")


def test_slugs_are_canonical_and_so_are_retries(house: House) -> None:
    first = propose(house, slug="Use Pöstgres!")
    assert first.slug == "use-postgres"
    assert propose(house, slug="USE_POSTGRES", content="Else.").id == first.id


def test_a_slug_of_a_decided_proposal_is_a_conflict_for_its_agent_alone(house: House) -> None:
    propose(house)
    house.dallas(inbox.promote, ref="store")
    conflict = refusal(propose, house, content="Something else entirely.")
    assert (conflict.code, conflict.details["status"]) == ("slug_decided", "merged")
    assert propose(house, "bishop", content="Yet another thing.").slug == "store--bishop"
    house.dallas(inbox.reject, ref="store--bishop", reason="no")
    assert code(propose, house, "bishop", content="Once more.") == "slug_decided"


def test_a_slug_is_unique_in_its_project_and_free_in_another(house: House) -> None:
    propose(house)
    sulaco = house.new_project("Sulaco")
    assert house.as_("Bishop", project=sulaco)(inbox.submit, **STORE, slug="store").slug == "store"


def test_agents_that_race_for_a_slug_all_get_one(house: House) -> None:
    got: dict[str, Submission] = {}
    names = [f"Agent {letter}" for letter in "ABCDEF"]
    callers = {name: house.as_(name) for name in names}
    together = threading.Barrier(len(names))

    def submit(name: str) -> None:
        together.wait(30)
        got[name] = callers[name](inbox.submit, **{**STORE, "content": f"{name} wants it."}, slug="store")

    threads = [threading.Thread(target=submit, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    slugs = sorted(answer.slug for answer in got.values())
    assert len(slugs) == 6
    assert slugs[0] == "store"
    assert set(slugs[1:]) < {f"store--agent-{letter}" for letter in "abcdef"}


# --- what the reviewer sees ------------------------------------------------------------------------


def test_a_proposal_says_what_it_would_do_and_how_dangerous_it_is(house: House) -> None:
    assert (propose(house).would.op, propose(house).risk) == ("add", Risk.HIGH)  # type: ignore[union-attr]
    house.dallas(inbox.promote, ref="store")
    again = propose(house, "bishop", content="Every service has a store of its own.", supersedes="store")
    assert (again.would.op, again.would.target) == (  # type: ignore[union-attr]
        "supersede", house.jones(decisions.show, ref="store").memory.id,
    )  # fmt: skip
    view = house.dallas(inbox.show, ref=again.slug)
    assert view.diff is not None
    assert "-All services use PostgreSQL" in view.diff
    assert not view.stale


def test_a_claim_that_stands_is_not_proposed_again(house: House) -> None:
    propose(house)
    promoted = house.dallas(inbox.promote, ref="store")
    known = propose(house, "bishop", slug="other-name")
    assert (known.outcome, known.memory, known.id) == ("known", promoted.memory, None)


def test_listings_filter_page_and_show_no_content(house: House) -> None:
    for number in range(5):
        propose(
            house,
            slug=f"idea-{number}",
            content=f"canary Idea {number} is quite unlike all others {'x' * number}.",
        )
    house.bishop(inbox.submit, type="learning", title="Small", content="Something small.", slug="small")
    house.dallas(inbox.reject, ref="idea-0", reason="no")
    page = house.jones(inbox.list_, limit=2)
    assert [line.slug for line in page.items] == ["small", "idea-4"]
    rest = house.jones(inbox.list_, limit=50, after=page.next)
    assert [line.slug for line in rest.items] == ["idea-3", "idea-2", "idea-1"]
    assert rest.next is None
    assert [line.slug for line in house.jones(inbox.list_, status="rejected").items] == ["idea-0"]
    assert len(house.jones(inbox.list_, status="all").items) == 6
    assert [line.slug for line in house.jones(inbox.list_, type="learning").items] == ["small"]
    assert [line.slug for line in house.jones(inbox.list_, agent="BISHOP").items] == ["small"]
    assert [line.slug for line in house.jones(inbox.list_, risk="low").items] == ["small"]
    assert "canary" not in repr(house.jones(inbox.list_, status="all"))


def test_the_digest_says_what_waits_and_puts_near_duplicates_side_by_side(house: House) -> None:
    assert house.jones(inbox.digest).sentence == "Nothing waits."
    long = (
        "Every service keeps its rows in one PostgreSQL cluster that the platform team looks after, always."
    )
    propose(house, content=long)
    propose(house, "bishop", content=long.replace("looks after", "cares for"))
    house.ash(
        inbox.submit, type="process", title="Review", content="Two people look at each change.", slug="review"
    )
    house.clock.advance(days=3)
    digest = house.jones(inbox.digest)
    assert digest.sentence == "3 wait, 2 of them boundaries; the oldest for 3d."
    assert digest.by_type == {"architectural": 2, "process": 1}
    assert digest.by_risk == {"high": 2, "medium": 1}
    assert digest.batches == (("store", "store--bishop"),)


# --- promotion -------------------------------------------------------------------------------------


def test_an_agent_cannot_promote(house: House) -> None:
    propose(house)
    assert code(house.bishop, inbox.promote, ref="store") == "not_allowed"
    promoted = house.dallas(inbox.promote, ref="store")
    assert house.ripley(decisions.show, ref="store").memory.id == promoted.memory


def test_promotion_links_both_ways_and_keeps_who_when_and_why(house: House) -> None:
    sent = propose(house)
    promoted = house.dallas(inbox.promote, ref="store", reason="measured twice")
    proposal = house.jones(inbox.show, ref="store").proposal
    memory = house.jones(decisions.show, ref="store").memory
    assert (proposal.status, proposal.memory, proposal.reviewer, proposal.reviewer_role, proposal.reason) == (
        "merged", promoted.memory, "dallas", "coordinator", "measured twice",
    )  # fmt: skip
    assert proposal.decided_at is not None
    assert (memory.proposal, memory.author, memory.author_role) == (sent.id, "ripley", "agent")
    assert (memory.decided_by, memory.decided_role, memory.status) == ("dallas", "coordinator", "active")
    verdict = house.jones(verdicts.show, id=promoted.verdict)
    assert (verdict.op, verdict.proposal, verdict.memory, verdict.reason) == (
        "add", sent.id, memory.id, "measured twice",
    )  # fmt: skip


def test_an_informing_proposal_becomes_memory_of_the_agent_that_made_it(house: House) -> None:
    house.ripley(
        inbox.submit, type="learning", title="Proxy", content="The proxy drops large bodies.", slug="proxy"
    )
    promoted = house.dallas(inbox.promote, ref="proxy")
    memory = house.ripley(memories.show, ref="proxy").memory
    assert (memory.id, str(memory.scope), memory.author) == (promoted.memory, "agent:ripley", "ripley")
    assert code(house.bishop, memories.show, ref="proxy") == "not_found"


def test_nobody_settles_a_proposal_of_their_own_whatever_the_case_of_the_name(house: House) -> None:
    propose(house, "dallas", slug="hers", content="What Dallas proposes.")
    propose(house, "mother", slug="its", content="What Mother proposes.")
    for spelled, ref in (
        ("DALLAS", "hers"),
        (" dallas ", "hers"),
        ("Ｄａｌｌａｓ", "hers"),
        ("MOTHER", "its"),
    ):
        same = house.as_(spelled)
        assert same.actor.role in ("coordinator", "operator")
        assert code(same, inbox.promote, ref=ref) == "own_proposal"
        assert code(same, inbox.reject, ref=ref, reason="no") == "own_proposal"
        assert house.jones(inbox.show, ref=ref).proposal.status == "pending"


def test_a_reviewers_edits_are_kept_as_a_diff(house: House) -> None:
    propose(house, rationale="it is simple")
    promoted = house.dallas(
        inbox.promote,
        ref="store",
        title="One database",
        content="All services use PostgreSQL 18.",
        rationale="measured",
    )
    assert promoted.edited
    edits = house.jones(inbox.show, ref="store").proposal.edits or ""
    for line in (
        "-title: One store", "+title: One database", "-All services use PostgreSQL and nothing else.",
        "+All services use PostgreSQL 18.", "-it is simple", "+measured",
    ):  # fmt: skip
        assert line in edits.splitlines()
    memory = house.jones(decisions.show, ref="store").memory
    assert (memory.title, memory.content, memory.rationale) == (
        "One database", "All services use PostgreSQL 18.", "measured",
    )  # fmt: skip
    assert house.jones(inbox.show, ref="store").proposal.content == STORE["content"]


def test_a_promotion_without_edits_says_so(house: House) -> None:
    propose(house)
    assert not house.dallas(inbox.promote, ref="store").edited
    assert house.jones(inbox.show, ref="store").proposal.edits is None


def test_a_proposal_is_settled_once(house: House) -> None:
    propose(house)
    house.dallas(inbox.promote, ref="store")
    for act in (
        lambda: house.mother(inbox.promote, ref="store"),
        lambda: house.mother(inbox.reject, ref="store", reason="no"),
        lambda: house.ripley(inbox.withdraw, ref="store"),
    ):
        assert code(act) == "already_decided"


def test_of_reviewers_who_promote_at_once_one_wins(house: House) -> None:
    for number in range(4):
        house.mother(actors.add, name=f"Reviewer {number}", role="coordinator")
    propose(house)
    callers = [house.as_(f"Reviewer {number}") for number in range(4)]
    together = threading.Barrier(len(callers))
    ended: list[str] = []

    def promote(caller: Any) -> None:
        together.wait(30)
        try:
            ended.append(caller(inbox.promote, ref="store").op)
        except MinutebookError as error:
            ended.append(error.code)

    threads = [threading.Thread(target=promote, args=(caller,)) for caller in callers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(ended) == ["add", "already_decided", "already_decided", "already_decided"]
    assert len(house.jones(decisions.list_).items) == 1
    assert house.rows("SELECT count(*) AS n FROM memories WHERE proposal_id IS NOT NULL") == [{"n": 1}]


def test_the_database_itself_keeps_a_proposal_from_having_two_standing_memories(house: House) -> None:
    propose(house)
    promoted = house.dallas(inbox.promote, ref="store")
    other = house.mother(
        decisions.write, type="process", title="Else", content="Something else.", slug="else"
    )
    assert other.memory is not None
    with pytest.raises(Exception, match=r"(?i)unique|duplicate"):
        house.service.database.write(
            house.project,
            lambda tx: tx.run(
                "UPDATE memories SET proposal_id = :proposal WHERE id = :id",
                proposal=promoted.proposal,
                id=other.memory,
            ),
        )


def test_a_fact_about_a_person_is_promoted_by_an_operator_alone(house: House) -> None:
    house.ripley(
        inbox.submit, type="profile", title="Ellen", content="Ellen prefers short answers.", slug="ellen"
    )
    assert code(house.dallas, inbox.promote, ref="ellen") == "not_allowed"
    assert house.mother(inbox.promote, ref="ellen").type == "profile"


# --- stale bases -----------------------------------------------------------------------------------


def test_a_proposal_whose_base_changed_is_stale_and_says_what_changed(house: House) -> None:
    house.mother(decisions.write, **STORE, slug="store")
    propose(house, content="All services use files.", slug="files", supersedes="store")
    house.mother(decisions.edit, ref="store", title="One store for all")
    view = house.jones(inbox.show, ref="files")
    assert view.stale
    assert "revision 2 now; it was proposed against revision 1" in (view.stale_because or "")
    assert code(house.dallas, inbox.promote, ref="files") == "stale_base"
    promoted = house.dallas(inbox.promote, ref="files", accept_stale=True)
    assert promoted.op == "supersede"


def test_a_proposal_to_a_base_that_was_replaced_replaces_the_successor(house: House) -> None:
    house.mother(decisions.write, **STORE, slug="store")
    propose(house, content="All services use files.", slug="files", supersedes="store")
    newer = house.mother(
        decisions.write,
        type="architectural",
        title="Two",
        content="Two stores.",
        slug="two",
        supersedes="store",
    )
    assert "superseded now" in (house.jones(inbox.show, ref="files").stale_because or "")
    assert house.dallas(inbox.promote, ref="files", accept_stale=True).superseded == newer.memory


def test_a_proposal_to_a_base_that_is_gone_is_stale(house: House) -> None:
    for gone in ("retire", "archive"):
        house.mother(decisions.write, type="scope", title=gone, content=f"What we {gone}.", slug=gone)
        propose(house, content=f"Instead of {gone}.", slug=f"not-{gone}", supersedes=gone)
        house.mother(getattr(decisions, gone), ref=gone, reason="gone")
        assert code(house.dallas, inbox.promote, ref=f"not-{gone}") == "stale_base"
        assert house.dallas(inbox.promote, ref=f"not-{gone}", accept_stale=True).op == "add"


def test_a_name_that_somebody_took_meanwhile_makes_a_proposal_stale(house: House) -> None:
    propose(house)
    house.mother(
        decisions.write, type="architectural", title="Mine", content="Quite another store.", slug="store"
    )
    stale = house.jones(inbox.show, ref="store").stale_because or ""
    assert "mother wrote 'store' under the same name" in stale
    assert code(house.dallas, inbox.promote, ref="store") == "stale_base"
    assert house.dallas(inbox.promote, ref="store", accept_stale=True).op == "supersede"


def test_a_reviewer_may_let_a_proposal_replace_a_decision_but_not_one_of_another_reach_or_kind(
    house: House,
) -> None:
    old = house.mother(decisions.write, **STORE, slug="store")
    house.mother(
        decisions.write, type="process", title="Everywhere", content="True everywhere.", slug="everywhere",
        scope="global",
    )  # fmt: skip
    house.mother(memories.write, type="project", content="The proxy drops large bodies.", slug="proxy")
    propose(house, slug="files", content="All services use files.")
    assert code(house.dallas, inbox.promote, ref="files", supersedes="everywhere") == "other_project"
    assert code(house.dallas, inbox.promote, ref="files", supersedes="proxy") == "bad_transition"
    assert house.dallas(inbox.promote, ref="files", supersedes="store").superseded == old.memory


# --- the end of the others -------------------------------------------------------------------------


def test_a_rejection_keeps_the_row_with_reviewer_and_reason(house: House) -> None:
    propose(house)
    house.clock.advance(hours=1)
    answer = house.dallas(inbox.reject, ref="store", reason="we have one already")
    proposal = house.jones(inbox.show, ref="store").proposal
    assert (proposal.status, proposal.reviewer, proposal.reason, proposal.content) == (
        "rejected", "dallas", "we have one already", STORE["content"],
    )  # fmt: skip
    assert answer.tombstone
    assert code(house.dallas, inbox.reject, ref="store", reason="again") == "already_decided"
    assert code(house.dallas, inbox.reject, ref="store", reason="  ") == "blank_field"


def test_a_rejected_duplicate_leaves_the_claim_free(house: House) -> None:
    propose(house)
    assert house.dallas(inbox.reject, ref="store", reason="said twice", duplicate=True).tombstone == ""
    assert propose(house, "bishop", slug="other").outcome == "created"


def test_only_its_author_withdraws_a_proposal_and_no_tombstone_is_laid(house: House) -> None:
    propose(house)
    assert code(house.bishop, inbox.withdraw, ref="store") == "other_agent"
    assert house.ripley(inbox.withdraw, ref="store").tombstone == ""
    assert house.jones(inbox.show, ref="store").proposal.status == "rejected"
    assert propose(house, "bishop", slug="mine").outcome == "created"


def test_nothing_expires_unless_somebody_says_after_how_long(house: House) -> None:
    propose(house)
    house.clock.advance(days=400)
    assert code(house.dallas, inbox.expire) == "bad_setting"
    propose(house, "bishop", content="Something newer.")
    before = invariants.state_of(house.service.database)
    shown = house.dallas(inbox.expire, days=90)
    assert [line.slug for line in shown.items] == ["store"]
    assert invariants.state_of(house.service.database) == before
    done = house.dallas(inbox.expire, days=90, confirm=True)
    assert [(line.slug, line.status) for line in done.items] == [("store", "rejected")]
    assert [line.slug for line in house.jones(inbox.list_).items] == ["store--bishop"]
    # Nobody judged it: it may be said again.
    assert propose(house, "ash", slug="again").outcome == "created"


def test_a_proposal_is_found_by_slug_in_any_case_or_by_id_and_not_from_another_project(house: House) -> None:
    sent = propose(house)
    assert sent.id is not None
    assert house.jones(inbox.show, ref=" STORE ").proposal.id == sent.id
    assert house.jones(inbox.show, ref=sent.id.lower()).proposal.id == sent.id
    elsewhere = house.as_("Jones", project=house.new_project("Sulaco"))
    assert code(elsewhere, inbox.show, ref="store") == "not_found"
    assert code(elsewhere, inbox.show, ref=sent.id) == "not_found"
