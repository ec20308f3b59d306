"""Memories: writing, changing, linking, tagging, retiring, and who may see what."""

from __future__ import annotations

from typing import Any

import pytest

from minutebook.model.verdicts import Outcome
from minutebook.operations import decisions, inbox, memories, projects, sessions, tombstones, verdicts
from tests import invariants
from tests.houses import House
from tests.operations.asking import code, refusal

PROXY = "The staging proxy drops every request body over one megabyte."
PLACES: list[tuple[dict[str, Any], str]] = [
    ({"scope": "global"}, "global"),
    ({"scope": "project"}, "project"),
    ({"repo": "api"}, "repo:"),
    ({"scope": "agent", "agent": "Ripley", "tier": "global"}, "agent:ripley (everywhere)"),
    ({"agent": "RIPLEY"}, "agent:ripley"),
    ({"scope": "session"}, "session:"),
]


def learn(house: House, content: str = PROXY, who: str = "ripley", **more: Any) -> Outcome:
    return getattr(house, who)(memories.write, type="learning", content=content, **more)


# --- writing ----------------------------------------------------------------------------------------------


def test_the_ops_of_writing_each_come_about_and_say_so(house: House) -> None:
    added = learn(house, slug="proxy")
    updated = learn(house, "The staging proxy was replaced in May.", slug="proxy")
    skipped = learn(house, "The staging  proxy was REPLACED in May!", slug="other")
    held = house.ripley(memories.write, type="architectural", content="All uploads go by the direct route.")
    decided = house.mother(memories.write, type="process", content="Review first.", slug="review")
    superseded = house.mother(memories.write, type="process", content="Review twice.", slug="review")
    retired = house.ripley(memories.retire, ref="proxy", reason="gone")
    restored = house.dallas(memories.restore, ref="proxy", reason="it is back")
    refused = refusal(learn, house, "key: xox" + "b-829301745528-6630184925517-qz7m1xk4r9wt2pv8nh3jc5ly")
    answers = (added, updated, skipped, held, decided, superseded, retired, restored)
    assert [answer.op for answer in answers] == [
        "add", "update", "skip", "hold", "add", "supersede", "retire", "restore",
    ]  # fmt: skip
    assert (updated.memory, updated.revision) == (added.memory, 2)
    assert (skipped.memory, skipped.slug) == (added.memory, "proxy")
    assert held.proposal is not None
    assert superseded.memory != decided.memory
    assert refused.code == "secret"
    ops = {line.op for line in house.jones(verdicts.list_, limit=100).items}
    assert ops == {"add", "update", "skip", "hold", "supersede", "retire", "restore", "refuse"}
    assert not invariants.violations(invariants.state_of(house.service.database))


def test_there_and_back_and_there_again_are_four_writes(house: House) -> None:
    for type in ("learning", "process"):
        ask = house.ripley if type == "learning" else house.mother
        ops = [
            ask(memories.write, type=type, content=words, slug="port").op
            for words in ("A.", "B.", "A.", "B.")
        ]
        assert ops == (["add"] + ["update" if type == "learning" else "supersede"] * 3)


def test_a_title_is_made_from_the_first_line_and_names_without_a_slug_never_collide(house: House) -> None:
    first = house.mother(memories.write, type="project", content="# Proxy\n\nIt drops bodies.")
    second = house.mother(memories.write, type="project", content="# Proxy\n\nSomething else about it.")
    assert (first.slug, second.slug, second.op) == ("proxy", "proxy-2", "add")
    assert house.jones(memories.show, ref="proxy").memory.title == "Proxy"


def test_a_dry_run_gives_the_verdict_and_leaves_nothing(house: House) -> None:
    learn(house, slug="proxy")
    before = invariants.state_of(house.service.database)
    assert learn(house, "Else.", slug="proxy", dry_run=True).op == "update"
    assert house.ripley(memories.edit, ref="proxy", content="Else.", dry_run=True).op == "update"
    assert house.ripley(decisions.write, type="scope", title="S", content="C.", dry_run=True).op == "hold"
    assert invariants.difference(before, invariants.state_of(house.service.database)) == []


