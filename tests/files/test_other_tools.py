"""What other tools keep: ADRs, instructions, AGH and Squad notes, basic-memory, the MCP memory server."""

from __future__ import annotations

from minutebook.files.document import Document
from minutebook.files.entries import Certainty, Dialect, Kind
from minutebook.files.reading import dialect_of
from minutebook.model.memories import Type
from tests.files.parsing import only, read


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
