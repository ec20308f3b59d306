"""What a parser finds in a file: entries with their evidence, and everything else as it stands.

The spans of a parsed file cover it from the first line to the last without gap or overlap, so that whoever
adopts it can show that nothing was lost. Nothing is made up: an author or a date that the file does not name
is absent.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from minutebook.files.document import Document
from minutebook.model.memories import Type
from minutebook.model.text import clean, fold_claim, one_line

MOST_TITLE = 500


class Dialect(StrEnum):
    """How a file is read."""

    MIRROR = "mirror"  # written by minutebook
    NOTE = "note"  # front matter and a text, of minutebook or AGH
    DROP_BOX = "drop-box"  # one proposal a file
    LEDGER = "ledger"  # Squad's decisions.md and its archives
    HISTORY = "history"  # what one agent remembers
    CHARTER = "charter"  # who an agent is
    FOCUS = "focus"  # identity/now.md
    WISDOM = "wisdom"  # identity/wisdom.md
    ADR = "adr"  # one architecture decision record
    INSTRUCTIONS = "instructions"  # CLAUDE.md, AGENTS.md, MEMORY.md
    BASIC_MEMORY = "basic-memory"  # observations and relations
    KNOWLEDGE_GRAPH = "knowledge-graph"  # the MCP memory server's JSON lines


class Certainty(StrEnum):
    """Where a type comes from."""

    SAID = "said"  # the file names it
    LIKELY = "likely"  # its place or its heading tells
    GUESSED = "guessed"  # words that often go with it; a reviewer should look


class Kind(StrEnum):
    """What a span holds that is no entry."""

    BLANK = "blank"  # empty lines and rules
    HEADING = "heading"  # headings that hold entries, or nothing
    MATTER = "matter"  # front matter
    COMMENT = "comment"
    LINK = "link"  # a relation, or a line of an index
    FOCUS = "focus"  # what the project is about
    TEXT = "text"  # text that fits no entry


@dataclass(frozen=True, slots=True)
class Span:
    """Lines of a file, counted from 1, the last included, and the SHA-256 of what they hold."""

    first: int
    last: int
    digest: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that somebody wrote down."""

    span: Span
    title: str
    text: str
    type: Type
    certainty: Certainty
    authors: tuple[str, ...] = ()
    #: a date, or a time in UTC (`Z`), or a time whose offset nobody said
    date: str | None = None
    rationale: str | None = None
    slug: str | None = None
    tags: tuple[str, ...] = ()
    #: the heading under which it stands
    section: str | None = None
    #: everything else that the file says of it, by folded name, as it is written
    fields: tuple[tuple[str, str], ...] = ()

    @property
    def author(self) -> str | None:
        return self.authors[0] if self.authors else None

    def get(self, name: str) -> str | None:
        return dict(self.fields).get(name)


@dataclass(frozen=True, slots=True)
class Raw:
    """Lines that belong to no entry, kept as they are."""

    span: Span
    kind: Kind


@dataclass(frozen=True, slots=True)
class Doubt:
    """Something that a person should look at: the line, and why."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Focus:
    """What a project is about just now, as `now.md` tells it."""

    focus: str
    issues: tuple[str, ...] = ()
    summary: str = ""
    updated_at: str | None = None


@dataclass(frozen=True, slots=True)
class Parsed:
    """A file, read."""

    dialect: Dialect
    entries: tuple[Entry, ...]
    raws: tuple[Raw, ...]
    doubts: tuple[Doubt, ...] = ()
    focus: Focus | None = None

    @property
    def spans(self) -> list[Span]:
        """Every span in the order of the file."""
        return sorted((piece.span for piece in (*self.entries, *self.raws)), key=lambda span: span.first)


@dataclass(slots=True)
class Draft:
    """An entry in the making: lines counted from 0, the last included."""

    first: int
    last: int
    title: str
    text: str
    type: Type
    certainty: Certainty
    authors: tuple[str, ...] = ()
    date: str | None = None
    rationale: str | None = None
    slug: str | None = None
    tags: tuple[str, ...] = ()
    section: str | None = None
    fields: list[tuple[str, str]] = field(default_factory=list)


def assemble(
    document: Document,
    dialect: Dialect,
    drafts: Iterable[Draft],
    *,
    kinds: dict[int, Kind] | None = None,
    doubts: Iterable[Doubt] = (),
    focus: Focus | None = None,
) -> Parsed:
    """Make entries of drafts, in the order of the file, and raw spans of all the lines between them."""
    entries: list[Entry] = []
    owned = [False] * len(document.lines)
    for draft in drafts:
        if not one_line(draft.title) and not clean(draft.text).strip():
            continue  # a form that nobody filled in
        last = draft.last
        while last > draft.first and (document.is_blank(last) or document.is_rule(last)):
            last -= 1
        for line in range(draft.first, last + 1):
            owned[line] = True
        entries.append(_entry(draft, Span(draft.first + 1, last + 1, document.digest(draft.first, last))))
    raws = _raws(document, owned, kinds or {})
    return Parsed(dialect, tuple(entries), tuple(raws), tuple(doubts), focus)


def _entry(draft: Draft, span: Span) -> Entry:
    rationale = None if draft.rationale is None else clean(draft.rationale) or None
    return Entry(
        span=span,
        title=one_line(draft.title)[:MOST_TITLE],
        text=clean(draft.text),
        type=draft.type,
        certainty=draft.certainty,
        authors=draft.authors,
        date=draft.date,
        rationale=rationale,
        slug=draft.slug,
        tags=draft.tags,
        section=draft.section,
        fields=tuple(draft.fields),
    )


def _raws(document: Document, owned: list[bool], kinds: dict[int, Kind]) -> list[Raw]:
    """Runs of lines of one kind. Blank lines go with what stands before them, so that spans are few."""
    found: list[tuple[int, int, Kind]] = []
    for line in range(len(document.lines)):
        if owned[line]:
            continue
        if line in kinds:
            kind = kinds[line]
        elif document.is_blank(line) or document.is_rule(line):
            kind = Kind.BLANK
        elif line in document.heading_lines:
            kind = Kind.HEADING
        elif document.shut[line] and document.lines[line].lstrip().startswith("<!--"):
            kind = Kind.COMMENT
        else:
            kind = Kind.TEXT
        if found and found[-1][1] == line - 1 and kind in (found[-1][2], Kind.BLANK):
            found[-1] = (found[-1][0], line, found[-1][2])
        else:
            found.append((line, line, kind))
    return [Raw(Span(a + 1, b + 1, document.digest(a, b)), kind) for a, b, kind in found]


def alike(entries: Iterable[Entry]) -> list[list[Entry]]:
    """Entries that say the same, together, in the order of the first of each."""
    found: dict[tuple[str, str, str | None], list[Entry]] = {}
    for entry in entries:
        said = f"{entry.text}\n{entry.rationale or ''}"
        found.setdefault((fold_claim(entry.title), fold_claim(said), entry.date), []).append(entry)
    return list(found.values())