def test_everything_said_about_a_memory_is_kept_and_what_is_left_unsaid_stays(house: House) -> None:
    about = {
        "rationale": "measured", "summary": "1 MB", "importance": "high", "confidence": 0.75,
        "entity": "Proxy", "attribute": "Limit", "tag": ["Infra"], "observed": "2025-05-01",
        "evidence": ["file:proxy.conf#12-14@3bac3cf"],
    }  # fmt: skip
    learn(house, slug="proxy", **about)
    learn(house, "The limit is two megabytes now.", slug="proxy")
    memory = house.ripley(memories.show, ref="proxy").memory
    assert (memory.rationale, memory.summary, memory.importance, memory.confidence) == (
        "measured", "1 MB", "high", 0.75,
    )  # fmt: skip
    assert (memory.entity, memory.attribute, memory.tags) == ("proxy", "limit", ("infra",))
    assert (memory.evidence[0].ref, memory.evidence[0].span, memory.evidence[0].commit) == (
        "proxy.conf", "12-14", "3bac3cf",
    )  # fmt: skip
    assert memory.observed_at == "2025-05-01T00:00:00.000000Z"
    assert memory.revision == 2
    assert code(learn, house, "Else.", entity="proxy") == "invalid_input"


# --- scopes -----------------------------------------------------------------------------------------------


def test_a_memory_lives_in_each_of_the_five_scopes_and_both_tiers(house: House) -> None:
    house.mother(projects.add_repo, name="api")
    house.mother(sessions.start, focus="Now")
    for number, (place, said) in enumerate(PLACES):
        done = house.mother(memories.write, type="learning", content=f"Fact number {number}.", **place)
        assert str(house.jones(memories.show, ref=done.memory or "").memory.scope).startswith(said)


def test_the_scope_follows_from_the_type_and_an_agents_own_is_never_guessed_for_others(house: House) -> None:
    for type, agents, operators in (
        ("learning", "agent:ripley", "project"),
        ("core_context", "agent:ripley", "project"),
        ("pattern", "agent:ripley", "project"),
        ("update", "agent:ripley", "project"),
        ("episode", "agent:ripley", "project"),
        ("project", "project", "project"),
        ("artifact", "project", "project"),
    ):
        said = house.ripley(memories.write, type=type, content=f"An agent's {type}, in its own words.")
        assert str(house.ripley(memories.show, ref=said.memory or "").memory.scope) == agents
        said = house.mother(memories.write, type=type, content=f"Quite another {type}, by an operator.")
        assert str(house.jones(memories.show, ref=said.memory or "").memory.scope) == operators
    for type in ("feedback", "profile"):  # these reach every project, and so an agent's wait
        held = house.ripley(memories.write, type=type, content=f"An agent's {type}, in its own words.")
        assert str(house.jones(inbox.show, ref=held.proposal or "").proposal.scope) == "global"
        said = house.mother(memories.write, type=type, content=f"Quite another {type}, by an operator.")
        assert str(house.jones(memories.show, ref=said.memory or "").memory.scope) == "global"
    decided = house.mother(memories.write, type="technical", content="A decision, by an operator.")
    assert str(house.jones(memories.show, ref=decided.memory or "").memory.scope) == "project"


def test_impossible_places_are_refused(house: House) -> None:
    assert code(house.mother, memories.write, type="learning", content="X.", scope="agent") == "unknown_scope"
    assert code(house.mother, memories.write, type="learning", content="X.", tier="global") == "unknown_scope"
    assert code(house.mother, memories.write, type="process", content="X.", agent="ripley") == "unknown_scope"
    assert (
        code(house.mother, memories.write, type="process", content="X.", scope="session") == "unknown_scope"
    )
    assert code(
        house.mother, memories.write, type="project", content="X.", scope="project", agent="ripley"
    ) == ("unknown_scope")
    assert code(house.mother, memories.write, type="project", content="X.", repo="no-such") == "not_found"
    assert code(house.mother, memories.write, type="project", content="X.", scope="session") == "not_found"
    assert code(learn, house, agent="bishop") == "other_agent"
    nowhere = house.as_("Mother")
    nowhere.project = None
    assert code(nowhere, memories.write, type="project", content="X.") == "no_project"


