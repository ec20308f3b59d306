"""What a note and its memory mean to each other: which of the two moved, and what follows. Pure.

A file is known by its hash. What it was when the two were last in step is in the manifest; what it says of itself is
in its front matter. Where both moved, nobody's words are lost: the ledger keeps its own, the file keeps the hand's,
and a proposal holds both for a reviewer.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from minutebook.files.note_rendering import Note, read_note, render_note
from minutebook.model.memories import Memory
from minutebook.model.scopes import ScopeKind


class Step(StrEnum):
    """What is to be done about one note."""

    NOTHING = "nothing"
    #: they say the same: note that they are in step
    AGREE = "agree"
    #: the file shows what once stood: write what stands now
    FOLLOW = "follow"
    #: the memory stands no more, and the file is as we left it
    REMOVE = "remove"
    #: a hand changed what stands: a write
    EDIT = "edit"
    #: a hand changed what once stood: a proposal, with both versions kept
    RIVAL = "rival"
    #: a hand changed a note whose memory stands no more
    ORPHAN = "orphan"
    #: the file is not there
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Known:
    """A note when it was last in step: what the file held, which revision that was, and which one it named."""

    digest: str
    revision: int
    claimed: int | None


@dataclass(frozen=True, slots=True)
class Held:
    """A file as it is: its hash, the revision that it names, and whether that is of this memory."""

    digest: str
    claimed: int | None
    #: False where its `id` is that of another memory, or of another ledger's
    same_id: bool = True


@dataclass(frozen=True, slots=True)
class Words:
    """What a note says, by which two are compared: not in which order, nor by whom."""

    title: str
    text: str
    description: str | None
    tags: tuple[str, ...]
    importance: str


def base_of(known: Known | None, held: Held) -> int | None:
    """The revision on which a changed file stands; None where that cannot be told."""
    if known is not None and held.claimed in (None, known.claimed):
        return known.revision
    return held.claimed if held.same_id else None


def decide(
    known: Known | None,
    held: Held | None,
    *,
    stands: bool,
    revision: int,
    agrees: bool,
    unchanged: bool,
    once: bool,
    moved: bool,
) -> Step:
    """Say what follows.

    `stands`: the memory is active, here, at `revision`. `agrees`: the file says what it says. `unchanged`: the memory
    says what it said at the file's base. `once`: the file holds what was in step before. `moved`: git changed the
    working tree since the last look.
    """
    if not stands:
        if held is None:
            return Step.REMOVE
        return Step.REMOVE if once or (known is not None and held.digest == known.digest) else Step.ORPHAN
    if held is None:
        return Step.MISSING
    if known is not None and held.digest == known.digest:
        if known.revision == revision:
            return Step.NOTHING
        return Step.AGREE if unchanged else Step.FOLLOW
    if agrees:
        return Step.AGREE
    if once and (moved or known is None or held.claimed != known.claimed):
        # Nobody typed this: git put back what we once wrote. What a hand takes back by itself names the present.
        return Step.FOLLOW
    base = base_of(known, held)
    return Step.EDIT if base is not None and (base == revision or unchanged) else Step.RIVAL


class Loss(StrEnum):
    """What the absence of notes means."""

    #: a hand may have deleted it: look again in a while
    LOOK_AGAIN = "look again"
    #: it was looked for twice: it is retired
    RETIRE = "retire"
    #: somebody has to say so
    ASK = "ask"


@dataclass(frozen=True, slots=True)
class Absence:
    """A note that is not there."""

    #: seconds since it was first missed; None at the first look
    missed_for: float | None
    #: it was asked about before
    asked: bool = False
    #: the memory changed since the file was last in step
    changed: bool = False


def loss(
    absent: Absence,
    *,
    missing: int,
    all_notes: int,
    folder: bool,
    moved: bool,
    confirmed: bool,
    rules: LossRules,
) -> tuple[Loss, str]:
    """What the absence of a note means, and why.

    `missing` of `all_notes` in the folder are not there, not counting those that were asked about; `folder`: the
    folder itself is there.
    """
    if confirmed:
        return Loss.RETIRE, "its note was deleted, and the deletion confirmed"
    if absent.asked:
        return Loss.ASK, ""
    if not folder:
        return Loss.ASK, "its whole folder is not there"
    if moved:
        return Loss.ASK, "git changed the working tree in between"
    if missing > rules.many or (missing == all_notes and all_notes > 1):
        return Loss.ASK, f"{missing} notes are missing at once"
    if absent.changed:
        return Loss.ASK, "the memory was changed since the note was written"
    if absent.missed_for is None or absent.missed_for < rules.wait:
        return Loss.LOOK_AGAIN, "it is missing, and looked for once more"
    return Loss.RETIRE, "its note was deleted"


@dataclass(frozen=True, slots=True)
class LossRules:
    """When a deletion is taken at its word."""

    #: seconds between the two looks
    wait: float = 3.0
    #: more of one folder than so many are never taken for deleted without a word
    many: int = 5


def note_of(memory: Memory) -> Note:
    """A memory as a file shows it."""
    return Note(
        title=memory.title,
        type=memory.type,
        text=memory.content,
        description=memory.summary,
        tags=memory.tags,
        importance=memory.importance,
        agent=memory.scope.agent if memory.scope.kind is ScopeKind.AGENT else None,
        id=memory.id,
        revision=memory.revision,
    )


def words_of(note: Note) -> Words:
    return Words(note.title, note.text, note.description, note.tags, note.importance.value)


def words_as_written(memory: Memory) -> Words:
    """The words of a memory as they are read back from its file."""
    return words_of(read_note(render_note(note_of(memory))))
