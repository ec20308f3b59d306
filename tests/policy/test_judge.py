"""The judge's nine rules, one by one and in their order. Pure: values in, a judgement out."""

from __future__ import annotations

from typing import Any

import pytest

from minutebook.model.actors import Actor, Origin
from minutebook.model.inbox import Would
from minutebook.model.memories import Importance, Type
from minutebook.model.scopes import Scope, Tier
from minutebook.model.tombstones import Cause
from minutebook.model.verdicts import Op
from minutebook.policy.limits import Limits
from minutebook.policy.screening import Family
from minutebook.policy.screening import Tier as Severity
from tests.policy.judging import (
    DALLAS,
    LONG,
    MOTHER,
    PROJECT,
    RIPLEY,
    candidate,
    finding,
    judged,
    memory,
    proposal,
    rules,
    tombstone,
)

ARCH = Type.ARCHITECTURAL
FLAG = finding("claims_approval", Severity.FLAG, Family.AUTHORITY)
SECRET = finding()
HIDDEN = finding("bidi_control", Severity.REFUSE, Family.HIDDEN)


def test_what_nothing_stands_against_is_added() -> None:
    judgement = judged(candidate())
    assert (judgement.op, rules(judgement), judgement.reason) == (Op.ADD, ["fresh"], "Added.")
    assert judgement.target is None


# --- 1: shape ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"title": "x" * 301}, "title"),
        ({"content": "x" * 65_537}, "content"),
        ({"content": "é" * 32_769}, "content"),  # bytes count, not characters
        ({"rationale": "x" * 16_385}, "rationale"),
        ({"summary": "x" * 16_385}, "summary"),
        ({"entity": "x" * 121, "attribute": "y"}, "entity"),
        ({"entity": "x", "attribute": "y" * 121}, "attribute"),
        ({"tags": tuple(map(str, range(21)))}, "tags"),
        ({"evidence": tuple(range(51))}, "evidence"),
    ],
)
def test_rule_1_refuses_what_is_over_a_limit_and_names_it(changes: dict[str, Any], named: str) -> None:
    judgement = judged(candidate(**changes), MOTHER)
    assert (judgement.op, judgement.code, rules(judgement)) == (Op.REFUSE, "too_large", ["shape.size"])
    assert judgement.reason.startswith(f"The {named} has ")


@pytest.mark.parametrize(
    "changes",
    [{"title": "x" * 300}, {"content": "x" * 65_536}, {"tags": tuple(map(str, range(20)))}],
)
def test_rule_1_lets_pass_what_just_fits(changes: dict[str, Any]) -> None:
    assert judged(candidate(**changes)).op is Op.ADD


def test_rule_1_refuses_an_actor_over_its_rate() -> None:
    judgement = judged(candidate(), over_rate=True)
    assert (judgement.op, judgement.code, rules(judgement)) == (Op.REFUSE, "rate_limited", ["shape.rate"])


# --- 2: screening ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("actor", [RIPLEY, DALLAS, MOTHER])
@pytest.mark.parametrize(("found", "code"), [(SECRET, "secret"), (HIDDEN, "unsafe_text")])
def test_rule_2_refuses_for_everyone_with_the_rules_name_and_never_the_words(
    actor: Actor, found: Any, code: str
) -> None:
    judgement = judged(candidate(), actor, findings=(FLAG, found))
    assert (judgement.op, judgement.code, rules(judgement)) == (Op.REFUSE, code, [f"screening.{found.rule}"])
    assert found.rule in judgement.reason
    assert LONG not in repr(judgement)


@pytest.mark.parametrize(
    ("actor", "origin", "op", "outcome"),
    [
        (RIPLEY, Origin.PYTHON, Op.HOLD, "hold"),
        (DALLAS, Origin.PYTHON, Op.HOLD, "hold"),
        (MOTHER, Origin.PYTHON, Op.ADD, "flag"),
        (MOTHER, Origin.FILE, Op.HOLD, "hold"),
        (MOTHER, Origin.IMPORT, Op.HOLD, "hold"),
        (MOTHER, Origin.EXTRACTION, Op.HOLD, "hold"),
    ],
)
def test_rule_2_holds_what_is_flagged_unless_an_operator_says_it_in_person(
    actor: Actor, origin: Origin, op: Op, outcome: str
) -> None:
    judgement = judged(candidate(), actor, origin, (FLAG,))
    assert judgement.op is op
    assert [hit.outcome for hit in judgement.trace if hit.rule == "screening.claims_approval"] == [outcome]
    assert judgement.would.flags == ("claims_approval",)


