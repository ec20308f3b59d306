"""What lies in the folders of the generated files, seen once: a pass asks each folder, and not each file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from minutebook.files.mirror_documents import AGENTS, INBOX, PATHS
from minutebook.files.safe import Named, Root, Sort
from minutebook.model.errors import MinutebookError


class Listing:
    """The names in our folders. A folder that could not be read is not in it: whoever asks for a file there is told why."""

    def __init__(self, folders: Mapping[str, Mapping[str, Named]]) -> None:
        self.folders = folders

    @classmethod
    def of(cls, root: Root) -> Listing:
        fixed = {path.rpartition("/")[0] for path in PATHS.values()} | {INBOX, AGENTS}
        folders = dict(_listed(root, sorted(fixed)))
        agents = [named.name for named in folders.get(AGENTS, {}).values() if named.sort is Sort.FOLDER]
        return cls(folders | dict(_listed(root, [f"{AGENTS}/{name}" for name in agents])))

    def look(self, root: Root, path: str) -> Named | None:
        """What stands at a path; None where nothing does. Raises where that cannot be told."""
        folder, _, name = path.rpartition("/")
        names = self.folders.get(folder)
        return root.look(path) if names is None else names.get(name)

    def strays(self) -> list[str]:
        """Paths at which a file of ours could stand that the manifest does not know: git brings them back."""
        letters = self.folders.get(INBOX, {}).values()
        found = [f"{INBOX}/{each.name}" for each in letters if each.name.endswith(".md")]
        for folder, names in self.folders.items():
            if folder.startswith(f"{AGENTS}/") and "history.md" in names:
                found.append(f"{folder}/history.md")
        return [path for path in PATHS.values() if self._holds(path)] + found

    def _holds(self, path: str) -> bool:
        folder, _, name = path.rpartition("/")
        return name in self.folders.get(folder, {})


def _listed(root: Root, folders: list[str]) -> Iterator[tuple[str, dict[str, Named]]]:
    for folder in folders:
        try:
            names = root.names(folder) or ()
        except MinutebookError:
            continue
        yield folder, {named.name: named for named in names}
