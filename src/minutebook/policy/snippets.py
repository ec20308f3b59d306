"""The part of a text that shows why it was found."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

from minutebook.model.text import one_line
from minutebook.policy.stemming import stem
from minutebook.policy.terms import terms

WIDTH = 180
#: Characters of a text that are looked through.
_LOOKED_THROUGH = 20_000
_WORD = re.compile(r"\w(?:[\w.+#%]*[\w+#%])?")


@dataclass(frozen=True, slots=True)
class Snippet:
    """About one line of a text, and the places in it, as (from, to), of the words that matched."""

    text: str
    marks: tuple[tuple[int, int], ...] = ()


@lru_cache(maxsize=8_192)
def _terms_of(word: str) -> frozenset[str]:
    return frozenset(terms(word))


def snippet(content: str, wanted: Collection[str], width: int = WIDTH) -> Snippet:
    """The stretch of a text that holds most of the terms; its beginning where none is seen."""
    line = one_line(content[:_LOOKED_THROUGH])
    spans = _spans(line, frozenset(wanted))
    if len(line) <= width and len(content) <= _LOOKED_THROUGH:
        return Snippet(line, tuple(span[:2] for span in spans))
    start = _best_start(spans, width)
    start, end = _at_words(line, start, width)
    before, after = "…" if start else "", "…" if end < len(line) or len(content) > _LOOKED_THROUGH else ""
    cut = line[start:end]
    shift = len(before) - start
    marks = tuple((a + shift, b + shift) for a, b, _ in spans if a >= start and b <= end)
    return Snippet(f"{before}{cut}{after}", marks)


Span = tuple[int, int, frozenset[str]]


def _spans(line: str, wanted: frozenset[str]) -> list[Span]:
    """The places of words that hold a term; neighbouring ones of a script without spaces are one place."""
    found: list[Span] = []
    # A word and its stem begin alike, but for the y of `sky`, which is the second letter of no stem.
    begun = {term[:2] for term in wanted}
    for word in _WORD.finditer(line):
        text = word[0]
        if text.isascii() and text.isalpha() and (text.islower() or text.istitle()):
            # Nearly every word: one term, and nothing to take apart.
            if text[:2].lower() not in begun:
                continue
            term = stem(text.lower())
            if term in wanted:
                found.append((word.start(), word.end(), frozenset((term,))))
            continue
        held = _terms_of(text) & wanted
        if not held:
            continue
        if text.isascii() or (text.isalpha() and max(text) < "\u0e00"):
            found.append((word.start(), word.end(), held))
            continue
        found += _inside(text, word.start(), wanted)
    return found


def _inside(run: str, at: int, wanted: frozenset[str]) -> list[Span]:
    """The places inside a run of characters that no space parts."""
    found: list[Span] = []
    for index in range(len(run)):
        for size in (2, 1):
            piece = run[index : index + size].casefold()
            if piece in wanted and len(piece) == size:
                start, end, held = at + index, at + index + size, frozenset((piece,))
                if found and found[-1][1] >= start:
                    start, held = found[-1][0], found[-1][2] | held
                    end = max(end, found.pop()[1])
                found.append((start, end, held))
                break
    return found


def _best_start(spans: list[Span], width: int) -> int:
    """Where the window begins that holds the most different terms, then the most words; the first of several."""
    best, start = (0, 0), 0
    for index, (at, _, _) in enumerate(spans):
        inside = [span for span in spans[index : index + 40] if span[1] <= at + width * 3 // 4]
        held = frozenset().union(*(span[2] for span in inside))
        if (len(held), len(inside)) > best:
            best, start = (len(held), len(inside)), at
    return max(0, start - width // 5)


def _at_words(line: str, start: int, width: int) -> tuple[int, int]:
    """The window, moved so that it begins and ends between words, where there is a space near."""
    if start:
        space = line.find(" ", start, start + width // 5)
        start = space + 1 if space >= 0 else start
    end = min(len(line), start + width)
    if end < len(line):
        space = line.rfind(" ", start + width // 2, end)
        end = space if space > 0 else end
    return start, end
