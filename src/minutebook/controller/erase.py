"""Erasing: the words go for good from every row that holds them; who, when and a keyed hash stay."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from minutebook.call import Call, LongCall
from minutebook.controller.record import Record, claim_keys, lock_reach, outcome
from minutebook.ledger import claims, erasure, inbox, memories, revisions, source_erasure, verdicts
from minutebook.ledger.erasure import ERASED, Gone
from minutebook.model.errors import MinutebookError
from minutebook.model.evidence import Evidence
from minutebook.model.inbox import Proposal, ProposalStatus
from minutebook.model.memories import Memory, Status
from minutebook.model.scopes import GLOBAL
from minutebook.model.tombstones import Cause
from minutebook.model.verdicts import Op, Outcome, RuleHit, Verdict

#: Verdicts on one thing that are looked through for words.
_MOST_VERDICTS = 10_000
#: Others with the same words that an answer names.
_MOST_TOLD = 20


def erase_for_good(call: LongCall, erase: Callable[[Call], Outcome]) -> Outcome:
    """Erase in one transaction, note it for later restores, then make the bytes leave the disk."""
    try:
        done = call.database.write(call.project.id, lambda tx: erase(call.inside(tx)))
    except MinutebookError as error:
        if error.code == "erased":
            _see_through(call)  # asked again, perhaps because a crash came before the rest was done
        raise
    _see_through(call)
    return done


def _see_through(call: LongCall) -> None:
    """Do what follows an erasure, for every one of the ledger for which it was not done."""
    noted = erasure.noted(call.world.home)
    with call.database.read() as tx:
        missing = [known for known in erasure.known(tx) if known not in noted]
    # Noted first: a reader that keeps the log in use makes the checkpoint fail, and it can be run again.
    for known in missing:
        erasure.note(call.world.home, known)
    call.database.checkpoint(*erasure.TABLES, *source_erasure.TABLES)


def erase_memory(call: Call, memory: Memory, *, reason: str) -> Outcome:
    """Take a memory's words out of its row, revisions, proposals, verdicts and full text."""
    call.check_bounds(memory.scope.project)
    if memory.status is Status.ERASED:
        raise MinutebookError("erased", "It was erased before.", memory=memory.id)
    lock_reach(call, memory.scope.project)
    # Each proposal that was ever promoted into it, not only the last.
    proposals = inbox.of_memory(call.tx, memory.id)
    before = revisions.of(call.tx, memory.id)
    record = _open(call, "memory.erased", memory.id, memory.scope.project, reason, memory=memory.id)
    # Every wording that ever stood is buried, or an old one would come back by an import.
    wordings = {(r.state.title, r.state.content) for r in before} | {(memory.title, memory.content)}
    wordings |= {(proposal.title, proposal.content) for proposal in proposals}
    wordings |= _asked_for(call, [memory.id, *(p.id for p in proposals)], memory.scope.project)
    _bury(record, memory.id, wordings, reason)
    gone = replace(
        memories.blanked(memory, ERASED),
        status=Status.ERASED,
        revision=memory.revision + 1,
        updated_at=call.now,
        seq=record.seq,
    )
    record.replace(memory, gone, "")
    for proposal in proposals:
        inbox.underive(call.tx, proposal)
    verdict = _close(
        call,
        record,
        refs=[memory.id, *(proposal.id for proposal in proposals)],
        slugs={memory.slug, *(r.state.slug for r in before)}.union(*map(_slugs, proposals)),
        wordings=wordings,
        cited=(*memory.evidence, *(piece for proposal in proposals for piece in proposal.evidence)),
    )
    for id in source_erasure.derived_from(call.tx, memory.id):
        # What the house made out of it says it too.
        derived = memories.get(call.tx, id)
        if derived is not None and call.in_bounds(derived.scope.project):
            erase_memory(call, derived, reason=reason)
    return _told(call, outcome(verdict, slug=gone.slug, revision=gone.revision), wordings)