def test_a_memory_moves_between_scopes_and_only_reviewers_let_it_out_of_the_project(house: House) -> None:
    learn(house, slug="proxy")
    assert code(house.bishop, memories.rescope, ref="proxy", scope="project") == "not_found"
    assert house.ripley(memories.rescope, ref="proxy", scope="project").op == "update"
    assert str(house.bishop(memories.show, ref="proxy").memory.scope) == "project"
    assert code(house.ripley, memories.rescope, ref="proxy", scope="global") == "not_allowed"
    assert code(house.ripley, memories.rescope, ref="proxy", tier="global") == "not_allowed"
    house.dallas(memories.rescope, ref="proxy", scope="global")
    elsewhere = house.as_("Bishop", project=house.new_project("Sulaco"))
    assert elsewhere(memories.show, ref="proxy").memory.content == PROXY
    assert code(house.dallas, memories.rescope, ref="proxy", scope="global") == "exists"
    assert code(house.dallas, memories.rescope, ref="proxy") == "unknown_scope"
    house.mother(decisions.write, type="process", title="Review", content="Review first.", slug="review")
    assert code(house.mother, memories.rescope, ref="review", agent="ripley") == "unknown_scope"


def test_a_memory_does_not_move_to_where_its_name_stands_or_its_claim_was_buried(house: House) -> None:
    learn(house, slug="proxy")
    house.mother(
        memories.write, type="learning", content="Quite another thing.", slug="proxy", scope="project"
    )
    assert code(house.ripley, memories.rescope, ref="proxy", scope="project") == "exists"
    # Ripley's own, everywhere; the same claim is rejected in this project.
    held = learn(house, "Everything runs on one big host.", slug="host", tier="global")
    assert held.op == "hold"
    house.dallas(inbox.promote, ref="host")
    house.bishop(
        inbox.submit,
        type="project",
        title="Host",
        content="Everything runs on ONE big host!",
        slug="one-host",
    )
    house.dallas(inbox.reject, ref="one-host", reason="it does not")
    assert code(house.ripley, memories.rescope, ref="host", scope="project") == "tombstoned"
    assert house.dallas(memories.rescope, ref="host", scope="project").op == "update"


# --- who sees what ----------------------------------------------------------------------------------------


def test_what_another_agent_tagged_cross_team_is_seen_and_the_rest_is_not(house: House) -> None:
    learn(house, slug="mine")
    learn(house, "The build cache lies on the second disk.", slug="ours", tag=["Cross-Team"])
    assert [line.slug for line in house.bishop(memories.list_).items] == ["ours"]
    assert code(house.bishop, memories.show, ref="mine") == "not_found"
    assert house.bishop(memories.show, ref="ours").memory.author == "ripley"
    house.ripley(memories.untag, ref="ours", tags=["CROSS-TEAM"])
    assert house.bishop(memories.list_).items == ()
    house.ripley(memories.tag, ref="mine", tags=["cross-team"])
    assert [line.slug for line in house.bishop(memories.list_).items] == ["mine"]
    elsewhere = house.as_("Bishop", project=house.new_project("Sulaco"))
    assert elsewhere(memories.list_).items == ()


def test_links_to_a_memory_that_one_may_not_see_are_not_shown(house: House) -> None:
    private = learn(house, slug="mine")
    house.mother(memories.write, type="project", content="Uploads are limited.", slug="uploads")
    house.ripley(memories.link, ref="mine", relation="supports", other="uploads")
    assert [link.from_id for link in house.ripley(memories.show, ref="uploads").links] == [private.memory]
    assert [link.from_id for link in house.jones(memories.show, ref="uploads").links] == [private.memory]
    assert house.bishop(memories.show, ref="uploads").links == ()


# --- tags -------------------------------------------------------------------------------------------------


