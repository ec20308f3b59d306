"""What we write we read back as it was; the same values give the same bytes; no text leaves its entry."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from minutebook.files.containing import contained, in_line, out_of_line, released
from minutebook.files.document import Document, is_rule
from minutebook.files.entries import Certainty, Dialect, Entry
from minutebook.files.headings import is_section
from minutebook.files.ledgers import find_starts
from minutebook.files.reading import parse
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
from minutebook.model.memories import Type
from minutebook.model.text import clean, one_line
from tests.files.parsing import LINES, PIECES, check_spans

TITLES = LINES.map(one_line).filter(bool)
BODIES = st.lists(st.sampled_from(PIECES) | LINES, min_size=1, max_size=8).map("\n".join).map(clean)
TEXTS = BODIES.filter(str.strip)
NAMES = st.from_regex(r"[A-Za-zÀ-ÿ][A-Za-z0-9 ._@+-]{0,20}[a-z]", fullmatch=True).map(one_line)
TIMES = st.datetimes().map(lambda moment: f"{moment.year:04d}-{moment:%m-%dT%H:%M:%S.%fZ}")
IDS = st.from_regex("[0-9A-HJKMNP-TV-Z]{26}", fullmatch=True)
SHOWN = st.builds(
    Shown,
    id=IDS,
    type=st.sampled_from(list(Type)).map(str),
    title=TITLES,
    text=TEXTS,
    author=NAMES,
    date=TIMES,
    status=st.sampled_from(["active", "superseded", "archived"]),
    rationale=st.none() | TEXTS,
    supersedes=st.lists(IDS, max_size=2).map(tuple),
    superseded_by=st.none() | IDS,
    importance=st.none() | st.just("high"),
)
SETTINGS = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def as_shown(entry: Entry) -> Shown:
    assert entry.certainty is Certainty.SAID
    supersedes = entry.get("supersedes")
    assert entry.author is not None
    assert entry.date is not None
    return Shown(
        id=entry.get("id") or "",
        type=entry.type.value,
        title=entry.title,
        text=entry.text,
        author=entry.author,
        date=entry.date,
        status=entry.get("status") or "",
        rationale=entry.rationale,
        supersedes=tuple(supersedes.split(", ")) if supersedes else (),
        superseded_by=entry.get("superseded-by"),
        importance=entry.get("importance"),
    )


#: Texts that look like our own structure, which chance seldom finds.
NASTY = [
    "~~~\nx", "~~~~text\n> x\n~~~~", "> x", ">", "> ~~~text\n> x", "**Rationale:**", "**Rationale:** x\n\\**Rationale:** y",
    "\\\\**Rationale:**\n\n**Rationale:**", "---", "x\n---\n## y", "**Type:** scope | **By:** x", "  set in", "\n\nblank first",
    "## [scope] 2026-01-01: x", "<!-- minutebook mirror decisions: -->", "x\n\n\n\ny", "-", "- \nx", "1. \nx", "[a]: b", "|a|\n|-|",
    "x\n===", "x\n-", "x\n--", "```\n~~~", "a\\", "\\", "a <b", "<", "x\n  \ny", "\tx",
]  # fmt: skip


@pytest.mark.parametrize("text", NASTY)
def test_texts_that_look_like_our_own_structure_are_read_back_equal(text: str) -> None:
    check_memories([Shown("A" * 26, "scope", one_line(text), text, "Ash", "2026-01-01", rationale=text)] * 2)
    check_proposal(Offered("Ash", "x", "scope", one_line(text), text, text))
    check_proposal(Offered("Ash", "x", "scope", one_line(text), text))
    assert released(contained(text)) == text
    # For a reader who knows only Markdown: no rule, no underline, no field outside of a quote.
    assert not [line for line in contained(text) if is_rule(line) or line.startswith(("**", "=", "#", " "))]


@settings(SETTINGS, max_examples=40)
@given(st.lists(SHOWN, max_size=4))
def test_the_four_documents_of_memories_are_read_back_equal(rows: list[Shown]) -> None:
    check_memories(rows)


def check_memories(rows: list[Shown]) -> None:
    rendered = {
        ".squad/decisions.md": render_decisions(rows),
        ".agentweaver/context/boundaries.md": render_boundaries(rows),
        ".agentweaver/context/patterns.md": render_patterns(rows),
        ".squad/agents/ripley/history.md": render_history("Ripley", rows),
    }
    for path, data in rendered.items():
        if data is None:
            assert not rows
            continue
        parsed = parse(path, data)
        check_spans(parsed, data)
        assert parsed.dialect is Dialect.MIRROR
        assert parsed.doubts == ()
        assert [as_shown(entry) for entry in parsed.entries] == rows
        assert b"\r" not in data
    assert render_decisions(rows) == rendered[".squad/decisions.md"]


@SETTINGS
@given(TEXTS, NAMES, TITLES, st.none() | TEXTS)
def test_a_proposal_is_read_back_equal(text: str, agent: str, title: str, rationale: str | None) -> None:
    check_proposal(Offered(agent, "use-postgres", "architectural", title, text, rationale))


def check_proposal(row: Offered) -> None:
    data = render_proposal(row)
    parsed = parse(".squad/decisions/inbox/use-postgres.md", data)
    check_spans(parsed, data)
    (entry,) = parsed.entries
    assert entry.author is not None
    assert entry.slug is not None
    assert (
        Offered(entry.author, entry.slug, entry.type.value, entry.title, entry.text, entry.rationale) == row
    )
    assert parsed.doubts == ()


@SETTINGS
@given(TITLES, st.lists(TITLES, max_size=4), BODIES, TIMES)
def test_the_focus_is_read_back_equal(focus: str, issues: list[str], summary: str, updated: str) -> None:
    data = render_now(focus, issues, summary, updated)
    found = parse(".squad/identity/now.md", data).focus
    assert found is not None
    assert (found.focus, list(found.issues), found.updated_at) == (focus, issues, updated)
    assert found.summary == (summary if summary.strip() else "")


@SETTINGS
@given(BODIES)
def test_contained_text_is_released_as_it_was(text: str) -> None:
    if text.strip():
        assert released(["", *contained(text), "", ""]) == text


@given(st.text())
def test_a_line_among_other_words_comes_out_as_it_was(text: str) -> None:
    line = in_line(text)
    assert out_of_line(line) == one_line(text)
    assert "<!--" not in line
    assert " | **" not in line


@SETTINGS
@given(TEXTS, TITLES)
def test_stored_text_cannot_break_out_of_its_entry(text: str, title: str) -> None:
    """Not for us, and not for a reader who knows nothing of us: no heading, no fence, no comment gets out."""
    rows = [Shown("A" * 26, "scope", title, text, "Ash", "2026-01-01T00:00:00.000000Z", rationale=text),
            Shown("B" * 26, "scope", "Second", "Plain.", "Kim", "2026-01-02T00:00:00.000000Z")]  # fmt: skip
    data = render_decisions(rows)
    document = Document(data)
    lines = document.lines
    assert sum(line.startswith("#") for line in lines) == 3
    # A reader that knows only Markdown sees both entries, and code nowhere outside of quotes.
    assert [
        line for line in lines if line.lstrip().startswith(("```", "~~~", "<")) and line != lines[0]
    ] == []
    starts = [start.heading.text for start in find_starts(document)]
    assert starts[-1] == "Second"
    assert len(starts) == (2 if not is_section(in_line(title)) else 1) or starts[0] != in_line(title)


@SETTINGS
@given(TEXTS | st.sampled_from(NASTY), TITLES)
def test_a_markdown_reader_sees_our_headings_and_no_html_of_the_texts(text: str, title: str) -> None:
    rows = [Shown("A" * 26, "scope", title, text, "Ash", "2026-01-01", rationale=text),
            Shown("B" * 26, "scope", "Second", "Plain.", "Kim", "2026-01-02")]  # fmt: skip
    tokens = MarkdownIt("commonmark").parse(render_decisions(rows).decode())
    outside = [token for token in tokens if token.level == 0]
    assert [token.tag for token in outside if token.type == "heading_open"] == ["h1", "h2", "h2"]
    assert [token.content[:15] for token in tokens if token.type == "html_block"] == ["<!-- minutebook"]
    assert not [token for token in outside if token.type in ("fence", "code_block")]
    inline = [child for token in tokens for child in token.children or ()]
    assert not [child for child in inline if child.type == "html_inline"]
    assert sum(token.type == "hr" for token in outside) == 2


def test_the_decisions_look_as_people_expect_them() -> None:
    row = Shown(
        id="01JA0000000000000000000000",
        type="architectural",
        title="Ledger writes go through the service",
        text="Clients never open the database file.\n\n- Not even to read.",
        author="Ibis",
        date="2026-05-02T08:00:00.000000Z",
        rationale="Two writers corrupted it in May.",
        supersedes=("01J90000000000000000000000",),
    )
    assert render_decisions([row]).decode() == (
        "<!-- minutebook mirror decisions: written from the ledger; what is changed here is not read back. -->\n"
        "# Team Decisions\n\n"
        "## Ledger writes go through the service\n"
        "**Type:** architectural | **By:** Ibis | **Status:** active\n"
        "**Id:** 01JA0000000000000000000000 | **Date:** 2026-05-02T08:00:00.000000Z"
        " | **Supersedes:** 01J90000000000000000000000\n\n"
        "Clients never open the database file.\n\n- Not even to read.\n\n"
        "**Rationale:**\n\nTwo writers corrupted it in May.\n\n---\n"
    )


def test_text_with_structure_is_quoted_and_text_with_html_is_fenced() -> None:
    assert contained("# Heading\n\ntext") == ["> # Heading", ">", "> text"]
    assert contained("a <!-- b") == ["> ~~~text", "> a <!-- b", "> ~~~"]
    assert contained("~~~\n<b>") == ["> ~~~~text", "> ~~~", "> <b>", "> ~~~~"]
    assert contained("1 < 2, a | b, *so*") == ["1 < 2, a | b, *so*"]


def test_there_is_no_file_where_there_is_nothing_to_say() -> None:
    assert render_boundaries([]) is None
    assert render_patterns([]) is None
    assert render_history("Ripley", []) is None
    assert b"No decisions yet." in render_decisions([])


def test_an_entry_of_ours_that_was_broken_by_hand_is_a_doubt_and_the_rest_is_read() -> None:
    rows = [
        Shown("A" * 26, "scope", "One", "x", "Ash", "2026-01-01"),
        Shown("B" * 26, "scope", "Two", "y", "Ash", "2026-01-02"),
    ]
    data = render_decisions(rows).replace(b"**Type:** scope", b"**Type:** nonsense", 1)
    parsed = parse(".squad/decisions.md", data)
    check_spans(parsed, data)
    assert [entry.title for entry in parsed.entries] == ["Two"]
    assert [doubt.line for doubt in parsed.doubts] == [4]
