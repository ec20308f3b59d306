"""Where the files of a project's workspaces are kept in step with the ledger, whoever asks for it.

The service's workers and `files sync` do the same passes. Each sort of files is a part, and every workspace is served
for itself: one that vanished or cannot be written to holds up no other.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence

from minutebook.call import LongCall
from minutebook.files.block_part import BlockPart
from minutebook.files.mirror import MirrorPart
from minutebook.files.mirror_plan import FOLLOWER
from minutebook.files.notes import NotesPart
from minutebook.files.place import Means, Part, Place, enter, places
from minutebook.ledger import mirror, positions
from minutebook.ledger.database import Tx
from minutebook.model.errors import MinutebookError
from minutebook.model.files import (
    FileDone,
    FileLine,
    FilesStatus,
    FileState,
    Synced,
    SyncedWorkspace,
    Wish,
    WorkspaceFiles,
)
from minutebook.model.scopes import GLOBAL
from minutebook.model.system import Mirror
from minutebook.model.text import visible


class Desk:
    """Keeps the files of this machine's workspaces. `others` are the parts besides the mirror, and come before it."""

    def __init__(self, host: str, others: Sequence[Part] = ()) -> None:
        self.host = host
        self.mirroring = MirrorPart()
        self.others = tuple(others)
        self._parts: tuple[Part, ...] = (*others, self.mirroring, BlockPart())
        self._faults: dict[tuple[Place, str], str] = {}
        self._guard = threading.Lock()

    # --- what operations ask for ---

    def status(self, call: LongCall, *, every: bool = False, settled: bool = False) -> FilesStatus:
        means = Means(call.database, call.world)
        found = tuple(self._look(means, place, every, settled) for place in self._places(call))
        return FilesStatus(_sentence(found, _unknown(call, found)), found)

    def sync(self, call: LongCall, wish: Wish) -> Synced:
        means = Means(call.database, call.world)
        done = tuple(self._settle(means, place, wish) for place in self._places(call))
        return Synced(_told(done), done, self.status(call, settled=True))

    def replace(self, call: LongCall, paths: Sequence[str]) -> Synced:
        here = _places_meant(call, self._places(call))
        for path in paths:
            took = [self.mirroring.take_over(call, place, path) for place in here]
            if not any(took):
                raise MinutebookError(
                    "not_found",
                    f"{visible(path)} is no file that was left alone.",
                    hint="minutebook files status",
                    path=path,
                )
        return self.sync(call, Wish())

    def mirror(self, call: LongCall, project: str | None) -> Mirror:
        with call.database.read() as tx:
            known = places(tx, self.host, project)
            behind = sum(_behind(tx, place) for place in known)
        if not known:
            return Mirror()
        with self._guard:
            faults = tuple(
                f"{place.root}: {fault}" for (place, _), fault in self._faults.items() if place in known
            )
        return Mirror("behind" if behind or faults else "current", behind, len(known), faults)

    # --- what workers ask for ---

    def note(self, place: Place, fault: str, of: str = "mirror") -> None:
        """Remember what keeps a duty from serving a workspace, for health; empty is nothing."""
        with self._guard:
            if fault:
                self._faults[place, of] = fault
            else:
                self._faults.pop((place, of), None)

    # --- inside ---

    def _places(self, call: LongCall) -> list[Place]:
        if call.project.id == GLOBAL:
            # What is global has no workspace: its notes lie in the home.
            home = call.world.home
            return [Place(self.host, str(home), GLOBAL)] if home.is_dir() else []
        with call.database.read() as tx:
            return places(tx, self.host, call.project.id)

    def _parts_of(self, place: Place) -> Sequence[Part]:
        if place.project != GLOBAL:
            return self._parts
        return [part for part in self.others if isinstance(part, NotesPart)]

    def _look(self, means: Means, place: Place, every: bool, settled: bool) -> WorkspaceFiles:
        try:
            root, binding = enter(place)
        except MinutebookError as error:
            return WorkspaceFiles(root=place.root, state=_name(error), why=error.message, counts={})
        root.close()
        lines: list[FileLine] = []
        faults: list[str] = []
        for part in self._parts_of(place):
            try:
                lines += part.look(means, place, settled=settled)
            except MinutebookError as error:
                faults.append(error.message)
        with means.database.read() as tx:
            behind = _behind(tx, place) if binding.mirror and place.project != GLOBAL else 0
        shown = [line for line in lines if every or line.state is not FileState.IN_STEP]
        why = [] if binding.mirror else ["its workspace.toml says mirror = false"]
        return WorkspaceFiles(
            root=place.root,
            state="in trouble" if faults else "on" if binding.mirror else "off",
            why="; ".join(dict.fromkeys(faults + why)),
            events_behind=behind,
            counts={state.value: n for state, n in sorted(Counter(line.state for line in lines).items())},
            files=tuple(sorted(shown, key=lambda line: (line.path, line.line or 0))),
        )

    def _settle(self, means: Means, place: Place, wish: Wish) -> SyncedWorkspace:
        done: list[FileDone] = []
        faults: list[str] = []
        for part in self._parts_of(place):
            # Each for itself: a folder of notes that cannot be read keeps no decision from being shown.
            try:
                done += part.settle(means, place, wish)
            except MinutebookError as error:
                faults.append(error.message)
        fault = "; ".join(dict.fromkeys(faults))
        self.note(place, fault or failure_in(done))
        return SyncedWorkspace(root=place.root, done=tuple(done), fault=fault)


