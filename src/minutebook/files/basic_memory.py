"""A basic-memory folder: notes of observations (`- [category] text #tag`) and relations (`- uses [[Other]]`)."""

from __future__ import annotations

import re

from minutebook.files.dates import date_in
from minutebook.files.document import Document
from minutebook.files.entries import Certainty, Dialect, Draft, Kind, Parsed, assemble
from minutebook.files.foreign_matter import read_foreign
from minutebook.files.headings import headline
from minutebook.files.instructions import parse_instructions
from minutebook.files.ledgers import trimmed
from minutebook.model.memories import Type

_OBSERVATION = re.compile(r"\s{0,4}[-*+]\s+\[([^\]\[()]{1,40})\]\s+(\S.*)$")
_RELATION = re.compile(r"\s{0,4}[-*+]\s+[^\[\]]{0,80}\[\[[^\]]{1,200}\]\]")
_TAG = re.compile(r"(?:(?<=\s)|^)#([\w-]{1,64})")
_ASIDE = re.compile(r"\s*\(([^()]{1,300})\)\s*$")
_TYPES = {
    "decision": Type.TECHNICAL,
    "design": Type.ARCHITECTURAL,
    "architecture": Type.ARCHITECTURAL,
    "requirement": Type.SCOPE,
    "rule": Type.PROCESS,
    "process": Type.PROCESS,
    "preference": Type.PROFILE,
    "technique": Type.PATTERN,
    "pattern": Type.PATTERN,
    "method": Type.PATTERN,
    "feedback": Type.FEEDBACK,
    "event": Type.EPISODE,
}
#: A box to tick is no category.
_BOXES = {"", " ", "x", "X", "-", "/"}


def parse_basic_memory(document: Document, path: str) -> Parsed:
    matter = read_foreign(document.lines)
    below = matter.last if matter else 0
    if matter is None:
        return parse_instructions(document, path)
    title = matter.one("title") or path.rpartition("/")[2].removesuffix(".md")
    date = date_in(matter.one("updated_at", "created", "created_at", "date") or "")
    base = matter.many("tags")
    kinds = dict.fromkeys(range(below), Kind.MATTER)
    drafts: list[Draft] = []
    for number in range(below, len(document.lines)):
        line = document.lines[number]
        if len(line) > 4_000 or document.shut[number]:
            continue
        found = _OBSERVATION.match(line)
        if found and found[1].strip() not in _BOXES:
            drafts.append(_observation(number, found, title, base, date))
        elif _RELATION.match(line):
            kinds[number] = Kind.LINK
    taken = {draft.first for draft in drafts} | set(kinds) | document.heading_lines
    for first, last in _prose(document, below, taken):
        text = trimmed(document.lines[first : last + 1])
        drafts.append(Draft(first, last, title, text, Type.ARTIFACT, Certainty.GUESSED, date=date, tags=base))
    drafts.sort(key=lambda draft: draft.first)
    return assemble(document, Dialect.BASIC_MEMORY, drafts, kinds=kinds)


def _observation(
    number: int, found: re.Match[str], title: str, base: tuple[str, ...], date: str | None
) -> Draft:
    category = found[1].strip().casefold()
    text = found[2].strip()
    aside = _ASIDE.search(text[-400:])
    tags = tuple(dict.fromkeys([*base, *(tag.strip() for tag in _TAG.findall(text))]))
    of_type = _TYPES.get(category)
    return Draft(
        number, number, f"{title}: {headline(text)}", text, of_type or Type.ARTIFACT,
        Certainty.LIKELY if of_type else Certainty.GUESSED,
        date=date, tags=tags, section=title,
        fields=[("category", category), *([("context", aside[1])] if aside else [])],
    )  # fmt: skip


def _prose(document: Document, below: int, taken: set[int]) -> list[tuple[int, int]]:
    """What stands between headings, observations and relations, each stretch an entry of the note."""
    found: list[tuple[int, int]] = []
    first: int | None = None
    for number in range(below, len(document.lines) + 1):
        outside = number == len(document.lines) or number in taken
        if not outside and first is None and not document.is_blank(number) and not document.is_rule(number):
            first = number
        elif outside and first is not None:
            found.append((first, number - 1))
            first = None
    return found
