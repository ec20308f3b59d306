"""Notes that people edit, and the index of a folder of them.

A note is strict: front matter of our own grammar, known keys, a type of the closed list. The index is one line
a note, newest first as it is given, and never longer than an agent can afford to read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote, unquote

from minutebook.files.containing import out_of_line
from minutebook.files.front_matter import bad_line, read, write
from minutebook.model.errors import MinutebookError
from minutebook.model.memories import Importance, Type, parse_type
from minutebook.model.text import clean, one_line

INDEX = "MEMORY.md"
MOST_INDEX_LINES = 200
MOST_INDEX_BYTES = 25_600
_MOST_TITLE, _MOST_DESCRIPTION = 200, 300

KEYS = ("title", "type", "description", "tags", "importance", "agent", "id", "revision")


@dataclass(frozen=True, slots=True)
class Note:
    """A memory as a file that people edit. `id` and `revision` say what the edit was made on."""

    title: str
    type: Type
    text: str
    description: str | None = None
    tags: tuple[str, ...] = ()
    importance: Importance = Importance.MEDIUM
    agent: str | None = None
    id: str | None = None
    revision: int | None = None


@dataclass(frozen=True, slots=True)
class IndexLine:
    """One note in the index: its title, its file beside the index, and a sentence."""

    title: str
    file: str
    description: str | None = None


@dataclass(frozen=True, slots=True)
class Index:
    """An index, and how many notes it had no room for."""

    data: bytes
    left_out: int


def render_note(note: Note) -> bytes:
    fields = {
        "title": one_line(note.title),
        "type": note.type.value,
        "description": None if note.description is None else one_line(note.description),
        "tags": ", ".join(note.tags) or None,
        "importance": None if note.importance is Importance.MEDIUM else note.importance.value,
        "agent": note.agent,
        "id": note.id,
        "revision": None if note.revision is None else str(note.revision),
    }
    return write([(key, value) for key, value in fields.items() if value], note.text).encode()


def read_note(data: bytes) -> Note:
    """A note as somebody saved it, or the line that keeps it from being one."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise bad_line(line, f"It is not UTF-8: {error.reason}.") from None
    matter = read(text, known=KEYS)
    fields = dict(matter.fields)
    lines = {key: number for number, (key, _) in enumerate(matter.fields, start=2)}
    for key in ("title", "type"):
        if not one_line(fields.get(key, "")):
            raise bad_line(lines.get(key, 1), f"The note has no {key}.")
    revision = fields.get("revision") or None
    if revision is not None and not re.fullmatch("[0-9]{1,9}", revision):
        raise bad_line(lines["revision"], "The revision is not a number.")
    importance = (fields.get("importance") or Importance.MEDIUM.value).casefold()
    if importance not in {member.value for member in Importance}:
        raise bad_line(lines["importance"], "The importance is low, medium or high.")
    try:
        of_type = parse_type(fields["type"])
    except MinutebookError as error:
        raise bad_line(lines["type"], error.message) from None
    return Note(
        title=one_line(fields["title"]),
        type=of_type,
        text=matter.body,
        description=one_line(fields.get("description", "")) or None,
        tags=tuple(tag for part in fields.get("tags", "").split(",") if (tag := part.strip())),
        importance=Importance(importance),
        agent=fields.get("agent") or None,
        id=fields.get("id") or None,
        revision=None if revision is None else int(revision),
    )


_ESCAPED = re.compile(r"[\\\[\]<]")
_LINE = re.compile(r"- \[((?:\\.|[^\\\]]){0,800})\]\(([^()\s]{1,800})\)(?: - (.*))?$")


def render_index(notes: Iterable[IndexLine], count: int | None = None) -> Index:
    """`MEMORY.md`: as many whole lines as the caps allow, and, where they do not, how many are missing.

    `count` says how many notes there are, where not all of them are given.
    """
    lines = [_line(note) for note in notes]
    count = len(lines) if count is None else count
    kept = _fitting(lines, MOST_INDEX_LINES, MOST_INDEX_BYTES)
    left_out = count - kept
    if left_out:
        # Room for the last line, which says so.
        kept = _fitting(lines, MOST_INDEX_LINES - 1, MOST_INDEX_BYTES - 100)
        left_out = count - kept
        lines = [*lines[:kept], f"<!-- {left_out} more notes are in this folder. -->"]
    return Index("".join(f"{line}\n" for line in lines).encode(), left_out)


def _fitting(lines: list[str], most_lines: int, most_bytes: int) -> int:
    size = 0
    for number, line in enumerate(lines[:most_lines]):
        size += len(line.encode()) + 1
        if size > most_bytes:
            return number
    return min(len(lines), most_lines)


def _line(note: IndexLine) -> str:
    title = _short(note.title, _MOST_TITLE)
    line = f"- [{title}]({quote(note.file, safe='/._-')})"
    said = _short(note.description or "", _MOST_DESCRIPTION)
    return f"{line} - {said}" if said else line


def _short(text: str, most: int) -> str:
    line = one_line(clean(text))
    return _ESCAPED.sub(r"\\\g<0>", line if len(line) <= most else line[: most - 1].rstrip() + "…")


def read_index(data: bytes) -> tuple[IndexLine, ...]:
    """The notes that an index names. Lines that name none are somebody's own, and no error."""
    found = []
    for line in data.decode("utf-8", "replace").splitlines():
        match = _LINE.match(line)
        if match:
            said = out_of_line(match[3]) if match[3] else None
            found.append(IndexLine(out_of_line(match[1]), unquote(match[2]), said))
    return tuple(found)
