"""Every dialect: what is found, what stays raw, and that nothing is lost or made up."""

from __future__ import annotations

import os
import random
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minutebook.files.document import Document
from minutebook.files.entries import Certainty, Dialect, Entry, Kind, Parsed, distinct
from minutebook.files.reading import dialect_of, parse
from minutebook.model.errors import MinutebookError
from minutebook.model.memories import Type
from tests.files.parsing import PATHS, PIECES, TEXTS, check_spans

SLOW = HealthCheck.too_slow, HealthCheck.data_too_large


def read(dialect: Dialect, text: str, **options: object) -> Parsed:
    data = text.encode()
    parsed = parse(PATHS[dialect], data, dialect=dialect, **options)  # type: ignore[arg-type]
    check_spans(parsed, data)
    return parsed


def only(parsed: Parsed) -> Entry:
    (entry,) = parsed.entries
    return entry


# --- universal ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", list(Dialect))
@settings(max_examples=60, deadline=None, suppress_health_check=SLOW)
@given(text=TEXTS)
def test_any_text_is_read_and_its_spans_cover_it(dialect: Dialect, text: str) -> None:
    data = text.encode("utf-8", "replace")
    check_spans(parse(PATHS[dialect], data, dialect=dialect, team=("ripley",)), data)


@pytest.mark.parametrize("dialect", list(Dialect))
@settings(max_examples=40, deadline=None)
@given(data=st.binary(max_size=300))
def test_any_bytes_are_read_or_are_an_error_with_a_line(dialect: Dialect, data: bytes) -> None:
    try:
        check_spans(parse(PATHS[dialect], data, dialect=dialect), data)
    except MinutebookError as error:
        if error.code != "bad_file" or not 1 <= error.details["line"] <= data.count(b"\n") + 1:
            raise


def random_text(chance: random.Random) -> str:
    """As TEXTS, a hundred times as fast, for the long run."""
    lines = []
    for _ in range(chance.randrange(30)):
        pieces = chance.choices(PIECES, k=chance.randrange(5))
        if chance.random() < 0.1:
            pieces.append("".join(chr(chance.randrange(1, 0xD800)) for _ in range(chance.randrange(8))))
        lines.append("".join(pieces))
    return chance.choice(["\n", "\r\n", "\n\n"]).join(lines)


@pytest.mark.slow
@pytest.mark.timeout(4 * 3600)
@pytest.mark.parametrize("dialect", list(Dialect))
def test_a_million_texts_are_read(dialect: Dialect, capsys: pytest.CaptureFixture[str]) -> None:
    """A twelfth of a million for each dialect, or of as many as MINUTEBOOK_FUZZ says."""
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    worst = 0.0
    count = int(os.environ.get("MINUTEBOOK_FUZZ", "1000000")) // len(Dialect)
    for number in range(count):
        data = random_text(chance).encode()
        began = time.process_time()
        parsed = parse(PATHS[dialect], data, dialect=dialect, team=("ripley",))
        worst = max(worst, time.process_time() - began)
        try:
            check_spans(parsed, data)
        except AssertionError as error:
            raise AssertionError(f"text {number} of seed {seed}: {data!r}") from error
    with capsys.disabled():
        print(f"\n{dialect.value}: {count} texts, the slowest took {worst * 1000:.1f} ms")
    assert worst < 0.05


