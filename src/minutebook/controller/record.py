"""How a verdict, its event and its effects get into the ledger: in one place, always together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from minutebook.call import Call
from minutebook.ledger import claims, events, inbox, links, memories, reach, tombstones, verdicts
from minutebook.model.errors import MinutebookError
from minutebook.model.inbox import Proposal, ProposalStatus
from minutebook.model.memories import Memory, Relation
from minutebook.model.tombstones import Cause, Tombstone
from minutebook.model.verdicts import Effect, Op, Outcome, RuleHit, Verdict


@dataclass(slots=True)
class Record:
    """A verdict in the making. Its event is written first, for its place in the order of everything."""

    call: Call
    op: Op
    kind: str
    subject: str
    project: str
    reason: str
    trace: tuple[RuleHit, ...] = ()
    memory: str | None = None
    proposal: str | None = None
    source: str | None = None
    targets: tuple[str, ...] = ()
    candidate: dict[str, Any] | None = None
    digest: str | None = None
    reverts: str | None = None
    detail: dict[str, Any] = field(default_factory=dict)
    effects: list[Effect] = field(default_factory=list)
    id: str = ""
    seq: int = 0

    def open(self) -> Record:
        """Take a place in the log."""
        call = self.call
        self.id = call.new_id()
        self.seq = events.append(
            call.tx,
            kind=self.kind,
            subject=self.subject,
            project=self.project,
            actor=call.actor.id,
            role=call.actor.role,
            origin=call.caller.origin,
            at=call.now,
            verdict=self.id,
            run=call.caller.run,
            detail={"op": self.op, **self.detail},
        )
        return self

    def add(self, memory: Memory, claim: str) -> None:
        memories.insert(self.call.tx, memory, claim, self.id)
        self.effects.append(Effect("memory", memory.id, "0", "1"))

    def replace(self, prior: Memory, memory: Memory, claim: str) -> None:
        if not memories.replace(self.call.tx, prior, memory, claim, self.id):
            raise MinutebookError(
                "stale_revision",
                f"{prior.slug!r} changed while it was being written; look at it and try again.",
                memory=prior.id,
                revision=prior.revision,
            )
        self.effects.append(Effect("memory", memory.id, str(prior.revision), str(memory.revision)))

    def settle(
        self,
        proposal: Proposal,
        status: ProposalStatus,
        *,
        reason: str | None,
        memory: str | None = None,
        edits: str | None = None,
        by: tuple[str, str] | None = None,
    ) -> None:
        """Compare and set a pending proposal; whoever is second finds nothing pending, and does nothing.

        `by` is who settled it and with what role, where that is not who is asking now.
        """
        reviewer, role = by or (self.call.actor.id, self.call.actor.role)
        if not inbox.settle(
            self.call.tx,
            proposal,
            status,
            memory=memory,
            reviewer=reviewer,
            role=role,
            reason=reason,
            edits=edits,
            at=self.call.now,
            seq=self.seq,
        ):
            raise MinutebookError(
                "already_decided", f"{proposal.slug!r} was decided by somebody else meanwhile."
            )
        self.effects.append(Effect("proposal", proposal.id, "pending", status))

    def link(self, from_id: str, relation: Relation, to_id: str) -> bool:
        added = links.add(
            self.call.tx,
            from_id=from_id,
            relation=relation,
            to_id=to_id,
            by=self.call.actor.id,
            at=self.call.now,
            seq=self.seq,
        )
        if added:
            self.effects.append(Effect("link", f"{from_id} {relation} {to_id}", "", "linked"))
        return added

    def unlink(self, from_id: str, relation: Relation, to_id: str) -> bool:
        removed = links.remove(self.call.tx, from_id=from_id, relation=relation, to_id=to_id)
        if removed:
            self.effects.append(Effect("link", f"{from_id} {relation} {to_id}", "linked", ""))
        return removed

    def reach(self, way: reach.Way, slug: str) -> bool:
        """Let a project read a memory of another one, which is called `slug`."""
        opened = reach.open_(self.call.tx, self.call.new_id(), way, slug, self._act())
        if opened:
            self.effects.append(Effect("reach", f"{way.from_id} {way.relation} {way.memory}", "", "linked"))
        return opened

    def unreach(self, way: reach.Way) -> bool:
        closed = reach.close(self.call.tx, way, self._act())
        if closed:
            self.effects.append(Effect("reach", f"{way.from_id} {way.relation} {way.memory}", "linked", ""))
        return closed

    def _act(self) -> reach.Act:
        return reach.Act(self.call.actor.id, self.call.now, self.seq)

    def bury(
        self, cause: Cause, *, ref: str, slug: str, claim: str, key: str, reason: str, agent: str = ""
    ) -> Tombstone:
        tombstone = Tombstone(
            id=self.call.new_id(),
            project=self.project,
            cause=cause,
            ref=ref,
            slug=slug,
            actor=self.call.actor.id,
            reason=reason,
            at=self.call.now,
            seq=self.seq,
            agent=agent,
        )
        tombstones.insert(self.call.tx, tombstone, key=key, claim=claim)
        self.effects.append(Effect("tombstone", tombstone.id, "", "laid"))
        return tombstone

    def lift(self, tombstone: Tombstone) -> None:
        if tombstones.lift(self.call.tx, tombstone.id, by=self.call.actor.id, at=self.call.now):
            self.effects.append(Effect("tombstone", tombstone.id, "laid", "lifted"))

    def close(self) -> Verdict:
        """Write the verdict with all that was done under it."""
        call = self.call
        verdict = Verdict(
            id=self.id,
            seq=self.seq,
            project=self.project,
            op=self.op,
            actor=call.actor.id,
            role=call.actor.role,
            origin=call.caller.origin,
            reason=self.reason,
            trace=self.trace,
            at=call.now,
            memory=self.memory,
            proposal=self.proposal,
            run=call.caller.run,
            source=self.source,
            effects=tuple(self.effects),
            targets=self.targets,
            key=call.caller.key,
            reverts=self.reverts,
            candidate=self.candidate,
            digest=self.digest,
        )
        verdicts.insert(call.tx, verdict)
        return verdict


def outcome(verdict: Verdict, *, slug: str, revision: int | None) -> Outcome:
    return Outcome(
        op=verdict.op,
        verdict=verdict.id,
        memory=verdict.memory,
        slug=slug,
        revision=revision,
        proposal=verdict.proposal,
        reason=verdict.reason,
        rules=tuple(hit.rule for hit in verdict.trace),
        seq=verdict.seq,
    )


def claim_keys(call: Call) -> claims.ClaimKeys:
    """The secrets under which this ledger hashes claims."""
    return claims.ensure(call.tx, new_id=call.new_id, secret=call.world.secret, at=call.now)


def lock_reach(call: Call, project: str) -> None:
    """Keep other writers out of a second project that this write touches (only ever the global one)."""
    if project != call.project.id:
        call.tx.lock(project)