def failure_in(done: Sequence[FileDone]) -> str:
    """What went wrong in a pass, in a sentence; empty where nothing did."""
    failed = [each for each in done if each.done == "failed"]
    if not failed:
        return ""
    more = f" ({len(failed)} files)" if len(failed) > 1 else ""
    return f"{failed[0].why}{more}"


def _behind(tx: Tx, place: Place) -> int:
    return mirror.events_after(tx, place.project, positions.get(tx, FOLLOWER, place.part))


def _places_meant(call: LongCall, known: list[Place]) -> list[Place]:
    """The workspace that the caller is in, if it is one; else all of them."""
    here = [place for place in known if str(call.caller.workspace) == place.root]
    return here or known


def _unknown(call: LongCall, found: Sequence[WorkspaceFiles]) -> bool:
    """Whether the caller is in a directory that is bound, and was not seen on this machine."""
    here = call.caller.workspace
    return here is not None and str(here) not in {each.root for each in found}


def _name(error: MinutebookError) -> str:
    return {"not_found": "gone", "bad_workspace": "not bound", "no_access": "no access"}.get(
        error.code, error.code
    )


_ORDER = [state for state in FileState if state is not FileState.IN_STEP]


def _sentence(found: Sequence[WorkspaceFiles], unknown: bool) -> str:
    if not found:
        return "no workspace of the project was seen on this machine; run minutebook init in its directory"
    counts: Counter[str] = Counter()
    for each in found:
        counts.update(each.counts)
    told = [f"{counts[state]} {state}" for state in _ORDER if counts[state]]
    out = [each for each in found if each.state not in ("on", "off")]
    told += [f"{len(out)} of {len(found)} workspaces cannot be served"] if out else []
    total = sum(counts.values())
    if not told and all(each.state == "off" for each in found):
        told = ["no generated files are kept"]
    sentence = ", ".join(told) if told else _in_step(total)
    note = "; this directory was not seen on this machine: run minutebook init" if unknown else ""
    return f"{sentence}{note}"


def _in_step(total: int) -> str:
    return {0: "no file is generated yet", 1: "the one file is in step"}.get(
        total, f"all {total} files are in step"
    )


def _told(done: Sequence[SyncedWorkspace]) -> str:
    counts = Counter(each.done for place in done for each in place.done)
    told = [f"{number} {what}" for what, number in sorted(counts.items())]
    told += (
        [f"{sum(bool(place.fault) for place in done)} workspaces failed"]
        if any(place.fault for place in done)
        else []
    )
    return ", ".join(told) if told else "nothing to do"
