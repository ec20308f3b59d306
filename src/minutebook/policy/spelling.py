"""Words that are spelled alike: three letters at a time, so that a slip of the finger still finds its word."""

from __future__ import annotations

from collections.abc import Iterable

#: Words outside of these lengths are not compared: short ones are all alike, long ones are no words.
SHORTEST, LONGEST = 4, 24
#: How alike two words must be, from 0 to 1.
ALIKE = 0.42
#: What a word that was begun and not ended counts, at most: `postg` for `postgresql`.
_BEGUN = 0.8
#: From here on there are scripts that are looked for by single characters anyway.
_UNSPACED = "\u0e00"


def comparable(term: str) -> bool:
    """Whether a term is a word that somebody could misspell."""
    return SHORTEST <= len(term) <= LONGEST and term.isalpha() and max(term) < _UNSPACED


def grams(term: str) -> list[str]:
    """The letters of a word by threes, its beginning and its end included."""
    padded = f" {term} "
    return list(dict.fromkeys(padded[at : at + 3] for at in range(len(padded) - 2)))


def likeness(said: str, term: str) -> float:
    """How alike two words are: the share of threes that both have; a word begun counts nearly as the whole."""
    ours, theirs = set(grams(said)), set(grams(term))
    shared = len(ours & theirs)
    alike = shared / (len(ours) + len(theirs) - shared)
    if _swapped(said, term):
        return max(alike, 0.7)
    if len(said) >= SHORTEST and term.startswith(said):
        return max(alike, _BEGUN * (len(said) / len(term)) ** 0.5)
    return alike


def _swapped(said: str, term: str) -> bool:
    """Whether one letter, or two neighbours changed about, is all that sets two words apart."""
    if abs(len(said) - len(term)) > 1:
        return False
    start = 0
    while start < min(len(said), len(term)) and said[start] == term[start]:
        start += 1
    rest, other = said[start:], term[start:]
    if len(rest) == len(other):
        return rest[1:] == other[1:] or (rest[:2] == other[1::-1] and rest[2:] == other[2:])
    return rest[1:] == other or rest == other[1:]


def closest(said: str, among: Iterable[str], most: int) -> list[tuple[str, float]]:
    """The words most alike to one, with how alike they are; never the word itself."""
    found = [(term, likeness(said, term)) for term in among if term != said]
    alike = [(term, value) for term, value in found if value >= ALIKE]
    return sorted(alike, key=lambda pair: (-pair[1], pair[0]))[:most]
