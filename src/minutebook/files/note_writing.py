"""Writing notes and their lists: what is about to be written is noted first, and that it was done, after.

In between a note is `late`. A crash leaves it so, and the next pass writes it; nothing is written over but what the
manifest knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from minutebook.files import safe_writing
from minutebook.files.lines import sha256_of
from minutebook.files.mirror_rules import Act, act
from minutebook.files.note_deciding import note_of
from minutebook.files.note_folders import Folder, file_name, folder_of, is_note
from minutebook.files.note_index import index_of, index_path, most_lines
from minutebook.files.note_rendering import render_note
from minutebook.files.note_taking import Desk, missing
from minutebook.files.safe import Facts, Root
from minutebook.ledger import manifest, memories, notes, readings
from minutebook.ledger.database import Tx
from minutebook.ledger.notes import Line
from minutebook.ledger.readings import Reading
from minutebook.model.errors import MinutebookError
from minutebook.model.files import FileDone, FileKind, FileState, WrittenFile
from minutebook.model.memories import Status

#: Notes that one folder is given; memories beyond them have none.
MOST_NOTES = 5_000
#: Files that are noted in one transaction before they are written.
_AT_ONCE = 200


def facts_text(facts: Facts) -> str:
    """Which file it is and when it was changed, as it is kept."""
    return f"{facts.device} {facts.inode} {facts.size} {facts.changed_ns}"


@dataclass(frozen=True, slots=True)
class Due:
    """A note that is to be written: over what stands there now, or where nothing does."""

    path: str
    memory: str
    was: str | None


class Writing:
    """What a pass has to write, and what became of it."""

    def __init__(self, desk: Desk, root: Root) -> None:
        self._desk = desk
        self._root = root
        self.due: list[Due] = []
        self.done: list[FileDone] = []

    def plan(self, lines: Iterable[Line], rows: Mapping[str, WrittenFile]) -> None:
        """Give a file to every memory that has none; `rows` are files of the manifest, by path."""
        place = self._desk.place
        lines = sorted(lines, key=lambda line: line.id)
        known = {row.ref for row in rows.values()}
        unknown = [line.id for line in lines if line.id not in known]
        with self._desk.means.database.read() as tx:
            found = manifest.of_refs(tx, place.host, place.root, unknown)
        known |= {row.ref for row in found if row.kind is FileKind.NOTE}
        known |= {due.memory for due in self.due}
        counts: dict[str, int] = {}
        for line in lines:
            folder = folder_of(line.scope, place.project)
            if folder is None:
                continue
            counts[folder.path] = counts.get(folder.path, 0) + 1
            path = folder.file(file_name(line.type, line.slug))
            if line.id in known or counts[folder.path] > MOST_NOTES or not is_note(path.rpartition("/")[2]):
                continue
            try:
                # What stands there without being ours is a hand's, and was dealt with as such.
                if path not in rows and self._root.look(path) is None:
                    self.due.append(Due(path, line.id, None))
            except MinutebookError as error:
                self.failed(path, error)

    def failed(self, path: str, error: MinutebookError) -> None:
        self.done.append(FileDone(path=path, kind=FileKind.NOTE, done="failed", why=error.message))

    def write(self) -> None:
        """Write what is due: note it, do it, then note that it is done."""
        for start in range(0, len(self.due), _AT_ONCE):
            due = self.due[start : start + _AT_ONCE]
            noted = self._desk.means.database.write(
                self._desk.place.project, lambda tx, due=due: self._noted(tx, due)
            )
            stands = [put for each, data, late in noted if (put := self._put(each, data, late)) is not None]
            if stands:
                self._desk.means.database.write(
                    self._desk.place.project, lambda tx, stands=stands: _note_all(tx, stands)
                )
        self.due.clear()

    def _noted(self, tx: Tx, due: list[Due]) -> list[tuple[Due, bytes, Reading]]:
        noted = []
        for each in due:
            memory = memories.get(tx, each.memory)
            if memory is None or memory.status is not Status.ACTIVE:
                continue  # it moved on meanwhile; the next pass sees what it is now
            data = render_note(note_of(memory))
            late = replace(
                missing(self._desk, each.path, why="", advice=""),
                digest=sha256_of(data),
                state=FileState.LATE,
                claimed=memory.revision,
            )
            row = self._row(each.path, FileKind.NOTE, late.digest, memory.seq)
            manifest.put(tx, replace(row, ref=memory.id, base_revision=memory.revision))
            readings.put(tx, late)
            noted.append((each, data, late))
        return noted

    def _row(self, path: str, kind: FileKind, digest: str, seq: int) -> WrittenFile:
        place = self._desk.place
        return WrittenFile(
            host=place.host,
            root=place.root,
            path=path,
            project=place.project,
            kind=kind,
            digest=digest,
            seq=seq,
            at=self._desk.means.world.clock(),
        )

    def _put(self, each: Due, data: bytes, late: Reading) -> Reading | None:
        """Write one file; None where that could not be."""
        try:
            new_id = self._desk.means.world.ids.new
            put = safe_writing.write(self._root, each.path, data, was=each.was, new_id=new_id)
        except MinutebookError as error:
            if error.code == "file_changed":
                # A hand was faster: its words are read in the next pass.
                self.done.append(FileDone(path=each.path, kind=FileKind.NOTE, done="left", why=error.message))
            else:
                self.failed(each.path, error)
            return None
        self.done.append(FileDone(path=each.path, kind=FileKind.NOTE, done="written"))
        return replace(late, state=FileState.IN_STEP, facts=facts_text(put.facts))

    # --- the lists ---

    def index(self, folders: Iterable[Folder]) -> None:
        """Write the list of each folder anew where it is not as it should be."""
        for folder in folders:
            try:
                self._index(folder)
            except MinutebookError as error:
                self.failed(index_path(folder), error)

    def _index(self, folder: Folder) -> None:
        place, path, database = self._desk.place, index_path(folder), self._desk.means.database
        with database.read() as tx:
            lines, count = notes.newest(tx, folder.scope, limit=most_lines())
            rows = manifest.of_refs(tx, place.host, place.root, [line.id for line in lines])
            names = {row.ref: row.path.rpartition("/")[2] for row in rows if row.kind is FileKind.NOTE}
            row = manifest.get(tx, place.host, place.root, path)
            data = index_of(lines, count, lambda line: names.get(line.id) or file_name(line.type, line.slug))
            found = self._root.read(path) if row is not None or data is not None else None
            standing = None if found is None else found.sha256
            known = standing is not None and manifest.knows(tx, place.project, path, standing)
            seq = tx.settled
        if data is not None and found is None and not self._has_notes(folder):
            return  # git took the notes away with their list: it alone would keep git from bringing them back
        wanted = "" if data is None else sha256_of(data)
        what, new_id = act(standing, wanted, known=known), self._desk.means.world.ids.new
        put = self._row(path, FileKind.INDEX, wanted, seq)
        if what is Act.NOTHING and data is not None and row is None:
            database.write(
                place.project, lambda tx: manifest.put(tx, put)
            )  # ours, and forgotten with its directory
        elif data is not None and what is Act.WRITE:
            database.write(place.project, lambda tx: manifest.put(tx, put))
            safe_writing.write(self._root, path, data, was=standing, new_id=new_id)
            self.done.append(FileDone(path=path, kind=FileKind.INDEX, done="written"))
        elif what is Act.REMOVE and standing is not None:
            safe_writing.delete(self._root, path, was=standing, new_id=new_id)
            self.done.append(FileDone(path=path, kind=FileKind.INDEX, done="removed"))
        if data is None and row is not None:
            database.write(place.project, lambda tx: manifest.drop(tx, place.host, place.root, path))

    def _has_notes(self, folder: Folder) -> bool:
        return any(is_note(named.name) for named in self._root.names(folder.path) or ())


def _note_all(tx: Tx, stands: Iterable[Reading]) -> None:
    for reading in stands:
        readings.put(tx, reading)
