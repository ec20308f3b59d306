"""What the tests of the parsers share: text that looks like what people write, and the law of spans."""

from __future__ import annotations

from collections.abc import Collection

from hypothesis import strategies as st

from minutebook.files.entries import Dialect, Entry, Parsed
from minutebook.files.lines import digest_of, lines_of
from minutebook.files.reading import parse

#: Pieces out of which files of every dialect are made, whole and broken.
PIECES = [
    "---", "---\n", "...", "***", "# ", "## ", "### ", "#### ", "###### x", "#", "=====", "> ", ">", "- ", "* ", "1. ",
    "    ", "\t", "```", "```python", "~~~~", "<!--", "-->", "<b>", "**", "__", ": ", ":", "|", " | ", "\\",
    "**By:** ", "**Author**: ", "- **Date:** ", "**Fecha:** ", "**What:** ", "**Why:** ", "**Rationale:**",
    "**author:** ", "**details:**", "**related:**", "**tags:** a, b", "> **Autor:** ", "Status: ", "Date: ",
    "2026-02-14", "2026-02-30", "2026-02-14T10:30:00Z", "2026-02-14T10-30-00", "2026-02-14T10:30:00-0800",
    "(2026-02-14)", "February 14, 2026", ": decision: ", ": directive: ", "[learning] ", "📌 ", "📌 Team update (2026-02-14): ",
    " — decided by Ripley", "Decision: ", "User directive — ", "ADR-12: ", "Context", "Rationale", "Learnings",
    "Core Context", "Patterns", "Active Decisions", "Team Decisions", "Summary", "title: ", "type: ", "agent: ",
    "permalink: x", "name: ", "tags: [a, b]", "provenance:", "  created_at: 2026-01-01", "focus_area: ", "active_issues: [",
    "updated_at: ", "- [decision] ", "- uses [[Other]]", "#tag", "{\"type\":\"entity\",\"name\":\"A\",\"observations\":[\"b\"]}",
    "{\"type\":\"relation\"}", "{", "[", "\"", "\\u", "Ripley", "Ripley (Lead), Ash", "architectural", "ünïcode", "日本語",
    "<!-- minutebook mirror decisions: -->", "<!-- minutebook:begin -->", "<!-- minutebook:end -->", "**Pattern:** ",
    "**Context:** ", "**Type:** technical | **By:** Ash | **Status:** active", "**Id:** 1 | **Date:** 2026-01-01",
    "\r", "\x0b", "\x85", "\u2028", "\ufeff", "\0", "", " ",
]  # fmt: skip

LINES = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=12)), max_size=5).map("".join)
TEXTS = st.lists(LINES, max_size=30).flatmap(
    lambda lines: st.sampled_from(["\n", "\r\n", "\n\n"]).map(lambda end: end.join(lines))
)
PATHS = {
    Dialect.MIRROR: ".squad/decisions.md",
    Dialect.NOTE: ".agh/memory/user_style.md",
    Dialect.DROP_BOX: ".squad/decisions/inbox/ripley-use-postgres.md",
    Dialect.LEDGER: ".squad/decisions.md",
    Dialect.HISTORY: ".squad/agents/ripley/history.md",
    Dialect.CHARTER: ".squad/agents/ripley/charter.md",
    Dialect.FOCUS: ".squad/identity/now.md",
    Dialect.WISDOM: ".squad/identity/wisdom.md",
    Dialect.ADR: "docs/adr/0007-use-postgres.md",
    Dialect.INSTRUCTIONS: "CLAUDE.md",
    Dialect.BASIC_MEMORY: "notes/postgres.md",
    Dialect.KNOWLEDGE_GRAPH: "memory.jsonl",
}


def check_spans(parsed: Parsed, data: bytes) -> None:
    """The spans cover the file, in order, without gap or overlap, and each tells the hash of its lines."""
    lines = lines_of(data)
    following = 1
    for span in parsed.spans:
        assert span.first == following, parsed.spans
        assert span.last >= span.first
        assert span.digest == digest_of(lines[span.first - 1 : span.last])
        following = span.last + 1
    assert following == len(lines) + 1
    assert [entry.span.first for entry in parsed.entries] == sorted(
        entry.span.first for entry in parsed.entries
    )
    for entry in parsed.entries:
        assert "\n" not in entry.title
        assert entry.title or entry.text
        assert all(author.strip() for author in entry.authors)


def read(dialect: Dialect, text: str, *, team: Collection[str] = ()) -> Parsed:
    """Read a text, and hold it to the law of spans."""
    data = text.encode()
    parsed = parse(PATHS[dialect], data, dialect=dialect, team=team)
    check_spans(parsed, data)
    return parsed


def only(parsed: Parsed) -> Entry:
    (entry,) = parsed.entries
    return entry
