"""A workspace on this machine, and whether it may be served: it must be the project's by its own file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from minutebook.call import World
from minutebook.files import workspace
from minutebook.files.safe import Root, Sort
from minutebook.files.workspace import Binding
from minutebook.ledger import manifest, projects
from minutebook.ledger.database import Database, Tx
from minutebook.model.errors import MinutebookError
from minutebook.model.files import FileDone, FileLine, Wish
from minutebook.model.scopes import GLOBAL
from minutebook.model.text import visible


@dataclass(frozen=True, slots=True)
class Place:
    """A directory of this machine that was seen with a project's id in it."""

    host: str
    #: as it is registered
    root: str
    project: str

    @property
    def part(self) -> str:
        """Its name in the table of positions."""
        return manifest.part_of(self.host, self.root)


@dataclass(frozen=True, slots=True)
class Means:
    """What serving a workspace takes."""

    database: Database
    world: World


class Part(Protocol):
    """One sort of files of a workspace: the mirror, the drop-box, the notes."""

    def look(self, means: Means, place: Place, *, settled: bool = False) -> Sequence[FileLine]:
        """How its files stand, in step or not. Changes nothing. `settled`: they were all looked at just now."""
        ...

    def settle(self, means: Means, place: Place, wish: Wish) -> Sequence[FileDone]:
        """Bring files and ledger in step, as far as nobody has to be asked."""
        ...


def places(tx: Tx, host: str, project: str | None = None) -> list[Place]:
    """The workspaces that were seen on this machine, of one project or of all that are in use."""
    live: dict[str, bool] = {}
    found = []
    for seen in projects.workspaces(tx, project):
        if seen.host != host:
            continue
        if seen.project not in live:
            row = projects.find(tx, seen.project)
            live[seen.project] = row is not None and row.archived_at is None
        if live[seen.project]:
            found.append(Place(host, seen.path, seen.project))
    return found


def enter(place: Place) -> tuple[Root, Binding]:
    """Open a workspace, if it is one of that project. Who registered the path may have lied, or it has moved on."""
    root = Root(Path(place.root))
    if place.project == GLOBAL:
        # The home of the ledger itself, which nobody has to bind.
        return root, Binding(root.path, GLOBAL, "", "")
    try:
        # Through the handle first: a linked folder would lead to a binding that is not this directory's.
        folder = root.look(workspace.FOLDER)
        if folder is None or folder.sort is not Sort.FOLDER:
            raise MinutebookError(
                "bad_workspace",
                f"{visible(place.root)} is bound to no project any more.",
                path=place.root,
                hint="minutebook init there, or minutebook projects forget",
            )
        binding = workspace.read(root.path / workspace.FOLDER / workspace.NAME)
        if binding.project != place.project:
            raise MinutebookError(
                "bad_workspace",
                f"{visible(place.root)} is bound to another project now.",
                path=place.root,
                hint="minutebook projects forget",
            )
    except BaseException:
        root.close()
        raise
    return root, binding