def test_a_tag_is_matched_whole_and_whatever_its_case(house: House) -> None:
    learn(house, slug="one", tag=["Infra", "INFRA", "ｉｎｆｒａ"])
    learn(house, "The build cache lies on the second disk.", slug="two", tag=["infra-old", "big disk"])
    assert house.ripley(memories.show, ref="one").memory.tags == ("infra",)
    assert [line.slug for line in house.ripley(memories.list_, tag=["iNFRA"]).items] == ["one"]
    assert [line.slug for line in house.ripley(memories.list_, tag=["Big Disk"]).items] == ["two"]
    assert house.ripley(memories.list_, tag=["infra", "big-disk"]).items == ()
    assert house.ripley(memories.list_, tag=["inf"]).items == ()
    house.ripley(memories.tag, ref="one", tags=["new", "NEW"])
    assert house.ripley(memories.show, ref="one").memory.tags == ("infra", "new")
    assert house.ripley(memories.untag, ref="one", tags=["Infra"]).revision == 3
    assert house.ripley(memories.list_, tag=["infra"]).items == ()


def test_tags_have_limits_and_hold_no_secret(house: House) -> None:
    learn(house, slug="one")
    many = [f"tag{number}" for number in range(21)]
    assert code(house.ripley, memories.tag, ref="one", tags=many) == "too_many"
    assert code(house.ripley, memories.tag, ref="one", tags=["a,b"]) == "bad_name"
    assert code(house.ripley, memories.tag, ref="one", tags=["x" * 65]) == "bad_name"
    assert code(house.ripley, memories.tag, ref="one", tags=["hidden\u202e"]) == "bad_name"
    key = "xox" + "b-829301745528-6630184925517-qz7m1xk4r9wt2pv8nh3jc5ly"
    assert code(house.ripley, memories.tag, ref="one", tags=[key]) == "secret"
    assert house.ripley(memories.show, ref="one").memory.tags == ()


# --- contradictions and links -----------------------------------------------------------------------------


def test_contradictions_stand_side_by_side_linked_and_listed(house: House) -> None:
    first = house.mother(
        memories.write, type="project", content="The service listens on port 8080.", slug="a"
    )
    second = house.mother(
        memories.write,
        type="project",
        content="Port 9090 is where the service listens.",
        slug="b",
        contradicts=["a"],
    )
    assert second.op == "add"
    assert {line.slug for line in house.jones(memories.list_, status="contradicted").items} == {"a", "b"}
    assert {line.status for line in house.jones(memories.list_).items} == {"contradicted"}
    view = house.jones(memories.show, ref="a")
    assert (view.standing, view.memory.status) == ("contradicted", "active")
    assert [(link.from_id, link.relation, link.to_id) for link in view.links] == [
        (second.memory, "contradicts", first.memory)
    ]
    house.mother(memories.archive, ref="b", reason="it was wrong")
    assert house.jones(memories.list_, status="contradicted").items == ()
    assert house.jones(memories.show, ref="a").standing == "active"


def test_another_agents_value_of_a_slot_is_proposed_as_a_contradiction(house: House) -> None:
    slot = {"type": "project", "entity": "ci", "attribute": "os"}
    first = house.ripley(memories.write, content="CI runs on Debian 12.", **slot)
    held = house.bishop(memories.write, content="CI runs on Alpine.", **slot)
    assert (held.op, "entity_slot.contradiction" in held.rules) == ("hold", True)
    house.dallas(inbox.promote, ref=held.slug)
    assert len(house.jones(memories.list_, status="contradicted").items) == 2
    again = house.ripley(memories.write, content="CI runs on Debian 13.", **slot)
    assert (again.op, "ambiguous" in again.rules) == ("hold", True)
    asked = house.jones(verdicts.show, id=again.verdict)
    assert len(asked.targets) == 2
    assert first.memory in asked.targets


def test_links_are_made_once_and_taken_away(house: House) -> None:
    learn(house, slug="a")
    learn(house, "The build cache lies on the second disk.", slug="b")
    assert house.ripley(memories.link, ref="a", relation="supports", other="b").op == "update"
    assert code(house.ripley, memories.link, ref="a", relation="supports", other="b") == "exists"
    assert code(house.ripley, memories.link, ref="a", relation="supports", other="a") == "cycle"
    assert code(house.ripley, memories.link, ref="a", relation="supersedes", other="b") == "bad_transition"
    house.ripley(memories.unlink, ref="a", relation="supports", other="b")
    assert code(house.ripley, memories.unlink, ref="a", relation="supports", other="b") == "not_found"
    assert house.ripley(memories.show, ref="a").links == ()