# --- 3: tombstones -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("actor", "origin", "cause", "op"),
    [
        (RIPLEY, Origin.PYTHON, Cause.REJECTED, Op.REFUSE),
        (RIPLEY, Origin.PYTHON, Cause.RETIRED, Op.REFUSE),
        (RIPLEY, Origin.PYTHON, Cause.ERASED, Op.REFUSE),
        (DALLAS, Origin.PYTHON, Cause.REJECTED, Op.ADD),
        (MOTHER, Origin.PYTHON, Cause.RETIRED, Op.ADD),
        (MOTHER, Origin.PYTHON, Cause.ERASED, Op.REFUSE),
        (MOTHER, Origin.IMPORT, Cause.REJECTED, Op.REFUSE),
        (DALLAS, Origin.FILE, Cause.RETIRED, Op.REFUSE),
    ],
)
def test_rule_3_a_buried_claim_comes_back_only_by_a_reviewers_act_and_an_erased_one_not_even_so(
    actor: Actor, origin: Origin, cause: Cause, op: Op
) -> None:
    judgement = judged(candidate(), actor, origin, tombstone=tombstone(cause))
    assert judgement.op is op
    assert rules(judgement)[0] == "tombstone"
    assert judgement.trace[0].target == "T1"
    if op is Op.REFUSE:
        assert judgement.code == "tombstoned"
        assert "dallas" in judgement.reason
        assert "2026-01-01" in judgement.reason
        assert ("we tried it" in judgement.reason) is (cause is not Cause.ERASED)
    else:
        assert judgement.lifts == tombstone(cause)


def test_rule_3_a_claim_that_stands_is_not_buried_by_the_grave_of_its_copy() -> None:
    same = memory(content=LONG)
    assert judged(candidate(slug_given=False), tombstone=tombstone(), exact=(same,)).op is Op.SKIP
    assert judged(candidate(), tombstone=tombstone(Cause.ERASED), exact=(same,)).op is Op.REFUSE


# --- 4: exact duplicate ------------------------------------------------------------------------------------


def test_rule_4_skips_what_is_known_and_names_it() -> None:
    known = memory(content=LONG)
    judgement = judged(candidate(slug="another-name"), exact=(known,))
    assert (judgement.op, judgement.target, rules(judgement)) == (Op.SKIP, known, ["exact_duplicate"])
    assert known.slug in judgement.reason


@pytest.mark.parametrize(
    ("changes", "op"),
    [
        ({}, Op.SKIP),
        ({"importance": Importance.MEDIUM}, Op.SKIP),
        ({"importance": Importance.HIGH}, Op.UPDATE),
        ({"tags": ("cross-team",)}, Op.UPDATE),
        ({"title": "Another title"}, Op.UPDATE),
        ({"rationale": "because"}, Op.UPDATE),
        ({"confidence": 0.5}, Op.UPDATE),
    ],
)
def test_rule_4_the_same_words_under_the_same_name_are_written_only_if_something_changes(
    changes: dict[str, Any], op: Op
) -> None:
    known = memory(content=LONG, title="Proxy", slug="proxy")
    assert judged(candidate(**changes), identity=known, exact=(known,)).op is op


def test_rule_4_a_memory_that_informs_does_not_make_a_decision_a_duplicate() -> None:
    known = memory(content=LONG, type=Type.LEARNING)
    assert judged(candidate(type=ARCH), MOTHER, exact=(known,)).op is Op.ADD


def test_rule_4_skips_what_the_same_agent_proposed_already() -> None:
    waiting = proposal(type=ARCH)
    asked = candidate(type=ARCH, slug_given=False)
    judgement = judged(asked, proposed=waiting)
    assert (judgement.op, judgement.proposal, rules(judgement)) == (Op.SKIP, waiting, ["exact_duplicate"])
    assert judged(candidate(type=ARCH), proposed=waiting).op is Op.HOLD  # a name of its own
    assert judged(asked, DALLAS, proposed=waiting).op is Op.ADD  # who decides does not wait


