"""Notes: curated Markdown that people edit. A saved edit is a write through the controller, and the files follow.

Shown as notes is what informs, of the scopes that have a folder: the project's and its agents' in each workspace, the
global ones and those of agents everywhere in the home. Decisions are in the mirror, and no file can make one.
"""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Iterator, Sequence

from minutebook.files import safe_writing
from minutebook.files.git_tree import in_between, made_of, tree_of
from minutebook.files.hands import Hands
from minutebook.files.note_folders import MEMORY as FOLDER
from minutebook.files.note_folders import (
    Folder,
    agent_of,
    agents_path,
    base_of,
    folder_of,
    is_text,
    nameless,
    scope_of_agent,
)
from minutebook.files.note_index import index_path
from minutebook.files.note_pass import Listing, Pass, Tree, is_listed
from minutebook.files.note_rendering import INDEX
from minutebook.files.note_rest import MOST_AGENTS, Rests, moment_at
from minutebook.files.note_taking import Desk
from minutebook.files.note_writing import MOST_NOTES, facts_text
from minutebook.files.place import Means, Place, enter
from minutebook.files.safe import Facts, Named, Root, Sort
from minutebook.ledger import manifest, notes, positions, readings
from minutebook.ledger.database import Tx
from minutebook.model.errors import MinutebookError
from minutebook.model.files import FileDone, FileKind, FileLine, FileState, Wish
from minutebook.model.scopes import GLOBAL, Scope

#: The name of the notes in the table of positions.
FOLLOWER = "notes"
#: Beyond so many changes at once everything is looked through.
_MOST_CHANGES = 1_000