# --- changing ---------------------------------------------------------------------------------------------


def test_an_edit_keeps_history_and_tells_what_changed(house: House) -> None:
    learn(house, slug="proxy", importance="low")
    house.ripley(memories.edit, ref="proxy", content="The limit is two megabytes.", importance="high")
    house.ripley(memories.edit, ref="proxy", title="Proxy limit", revision=2)
    assert code(house.ripley, memories.edit, ref="proxy", title="Late", revision=2) == "stale_revision"
    assert code(house.ripley, memories.edit, ref="proxy") == "invalid_input"
    history = house.ripley(memories.history, ref="proxy").items
    assert [(line.revision, line.op) for line in history] == [(1, "add"), (2, "update"), (3, "update")]
    assert house.ripley(memories.diff, ref="proxy").fields == {"title": (PROXY, "Proxy limit")}
    first = house.ripley(memories.diff, ref="proxy", revision=1, to=2)
    assert first.fields == {"importance": ("low", "high")}
    assert f"-{PROXY}" in first.diff.splitlines()
    assert "+The limit is two megabytes." in first.diff.splitlines()
    assert code(house.ripley, memories.diff, ref="proxy", revision=9) == "not_found"
    learn(house, "The build cache lies on the second disk.", slug="cache")
    assert "slug" in house.ripley(memories.diff, ref="proxy", other="cache").fields


def test_an_agent_changes_its_own_and_only_proposes_changes_to_the_rest(house: House) -> None:
    house.mother(memories.write, type="project", content=PROXY, slug="fact")
    house.mother(decisions.write, type="process", title="Review", content="Review first.", slug="review")
    for ref in ("fact", "review"):
        held = house.ripley(memories.edit, ref=ref, content=f"Something else of {ref}.")
        assert held.op == "hold"
        for verb in (memories.retire, memories.archive):
            assert code(house.ripley, verb, ref=ref, reason="no") == "not_allowed"
        assert code(house.ripley, memories.tag, ref=ref, tags=["x"]) == "not_allowed"
        assert code(house.ripley, memories.rescope, ref=ref, repo="x") == "not_found"
    assert house.jones(memories.show, ref="fact").memory.content == PROXY
    promoted = house.dallas(inbox.promote, ref="review")
    assert (promoted.op, house.jones(memories.show, ref="review").memory.content) == (
        "update", "Something else of review.",
    )  # fmt: skip


@pytest.mark.parametrize("how", ["write", "submit"])
def test_nothing_that_informs_replaces_a_decision(house: House, how: str) -> None:
    house.ripley(inbox.submit, type="architectural", title="Store", content="One store.", slug="store")
    house.dallas(inbox.promote, ref="store")
    asked = {
        "type": "learning",
        "title": "Better",
        "content": "Two stores are better.",
        "supersedes": "store",
    }
    for who in (house.ripley, house.mother):
        assert code(who, memories.write if how == "write" else inbox.submit, **asked) == "bad_transition"
    slot = {"entity": "store", "attribute": "count"}
    house.mother(decisions.edit, ref="store", **slot)
    fact = house.ripley(memories.write, type="project", content="There are two stores.", **slot)
    assert fact.op == "hold"
    assert house.jones(decisions.show, ref="store").memory.status == "active"


def test_retiring_lays_a_tombstone_and_restoring_lifts_it(house: House) -> None:
    learn(house, slug="proxy")
    house.ripley(memories.retire, ref="proxy", reason="it was replaced")
    assert [stone.slug for stone in house.jones(tombstones.list_).items] == ["proxy"]
    assert code(learn, house, slug="again") == "tombstoned"
    assert code(house.ripley, memories.restore, ref="proxy", reason="x") == "not_allowed"
    house.dallas(memories.restore, ref="proxy", reason="it is back")
    assert house.jones(tombstones.list_).items == ()
    assert house.ripley(memories.show, ref="proxy").memory.status == "active"
    assert code(house.dallas, memories.restore, ref="proxy", reason="x") == "bad_transition"


