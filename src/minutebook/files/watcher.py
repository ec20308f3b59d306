"""The duty that reads what people write: the drop-box and the notes of every workspace of this machine, and of the home.

Changes are seen by the system's own watching, with a look at all files once in a while behind it; where nothing can
be watched, that look comes often. What changed while no service ran is found at its start, by hash.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from time import monotonic

from minutebook.files.desk import Desk, failure_in
from minutebook.files.drop_box_taking import DropBoxPart
from minutebook.files.mirror_documents import INBOX
from minutebook.files.note_deciding import LossRules
from minutebook.files.note_folders import AGENTS, MEMORY, agents_path, base_of
from minutebook.files.notes import NotesPart
from minutebook.files.place import Means, Place, places
from minutebook.files.safe import Root, Sort
from minutebook.files.watching import Watch
from minutebook.model.errors import Kind, MinutebookError
from minutebook.model.files import FileDone
from minutebook.model.scopes import GLOBAL

#: Seconds between two passes at least.
_BREATH = 0.1
#: Seconds after which all files are looked at: with watching behind it, and without.
_RESCAN, _RESCAN_ALONE = 30.0, 2.0
#: Seconds between two looks for folders of the home that are not there yet.
_LOOK_HOME = 5.0
#: Seconds that a letter must have rested before it is taken.
_REST = 1.0
#: Seconds after a workspace could not be served; twice as long each time, up to the last.
_FIRST, _LAST = 1.0, 60.0
#: Folders that are watched at most; of the rest, files are only looked at now and then.
_MOST_FOLDERS = 2_000
#: Seconds after which a file is looked at once more: one that rests, one that was missed, one that git is about to move.
_PAUSES = {"unread": 0.0, "rests": _REST, "missed": LossRules().wait + 0.1}
#: Names that concern us where they appear in a folder that only holds others.
_STEPS = frozenset({".squad", "decisions", "inbox", ".minutebook", MEMORY, AGENTS})


class Watcher:
    """Reads letters and notes, and has the notes follow the ledger."""

    name = "notes"

    def __init__(self, means: Means, desk: Desk) -> None:
        self._means = means
        self._desk = desk
        self._letters = next(part for part in desk.others if isinstance(part, DropBoxPart))
        self._notes = next(part for part in desk.others if isinstance(part, NotesPart))
        self._wake: Callable[[], None] = lambda: None
        self._watch = Watch(self._changed, self._begun)
        self._lock = threading.Lock()
        #: paths that the watch told of since the last pass, and whether it was set up since then
        self._told: set[str] = set()
        self._fresh = False
        self._next = 0.0
        #: when the files of a place are to be looked at in any case
        self._due: dict[Place, float] = {}
        self._failed: dict[Place, tuple[int, float]] = {}

    def on_change(self, wake: Callable[[], None]) -> None:
        """Say how to have a step taken when a file changed."""
        self._wake = wake

    def step(self, ending: threading.Event) -> float | None:
        now = monotonic()
        if now < self._next:
            return self._next - now
        self._next = now + _BREATH
        with self._means.database.read() as tx:
            known = [*places(tx, self._desk.host), *self._home()]
        folders = self._folders(known)
        self._watch.aim(folders)
        told, fresh = self._heard()
        if fresh:
            # What happened before the watch stood, nobody told us.
            self._due |= dict.fromkeys(known, 0.0)
        pauses = [_RESCAN if self._sees_home(folders) else _LOOK_HOME]
        for place in known:
            if ending.is_set():
                return None
            pauses.append(self._serve(place, told))
        for gone in set(self._due) - set(known):
            del self._due[gone]
            self._failed.pop(gone, None)
            self._desk.note(gone, "", self.name)
        return max(_BREATH, min(pauses))

    def close(self) -> None:
        self._watch.close()

    # --- inside ---

    def _home(self) -> list[Place]:
        """The place of what is global: the home of the ledger, where there is one."""
        home = self._means.world.home
        return [Place(self._desk.host, str(home), GLOBAL)] if home.is_dir() else []

    def _changed(self, paths: set[str]) -> None:
        """Called by the watch."""
        concerning = {path for path in paths if _concerns(path)}
        if concerning:
            with self._lock:
                self._told |= concerning
            self._wake()

    def _begun(self) -> None:
        """Called by the watch when it stands."""
        with self._lock:
            self._fresh = True
        self._wake()

    def _heard(self) -> tuple[set[str], bool]:
        with self._lock:
            told, self._told = self._told, set()
            fresh, self._fresh = self._fresh, False
        return told, fresh

    def _serve(self, place: Place, told: set[str]) -> float:
        """One pass over a place; the seconds after which it wants another."""
        now = monotonic()
        failures, again_at = self._failed.get(place, (0, 0.0))
        mine = {path for path in told if path.startswith(f"{place.root}/")}
        if mine:
            self._due[place] = 0.0
        if now < again_at:
            return again_at - now
        due = self._due.setdefault(place, 0.0)
        looking = now >= due
        forced = frozenset(path.removeprefix(f"{place.root}/") for path in mine)
        try:
            done = self._run(place, looking=looking, forced=forced)
            fault = failure_in(done)
        except MinutebookError as error:
            if error.code == "ledger_closed" or (
                error.kind is Kind.UNAVAILABLE and "path" not in error.details
            ):
                raise  # the ledger itself is in trouble, and not this workspace
            done, fault = [], error.message
        self._desk.note(place, fault, self.name)
        if fault:
            pause = min(_LAST, _FIRST * 2**failures)
            self._failed[place] = (failures + 1, monotonic() + pause)
            self._due[place] = 0.0
            return pause
        self._failed.pop(place, None)
        if looking or any(each.done == "unread" for each in done):
            soon = [_PAUSES[each.done] for each in done if each.done in _PAUSES]
            self._due[place] = monotonic() + min([*soon, self._usual()])
        return max(0.0, self._due[place] - monotonic())

    def _usual(self) -> float:
        return _RESCAN if self._watch.works else _RESCAN_ALONE

    def _run(self, place: Place, *, looking: bool, forced: frozenset[str]) -> list[FileDone]:
        done: list[FileDone] = []
        if looking and place.project != GLOBAL:
            done += self._letters.run(self._means, place, forced=forced, rest=_REST)
        return done + self._notes.run(self._means, place, files=looking, forced=forced)

    def _folders(self, known: list[Place]) -> list[str]:
        """The folders in which something could appear that concerns us; of those that are not there, one above.

        But never the one in which the ledger lies: each page that is written there would wake the watch.
        """
        found: list[str] = []
        for place in known:
            found += _existing(place)
        home = str(self._means.world.home)
        return [folder for folder in found if folder != home][:_MOST_FOLDERS]

    def _sees_home(self, folders: list[str]) -> bool:
        """Whether nothing can appear in the home that the watch would not tell of."""
        base = f"{self._means.world.home}/{base_of(GLOBAL)}"
        return {f"{base}{MEMORY}", f"{self._means.world.home}/{agents_path(GLOBAL)}"} <= set(folders)


def _existing(place: Place) -> list[str]:
    base, agents = base_of(place.project), agents_path(place.project)
    wanted = [f"{base}{MEMORY}", agents]
    if base:
        wanted += [base.rstrip("/"), ".squad", ".squad/decisions", INBOX]
    try:
        with Root(Path(place.root)) as root:
            names = root.names(agents, most=_MOST_FOLDERS) or ()
            inner = [f"{agents}/{named.name}" for named in names if named.sort is Sort.FOLDER]
            wanted += [*inner, *(f"{path}/{MEMORY}" for path in inner)]
            there = [path for path in wanted if (seen := root.look(path)) and seen.sort is Sort.FOLDER]
    except MinutebookError:
        return []  # it is gone or cannot be read: the pass itself says so
    return [place.root, *(f"{place.root}/{path}" for path in there)]


def _concerns(path: str) -> bool:
    """Whether a change may be one of a letter or a note; what we write ourselves for a moment is not."""
    folder, name = os.path.split(path)
    if name in _STEPS or os.path.basename(folder) in (AGENTS,):
        return True
    return name.endswith(".md") and not name.startswith(".") and os.path.basename(folder) in ("inbox", MEMORY)