def hostile() -> dict[str, bytes]:
    """Inputs on which a careless pattern, or a loop within a loop, takes minutes."""
    heading = b"### 2026-02-14: Same again\n**By:** Ripley\n**What:** One thing.\n\n"
    lines = {
        "one long line": b"a",
        "stars": b"*",
        "bold": b"**a",
        "spaces": b" \t",
        "items": b"- [",
        "brackets": b"[",
        "fences": b"```\n~~~~\n````x\n",
        "comments": b"<!--\n",
        "colons": b"a: ",
        "hashes": b"### #\n",
        "dates": b"2026-02-14T",
        "dated headings": b"# 2026-02-14\n",
        "rules": b"- ",
        "rule lines": b"---\n",
        "headings": heading,
        "sections": b"## Context\n",
        "fields": b"**By:** a | ",
        "field lines": b"**By:** a\n",
        "keys": b"a: b\n",
        "json": b'{"a":',
        "pins": "📌 Team update (".encode(),
        "pin lines": "📌 x\n".encode(),
        "our entries": b"## x\n**Type:** scope | **By:** a\n**Id:** 1 | **Date:** 2026\n\n---\n",
        "observations": b"- [a] b\n",
        "imports": b"@a\n- [b](b.md)\n",
    }
    return {name: piece * (60_000 // len(piece)) for name, piece in lines.items()}


WITH_MATTER = (
    Dialect.NOTE,
    Dialect.DROP_BOX,
    Dialect.ADR,
    Dialect.BASIC_MEMORY,
    Dialect.FOCUS,
    Dialect.WISDOM,
)


@pytest.mark.parametrize("dialect", list(Dialect))
def test_hostile_input_costs_no_more_than_its_size(dialect: Dialect) -> None:
    for name, data in hostile().items():
        for above in (b"", b"---\ntitle: x\n---\n") if dialect in WITH_MATTER else (b"",):
            began = time.process_time()
            parsed = parse(PATHS[dialect], above + data, dialect=dialect)
            spent = time.process_time() - began
            check_spans(parsed, above + data)
            # Linear work takes a tenth of it; what grows with the square takes longer.
            assert spent < 0.4, name


def test_a_megabyte_with_a_thousand_duplicate_headings() -> None:
    block = (
        b"### 2026-02-14: Same again\n**By:** Ripley\n\n" + b"A line of what was decided then.\n" * 32 + b"\n"
    )
    data = block * 1_000
    began = time.process_time()
    parsed = parse(".squad/decisions.md", data)
    spent = time.process_time() - began
    check_spans(parsed, data)
    assert len(parsed.entries) == 1_000
    assert [times for _, times in distinct(parsed.entries)] == [1_000]
    assert spent < 0.05 * len(data) / 100_000 * 3  # 50 ms for 100 kB, on a machine that has other work too


# --- ledgers --------------------------------------------------------------------------------------------

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
    found = distinct(
        read(Dialect.LEDGER, block + other + block.replace("One  thing", "one thing") + block).entries
    )
    assert [(entry.span.first, times) for entry, times in found] == [(1, 3), (5, 1)]


# --- the drop-box ---------------------------------------------------------------------------------------


def test_agentweavers_own_file() -> None:
    text = (
        "---\nagent: Heron\nslug: cap-upload-size\ntype: process\ntitle: Cap: uploads at 1 MB\n---\n\n"
        "Reject larger bodies.\n\n**Rationale:** proxy limit\n"
    )
    parsed = read(Dialect.DROP_BOX, text)
    entry = only(parsed)
    assert (entry.title, entry.author, entry.slug) == ("Cap: uploads at 1 MB", "Heron", "cap-upload-size")
    assert (entry.type, entry.certainty) == (Type.PROCESS, Certainty.SAID)
    assert (entry.text, entry.rationale) == ("Reject larger bodies.", "proxy limit")
    assert parsed.doubts == ()


def test_a_real_file_is_one_proposal_with_its_name_as_slug() -> None:
    text = (
        "# Decision: Use Postgres\n\n**Date:** 2026-02-14\n\n## Context\n\nx\n\n### 2026-02-15: later\n\ny\n"
    )
    parsed = read(Dialect.DROP_BOX, text, team=("rip", "Ripley", "ash"))
    entry = only(parsed)
    assert (entry.slug, entry.authors, entry.date) == ("ripley-use-postgres", ("Ripley",), "2026-02-14")
    assert entry.span.last == 11


def test_a_title_alone_makes_a_proposal_in_the_drop_box() -> None:
    parsed = read(Dialect.DROP_BOX, "# Always squash\n\nKeep history short.\n")
    assert (only(parsed).title, only(parsed).certainty) == ("Always squash", Certainty.GUESSED)
    assert [doubt.reason for doubt in parsed.doubts] == ["Nobody is named as the author."]


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", 1, "empty"),
        ("\n\njust words\n", 3, "no heading"),
        ("---\nagent: x\n\nno end\n", 1, "does not end"),
        ("---\nagent: x\ntype: process\ntitle: t\n---\n\n", 5, "nothing below"),
    ],
)
def test_a_file_that_is_no_proposal_is_listed_with_line_and_reason(text: str, line: int, said: str) -> None:
    parsed = read(Dialect.DROP_BOX, text)
    assert parsed.entries == ()
    assert (parsed.doubts[0].line, said in parsed.doubts[0].reason) == (line, True)


# --- histories, identity --------------------------------------------------------------------------------

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


# --- other tools ----------------------------------------------------------------------------------------


def test_an_adr_in_nygards_form() -> None:
    entry = only(
        read(
            Dialect.ADR, "# 7. Use Postgres\n\nDate: 2026-02-14\n\n## Status\n\nAccepted\n\n## Context\n\nx\n"
        )
    )
    assert (entry.title, entry.date, entry.get("status"), entry.get("number")) == (
        "Use Postgres",
        "2026-02-14",
        "Accepted",
        "7",
    )
    assert (entry.type, entry.certainty, entry.authors) == (Type.ARCHITECTURAL, Certainty.LIKELY, ())


def test_an_adr_in_madrs_form() -> None:
    text = "---\nstatus: superseded by ADR-0009\ndate: 2026-02-14\ndecision-makers: [Ripley, Ash]\n---\n# Use Postgres\n\n## Context and Problem Statement\n\nx\n"
    entry = only(read(Dialect.ADR, text))
    assert (entry.title, entry.authors, entry.get("status")) == (
        "Use Postgres",
        ("Ripley", "Ash"),
        "superseded by ADR-0009",
    )


