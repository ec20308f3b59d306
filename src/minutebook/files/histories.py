"""What one agent remembers: Squad's `history.md`, and Agentweaver's.

The folder names the agent. A section tells what its entries are; a pinned line is an update, often by somebody
else; a heading with text below it is an entry, whether or not anybody dated it (half of them are not).
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass

from minutebook.files.dates import date_in
from minutebook.files.document import Document, Heading
from minutebook.files.entries import Certainty, Dialect, Draft, Parsed, assemble
from minutebook.files.fields import authors_in
from minutebook.files.headings import headline, title_of
from minutebook.files.ledgers import trimmed
from minutebook.model.errors import MinutebookError
from minutebook.model.memories import Type, parse_type

PIN = "📌"
_SECTIONS = (
    (re.compile(r"(?:project|core) context|contexto|identity|background"), Type.CORE_CONTEXT),
    (re.compile(r"learning|aprendizaje|lessons|insight|knowledge|what i'?ve learned"), Type.LEARNING),
    (re.compile(r"patterns?\b|patrones"), Type.PATTERN),
    (re.compile(r"recent updates|team updates|updates|sessions?\b|decisions?\b|log\b|archive"), Type.UPDATE),
)
_TYPED = re.compile(r"\[([a-z_ -]{3,20})\]\s*(.*)$", re.IGNORECASE)
_DECIDED = re.compile(
    r"(?:—|–|-)\s*(?:decided|directive|decision|requested) by ([^;—–\n]{1,60})", re.IGNORECASE
)
_LEAD = re.compile(r"[^:(\n]{0,60}\bupdate\b[^:(\n]{0,20}(?:\([^)\n]{0,160}\))?[:*\s]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Section:
    """The heading under which lines stand, and what they are likely to be."""

    name: str | None
    type: Type
    certainty: Certainty


def agent_of(path: str) -> str | None:
    """The agent whose folder a file lies in."""
    parts = path.split("/")
    for before, name in itertools.pairwise(parts[:-1]):
        if before == "agents" and not name.startswith(("_", ".")):
            return name
    return None


def parse_history(document: Document, path: str) -> Parsed:
    agent = agent_of(path)
    reader = _Reader(document, (agent,) if agent else ())
    bounds = [heading for heading in document.headings if heading.level <= 3]
    reader.loose(0, (bounds[0].line if bounds else len(document.lines)) - 1)
    for number, heading in enumerate(bounds):
        below = bounds[number + 1].line if number + 1 < len(bounds) else len(document.lines)
        reader.block(heading, below - 1)
    return assemble(document, Dialect.HISTORY, reader.drafts)


class _Reader:
    def __init__(self, document: Document, author: tuple[str, ...]) -> None:
        self.drafts: list[Draft] = []
        self._document, self._author = document, author
        self._section = Section(None, Type.LEARNING, Certainty.GUESSED)

    def block(self, heading: Heading, last: int) -> None:
        """A heading and what stands below it."""
        typed = _TYPED.match(heading.text)
        if typed is not None and (of_type := _type(typed[1])) is not None:
            self._entry(heading, last, Section(self._section.name, of_type, Certainty.SAID), typed[2])
            return
        opened = _section(heading)
        if opened is not None:
            self._section = opened
            if opened.type is Type.CORE_CONTEXT or self._is_prose(heading.line + 1, last):
                self._entry(heading, last, opened, heading.text)
            else:
                self.loose(heading.line + 1, last)
        elif heading.level == 1:
            self._section = Section(None, Type.LEARNING, Certainty.GUESSED)
            self.loose(heading.line + 1, last)
        else:
            section = self._section
            if heading.level == 2:
                dated = title_of(heading.text).dated_first
                of_type, sure = (
                    (Type.UPDATE, Certainty.LIKELY) if dated else (Type.LEARNING, Certainty.GUESSED)
                )
                self._section = section = Section(None, of_type, sure)
            self._entry(heading, last, section, heading.text)

    def _entry(self, heading: Heading, last: int, section: Section, words: str) -> None:
        """The heading with its text is an entry; pinned lines below it are entries of their own."""
        lines = self._document.lines
        pins = (n for n in range(heading.line + 1, last + 1) if self._pinned(n))
        end = next(pins, last + 1)
        title = title_of(words or heading.text)
        text = trimmed(lines[heading.line + 1 : end])
        if text:
            # Agentweaver heads an entry with its type and day alone.
            named = headline(text) if title.text == title.date else title.text
            self.drafts.append(
                Draft(
                    heading.line, end - 1, named, text, section.type, section.certainty,
                    authors=self._author, date=title.date, section=section.name,
                )
            )  # fmt: skip
        self.loose(end, last)

    def loose(self, first: int, last: int) -> None:
        """Lines that no heading of their own holds: pinned ones, and the items of a section's list."""
        number = first
        while number <= last:
            end = number
            if self._pinned(number):
                while end < last and not self._breaks(end + 1):
                    end += 1
                self._pin(number, end)
            elif self._section.certainty is Certainty.LIKELY and self._item(number):
                while end < last and not self._breaks(end + 1, inside_item=True):
                    end += 1
                text = trimmed(self._document.lines[number : end + 1])
                self._add(number, end, text[2:].lstrip(), self._section)
            number = end + 1

    def _pin(self, first: int, last: int) -> None:
        text = trimmed(self._document.lines[first : last + 1]).lstrip("-* ").removeprefix(PIN).strip()
        decided = _DECIDED.search(text[:2_000])
        self._add(first, last, text, Section(self._section.name, Type.UPDATE, Certainty.LIKELY))
        if decided is not None:
            self.drafts[-1].authors = authors_in(decided[1]) or self._author

    def _add(self, first: int, last: int, text: str, section: Section) -> None:
        lead = _LEAD.match(text)
        title = headline(text[lead.end() :] if lead else text)
        self.drafts.append(
            Draft(
                first, last, title or headline(text), text, section.type, section.certainty,
                authors=self._author, date=date_in(text[:200]), section=section.name,
            )
        )  # fmt: skip

    def _is_prose(self, first: int, last: int) -> bool:
        """Whether what stands in a section is one text, and not a list of things."""
        for number in range(first, last + 1):
            if not (self._document.is_blank(number) or self._document.shut[number]):
                return not (self._pinned(number) or self._item(number) or self._document.is_rule(number))
        return False

    def _pinned(self, number: int) -> bool:
        line = self._document.lines[number]
        return PIN in line[:12] and line.lstrip("-*+ \t").startswith(PIN) and not self._document.shut[number]

    def _item(self, number: int) -> bool:
        return self._document.lines[number][:2] in ("- ", "* ", "+ ") and not self._document.shut[number]

    def _breaks(self, number: int, *, inside_item: bool = False) -> bool:
        document = self._document
        if document.shut[number]:
            return False
        if self._pinned(number) or self._item(number) or document.is_rule(number):
            return True
        return document.is_blank(number) and not (inside_item and self._goes_on(number))

    def _goes_on(self, number: int) -> bool:
        """Whether the line after a blank one still belongs to the item above."""
        lines = self._document.lines
        return number + 1 < len(lines) and lines[number + 1].startswith(("  ", "\t"))


def _type(word: str) -> Type | None:
    try:
        return parse_type(word)
    except MinutebookError:
        return None


def _section(heading: Heading) -> Section | None:
    """What a heading opens, if it holds entries rather than being one."""
    if heading.level > 2 or title_of(heading.text).dated_first:
        return None
    name = heading.text[:80].casefold()
    for words, of_type in _SECTIONS:
        if words.search(name):
            return Section(heading.text, of_type, Certainty.LIKELY)
    return None
