"""What a hand did to one file: laid it there, changed it, gave it another name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from minutebook.files import note_taking
from minutebook.files.note_deciding import (
    Held,
    Known,
    Step,
    base_of,
    decide,
    words_as_written,
    words_of,
)
from minutebook.files.note_folders import slug_of
from minutebook.files.note_rendering import read_note
from minutebook.files.note_taking import Saved
from minutebook.files.note_writing import MOST_NOTES, Due
from minutebook.ledger import manifest, memories, readings, revisions
from minutebook.ledger.database import Tx
from minutebook.model.errors import MinutebookError
from minutebook.model.files import FileDone, FileKind, FileState, WrittenFile
from minutebook.model.ids import is_ulid
from minutebook.model.memories import Memory, Status

if TYPE_CHECKING:
    from minutebook.files.note_pass import Pass


def take(work: Pass, saved: Saved, row: WrittenFile | None) -> None:
    """Deal with a note that is not as it was; `row` is what the manifest has of its path."""
    meant = _moved_here(work, saved, row)
    if meant is not None:
        moved = work.row_of(meant.id)
        if moved is not None:
            _move(work, moved, saved)
        _changed(work, saved, None if moved is None else replace(moved, path=saved.path), meant)
    elif row is not None:
        if _is_copy(work, saved, row):
            error = MinutebookError("bad_file", "It has the id of another note.")
            work.unreadable(saved.path, error, digest=saved.digest, facts=saved.facts)
            return
        with work.desk.means.database.read() as tx:
            memory = memories.get(tx, row.ref)
        _changed(work, saved, row, memory)
    else:
        _new(work, saved)


def _new(work: Pass, saved: Saved) -> None:
    slug = slug_of(saved.path.rpartition("/")[2], saved.note.type)
    with work.desk.means.database.read() as tx:
        memory = memories.of_identity(tx, saved.folder.scope, saved.note.type, slug)
    if memory is None:
        if work.counts[saved.folder.path] >= MOST_NOTES:
            error = MinutebookError("too_many", f"The folder has {MOST_NOTES:,} notes already.")
            work.unreadable(saved.path, error, digest=saved.digest, facts=saved.facts)
            return
        work.counts[saved.folder.path] += 1
        work.done.append(note_taking.add(work.desk, saved, slug))
        return
    other = work.row_of(memory.id)
    if other is not None and other.path == saved.path:
        # Another process took it in since we looked.
        _changed(work, saved, other, memory)
        return
    if other is not None and work.root.look(other.path) is not None:
        why = f"The note of that name is {other.path.rpartition('/')[2]}."
        work.put(work.desk.reading(saved, FileState.REFUSED, why=why, advice="give the file another name"))
        work.done.append(FileDone(path=saved.path, kind=FileKind.NOTE, done="left", why=why))
        return
    if other is not None:
        _move(work, other, saved)
    _changed(work, saved, None if other is None else replace(other, path=saved.path), memory)


# --- names ------------------------------------------------------------------------------------------------


def _named_by_id(work: Pass, saved: Saved) -> Memory | None:
    """The memory of this folder that the file says it shows."""
    if not saved.note.id or not is_ulid(saved.note.id):
        return None
    with work.desk.means.database.read() as tx:
        memory = memories.get(tx, saved.note.id)
    if memory is None or memory.scope != saved.folder.scope or memory.status is not Status.ACTIVE:
        return None
    return memory if memory.type is saved.note.type else None


def _moved_here(work: Pass, saved: Saved, row: WrittenFile | None) -> Memory | None:
    """The memory whose note was given this name: it has its id, and its own file is gone or shows another."""
    memory = _named_by_id(work, saved)
    if memory is None or (row is not None and row.ref == memory.id):
        return None
    own = work.row_of(memory.id)
    if own is not None and _id_at(work, own.path) == memory.id:
        return None
    return memory


def _is_copy(work: Pass, saved: Saved, row: WrittenFile) -> bool:
    memory = _named_by_id(work, saved)
    return memory is not None and memory.id != row.ref


def _id_at(work: Pass, path: str) -> str | None:
    """The id in a file; None where there is none, or no file."""
    found = work.root.read(path)
    try:
        return None if found is None else read_note(found.data).id
    except MinutebookError:
        return None  # what is no note shows no memory


def _move(work: Pass, row: WrittenFile, saved: Saved) -> None:
    """A note was given another name: its memory is the same."""
    place, moved = work.desk.place, replace(row, path=saved.path)
    before = work.readings.pop(row.path, None)
    if before is not None:
        before = replace(before, path=saved.path, state=FileState.IN_STEP, why="", advice="")

    def note(tx: Tx) -> None:
        manifest.drop(tx, place.host, place.root, row.path)
        readings.drop(tx, place.host, place.root, row.path)
        manifest.put(tx, moved)
        if before is not None:
            readings.put(tx, before)

    work.desk.means.database.write(place.project, note)
    work.rows.pop(row.path, None)
    work.rows[saved.path] = moved
    if before is not None:
        work.readings[saved.path] = before
    work.done.append(FileDone(path=saved.path, kind=FileKind.NOTE, done="renamed", why=f"from {row.path}"))


# --- words --------------------------------------------------------------------------------------------------


def _changed(work: Pass, saved: Saved, row: WrittenFile | None, memory: Memory | None) -> None:
    """A file that is not as it was: who moved, and what follows."""
    place, reading = work.desk.place, work.readings.get(saved.path)
    saved = replace(saved, before=reading)
    line = None if memory is None else work.line_of(memory.id)
    stands = memory is not None and line is not None and memory.status is Status.ACTIVE
    if memory is not None and stands and saved.note.type is not memory.type:
        told = f"The type is {memory.type}; a note of another type is another note."
        work.unreadable(saved.path, MinutebookError("bad_file", told), digest=saved.digest, facts=saved.facts)
        return
    known = None
    if row is not None:
        known = Known(row.digest, row.base_revision or 0, reading.claimed if reading else None)
    held = Held(saved.digest, saved.note.revision, memory is None or saved.note.id in (None, memory.id))
    with work.desk.means.database.read() as tx:
        base = base_of(known, held)
        then = None if memory is None or base is None else revisions.at(tx, memory.id, base)
        once = manifest.knows(tx, place.project, saved.path, saved.digest)
        if memory is not None and known is None and held.same_id and held.claimed is not None and not once:
            # A clone brings what another workspace wrote.
            shown = revisions.at(tx, memory.id, held.claimed)
            once = shown is not None and words_as_written(shown) == words_of(saved.note)
    now = None if memory is None else words_as_written(memory)
    step = decide(
        known,
        held,
        stands=stands,
        revision=memory.revision if memory is not None else 0,
        agrees=stands and words_of(saved.note) == now,
        unchanged=then is not None and words_as_written(then) == now,
        once=once,
        moved=work.moved,
    )
    _follow(work, step, saved, memory)


def _follow(work: Pass, step: Step, saved: Saved, memory: Memory | None) -> None:
    """Do what was decided."""
    slug = slug_of(saved.path.rpartition("/")[2], saved.note.type)
    if memory is None:
        work.done.append(note_taking.add(work.desk, saved, slug))
    elif step is Step.ORPHAN and memory.status is Status.ERASED:
        why = "What it says was erased; remove the file by hand."
        work.put(work.desk.reading(saved, FileState.CONFLICT, why=why))
        work.done.append(FileDone(path=saved.path, kind=FileKind.NOTE, done="left", why=why))
    elif step is Step.ORPHAN:
        why = f"{memory.slug!r} is {memory.status} meanwhile."
        work.done.append(note_taking.orphan(work.desk, saved, slug, why))
    elif step is Step.AGREE:
        work.desk.means.database.write(
            work.desk.place.project,
            lambda tx: note_taking.in_step(tx, work.desk, saved, memory.id, memory.revision, memory.seq),
        )
        work.done.append(FileDone(path=saved.path, kind=FileKind.NOTE, done="read", why="in step"))
    elif step is Step.FOLLOW:
        work.writing.due.append(Due(saved.path, memory.id, saved.digest))
    elif step is Step.REMOVE:
        work.remove(saved.path, saved.digest)
    elif step in (Step.EDIT, Step.RIVAL):
        work.done.append(note_taking.edit(work.desk, saved, memory, rival=step is Step.RIVAL))