def test_instructions_are_read_section_by_section() -> None:
    text = (
        "# Project\n\nA ledger.\n\n## Rules\n\nNever push to main.\n\n@docs/more.md\n\n- [Style](style.md) - how\n\n"
        "<!-- minutebook:begin -->\n## Ours\n\ntext\n<!-- minutebook:end -->\n\n### Me\n\nI prefer tabs.\n"
    )
    parsed = read(Dialect.INSTRUCTIONS, text)
    assert [(entry.title, entry.type, entry.section) for entry in parsed.entries] == [
        ("Project", Type.PROJECT, None),
        ("Rules", Type.PROCESS, "Project"),
        ("Me", Type.PROFILE, "Project › Rules"),
    ]
    assert {entry.certainty for entry in parsed.entries} == {Certainty.GUESSED}
    assert [raw.kind for raw in parsed.raws if raw.kind is not Kind.BLANK] == [Kind.LINK, Kind.COMMENT]


def test_a_note_of_agh() -> None:
    text = (
        "---\nname: Review style\ndescription: How to review\ntype: user\nscope: global\nprovenance:\n"
        "  source_actor: tool\n  created_at: 2026-02-14T10:00:00Z\n  confidence: high\n---\n\nShort comments.\n"
    )
    entry = only(read(Dialect.NOTE, text))
    assert (entry.title, entry.type, entry.certainty, entry.slug) == (
        "Review style",
        Type.PROFILE,
        Certainty.SAID,
        "style",
    )
    assert (entry.date, entry.authors, entry.text) == ("2026-02-14T10:00:00Z", (), "Short comments.")


def test_a_record_of_squads_governed_memory() -> None:
    text = '---\nid: 5c\nclass: POLICY\ntitle: "Squash: always"\nauthor: "Flight"\ncreatedAt: 2026-02-14T10:00:00Z\n---\n\nSquash.\n'
    assert dialect_of(".squad/memory/policy-inbox/x.md", Document(text.encode())) is Dialect.NOTE
    entry = only(read(Dialect.NOTE, text))
    assert (entry.title, entry.author, entry.type) == ("Squash: always", "Flight", Type.PROCESS)
    assert entry.date == "2026-02-14T10:00:00Z"


def test_a_note_of_basic_memory() -> None:
    text = (
        "---\ntitle: Postgres\ntype: note\npermalink: postgres\ntags:\n- db\n---\n\n# Postgres\n\nA database.\n\n"
        "## Observations\n- [decision] Use it for teams #storage (agreed)\n- [x] done\n\n## Relations\n- used_by [[Ledger]]\n"
    )
    parsed = read(Dialect.BASIC_MEMORY, text)
    prose, observation, ticked = parsed.entries
    assert (prose.text, prose.certainty) == ("A database.", Certainty.GUESSED)
    assert (observation.type, observation.tags, observation.get("context")) == (
        Type.TECHNICAL,
        ("db", "storage"),
        "agreed",
    )
    assert ticked.text == "- [x] done"
    assert Kind.LINK in {raw.kind for raw in parsed.raws}


def test_the_mcp_memory_servers_file() -> None:
    text = (
        '{"type":"entity","name":"Kim","entityType":"person","observations":["Likes tea","Reviews fast"]}\n'
        '{"type":"relation","from":"Kim","to":"Ledger","relationType":"owns"}\n'
        "not json\n"
        '{"type":"entity","name":"Empty","entityType":"x","observations":[]}\n'
    )
    parsed = read(Dialect.KNOWLEDGE_GRAPH, text)
    entry = only(parsed)
    assert (entry.title, entry.type, entry.text) == ("Kim", Type.PROFILE, "- Likes tea\n- Reviews fast")
    assert [doubt.line for doubt in parsed.doubts] == [3, 4]
    assert [raw.kind for raw in parsed.raws] == [Kind.LINK, Kind.TEXT]


@pytest.mark.parametrize(
    ("path", "text", "dialect"),
    [
        (".squad/decisions/inbox/a.md", "", Dialect.DROP_BOX),
        (".ai-team/decisions/archive/2026.md", "", Dialect.LEDGER),
        (".ai-team/agents/linus/history-archive.md", "", Dialect.HISTORY),
        ("sub/AGENTS.md", "", Dialect.INSTRUCTIONS),
        ("docs/adr/use-x.md", "", Dialect.ADR),
        ("doc/decisions/0004-use-x.md", "", Dialect.ADR),
        (".agh/agents/kim/memory/user_a.md", "", Dialect.NOTE),
        ("kb/a.md", "---\ntitle: x\npermalink: a\n---\n", Dialect.BASIC_MEMORY),
        ("kb/a.md", "---\nname: x\ntype: user\n---\n", Dialect.NOTE),
        ("notes.md", "## 2026-02-14: x\n", Dialect.LEDGER),
        ("notes.md", "# x\n", Dialect.INSTRUCTIONS),
        (".squad/decisions.md", "<!-- minutebook mirror decisions: -->\n", Dialect.MIRROR),
    ],
)
def test_a_file_says_by_its_path_or_its_words_how_it_is_read(path: str, text: str, dialect: Dialect) -> None:
    assert dialect_of(path, Document(text.encode())) is dialect
