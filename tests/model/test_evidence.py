"""What a memory rests on, as people write it."""

from __future__ import annotations

import pytest

from minutebook.model.errors import MinutebookError
from minutebook.model.evidence import Evidence, EvidenceKind, parse_evidence

FILE = EvidenceKind.FILE


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("file:src/app.py", Evidence(FILE, "src/app.py")),
        ("file:src/app.py#10-20", Evidence(FILE, "src/app.py", "10-20")),
        ("file:src/app.py#10", Evidence(FILE, "src/app.py", "10")),
        ("file:src/app.py#10-20@3bac3cf", Evidence(FILE, "src/app.py", "10-20", None, "3bac3cf")),
        ("src/app.py@v1.2", Evidence(FILE, "src/app.py", None, None, "v1.2")),
        ("node_modules/@types/node/index.d.ts", Evidence(FILE, "node_modules/@types/node/index.d.ts")),
        (
            "node_modules/@types/node/a.ts#3@main",
            Evidence(FILE, "node_modules/@types/node/a.ts", "3", None, "main"),
        ),
        ("file:samples/C#/Program.cs", Evidence(FILE, "samples/C#/Program.cs")),
        ("url:https://example.com/a#b", Evidence(EvidenceKind.URL, "https://example.com/a#b")),
        ("https://example.com/@user", Evidence(EvidenceKind.URL, "https://example.com/@user")),
        ("source:01ARZ3NDEKTSV4RRFFQ69G5FAV", Evidence(EvidenceKind.SOURCE, "01ARZ3NDEKTSV4RRFFQ69G5FAV")),
        ("message:42", Evidence(EvidenceKind.MESSAGE, "42")),
        (" commit: 3bac3cf ", Evidence(EvidenceKind.COMMIT, "3bac3cf")),
        ("notes: a file with a colon.md", Evidence(FILE, "notes: a file with a colon.md")),
    ],
)
def test_evidence_is_read_as_it_is_written(text: str, expected: Evidence) -> None:
    assert parse_evidence(text) == expected


@pytest.mark.parametrize("text", ["", "  ", "file:", "url:", "file:#10-20", "file:@main"])
def test_evidence_that_points_at_nothing_is_refused(text: str) -> None:
    with pytest.raises(MinutebookError) as refused:
        parse_evidence(text)
    assert refused.value.code == "invalid_input"
