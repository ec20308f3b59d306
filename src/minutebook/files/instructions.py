"""What people tell their agents: CLAUDE.md, AGENTS.md, MEMORY.md and their like, section by section."""

from __future__ import annotations

import re

from minutebook.files.dates import date_in
from minutebook.files.document import Document
from minutebook.files.entries import Certainty, Dialect, Draft, Kind, Parsed, assemble
from minutebook.files.foreign_matter import read_foreign
from minutebook.files.headings import headline
from minutebook.files.ledgers import trimmed
from minutebook.model.memories import Type

#: What minutebook itself put into such a file stands between these.
OURS_BEGINS, OURS_ENDS = "<!-- minutebook:begin", "<!-- minutebook:end"
_INDEX = re.compile(r"\s{0,4}[-*+]\s+\[(?:\\.|[^\]\\]){1,300}\]\([^)\s]{1,300}\.md\)")
_IMPORT = re.compile(r"@[\w~./-]{1,300}\s*$")
_ORDERS = re.compile(
    r"(?i)\b(?:always|never|must(?: not)?|do not|don't|should(?: not)?|only|required?|forbidden|siempre|nunca|debe)\b"
)
_PREFERS = re.compile(r"(?i)\b(?:i prefer|the user|user prefers|prefiero)\b")


def parse_instructions(document: Document, path: str) -> Parsed:
    matter = read_foreign(document.lines)
    kinds = dict.fromkeys(range(matter.last), Kind.MATTER) if matter else {}
    kinds |= _ours(document)
    lines = document.lines
    for number, line in enumerate(lines):
        if len(line) < 1_000 and not document.shut[number] and (_INDEX.match(line) or _IMPORT.match(line)):
            kinds.setdefault(number, Kind.LINK)
    drafts: list[Draft] = []
    trail: list[tuple[int, str]] = []
    bounds = [(h.line, h.level, h.text) for h in document.headings if h.line not in kinds and h.level <= 3]
    starts = [(matter.last if matter else 0, 0, ""), *bounds]
    for number, (first, level, title) in enumerate(starts):
        end = starts[number + 1][0] if number + 1 < len(starts) else len(lines)
        trail = [(above, name) for above, name in trail if above < level] + [(level, title)]
        for run in _runs(first if level == 0 else first + 1, end, kinds):
            text = trimmed(lines[run[0] : run[1] + 1])
            if text:
                # The heading goes with the first text below it.
                begins = first if level and run[0] == first + 1 else run[0]
                above = " › ".join(name for _, name in trail[:-1] if name) or None
                drafts.append(_draft(document, begins, run[1], title or headline(text), text, above))
    return assemble(document, Dialect.INSTRUCTIONS, drafts, kinds=kinds)


def _runs(first: int, end: int, kinds: dict[int, Kind]) -> list[tuple[int, int]]:
    """The stretches of lines between what is of a kind already."""
    found: list[tuple[int, int]] = []
    for number in range(first, end):
        if number in kinds:
            continue
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


def _draft(document: Document, first: int, last: int, title: str, text: str, above: str | None) -> Draft:
    begins = first
    while begins < last and (document.is_blank(begins) or document.is_rule(begins)):
        begins += 1
    if _PREFERS.search(text[:4_000]):
        of_type = Type.PROFILE
    else:
        of_type = Type.PROCESS if _ORDERS.search(text[:4_000]) else Type.PROJECT
    return Draft(begins, last, title, text, of_type, Certainty.GUESSED, date=date_in(title), section=above)


def _ours(document: Document) -> dict[int, Kind]:
    found: dict[int, Kind] = {}
    inside = False
    closed = max((n for n, line in enumerate(document.lines) if line.startswith(OURS_ENDS)), default=-1)
    for number, line in enumerate(document.lines):
        inside = inside or (line.startswith(OURS_BEGINS) and number < closed)
        if inside:
            found[number] = Kind.COMMENT
        inside = inside and not line.startswith(OURS_ENDS)
    return found
