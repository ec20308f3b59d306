"""Taking a suggestion: what it does is done by the reviewer who takes it, under a verdict, and can be reverted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from minutebook.call import Call
from minutebook.controller import change, review
from minutebook.controller.accept import supersede
from minutebook.controller.record import Record, claim_keys, lock_reach, outcome
from minutebook.controller.write import check_replaces, write
from minutebook.ledger import consolidations, inbox, memories
from minutebook.model.candidates import Candidate
from minutebook.model.consolidation import Act, State, Suggestion
from minutebook.model.errors import MinutebookError
from minutebook.model.memories import Importance, Memory, Relation, Status
from minutebook.model.scopes import Scope
from minutebook.model.verdicts import Op, Outcome, RuleHit
from minutebook.policy.consolidation import shortened


def take(call: Call, suggestion: Suggestion, *, keep: str | None, reason: str) -> str:
    """Do what a suggestion says, and return the verdict under which it was done.

    `keep` names the one of its memories that stays, where that is not the first; of two that contradict each other
    the other one is then superseded.
    """
    check_open(suggestion)
    if suggestion.act is Act.PROMOTE:
        verdict = _promote(call, suggestion, reason)
    else:
        verdict = _change(call, suggestion, keep, reason).verdict
    if not consolidations.settle(
        call.tx, suggestion.id, State.TAKEN, by=call.actor.id, at=call.now, verdict=verdict
    ):
        raise MinutebookError("already_decided", "The suggestion was decided by somebody else meanwhile.")
    return verdict


def leave(call: Call, suggestion: Suggestion) -> None:
    """Say that it stays as it is; the same is not suggested again while nothing changes."""
    check_open(suggestion)
    if not consolidations.settle(call.tx, suggestion.id, State.LEFT, by=call.actor.id, at=call.now):
        raise MinutebookError("already_decided", "The suggestion was decided by somebody else meanwhile.")


def check_open(suggestion: Suggestion) -> None:
    if suggestion.state is not State.OPEN:
        by = f" by {suggestion.decided_by}" if suggestion.decided_by else ""
        raise MinutebookError(
            "already_decided", f"The suggestion is {suggestion.state}{by}.", suggestion=suggestion.id
        )


def _change(call: Call, suggestion: Suggestion, keep: str | None, reason: str) -> Outcome:
    found = [_unchanged(call, id, revision) for id, revision in suggestion.refs]
    first = _kept(found, keep)
    others = [memory for memory in found if memory.id != first.id]
    if suggestion.act is Act.MERGE:
        return merge(call, first, others, reason=reason)
    if suggestion.act is Act.SHARE:
        return merge(call, first, others, reason=reason, scope=Scope.of_project(first.scope.project))
    if suggestion.act is Act.LINK and keep is None:
        return change.link(call, first, Relation.CONTRADICTS, others[0])
    if suggestion.act is Act.LINK:
        return change.supersede_with(call, others[0], first, reason=reason)
    if suggestion.act is Act.ARCHIVE:
        return change.archive(call, first, reason=reason)
    return _shorten(call, first)


def _unchanged(call: Call, id: str, revision: int) -> Memory:
    memory = memories.get(call.tx, id)
    if memory is None or memory.status is not Status.ACTIVE or memory.revision != revision:
        raise MinutebookError(
            "stale_base",
            "What the suggestion is about has changed since; consolidate again.",
            memory=id,
            hint="minutebook consolidation run",
        )
    return memory


def _kept(found: Sequence[Memory], keep: str | None) -> Memory:
    if keep is None:
        return found[0]
    named = [memory for memory in found if keep in (memory.id, memory.slug)]
    if not named:
        raise MinutebookError("not_found", "The suggestion is not about that memory.", keep=keep[:80])
    return named[0]


def merge(
    call: Call, keep: Memory, others: Sequence[Memory], *, reason: str, scope: Scope | None = None
) -> Outcome:
    """Let one memory stand for several: it takes over their tags and evidence, and they are superseded by it.

    The words stay those of the one that is kept, so nobody is made to say what they did not.
    """
    for memory in (keep, *others):
        change.check_may_change(call, memory)
        lock_reach(call, memory.scope.project)
    _check_mergeable(keep, others)
    if scope is not None and scope != keep.scope:
        change.check_free(call, keep, scope)
    keys = claim_keys(call)
    record = Record(
        call,
        Op.SUPERSEDE,
        "memory.superseded",
        keep.id,
        keep.scope.project,
        reason,
        (RuleHit("consolidation", "merged", reason, keep.id),),
        memory=keep.id,
        source=keep.source,
        targets=tuple(memory.id for memory in others),
        detail={"memory": keep.id, "slug": keep.slug, "type": keep.type, "merged": len(others)},
    ).open()
    whole = _with_all(call, keep, others, scope)
    if whole != keep:
        whole = replace(whole, revision=keep.revision + 1, updated_at=call.now, seq=record.seq)
        record.replace(keep, whole, keys.claim(keep.title, keep.content))
    for memory in others:
        supersede(call, record, memory, keep.id, keys)
        record.link(keep.id, Relation.SUPERSEDES, memory.id)
    return outcome(record.close(), slug=keep.slug, revision=whole.revision)


def _check_mergeable(keep: Memory, others: Sequence[Memory]) -> None:
    if not others:
        raise MinutebookError("invalid_input", "There is nothing to merge.")
    for memory in others:
        candidate = _as_candidate(keep)
        check_replaces(memory, candidate)


def _with_all(call: Call, keep: Memory, others: Sequence[Memory], scope: Scope | None) -> Memory:
    every = (keep, *others)
    tags = tuple(dict.fromkeys(tag for memory in every for tag in memory.tags))[: call.limits.tags]
    evidence = tuple(dict.fromkeys(piece for memory in every for piece in memory.evidence))
    ranks = list(Importance)
    return replace(
        keep,
        scope=scope or keep.scope,
        tags=tags,
        evidence=evidence[: call.limits.evidence],
        importance=max((memory.importance for memory in every), key=ranks.index),
        observed_at=max((memory.observed_at for memory in every if memory.observed_at), default=None),
    )


def _as_candidate(memory: Memory, content: str | None = None) -> Candidate:
    return Candidate(
        scope=memory.scope,
        type=memory.type,
        title=memory.title,
        content=memory.content if content is None else content,
        slug=memory.slug,
        slug_given=True,
        target=memory.id,
        amends=True,
    ).over(memory)


def _shorten(call: Call, memory: Memory) -> Outcome:
    return write(call, _as_candidate(memory, shortened(memory.content)))


def _promote(call: Call, suggestion: Suggestion, reason: str) -> str:
    [(id, revision)] = suggestion.refs
    proposal = inbox.get(call.tx, id)
    if proposal is None or proposal.revision != revision:
        raise MinutebookError("stale_base", "The proposal has changed since; consolidate again.", proposal=id)
    return review.promote(
        call, proposal, review.candidate_of(proposal), reason=reason, accept_stale=False
    ).verdict
