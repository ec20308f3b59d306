"""Repositories that are made for a test: what every tool that can be adopted from would leave behind."""

from __future__ import annotations

from pathlib import Path

LEDGER = """# Squad Decisions

## Active Decisions

### 2026-02-14: Use PostgreSQL for the ledger
**By:** Ripley
**What:** The ledger moves to PostgreSQL.
**Why:** Many machines write to it.

### 2026-02-15T10:30:00Z: decision: Keep SQLite for one machine
**author:** Ash
**details:**
One file and no server.
**supersedes:** 2026-02-13T08:00:00Z

---

### 2026-02-13T08:00:00Z: decision: Never use SQLite
**author:** Ash
**details:**
It locks.

---

### 2026-02-16: User directive
**By:** Dallas (via Copilot)
**What:** Releases go out on Mondays.

## Governance

- All meaningful changes require team consensus
"""
ARCHIVE = "# Decision Archive\n\n### 2026-01-02: Tabs\n**By:** Ash\n**What:** Indent with tabs.\n"
DROPPED = "# Decision: Retry three times\n\n**By:** Ash\n**Date:** 2026-02-20\n\nA request is sent three times at most.\n"
HISTORY = """# Project Context

- **Owner:** Dallas

## Learnings

- The proxy drops bodies over one megabyte.
- The cache is cold after every deploy.

📌 Team update (2026-02-16): Releases go out on Mondays — decided by Dallas
"""
CHARTER = "# Ripley — Lead\n\nOwns the ledger and its schema.\n"
WISDOM = "## Patterns\n\n**Pattern:** Write the migration first. **Context:** Every schema change.\n"


def squad(root: Path, folder: str = ".squad") -> Path:
    """A team's folder as Squad leaves it."""
    return write(
        root,
        {
            f"{folder}/decisions.md": LEDGER,
            f"{folder}/decisions-archive.md": ARCHIVE,
            f"{folder}/decisions/inbox/ash-retry-three-times.md": DROPPED,
            f"{folder}/agents/ripley/history.md": HISTORY,
            f"{folder}/agents/ripley/charter.md": CHARTER,
            f"{folder}/agents/ash/history.md": "# Ash\n\n## Learnings\n\n- The proxy drops bodies over one megabyte.\n",
            f"{folder}/identity/wisdom.md": WISDOM,
            f"{folder}/identity/now.md": "---\nfocus_area: the mirror\n---\n\n# What We're Focused On\n\nThe mirror.\n",
            f"{folder}/team.md": "# Team\n\n## Members\n\n| Ripley | Lead |\n",
            f"{folder}/casting/registry.json": '{"agents": {}}\n',
            f"{folder}/templates/charter.md": "# {name}\n",
        },
    )


def adrs(root: Path) -> Path:
    return write(
        root,
        {
            "docs/adr/0001-use-mysql.md": "# 1. Use MySQL\n\nDate: 2025-03-01\n\n## Status\n\nSuperseded by "
            "[2. Use PostgreSQL](0002-use-postgresql.md)\n\n## Decision\n\nWe store everything in MySQL.\n",
            "docs/adr/0002-use-postgresql.md": "# 2. Use PostgreSQL\n\nDate: 2025-06-01\n\n## Status\n\nAccepted\n\n"
            "## Decision\n\nWe store everything in PostgreSQL.\n",
            "docs/adr/0003-graphql.md": "# 3. GraphQL everywhere\n\nDate: 2025-07-01\n\n## Status\n\nRejected\n\n"
            "## Decision\n\nEvery service speaks GraphQL.\n",
            "docs/adr/0004-events.md": "# 4. An event bus\n\nDate: 2025-08-01\n\n## Status\n\nProposed\n\n"
            "## Decision\n\nServices talk over a bus.\n",
            "docs/adr/README.md": "# Records\n",
        },
    )


def others(root: Path) -> Path:
    """CLAUDE.md, an AGH folder, a basic-memory note, the MCP memory server's file."""
    return write(
        root,
        {
            "CLAUDE.md": "# Rules\n\n## Tests\n\nAlways write a test first.\n\n## Layout\n\nThe code is in src.\n",
            "packages/web/AGENTS.md": "# Web\n\nUse the design tokens.\n",
            ".agh/memory/user_style.md": "---\ntype: user\nname: Style\nprovenance:\n  created_at: 2026-01-03T00:00:00Z\n"
            "---\n\nDallas likes short answers.\n",
            ".agh/agents/ash/memory/feedback_logs.md": "---\ntype: feedback\nname: Logs\n---\n\nKeep logs out of the answer.\n",
            "notes/coffee.md": "---\ntitle: Coffee\npermalink: coffee\ntags: [drinks]\n---\n\n# Coffee\n\n"
            "- [technique] Pour water at 93 degrees #brewing\n- relates_to [[Tea]]\n",
            "memory.jsonl": '{"type":"entity","name":"Ripley","entityType":"person","observations":["Works nights"]}\n'
            '{"type":"relation","from":"Ripley","to":"Ash","relationType":"knows"}\n',
            "README.md": "# A program\n\nIt does things.\n",
            "node_modules/x/AGENTS.md": "# Not ours\n\nIgnore me.\n",
        },
    )


def write(root: Path, files: dict[str, str | bytes]) -> Path:
    for path, content in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root
