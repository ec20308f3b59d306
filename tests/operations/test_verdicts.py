"""Verdicts: what they keep, and undoing them one by one or all at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from minutebook.model.candidates import Candidate
from minutebook.operations import decisions, inbox, memories, runs, tombstones, verdicts
from tests import invariants
from tests.houses import House
from tests.operations.asking import code, refusal

PROXY = "The staging proxy drops every request body over one megabyte."


def learn(house: House, content: str = PROXY, who: str = "ripley", **more: Any) -> str:
    return getattr(house, who)(memories.write, type="learning", content=content, **more).verdict


def standing(house: House) -> list[Any]:
    """What is remembered and what waits, without revisions and times."""
    found = [
        [line.slug, line.type, line.status, line.scope, line.title, line.tags, line.importance, line.author]
        for line in house.jones(memories.list_, status="all", limit=1000).items
        if line.status != "retired"
    ]
    links = house.rows("SELECT from_id, relation, to_id FROM memory_links ORDER BY from_id, relation, to_id")
    words = house.rows("SELECT slug, content, rationale FROM memories WHERE status <> 'retired' ORDER BY id")
    waiting = [
        (
            proposal.slug,
            proposal.status,
            proposal.content,
            proposal.memory,
            proposal.reviewer,
            proposal.reason,
        )
        for line in house.jones(inbox.list_, status="all", limit=1000).items
        if line.status != "rejected"
        for proposal in [house.jones(inbox.show, ref=line.id).proposal]
    ]
    return [found, links, words, waiting]


def sound(house: House) -> None:
    assert invariants.violations(invariants.state_of(house.service.database)) == []


# --- what is kept -----------------------------------------------------------------------------------------


def test_a_verdict_holds_all_that_a_replay_needs_and_what_came_before(house: House) -> None:
    learn(
        house,
        slug="proxy",
        tag=["infra"],
        evidence=["file:proxy.conf#1-2"],
        confidence=0.5,
        observed="2025-01-01",
    )
    updated = learn(house, "The limit is two megabytes.", slug="proxy")
    verdict = house.ripley(verdicts.show, id=updated, content=True)
    assert verdict.candidate is not None
    candidate = Candidate.from_material(verdict.candidate)
    assert (candidate.content, candidate.slug, candidate.tags) == (
        "The limit is two megabytes.",
        "proxy",
        ("infra",),
    )
    assert json.loads(json.dumps(candidate.material())) == verdict.candidate
    memory = verdict.memory
    assert [(effect.kind, effect.ref, effect.before, effect.after) for effect in verdict.effects] == [
        ("memory", memory, "1", "2")
    ]
    assert (verdict.actor, verdict.role, verdict.origin, verdict.op) == (
        "ripley",
        "agent",
        "python",
        "update",
    )
    assert [hit.rule for hit in verdict.trace] == ["same_identity"]
    assert verdict.digest


def test_listings_show_no_content_and_the_words_are_for_their_author_and_reviewers(house: House) -> None:
    held = house.ripley(
        inbox.submit, type="process", title="Canary", content="A canary sings.", rationale="canary", slug="x"
    )
    assert "anary" not in repr(house.jones(verdicts.list_))
    assert "anary" not in repr(house.jones(verdicts.show, id=held.verdict))
    for reader in (house.ripley, house.dallas, house.mother):
        assert (reader(verdicts.show, id=held.verdict, content=True).candidate or {})[
            "content"
        ] == "A canary sings."
    for reader in (house.bishop, house.jones):
        assert code(reader, verdicts.show, id=held.verdict, content=True) == "not_allowed"


def test_a_refusal_is_on_record_before_the_error_is_raised(house: House) -> None:
    key = "xox" + "b-829301745528-6630184925517-qz7m1xk4r9wt2pv8nh3jc5ly"
    error = refusal(learn, house, f"The key is {key}")
    verdict = house.mother(verdicts.show, id=error.details["verdict"], content=True)
    assert (verdict.op, [hit.rule for hit in verdict.trace]) == ("refuse", error.details["rules"])
    assert verdict.candidate is not None
    assert verdict.candidate["withheld"]
    assert key not in repr(invariants.state_of(house.service.database))


def test_verdicts_are_filtered_and_paged(house: House) -> None:
    started = house.ripley(runs.start).id
    run = house.as_("Ripley", run=started)
    run(memories.write, type="learning", content=PROXY, slug="proxy")
    learn(house, slug="proxy")
    house.clock.advance(days=2)
    learn(house, "Something else of Bishop's.", "bishop", slug="else")
    assert [line.op for line in house.jones(verdicts.list_).items] == ["add", "skip", "add"]
    assert [line.subject for line in house.jones(verdicts.list_, actor="RIPLEY").items] == ["proxy", "proxy"]
    assert [line.op for line in house.jones(verdicts.list_, op="skip").items] == ["skip"]
    assert [line.op for line in house.jones(verdicts.list_, run=started).items] == ["add"]
    assert len(house.jones(verdicts.list_, about="proxy").items) == 2
    assert [line.actor for line in house.jones(verdicts.list_, since="24h").items] == ["bishop"]
    assert len(house.jones(verdicts.list_, until="24h").items) == 2
    page = house.jones(verdicts.list_, limit=2)
    assert [line.op for line in house.jones(verdicts.list_, after=page.next).items] == ["add"]
    assert code(house.jones, verdicts.list_, after="x") == "invalid_input"
    assert code(house.jones, verdicts.list_, about="nothing") == "not_found"
    elsewhere = house.as_("Jones", project=house.new_project("Sulaco"))
    assert elsewhere(verdicts.list_).items == ()
    assert code(elsewhere, verdicts.show, id=page.items[0].id) == "not_found"


# --- revert of every op -----------------------------------------------------------------------------------


def _added(house: House) -> str:
    return learn(house, "The build cache lies on the second disk.", slug="new")


def _updated(house: House) -> str:
    return learn(house, "The limit is two megabytes.", slug="proxy")


def _decided(house: House) -> str:
    return house.mother(
        decisions.write,
        type="process",
        title="New",
        content="Two reviews.",
        slug="review",
        contradicts=["proxy"],
    ).verdict


def _superseded_by_another(house: House) -> str:
    return house.mother(
        decisions.write, type="scope", title="New", content="Two reviews.", slug="other", supersedes="review"
    ).verdict


def _superseded(house: House) -> str:
    house.mother(decisions.write, type="process", title="New", content="Two reviews.", slug="twice")
    return house.mother(decisions.supersede, ref="review", by="twice").verdict


def _retired(house: House) -> str:
    return house.ripley(memories.retire, ref="proxy", reason="gone").verdict


def _restored(house: House) -> str:
    house.ripley(memories.retire, ref="proxy", reason="gone")
    return house.dallas(memories.restore, ref="proxy", reason="back").verdict


def _archived(house: House) -> str:
    return house.mother(decisions.archive, ref="review", reason="old").verdict


def _rescoped(house: House) -> str:
    return house.ripley(memories.rescope, ref="proxy", scope="project").verdict


def _tagged(house: House) -> str:
    return house.ripley(memories.tag, ref="proxy", tags=["cross-team"]).verdict


def _linked(house: House) -> str:
    return house.mother(memories.link, ref="proxy", relation="supports", other="review").verdict


def _unlinked(house: House) -> str:
    house.mother(memories.link, ref="proxy", relation="supports", other="review")
    return house.mother(memories.unlink, ref="proxy", relation="supports", other="review").verdict


def _held(house: House) -> str:
    return house.bishop(inbox.submit, type="process", title="H", content="Held words.", slug="held").verdict


def _held_again(house: House) -> str:
    return house.ripley(
        inbox.submit, type="process", title="W", content="Other waiting words.", slug="waits"
    ).verdict


def _promoted(house: House) -> str:
    return house.dallas(inbox.promote, ref="waits", reason="good", content="Better waiting words.").verdict


def _promoted_over(house: House) -> str:
    return house.dallas(inbox.promote, ref="waits", supersedes="review", reason="newer").verdict


def _rejected(house: House) -> str:
    return house.dallas(inbox.reject, ref="waits", reason="bad").verdict


def _rejected_after_an_update(house: House) -> str:
    _held_again(house)
    return house.dallas(inbox.reject, ref="waits", reason="bad").verdict


def _lifted(house: House) -> str:
    house.dallas(inbox.reject, ref="waits", reason="bad")
    return house.mother(
        decisions.write, type="process", title="W", content="Waiting words.", slug="waits-no-more"
    ).verdict


ACTS: list[Callable[[House], str]] = [
    _added, _updated, _decided, _superseded_by_another, _superseded, _retired, _restored, _archived,
    _rescoped, _tagged, _linked, _unlinked, _held, _held_again, _promoted, _promoted_over, _rejected,
    _rejected_after_an_update, _lifted,
]  # fmt: skip


@pytest.fixture
def furnished(house: House) -> House:
    learn(house, slug="proxy")
    house.mother(decisions.write, type="process", title="Review", content="One review.", slug="review")
    house.ripley(inbox.submit, type="process", title="W", content="Waiting words.", slug="waits")
    return house


@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.__name__.strip("_"))
def test_a_revert_puts_back_what_was_and_its_own_revert_what_the_act_had_made(
    furnished: House, act: Callable[[House], str]
) -> None:
    house = furnished
    before = standing(house)
    first = act(house)
    after = standing(house)
    graves = {stone.slug for stone in house.jones(tombstones.list_).items}
    undone = house.mother(verdicts.revert, id=first, reason="wrong")
    sound(house)
    if act not in (_superseded, _restored, _unlinked, _lifted, _rejected_after_an_update):
        assert standing(house) == before  # the others did something first, which stays
    else:
        assert standing(house) != after
    assert house.jones(verdicts.show, id=first).reverted_by == undone.verdicts[0]
    assert code(house.mother, verdicts.revert, id=first) == "already_reverted"
    redone = house.mother(verdicts.revert, id=undone.verdicts[0], reason="it was right")
    sound(house)
    assert standing(house) == after
    assert {stone.slug for stone in house.jones(tombstones.list_).items} == graves
    assert house.jones(verdicts.show, id=first).reverted_by is None
    again = house.mother(verdicts.revert, id=redone.verdicts[0], reason="it was not")
    sound(house)
    assert again.applied
    assert standing(house) != after


def test_a_revert_of_an_added_memory_keeps_the_claim_away(house: House) -> None:
    first = learn(house, slug="proxy")
    house.dallas(verdicts.revert, id=first, reason="wrong")
    assert code(house.ripley, memories.list_, agent="ripley", status="nothing") == "invalid_input"
    assert house.ripley(memories.list_).items == ()
    assert code(learn, house, who="bishop") == "tombstoned"


def test_a_promotion_that_was_reverted_leaves_the_proposal_open_to_be_promoted_again(
    furnished: House,
) -> None:
    house = furnished
    house.dallas(verdicts.revert, id=_promoted(house), reason="too early")
    proposal = house.jones(inbox.show, ref="waits").proposal
    assert (proposal.status, proposal.memory, proposal.edits, proposal.reviewer) == (
        "pending",
        None,
        None,
        None,
    )
    assert house.dallas(inbox.promote, ref="waits").op == "add"
    sound(house)


def test_a_reverted_revert_of_a_promotion_brings_back_reviewer_reason_and_edits(furnished: House) -> None:
    house = furnished
    promoted = _promoted(house)
    before = house.jones(inbox.show, ref="waits").proposal
    undone = house.mother(verdicts.revert, id=promoted)
    house.mother(verdicts.revert, id=undone.verdicts[0])
    after = house.jones(inbox.show, ref="waits").proposal
    for name in ("status", "memory", "reviewer", "reviewer_role", "reason", "edits"):
        assert getattr(after, name) == getattr(before, name)
    assert after.edits is not None


def test_a_revert_is_refused_when_something_newer_stands_on_it_and_names_it(house: House) -> None:
    first = learn(house, slug="proxy")
    second = learn(house, "The limit is two megabytes.", slug="proxy")
    third = house.ripley(memories.tag, ref="proxy", tags=["x"]).verdict
    before = invariants.state_of(house.service.database)
    error = refusal(house.dallas, verdicts.revert, id=first)
    assert (error.code, error.details["standing"]) == ("newer_stands", [second, third])
    assert invariants.state_of(house.service.database) == before
    house.dallas(verdicts.revert, id=third)
    assert refusal(house.dallas, verdicts.revert, id=first).details["standing"] == [second]
    house.dallas(verdicts.revert, id=second)
    assert house.ripley(memories.show, ref="proxy").memory.content == PROXY
    house.dallas(verdicts.revert, id=first)
    assert house.ripley(memories.list_).items == ()


def test_writes_of_a_proposal_come_apart_newest_first(house: House) -> None:
    asked = {"type": "process", "title": "W", "slug": "waits"}
    made = [
        house.ripley(inbox.submit, content=f"Words, the {nth} time.", **asked)
        for nth in ("first", "2nd", "3rd")
    ]
    assert code(house.dallas, verdicts.revert, id=made[0].verdict) == "newer_stands"
    house.dallas(verdicts.revert, id=made[2].verdict)
    assert house.jones(inbox.show, ref="waits").proposal.content == "Words, the 2nd time."
    house.dallas(verdicts.revert, id=made[1].verdict)
    assert house.jones(inbox.show, ref="waits").proposal.content == "Words, the first time."
    house.dallas(verdicts.revert, id=made[0].verdict)
    assert house.jones(inbox.show, ref="waits").proposal.status == "rejected"
    sound(house)


def test_a_revert_does_not_stand_on_a_name_that_is_taken_now(house: House) -> None:
    learn(house, slug="proxy")
    archived = house.ripley(memories.archive, ref="proxy", reason="old").verdict
    learn(house, "Quite a new proxy.", slug="proxy")
    error = refusal(house.dallas, verdicts.revert, id=archived)
    assert (error.code, "name of a newer memory" in error.message) == ("newer_stands", True)


def test_words_that_were_erased_elsewhere_do_not_return_by_a_revert(house: House) -> None:
    learn(house, slug="proxy")
    updated = learn(house, "The limit is two megabytes.", slug="proxy")
    learn(house, PROXY, "bishop", slug="copy")
    house.mother(memories.erase, ref="copy", reason="privacy")
    assert code(house.dallas, verdicts.revert, id=updated) == "newer_stands"


def test_what_changed_nothing_cannot_be_reverted(house: House) -> None:
    learn(house, slug="proxy")
    skipped = learn(house, slug="proxy")
    assert code(house.dallas, verdicts.revert, id=skipped) == "bad_transition"
    erased = house.mother(memories.erase, ref="proxy", reason="privacy")
    assert code(house.mother, verdicts.revert, id=erased.verdict) == "bad_transition"


def test_a_revert_can_be_tried_first(house: House) -> None:
    first = learn(house, slug="proxy")
    before = invariants.state_of(house.service.database)
    answer = house.dallas(verdicts.revert, id=first, dry_run=True)
    assert (answer.applied, answer.reverted) == (False, (first,))
    assert invariants.state_of(house.service.database) == before


# --- blast radius -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "radius",
    [{"actor": "RIPLEY"}, {"run": "the run"}, {"since": "90m", "until": "30m"}],
    ids=["actor", "run", "time"],
)
def test_a_blast_undoes_exactly_what_its_preview_said(house: House, radius: dict[str, Any]) -> None:
    house.bishop(memories.write, type="project", content="What stood before.", slug="before", scope="project")
    house.clock.advance(hours=1)
    started = house.ripley(runs.start).id
    radius = {name: started if name == "run" else value for name, value in radius.items()}
    bad = house.as_("Ripley", run=started)
    bad(memories.write, type="learning", content=PROXY, slug="poison")
    bad(memories.write, type="learning", content="Poison, the second draught.", slug="poison")
    bad(memories.write, type="project", content="The whole project is poisoned.", slug="well")
    bad(inbox.submit, type="scope", title="P", content="Let us drink it.", slug="drink")
    bad(memories.link, ref="well", relation="supports", other="before")
    house.clock.advance(hours=1)
    house.dallas(memories.edit, ref="well", title="Built on it")
    before = invariants.state_of(house.service.database)
    shown = house.mother(verdicts.revert_all, **radius)
    assert (shown.applied, len(shown.reverted), len(shown.blocked)) == (False, 4, 1)
    assert shown.sentence == "Would revert 4 of 5 verdicts; 1 has something newer on it."
    assert invariants.state_of(house.service.database) == before
    done = house.mother(verdicts.revert_all, **radius, confirm=True, reason="poisoned")
    assert (done.applied, done.reverted, done.blocked) == (True, shown.reverted, shown.blocked)
    assert done.blocked[0].standing
    assert {line.slug for line in house.jones(memories.list_).items} == {"before", "well"}
    assert house.jones(memories.show, ref="before").links == ()
    assert house.jones(inbox.list_).items == ()
    sound(house)
    assert house.mother(verdicts.revert_all, **radius, confirm=True).reverted == ()


def test_a_blast_reaches_what_a_run_wrote_that_came_with_its_history_alone(house: House) -> None:
    wrote = learn(house, slug="poison")
    house.service.database.write(
        house.project, lambda tx: tx.run("UPDATE verdicts SET run_id = 'run 7' WHERE id = :id", id=wrote)
    )
    assert house.mother(verdicts.revert_all, run="run 7", confirm=True).reverted == (wrote,)


def test_a_blast_reaches_what_one_source_wrote(house: House) -> None:
    wrote = learn(house, slug="poison")
    other = learn(house, "Something else, from no source.", slug="clean")
    house.service.database.write(
        house.project, lambda tx: tx.run("UPDATE verdicts SET source_id = 'S1' WHERE id = :id", id=wrote)
    )
    assert house.mother(verdicts.revert_all, source="S1", confirm=True).reverted == (wrote,)
    assert house.jones(verdicts.show, id=other).reverted_by is None


def test_a_blast_says_whose_writes_and_stays_in_its_project(house: House) -> None:
    assert code(house.mother, verdicts.revert_all) == "invalid_input"
    assert code(house.mother, verdicts.revert_all, until="1h") == "invalid_input"
    assert code(house.dallas, verdicts.revert_all, actor="ripley") == "not_allowed"
    sulaco = house.as_("Ripley", project=house.new_project("Sulaco"))
    sulaco(memories.write, type="learning", content=PROXY, slug="elsewhere")
    assert house.mother(verdicts.revert_all, actor="ripley", confirm=True).reverted == ()
    assert [line.slug for line in sulaco(memories.list_).items] == ["elsewhere"]


def test_a_rejection_is_not_undone_by_undoing_the_rejecters_writes(furnished: House) -> None:
    house = furnished
    house.dallas(inbox.reject, ref="waits", reason="no")
    assert house.mother(verdicts.revert_all, actor="dallas", confirm=True).reverted == ()
    assert house.jones(inbox.show, ref="waits").proposal.status == "rejected"
