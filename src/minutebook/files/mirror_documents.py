"""Which generated file shows what, and its bytes: from rows of the ledger to the documents of render.py."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from minutebook.files.agent_folders import agent_folder
from minutebook.files.render import (
    Offered,
    Shown,
    render_boundaries,
    render_decisions,
    render_history,
    render_now,
    render_patterns,
    render_proposal,
)
from minutebook.ledger import mirror, sessions
from minutebook.ledger.database import Row, Tx
from minutebook.ledger.mirror import HISTORY_TYPES, State
from minutebook.model.files import FileKind
from minutebook.model.memories import BOUNDARIES, GOVERNING, Type

INBOX = ".squad/decisions/inbox"
AGENTS = ".squad/agents"
#: What a row that is damaged makes the rendering raise.
_DAMAGE = (TypeError, ValueError, AttributeError, KeyError)


class Sort(StrEnum):
    """The documents, by what they are about."""

    DECISIONS = "decisions"
    BOUNDARIES = "boundaries"
    PATTERNS = "patterns"
    NOW = "now"
    HISTORY = "history"
    PROPOSAL = "proposal"


PATHS = {
    Sort.DECISIONS: ".squad/decisions.md",
    Sort.BOUNDARIES: ".agentweaver/context/boundaries.md",
    Sort.PATTERNS: ".agentweaver/context/patterns.md",
    Sort.NOW: ".squad/identity/now.md",
}
_SORTS = {path: sort for sort, path in PATHS.items()}


@dataclass(frozen=True, slots=True)
class Document:
    """One generated file. `about` is the agent of a history, the id of a proposal."""

    sort: Sort
    about: str = ""

    @property
    def kind(self) -> FileKind:
        return FileKind.INBOX if self.sort is Sort.PROPOSAL else FileKind.MIRROR


ALWAYS = tuple(Document(sort) for sort in PATHS)


@dataclass(frozen=True, slots=True)
class Rendered:
    """A document as it should stand: its path, and its bytes; None where there is nothing to say, and so no file."""

    document: Document
    path: str
    data: bytes | None
    #: rows that cannot be shown, by id
    left_out: tuple[str, ...] = ()


def document_at(path: str, kind: FileKind, ref: str) -> Document:
    """The document of a file that the manifest knows."""
    if kind is FileKind.INBOX:
        return Document(Sort.PROPOSAL, ref)
    return Document(_SORTS[path]) if path in _SORTS else Document(Sort.HISTORY, ref)


def documents_of(state: State) -> list[Document]:
    """The documents that a memory in this state is shown in, or was."""
    of_all = state.scope in ("project", "repo")
    if state.type in GOVERNING and of_all:
        bound = [Document(Sort.BOUNDARIES)] if state.type in BOUNDARIES else []
        return [Document(Sort.DECISIONS), *bound]
    if state.type == Type.PATTERN and (of_all or state.scope == "agent"):
        return [Document(Sort.PATTERNS)]
    if state.type in HISTORY_TYPES and state.scope == "agent":
        return [Document(Sort.HISTORY, state.agent)]
    return []


def everything(tx: Tx, project: str) -> list[Rendered]:
    """Every document of a project."""
    shown = [_one(tx, project, document) for document in ALWAYS]
    shown += [_history(agent, rows) for agent, rows in mirror.histories(tx, project).items()]
    return shown + [_proposal(row) for row in mirror.proposals(tx, project)]


def rendered(tx: Tx, project: str, documents: Iterable[Document]) -> list[Rendered]:
    """These documents, as they should stand now. A proposal that waits no longer has no path, and is left out."""
    wanted = dict.fromkeys(documents)
    ids = [document.about for document in wanted if document.sort is Sort.PROPOSAL]
    shown = [_one(tx, project, document) for document in wanted if document.sort is not Sort.PROPOSAL]
    return shown + ([_proposal(row) for row in mirror.proposals(tx, project, ids)] if ids else [])


def _one(tx: Tx, project: str, document: Document) -> Rendered:
    match document.sort:
        case Sort.DECISIONS:
            replaced = mirror.superseded(tx, project)
            rows = [_shown(row, replaced) for row in mirror.decisions(tx, project)]
            return _made(document, rows, render_decisions if rows else lambda _: None)
        case Sort.BOUNDARIES:
            replaced = mirror.superseded(tx, project)
            found = mirror.decisions(tx, project, tuple(BOUNDARIES))
            return _made(document, [_shown(row, replaced) for row in found], render_boundaries)
        case Sort.PATTERNS:
            return _made(document, [_shown(row) for row in mirror.patterns(tx, project)], render_patterns)
        case Sort.HISTORY:
            rows = mirror.histories(tx, project, document.about).get(document.about, [])
            return _history(document.about, rows)
        case _:
            return _now(tx, project)


def _now(tx: Tx, project: str) -> Rendered:
    document = Document(Sort.NOW)
    session = sessions.current(tx, project)
    if session is None:
        return Rendered(document, PATHS[Sort.NOW], None)
    try:
        data = render_now(session.focus, session.issues, session.summary, session.updated_at)
    except _DAMAGE:
        return Rendered(document, PATHS[Sort.NOW], None, (session.id,))
    return Rendered(document, PATHS[Sort.NOW], data)


def _history(agent: str, rows: Sequence[Row]) -> Rendered:
    path = f"{AGENTS}/{agent_folder(agent)}/history.md"
    shown = [_shown(row) for row in rows]
    return _made(Document(Sort.HISTORY, agent), shown, lambda some: render_history(agent, some), path)


def _proposal(row: Row) -> Rendered:
    document, path = Document(Sort.PROPOSAL, row["id"]), f"{INBOX}/{row['slug']}.md"
    offered = Offered(row["agent"], row["slug"], row["type"], row["title"], row["content"], row["rationale"])
    try:
        return Rendered(document, path, render_proposal(offered))
    except _DAMAGE:
        return Rendered(document, path, None, (row["id"],))


def _made(
    document: Document,
    rows: Sequence[Shown],
    render: Callable[[Iterable[Shown]], bytes | None],
    path: str = "",
) -> Rendered:
    """A document of many rows. One that cannot be shown costs itself alone."""
    path = path or PATHS[document.sort]
    try:
        return Rendered(document, path, render(rows))
    except _DAMAGE:
        good = [row for row in rows if _can_be_shown(row, render)]
        bad = tuple(row.id for row in rows if row not in good)
        return Rendered(document, path, render(good), bad)


def _can_be_shown(row: Shown, render: Callable[[Iterable[Shown]], bytes | None]) -> bool:
    try:
        render([row])
    except _DAMAGE:
        return False
    return True


def _shown(row: Row, replaced: dict[str, tuple[str, ...]] | None = None) -> Shown:
    return Shown(
        id=row["id"],
        type=row["type"],
        title=row["title"],
        text=row["content"],
        author=row["author"],
        date=row["date"],
        status=row["status"],
        rationale=row["rationale"],
        supersedes=(replaced or {}).get(row["id"], ()),
        importance=row["importance"] if row["importance"] != "medium" else None,
    )
