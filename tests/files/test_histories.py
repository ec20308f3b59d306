"""What agents and teams say of themselves: histories, charters, focus, wisdom."""

from __future__ import annotations

from minutebook.files.entries import Certainty, Dialect
from minutebook.model.memories import Type
from tests.files.parsing import only, read

HISTORY = """# Project Context

- **Owner:** Casey
- **Created:** 2026-02-15

## Core Context

I own the importer.

## Learnings

<!-- Append below -->

📌 Team update (2026-02-17): Ship from master — no branches — decided by Rick
📌 **Content rule (2026-02-18):** No tables.

- Fences may stay open.
  Mind the end.
- Second

### Issue filing (2026-03-23)
One issue per cause.
📌 Team update (2026-03-24): done — decided by Ash

### Undated
Text.

## 2026-06-29T09:00Z — SQLite lock

Fixed.

## Key insights

Flows, not balances.

### [pattern] 2026-01-02

Ours and Agentweaver's.
"""


def test_a_history_is_read_by_its_sections() -> None:
    parsed = read(Dialect.HISTORY, HISTORY)
    found = [(entry.title, entry.type, entry.certainty, entry.author, entry.date) for entry in parsed.entries]
    likely = Certainty.LIKELY
    assert found == [
        ("Project Context", Type.CORE_CONTEXT, likely, "ripley", None),
        ("Core Context", Type.CORE_CONTEXT, likely, "ripley", None),
        ("Ship from master — no branches — decided by Rick", Type.UPDATE, likely, "Rick", "2026-02-17"),
        ("Content rule (2026-02-18): No tables.", Type.UPDATE, likely, "ripley", "2026-02-18"),
        ("Fences may stay open.", Type.LEARNING, likely, "ripley", None),
        ("Second", Type.LEARNING, likely, "ripley", None),
        ("Issue filing", Type.LEARNING, likely, "ripley", "2026-03-23"),
        ("done — decided by Ash", Type.UPDATE, likely, "Ash", "2026-03-24"),
        ("Undated", Type.LEARNING, likely, "ripley", None),
        ("SQLite lock", Type.UPDATE, likely, "ripley", "2026-06-29T09:00:00Z"),
        ("Key insights", Type.LEARNING, likely, "ripley", None),
        ("Ours and Agentweaver's.", Type.PATTERN, Certainty.SAID, "ripley", "2026-01-02"),
    ]
    assert parsed.entries[4].text == "Fences may stay open.\n  Mind the end."


def test_now_tells_the_focus() -> None:
    text = '---\nupdated_at: 2026-06-11T15:46:22-07:00\nfocus_area: Importer\nactive_issues: [323, "#324"]\n---\n\n# What We\'re Focused On\n\nParser done.\n'
    parsed = read(Dialect.FOCUS, text)
    assert parsed.focus is not None
    assert (parsed.focus.focus, parsed.focus.issues) == ("Importer", ("323", "#324"))
    assert (parsed.focus.summary, parsed.focus.updated_at) == ("Parser done.", "2026-06-11T22:46:22Z")
    assert read(Dialect.FOCUS, "").doubts[0].reason == "No focus is named."


def test_wisdom_is_patterns_for_the_whole_team() -> None:
    text = "---\nlast_updated: x\n---\n\n# Team Wisdom\n\n## Patterns\n\n**Pattern:** Be name-agnostic.\n**Context:** Names change.\n\n**Anti-Pattern:** Four-part versions.\n"
    first, second = read(Dialect.WISDOM, text).entries
    assert (first.text, first.rationale, first.tags) == (
        "Be name-agnostic.",
        "Names change.",
        ("cross-team", "pattern"),
    )
    assert second.tags == ("cross-team", "anti-pattern")


def test_a_charter_is_one_core_context() -> None:
    entry = only(read(Dialect.CHARTER, "\n# Ripley — Lead\n\n## Boundaries\n\nNone.\n"))
    assert (entry.title, entry.type, entry.get("agent")) == ("Ripley — Lead", Type.CORE_CONTEXT, "ripley")
    assert entry.text.endswith("None.")