class NotesPart:
    """Keeps the notes of any workspace, and of the home. One pass at a time for each of them."""

    def __init__(self, person: str) -> None:
        self._hands = Hands(person)
        self._locks: dict[str, threading.Lock] = {}
        self._guard = threading.Lock()
        #: the list of a folder as it was last seen to: up to where in the log, and which file it was
        self._listed: dict[tuple[Place, str], tuple[int, Facts | None]] = {}
        self._rests = Rests()

    def settle(self, means: Means, place: Place, wish: Wish) -> Sequence[FileDone]:
        return self.run(means, place, wish)

    def run(
        self,
        means: Means,
        place: Place,
        wish: Wish = Wish(),  # noqa: B008
        *,
        files: bool = True,
        forced: frozenset[str] = frozenset(),
    ) -> list[FileDone]:
        """One pass. `files`: look at all of them; else follow the ledger.

        `forced` names files that surely changed, and are read whatever their times say.
        """
        with self._lock_of(place), _opened(place) as root:
            if root is None:
                return []
            usual = files and not forced and not (wish.confirm_deletions or wish.bring_back)
            before = moment_at(means, root, place) if usual else None
            if self._rests.holds(means, place, before) is not None:
                return []
            if files:
                self._rests.forget(place)
            work, position, seq = self._prepared(means, place, root, wish, forced, files=files)
            if work is None:
                return []
            listings, faults = _listed(means, place, root, work)
            work.done += [
                FileDone(
                    path=str(fault.details["path"]), kind=FileKind.NOTE, done="failed", why=fault.message
                )
                for fault in faults
            ]
            work.listings = listings
            if files:
                for listing in listings.values():
                    _sweep(root, listing)
            work.settle(_paths(work, files=files, unread={str(f.details.get("path")) for f in faults}))
            work.writing.plan(work.lines.values(), work.rows)
            work.writing.write()
            self._list_anew(means, place, root, work, seq, files=files)
            self._remember(means, place, root, work, position, seq, files=files)
            if before is not None:
                self._rests.note(place, before, work)
            return work.done

    def look(self, means: Means, place: Place, *, settled: bool = False) -> Sequence[FileLine]:
        with _opened(place) as root:
            if root is None:
                return ()
            now = None if settled else moment_at(means, root, place)
            rest = self._rests.of(place) if settled else self._rests.holds(means, place, now)
            if rest is not None and rest.lines is not None:
                return rest.lines
            work, _, _ = self._prepared(means, place, root, Wish(), frozenset(), files=True, whole=True)
            assert work is not None
            work.listings, faults = _listed(means, place, root, work)
            lines = [
                FileLine(
                    str(fault.details.get("path", "")), FileKind.NOTE, FileState.UNREADABLE, fault.message
                )
                for fault in faults
            ]
            unread = {str(fault.details.get("path")) for fault in faults}
            lines += [_line(work, path) for path in sorted(_paths(work, files=True, unread=unread))]
            lines += [
                nameless(listing.folder.file(name), FileKind.NOTE)
                for listing in work.listings.values()
                for name in listing.names or ()
                if not is_text(name)
            ]
            told = (*lines, *_without_notes(work), *_index_lines(means, place, root))
            if rest is not None:
                self._rests.tell(place, rest, told)
            return told

    # --- inside ---

    def _list_anew(
        self, means: Means, place: Place, root: Root, work: Pass, seq: int, *, files: bool
    ) -> None:
        """Write the lists anew of folders in which something happened; what another process did is seen at the file."""
        due = _folders_touched(work)
        if files:
            known = {path: self._listed.get((place, path)) for path in work.listings}
            oldest = min((each[0] for each in known.values() if each is not None), default=0)
            with means.database.read() as tx:
                quiet = notes.changed(tx, oldest, seq, most=0) == []
            same = {
                path for path, each in known.items() if each is not None and each[1] == _list_at(work, path)
            }
            due |= set(work.listings) - (same if quiet else set())
        folders = [listing.folder for path, listing in work.listings.items() if path in due]
        work.writing.index(folders)
        for folder in folders if files else ():
            named = root.look(index_path(folder))
            self._listed[place, folder.path] = (seq, None if named is None else named.facts)

    def _lock_of(self, place: Place) -> threading.Lock:
        with self._guard:
            return self._locks.setdefault(place.part, threading.Lock())

    def _prepared(
        self,
        means: Means,
        place: Place,
        root: Root,
        wish: Wish,
        forced: frozenset[str],
        *,
        files: bool,
        whole: bool = False,
    ) -> tuple[Pass | None, int, int]:
        """A pass with what the ledger knows; None where nothing happened that it could be about."""
        tree = Tree()
        if files:
            tree = self._tree(means, place, root, settling=not whole)
        with means.database.read() as tx:
            seq, position = tx.settled, positions.get(tx, FOLLOWER, place.part)
            ids = None
            if 0 < position <= seq and not files:
                ids = notes.changed(tx, position, seq, most=_MOST_CHANGES)
                if not ids and seq == position:
                    return None, position, seq
            work = Pass(Desk(means, place, self._hands), root, wish, tree=tree, looked=files, forced=forced)
            work.load(tx, ids=ids)
            return work, position, seq

    def _tree(self, means: Means, place: Place, root: Root, *, settling: bool) -> Tree:
        """What git did since the last look. Where another directory stands in the old one's place, nothing is known."""
        with means.database.read() as tx:
            before = readings.look(tx, place.host, place.root)
        if before is not None and before.made != made_of(root) and settling:

            def forget(tx: Tx) -> None:
                readings.forget(tx, place.host, place.root, FileKind.NOTE)
                for row in manifest.of_root(tx, place.host, place.root, (FileKind.NOTE, FileKind.INDEX)):
                    manifest.drop(tx, place.host, place.root, row.path)

            means.database.write(place.project, forget)
        try:
            moved = before is not None and before.tree != tree_of(root)
            return Tree(moved=moved, settled=not in_between(root))
        except MinutebookError:
            # Git's folder cannot be read: then nothing is concluded from what is not there.
            return Tree(moved=True, settled=False)

    def _remember(
        self, means: Means, place: Place, root: Root, work: Pass, position: int, seq: int, *, files: bool
    ) -> None:
        """Note how far the log was followed, and where git stands. A file that could not be written is not forgotten:
        the manifest has it."""
        look = readings.Look(made_of(root), tree_of(root)) if files and work.settled else None
        with means.database.read() as tx:
            before = readings.look(tx, place.host, place.root)
        if position == seq and look in (None, before):
            return
        at = means.world.clock()

        def note(tx: Tx) -> None:
            if position != seq:
                positions.put(tx, FOLLOWER, seq, at, place.part)
            if look is not None:
                readings.put_look(tx, place.host, place.root, look, at)

        means.database.write(place.project, note)


