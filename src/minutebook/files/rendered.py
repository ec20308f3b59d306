"""Reads back the files that `render.py` writes: in another clone they are all that is left of a ledger."""

from __future__ import annotations

import re
from itertools import pairwise

from minutebook.files.containing import MARK, out_of_line, released
from minutebook.files.document import Document
from minutebook.files.drop_box import RATIONALE
from minutebook.files.entries import Certainty, Dialect, Doubt, Draft, Parsed, assemble
from minutebook.files.fields import folded
from minutebook.files.render import history_lead, pattern_lead
from minutebook.model.errors import MinutebookError
from minutebook.model.memories import parse_type

_HEADING = re.compile(r"#{2,3} (.*)$")
_FACT = re.compile(r"(?:^| \| )\*\*([A-Z][a-z ]{1,20}):\*\* ")
_KIND = re.compile(re.escape(MARK) + r" ([a-z]{1,20}):")


def is_rendered(document: Document) -> bool:
    return bool(document.lines) and document.lines[0].startswith(MARK)


def parse_rendered(document: Document, path: str) -> Parsed:
    """Every entry of a file of ours. One that was changed by hand beyond reading is a doubt, and stays raw."""
    kind = _KIND.match(document.lines[0]) if document.lines else None
    # Stored text never begins a line with a sign of structure, so that every such line is ours.
    starts = [number for number, line in enumerate(document.lines) if _HEADING.match(line)]
    drafts: list[Draft] = []
    doubts: list[Doubt] = []
    for first, end in pairwise([*starts, len(document.lines)]):
        draft = _draft(document.lines, first, end, kind[1] if kind else "")
        if draft is None:
            doubts.append(Doubt(first + 1, "The lines below the heading do not say what it is."))
        else:
            drafts.append(draft)
    return assemble(document, Dialect.MIRROR, drafts, doubts=doubts)


def _draft(lines: list[str], first: int, end: int, kind: str) -> Draft | None:
    heading = _HEADING.match(lines[first])
    facts: dict[str, str] = {}
    number = first + 1
    while number < end and lines[number].startswith("**") and lines[number] != RATIONALE:
        facts |= _facts(lines[number])
        number += 1
    if heading is None or not all(facts.get(name) for name in ("type", "by", "date")):
        return None
    try:
        of_type = parse_type(facts["type"])
    except MinutebookError:
        return None
    last = max((n for n in range(number, end) if lines[n] == "---"), default=end)
    mark = next((n for n in range(number, last) if lines[n] == RATIONALE), last)
    lead = {
        "history": history_lead(facts["type"], facts["date"]),
        "patterns": pattern_lead(facts["by"], facts["date"]),
    }.get(kind, "")
    return Draft(
        first,
        end - 1,
        out_of_line(heading[1].removeprefix(lead)),
        released(lines[number:mark]),
        of_type,
        Certainty.SAID,
        authors=(facts["by"],),
        date=facts["date"],
        rationale=released(lines[mark + 1 : last]) or None,
        section=kind or None,
        fields=[(name, value) for name, value in facts.items() if name not in ("by", "date")],
    )


def _facts(line: str) -> dict[str, str]:
    marks = list(_FACT.finditer(line))
    ends = [mark.start() for mark in marks[1:]] + [len(line)]
    return {
        folded(mark[1]): out_of_line(line[mark.end() : end]) for mark, end in zip(marks, ends, strict=False)
    }
