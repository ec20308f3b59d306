"""A workspace of the project Nostromo on this machine, and whoever keeps its notes and its drop-box."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from minutebook.files import workspace
from minutebook.files.drop_box_taking import DropBoxPart
from minutebook.files.mirror import MirrorPart
from minutebook.files.notes import NotesPart
from minutebook.files.place import Means, Place
from minutebook.model.files import FileDone, FileLine, FileState, Wish
from minutebook.model.scopes import GLOBAL
from minutebook.operations import projects
from tests.houses import House

HOST = "this-machine"
PERSON = "Mother"
MEMORY = ".minutebook/memory"
INBOX = ".squad/decisions/inbox"


@dataclass
class Desk:
    """`desk.settle()` does what the service does: letters and notes come in, then the files follow the ledger."""

    house: House
    root: Path
    notes: NotesPart = field(default_factory=lambda: NotesPart(PERSON))
    letters: DropBoxPart = field(default_factory=lambda: DropBoxPart(PERSON))
    mirror: MirrorPart = field(default_factory=MirrorPart)

    def __post_init__(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        if not (self.root / ".minutebook").exists():
            workspace.create(
                self.root, project=self.house.project, name="Nostromo", created_at=self.house.clock()
            )
        self.house.mother(projects.see, path=str(self.root), host=HOST)

    @property
    def place(self) -> Place:
        return Place(HOST, str(self.root), self.house.project)

    @property
    def means(self) -> Means:
        return Means(self.house.service.database, self.house.service.world)

    def settle(self, wish: Wish = Wish(), *, mirror: bool = False) -> dict[str, FileDone]:  # noqa: B008
        """One pass; what was done, by path."""
        done = [
            *self.letters.settle(self.means, self.place, wish),
            *self.notes.settle(self.means, self.place, wish),
        ]
        if mirror:
            done += self.mirror.settle(self.means, self.place, wish)
        return {each.path: each for each in done}

    def follow(self) -> dict[str, FileDone]:
        """What happens after a commit when no file was touched."""
        return {each.path: each for each in self.notes.run(self.means, self.place, files=False)}

    def lines(self) -> dict[str, FileLine]:
        """How the files stand, by path: only those that are not in step."""
        found = [*self.letters.look(self.means, self.place), *self.notes.look(self.means, self.place)]
        return {line.path: line for line in found if line.state is not FileState.IN_STEP}

    def write(self, path: str, text: str) -> None:
        """Save a file as an editor does: another file, renamed into its place."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = target.with_name(f".{target.name}.swx")
        beside.write_text(text)
        os.replace(beside, target)

    def read(self, path: str) -> str:
        return (self.root / path).read_text()

    def edit(self, path: str, old: str, new: str) -> None:
        text = self.read(path)
        assert old in text, text
        self.write(path, text.replace(old, new))

    def names(self, folder: str = MEMORY) -> list[str]:
        return sorted(os.listdir(self.root / folder)) if (self.root / folder).is_dir() else []


def home_of(desk: Desk) -> Place:
    """The place of what is global."""
    return Place(HOST, str(desk.house.home), GLOBAL)
