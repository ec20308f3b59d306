"""The sentences of a turn that its speaker stands for: no code, no quotations, nothing that we wrote ourselves."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from minutebook.policy.extraction.turns import Turn

#: Shorter sentences say nothing that lasts; longer ones are no sentences.
FEWEST_WORDS = 3
MOST_CHARS = 600

_FENCE = re.compile(r"\s{0,12}(`{3,}|~{3,})")
#: Lines that quote: another's words, the ledger's (each line of a compiled context begins with |), a shell, a diff.
_QUOTED = re.compile(
    r"\s{0,12}(?:>|\||\$ |% |\+\+\+|---|@@|npm (?:ERR|WARN)|(?:FAILED|PASSED|SKIPPED) |(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER) |diff --git|Traceback |File \"|at [\w.$]+\(|\[?\d{4}-\d\d-\d\d[T ]\d\d:|\[\d\d?:\d\d"
    r"|(?:\w*(?:Error|Exception|Warning)|ERROR|WARN(?:ING)?|FATAL|INFO|DEBUG|error|warning|fatal)\b[ \[\](\d)]{0,12}:|[{}\[\]<]\W*$|</?\w)"
)
#: Headings under which a bullet is one thing, however many sentences it has.
_LISTING = re.compile(
    r"\b(?:decisions?|learnings?|lessons|gotchas|takeaways|rules|conventions|guidelines|policies|preferences)\b",
    re.IGNORECASE,
)
_HEADING = re.compile(r"\s{0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
_BULLET = re.compile(r"\s{0,12}(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_END = re.compile(r"(?<=[.!?…])[\"'”’)]*\s+(?=\S)")
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|approx|cf|no|nr|z\.B|resp|Dr|Mr|Ms|St)\.|\b[A-Z]\.)$", re.IGNORECASE
)
#: The head of a letter that was pasted: what follows is somebody else's.
_LETTER = re.compile(r"(?:From|To|Cc|Sent|Date|Subject): \S")
#: Marks of files that this program wrote: nothing in them is new.
_OURS = re.compile(r"\s*<!--\s*minutebook\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, the lines that hold it, and the heading that it stands under."""

    text: str
    first: int
    last: int
    heading: str = ""
    bullet: bool = False

    @property
    def words(self) -> int:
        return len(self.text.split())


def is_ours(text: str) -> bool:
    """Whether a source is a file that this program wrote."""
    return _OURS.match(text[:200]) is not None


def sentences(turn: Turn) -> Iterator[Sentence]:
    """What a turn says, sentence by sentence."""
    heading = ""
    block: list[tuple[int, str]] = []
    bullet = False
    for number, line, opens in _prose_lines(turn):
        title = _HEADING.match(line) if turn.in_lines and line.lstrip().startswith("#") else None
        starts = opens or title is not None or _BULLET.match(line) is not None
        if block and (starts or not line.strip()):
            yield from _split(block, heading, bullet)
            block = []
        if title is not None:
            heading = title[2]
        elif line.strip():
            mark = _BULLET.match(line)
            if not block:
                bullet = mark is not None
            block.append((number, line[mark.end() :] if mark and not block else line.strip()))
    if block:
        yield from _split(block, heading, bullet)


def _prose_lines(turn: Turn) -> Iterator[tuple[int, str, bool]]:
    """Lines with their number, without code and quotations; True where one was left out before."""
    fence = ""
    skipped = False
    head = 0
    for offset, line in enumerate(turn.text.split("\n")):
        head = head + 1 if _LETTER.match(line) else 0
        if head == 2:
            return
        number = turn.first + offset if turn.in_lines else turn.first
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1][0] == fence[0] and len(mark[1]) >= len(fence):
                fence = ""
            skipped = True
            continue
        if mark:
            fence, skipped = mark[1], True
            continue
        if _QUOTED.match(line) or line.startswith(("    ", "\t")):
            skipped = True
            continue
        yield number, line, skipped
        skipped = False


def _split(block: list[tuple[int, str]], heading: str, bullet: bool) -> Iterator[Sentence]:
    """One paragraph, into sentences; each knows the lines that it stands in."""
    text = " ".join(line for _, line in block)
    ends: list[int] = []
    place = -1
    for _, line in block:
        place += len(line) + 1
        ends.append(place)
    start = 0
    whole = bullet and len(text) <= MOST_CHARS and _LISTING.search(heading) is not None
    for stop, following in [(len(text), len(text))] if whole else _stops(text):
        piece = text[start:stop].strip()
        if len(piece) <= MOST_CHARS and len(piece.split()) >= FEWEST_WORDS:
            yield Sentence(
                piece,
                _line_at(block, ends, start),
                _line_at(block, ends, max(start, stop - 1)),
                heading,
                bullet,
            )
        start = following


def _stops(text: str) -> Iterator[tuple[int, int]]:
    for gap in _END.finditer(text):
        if not _ABBREVIATION.search(text[max(0, gap.start() - 8) : gap.start()]):
            yield gap.start(), gap.end()
    yield len(text), len(text)


def _line_at(block: list[tuple[int, str]], ends: list[int], place: int) -> int:
    return block[min(bisect_left(ends, place), len(block) - 1)][0]