# --- 5: authority ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("type", [Type.ARCHITECTURAL, Type.SCOPE, Type.PROCESS, Type.TECHNICAL])
@pytest.mark.parametrize(
    ("actor", "origin", "op"),
    [
        (RIPLEY, Origin.PYTHON, Op.HOLD),
        (RIPLEY, Origin.FILE, Op.HOLD),
        (DALLAS, Origin.PYTHON, Op.ADD),
        (MOTHER, Origin.CLI, Op.ADD),
        (DALLAS, Origin.FILE, Op.HOLD),
        (MOTHER, Origin.IMPORT, Op.HOLD),
        (MOTHER, Origin.EXTRACTION, Op.HOLD),
        (MOTHER, Origin.CONSOLIDATION, Op.HOLD),
    ],
)
def test_rule_5_what_governs_is_held_from_whoever_may_not_decide(
    type: Type, actor: Actor, origin: Origin, op: Op
) -> None:
    judgement = judged(candidate(type=type), actor, origin)
    assert judgement.op is op
    assert ("authority.governing" in rules(judgement)) is (op is Op.HOLD)


@pytest.mark.parametrize(("actor", "op"), [(RIPLEY, Op.HOLD), (DALLAS, Op.HOLD), (MOTHER, Op.ADD)])
def test_rule_5_a_fact_about_a_person_needs_that_persons_word(actor: Actor, op: Op) -> None:
    asked = candidate(type=Type.PROFILE, scope=Scope.everywhere())
    assert judged(asked, actor).op is op


@pytest.mark.parametrize("scope", [Scope.everywhere(), Scope.of_agent(PROJECT, "ripley", Tier.GLOBAL)])
def test_rule_5_an_agent_does_not_reach_every_project_by_itself(scope: Scope) -> None:
    held = judged(candidate(type=Type.FEEDBACK, scope=scope))
    assert (held.op, rules(held)) == (Op.HOLD, ["authority.reach"])
    assert judged(candidate(type=Type.FEEDBACK, scope=scope), DALLAS).op is Op.ADD


def test_rule_5_what_is_handed_in_for_review_is_held_whoever_hands_it_in() -> None:
    judgement = judged(candidate(type=ARCH, propose=True), MOTHER)
    assert (judgement.op, rules(judgement)) == (Op.HOLD, ["inbox"])


def test_rule_5_holds_and_the_rules_below_still_say_what_it_would_do() -> None:
    known = memory(type=ARCH, slug="proxy")
    judgement = judged(candidate(type=ARCH), identity=known)
    assert (judgement.op, rules(judgement)) == (Op.HOLD, ["authority.governing", "same_identity"])
    assert judgement.would.op == "supersede"
    assert judgement.would.target == known.id
    assert "governs everyone" in judgement.would.held_because


# --- 6: same identity --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("type", "amends", "actor", "op"),
    [
        (Type.PROJECT, False, RIPLEY, Op.UPDATE),
        (Type.LEARNING, False, RIPLEY, Op.UPDATE),
        (ARCH, False, DALLAS, Op.SUPERSEDE),
        (Type.PROCESS, False, MOTHER, Op.SUPERSEDE),
        (ARCH, True, DALLAS, Op.UPDATE),
    ],
)
def test_rule_6_the_same_name_updates_what_informs_and_supersedes_a_decision(
    type: Type, amends: bool, actor: Actor, op: Op
) -> None:
    known = memory(type=type, slug="proxy")
    judgement = judged(candidate(type=type, amends=amends), actor, identity=known)
    assert (judgement.op, judgement.target, rules(judgement)) == (op, known, ["same_identity"])


def test_rule_6_a_name_made_from_the_title_means_no_memory_in_particular() -> None:
    assert judged(candidate(slug_given=False), identity=memory(slug="proxy")).op is Op.ADD


def test_rule_6_the_memory_that_is_named_comes_before_the_one_of_the_same_name() -> None:
    named, namesake = memory("M1"), memory("M2", slug="proxy")
    assert judged(candidate(), target=named, identity=namesake).target == named


