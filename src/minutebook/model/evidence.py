"""What a memory rests on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from minutebook.model.errors import MinutebookError


class EvidenceKind(StrEnum):
    FILE = "file"
    URL = "url"
    SOURCE = "source"
    MESSAGE = "message"
    COMMIT = "commit"


@dataclass(frozen=True, slots=True)
class Evidence:
    """One thing a memory rests on: a span of a file, an address, a source, a message, a commit."""

    kind: EvidenceKind
    ref: str
    #: lines of a file or of a source, `12-30`
    span: str | None = None
    #: SHA-256 of the span when it was cited
    digest: str | None = None
    commit: str | None = None


def spelled(evidence: Evidence) -> str:
    """Evidence as it is cited: what `parse_evidence` reads back."""
    span = f"#{evidence.span}" if evidence.span else ""
    commit = f"@{evidence.commit}" if evidence.commit else ""
    return f"{evidence.kind}:{evidence.ref}{span}{commit}"


_FILE = re.compile(r"(?P<path>.*?)(#(?P<span>\d+(-\d+)?))?(@(?P<commit>[^/@#\s]+))?", re.DOTALL)


def parse_evidence(text: str) -> Evidence:
    """Read `file:src/app.py#10-20@commit`, `url:https://…`, `source:ID#10-20`, `message:ID`, `commit:SHA`.

    Text without a known prefix is an address when it looks like one, else a file.
    """
    kind_text, colon, rest = text.strip().partition(":")
    if colon and kind_text in {kind.value for kind in EvidenceKind}:
        kind, ref = EvidenceKind(kind_text), rest.strip()
    elif text.strip().startswith(("http://", "https://")):
        kind, ref = EvidenceKind.URL, text.strip()
    else:
        kind, ref = EvidenceKind.FILE, text.strip()
    span = commit = None
    if kind in (EvidenceKind.FILE, EvidenceKind.SOURCE):
        # From the end, and only what looks like one: `@` and `#` are letters of a path too.
        place = _FILE.fullmatch(ref)
        assert place is not None
        ref, span, commit = place["path"], place["span"], place["commit"]
    if not ref:
        raise MinutebookError(
            "invalid_input",
            "Evidence needs something to point at.",
            hint="file:PATH#10-20, url:https://…, source:ID, message:ID or commit:SHA",
        )
    return Evidence(kind, ref, span or None, None, commit or None)
