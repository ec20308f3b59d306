"""Who may settle a proposal, how dangerous it is to accept, and which are promoted when a run ends."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from minutebook.model.actors import UNTRUSTED_ORIGINS, Actor, Role
from minutebook.model.errors import MinutebookError
from minutebook.model.evidence import EvidenceKind
from minutebook.model.inbox import Proposal, Risk
from minutebook.model.memories import BOUNDARIES, GOVERNING, Type
from minutebook.policy.judge import Judgement

if TYPE_CHECKING:
    from minutebook.model.runs import Run, RunOutcome

#: What the scribe promotes of the run that ended: it informs one agent, and can be taken back.
SCRIBED = frozenset({Type.LEARNING, Type.PATTERN, Type.UPDATE})


def risk_of(type: Type, *, flags: tuple[str, ...], contradicts: bool) -> Risk:
    """Boundaries bind everyone; a flagged or contradicting text wants a careful eye."""
    if type in BOUNDARIES or flags or contradicts:
        return Risk.HIGH
    if type in GOVERNING or type is Type.PROFILE:
        return Risk.MEDIUM
    return Risk.LOW


def check_may_settle(actor: Actor, proposal: Proposal) -> None:
    """Separation of duties: the proposer never settles their own, whatever their role."""
    if actor.role is Role.SCRIBE:
        raise MinutebookError(
            "not_allowed", "The scribe promotes by its own policy when a run ends, not by hand."
        )
    if actor.id == proposal.agent:
        hint = (
            "operators and coordinators decide directly: minutebook decisions write"
            if actor.role in (Role.OPERATOR, Role.COORDINATOR)
            else "ask a coordinator or an operator to review it"
        )
        raise MinutebookError(
            "own_proposal",
            f"{actor.name} proposed {proposal.slug!r} and cannot approve it.",
            slug=proposal.slug,
            hint=hint,
        )


# --- when a run ends ----------------------------------------------------------------------------------


class EndRule(StrEnum):
    """By which rule a proposal is promoted when a run ends, without a reviewer."""

    SCRIBE = "scribe"
    #: a coordinator's own boundaries: the one exception to "nobody approves their own proposal"
    BACKSTOP = "backstop"


def end_rule(
    proposal: Proposal, run: Run, outcome: RunOutcome, *, coordinates: bool
) -> tuple[EndRule | None, str]:
    """The rule that reaches a proposal of a run, or why it waits for a reviewer.

    `coordinates` says that the run's agent has the role of a coordinator now.
    """
    if proposal.origin in UNTRUSTED_ORIGINS:
        return None, f"it came from {proposal.origin}, where nobody stands for the words"
    if proposal.would.contradicts:
        return None, "it contradicts what stands"
    if proposal.type in SCRIBED:
        return EndRule.SCRIBE, ""
    if proposal.type not in BOUNDARIES:
        governs = "governs everyone" if proposal.type in GOVERNING else "is not promoted without a reviewer"
        return None, f"{proposal.type} {governs}"
    if not coordinates or proposal.author_role != Role.COORDINATOR:
        return None, f"{proposal.type} binds everyone, and {proposal.agent} only proposes it"
    if proposal.run != run.id:
        return None, "its words were last written outside this run"
    if rests_on_material(proposal):
        return None, "it rests on captured material, and a boundary of that takes a person"
    if not outcome.went_well:
        return None, f"the run {outcome.said}, and a boundary of it binds nobody by that"
    return EndRule.BACKSTOP, ""


def rests_on_material(proposal: Proposal) -> bool:
    """Whether a proposal comes from a document or a conversation: it is trusted no more than that.

    Whoever repeats what a document says does not make it more than a document's word.
    """
    return proposal.source is not None or any(
        piece.kind in (EvidenceKind.SOURCE, EvidenceKind.MESSAGE) for piece in proposal.evidence
    )


def still_waits(judgement: Judgement) -> str | None:
    """Why a proposal that a rule reaches waits all the same: whatever held it besides having been handed in.

    `judgement` is the judge's on the proposal as its own agent would write it now. Where that agent decides, the
    judge only notes what is nearly the same or says otherwise; no rule but a reviewer passes over it.
    """
    held = [
        hit.detail
        for hit in judgement.trace
        if hit.outcome == "hold" and hit.rule not in ("inbox", "ambiguous")
    ]
    if held:
        return "; ".join(held)
    if judgement.contradicts:
        return "it contradicts what stands"
    if judgement.related:
        return "something says nearly the same"
    return None