def test_rule_6_what_somebody_else_wrote_is_changed_only_with_review() -> None:
    foreign = memory(author="bishop", slug="proxy")
    held = judged(candidate(), identity=foreign)
    assert (held.op, rules(held)) == (Op.HOLD, ["same_identity", "authority.author"])
    assert (held.would.op, held.would.target) == ("update", foreign.id)
    assert judged(candidate(), DALLAS, identity=foreign).op is Op.UPDATE


def test_rule_6_nothing_that_informs_replaces_a_decision_without_review() -> None:
    decision = memory(type=ARCH)  # the agent's own words, once; a decision since somebody accepted them
    held = judged(candidate(), target=decision)
    assert held.op is Op.HOLD
    assert "authority.governing" in rules(held)


# --- 7: entity slot ----------------------------------------------------------------------------------------

SLOT = {"entity": "ci", "attribute": "os"}


def test_rule_7_one_memory_in_the_slot_is_updated() -> None:
    known = memory(**SLOT)
    judgement = judged(candidate(slug_given=False, **SLOT), slot=(known,))
    assert (judgement.op, judgement.target, rules(judgement)) == (Op.UPDATE, known, ["entity_slot"])


def test_rule_7_another_authors_value_is_a_contradiction_for_a_reviewer() -> None:
    known = memory(author="bishop", **SLOT)
    judgement = judged(candidate(slug_given=False, **SLOT), slot=(known,))
    assert (judgement.op, rules(judgement)) == (Op.HOLD, ["entity_slot.contradiction"])
    assert judgement.would.contradicts == (known.id,)
    assert judged(candidate(slug_given=False, **SLOT), DALLAS, slot=(known,)).op is Op.UPDATE


def test_rule_7_many_in_the_slot_are_ambiguous_and_all_are_listed() -> None:
    rivals = (memory("M1", **SLOT), memory("M2", **SLOT))
    for actor in (RIPLEY, MOTHER):
        judgement = judged(candidate(slug_given=False, **SLOT), actor, slot=rivals)
        assert (judgement.op, rules(judgement)) == (Op.HOLD, ["entity_slot.ambiguous", "ambiguous"])
        assert judgement.targets == ("M1", "M2")


def test_rule_7_what_it_shall_stand_beside_is_not_replaced() -> None:
    known = memory(**SLOT)
    judgement = judged(candidate(slug_given=False, contradicts=("M1",), **SLOT), slot=(known,))
    assert (judgement.op, judgement.contradicts) == (Op.ADD, ("M1",))


def test_rule_7_a_fact_and_a_decision_about_one_thing_stand_beside_each_other() -> None:
    decision = memory(type=ARCH, **SLOT)  # by the very agent who now writes a fact
    held = judged(candidate(slug_given=False, **SLOT), slot=(decision,))
    assert (held.op, held.would.contradicts, held.target) == (Op.HOLD, (decision.id,), None)
    decided = judged(candidate(slug_given=False, **SLOT), MOTHER, slot=(decision,))
    assert (decided.op, decided.contradicts, decided.target) == (Op.ADD, (decision.id,), None)


# --- 8: near duplicate -------------------------------------------------------------------------------------

NEARLY = LONG.replace("every request", "each request")
OTHER_NUMBER = LONG.replace("one megabyte", "3 megabytes")


def test_rule_8_the_same_words_in_another_order_are_known_already() -> None:
    known = memory(content=LONG)
    judgement = judged(candidate(content=f"{LONG} So large uploads need the direct route."), near=(known,))
    assert (judgement.op, judgement.target, rules(judgement)) == (Op.SKIP, known, ["near_duplicate"])


def test_rule_8_more_of_the_same_by_the_same_author_is_merged() -> None:
    said = " ".join(f"word{number}" for number in range(40))
    known = memory(content=said)
    judgement = judged(candidate(content=f"{said} and somewhat more"), near=(known,))
    assert (judgement.op, judgement.target, rules(judgement)) == (Op.UPDATE, known, ["near_duplicate.merge"])


