"""SEM, Squad's draft of a structured entry: read in all its fields, written, and made out of older blocks.

`### {time}: {kind}: {summary}`, then bold fields, of which details and rationale run over several lines, until
a rule. We read every spelling of a time that we met, and write RFC 3339.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from minutebook.files.dates import date_in, find_date
from minutebook.files.entries import Certainty, Entry
from minutebook.model.memories import GOVERNING, Type
from minutebook.model.text import clean, one_line

MOST_SUMMARY = 120

#: The four kinds, and what they are here.
KINDS = {
    "decision": Type.TECHNICAL,
    "directive": Type.PROCESS,
    "memory": Type.LEARNING,
    "note": Type.UPDATE,
}
_REST = re.compile(r"\s*:\s*(decision|directive|memory|note)\s*:\s*(\S.*)$", re.IGNORECASE)
#: Lines that mean something to whoever reads a block: headings, rules, fields, fences, lists below a field.
_STRUCTURE = re.compile(r"\s*(?:#|[-*_](?:\s*[-*_]){2,}\s*$|(?:[-*+]\s+)?(?:\*\*|__)|```|~~~|<!--)")
_SENTENCE = re.compile(r"(?<=[.!?])\s")


@dataclass(frozen=True, slots=True)
class SemHeading:
    """What the heading of a SEM block says."""

    time: str
    kind: str
    summary: str

    @property
    def type(self) -> Type:
        return KINDS[self.kind]


@dataclass(frozen=True, slots=True)
class SemEntry:
    """One block, with every field that the draft knows."""

    time: str
    kind: str
    summary: str
    author: str
    scope: str = "team"
    tags: tuple[str, ...] = ()
    details: str | None = None
    rationale: str | None = None
    related: tuple[str, ...] = ()
    supersedes: str | None = None
    expires: str | None = None


def sem_heading(heading: str) -> SemHeading | None:
    """The heading of a SEM block, or None."""
    found = find_date(heading)
    if found is None or heading[: found[1]].strip(" [(*"):
        return None
    rest = _REST.match(heading[found[2] :].lstrip(" ])*"))
    return None if rest is None else SemHeading(found[0], rest[1].casefold(), rest[2].strip())


def as_sem(entry: Entry, *, in_history: bool = False) -> SemEntry | None:
    """What an entry of any kind is in SEM; None where it has no date or no author, which SEM needs.

    A date becomes midnight UTC. The summary is the title, or the first sentence of what was said.
    """
    if entry.date is None or entry.author is None:
        return None
    kind = entry.get("sem") or _kind(entry, in_history)
    summary = entry.title or _SENTENCE.split(one_line(entry.text), maxsplit=1)[0]
    return SemEntry(
        time=rfc_3339(entry.date),
        kind=kind,
        summary=summary[:MOST_SUMMARY].rstrip(),
        author=entry.author,
        scope=entry.get("scope") or (f"agent:{entry.author}" if kind == "memory" else "team"),
        tags=entry.tags,
        details=entry.text or None,
        rationale=entry.rationale,
        related=tuple((entry.get("related") or "").splitlines()),
        supersedes=_time(entry.get("supersedes")),
        expires=_time(entry.get("expires")),
    )


def _kind(entry: Entry, in_history: bool) -> str:
    if entry.type is Type.PROCESS and entry.certainty is not Certainty.GUESSED:
        return "directive"
    if in_history:
        return "memory"
    return "decision" if entry.type in GOVERNING else "note"


def _time(text: str | None) -> str | None:
    found = date_in(text or "")
    return None if found is None else rfc_3339(found)


def rfc_3339(date: str) -> str:
    """A date in the normal form of this house as a time in UTC: midnight where no time is told."""
    if len(date) == len("2026-02-14"):
        return f"{date}T00:00:00Z"
    return date if date.endswith("Z") else f"{date}Z"


def render_sem(entry: SemEntry) -> str:
    """A SEM block. Text that would be read as structure is fenced, as code is."""
    lines = [
        f"### {entry.time}: {entry.kind}: {one_line(entry.summary)}",
        "",
        f"**author:** {one_line(entry.author)}",
    ]
    lines.append(f"**scope:** {one_line(entry.scope)}")
    if entry.tags:
        lines.append(f"**tags:** {', '.join(map(one_line, entry.tags))}")
    for name, text in (("details", entry.details), ("rationale", entry.rationale)):
        if text:
            lines += [f"**{name}:**", *_contained(clean(text).strip("\n"))]
    if entry.related:
        lines += ["**related:**", *(f"- {one_line(item)}" for item in entry.related)]
    for name, time in (("supersedes", entry.supersedes), ("expires", entry.expires)):
        if time:
            lines.append(f"**{name}:** {time}")
    return "\n".join([*lines, "", "---", ""])


def _contained(text: str) -> list[str]:
    """The lines of a text; where one of them could end the field or the block, the whole text as code."""
    lines = text.split("\n")
    if not any(_STRUCTURE.match(line) for line in lines):
        return lines
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}text", *lines, fence]
