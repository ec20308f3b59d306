"""Notes at rest: whether anything can have moved since a pass that looked at every one of them and did nothing.

Ten thousand notes are ten thousand rows, read and compared to learn that there is nothing to do. While no file of
the folders is another one, git stands where it stood, and the ledger holds what it held, the answer is the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from minutebook.files.git_tree import in_between, made_of, tree_of
from minutebook.files.note_folders import MEMORY, agents_path, base_of
from minutebook.files.note_pass import Pass
from minutebook.files.place import Means, Place
from minutebook.files.safe import Root, Sort
from minutebook.ledger import manifest, notes, readings
from minutebook.ledger.readings import Reading
from minutebook.model.errors import MinutebookError
from minutebook.model.files import FileLine, FileState

#: Agents of one project whose folders are looked into.
MOST_AGENTS = 1_000


@dataclass(frozen=True, slots=True)
class Moment:
    """A place as it is: which files it holds, and how far the log and the rows about it have come."""

    files: str
    seq: int
    written: tuple[int, str]
    read: tuple[int, str]


@dataclass(frozen=True, slots=True)
class Rest:
    """The moment before a pass that did nothing, and how the files stood, if somebody asked."""

    moment: Moment
    lines: tuple[FileLine, ...] | None = None


class Rests:
    """The places in which there was nothing to do. Any thread may ask."""

    def __init__(self) -> None:
        self._known: dict[Place, Rest] = {}

    def holds(self, means: Means, place: Place, now: Moment | None) -> Rest | None:
        """What is known of a place in which nothing moved since: what another process did is in the rows or the files."""
        rest = self._known.get(place)
        if rest is None or now is None or replace(now, seq=rest.moment.seq) != rest.moment:
            return None
        if now.seq < rest.moment.seq:
            return None  # an older ledger was put in the place of this one
        with means.database.read() as tx:
            same = notes.changed(tx, rest.moment.seq, now.seq, most=0) == []
        return rest if same else None

    def of(self, place: Place) -> Rest | None:
        """What is known of a place that was looked at just now."""
        return self._known.get(place)

    def forget(self, place: Place) -> None:
        """A pass begins that may do something."""
        self._known.pop(place, None)

    def note(self, place: Place, before: Moment, work: Pass) -> None:
        """A pass is done. Where it found nothing to do, the moment before it is what later ones are compared with."""
        if _did_nothing(work):
            self._known[place] = Rest(before)

    def tell(self, place: Place, rest: Rest, lines: tuple[FileLine, ...]) -> None:
        """Remember how the files of a place at rest stand."""
        self._known[place] = replace(rest, lines=lines)


def moment_at(means: Means, root: Root, place: Place) -> Moment | None:
    """How a place is now; None where that cannot be told, or git is at work in it."""
    files = _files_of(root, place)
    if files is None:
        return None
    with means.database.read() as tx:
        written, read = (module.mark(tx, place.host, place.root) for module in (manifest, readings))
        return Moment(files, tx.settled, written, read)


def _files_of(root: Root, place: Place) -> str | None:
    agents = agents_path(place.project)
    try:
        if in_between(root):
            return None
        folders = [f"{base_of(place.project)}{MEMORY}"]
        folders += [
            f"{agents}/{named.name}/{MEMORY}"
            for named in root.names(agents, most=MOST_AGENTS) or ()
            if named.sort is Sort.FOLDER
        ]
        imprints = [f"{folder} {root.imprint(folder)}" for folder in folders]
        return "\n".join([made_of(root), tree_of(root), *imprints])
    except MinutebookError:
        return None  # the pass itself says what cannot be read


def _did_nothing(work: Pass) -> bool:
    """Whether a pass did nothing, and would do nothing again as long as nothing moves."""
    return not work.done and all(_is_calm(reading) for reading in work.readings.values())


def _is_calm(reading: Reading) -> bool:
    # What waits for a review is followed; what could not even be opened is tried again; so is what was never written.
    if reading.proposals or reading.state is FileState.LATE:
        return False
    return bool(reading.facts) or (reading.state is FileState.WAITING and bool(reading.advice))