@contextlib.contextmanager
def _opened(place: Place) -> Iterator[Root | None]:
    """The workspace, if its files are kept; the home's always are."""
    root, binding = enter(place)
    with root:
        yield root if binding.mirror else None


def _listed(
    means: Means, place: Place, root: Root, work: Pass
) -> tuple[dict[str, Listing], list[MinutebookError]]:
    """Every folder that holds notes or should, with the names in it. One that cannot be read is told, and not empty."""
    own = Scope.everywhere() if place.project == GLOBAL else Scope.of_project(place.project)
    folders = {f"{base_of(place.project)}{FOLDER}": Folder(f"{base_of(place.project)}{FOLDER}", own)}
    faults: list[MinutebookError] = []
    with means.database.read() as tx:
        known = notes.agents(tx, place.project)
    for line in work.lines.values():
        folder = folder_of(line.scope, place.project)
        if folder is not None:
            folders[folder.path] = folder
    held = {path.rpartition("/")[0] for path in work.rows}
    for agent in known:
        folder = folder_of(scope_of_agent(place.project, agent), place.project)
        if folder is not None and folder.path in held:
            folders[folder.path] = folder
    try:
        for named in (
            () if not work.looked else root.names(agents_path(place.project), most=MOST_AGENTS) or ()
        ):
            path = f"{agents_path(place.project)}/{named.name}/{FOLDER}"
            if named.sort is Sort.FOLDER and path not in folders and root.look(path) is not None:
                scope = scope_of_agent(place.project, agent_of(named.name, known))
                folders[path] = Folder(path, scope)
    except MinutebookError as error:
        faults.append(_of(error, agents_path(place.project)))
    listings: dict[str, Listing] = {}
    for path, folder in folders.items():
        if not work.looked:
            listings[path] = Listing(folder, None)
            continue
        try:
            found = root.names(path)
        except MinutebookError as error:
            faults.append(_of(error, path))
            continue
        listings[path] = Listing(folder, None if found is None else _by_name(found))
    return listings, faults


def _of(error: MinutebookError, path: str) -> MinutebookError:
    return MinutebookError(error.code, error.message, **{**error.details, "path": path})


def _by_name(found: Sequence[Named]) -> dict[str, Named]:
    return {named.name: named for named in found}


def _sweep(root: Root, listing: Listing) -> None:
    if any(safe_writing.is_ours(name) for name in listing.names or ()):
        safe_writing.sweep(root, listing.folder.path)


def _paths(work: Pass, *, files: bool, unread: set[str]) -> set[str]:
    """The paths that a pass is about: none of a folder that could not be read."""
    paths = set(work.rows) | set(work.readings)
    if files:
        paths |= {
            listing.folder.file(name)
            for listing in work.listings.values()
            for name, named in (listing.names or {}).items()
            if is_listed(name) and named.sort is not Sort.FOLDER
        }
    return {path for path in paths if not any(path.startswith(f"{folder}/") for folder in unread)}


def _folders_touched(work: Pass) -> set[str]:
    """The folders of which a pass changed something, or follows something."""
    touched = {done.path.rpartition("/")[0] for done in work.done}
    if not work.looked:
        for line in work.lines.values():
            folder = folder_of(line.scope, work.desk.place.project)
            if folder is not None:
                touched.add(folder.path)
    return touched


