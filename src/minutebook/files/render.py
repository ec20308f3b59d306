"""The six documents of the mirror, from plain values: the same values give the same bytes.

No clock, no counter, no order but the one that is given. UTF-8, LF, no byte order mark. None means that there
is nothing to say, and so no file. What is written here, `rendered.py` reads back as it was.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from minutebook.files.containing import MARK, contained, in_line
from minutebook.files.drop_box import RATIONALE, escaped
from minutebook.files.front_matter import FENCE, quoted, write
from minutebook.model.text import clean, one_line


@dataclass(frozen=True, slots=True)
class Shown:
    """A memory as a file shows it."""

    id: str
    type: str
    title: str
    text: str
    author: str
    date: str
    status: str = "active"
    rationale: str | None = None
    supersedes: tuple[str, ...] = ()
    superseded_by: str | None = None
    importance: str | None = None


@dataclass(frozen=True, slots=True)
class Offered:
    """A pending proposal as a file of the drop-box shows it."""

    agent: str
    slug: str
    type: str
    title: str
    text: str
    rationale: str | None = None


def mark(kind: str) -> str:
    return f"{MARK} {kind}: written from the ledger; what is changed here is not read back. -->"


def render_decisions(rows: Iterable[Shown]) -> bytes:
    """`.squad/decisions.md`."""
    lines = [mark("decisions"), "# Team Decisions", ""]
    shown = [_entry(f"## {in_line(row.title)}", row) for row in rows]
    return _file(lines, shown or [["No decisions yet.", ""]])


def render_boundaries(rows: Iterable[Shown]) -> bytes | None:
    """`.agentweaver/context/boundaries.md`."""
    note = "> These decisions bind everyone. They outrank all other context."
    lines = [mark("boundaries"), "# Project Boundaries", "", note, ""]
    shown = [_entry(f"## {in_line(row.title)}", row) for row in rows]
    return _file(lines, shown) if shown else None


def render_patterns(rows: Iterable[Shown]) -> bytes | None:
    """`.agentweaver/context/patterns.md`."""
    lines = [mark("patterns"), "# Shared Patterns", ""]
    shown = [_entry(f"### {pattern_lead(row.author, row.date)}{in_line(row.title)}", row) for row in rows]
    return _file(lines, shown) if shown else None


def render_history(agent: str, rows: Iterable[Shown]) -> bytes | None:
    """`.squad/agents/{agent}/history.md`."""
    lines = [mark("history"), f"# {in_line(agent)} History", ""]
    shown = [_entry(f"### {history_lead(row.type, row.date)}{in_line(row.title)}", row) for row in rows]
    return _file(lines, shown) if shown else None


def pattern_lead(author: str, date: str) -> str:
    return f"[{in_line(author)}] {date[:10]}: "


def history_lead(of_type: str, date: str) -> str:
    return f"[{of_type}] {date[:10]}: "


def _entry(heading: str, row: Shown) -> list[str]:
    """One memory: a heading, what is known of it, what it says, and why."""
    first = [("Type", row.type), ("By", row.author), ("Status", row.status)]
    if row.importance:
        first.append(("Importance", row.importance))
    second = [("Id", row.id), ("Date", row.date)]
    if row.supersedes:
        second.append(("Supersedes", ", ".join(row.supersedes)))
    if row.superseded_by:
        second.append(("Superseded by", row.superseded_by))
    lines = [heading, _facts(first), _facts(second), "", *contained(row.text), ""]
    if row.rationale:
        lines += [RATIONALE, "", *contained(row.rationale), ""]
    return [*lines, FENCE, ""]


def _facts(pairs: Sequence[tuple[str, str]]) -> str:
    return " | ".join(f"**{name}:** {in_line(value)}" for name, value in pairs)


def _file(head: list[str], entries: Iterable[list[str]]) -> bytes:
    return "\n".join([*head, *(line for entry in entries for line in entry)]).encode()


def render_now(focus: str, issues: Sequence[str], summary: str, updated_at: str) -> bytes:
    """`.squad/identity/now.md`. The time is the session's, so that nothing changes while it does not."""
    listed = json.dumps([clean(issue) for issue in issues], ensure_ascii=False)
    lines = [
        FENCE,
        f"updated_at: {updated_at}",
        f"focus_area: {quoted(one_line(focus))}",
        f"active_issues: {listed}",
        FENCE,
        mark("now"),
        "# What We're Focused On",
        "",
        *contained(focus),
        "",
    ]
    if clean(summary).strip():
        lines += ["## Summary", "", *contained(summary), ""]
    return "\n".join(lines).encode()


def render_proposal(row: Offered) -> bytes:
    """`.squad/decisions/inbox/{slug}.md`, with the front matter that Agentweaver writes."""
    body = escaped(clean(row.text).split("\n"))
    if row.rationale:
        why = escaped(clean(row.rationale).split("\n"))
        body += (
            ["", f"{RATIONALE} {why[0]}", *why[1:]]
            if why[0].strip() == why[0] != ""
            else ["", RATIONALE, *why]
        )
    fields = [("agent", row.agent), ("slug", row.slug), ("type", row.type), ("title", one_line(row.title))]
    return write(fields, "\n".join(body)).encode()