def test_a_retired_memory_does_not_return_over_one_of_the_same_name(house: House) -> None:
    first = learn(house, slug="proxy")
    house.ripley(memories.retire, ref="proxy", reason="gone")
    learn(house, "The new proxy takes everything.", slug="proxy")
    assert code(house.dallas, memories.restore, ref=first.memory, reason="x") == "exists"


def test_archiving_takes_out_of_use_and_lets_it_be_said_again(house: House) -> None:
    learn(house, slug="proxy")
    house.ripley(memories.archive, ref="proxy", reason="old")
    assert house.ripley(memories.list_).items == ()
    assert learn(house, slug="proxy").op == "add"
    old = house.ripley(memories.list_, status="archived").items[0]
    assert code(house.ripley, memories.retire, ref=old.id, reason="x") == "bad_transition"


def test_one_standing_memory_supersedes_another(house: House) -> None:
    old = learn(house, slug="old")
    new = learn(house, "The new proxy takes everything.", slug="new")
    house.ripley(memories.supersede, ref="old", by="new")
    view = house.ripley(memories.show, ref="new")
    assert view.supersedes == (old.memory,)
    assert house.ripley(memories.show, ref="old").memory.superseded_by == new.memory
    assert code(house.ripley, memories.supersede, ref="new", by="old") == "cycle"
    assert code(house.ripley, memories.supersede, ref="new", by="new") == "cycle"


# --- naming and listing -----------------------------------------------------------------------------------


def test_a_memory_is_named_by_slug_or_id_and_the_deepest_of_a_name_is_meant(house: House) -> None:
    wide = house.mother(memories.write, type="learning", content="For the whole team.", slug="x")
    deep = learn(house, "For Ripley alone.", slug="x")
    assert house.ripley(memories.show, ref="X").memory.id == deep.memory
    assert house.ripley(memories.show, ref=(wide.memory or "").lower()).memory.id == wide.memory
    assert house.bishop(memories.show, ref="x").memory.id == wide.memory
    # Who is no agent means the project's, not some agent's; where there are only agents', it must be said whose.
    assert house.jones(memories.show, ref="x").memory.id == wide.memory
    learn(house, "What only Ripley noted down.", slug="y")
    learn(house, "Something of Bishop's own.", slug="y", who="bishop")
    both = refusal(house.jones, memories.show, ref="y")
    assert (both.code, len(both.details["candidates"])) == ("ambiguous", 2)
    assert code(house.ripley, memories.show, ref="🚀") == "bad_slug"


def test_a_listing_filters_pages_and_shows_no_content(house: House) -> None:
    for number in range(5):
        learn(
            house, f"canary fact {number} {'word ' * number}", slug=f"fact-{number}", title=f"Fact {number}"
        )
        house.clock.advance(days=1)
    house.mother(
        memories.write,
        type="project",
        content="canary of the project",
        title="P",
        slug="p",
        importance="high",
    )
    page = house.ripley(memories.list_, limit=4)
    assert [line.slug for line in page.items] == ["p", "fact-4", "fact-3", "fact-2"]
    rest = house.ripley(memories.list_, limit=4, after=page.next)
    assert ([line.slug for line in rest.items], rest.next) == (["fact-1", "fact-0"], None)
    for wanted, expected in (
        ({"type": "project"}, ["p"]),
        ({"scope": "project"}, ["p"]),
        ({"agent": "RIPLEY", "until": "2026-01-01T12:00:00Z"}, ["fact-0"]),
        ({"author": "Mother"}, ["p"]),
        ({"importance": "high"}, ["p"]),
        ({"since": "36h"}, ["p", "fact-4"]),
        ({"status": "retired"}, []),
    ):
        assert [line.slug for line in house.ripley(memories.list_, **wanted).items] == expected
    assert "canary" not in repr(house.ripley(memories.list_, status="all"))
