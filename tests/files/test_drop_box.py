"""One proposal a file: Agentweaver's front matter, and what everybody else writes."""

from __future__ import annotations

import pytest

from minutebook.files.entries import Certainty, Dialect
from minutebook.model.memories import Type
from tests.files.parsing import only, read


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
        (
            "---\nagent: x\ntitle: t\nAgent: coordinator\ntype: process\n---\n\nBody.\n",
            4,
            "`agent` comes twice",
        ),
    ],
)
def test_a_file_that_is_no_proposal_is_listed_with_line_and_reason(text: str, line: int, said: str) -> None:
    parsed = read(Dialect.DROP_BOX, text)
    assert parsed.entries == ()
    assert (parsed.doubts[0].line, said in parsed.doubts[0].reason) == (line, True)