def erase_proposal(call: Call, proposal: Proposal, *, reason: str) -> Outcome:
    """Take a proposal's words away. A merged one is erased through its memory."""
    if proposal.memory is not None:
        raise MinutebookError(
            "bad_transition",
            f"{proposal.slug!r} became a memory; erase that, and the proposal goes with it.",
            memory=proposal.memory,
        )
    if proposal.slug == erasure.name_of(proposal.id):
        raise MinutebookError("erased", "It was erased before.", proposal=proposal.id)
    record = _open(call, "proposal.erased", proposal.id, proposal.project, reason, proposal=proposal.id)
    wordings = {(proposal.title, proposal.content)} | _asked_for(call, [proposal.id], proposal.project)
    _bury(record, proposal.id, wordings, reason)
    if proposal.status is ProposalStatus.PENDING:
        # Nothing is left to decide about, so it waits no longer.
        record.settle(proposal, ProposalStatus.REJECTED, reason=None)
    inbox.underive(call.tx, proposal)
    verdict = _close(
        call,
        record,
        refs=[proposal.id],
        slugs=_slugs(proposal),
        wordings=wordings,
        cited=proposal.evidence,
    )
    return _told(call, outcome(verdict, slug=erasure.name_of(proposal.id), revision=None), wordings)


def _told(call: Call, done: Outcome, wordings: set[tuple[str, str]]) -> Outcome:
    """The answer, with what else says the same: whoever erases for privacy has to decide about that too."""
    keys = claim_keys(call)
    rows = claims.said_by(call.tx, {keys.claim(title, content) for title, content in wordings})
    others = [row["id"] for row in rows if call.in_bounds(row["project_id"])]
    if not others:
        return done
    listed = ", ".join(others[:_MOST_TOLD]) + (", …" if len(others) > _MOST_TOLD else "")
    return replace(done, reason=f"{done.reason} (the same words still stand in {len(others)} more: {listed})")


def _open(call: Call, kind: str, ref: str, project: str, reason: str, **on: str) -> Record:
    hit = RuleHit("erase", "erased", "", ref)
    return Record(call, Op.RETIRE, kind, ref, project, reason, (hit,), **on).open()  # type: ignore[arg-type]


def _asked_for(call: Call, refs: Iterable[str], project: str) -> set[tuple[str, str]]:
    """Wordings that only verdicts still hold: of proposals that were updated in place, of edits refused."""
    found = set()
    for ref in refs:
        for verdict in verdicts.list_(call.tx, project, subject=ref, limit=_MOST_VERDICTS):
            material = verdict.candidate or {}
            if "content" in material:
                found.add((material["title"], material["content"]))
    return found


def _slugs(proposal: Proposal) -> set[str]:
    return {proposal.slug, proposal.requested_slug}


def _bury(record: Record, ref: str, wordings: set[tuple[str, str]], reason: str) -> None:
    keys = claim_keys(record.call)
    for claim in sorted({keys.claim(title, content) for title, content in wordings}):
        record.bury(
            Cause.ERASED, ref=ref, slug=erasure.name_of(ref), claim=claim, key=keys.own_id, reason=reason
        )


def _close(
    call: Call,
    record: Record,
    *,
    refs: list[str],
    slugs: set[str],
    wordings: set[tuple[str, str]],
    cited: Iterable[Evidence],
) -> Verdict:
    # Its effects are of no use to a revert, which must not bring anything back.
    record.effects.clear()
    verdict = record.close()
    keys = claim_keys(call)
    said_so = {claim for title, content in wordings for claim in keys.all_claims(title, content)}
    reach = erasure.reach(call.tx, refs, claims=said_so)
    project = None if record.project == GLOBAL else record.project
    erasure.scrub(call.tx, Gone(refs=reach, slugs=frozenset(slugs), project=project))
    # The raw material that it came from, and what runs said of it.
    said = source_erasure.Said(frozenset(content for _, content in wordings), tuple(cited))
    source_erasure.scrub(call.tx, project, said, keys)
    return verdict
