"""A folder of architecture decision records: one file, one decision, in Nygard's form or MADR's."""

from __future__ import annotations

import re

from minutebook.files.dates import date_in
from minutebook.files.document import Document
from minutebook.files.entries import Certainty, Dialect, Doubt, Draft, Parsed, assemble
from minutebook.files.fields import MEANS, Means, authors_in, fields_in
from minutebook.files.foreign_matter import read_foreign
from minutebook.files.headings import headline, title_of
from minutebook.files.ledgers import trimmed
from minutebook.model.memories import Type

_NUMBER = re.compile(r"(?:(?:adr|rfc|pep)[- ]?)?#?(\d{1,5})\s*[.:)—–-]\s*", re.IGNORECASE)
_UNDERLINE = re.compile(r"\s{0,3}={3,}\s*$")
_HEAD_WITHIN = 40
_SECTION_WITHIN = 12
_LINKS = ("supersedes", "superseded-by")
_LINK = re.compile(
    r"\W{0,4}(?:(superseded by|superceded by|replaced by|reemplazad[oa] por)|supersedes|supercedes|replaces|reemplaza(?: a)?)"
    r"\b[:\s]+(\S.*)$",
    re.IGNORECASE,
)


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
    links: dict[str, str] = {}
    status: str | None = None
    for line in range(below, min(len(document.lines), below + _HEAD_WITHIN)):
        for name, value in () if document.shut[line] else fields_in(document.lines[line], plain=True):
            means = MEANS.get(name)
            if means is not None:
                found.setdefault(means, value)
            if name in _LINKS:
                links.setdefault(name, value)
    if matter:
        status = matter.one("status")
        found[Means.DATE] = matter.one("date") or found.get(Means.DATE, "")
        deciders = matter.many("decision-makers", "deciders", "authors", "author")
        found[Means.AUTHOR] = ", ".join(deciders) or found.get(Means.AUTHOR, "")
        links |= {name: said for name in _LINKS if (said := matter.one(name, name.replace("-", "_")))}
    below_status = _section(document, "status")
    links = _links_in(below_status) | links
    # `Accepted` may stand above the line that says what came after.
    below_status.sort(key=lambda line: "superseded-by" not in _links_in([line]))
    status = status or found.get(Means.STATUS) or next(iter(below_status), None)
    fields += [("status", status)] if status else []
    fields += links.items()
    named = title_of(title[number.end() :] if number else title)
    draft = Draft(
        0,
        len(document.lines) - 1,
        named.text or title,
        body,
        Type.ARCHITECTURAL,
        Certainty.LIKELY,
        authors=authors_in(found.get(Means.AUTHOR) or found.get(Means.KEEPER) or ""),
        date=date_in(found.get(Means.DATE, ""))
        or date_in(" ".join(_section(document, "date")[:1]))
        or named.date,
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


def _section(document: Document, name: str) -> list[str]:
    """The first lines below a heading of that name, up to the next one."""
    found = [n for n, one in enumerate(document.headings) if one.text.casefold().strip(" :") == name]
    if not found:
        return []
    start = document.headings[found[0]].line + 1
    after = [heading.line for heading in document.headings[found[0] + 1 :]]
    lines = document.lines[start : min([*after, start + _SECTION_WITHIN])]
    return [line.strip(" *_.") for line in lines if line.strip()]


def _links_in(lines: list[str]) -> dict[str, str]:
    """What a status says of other records: `Supersedes [1. Use MySQL](0001-use-mysql.md)`, on a line of its own."""
    found: dict[str, str] = {}
    for line in lines:
        match = _LINK.match(line)
        if match is not None:
            found.setdefault("superseded-by" if match[1] else "supersedes", match[2])
    return found
