"""Who may settle a proposal, and how dangerous it is to accept."""

from __future__ import annotations

import pytest

from minutebook.model.actors import Actor, Role
from minutebook.model.errors import MinutebookError
from minutebook.model.inbox import Risk
from minutebook.model.memories import Type
from minutebook.model.text import fold_name
from minutebook.policy.promotion import check_may_settle, risk_of
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
