"""Looks at what memories rest on: the cited lines of a file, in the workspace of whoever asks.

Nothing here raises and nothing is followed out of the workspace: what cannot be looked at is `unverifiable`, and that
is never taken for `missing`. What was read is remembered by the file's identity, time and size, so that a context that
is compiled again and again reads nothing again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from minutebook.call import Nobody, Witness
from minutebook.files import workspace
from minutebook.files.lines import digest_of, lines_of
from minutebook.files.safe import Facts, Root, Sort
from minutebook.model.context import EvidenceState
from minutebook.model.errors import MinutebookError
from minutebook.model.evidence import Evidence, EvidenceKind

#: Bytes of one file, and of all files that are read for one call.
_FILE_BYTES = 4 * 1024 * 1024
_CALL_BYTES = 16 * 1024 * 1024
#: Bytes that are hashed to find lines that were moved within their file.
_MOVED_BYTES = 16 * 1024 * 1024
#: Answers that are remembered.
_REMEMBERED = 8_192

Answer = tuple[EvidenceState, str]


@dataclass(frozen=True, slots=True)
class _Seen:
    """What was found when a file was last looked at."""

    facts: Facts
    answer: Answer


class Workspaces:
    """Gives each call its witness, and remembers between them what was seen."""

    def __init__(self) -> None:
        self._seen: OrderedDict[tuple[str, Evidence], _Seen] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, root: Path, project: str) -> Witness:
        """A witness for one call, in a workspace that is the project's by its own file."""
        try:
            opened = Root(root)
        except MinutebookError:
            return Nobody()
        try:
            bound = workspace.read(opened.path / workspace.FOLDER / workspace.NAME).project == project
        except MinutebookError:
            bound = False
        if not bound:
            opened.close()
            return Nobody()
        return _InWorkspace(opened, self)

    def recall(self, key: tuple[str, Evidence], facts: Facts) -> Answer | None:
        with self._lock:
            seen = self._seen.get(key)
            if seen is None or seen.facts != facts:
                return None
            self._seen.move_to_end(key)
            return seen.answer

    def remember(self, key: tuple[str, Evidence], facts: Facts, answer: Answer) -> None:
        with self._lock:
            self._seen[key] = _Seen(facts, answer)
            self._seen.move_to_end(key)
            while len(self._seen) > _REMEMBERED:
                self._seen.popitem(last=False)


class _InWorkspace:
    """Looks at files of one workspace, for the time of one call."""

    def __init__(self, root: Root, known: Workspaces) -> None:
        self._root = root
        self._known = known
        self._left = _CALL_BYTES
        #: files read for this call: several memories often cite the same one
        self._lines: dict[str, tuple[Facts, list[bytes]]] = {}

    def __del__(self) -> None:
        # A call ends in many ways; the handle goes with whoever held this.
        self._root.close()

    def state(self, evidence: Evidence) -> EvidenceState:
        return self.why(evidence)[0]

    def why(self, evidence: Evidence) -> Answer:
        if evidence.kind is not EvidenceKind.FILE:
            return EvidenceState.UNVERIFIABLE, f"a {evidence.kind} is not looked at"
        try:
            return self._look(evidence)
        except MinutebookError as error:
            return EvidenceState.UNVERIFIABLE, error.message

    def digest(self, evidence: Evidence) -> str | None:
        if evidence.kind is not EvidenceKind.FILE:
            return None
        try:
            found = self._read(evidence.ref)
        except MinutebookError:
            return None
        if found is None:
            return None
        lines = _cited(found[1], evidence)
        return None if lines is None else digest_of(lines)

    def _look(self, evidence: Evidence) -> Answer:
        standing = self._root.look(evidence.ref)
        if standing is None:
            return EvidenceState.MISSING, "there is no such file any more"
        if evidence.digest is None and standing.sort is Sort.FILE:
            return EvidenceState.UNVERIFIABLE, "no hash was taken when it was cited"
        key = (str(self._root.path), evidence)
        known = self._known.recall(key, standing.facts)
        if known is not None:
            return known
        found = self._read(evidence.ref)
        if found is None:
            return EvidenceState.MISSING, "there is no such file any more"
        facts, lines = found
        answer = _compared(lines, evidence)
        self._known.remember(key, facts, answer)
        return answer

    def _read(self, path: str) -> tuple[Facts, list[bytes]] | None:
        if path not in self._lines:
            if self._left <= 0:
                raise MinutebookError("too_large", "more is cited than is read for one call")
            found = self._root.read(path, most=_FILE_BYTES)
            if found is None:
                return None
            self._left -= len(found.data)
            self._lines[path] = (found.facts, lines_of(found.data))
        return self._lines[path]


def _compared(lines: list[bytes], evidence: Evidence) -> Answer:
    cited = _cited(lines, evidence)
    if cited is not None and digest_of(cited) == evidence.digest:
        return EvidenceState.FRESH, "the cited lines are as they were"
    if evidence.span is not None and evidence.digest is not None:
        at = _moved_to(lines, *_bounds(evidence.span), evidence.digest)
        if at is not None:
            return EvidenceState.FRESH, f"the cited lines are as they were, from line {at} on"
    return EvidenceState.STALE, "the cited lines are not as they were"


def _bounds(span: str) -> tuple[int, int]:
    first, _, last = span.partition("-")
    return int(first), int(last or first)


def _cited(lines: list[bytes], evidence: Evidence) -> Sequence[bytes] | None:
    """The lines that are cited; None where the file does not have them all."""
    if evidence.span is None:
        return lines
    first, last = _bounds(evidence.span)
    return lines[first - 1 : last] if 1 <= first <= last <= len(lines) else None


def _moved_to(lines: list[bytes], first: int, last: int, digest: str) -> int | None:
    """Where the cited lines stand now, if they moved up or down in their file: an edit above them is no change."""
    count = last - first + 1
    if count < 1 or count > len(lines):
        return None
    if sum(map(len, lines)) * count > _MOVED_BYTES:
        return None
    for start in range(len(lines) - count + 1):
        if digest_of(lines[start : start + count]) == digest:
            return start + 1
    return None
