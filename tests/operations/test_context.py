"""The compiled context, on both databases: who sees what, as of when, and what a fault costs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from minutebook.model.context import Bundle, Layer
from minutebook.operations import context, decisions, inbox, memories, sessions
from minutebook.operations.plain import from_plain, to_plain
from tests.houses import House
from tests.operations.asking import code, refusal

TASK = "fix the login page"


def bundle(
    house: House, agent: str | None = "ripley", task: str = TASK, who: str = "mother", **more: Any
) -> Bundle:
    found = getattr(house, who)(context.context, agent=agent, task=task, **more)
    assert found is not None
    return found


def slugs(found: Bundle, *layers: str) -> list[str]:
    return [item.slug for item in found.items if not layers or item.layer in layers]


def lived(house: House) -> None:
    """Something for every layer."""
    house.mother(decisions.write, type="architectural", title="One store", content="State is in PostgreSQL.",
                 slug="store", rationale="Two drift apart.")  # fmt: skip
    house.dallas(
        decisions.write, type="scope", title="No mobile", content="Nothing for phones.", slug="mobile"
    )
    house.dallas(
        decisions.write,
        type="technical",
        title="Login",
        content="The login page is server side.",
        slug="login",
    )
    house.dallas(
        decisions.write, type="process", title="Reviews", content="Two pairs of eyes.", slug="reviews"
    )
    house.mother(
        memories.write, type="core_context", content="You own the importer.", agent="ripley", slug="owner"
    )
    house.ripley(
        memories.write,
        type="learning",
        content="The staging proxy drops bodies.",
        importance="high",
        slug="proxy",
    )
    house.bishop(
        memories.write, type="pattern", content="Restart the login worker.", tag=["cross-team"], slug="worker"
    )
    house.bishop(
        memories.write,
        type="learning",
        content="The login page is slow for me.",
        importance="high",
        slug="mine",
    )
    house.mother(memories.write, type="profile", content="Kim prefers short answers.", slug="kim")
    house.ripley(memories.write, type="episode", content="Wrote the parser.", slug="parser")
    house.ripley(sessions.start, focus="Harden the importer", issue=["#12"], summary="Begun.")


def test_every_layer_holds_what_belongs_there(house: House) -> None:
    lived(house)
    found = bundle(house)
    assert slugs(found, "boundary") == ["store", "mobile"]
    assert slugs(found, "core") == ["owner"]
    assert slugs(found, "lesson") == ["proxy"]
    assert slugs(found, "profile") == ["kim"]
    assert slugs(found, "relevant") == ["login", "worker"]
    assert slugs(found, "episode") == ["parser"]
    assert "Harden the importer" in found.text
    assert "mine" not in slugs(found)
    assert (found.left_out, found.faults) == ((), ())
    without = bundle(house, task="")
    assert slugs(without, "relevant", "episode") == []
    assert found.text.encode()[: found.stable] == without.text.encode()[: without.stable]


def test_what_was_decided_about_a_part_of_the_task_is_told_beside_what_is_about_all_of_it(
    house: House,
) -> None:
    """A memory without a title of its own has all its words in one, and must not drown a decision by that."""
    house.ripley(memories.write, type="episode", content="To fix the login page, clear the redirect loop.",
                 slug="loop")  # fmt: skip
    house.ripley(memories.write, type="update", content="The login page moved to another port.", slug="moved")
    house.dallas(decisions.write, type="technical", title="Cookies", content="The page sets a cookie.",
                 slug="cookies")  # fmt: skip
    house.dallas(decisions.write, type="process", title="Reviews", content="Two people read changes of login.",
                 slug="reviews")  # fmt: skip
    found = bundle(house)
    assert slugs(found, "relevant") == ["loop", "moved", "reviews", "cookies"]
    assert (found.left_out, found.left_out_count) == ((), 0)


def test_what_shares_too_little_with_the_task_is_listed_and_is_no_loss(house: House) -> None:
    house.ripley(memories.write, type="update", title="Login page", content="To fix it, clear the session.",
                 slug="about")  # fmt: skip
    for number in range(10):
        house.ripley(
            memories.write, type="update", content=f"{number} things on one page.", slug=f"weak-{number}"
        )
    found = bundle(house)
    assert slugs(found, "relevant") == ["about"]
    # The nearest few.
    assert {(out.slug, out.layer, out.reason.value) for out in found.left_out} == {
        (f"weak-{number}", Layer.RELEVANT, "weak") for number in range(2, 10)
    }
    assert "left out" not in found.text
    assert house.mother(context.context, agent="ripley", task="things") is None
    house.mother(memories.retire, ref="weak-3", reason="wrong")
    assert bundle(house, as_of=str(found.seq)) == found


def test_a_bundle_comes_back_from_json_byte_for_byte(house: House) -> None:
    lived(house)
    found = bundle(house)
    assert from_plain(Bundle | None, json.loads(json.dumps(to_plain(found)))) == found


def test_where_there_is_nothing_to_say_there_is_no_block(house: House) -> None:
    for more in ({}, {"task": TASK}, {"child": True}, {"inbox": True}, {"agent": "ripley"}):
        assert house.mother(context.context, **more) is None
    house.bishop(memories.write, type="learning", content="The login page is slow.", importance="high")
    assert house.mother(context.context, agent="ripley", task=TASK) is None


# --- whose eyes -----------------------------------------------------------------------------------------------


def test_only_who_may_review_looks_through_the_eyes_of_another(house: House) -> None:
    lived(house)
    own = house.ripley(context.context, task=TASK)
    assert own is not None
    for who in ("mother", "dallas"):
        assert bundle(house, "RIPLEY", who=who).text == own.text
    assert house.ripley(context.context, agent="Ripley", task=TASK).text == own.text  # type: ignore[union-attr]
    for who in ("ripley", "jones"):
        assert code(getattr(house, who), context.context, agent="bishop") == "other_agent"
    assert code(house.ripley, context.diff, before="agent:bishop", after="agent:ripley") == "other_agent"


def test_a_context_holds_nothing_that_the_agent_may_not_see(house: House) -> None:
    lived(house)
    elsewhere = house.as_("Mother", project=house.new_project("Sulaco"))
    elsewhere(decisions.write, type="scope", title="Elsewhere", content="Not here.", slug="elsewhere")
    elsewhere(memories.write, type="project", content="The login page of another project.", slug="other")
    for agent in ("ripley", "bishop", "ash", "nobody"):
        visible = {line.id for line in house.as_(agent)(memories.list_, limit=1000).items}
        assert {item.id for item in bundle(house, agent).items} <= visible
    assert "elsewhere" not in slugs(bundle(house))


def test_memory_of_a_session_counts_while_that_session_is_open(house: House) -> None:
    lived(house)
    house.ripley(
        memories.write, type="update", content="The login page is half done.", scope="session", slug="half"
    )
    assert "half" in slugs(bundle(house), "relevant")
    house.ripley(sessions.start, focus="Something else")
    assert "half" not in slugs(bundle(house))


def test_a_deeper_scope_hides_its_namesake_and_the_bundle_says_so(house: House) -> None:
    house.mother(
        decisions.write, type="scope", title="Everywhere", content="Wide.", slug="limits", scope="global"
    )
    house.mother(
        memories.write,
        type="learning",
        content="The port is 8080, says the team.",
        slug="port",
        importance="high",
    )
    wide = bundle(house)
    assert slugs(wide) == ["limits", "port"]
    assert "everywhere" in wide.text
    house.mother(decisions.write, type="scope", title="Here", content="Narrow.", slug="limits")
    house.ripley(memories.write, type="learning", content="It is 9090 here.", slug="port")
    found = bundle(house)
    assert slugs(found) == ["limits"]
    assert "| Narrow." in found.text
    assert "Wide" not in found.text
    assert {(out.slug, out.reason) for out in found.left_out} == {
        ("limits", "shadowed"),
        ("port", "shadowed"),
    }
    assert slugs(bundle(house, "bishop")) == ["limits", "port"]


# --- as of ----------------------------------------------------------------------------------------------------


def last(house: House) -> int:
    return house.rows("SELECT max(seq) AS seq FROM events")[0]["seq"]


def test_every_past_moment_comes_out_as_it_did_then(house: House) -> None:
    """Through edits, retirements, restores, rescopes, tags, supersessions, reverts and sessions."""
    lived(house)
    acts: list[tuple[str, Any, dict[str, Any]]] = [
        ("ripley", memories.edit, {"ref": "proxy", "content": "The login proxy is another one now."}),
        ("mother", decisions.write, {"type": "scope", "title": "Phones", "content": "Phones it is.", "supersedes": "mobile"}),
        ("mother", memories.retire, {"ref": "worker", "reason": "gone"}),
        ("ripley", sessions.update, {"append": "Parser done.", "issue": ["#12", "#14"]}),
        ("mother", memories.restore, {"ref": "worker", "reason": "back"}),
        ("bishop", memories.untag, {"ref": "worker", "tags": ["cross-team"]}),
        ("mother", memories.rescope, {"ref": "mine", "scope": "project"}),
        ("mother", memories.edit, {"ref": "kim", "content": "Kim prefers long answers about the login page."}),
        ("ripley", sessions.close, {"append": "Done."}),
        ("mother", memories.archive, {"ref": "owner", "reason": "moved"}),
        ("ripley", sessions.start, {"focus": "The next thing"}),
        ("mother", memories.rescope, {"ref": "store", "scope": "global"}),
        ("ripley", memories.write, {"type": "learning", "content": "A login token lasts an hour.", "importance": "high"}),
    ]  # fmt: skip
    seen: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}

    def both() -> tuple[dict[str, Any], dict[str, Any]]:
        return (to_plain(bundle(house)), to_plain(bundle(house, "bishop", "the worker restarts")))

    for who, act, arguments in acts:
        seen[last(house)] = both()
        getattr(house, who)(act, **arguments)
    seen[last(house)] = both()
    assert len({one["hash"] for one, _ in seen.values()}) > 8
    house.restart()
    for seq, (one, two) in seen.items():
        assert to_plain(bundle(house, as_of=str(seq))) == one
        assert to_plain(bundle(house, "bishop", "the worker restarts", as_of=str(seq))) == two


def test_a_moment_is_a_number_of_the_log_or_a_time(house: House) -> None:
    house.mother(decisions.write, type="scope", title="One", content="One.", slug="one")
    house.clock.advance(days=2)
    house.mother(decisions.write, type="scope", title="Two", content="Two.", slug="two")
    assert slugs(bundle(house, as_of="1d")) == ["one"]
    assert slugs(bundle(house, as_of="2026-01-02")) == ["one"]
    assert house.mother(context.context, as_of="2025-01-01") is None
    assert house.mother(context.context, as_of="0") is None
    assert slugs(bundle(house, as_of=str(last(house)))) == ["one", "two"]
    for moment in ("x", "-1", "1.5", str(last(house) + 1)):
        assert code(house.mother, context.context, as_of=moment) == "invalid_input"


def test_what_was_erased_does_not_come_back_and_is_said_to_be_missing(house: House) -> None:
    lived(house)
    then = str(last(house))
    for ref in ("store", "proxy"):
        house.mother(memories.erase, ref=ref, reason="personal")
    found = bundle(house, as_of=then)
    assert "PostgreSQL" not in found.text
    assert "staging proxy" not in found.text
    assert [(out.layer, out.reason) for out in found.left_out] == [
        ("boundary", "erased"),
        ("lesson", "erased"),
    ]
    assert slugs(found, "boundary") == ["mobile"]
    assert bundle(house).left_out == ()


def test_a_session_from_before_sessions_were_kept_is_a_fault_and_no_guess(house: House) -> None:
    lived(house)
    then = str(last(house))
    house.ripley(sessions.update, append="More.")
    house.service.database.write(house.project, lambda tx: tx.run("DELETE FROM session_revisions"))
    found = bundle(house, as_of=then)
    assert [(fault.layer, fault.code) for fault in found.faults] == [("session", "not_found")]
    assert "missing: session" in found.text
    assert slugs(found, "boundary") == ["store", "mobile"]


# --- faults ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("slug", "layer"),
    [
        ("owner", "core"),
        ("proxy", "lesson"),
        ("kim", "profile"),
        ("login", "relevant"),
        ("parser", "episode"),
    ],
)
def test_a_row_that_cannot_be_read_costs_its_layer_and_never_the_boundaries(
    house: House, slug: str, layer: str
) -> None:
    lived(house)
    whole = bundle(house)
    house.service.database.write(
        house.project, lambda tx: tx.run("UPDATE memories SET evidence = '[[' WHERE slug = :slug", slug=slug)
    )
    found = bundle(house)
    assert {fault.layer.value for fault in found.faults} == {layer}
    assert found.faults[0].code == "ledger_damaged"
    assert slugs(found, "boundary") == ["store", "mobile"]
    assert set(slugs(whole)) - set(slugs(found)) <= {slug, "login", "worker"}
    assert f"missing: {layer}" in found.text


def test_a_lost_index_costs_the_layers_that_need_it_and_reindexing_brings_them_back(house: House) -> None:
    from minutebook.operations import system

    lived(house)
    whole = bundle(house)
    house.service.database.write("global", lambda tx: tx.run("DELETE FROM shelves"))
    assert slugs(bundle(house)) == ["store", "mobile"]
    house.mother(system.reindex)
    assert bundle(house).hash == whole.hash


def test_a_boundary_that_cannot_be_read_is_an_error_and_never_left_out(house: House) -> None:
    lived(house)
    house.service.database.write(
        house.project, lambda tx: tx.run("UPDATE memories SET tags = '[[' WHERE slug = 'mobile'")
    )
    with pytest.raises(ValueError, match=r"JSON|Expecting"):
        house.mother(context.context)


def test_a_row_that_nobody_with_authority_let_in_governs_nobody(house: House) -> None:
    lived(house)
    house.service.database.write(
        house.project, lambda tx: tx.run("UPDATE memories SET decided_role = 'agent' WHERE slug = 'mobile'")
    )
    found = bundle(house)
    assert slugs(found, "boundary") == ["store"]
    assert [(out.slug, out.reason) for out in found.left_out] == [("mobile", "no_authority")]
    assert "phones" not in found.text


# --- the inbox ------------------------------------------------------------------------------------------------


def test_who_may_review_is_told_what_waits_if_they_ask(house: House) -> None:
    lived(house)
    assert "wait" not in bundle(house, inbox=True).text
    house.ripley(inbox.submit, type="scope", title="Tablets", content="Tablets too.")
    house.bishop(inbox.submit, type="process", title="Mondays", content="No releases on Mondays.")
    line = "> 2 proposals wait for a review, 1 of them a boundary: `minutebook inbox list`.\n"
    assert bundle(house, inbox=True).text.endswith(line)
    assert bundle(house, inbox=True, who="dallas").text.endswith(line)
    assert bundle(house).text + "\n" + line == bundle(house, inbox=True).text
    assert "wait for" not in house.ripley(context.context, inbox=True).text  # type: ignore[union-attr]
    then = str(last(house))
    house.dallas(inbox.reject, ref="mondays", reason="no")
    past = bundle(house, inbox=True, as_of=then)
    assert [fault.layer for fault in past.faults] == [Layer.INBOX]


# --- differences ------------------------------------------------------------------------------------------------


def test_two_agents_and_two_moments_can_be_compared(house: House) -> None:
    lived(house)
    then = last(house)
    house.ripley(memories.edit, ref="proxy", title="Proxy", content="The staging proxy drops nothing.")
    house.mother(memories.retire, ref="owner", reason="moved")
    by_time = house.mother(
        context.diff, before=f"@{then}", after=f"@{last(house)}", agent="ripley", task=TASK
    )
    assert [item.slug for item in by_time.only_before] == ["owner"]
    assert by_time.only_after == ()
    assert [(item.slug, item.before[:10], item.after[:10]) for item in by_time.changed] == [
        ("proxy", "revision 1", "revision 2")
    ]
    assert "-| The staging proxy drops bodies." in by_time.diff
    assert "+| The staging proxy drops nothing." in by_time.diff
    by_agent = house.mother(context.diff, before="agent:ripley", after="agent:bishop", task=TASK)
    assert "proxy" in {item.slug for item in by_agent.only_before}
    assert "mine" in {item.slug for item in by_agent.only_after}
    mixed = house.mother(context.diff, before=f"agent:ripley@{then}", after="agent:Ripley@1s", task=TASK)
    assert not mixed.same
    assert house.mother(context.diff, before="@1s", after="@1s").same
    assert refusal(house.mother, context.diff, before="ripley", after="@1").code == "invalid_input"


# --- limits -------------------------------------------------------------------------------------------------------


def test_a_huge_task_and_a_huge_memory_are_compiled_all_the_same(house: House) -> None:
    house.mother(memories.write, type="project", content="login " + "word " * 12_000, slug="huge")
    house.mother(memories.write, type="project", content="The login page has a form.", slug="form")
    found = bundle(house, task="login page " + "thing " * 2_600)
    assert slugs(found, "relevant") == ["form"]
    assert [(out.slug, out.reason) for out in found.left_out] == [("huge", "no_room")]
    assert code(house.mother, context.context, task="x" * 16_001) == "too_large"
    house.mother(decisions.write, type="scope", title="One", content="One.")
    for task in ("'; DROP TABLE shelves; --", '"', "NEAR(a b)", "a AND OR", "🚀", "\u202e", "%", ":w0 $1"):
        assert bundle(house, task=task).faults == ()


def test_common_words_reach_the_newest_and_rare_ones_everything(house: House) -> None:
    house.mother(memories.write, type="project", content="The zeppelin has a page of its own.", slug="rare")
    house.mother(
        decisions.write, type="process", title="Page numbers", content="They begin at one.", slug="numbers"
    )
    for number in range(108):
        said = f"Row {number} is on a page." if number % 2 else f"A number, and that is {number}."
        house.mother(memories.write, type="project", content=said, slug=f"p{number}")
    assert slugs(bundle(house, task="zeppelin"), "relevant") == ["rare"]
    assert house.mother(context.context, task="a page") is None  # a word that everything holds says nothing
    assert slugs(bundle(house, task="page zeppelin"), "relevant")[0] == "rare"
    # Behind fifty that hold one of its words each, what has them all in its title is found.
    assert slugs(bundle(house, task="a page number"), "relevant") == ["numbers"]
