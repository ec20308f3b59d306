"""Blocks that somebody wrote to be kept: SEM entries, and front matter with a type.

The parsers of files (`files/`) read whole workspaces, in every spelling that was ever met. Here the block stands in
the middle of other words, and only the two strict forms count.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from minutebook.model.errors import MinutebookError
from minutebook.model.memories import Type, parse_type
from minutebook.policy.extraction.turns import Turn

#: With its kind, or without one and then with what was decided in a field `What`.
_SEM = re.compile(
    r"#{2,4} \[?(\d{4}-\d\d-\d\d(?:[T ][\d:.]{5,15}(?:Z|[+-]\d\d:?\d\d)?)?)\]?\s*:\s*(?:(decision|directive|memory|note)\s*:\s*)?(\S.*)$",
    re.IGNORECASE,
)
_KINDS = {"decision": Type.TECHNICAL, "directive": Type.PROCESS, "memory": Type.LEARNING, "note": Type.UPDATE}
_FIELD = re.compile(r"(?:[-*]\s+)?\*\*([A-Za-z ]{2,20}):\*\*\s*(.*)$")
_KEY = re.compile(r"([a-z_]{2,20}):\s+(\S.*)$")
#: Keys of front matter, at least the type and one of the others.
_KNOWN = frozenset({"type", "title", "slug", "agent", "name", "description", "tags", "date"})
_MOST_KEYS = 20


@dataclass(frozen=True, slots=True)
class Block:
    """One block, read."""

    type: Type
    title: str
    content: str
    first: int
    last: int
    rule: str
    confidence: float
    rationale: str | None = None
    tags: tuple[str, ...] = ()
    at: str | None = None


def read(turn: Turn) -> tuple[list[Block], Turn]:
    """The blocks of a turn, and the turn with their lines made empty."""
    if "###" not in turn.text and "---" not in turn.text and "## " not in turn.text:
        return [], turn
    lines = turn.text.split("\n")
    found: list[Block] = []
    number = 0
    while number < len(lines):
        read = _sem(lines, number) or _front_matter(lines, number)
        if read is None:
            number += 1
            continue
        block, end = read
        last = max(place for place in range(number, end) if lines[place].strip())
        lines_of = (turn.first + number, turn.first + last) if turn.in_lines else (turn.first, turn.last)
        found.append(replace(block, first=lines_of[0], last=lines_of[1]))
        lines[number:end] = [""] * (end - number)
        number = end
    return found, replace(turn, text="\n".join(lines)) if found else turn


def _sem(lines: list[str], start: int) -> tuple[Block, int] | None:
    heading = (
        _SEM.match(lines[start]) if lines[start].startswith("##") and len(lines[start]) < 1_000 else None
    )
    if heading is None:
        return None
    fields: dict[str, list[str]] = {}
    name = "details"
    end = start + 1
    while end < len(lines) and not lines[end].startswith("#") and lines[end].strip() not in ("---", "***"):
        field = _FIELD.match(lines[end]) if len(lines[end]) < 4_000 else None
        if field is not None:
            name = field[1].strip().casefold()
            fields.setdefault(name, []).append(field[2])
        else:
            fields.setdefault(name, []).append(lines[end])
        end += 1
    said = {key: "\n".join(value).strip() for key, value in fields.items()}
    if heading[2] is None and not said.get("what"):
        return None
    tags = tuple(tag.strip() for tag in said.get("tags", "").split(",") if tag.strip())
    time = heading[1] if "T" in heading[1] and heading[1].endswith("Z") else None
    block = Block(
        type=_KINDS[(heading[2] or "decision").casefold()],
        title=heading[3].strip(),
        content=said.get("details") or said.get("what") or heading[3].strip(),
        first=0,
        last=0,
        rule="block.sem",
        confidence=0.9,
        rationale=said.get("rationale") or said.get("why") or None,
        tags=tags[:10],
        at=time,
    )
    return block, end


def _front_matter(lines: list[str], start: int) -> tuple[Block, int] | None:
    if lines[start].strip() != "---":
        return None
    fields: dict[str, str] = {}
    place = start + 1
    while place < len(lines) and lines[place].strip() != "---":
        key = _KEY.match(lines[place]) if len(lines[place]) < 2_000 else None
        if key is None or len(fields) >= _MOST_KEYS:
            return None
        fields[key[1]] = key[2].strip().strip("\"'")
        place += 1
    if place >= len(lines) or "type" not in fields or not (fields.keys() & (_KNOWN - {"type"})):
        return None
    try:
        type = parse_type(fields["type"])
    except MinutebookError:
        return None
    end = place + 1
    while end < len(lines) and lines[end].strip() != "---":
        end += 1
    body = "\n".join(lines[place + 1 : end]).strip()
    if not body:
        return None
    title = (
        fields.get("title")
        or fields.get("name")
        or fields.get("description")
        or body.split("\n")[0].lstrip("# ")
    )
    return Block(type, title[:300], body, 0, 0, "block.front_matter", 0.85), end
