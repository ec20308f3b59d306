"""A folder of architecture decision records: one file, one decision, in Nygard's form or MADR's."""

from __future__ import annotations

import re

from minutebook.files.dates import date_in
from minutebook.files.document import Document, Heading
from minutebook.files.entries import Certainty, Dialect, Doubt, Draft, Parsed, assemble
from minutebook.files.fields import MEANS, Means, authors_in, fields_in
from minutebook.files.foreign_matter import read_foreign
from minutebook.files.headings import headline, title_of
from minutebook.files.ledgers import trimmed
from minutebook.model.memories import Type

_NUMBER = re.compile(r"(?:(?:adr|rfc|pep)[- ]?)?#?(\d{1,5})\s*[.:)—–-]\s*", re.IGNORECASE)
_UNDERLINE = re.compile(r"\s{0,3}={3,}\s*$")
_HEAD_WITHIN = 40


def parse_adr(document: Document, path: str) -> Parsed:
    matter = read_foreign(document.lines)
    below = matter.last if matter else 0
    body = trimmed(document.lines[below:])
    if not body:
        return assemble(document, Dialect.ADR, [], doubts=[Doubt(1, "The file is empty.")])
    title = _title(document, below) or (matter.one("title") if matter else None) or headline(body)
    number = _NUMBER.match(title)
    fields: list[tuple[str, str]] = [("number", number[1])] if number else []
    found: dict[Means, str] = {}
    status: str | None = None
    for line in range(below, min(len(document.lines), below + _HEAD_WITHIN)):
        for name, value in () if document.shut[line] else fields_in(document.lines[line], plain=True):
            means = MEANS.get(name)
            if means is not None:
                found.setdefault(means, value)
    if matter:
        status = matter.one("status")
        found[Means.DATE] = matter.one("date") or found.get(Means.DATE, "")
        deciders = matter.many("decision-makers", "deciders", "authors", "author")
        found[Means.AUTHOR] = ", ".join(deciders) or found.get(Means.AUTHOR, "")
    status = status or found.get(Means.STATUS) or _section(document, "status")
    fields += [("status", status)] if status else []
    named = title_of(title[number.end() :] if number else title)
    draft = Draft(
        0,
        len(document.lines) - 1,
        named.text or title,
        body,
        Type.ARCHITECTURAL,
        Certainty.LIKELY,
        authors=authors_in(found.get(Means.AUTHOR) or found.get(Means.KEEPER) or ""),
        date=date_in(found.get(Means.DATE, "")) or date_in(_section(document, "date") or "") or named.date,
        slug=path.rpartition("/")[2].removesuffix(".md"),
        tags=matter.many("tags") if matter else (),
        fields=fields,
    )
    return assemble(document, Dialect.ADR, [draft])


def _title(document: Document, below: int) -> str | None:
    for heading in document.headings:
        if heading.line >= below:
            return heading.text
    for line in range(below, min(len(document.lines) - 1, below + 10)):
        if _UNDERLINE.match(document.lines[line + 1]) and document.lines[line].strip():
            return document.lines[line].strip()
    return None


def _section(document: Document, name: str) -> str | None:
    """The first line below a heading of that name."""
    heading: Heading
    for heading in document.headings:
        if heading.text.casefold().strip(" :") == name:
            for line in document.lines[heading.line + 1 : heading.line + 6]:
                if line.strip():
                    return line.strip(" *_.")
    return None
