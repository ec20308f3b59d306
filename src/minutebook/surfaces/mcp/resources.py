"""What can be read as an MCP resource: the context, decisions, memories, the inbox, the session, as Markdown.

The compiler of this page emits the only structure. Every line of stored text is quoted, with what hides or
breaks lines made visible, so that no memory can pass for a heading, or for another memory.
"""

from __future__ import annotations

import hashlib
import urllib.parse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from minutebook.model.counting import counted
from minutebook.model.errors import MinutebookError
from minutebook.model.inbox import ProposalLine
from minutebook.model.memories import BOUNDARIES, MemoryLine, MemoryView
from minutebook.model.sessions import Session
from minutebook.model.text import visible
from minutebook.operations import context, decisions, inbox, memories, sessions

SCHEME = "minutebook"
MEDIA = "text/markdown"
#: Decisions that `minutebook://decisions` shows whole; the rest are named.
_WHOLE = 100
#: Characters of it; when they are used up, the rest are named too.
_CHARACTERS = 64_000
#: Rows of one listing.
_ROWS = 200
#: Decisions in one page of the list of resources.
_PAGE = 50

#: Asks for an operation, as whoever reads: `ask(decisions.show, ref=…)`.
Ask = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Resource:
    uri: str
    name: str
    title: str
    description: str | None = None


@dataclass(frozen=True, slots=True)
class Template:
    uri_template: str
    name: str
    title: str
    description: str


#: Those that are always there.
FIXED = (
    Resource(
        f"{SCHEME}://context",
        "context",
        "Context",
        "What you are told when you start: boundaries, memory, the current session.",
    ),
    Resource(
        f"{SCHEME}://decisions",
        "decisions",
        "Decisions",
        "The active decisions of the project: what governs.",
    ),
    Resource(f"{SCHEME}://inbox", "inbox", "Inbox", "The proposals that wait for a reviewer."),
    Resource(
        f"{SCHEME}://session", "session", "Session", "The project's open session: its focus and issues."
    ),
)

TEMPLATES = (
    Template(
        f"{SCHEME}://context/{{task}}",
        "context-for-a-task",
        "Context for a task",
        "The same, with the memory that is relevant to a task, said in a few words.",
    ),
    Template(
        f"{SCHEME}://decisions/{{ref}}", "decision", "A decision", "One decision whole, by its slug or id."
    ),
    Template(f"{SCHEME}://memories/{{ref}}", "memory", "A memory", "One memory whole, by its slug or id."),
)


def page(ask: Ask, cursor: str | None) -> tuple[list[Resource], str | None]:
    """One page of what there is to read, and where the next begins."""
    first = [] if cursor else list(FIXED)
    try:
        found = ask(decisions.list_, after=cursor, limit=_PAGE)
    except MinutebookError as error:
        if error.code != "no_project":
            raise
        return first, None  # whoever belongs to no project has nothing to choose from, and may still ask
    listed = [
        Resource(f"{SCHEME}://decisions/{line.id}", line.slug, _line(line.title)) for line in found.items
    ]
    return first + listed, found.next


def read(ask: Ask, uri: str) -> str:
    """A resource as Markdown; `not_found` when there is none of that address."""
    noun, ref = parsed(uri)
    if noun == "context":
        return _context(ask, ref or "")
    if ref is not None:
        function = decisions.show if noun == "decisions" else memories.show
        return "\n".join(_memory(ask(function, ref=ref))) + "\n"
    if noun == "decisions":
        return _decisions(ask)
    return _inbox(ask) if noun == "inbox" else _session(ask)


def digest(ask: Ask, uri: str) -> str:
    """Something that changes when the resource does; also when it is not there, or is no longer shown."""
    try:
        text = read(ask, uri)
    except MinutebookError as error:
        if error.code not in ("not_found", "ambiguous", "no_project"):
            raise
        text = error.code
    return hashlib.sha256(text.encode()).hexdigest()


def digest_of_list(ask: Ask) -> str:
    """Something that changes when the first page of the list does."""
    return hashlib.sha256(repr(page(ask, None)).encode()).hexdigest()


def parsed(uri: str) -> tuple[str, str | None]:
    """The noun of an address and what it names."""
    scheme, separator, rest = uri.partition("://")
    noun, slash, ref = rest.partition("/")
    if scheme == SCHEME and separator:
        if not slash and noun in ("context", "decisions", "inbox", "session"):
            return noun, None
        if slash and ref and noun in ("context", "decisions", "memories"):
            return noun, urllib.parse.unquote(ref)
    raise MinutebookError("not_found", f"There is no resource {visible(uri[:80], lines=False)!r}.")


