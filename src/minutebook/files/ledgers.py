"""Squad's shared ledger: classic By/What/Why blocks, `squad_decide` output, dated headings, SEM blocks.

A heading begins an entry when it carries a date, calls itself a decision, or is followed within a few lines by
a field that names an author or a date; and when its words are not those of a mere section. Real ledgers mix
levels (an entry on H3 whose sections are H2), so an entry reaches to the next one, or to a heading that can
only hold entries, whatever its level.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection
from dataclasses import dataclass

from minutebook.files.dates import date_in
from minutebook.files.document import Document, Heading, is_rule
from minutebook.files.entries import Certainty, Dialect, Draft, Parsed, assemble
from minutebook.files.fields import MEANS, Means, authors_in, fields_in
from minutebook.files.headings import Title, is_holder, is_section, title_of, type_by_words
from minutebook.files.sem import SemHeading, sem_heading
from minutebook.model.errors import MinutebookError
from minutebook.model.memories import Type, parse_type

#: Lines below a heading in which a field makes it an entry, and in which its author and date are looked for.
_FIELD_WITHIN = 8
_HEAD_WITHIN = 20
#: Fields whose value may be the list below them.
_LISTS = ("related", "references", "tags")


@dataclass(frozen=True, slots=True)
class Start:
    """A heading that begins an entry."""

    heading: Heading
    title: Title
    sem: SemHeading | None


def parse_ledger(document: Document, path: str) -> Parsed:
    return assemble(document, Dialect.LEDGER, drafts_of(document, find_starts(document)))


def find_starts(document: Document, *, levels: Collection[int] = (1, 2, 3, 4)) -> list[Start]:
    """The headings that begin an entry."""
    headings = document.headings
    found = []
    for number, heading in enumerate(headings):
        if heading.level not in levels or is_section(heading.text):
            continue
        below = headings[number + 1].line if number + 1 < len(headings) else len(document.lines)
        title = title_of(heading.text)
        if is_holder(heading) and not (title.date and _has_text(document, heading.line + 1, below)):
            continue
        named = _names_somebody(document, heading.line + 1, min(below, heading.line + 1 + _FIELD_WITHIN))
        # Below H3, headings are parts of an entry unless they bear every mark of one.
        if (
            named
            if heading.level == 4 and title.dated_first
            else heading.level < 4 and (named or title.date is not None or title.says_entry)
        ):
            found.append(Start(heading, title, sem_heading(heading.text)))
    return found


def _has_text(document: Document, first: int, end: int) -> bool:
    return any(not document.is_blank(line) and not document.is_rule(line) for line in range(first, end))


def _names_somebody(document: Document, first: int, end: int) -> bool:
    wanted = (Means.AUTHOR, Means.KEEPER, Means.DATE)
    return any(
        MEANS.get(name) in wanted
        for line in range(first, end)
        if not document.shut[line]
        for name, _ in fields_in(document.lines[line], plain=True)
    )


def drafts_of(document: Document, starts: list[Start]) -> list[Draft]:
    """Every entry from its heading to where the next one begins, or what cannot belong to it."""
    found = []
    stops = _stops(document, starts)
    holders = [heading for heading in document.headings if is_holder(heading)]
    held_at = [heading.line for heading in holders]
    for number, start in enumerate(starts):
        line = start.heading.line
        end = starts[number + 1].heading.line if number + 1 < len(starts) else len(document.lines)
        stop = bisect_right(stops, line)
        if stop < len(stops):
            end = min(end, stops[stop])
        holder = bisect_right(held_at, line) - 1
        found.append(draft_of(document, start, end - 1, holders[holder].text if holder >= 0 else None))
    return found


def _stops(document: Document, starts: list[Start]) -> list[int]:
    """Lines at which an entry ends though none begins: what holds entries, and a title of another document."""
    begun = {start.heading.line for start in starts}
    return [
        heading.line
        for heading in document.headings
        if heading.line not in begun
        and (is_holder(heading) or (heading.level == 1 and not is_section(heading.text)))
    ]


def draft_of(document: Document, start: Start, last: int, section: str | None = None) -> Draft:
    """Take an entry apart: what its head says, what it says, and why."""
    body = Body(document, start.heading.line + 1, last, ends_at_rule=start.sem is not None)
    body.read()
    title = start.title
    of_type, certainty = _type_of(body, start)
    dates = [title.date, *map(date_in, body.dates)]
    # A heading often tells the day and a field the minute.
    date = next((found for found in dates if found and "T" in found), next(filter(None, dates), None))
    authors = next((found for value in (*body.authors, *body.keepers) if (found := authors_in(value))), ())
    return Draft(
        start.heading.line,
        body.last,
        title=start.sem.summary if start.sem else title.text,
        text=trimmed(body.what),
        type=of_type,
        certainty=certainty,
        authors=authors,
        date=date,
        rationale=trimmed(body.why) or None,
        tags=tuple(tag.strip() for value in body.tags for tag in value.split(",") if tag.strip()),
        section=section,
        fields=([("sem", start.sem.kind)] if start.sem else []) + body.fields,
    )


def trimmed(lines: list[str]) -> str:
    """Lines as a text, without the blank lines and rules around it."""
    first, end = 0, len(lines)
    while first < end and (not lines[first].strip() or is_rule(lines[first])):
        first += 1
    while end > first and (not lines[end - 1].strip() or is_rule(lines[end - 1])):
        end -= 1
    return "\n".join(lines[first:end])


def _type_of(body: Body, start: Start) -> tuple[Type, Certainty]:
    if start.sem is not None:
        return start.sem.type, Certainty.SAID
    for value in body.types:
        try:
            return parse_type(value), Certainty.SAID
        except MinutebookError:
            continue  # a word of their own; it stays among the fields
    if start.title.type is not None:
        return start.title.type, Certainty.LIKELY
    guessed = type_by_words(start.heading.text)
    return (
        guessed,
        Certainty.LIKELY if start.title.says_entry and guessed is Type.TECHNICAL else Certainty.GUESSED,
    )


class Body:
    """The lines below a heading, sorted by what they say."""

    def __init__(self, document: Document, first: int, last: int, *, ends_at_rule: bool) -> None:
        self._document, self._first, self.last, self._ends = document, first, last, ends_at_rule
        self.what: list[str] = []
        self.why: list[str] = []
        self.authors: list[str] = []
        self.keepers: list[str] = []
        self.dates: list[str] = []
        self.types: list[str] = []
        self.tags: list[str] = []
        self.fields: list[tuple[str, str]] = []
        #: whether list items belong to the field above them
        self._listing = False

    def read(self) -> None:
        document, into = self._document, self.what
        in_head = True
        for number in range(self._first, self.last + 1):
            line = document.lines[number]
            if document.shut[number]:
                into.append(line)
                in_head = False
                continue
            if self._ends and document.is_rule(number):
                self.last = number - 1
                break
            if number in document.heading_lines:
                into, in_head = self.what, False
            if self._listing and line.lstrip()[:2] in ("- ", "* ", "+ "):
                name, value = self.fields[-1]
                self.fields[-1] = (name, f"{value}\n{line.lstrip()[2:].strip()}".strip())
                continue
            self._listing = False
            found = fields_in(line, plain=in_head and number - self._first < _HEAD_WITHIN)
            if not found:
                in_head = in_head and not line.strip()
                into.append(line)
                continue
            into = self._take(found, line, into, number - self._first < _HEAD_WITHIN)
            # Where it is said what and why, a line without bold type is part of that.
            in_head = in_head and not any(MEANS.get(name) in (Means.WHAT, Means.WHY) for name, _ in found)

    def _take(self, found: list[tuple[str, str]], line: str, into: list[str], in_reach: bool) -> list[str]:
        """Put a line of fields where it belongs; say where the lines after it go."""
        means = [MEANS.get(name) for name, _ in found]
        if means[0] is None or not (in_reach or means[0] in (Means.WHAT, Means.WHY)):
            # A bold lead of the author's own. It ends the reasons, and is text as it stands.
            self.what.append(line)
            return self.what
        for (name, value), meaning in zip(found, means, strict=True):
            if meaning in (Means.WHAT, Means.WHY):
                into = self.what if meaning is Means.WHAT else self.why
                into.extend([value] if value else [])
                continue
            self.fields.append((name, value))
            self._listing = name in _LISTS
            into = self.what
            kept = {
                Means.AUTHOR: self.authors,
                Means.KEEPER: self.keepers,
                Means.DATE: self.dates,
                Means.TYPE: self.types,
                Means.TAGS: self.tags,
            }.get(meaning or Means.OTHER)
            if kept is not None:
                kept.append(value)
        return into