def _list_at(work: Pass, folder: str) -> Facts | None:
    """Which file the list of a folder is."""
    named = (work.listings[folder].names or {}).get(INDEX)
    return None if named is None else named.facts


# --- telling ----------------------------------------------------------------------------------------------


def _line(work: Pass, path: str) -> FileLine:
    """How one note stands, by what was last read of it and what can be seen now."""
    row, reading = work.rows.get(path), work.readings.get(path)
    listing = work.listings.get(path.rpartition("/")[0])
    named = (listing.names or {}).get(path.rpartition("/")[2]) if listing is not None else None
    line = work.lines.get(row.ref) if row is not None else None
    if named is None:
        if reading is not None and reading.state is FileState.WAITING:
            return FileLine(path, FileKind.NOTE, FileState.WAITING, reading.why, reading.advice)
        why = (
            "it is not written yet" if reading is None or reading.state is FileState.LATE else "it is missing"
        )
        return FileLine(path, FileKind.NOTE, FileState.LATE, why, "minutebook files sync")
    same = reading is not None and reading.facts == facts_text(named.facts)
    if not same:
        try:
            found = work.root.read(path)
        except MinutebookError as error:
            return FileLine(path, FileKind.NOTE, FileState.UNREADABLE, error.message)
        same = found is not None and reading is not None and reading.digest == found.sha256
    if not same or reading is None:
        return FileLine(path, FileKind.NOTE, FileState.EDITED, "it is not read yet", "minutebook files sync")
    if reading.state is FileState.IN_STEP and row is not None and line is not None:
        if line.revision != row.base_revision:
            return FileLine(
                path, FileKind.NOTE, FileState.LATE, "the ledger has moved on", "minutebook files sync"
            )
        return FileLine(path, FileKind.NOTE, FileState.IN_STEP)
    if reading.state is FileState.IN_STEP:
        return FileLine(path, FileKind.NOTE, FileState.LATE, "it is to be removed", "minutebook files sync")
    return FileLine(path, FileKind.NOTE, reading.state, reading.why, reading.advice, reading.line)


def _without_notes(work: Pass) -> list[FileLine]:
    """Folders that are full: what has no note there is in the ledger all the same."""
    shown = {row.ref for row in work.rows.values()}
    left: Counter[str] = Counter()
    for line in work.lines.values():
        folder = folder_of(line.scope, work.desk.place.project)
        if folder is not None and line.id not in shown:
            left[folder.path] += 1
    full = {path for path in left if work.counts[path] >= MOST_NOTES}
    return [
        FileLine(
            path,
            FileKind.NOTE,
            FileState.LATE,
            f"{left[path]:,} memories have no note: {MOST_NOTES:,} is the most",
        )
        for path in sorted(full)
    ]


def _index_lines(means: Means, place: Place, root: Root) -> list[FileLine]:
    """The generated lists: those that a hand changed are left alone, and said."""
    with means.database.read() as tx:
        rows = manifest.of_root(tx, place.host, place.root, (FileKind.INDEX,))
    lines = []
    for row in rows:
        try:
            found = root.read(row.path)
        except MinutebookError as error:
            lines.append(FileLine(row.path, FileKind.INDEX, FileState.UNREADABLE, error.message))
            continue
        if found is None:
            state, why, advice = (
                FileState.LATE,
                "it is not there",
                "it comes back with the notes of its folder",
            )
        elif found.sha256 == row.digest:
            state, why, advice = FileState.IN_STEP, "", ""
        else:
            state, why = FileState.EDITED, f"{INDEX} is generated; what was changed in it is left alone"
            advice = "remove it, and it is written anew"
        lines.append(FileLine(row.path, FileKind.INDEX, state, why, advice))
    return lines
