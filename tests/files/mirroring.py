"""A desk with workspaces, for tests of generated files: everything real but the name of the machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from minutebook.files import workspace
from minutebook.files.desk import Desk
from minutebook.files.place import Means, Place
from minutebook.model.files import FileDone, FileState, Synced, WorkspaceFiles
from minutebook.operations import files, projects
from tests.houses import House

HOST = "here"
BORN = "2026-01-01T00:00:00.000000Z"


class Office:
    """A house whose service keeps files. `office.make("app")` is a workspace of its project."""

    def __init__(self, house: House, below: Path) -> None:
        self.house = house
        self.below = below
        self.desk = Desk(HOST)
        self.attend()

    def attend(self) -> None:
        """Have the service that runs now ask this desk."""
        self.house.service.world = replace(self.house.service.world, files=self.desk)

    @property
    def means(self) -> Means:
        return Means(self.house.service.database, self.house.service.world)

    def make(self, name: str = "app", *, project: str = "", mirror: bool = True) -> Path:
        project = project or self.house.project
        root = self.below / name
        root.mkdir()
        workspace.create(root, project=project, name="Nostromo", created_at=BORN, mirror=mirror)
        self.house.mother(projects.see, path=str(root), host=HOST, ref=project)
        return root

    def place(self, root: Path, project: str = "") -> Place:
        return Place(HOST, str(root), project or self.house.project)

    def sync(self) -> Synced:
        return self.house.mother(files.sync)

    def follow(self, root: Path) -> list[FileDone]:
        """What the worker does after a write: only what happened since the last pass."""
        return self.desk.mirroring.run(self.means, self.place(root), whole=False)

    def status(self, *, every: bool = True) -> tuple[WorkspaceFiles, ...]:
        return self.house.mother(files.status, every=every).workspaces

    def states(self) -> dict[str, FileState]:
        (only,) = self.status()
        return {line.path: line.state for line in only.files}


def tree(root: Path) -> dict[str, bytes]:
    """Every generated file of a workspace, by its path."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for folder in (".squad", ".agentweaver")
        for path in sorted((root / folder).rglob("*"))
        if path.is_file()
    }


def traces(root: Path) -> dict[str, tuple[int, int]]:
    """Inode and time of each generated file: a file that was not touched keeps both."""
    found = {path: (root / path).stat() for path in tree(root)}
    return {path: (stat.st_ino, stat.st_mtime_ns) for path, stat in found.items()}
