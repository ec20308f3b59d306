"""One pass over the notes of a workspace: what hands saved goes to the ledger, then the files follow it.

Nothing is written over or deleted but what was in step before, byte by byte. A row of the manifest is put before its
file is written and says `late` until that is done: after a crash a file that is missing is known to be one that we
did not get to write, and is never taken for one that somebody deleted.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from minutebook.files import safe_writing
from minutebook.files.mirror_rules import has_conflict_marks
from minutebook.files.note_deciding import words_as_written
from minutebook.files.note_folders import Folder, is_note, is_reserved, slug_of
from minutebook.files.note_hand import take
from minutebook.files.note_losses import absent, lost_in
from minutebook.files.note_rendering import INDEX, Note, read_note
from minutebook.files.note_taking import Desk, Saved, missing, tags_of
from minutebook.files.note_writing import Due, Writing, facts_text
from minutebook.files.safe import Found, Named, Root, Sort
from minutebook.ledger import inbox, manifest, memories, notes, readings, revisions
from minutebook.ledger.database import Tx
from minutebook.ledger.notes import Line
from minutebook.ledger.readings import Reading
from minutebook.model.errors import MinutebookError
from minutebook.model.files import FileDone, FileKind, FileState, Wish, WrittenFile
from minutebook.model.inbox import ProposalStatus
from minutebook.model.text import fold_name, plain

#: What is read of one note at most: the controller takes less, and says so.
MOST_NOTE_BYTES = 1024 * 1024
#: What was said of a file stays said until it changes.
_JUDGED = frozenset({FileState.UNREADABLE, FileState.REFUSED, FileState.CONFLICT})


@dataclass(frozen=True, slots=True)
class Listing:
    """A folder of notes and the names in it; None where there is no such folder."""

    folder: Folder
    names: dict[str, Named] | None


@dataclass(frozen=True, slots=True)
class Tree:
    """What git did: it changed the working tree since the last look, and is done with what it does."""

    moved: bool = False
    settled: bool = True


class Pass:
    """What one pass knows, and what it has done."""

    def __init__(
        self, desk: Desk, root: Root, wish: Wish, *, tree: Tree, looked: bool, forced: frozenset[str]
    ) -> None:
        self.desk = desk
        self.root = root
        self.wish = wish
        self.moved, self.settled = tree.moved, tree.settled
        #: every file is looked at; else only those of memories that changed, and nothing is concluded from absence
        self.looked = looked
        self.forced = forced
        self.writing = Writing(desk, root)
        self.done = self.writing.done
        self.rows: dict[str, WrittenFile] = {}
        self.readings: dict[str, Reading] = {}
        self.lines: dict[str, Line] = {}
        self.listings: dict[str, Listing] = {}
        self._seen: dict[str, str] = {}
        #: of each folder: notes that are missing, notes in all, and whether it is there
        self.losses: dict[str, tuple[int, int, bool]] = {}
        #: notes of each folder
        self.counts: Counter[str] = Counter()

    # --- the whole ---

    def load(self, tx: Tx, *, ids: list[str] | None) -> None:
        """What the ledger knows: of everything, or of the memories that changed."""
        place = self.desk.place
        if ids is None:
            self.lines = {line.id: line for line in notes.standing(tx, place.project)}
            rows = manifest.of_root(tx, place.host, place.root, (FileKind.NOTE,))
            self.readings = readings.of_root(tx, place.host, place.root, FileKind.NOTE)
        else:
            self.lines = {line.id: line for line in notes.of_ids(tx, place.project, ids)}
            rows = [r for r in manifest.of_refs(tx, place.host, place.root, ids) if r.kind is FileKind.NOTE]
            self.readings = readings.unsettled(tx, place.host, place.root)
            for row in rows:
                known = readings.get(tx, place.host, place.root, row.path)
                if known is not None:
                    self.readings[row.path] = known
            for path in self.readings.keys() - {row.path for row in rows}:
                row = manifest.get(tx, place.host, place.root, path)
                if row is not None:
                    rows.append(row)
                    self.lines |= {line.id: line for line in notes.of_ids(tx, place.project, [row.ref])}
        self.rows = {row.path: row for row in rows}
        self.counts = Counter(path.rpartition("/")[0] for path in self.rows)

    def settle(self, paths: Iterable[str]) -> None:
        """Deal with each path, one for itself: what is there before what is not, so that a new name is seen first."""
        # Counted before anything is done about any of them.
        self.losses = {folder: lost_in(self, folder) for folder in self.listings} if self.looked else {}
        found: list[str] = []
        gone: list[str] = []
        for path in sorted(paths):
            with self._told(path):
                (gone if self._named(path) is None else found).append(path)
        for path in [*found, *gone]:
            with self._told(path):
                self._settle(path)
        self._note_seen()

    @contextlib.contextmanager
    def _told(self, path: str) -> Iterator[None]:
        """One path that cannot be dealt with is told, and holds up no other."""
        try:
            yield
        except MinutebookError as error:
            if error.code == "ledger_closed":
                raise
            self.writing.failed(path, error)

    def _settle(self, path: str) -> None:
        self._follow_proposals(path)
        row, reading = self.rows.get(path), self.readings.get(path)
        named = self._named(path)
        if named is None:
            absent(self, path, row)
            return
        digest, found = self._digest(path, named, reading)
        if digest is None:
            return
        if reading is not None and reading.digest == digest and reading.state in _JUDGED:
            return
        if row is not None and digest == row.digest:
            self._as_we_left_it(row, reading, digest, named)
            return
        if not self.looked:
            self.done.append(FileDone(path=path, kind=FileKind.NOTE, done="unread", why="it was changed"))
            return
        found = found or self._read(path)
        note = None if found is None else self._note(path, found)
        if found is not None and note is not None:
            saved = Saved(path, self._folder(path), found.sha256, facts_text(found.facts), note, reading)
            take(self, saved, row)

    # --- looking ---

    def _named(self, path: str) -> Named | None:
        folder, _, name = path.rpartition("/")
        listing = self.listings.get(folder)
        if listing is None or not self.looked:
            return self.root.look(path)
        return None if listing.names is None else listing.names.get(name)

    def _digest(self, path: str, named: Named, reading: Reading | None) -> tuple[str | None, Found | None]:
        """The hash of a file, without reading one that is surely the same."""
        if (
            reading is not None
            and named.sort is Sort.FILE
            and path not in self.forced
            and reading.digest
            and reading.facts == facts_text(named.facts)
        ):
            return reading.digest, None
        try:
            found = self.root.read(path, most=MOST_NOTE_BYTES)
        except MinutebookError as error:
            self.unreadable(path, error, digest=f"unread {facts_text(named.facts)}")
            return None, None
        if found is None:
            return None, None
        if reading is not None and reading.digest == found.sha256:
            self._seen[path] = facts_text(found.facts)
        return found.sha256, found

    def _read(self, path: str) -> Found | None:
        return self.root.read(path, most=MOST_NOTE_BYTES)

    def _note(self, path: str, found: Found) -> Note | None:
        """The file as a note; where it is none, that is noted with its line."""
        folder, name = self._folder(path), path.rpartition("/")[2]
        try:
            if is_reserved(name):
                raise MinutebookError("bad_file", "Names that begin with _system are kept for programs.")
            if has_conflict_marks(found.data):
                raise MinutebookError("bad_file", "A merge left both sides in it; choose one.")
            note = read_note(found.data)
            slug_of(name, note.type)
            tags_of(note.tags)
            if not plain(note.text).strip():
                raise MinutebookError("blank_field", "There is nothing below the front matter.")
            agent = folder.scope.agent
            if note.agent is not None and fold_name(note.agent) != agent:
                raise MinutebookError(
                    "bad_file", "The agent in the front matter is not the one of the folder."
                )
        except MinutebookError as error:
            self.unreadable(path, error, digest=found.sha256, facts=facts_text(found.facts))
            return None
        return note

    def unreadable(self, path: str, error: MinutebookError, *, digest: str, facts: str = "") -> None:
        before = self.readings.get(path)
        if before is not None and (before.state, before.digest) == (FileState.UNREADABLE, digest):
            return
        line = error.details.get("line")
        reading = Reading(
            host=self.desk.place.host,
            root=self.desk.place.root,
            path=path,
            project=self.desk.place.project,
            kind=FileKind.NOTE,
            digest=digest,
            facts=facts,
            state=FileState.UNREADABLE,
            why=error.message,
            advice="mend the file; the memory stays as it is until then",
            line=line if isinstance(line, int) else None,
            claimed=before.claimed if before is not None else None,
            proposals=before.proposals if before is not None else (),
            at=self.desk.means.world.clock(),
        )
        self.put(reading)
        self.done.append(FileDone(path=path, kind=FileKind.NOTE, done="left", why=error.message))

    def row_of(self, memory: str) -> WrittenFile | None:
        """The note of a memory in this workspace."""
        place = self.desk.place
        with self.desk.means.database.read() as tx:
            found = manifest.of_refs(tx, place.host, place.root, [memory])
        return next((row for row in found if row.kind is FileKind.NOTE), None)

    def line_of(self, memory: str) -> Line | None:
        """A memory as it is shown; one that was added since the pass began too."""
        if memory not in self.lines:
            with self.desk.means.database.read() as tx:
                self.lines |= {line.id: line for line in notes.of_ids(tx, self.desk.place.project, [memory])}
        return self.lines.get(memory)

    def put(self, reading: Reading) -> None:
        self.readings[reading.path] = reading
        self.desk.means.database.write(self.desk.place.project, lambda tx: readings.put(tx, reading))

    def _folder(self, path: str) -> Folder:
        return self.listings[path.rpartition("/")[0]].folder

    def _follow_proposals(self, path: str) -> None:
        """What was proposed of a file may be decided by now: then the file follows what was decided."""
        reading, row, place = self.readings.get(path), self.rows.get(path), self.desk.place
        if reading is None or not reading.proposals or reading.state is FileState.UNREADABLE:
            return
        with self.desk.means.database.read() as tx:
            made = [found for id in reading.proposals if (found := inbox.get(tx, id)) is not None]
        if any(proposal.status is ProposalStatus.PENDING for proposal in made):
            return
        memory = next((proposal.memory for proposal in made if proposal.memory is not None), None)
        ref = memory or (row.ref if row is not None else None)
        if ref is None:
            told = made[0] if made else None
            why = (
                "Its proposal was erased."
                if told is None
                else f"{told.slug!r} was rejected by {told.reviewer}."
            )
            self.put(replace(reading, proposals=(), state=FileState.REFUSED, why=why, advice=""))
            return
        # Revision 0 is older than all: what the hand wrote is in the proposal, and the file shows the ledger again.
        follows = WrittenFile(
            host=place.host,
            root=place.root,
            path=path,
            project=place.project,
            kind=FileKind.NOTE,
            ref=ref,
            digest=reading.digest,
            base_revision=0,
            seq=made[0].seq if made else 0,
            at=self.desk.means.world.clock(),
        )
        settled = replace(reading, proposals=(), state=FileState.IN_STEP, why="", advice="")

        def work(tx: Tx) -> list[Line]:
            manifest.put(tx, follows)
            readings.put(tx, settled)
            return notes.of_ids(tx, place.project, [ref])

        found = self.desk.means.database.write(place.project, work)
        self.lines |= {line.id: line for line in found}
        self.rows[path], self.readings[path] = follows, settled

    # --- what the files owe to the ledger ---

    def _as_we_left_it(self, row: WrittenFile, reading: Reading | None, digest: str, named: Named) -> None:
        path, line = row.path, self.lines.get(row.ref)
        if line is None:
            self.remove(path, digest)
            return
        in_step = reading is not None and reading.state is FileState.IN_STEP
        if in_step and line.revision == row.base_revision:
            return
        fresh = replace(
            reading or missing(self.desk, path, why="", advice=""),
            digest=digest,
            facts=facts_text(named.facts),
            state=FileState.IN_STEP,
            why="",
            advice="",
        )
        if line.revision == row.base_revision:
            self.put(fresh)  # it is back, or was written by a pass that did not come to say so
            return
        with self.desk.means.database.read() as tx:
            memory = memories.get(tx, row.ref)
            then = revisions.at(tx, row.ref, row.base_revision or 0)
        assert memory is not None
        if then is not None and words_as_written(then) == words_as_written(memory):
            agreed = replace(
                row, base_revision=memory.revision, seq=memory.seq, at=self.desk.means.world.clock()
            )

            def work(tx: Tx) -> None:
                manifest.put(tx, agreed)
                readings.put(tx, fresh)

            self.desk.means.database.write(self.desk.place.project, work)
            self.rows[path] = agreed
            return
        self.writing.due.append(Due(path, row.ref, digest))

    def remove(self, path: str, digest: str) -> None:
        """Take a note away whose memory stands no more. What changed in this very moment stays."""
        if safe_writing.delete(self.root, path, was=digest, new_id=self.desk.means.world.ids.new):
            self.done.append(FileDone(path=path, kind=FileKind.NOTE, done="removed"))
        self.forget(path)

    def forget(self, path: str) -> None:
        place = self.desk.place

        def work(tx: Tx) -> None:
            manifest.drop(tx, place.host, place.root, path)
            readings.drop(tx, place.host, place.root, path)

        self.desk.means.database.write(place.project, work)
        self.rows.pop(path, None)
        self.readings.pop(path, None)

    def _note_seen(self) -> None:
        if self._seen:
            place, seen = self.desk.place, dict(self._seen)
            self.desk.means.database.write(
                place.project, lambda tx: readings.see(tx, place.host, place.root, seen)
            )


def is_listed(name: str) -> bool:
    """Whether a name in a folder of notes concerns us: notes, and names that no note may have."""
    return is_note(name) or (is_reserved(name) and name != INDEX)
