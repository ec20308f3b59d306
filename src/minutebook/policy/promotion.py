"""Who may settle a proposal, and how dangerous it is to accept."""

from __future__ import annotations

from minutebook.model.actors import Actor, Role
from minutebook.model.errors import MinutebookError
from minutebook.model.inbox import Proposal, Risk
from minutebook.model.memories import BOUNDARIES, GOVERNING, Type


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
