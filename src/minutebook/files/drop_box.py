"""A file of the drop-box: one proposal, with front matter as Agentweaver writes it, or as anybody writes it.

Of 685 real ones none had front matter; they are a heading, a few fields and a text. The whole file is the
proposal: headings further down are its sections, dated or not, unless they stand as high as the first one.
"""

from __future__ import annotations

from collections.abc import Collection

from minutebook.files.document import Document
from minutebook.files.entries import Certainty, Dialect, Doubt, Draft, Kind, Parsed, assemble
from minutebook.files.foreign_matter import ForeignMatter, read_foreign
from minutebook.files.headings import is_section, title_of, type_by_words
from minutebook.files.ledgers import Start, draft_of, drafts_of, find_starts
from minutebook.files.sem import sem_heading
from minutebook.model.errors import MinutebookError
from minutebook.model.memories import parse_type
from minutebook.model.text import fold_name, one_line, slug_segment

#: Where the reasons begin in a file with front matter. A body that holds these words has them escaped.
RATIONALE = "**Rationale:**"
#: What must be said once: whoever reads the file and whoever decides about it must see the same.
_ONCE = ("agent", "author", "slug", "type", "title")


def parse_drop_box(document: Document, path: str, *, team: Collection[str] = ()) -> Parsed:
    """Read a proposal. `team` names the agents, so that one whom only the file's name tells is found."""
    stem = path.rpartition("/")[2].removesuffix(".md")
    matter = read_foreign(document.lines)
    if matter is not None:
        return _with_matter(document, matter, stem)
    if document.lines and document.lines[0].rstrip() == "---" and _looks_like_matter(document):
        return _unread(
            document, 1, "The front matter does not end: a second line of three hyphens is missing."
        )
    drafts = _drafts(document)
    if not drafts:
        first = next((n for n in range(len(document.lines)) if not document.is_blank(n)), None)
        if first is None:
            return _unread(document, 1, "The file is empty.")
        return _unread(document, first + 1, "There is no heading that could be a title, and no front matter.")
    for draft in drafts:
        draft.slug = stem
        draft.authors = draft.authors or _by_name(stem, team)
    doubts = [Doubt(draft.first + 1, "A second entry in one file.") for draft in drafts[1:]]
    doubts += [
        Doubt(draft.first + 1, "Nobody is named as the author.") for draft in drafts if not draft.authors
    ]
    return assemble(document, Dialect.DROP_BOX, drafts, doubts=doubts)


def _looks_like_matter(document: Document) -> bool:
    return any(":" in line and not line.startswith(("#", " ", "*")) for line in document.lines[1:4])


def _unread(document: Document, line: int, reason: str) -> Parsed:
    return assemble(document, Dialect.DROP_BOX, [], doubts=[Doubt(line, reason)])


def _drafts(document: Document) -> list[Draft]:
    headings = [heading for heading in document.headings if not is_section(heading.text)]
    if not headings:
        return []
    highest = headings[0].level
    starts = [start for start in find_starts(document) if start.heading.level <= highest]
    if starts and starts[0].heading == headings[0]:
        return drafts_of(document, starts)
    # No date, no author, but a title: the file is in the drop-box, and that makes it a proposal.
    first = headings[0]
    whole = Start(first, title_of(first.text), sem_heading(first.text))
    return [draft_of(document, whole, len(document.lines) - 1)]


def _by_name(stem: str, team: Collection[str]) -> tuple[str, ...]:
    """The agent with whose name the file's name begins; the longest such name."""
    fitting = [agent for agent in team if f"{stem.casefold()}-".startswith(f"{slug_segment(agent)}-")]
    return (max(fitting, key=lambda agent: len(fold_name(agent))),) if fitting else ()


def _with_matter(document: Document, matter: ForeignMatter, stem: str) -> Parsed:
    twice = [(line, key) for key, line in matter.repeated.items() if key in _ONCE]
    if twice:
        line, key = min(twice)
        return _unread(document, line, f"The key `{key}` comes twice.")
    doubts = [
        Doubt(1, f"The front matter has no {key}.")
        for key in ("agent", "type", "title")
        if matter.one(key) is None
    ]
    body, why = split_rationale(document.lines[matter.last :])
    said = matter.one("type") or ""
    title = matter.one("title") or matter.one("slug") or stem
    try:
        of_type, certainty = parse_type(said), Certainty.SAID
    except MinutebookError:
        of_type, certainty = type_by_words(title), Certainty.GUESSED
        doubts += [Doubt(1, f"There is no type {said[:40]!r}.")] if said else []
    # One blank line below the fence, and one above the reasons, belong to the form and not to the text.
    text = "\n".join(body[1:] if body and not body[0].strip() else body).rstrip()
    if not text:
        doubts.append(Doubt(matter.last, "There is nothing below the front matter."))
        if not why:
            kinds = dict.fromkeys(range(matter.last), Kind.MATTER)
            return assemble(document, Dialect.DROP_BOX, [], doubts=doubts, kinds=kinds)
    draft = Draft(0, len(document.lines) - 1, title, text, of_type, certainty)
    draft.authors = tuple(filter(None, [one_line(matter.one("agent", "author") or "")]))
    draft.rationale = why
    draft.slug = matter.one("slug") or stem
    draft.fields = [(key, value) for key, values in matter.values.items() for value in values]
    return assemble(document, Dialect.DROP_BOX, [draft], doubts=doubts)


def split_rationale(lines: list[str]) -> tuple[list[str], str | None]:
    """A body and its reasons, which come last. A line of the body that only looks like the mark is escaped."""
    mark = next((n for n in range(len(lines) - 1, -1, -1) if lines[n].startswith(RATIONALE)), None)
    if mark is None:
        return unescaped(lines), None
    first = lines[mark].removeprefix(RATIONALE).removeprefix(" ")
    why = unescaped([first, *lines[mark + 1 :]] if first.strip() else lines[mark + 1 :])
    return unescaped(lines[:mark]), "\n".join(why).rstrip() or None


def escaped(lines: list[str]) -> list[str]:
    """Lines of which none is taken for the mark; `unescaped` undoes it."""
    return [f"\\{line}" if line.lstrip("\\").startswith(RATIONALE) else line for line in lines]


def unescaped(lines: list[str]) -> list[str]:
    return [
        line[1:] if line.startswith("\\") and line.lstrip("\\").startswith(RATIONALE) else line
        for line in lines
    ]
