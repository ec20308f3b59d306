"""Our lines in `.gitignore`, `.gitattributes` and the files of agents, seen as one more sort of files of a workspace.

A block that an older minutebook wrote is renewed; one that somebody changed is left and listed. Where there is none,
none is missed: it came by somebody's word, and goes by it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from minutebook.files import advice, blocks
from minutebook.files.advice import AGENT_FILES, GIT_FILES, block_for
from minutebook.files.blocks import marks_for
from minutebook.files.lines import sha256_of
from minutebook.files.place import Means, Place, enter
from minutebook.files.safe import Root
from minutebook.model.errors import MinutebookError
from minutebook.model.files import FileDone, FileKind, FileLine, FileState, Wish

#: The hashes of what earlier versions put between the marks.
_ONCE: frozenset[str] = frozenset()


class BlockPart:
    """Keeps our blocks current. `once` are the hashes of what may be renewed."""

    def __init__(self, once: frozenset[str] = _ONCE) -> None:
        self._once = once

    def look(self, means: Means, place: Place, *, settled: bool = False) -> Sequence[FileLine]:
        root, _ = enter(place)
        with root:
            return list(self._lines(root))

    def settle(self, means: Means, place: Place, wish: Wish) -> Sequence[FileDone]:
        root, _ = enter(place)
        done = []
        with root:
            for line in self._lines(root):
                if line.state is not FileState.LATE:
                    continue
                try:
                    advice.settle(root, [line.path], word=True, make=False, new_id=means.world.ids.new)
                    done.append(FileDone(path=line.path, kind=FileKind.BLOCK, done="written"))
                except MinutebookError as error:
                    done.append(
                        FileDone(path=line.path, kind=FileKind.BLOCK, done="failed", why=error.message)
                    )
        return done

    def _lines(self, root: Root) -> Iterator[FileLine]:
        for path in (*GIT_FILES, *AGENT_FILES):
            try:
                found = root.read(path)
                block = None if found is None else blocks.block_in(found.data, marks_for(path), path)
            except MinutebookError as error:
                if error.code == "bad_file":
                    yield FileLine(path, FileKind.BLOCK, FileState.UNREADABLE, error.message)
                continue  # a file that cannot be read, or is a link, is somebody else's and none of our lines
            if block is None:
                continue
            if block == block_for(path):
                yield FileLine(path, FileKind.BLOCK, FileState.IN_STEP)
            elif sha256_of(block.encode()) in self._once:
                yield FileLine(
                    path,
                    FileKind.BLOCK,
                    FileState.LATE,
                    "an older minutebook wrote these lines",
                    "minutebook files sync",
                )
            else:
                why = "the lines between minutebook's marks were changed; left alone"
                yield FileLine(path, FileKind.BLOCK, FileState.EDITED, why, "minutebook init renews them")
