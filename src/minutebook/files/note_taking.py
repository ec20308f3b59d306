"""A saved note as a write: judged by the controller, and noted with the file's hash in the same transaction.

The local person speaks first, with the authority of an agent. What would be held for review is proposed by nobody in
particular, so that the same person may decide about it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from minutebook.controller import change, review
from minutebook.controller.write import write
from minutebook.files.hands import NOBODY, Hands, call_of, first_free, written
from minutebook.files.note_deciding import words_as_written, words_of
from minutebook.files.note_folders import Folder
from minutebook.files.note_rendering import Note
from minutebook.files.place import Means, Place
from minutebook.ledger import inbox, manifest, memories, readings
from minutebook.ledger.database import Tx
from minutebook.ledger.readings import Reading
from minutebook.model.actors import Actor
from minutebook.model.candidates import Candidate
from minutebook.model.errors import MinutebookError
from minutebook.model.files import FileDone, FileKind, FileState, WrittenFile
from minutebook.model.inbox import ProposalStatus
from minutebook.model.memories import Memory
from minutebook.model.scopes import ScopeKind
from minutebook.model.text import fold_tag
from minutebook.model.verdicts import Op, Outcome


@dataclass(frozen=True, slots=True)
class Saved:
    """A note as somebody saved it, and what was read at its path before."""

    path: str
    folder: Folder
    digest: str
    facts: str
    note: Note
    before: Reading | None


@dataclass(frozen=True, slots=True)
class Desk:
    """Where notes are taken in: one workspace, and who writes there."""

    means: Means
    place: Place
    hands: Hands

    def taken(self, work: Callable[[Tx], FileDone]) -> FileDone:
        return self.means.database.write(self.place.project, work)

    def reading(self, saved: Saved, state: FileState, **more: object) -> Reading:
        return Reading(
            host=self.place.host,
            root=self.place.root,
            path=saved.path,
            project=self.place.project,
            kind=FileKind.NOTE,
            digest=saved.digest,
            facts=saved.facts,
            state=state,
            claimed=saved.note.revision,
            at=self.means.world.clock(),
            **more,  # type: ignore[arg-type]
        )


# --- new ------------------------------------------------------------------------------------------------


def add(desk: Desk, saved: Saved, slug: str) -> FileDone:
    """Take in a new note. One in an agent's folder is proposed: nobody can tell who laid it there."""
    scope, note = saved.folder.scope, saved.note
    propose = scope.kind is ScopeKind.AGENT
    candidate = Candidate(
        scope=scope,
        type=note.type,
        title=note.title,
        content=note.text,
        slug=slug,
        slug_given=True,
        summary=note.description,
        importance=note.importance,
        tags=tags_of(note.tags),
        propose=propose,
    )

    def work(tx: Tx) -> FileDone:
        met = _met(tx, desk, saved)
        if met is not None:
            return met
        return _settled(tx, desk, saved, candidate, held_as=FileState.REFUSED, only_nobody=propose)

    return desk.taken(work)


# --- changed ----------------------------------------------------------------------------------------------


def edit(desk: Desk, saved: Saved, memory: Memory, *, rival: bool) -> FileDone:
    """Take in a changed note. A `rival` was changed on an old base: it is proposed, and both versions stay."""
    candidate = replace(_changed(saved.note, memory), propose=rival)

    def work(tx: Tx) -> FileDone:
        met = _met(tx, desk, saved)
        if met is not None:
            return met
        now = memories.get(tx, memory.id)
        if now is None or now.revision != memory.revision:
            # The ledger moved on in this very moment; the next pass sees what the edit stands on.
            return FileDone(path=saved.path, kind=FileKind.NOTE, done="unread", why="the memory was changed")
        held_as = FileState.CONFLICT if rival else FileState.REFUSED
        return _settled(tx, desk, saved, candidate, held_as=held_as, only_nobody=rival)

    return desk.taken(work)


def _changed(note: Note, memory: Memory) -> Candidate:
    """The memory with what the hand changed. What it left as it was written stays as it stands."""
    was, now = words_as_written(memory), words_of(note)
    return Candidate(
        scope=memory.scope,
        type=memory.type,
        title=memory.title if now.title == was.title else note.title,
        content=memory.content if now.text == was.text else note.text,
        slug=memory.slug,
        slug_given=True,
        rationale=memory.rationale,
        summary=memory.summary if now.description == was.description else note.description,
        importance=note.importance,
        confidence=memory.confidence,
        entity=memory.entity,
        attribute=memory.attribute,
        tags=memory.tags if now.tags == was.tags else tags_of(note.tags),
        evidence=memory.evidence,
        observed_at=memory.observed_at,
        source=memory.source,
        target=memory.id,
        amends=True,
    )


def orphan(desk: Desk, saved: Saved, slug: str, why: str) -> FileDone:
    """A hand changed a note whose memory stands no more: its words are proposed anew, and the file stays."""
    candidate = Candidate(
        scope=saved.folder.scope,
        type=saved.note.type,
        title=saved.note.title,
        content=saved.note.text,
        slug=slug,
        slug_given=True,
        summary=saved.note.description,
        importance=saved.note.importance,
        tags=tags_of(saved.note.tags),
        propose=True,
    )

    def work(tx: Tx) -> FileDone:
        met = _met(tx, desk, saved)
        if met is not None:
            return met
        manifest.drop(tx, desk.place.host, desk.place.root, saved.path)
        return _settled(tx, desk, saved, candidate, held_as=FileState.CONFLICT, only_nobody=True, because=why)

    return desk.taken(work)


# --- both ---------------------------------------------------------------------------------------------------


