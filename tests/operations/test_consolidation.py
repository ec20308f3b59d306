"""Consolidation: what is noticed, that nothing changes by itself, and what taking or leaving a suggestion does."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from minutebook.model.consolidation import Batch, SuggestionView
from minutebook.operations import (
    audit,
    consolidation,
    context,
    decisions,
    inbox,
    memories,
    runs,
    search,
    verdicts,
)
from tests.conftest import Clock
from tests.houses import House
from tests.operations.asking import code

PORT = "The beacon of the lower deck listens on port {} when the ship is docked."
SAME = "The staging proxy of the shop drops every upload that is larger than the limit."


def of_kind(batch: Batch, kind: str) -> list[SuggestionView]:
    return [each for each in batch.suggestions if each.kind == kind]


def only(batch: Batch, kind: str) -> SuggestionView:
    [found] = of_kind(batch, kind)
    return found


def run(house: House) -> Batch:
    return house.dallas(consolidation.run)


def standing(house: House) -> dict[str, str]:
    return {line.slug: line.status for line in house.mother(memories.list_, status="all", limit=200).items}


# --- what is noticed ---------------------------------------------------------------------------------------------


def test_near_duplicates_are_merged_with_what_each_rests_on_and_that_can_be_undone(house: House) -> None:
    house.dallas(memories.write, type="project", slug="one", title="Proxy", content=SAME, tag=["infra"], evidence=["url:https://example.org/a"])  # fmt: skip
    house.dallas(memories.write, type="project", slug="two", title="Proxy", content=f"{SAME} Always.", tag=["proxy"], evidence=["url:https://example.org/b"])  # fmt: skip
    before = house.mother(memories.show, ref="one")
    batch = run(house)
    suggested = only(batch, "near_duplicate")
    assert suggested.about == ("two", "one")
    assert suggested.sentence.startswith("'two' and 'one' say nearly the same")
    assert "-status: active" in suggested.diff
    assert house.mother(memories.show, ref="one") == before, "nothing changed by itself"
    taken = house.dallas(consolidation.take, id=suggested.id)
    kept = house.mother(memories.show, ref="two")
    assert set(kept.memory.tags) == {"infra", "proxy"}
    assert {piece.ref for piece in kept.memory.evidence} == {"https://example.org/a", "https://example.org/b"}
    assert kept.supersedes == (before.memory.id,)
    assert standing(house) == {"one": "superseded", "two": "active"}
    house.dallas(verdicts.revert, id=taken.verdict, reason="they are not the same")
    assert standing(house) == {"one": "active", "two": "active"}
    assert house.mother(memories.show, ref="two").memory.tags == ("proxy",)
    assert house.mother(memories.show, ref="two").supersedes == ()


def test_what_two_agents_keep_for_themselves_may_become_the_projects(house: House) -> None:
    for who in ("Ripley", "Bishop"):
        house.as_(who)(memories.write, type="learning", slug="proxy", title="Proxy", content=SAME)
    suggested = only(run(house), "shared")
    assert suggested.act == "share"
    house.dallas(consolidation.take, id=suggested.id)
    found = house.ash(memories.show, ref="proxy")
    assert (found.memory.scope.kind, found.memory.status) == ("project", "active")
    assert sum(line.status == "active" for line in house.mother(memories.list_, status="all").items) == 1


def test_an_agent_is_not_shown_what_is_about_the_memory_of_another(house: House) -> None:
    for who in ("Ripley", "Bishop"):
        house.as_(who)(memories.write, type="learning", slug="proxy", title="Proxy", content=SAME)
    assert len(run(house).suggestions) == 1
    shown = house.ash(consolidation.show)
    assert (shown.suggestions, shown.more) == ((), 1)
    assert "proxy" not in str(shown)


@pytest.mark.parametrize(
    ("one", "other", "rule"),
    [
        (PORT.format(8080), PORT.format(9090), "another value"),
        (
            "Deploy the shop from the main branch on every Friday afternoon.",
            "Never deploy the shop from the main branch on every Friday afternoon.",
            "a negation",
        ),
    ],
)
def test_two_that_disagree_are_linked_and_both_stand(house: House, one: str, other: str, rule: str) -> None:
    house.dallas(memories.write, type="project", slug="one", title="One", content=one)
    house.dallas(memories.write, type="project", slug="other", title="Other", content=other)
    suggested = only(run(house), "contradiction")
    assert rule in suggested.sentence
    house.dallas(consolidation.take, id=suggested.id)
    assert {house.mother(memories.show, ref=slug).standing for slug in ("one", "other")} == {"contradicted"}
    assert run(house).suggestions == (), "what is known to disagree is not suggested again"


def test_of_two_that_disagree_a_reviewer_may_say_which_holds(house: House) -> None:
    house.dallas(memories.write, type="project", slug="one", title="One", content=PORT.format(8080))
    house.dallas(memories.write, type="project", slug="other", title="Other", content=PORT.format(9090))
    suggested = only(run(house), "contradiction")
    house.dallas(consolidation.take, id=suggested.id, keep="one", reason="measured")
    assert standing(house) == {"one": "active", "other": "superseded"}


def test_two_values_of_one_entity_and_attribute_disagree_however_they_are_worded(house: House) -> None:
    house.ripley(memories.write, type="learning", slug="a", title="A", content="It is Debian.", entity="ci", attribute="os")  # fmt: skip
    house.dallas(memories.write, type="project", slug="b", title="B", content="We moved everything to Alpine.", entity="ci", attribute="os")  # fmt: skip
    suggested = only(run(house), "contradiction")
    assert set(suggested.about) == {"a", "b"}


def test_what_is_past_its_time_is_archived_and_disagrees_with_nothing(house: House) -> None:
    house.dallas(memories.write, type="project", slug="old", title="Old", content=f"{PORT.format(8080)} This holds until 2025-06-30.")  # fmt: skip
    house.dallas(memories.write, type="project", slug="new", title="New", content=PORT.format(9090))
    batch = run(house)
    assert of_kind(batch, "contradiction") == []
    suggested = only(batch, "outdated")
    assert suggested.about == ("old",)
    house.dallas(consolidation.take, id=suggested.id)
    assert standing(house) == {"old": "archived", "new": "active"}


def test_what_nobody_was_shown_for_long_is_called_unused_and_what_was_shown_is_not(
    house: House, clock: Clock
) -> None:
    house.ripley(memories.write, type="learning", slug="shown", title="Login", content="The login page needs a token.")  # fmt: skip
    house.ripley(memories.write, type="learning", slug="unseen", title="Cellar", content="Wine is kept cool.")
    house.ripley(memories.write, type="learning", slug="vital", title="Air", content="Mind the air.", importance="high")  # fmt: skip
    clock.advance(days=100)
    house.ripley(runs.start, task="fix the login page token")
    assert only(run(house), "unused").about == ("unseen",)


def test_a_long_text_that_repeats_itself_is_shortened_to_what_it_says(house: House) -> None:
    line = "A long line that says something about the reactor of the ship, and says it well."
    text = "\n".join([f"Part {number} is about part {number}." for number in range(40)] + [line] * 60)
    house.dallas(memories.write, type="artifact", slug="long", title="Long", content=text)
    suggested = only(run(house), "overlong")
    house.dallas(consolidation.take, id=suggested.id)
    short = house.mother(memories.show, ref="long").memory.content
    assert short.count(line) == 1
    assert "Part 39" in short
    assert len(house.mother(memories.history, ref="long").items) == 2


def test_what_rests_on_what_is_gone_is_found_in_the_workspace(house: House, tmp_path: Path) -> None:
    from minutebook.files import workspace
    from minutebook.files.evidence import Workspaces

    root = tmp_path / "ship"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_text("one\n")
    workspace.create(root, project=house.project, name="Nostromo", created_at="2026-01-01T00:00:00Z")
    house.service.world = replace(house.service.world, witness=Workspaces())
    dallas = house.dallas
    dallas.workspace = root
    dallas(memories.write, type="project", slug="rests", title="A", content="A is one.", evidence=["file:src/a.py"])  # fmt: skip
    assert dallas(consolidation.run).suggestions == ()
    (root / "src" / "a.py").unlink()
    [suggested] = dallas(consolidation.run).suggestions
    assert (suggested.kind, suggested.about) == ("stale_evidence", ("rests",))
    assert "missing" in suggested.sentence


def test_texts_of_different_things_are_not_called_the_same(house: House) -> None:
    for slug, text in {
        "a": "The parser reads one line at a time and keeps nothing in memory.",
        "b": "The renderer writes every page twice to warm the cache of the proxy.",
        "c": "Kim wants short answers.",
    }.items():
        house.dallas(memories.write, type="project", slug=slug, title=slug, content=text)
    house.dallas(decisions.write, type="scope", slug="d", title="d", content="The parser reads one line at a time and keeps nothing in memory.")  # fmt: skip
    assert run(house).suggestions == (), "and what informs is not merged with what governs"


# --- a batch -----------------------------------------------------------------------------------------------------


def _two(house: House) -> None:
    house.dallas(memories.write, type="project", slug="one", title="One", content=PORT.format(8080))
    house.dallas(memories.write, type="project", slug="other", title="Other", content=PORT.format(9090))


def test_what_was_left_is_not_suggested_again_until_something_changes(house: House) -> None:
    _two(house)
    house.dallas(consolidation.leave, id=only(run(house), "contradiction").id)
    assert run(house).suggestions == ()
    house.restart()
    assert run(house).suggestions == ()
    house.dallas(memories.edit, ref="one", content=PORT.format(8081))
    assert len(run(house).suggestions) == 1


def test_what_waits_is_in_the_newest_batch_alone_and_what_is_not_so_any_more_is_gone(house: House) -> None:
    _two(house)
    first = run(house)
    second = run(house)
    assert [each.id for each in first.suggestions] == [each.id for each in second.suggestions]
    assert house.dallas(consolidation.show, id=first.run.id).suggestions == ()
    house.dallas(memories.retire, ref="one", reason="gone")
    third = run(house)
    assert third.suggestions == ()
    gone = house.dallas(consolidation.show, id=second.run.id, every=True)
    assert [each.state for each in gone.suggestions] == ["gone"]


def test_a_suggestion_about_what_has_changed_is_refused_and_changes_nothing(house: House) -> None:
    _two(house)
    suggested = only(run(house), "contradiction")
    house.dallas(memories.edit, ref="one", content=PORT.format(8082))
    assert code(lambda: house.dallas(consolidation.take, id=suggested.id)) == "stale_base"
    assert house.mother(memories.show, ref="one").standing == "active"


def test_a_suggestion_is_decided_once_and_only_by_who_may(house: House) -> None:
    _two(house)
    suggested = only(run(house), "contradiction")
    for who in (house.ripley, house.jones):
        assert code(lambda who=who: who(consolidation.take, id=suggested.id)) == "not_allowed"
        assert code(lambda who=who: who(consolidation.run)) == "not_allowed"
    house.dallas(consolidation.take, id=suggested.id)
    for act in (consolidation.take, consolidation.leave):
        assert code(lambda act=act: house.dallas(act, id=suggested.id)) == "already_decided"
    other = house.as_("Dallas", project=house.new_project("Sulaco"))
    assert code(lambda: other(consolidation.take, id=suggested.id)) == "not_found"
    assert other(consolidation.run).suggestions == ()


def test_a_batch_holds_so_many_and_says_how_many_more_there_were(house: House) -> None:
    house.limits = replace(house.limits, consolidation_suggestions=2)
    house.restart()
    for number in range(4):
        house.dallas(memories.write, type="project", slug=f"p{number}", title=f"P{number}", content=PORT.format(8000 + number))  # fmt: skip
    batch = run(house)
    assert (len(batch.suggestions), batch.run.beyond) == (2, 4)
    assert "4 more were noticed" in batch.sentence


def test_the_inbox_says_that_suggestions_wait_and_no_prompt_holds_them(house: House) -> None:
    _two(house)
    plain = house.ripley(context.context, task="port of the beacon")
    run(house)
    told = house.dallas(inbox.digest)
    assert told.suggestions == 1
    assert "One suggestion of a consolidation waits" in told.sentence
    after = house.ripley(context.context, task="port of the beacon")
    assert plain is not None
    assert after is not None
    assert after.text == plain.text
    assert {hit.kind for hit in house.ripley(search.search, query="beacon port").hits} == {"memory"}


def test_a_well_founded_proposal_is_suggested_by_a_rule_that_is_data(house: House) -> None:
    house.limits = replace(house.limits, promotion_rules="learning: confidence>=0.8 evidence>=1")
    house.restart()
    for slug, sure in (("sure", 0.9), ("unsure", 0.5)):
        house.ripley(inbox.submit, type="learning", slug=slug, title=slug, content=f"This is what is {slug}.", confidence=sure, evidence=["url:https://example.org"])  # fmt: skip
    house.ripley(inbox.submit, type="scope", slug="boundary", title="B", content="All of it binds.", confidence=1.0, evidence=["url:https://example.org"])  # fmt: skip
    suggested = only(run(house), "grounded")
    assert suggested.about == ("sure",)
    house.dallas(consolidation.take, id=suggested.id)
    assert house.dallas(inbox.show, ref="sure").proposal.status == "merged"


def test_only_one_look_is_had_at_a_time_and_one_whose_process_is_gone_holds_nothing(house: House) -> None:
    _two(house)
    house.service.database.write(
        house.project,
        lambda tx: tx.run(
            """INSERT INTO consolidations (id, project_id, state, cause, started_by, started_at, worker, lease_until,
                                           seq, looked, counts, beyond)
               VALUES ('01ARZ3NDEKTSV4RRFFQ69G5FAV', :project, 'running', 'asked', 'kane', '2026-01-01', '77777',
                       '9999-01-01', 0, 0, '{}', 0)""",
            project=house.project,
        ),
    )
    status = house.jones(consolidation.status)
    assert [gate.name for gate in status.gates if not gate.open] == ["runs", "signals", "lock"]
    held = "UPDATE consolidations SET lease_until = '2000-01-01', worker = '77777'"
    if house.service.database.lanes:
        assert code(lambda: house.dallas(consolidation.run)) == "exists"
        house.service.database.write(house.project, lambda tx: tx.run(held))
    assert len(run(house).suggestions) == 1
    states = [each.state for each in house.jones(consolidation.list_).items]
    assert states == ["done", "abandoned"]
    assert code(lambda: house.dallas(consolidation.retry, id=house.jones(consolidation.list_).items[0].id)) == "bad_transition"  # fmt: skip
    assert len(house.dallas(consolidation.retry, id="01ARZ3NDEKTSV4RRFFQ69G5FAV").suggestions) == 1


def test_the_gates_say_what_they_have_and_what_they_need(house: House, clock: Clock) -> None:
    status = house.jones(consolidation.status)
    assert (status.enabled, status.last, status.next_look) == (False, None, None)
    assert status.sentence == "It does not begin on its own: no service runs here."
    for number in range(5):
        house.ripley(
            memories.write, type="learning", slug=f"m{number}", content=f"Something of number {number}."
        )
    for _ in range(3):
        started = house.ripley(runs.start)
        house.ripley(runs.finish, ref=started.run.id)
    assert [gate.open for gate in house.jones(consolidation.status).gates] == [True, True, True, True]
    run(house)
    clock.advance(hours=1)
    gates = {gate.name: gate for gate in house.jones(consolidation.status).gates}
    assert (gates["hours"].open, gates["hours"].have, gates["hours"].need) == (False, 1.0, 24.0)
    assert (gates["runs"].open, gates["runs"].have) == (False, 0)


# --- the audit ---------------------------------------------------------------------------------------------------


def test_an_audit_counts_what_is_wrong_and_says_what_to_do(house: House, clock: Clock) -> None:
    _two(house)
    house.dallas(decisions.write, type="scope", slug="bound", title="Bound", content="Linux only.")
    house.ripley(inbox.submit, type="scope", slug="waits", title="Waits", content="Also on BSD.")
    clock.advance(days=8)
    report = house.mother(audit.audit)
    counts = {check.check: check.count for check in report.checks if check.count}
    assert counts == {
        "contradictions": 1, "never used": 2, "boundaries without evidence": 1, "inbox age": 1,
    }  # fmt: skip
    assert report.standing == report.looked == 3
    assert "contradictions (1)" in report.sentence
    [month] = report.months
    assert (month.month, month.added, month.standing) == ("2026-01", 3, 3)
    page = house.mother(audit.page).text
    assert page.startswith("# Audit of nostromo\n")
    assert "| contradictions | 1 | high |" in page
    assert "+ written" in page
    drawn = b64decode(page.split("data:image/svg+xml;base64,")[1].split('"')[0]).decode()
    assert ElementTree.fromstring(drawn).tag.endswith("svg")
    assert code(lambda: house.ripley(audit.audit)) == "not_allowed"
    house.dallas(consolidation.leave, id=only(run(house), "contradiction").id)
    left = {check.check: check.count for check in house.mother(audit.audit).checks}
    assert left["contradictions"] == 0, "what was left as it is needs nobody's attention"


def test_an_audit_of_nothing_is_at_ease(house: House) -> None:
    report = house.mother(audit.audit)
    assert report.sentence == "Nothing needs attention."
    assert house.mother(audit.page).text.count("\n| ") == len(report.checks) + 1


def test_an_audit_names_a_secret_by_its_memory_and_never_by_its_value(house: House) -> None:
    house.dallas(memories.write, type="project", slug="key", title="Key", content="The key is elsewhere.")
    value = "AKIA" + "IOSFODNN7EXAMPL3"
    house.service.database.write(
        house.project,
        lambda tx: tx.run(
            "UPDATE memories SET content = :text WHERE slug = 'key'", text=f"aws_key = {value}"
        ),
    )
    report = house.mother(audit.audit)
    [found] = [check for check in report.checks if check.check == "secrets"]
    assert (found.count, found.examples, found.weight) == (1, ("key",), "high")
    assert value not in str(report)
