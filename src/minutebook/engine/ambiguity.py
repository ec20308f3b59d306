"""The job that has a model say which of several memories a held proposal means; in doubt it stays held."""

from __future__ import annotations

from minutebook.controller.ambiguity import name_target
from minutebook.controller.hold import SETTLE
from minutebook.controller.scribe import SCRIBE
from minutebook.engine.jobs import Desk, Ending, Kind
from minutebook.ledger import events, inbox, memories
from minutebook.ledger.database import Tx
from minutebook.model.actors import Origin
from minutebook.model.inbox import Proposal, ProposalStatus
from minutebook.model.memories import GOVERNING, Memory
from minutebook.policy.ambiguity import named, question


def _work(desk: Desk) -> Ending:
    mind = desk.world.model()
    if mind is None:
        return lambda _tx: "No model is set up here any more."
    with desk.read() as tx:
        proposal, rivals = _standing(tx, desk)
    if proposal is None or not rivals:
        return lambda _tx: "It is not ambiguous any more."
    asked = question(proposal, rivals)
    if asked is None:
        return lambda _tx: "It stays held: what would be sent holds a credential."
    answer = mind.ask(asked)
    found = named(answer.text, len(rivals))
    cost = f"{answer.tokens_in} tokens in and {answer.tokens_out} out."
    detail: dict[str, object] = {
        "model": mind.name,
        "asked": 1,
        "tokens_in": answer.tokens_in,
        "tokens_out": answer.tokens_out,
    }

    def end(tx: Tx) -> str:
        if isinstance(found, str):
            _tell(desk, tx, proposal, {**detail, "outcome": "held"})
            return f"It stays held: {found}; {cost}"
        meant = rivals[found.place]
        now, still = _standing(tx, desk)
        if now is None or now.revision != proposal.revision or meant not in still:
            _tell(desk, tx, proposal, {**detail, "outcome": "changed"})
            return f"It changed while the model was asked; {cost}"
        call = desk.call(tx, SCRIBE, Origin.SYSTEM, run=now.run)
        accepted = name_target(call, now, meant, by=mind.name, why=found.why)
        outcome = "accepted" if accepted else "named"
        _tell(desk, tx, proposal, {**detail, "outcome": outcome, "target": meant.id})
        return f"{mind.name} named {meant.slug!r}: {outcome}; {cost}"

    return end


def _standing(tx: Tx, desk: Desk) -> tuple[Proposal | None, list[Memory]]:
    """The proposal, if it waits and names nothing yet, and what it could take the place of.

    What governs is replaced by what governs alone, and the rest by the rest.
    """
    proposal = inbox.get(tx, desk.job.payload["proposal"])
    if proposal is None or proposal.status is not ProposalStatus.PENDING or proposal.base is not None:
        return None, []
    if proposal.entity is None or proposal.attribute is None:
        return None, []
    standing = memories.of_slot(tx, proposal.scope, proposal.entity, proposal.attribute)
    if len(standing) < 2:
        return proposal, []
    return proposal, [known for known in standing if known.governs == (proposal.type in GOVERNING)]


def _tell(desk: Desk, tx: Tx, proposal: Proposal, detail: dict[str, object]) -> None:
    events.append(
        tx,
        kind="proposal.asked_model",
        subject=proposal.id,
        project=proposal.project,
        actor=SCRIBE.id,
        role=SCRIBE.role,
        origin=Origin.SYSTEM,
        at=desk.world.clock(),
        run=proposal.run,
        detail=detail,
    )


SETTLING = Kind(SETTLE, _work)
