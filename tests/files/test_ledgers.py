"""Squad's ledgers as real repositories write them: classic blocks, dated headings, fields of every sort."""

from __future__ import annotations

import pytest

from minutebook.files.entries import Certainty, Dialect, Kind, alike
from minutebook.model.memories import Type
from tests.files.parsing import only, read

CLASSIC = """# Squad Decisions

## Active Decisions

### 2026-02-09: Tailwind v4 via the Vite plugin
**By:** Rusty (Lead)
**What:** Use `@tailwindcss/vite`.
It replaces the old integration.
**Why:** The old one targets v3.

### 2026-02-10T08-15-30: Cap uploads
**By:** Linus
**What:** One megabyte.
**References:** #12
**Why:** The proxy drops more.

---

## Governance

- All changes need consensus
"""


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_classic_blocks_and_what_squad_decide_writes(end: str, mark: str) -> None:
    parsed = read(Dialect.LEDGER, mark + CLASSIC.replace("\n", end))
    first, second = parsed.entries
    assert (first.title, first.authors, first.date) == (
        "Tailwind v4 via the Vite plugin",
        ("Rusty",),
        "2026-02-09",
    )
    assert first.text == "Use `@tailwindcss/vite`.\nIt replaces the old integration."
    assert first.rationale == "The old one targets v3."
    assert (first.span.first, first.span.last, first.section) == (5, 9, "Active Decisions")
    assert (second.title, second.date) == ("Cap uploads", "2026-02-10T08:15:30")
    assert (second.text, second.rationale, second.get("references")) == (
        "One megabyte.",
        "The proxy drops more.",
        "#12",
    )
    raw = [(raw.kind, raw.span.first, raw.span.last) for raw in parsed.raws if raw.kind is not Kind.BLANK]
    assert raw == [(Kind.HEADING, 1, 4), (Kind.HEADING, 19, 20), (Kind.TEXT, 21, 21)]


@pytest.mark.parametrize(
    ("text", "title", "author", "date"),
    [
        ("# Título\n\n- **Fecha:** 2026-07-21T11:23:28+02:00\n- **Autor:** Fury (Lead / Architect)\n\nx",
         "Título", "Fury", "2026-07-21T09:23:28Z"),
        ("## Title (2026-04-17)\n**Revisor**: Kate\n", "Title", "Kate", "2026-04-17"),
        ("### 2026-03-06 — Three reviews\n**By:** Casey Irvine (via Copilot)\n", "Three reviews", "Casey Irvine", "2026-03-06"),
        ("# Decision: SDK types\n\n**Date:** 2026-02-23\n**Author:** Morty\n**Status:** Implemented\n", "SDK types", "Morty", "2026-02-23"),
        ("## 2026-06-27: Token store\n\n**Date:** 2026-06-27T23:12:47-07:00  \n**Author:** Link (infra)  \n", "Token store", "Link", "2026-06-28T06:12:47Z"),
        ("### Type safety is non-negotiable\n**By:** CONTROL (formerly Edie)\n**What:** strict\n", "Type safety is non-negotiable", "CONTROL", None),
        ("### User directive — no hype\n**By:** Brady, PAO and Flight\n", "no hype", "Brady", None),
        ("## Title\n> **Estado:** done\n> **Fecha entrada:** 2026-07-22\n", "Title", None, "2026-07-22"),
        ("## Icons\n\n**Date:** 2026-07-17\n**Owner:** DrDonoso\n", "Icons", "DrDonoso", "2026-07-17"),
        ("### 2026-02-30: No such day\n**By:** Ash\n", "2026-02-30: No such day", "Ash", None),
        ("## Only a date, 14 de febrero de 2026\n\ntext", "Only a date", None, "2026-02-14"),
        ("### 2026-02-14: Nobody\n**By:** unknown\n**Requested by:** Aaron\n", "Nobody", None, "2026-02-14"),
        ("## Plain fields\n\nAuthor: Ripley\nDate: February 3, 2026\n\ntext", "Plain fields", "Ripley", "2026-02-03"),
    ],
)  # fmt: skip
def test_entries_as_real_repositories_write_them(
    text: str, title: str, author: str | None, date: str | None
) -> None:
    entry = only(read(Dialect.LEDGER, text))
    assert (entry.title, entry.author, entry.date) == (title, author, date)


def test_sections_of_any_level_stay_with_their_entry() -> None:
    text = "### 2026-03-04: Third backend\n**Author:** Morty\n\n## Decision\n\nOverride.\n\n## Rationale\n\nClean.\n\n# Decision: Next\n"
    first, second = read(Dialect.LEDGER, text).entries
    assert first.text == "## Decision\n\nOverride.\n\n## Rationale\n\nClean."
    assert second.title == "Next"


def test_a_title_of_another_document_ends_an_entry_and_stays_raw() -> None:
    parsed = read(
        Dialect.LEDGER, "## 2026-01-01: One\n\nx\n\n# Pasted report\n\nwords\n\n## Findings\n\nmore\n"
    )
    assert only(parsed).text == "x"
    assert [raw.kind for raw in parsed.raws if raw.kind is not Kind.BLANK] == [
        Kind.HEADING, Kind.TEXT, Kind.HEADING, Kind.TEXT,
    ]  # fmt: skip


def test_a_file_that_starts_in_the_middle_of_an_entry_keeps_the_rest_raw() -> None:
    parsed = read(
        Dialect.LEDGER, "### Context\n\nThe heading was lost.\n\n---\n\n## CI\n**Author:** Livingston\n\nx\n"
    )
    assert only(parsed).title == "CI"
    assert parsed.raws[0].span.first == 1
    assert [raw.kind for raw in parsed.raws] == [Kind.HEADING, Kind.TEXT]


def test_what_looks_like_an_entry_in_code_is_none() -> None:
    text = "## 2026-01-01: Real\n\n```\n## 2026-01-02: Code\n**By:** Ash\n```\n\n<!--\n## 2026-01-03: Comment\n-->\n"
    entry = only(read(Dialect.LEDGER, text))
    assert entry.title == "Real"
    assert "2026-01-02" in entry.text


def test_a_fence_that_nobody_closed_does_not_swallow_the_rest() -> None:
    parsed = read(Dialect.LEDGER, "## 2026-01-01: One\n```\ncode\n\n## 2026-01-02: Two\n~~~\n")
    assert [entry.title for entry in parsed.entries] == ["One", "Two"]


def test_a_type_that_is_said_counts_more_than_one_that_is_guessed() -> None:
    said, likely, guessed = read(
        Dialect.LEDGER,
        "## 2026-01-01: A\n**Type:** scope\n\n## 2026-01-01: User directive: B\n\n## 2026-01-01: Branch policy\n",
    ).entries
    assert (said.type, said.certainty) == (Type.SCOPE, Certainty.SAID)
    assert (likely.type, likely.certainty) == (Type.PROCESS, Certainty.LIKELY)
    assert (guessed.type, guessed.certainty) == (Type.PROCESS, Certainty.GUESSED)


def test_duplicates_are_counted_and_the_first_is_kept() -> None:
    block = "### 2026-02-14: Same\n**By:** Ripley\n**What:** One thing.\n\n"
    other = block.replace("One", "Another")
    found = alike(
        read(Dialect.LEDGER, block + other + block.replace("One  thing", "one thing") + block).entries
    )
    assert [(same[0].span.first, len(same)) for same in found] == [(1, 3), (5, 1)]