# --- pages ----------------------------------------------------------------------------------------------


def _context(ask: Ask, task: str) -> str:
    bundle = ask(context.context, task=task)
    return bundle.text if bundle is not None else "There is nothing to tell yet.\n"


def _decisions(ask: Ask) -> str:
    lines: list[MemoryLine] = []
    cursor: str | None = None
    while len(lines) < _ROWS:
        found = ask(decisions.list_, after=cursor, limit=min(_ROWS, _ROWS - len(lines)))
        lines += found.items
        cursor = found.next
        if cursor is None:
            break
    # What bounds everybody comes first, and the oldest first: the order of a compiled context.
    lines.sort(key=lambda line: (line.type not in BOUNDARIES, line.created_at))
    out = ["# Decisions", "", f"{counted(len(lines), 'active decision')}. Quoted lines are stored text.", ""]
    room = _CHARACTERS
    for at, line in enumerate(lines):
        shown: list[str] = []
        if at < _WHOLE and room > 0:
            shown = list(_memory(ask(decisions.show, ref=line.id), level=2))
            room -= sum(len(part) + 1 for part in shown)
        if not shown or room < 0:
            shown = [f"## {line.slug}", "", f"Not shown whole: read {SCHEME}://decisions/{line.id}", ""]
        out += shown
    if cursor is not None:
        out += [f"There are more than {_ROWS}; decisions_list shows all.", ""]
    return "\n".join(out)


def _memory(view: MemoryView, level: int = 1) -> Iterator[str]:
    memory = view.memory
    yield f"{'#' * level} {memory.slug}"
    yield ""
    yield f"- type: {memory.type}, {view.standing}, revision {memory.revision}"
    yield f"- id: {memory.id}"
    yield f"- written by {_name(memory.author)} ({memory.author_role})"
    if memory.governs:
        yield f"- accepted by {_name(memory.decided_by)} ({memory.decided_role})"
    yield f"- since {memory.created_at}, changed {memory.updated_at}"
    if memory.tags:
        yield f"- tags: {', '.join(_name(tag) for tag in memory.tags)}"
    yield ""
    for label, text in (("", memory.title), ("", memory.content), ("Rationale:", memory.rationale)):
        if text:
            if label:
                yield label
                yield ""
            yield from _quoted(text)
            yield ""


def _inbox(ask: Ask) -> str:
    found = ask(inbox.list_, limit=_ROWS)
    lines: tuple[ProposalLine, ...] = found.items
    out = ["# Inbox", "", f"{counted(len(lines), 'proposal')} waiting. Quoted lines are stored text.", ""]
    for line in lines:
        out += [f"## {line.slug}", "", f"- type: {line.type}, risk {line.risk}, would {line.would}"]
        out += [f"- proposed by {_name(line.agent)} at {line.created_at}", "", *_quoted(line.title), ""]
    if found.next is not None:
        out += [f"There are more than {_ROWS}; inbox_list shows all.", ""]
    return "\n".join(out)


def _session(ask: Ask) -> str:
    try:
        session: Session = ask(sessions.current)
    except MinutebookError as error:
        if error.code != "not_found":
            raise
        return "# Session\n\nNo session is open.\n"
    out = ["# Session", "", f"- started by {_name(session.started_by)} at {session.started_at}"]
    out += [f"- changed {session.updated_at}", "", "Focus:", "", *_quoted(session.focus), ""]
    if session.issues:
        out += ["Issues:", "", *(line for issue in session.issues for line in _quoted(issue)), ""]
    if session.summary:
        out += ["Summary:", "", *_quoted(session.summary), ""]
    return "\n".join(out)


def _quoted(text: str) -> list[str]:
    """Stored text, each line behind a mark that only we set; all that ends a line anywhere ends it here."""
    return [f"> {visible(line, lines=False)}".rstrip() for line in text.splitlines()] or [">"]


def _line(text: str) -> str:
    return visible(" ".join(text.split()), lines=False)


def _name(text: str) -> str:
    """A name in the middle of our own words: it can open no markup of its own."""
    return "`" + _line(text).replace("`", "'") + "`"