@pytest.mark.parametrize(
    ("changes", "known", "rule"),
    [
        ({"content": NEARLY}, {}, "near_duplicate"),
        ({"content": LONG}, {"type": Type.LEARNING}, "near_duplicate"),
        ({"content": OTHER_NUMBER}, {}, "near_duplicate.contradiction"),
    ],
)
def test_rule_8_what_is_nearly_the_same_is_held_for_a_reviewer_to_look_at(
    changes: dict[str, Any], known: dict[str, Any], rule: str
) -> None:
    stands = memory(content=LONG, author="bishop", **known)
    held = judged(candidate(**changes), near=(stands,))
    assert (held.op, rules(held)) == (Op.HOLD, [rule])
    assert held.would.similar == (stands.id,)
    assert held.would.contradicts == ((stands.id,) if rule.endswith("contradiction") else ())


def test_rule_8_only_notes_it_for_those_who_decide_and_links_the_two() -> None:
    known = memory(content=LONG)
    judgement = judged(candidate(content=NEARLY), DALLAS, near=(known,))
    assert (judgement.op, rules(judgement), judgement.related) == (
        Op.ADD,
        ["near_duplicate", "fresh"],
        (known.id,),
    )


def test_rule_8_thresholds_are_limits() -> None:
    known = memory(content=LONG, author="bishop")
    assert (
        judged(candidate(content=NEARLY), near=(known,), limits=Limits(near_hold=0.999, near_skip=1.0)).op
        is Op.ADD
    )


def test_rule_8_tells_the_reviewer_of_proposals_that_say_nearly_the_same() -> None:
    judgement = judged(candidate(type=ARCH), near_proposals=(proposal("P7"), proposal("P8", content="Else.")))
    assert judgement.would.similar == ("P7",)


# --- the order ---------------------------------------------------------------------------------------------

EVERYTHING = {
    "over_rate": True,
    "tombstone": tombstone(),
    "identity": memory("M2", type=ARCH, slug="proxy", content=LONG, title="Proxy"),
    "slot": (memory("M3", type=ARCH, **SLOT), memory("M4", type=ARCH, **SLOT)),
    "near": (memory("M5", type=ARCH, content=LONG),),
}
ASKED = candidate(type=ARCH, **SLOT)


@pytest.mark.parametrize(
    ("without", "findings", "title", "trace"),
    [
        ((), (SECRET,), "x" * 301, ["shape.size"]),
        ((), (SECRET,), "Proxy", ["shape.rate"]),
        (("over_rate",), (SECRET,), "Proxy", ["screening.private_key"]),
        (("over_rate",), (), "Proxy", ["tombstone"]),
        (("over_rate", "tombstone"), (FLAG,), "Proxy",
         ["screening.claims_approval", "authority.governing", "same_identity"]),
        (("over_rate", "tombstone", "identity"), (), "Proxy",
         ["authority.governing", "entity_slot.ambiguous", "ambiguous"]),
        (("over_rate", "tombstone", "identity", "slot"), (), "Proxy",
         ["authority.governing", "near_duplicate"]),
        (("over_rate", "tombstone", "identity", "slot", "near"), (), "Proxy", ["authority.governing"]),
    ],
)  # fmt: skip
def test_the_first_rule_that_can_answer_does_and_the_trace_names_those_that_fired(
    without: tuple[str, ...], findings: tuple[Any, ...], title: str, trace: list[str]
) -> None:
    around = {name: value for name, value in EVERYTHING.items() if name not in without}
    asked = candidate(type=ARCH, title=title, **SLOT)
    assert rules(judged(asked, findings=findings, **around)) == trace


def test_an_exact_duplicate_is_skipped_before_anybodys_authority_is_asked() -> None:
    known = memory(type=ARCH, content=LONG)
    assert rules(judged(candidate(type=ARCH), exact=(known,), slot=(memory("M3", **SLOT),))) == [
        "exact_duplicate"
    ]


def test_a_judgement_without_a_hold_says_nothing_of_being_held() -> None:
    assert judged(candidate()).would == Would(op="add")


def test_the_judge_gives_the_same_answer_to_the_same_question() -> None:
    assert judged(ASKED, **EVERYTHING) == judged(ASKED, **EVERYTHING)
