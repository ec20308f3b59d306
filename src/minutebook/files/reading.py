"""Which dialect a file is written in, and the one door through which every file of a repository is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from minutebook.files.adr import parse_adr
from minutebook.files.basic_memory import parse_basic_memory
from minutebook.files.document import Document
from minutebook.files.drop_box import parse_drop_box
from minutebook.files.entries import Dialect, Parsed
from minutebook.files.histories import parse_history
from minutebook.files.identity import parse_charter, parse_focus, parse_wisdom
from minutebook.files.instructions import parse_instructions
from minutebook.files.knowledge_graph import parse_knowledge_graph
from minutebook.files.ledgers import find_starts, parse_ledger
from minutebook.files.note_files import parse_note
from minutebook.files.rendered import is_rendered, parse_rendered

#: By path, the first that fits.
_PATHS = (
    (re.compile(r"\.jsonl$"), Dialect.KNOWLEDGE_GRAPH),
    (re.compile(r"decisions/inbox/[^/]+\.md$"), Dialect.DROP_BOX),
    (re.compile(r"(?:^|/)decisions(?:-archive)?\.md$"), Dialect.LEDGER),
    (re.compile(r"(?:^|/)\.(?:squad|ai-team)/decisions/.+\.md$"), Dialect.LEDGER),
    (re.compile(r"(?:^|/)agents/[^/]+/history[\w.-]*\.md$"), Dialect.HISTORY),
    (re.compile(r"(?:^|/)agents/[^/]+/charter\.md$"), Dialect.CHARTER),
    (re.compile(r"(?:^|/)identity/now\.md$"), Dialect.FOCUS),
    (re.compile(r"(?:^|/)identity/wisdom\.md$"), Dialect.WISDOM),
    (
        re.compile(
            r"(?:^|/)(?:CLAUDE|AGENTS|GEMINI|MEMORY|copilot-instructions)(?:\.local)?\.md$|\.cursorrules$"
        ),
        Dialect.INSTRUCTIONS,
    ),
    (re.compile(r"(?:^|/)\.(?:agh|minutebook)/(?:agents/[^/]+/)?memory/[^/]+\.md$"), Dialect.NOTE),
    (
        re.compile(r"(?:^|/)adrs?/[^/]+\.md$|(?:^|/)(?:adr[-_])?\d{3,5}[-_][^/]*\.md$", re.IGNORECASE),
        Dialect.ADR,
    ),
    (re.compile(r"architecture/decisions/[^/]+\.md$"), Dialect.ADR),
)

_PARSERS: dict[Dialect, Callable[[Document, str], Parsed]] = {
    Dialect.LEDGER: parse_ledger,
    Dialect.HISTORY: parse_history,
    Dialect.CHARTER: parse_charter,
    Dialect.FOCUS: parse_focus,
    Dialect.WISDOM: parse_wisdom,
    Dialect.ADR: parse_adr,
    Dialect.INSTRUCTIONS: parse_instructions,
    Dialect.NOTE: parse_note,
    Dialect.BASIC_MEMORY: parse_basic_memory,
    Dialect.KNOWLEDGE_GRAPH: parse_knowledge_graph,
    Dialect.MIRROR: parse_rendered,
}


def parse(path: str, data: bytes, *, dialect: Dialect | None = None, team: Collection[str] = ()) -> Parsed:
    """Read a file of a repository. Only text that is not UTF-8 is an error; all else is an answer.

    `path` is relative, with slashes; its folders say who and what. `team` names the agents that are known.
    """
    document = Document(data)
    chosen = dialect or dialect_of(path, document)
    if chosen is Dialect.DROP_BOX:
        return parse_drop_box(document, path, team=team)
    return _PARSERS[chosen](document, path)


def dialect_of(path: str, document: Document) -> Dialect:
    """By what the file says of itself, then by its path, then by what it holds."""
    if is_rendered(document):
        return Dialect.MIRROR
    for pattern, dialect in _PATHS:
        if pattern.search(path):
            return dialect
    head = document.lines[:40]
    if head and head[0].rstrip() == "---":
        keys = {line.partition(":")[0].strip() for line in head}
        if "permalink" in keys:
            return Dialect.BASIC_MEMORY
        if {"type", "name"} <= keys or {"class", "title"} <= keys:
            return Dialect.NOTE
    return Dialect.LEDGER if find_starts(document) else Dialect.INSTRUCTIONS
