"""`MEMORY.md`: the list of a folder of notes, newest first, which an agent can afford to read.

It is generated, and a function of the ledger alone: a note is called old by the newest one of its folder, not by a
clock, so that the file stays as it is while nothing happens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

from minutebook.files.note_folders import Folder
from minutebook.files.note_rendering import INDEX, MOST_INDEX_LINES, IndexLine, render_index
from minutebook.ledger.notes import Line
from minutebook.model.times import moment_of

#: Days by which a note is older than the newest one of its folder when the index says so.
STALE_DAYS = 90


def index_path(folder: Folder) -> str:
    return folder.file(INDEX)


def index_of(lines: Sequence[Line], count: int, name_of: Callable[[Line], str]) -> bytes | None:
    """The index of a folder of `count` notes, of which `lines` are the newest; None where there are none."""
    if not count:
        return None
    newest = max(line.updated_at for line in lines)
    stale = moment_of(newest) - timedelta(days=STALE_DAYS)
    shown = [
        IndexLine(line.title, name_of(line), _said(line, old=moment_of(line.updated_at) < stale))
        for line in lines
    ]
    return render_index(shown, count).data


def most_lines() -> int:
    """How many notes an index can show."""
    return MOST_INDEX_LINES


def _said(line: Line, *, old: bool) -> str | None:
    """The sentence of a note, and since when nobody has touched it where that is long."""
    if not old:
        return line.summary
    return f"(untouched since {line.updated_at[:10]}) {line.summary or ''}".strip()
