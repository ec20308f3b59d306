"""Who may settle a proposal, how dangerous it is to accept, and what is promoted when a run ends."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from minutebook.model.actors import Actor, Role
from minutebook.model.errors import MinutebookError
from minutebook.model.evidence import parse_evidence
from minutebook.model.inbox import Risk, Would
from minutebook.model.memories import Type
from minutebook.model.runs import Run, RunOutcome, RunStatus
from minutebook.model.text import fold_name
from minutebook.model.verdicts import Op, RuleHit
from minutebook.policy.judge import Judgement
from minutebook.policy.promotion import EndRule, check_may_settle, end_rule, risk_of, still_waits
from tests.policy.judging import DALLAS, MOTHER, proposal

RISKS = {
    Type.ARCHITECTURAL: Risk.HIGH,
    Type.SCOPE: Risk.HIGH,
    Type.PROCESS: Risk.MEDIUM,
    Type.TECHNICAL: Risk.MEDIUM,
    Type.PROFILE: Risk.MEDIUM,
    Type.CORE_CONTEXT: Risk.LOW,
    Type.LEARNING: Risk.LOW,
    Type.PATTERN: Risk.LOW,
    Type.UPDATE: Risk.LOW,
    Type.FEEDBACK: Risk.LOW,
    Type.PROJECT: Risk.LOW,
    Type.ARTIFACT: Risk.LOW,
    Type.EPISODE: Risk.LOW,
}


@pytest.mark.parametrize("type", list(Type))
def test_the_risk_follows_from_the_type_and_rises_with_a_flag_or_a_contradiction(type: Type) -> None:
    assert risk_of(type, flags=(), contradicts=False) is RISKS[type]
    assert risk_of(type, flags=("claims_approval",), contradicts=False) is Risk.HIGH
    assert risk_of(type, flags=(), contradicts=True) is Risk.HIGH


@pytest.mark.parametrize("reviewer", [DALLAS, MOTHER])
def test_a_reviewer_settles_what_somebody_else_proposed(reviewer: Actor) -> None:
    check_may_settle(reviewer, proposal(agent="ripley"))


@pytest.mark.parametrize("name", ["Dallas", "DALLAS", "dallas", "Ｄａｌｌａｓ", " dallas ", "dal\u200blas"])
@pytest.mark.parametrize("role", [Role.COORDINATOR, Role.OPERATOR])
def test_nobody_settles_their_own_whatever_the_spelling_of_the_name(name: str, role: Role) -> None:
    with pytest.raises(MinutebookError) as refused:
        check_may_settle(Actor(fold_name(name), name, role), proposal(agent="dallas"))
    assert refused.value.code == "own_proposal"
    assert "decisions write" in refused.value.details["hint"]


def test_the_scribe_settles_nothing_by_hand() -> None:
    with pytest.raises(MinutebookError) as refused:
        check_may_settle(Actor("scribe", "Scribe", Role.SCRIBE), proposal())
    assert refused.value.code == "not_allowed"


# --- when a run ends --------------------------------------------------------------------------------------

RUN = Run("R", "nostromo", "ripley", "", RunStatus.OPEN, "ripley", "")


def ended(
    outcome: RunOutcome = RunOutcome.COMPLETED, *, coordinates: bool = False, **more: Any
) -> tuple[EndRule | None, str]:
    made = replace(proposal(agent="ripley"), **{"run": "R", "would": Would(), **more})
    return end_rule(made, RUN, outcome, coordinates=coordinates)


@pytest.mark.parametrize("type", list(Type))
def test_the_scribe_takes_learnings_patterns_and_updates_and_nothing_else(type: Type) -> None:
    rule, why = ended(type=type, author_role="agent")
    assert (rule is EndRule.SCRIBE) == (type in ("learning", "pattern", "update"))
    assert (rule is None) == bool(why)


@pytest.mark.parametrize("outcome", list(RunOutcome))
def test_what_was_learned_counts_however_the_run_ended(outcome: RunOutcome) -> None:
    assert ended(outcome, type=Type.LEARNING, author_role="agent") == (EndRule.SCRIBE, "")


@pytest.mark.parametrize("type", list(Type))
def test_the_backstop_takes_a_coordinators_own_boundaries_and_no_other_decision(type: Type) -> None:
    rule, _ = ended(type=type, author_role="coordinator", coordinates=True)
    assert (rule is EndRule.BACKSTOP) == (type in ("architectural", "scope"))


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"coordinates": False}, "scope binds everyone, and ripley only proposes it"),
        ({"author_role": "agent"}, "scope binds everyone, and ripley only proposes it"),
        ({"author_role": "operator"}, "scope binds everyone, and ripley only proposes it"),
        ({"run": "another"}, "its words were last written outside this run"),
        ({"run": None}, "its words were last written outside this run"),
        ({"outcome": RunOutcome.FAILED}, "the run failed, and a boundary of it binds nobody by that"),
        ({"outcome": RunOutcome.DECLINED}, "the run was declined, and a boundary of it binds nobody by that"),
        ({"outcome": RunOutcome.ABANDONED}, "the run was abandoned, and a boundary of it binds nobody by that"),
        ({"origin": "file"}, "it came from file, where nobody stands for the words"),
        ({"would": Would(contradicts=("M",))}, "it contradicts what stands"),
        ({"source": "S"}, "it rests on captured material, and a boundary of that takes a person"),
        ({"evidence": (parse_evidence("source:S#1-2"),)}, "it rests on captured material, and a boundary of that takes a person"),
    ],
)  # fmt: skip
def test_a_boundary_waits_when_one_thing_is_missing(more: dict[str, Any], why: str) -> None:
    whole = {"type": Type.SCOPE, "author_role": "coordinator", "coordinates": True}
    assert ended(**whole) == (EndRule.BACKSTOP, "")
    assert ended(**{**whole, **more}) == (None, why)


@pytest.mark.parametrize("origin", ["file", "import", "extraction", "consolidation"])
def test_nothing_is_promoted_by_rule_that_nobody_said(origin: str) -> None:
    assert ended(type=Type.LEARNING, origin=origin)[0] is None


def judgement(*hits: RuleHit, **more: Any) -> Judgement:
    return Judgement(Op.HOLD, "", tuple(hits), **more)


def test_having_been_handed_in_is_no_reason_to_wait_and_every_other_one_is() -> None:
    handed_in = RuleHit("inbox", "hold", "it was handed in for review")
    assert still_waits(judgement(handed_in)) is None
    assert still_waits(judgement(handed_in, RuleHit("same_identity", "update", "revision 1"))) is None
    near = RuleHit("near_duplicate", "hold", "80% the same words")
    assert still_waits(judgement(handed_in, near)) == "80% the same words"
    author = RuleHit("authority.author", "hold", "'x' was written by ash")
    assert still_waits(judgement(author, near)) == "'x' was written by ash; 80% the same words"
    assert still_waits(judgement(handed_in, contradicts=("M",))) == "it contradicts what stands"
    assert still_waits(judgement(handed_in, related=("M",))) == "something says nearly the same"