def _met(tx: Tx, desk: Desk, saved: Saved) -> FileDone | None:
    """What another process made of the very same words meanwhile; None where they are new to everybody."""
    now = readings.get(tx, desk.place.host, desk.place.root, saved.path)
    if now is None or now == saved.before or now.digest != saved.digest:
        return None
    return FileDone(path=saved.path, kind=FileKind.NOTE, done="read", why=now.why)


def _settled(
    tx: Tx,
    desk: Desk,
    saved: Saved,
    candidate: Candidate,
    *,
    held_as: FileState,
    only_nobody: bool,
    because: str = "",
) -> FileDone:
    """Have a candidate judged, and note what came of it beside the file's hash."""
    who = (NOBODY,) if only_nobody else (desk.hands.own(tx), NOBODY)

    def judged(actor: Actor) -> Outcome:
        call = call_of(tx, desk.means, desk.place, actor)
        return write(call, _under_own_slug(tx, desk, saved, candidate, actor))

    actor = first_free(tx, who, lambda actor: judged(actor).op is Op.HOLD)
    done = written(tx, lambda: judged(actor))
    if isinstance(done, MinutebookError):
        return _left(tx, desk, saved, FileState.REFUSED, done.message)
    if done.op is Op.HOLD:
        assert done.proposal is not None
        why = f"{because} {done.reason}".strip()
        advice = f"minutebook inbox show {done.slug}"
        reading = desk.reading(saved, held_as, why=why, advice=advice, proposals=(done.proposal,))
        readings.put(tx, reading)
        return FileDone(path=saved.path, kind=FileKind.NOTE, done="proposed", why=f"{done.slug}: {why}")
    if done.op is Op.SKIP:
        return _left(tx, desk, saved, FileState.REFUSED, done.reason)
    _take_back(tx, desk, saved)
    assert done.memory is not None
    in_step(tx, desk, saved, done.memory, done.revision or 1, done.seq)
    return FileDone(path=saved.path, kind=FileKind.NOTE, done=f"{done.op}", why=f"verdict {done.verdict}")


def _left(tx: Tx, desk: Desk, saved: Saved, state: FileState, why: str) -> FileDone:
    readings.put(tx, desk.reading(saved, state, why=why))
    return FileDone(path=saved.path, kind=FileKind.NOTE, done="left", why=why)


def _under_own_slug(tx: Tx, desk: Desk, saved: Saved, candidate: Candidate, actor: Actor) -> Candidate:
    """The candidate under the slug of the proposal that this file made before, and never under another file's."""
    project = desk.place.project
    for id in saved.before.proposals if saved.before is not None else ():
        mine = inbox.get(tx, id)
        if mine is not None and mine.status is ProposalStatus.PENDING and mine.agent == actor.id:
            return replace(candidate, slug=mine.requested_slug)
    taken = inbox.by_request(tx, project, candidate.slug, actor.id)
    taken = taken or inbox.by_slug(tx, project, candidate.slug)
    return replace(candidate, slug_given=taken is None or taken.agent != actor.id)


def _take_back(tx: Tx, desk: Desk, saved: Saved) -> None:
    """What this file proposed before and what now stands by itself waits no longer."""
    for id in saved.before.proposals if saved.before is not None else ():
        mine = inbox.get(tx, id)
        if mine is not None and mine.status is ProposalStatus.PENDING and mine.agent == NOBODY.id:
            call = call_of(tx, desk.means, desk.place, NOBODY)
            review.withdraw(call, mine, reason="the note was saved again, on what stands now")


def in_step(tx: Tx, desk: Desk, saved: Saved, memory: str, revision: int, seq: int) -> None:
    """Note that a file and a memory say the same."""
    place, at = desk.place, desk.means.world.clock()
    manifest.put(
        tx,
        WrittenFile(
            host=place.host,
            root=place.root,
            path=saved.path,
            project=place.project,
            kind=FileKind.NOTE,
            ref=memory,
            digest=saved.digest,
            base_revision=revision,
            seq=seq,
            at=at,
        ),
    )
    readings.put(tx, desk.reading(saved, FileState.IN_STEP))


def tags_of(tags: tuple[str, ...]) -> tuple[str, ...]:
    """The tags of a note as they are stored; one that hides a character is an error."""
    return tuple(dict.fromkeys(fold_tag(tag) for tag in tags))


# --- deleted --------------------------------------------------------------------------------------------------


def retire(desk: Desk, path: str, memory: Memory, reason: str, by: Actor | None) -> FileDone:
    """Retire the memory of a note that was deleted; what a file cannot retire waits for somebody who can.

    `by` is who confirmed the deletion: then it is their word, and not a file's.
    """

    def work(tx: Tx) -> FileDone:
        actor = by or (NOBODY if memory.author == NOBODY.id else desk.hands.own(tx))
        call = call_of(tx, desk.means, desk.place, actor)
        done = written(tx, lambda: change.retire(call, memory, reason=reason))
        place = desk.place
        if isinstance(done, MinutebookError):
            readings.put(
                tx, missing(desk, path, why=done.message, advice=f"minutebook memories retire {memory.slug}")
            )
            return FileDone(path=path, kind=FileKind.NOTE, done="left", why=done.message)
        manifest.drop(tx, place.host, place.root, path)
        readings.drop(tx, place.host, place.root, path)
        return FileDone(path=path, kind=FileKind.NOTE, done="retired", why=f"verdict {done.verdict}")

    return desk.taken(work)


def missing(desk: Desk, path: str, *, why: str, advice: str, at: str | None = None) -> Reading:
    """A note that is not there, and what is waited for."""
    return Reading(
        host=desk.place.host,
        root=desk.place.root,
        path=path,
        project=desk.place.project,
        kind=FileKind.NOTE,
        digest="",
        state=FileState.WAITING,
        why=why,
        advice=advice,
        at=at or desk.means.world.clock(),
    )
