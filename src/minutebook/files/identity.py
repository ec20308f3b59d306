"""What a team says of itself: `identity/now.md`, `identity/wisdom.md`, and the charters of its agents."""

from __future__ import annotations

import re

from minutebook.files.containing import MARK, released
from minutebook.files.dates import date_in
from minutebook.files.document import Document
from minutebook.files.entries import Certainty, Dialect, Doubt, Draft, Focus, Kind, Parsed, assemble
from minutebook.files.fields import fields_in
from minutebook.files.foreign_matter import read_foreign
from minutebook.files.headings import headline
from minutebook.files.histories import agent_of
from minutebook.files.ledgers import trimmed
from minutebook.model.memories import CROSS_TEAM, Type

_PATTERNS = {"pattern": "pattern", "anti-pattern": "anti-pattern", "avoid": "anti-pattern"}
_REASONS = {"context", "why"}
_SUMMARY = re.compile(r"#{1,3}\s+(?:summary|resumen)\s*$", re.IGNORECASE)


def parse_focus(document: Document, path: str) -> Parsed:
    """`now.md`: what the project is about, the issues that are open, and what happened so far."""
    matter = read_foreign(document.lines)
    below = matter.last if matter else 0
    lines = document.lines[below:]
    headings = [n for n, line in enumerate(lines) if line.startswith("# ") and not document.shut[below + n]]
    body = lines[headings[0] + 1 :] if headings else lines
    is_ours = any(line.startswith(MARK) for line in lines[:3])
    summary = next((n for n, line in enumerate(body) if _SUMMARY.match(line[:80])), None)
    if is_ours and summary is None:
        summary = len(body)  # what stands above it is the focus once more
    words = trimmed(body if summary is None else body[:summary])
    focus = (matter.one("focus_area", "focus") if matter else None) or headline(words)
    told = "" if words == focus else words
    if summary is not None:
        told = released(body[summary + 1 :]) if is_ours else trimmed(body[summary + 1 :])
    kinds = dict.fromkeys(range(len(document.lines)), Kind.FOCUS) | dict.fromkeys(range(below), Kind.MATTER)
    if not focus:
        return assemble(document, Dialect.FOCUS, [], kinds=kinds, doubts=[Doubt(1, "No focus is named.")])
    found = Focus(
        focus=focus,
        issues=_issues(matter.many("active_issues") if matter else (), exact=is_ours),
        summary=told,
        updated_at=_time(matter.one("updated_at") if matter else None, exact=is_ours),
    )
    return assemble(document, Dialect.FOCUS, [], kinds=kinds, focus=found)


def _time(text: str | None, *, exact: bool) -> str | None:
    return text if exact else date_in(text or "")


def _issues(values: tuple[str, ...], *, exact: bool) -> tuple[str, ...]:
    """The list, also where Agentweaver put a JSON array into brackets once more."""
    if exact:
        return values
    return tuple(issue for value in values if (issue := value.strip("[]\"' ")))


def parse_wisdom(document: Document, path: str) -> Parsed:
    """`wisdom.md`: a paragraph for each pattern or anti-pattern, for the whole team."""
    matter = read_foreign(document.lines)
    drafts: list[Draft] = []
    number = matter.last if matter else 0
    kinds = dict.fromkeys(range(number), Kind.MATTER)
    while number < len(document.lines):
        found = [] if document.shut[number] else fields_in(document.lines[number])
        if not found or found[0][0] not in _PATTERNS:
            number += 1
            continue
        end = number
        while end + 1 < len(document.lines) and not _ends_pattern(document, end + 1):
            end += 1
        drafts.append(_pattern(document, number, end, _PATTERNS[found[0][0]]))
        number = end + 1
    return assemble(document, Dialect.WISDOM, drafts, kinds=kinds)


def _ends_pattern(document: Document, number: int) -> bool:
    line = document.lines[number]
    if document.shut[number]:
        return False
    found = fields_in(line)
    return document.is_blank(number) or line.startswith("#") or bool(found and found[0][0] in _PATTERNS)


def _pattern(document: Document, first: int, last: int, sort: str) -> Draft:
    what: list[str] = []
    why: list[str] = []
    into = what
    for line in document.lines[first : last + 1]:
        found = fields_in(line)
        if not found:
            into.append(line)
        for name, value in found:
            into = why if name in _REASONS else what
            into.append(value)
    text = "\n".join(what).strip()
    return Draft(
        first, last, headline(text), text, Type.PATTERN, Certainty.SAID,
        rationale="\n".join(why).strip() or None, tags=(CROSS_TEAM, sort), date=date_in(text[:200]),
    )  # fmt: skip


def parse_charter(document: Document, path: str) -> Parsed:
    """Who an agent is, whole: the core of what it should know of itself."""
    first = next((n for n in range(len(document.lines)) if not document.is_blank(n)), None)
    if first is None:
        return assemble(document, Dialect.CHARTER, [])
    agent = agent_of(path)
    heading = document.headings[0] if document.headings else None
    draft = Draft(
        first,
        len(document.lines) - 1,
        heading.text if heading else headline(document.lines[first]),
        trimmed(document.lines[first:]),
        Type.CORE_CONTEXT,
        Certainty.LIKELY,
        fields=[("agent", agent)] if agent else [],
    )
    return assemble(document, Dialect.CHARTER, [draft])
